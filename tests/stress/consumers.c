/* SPDX-License-Identifier: MIT */
/*
 * A ring file whose consumers are killed, one after the other, while attached producers go on and some of them are
 * killed too. Chunks that were not acknowledged come again; told apart by their positions, all chunks come once and in
 * order.
 */
#include "stress_producer.h"

/* Knowledge that the consumers have of each other. Only the one that lives writes it. */
struct log {
	struct board board;
	_Atomic uint64_t seen_end; /* everything below was checked */
	_Atomic uint64_t in_check; /* the end of the chunk that is being checked */
	_Atomic uint64_t chunks, again, consumers;
	_Atomic uint32_t life[PRODUCERS_MAX];
	_Atomic uint64_t next[PRODUCERS_MAX];
};

static void chunk_check(struct log *log, const struct k2hft_chunk_view *view)
{
	struct stamp stamp;

	if (view->end <= log->seen_end) {
		log->again++;
		return;
	}
	stamp_read(view, &stamp);
	if (stamp.life != log->life[stamp.number]) {
		REQUIRE(stamp.life > log->life[stamp.number] && stamp.counter == 0);
		log->next[stamp.number] = 0;
		log->life[stamp.number] = stamp.life;
	}
	/* A consumer that was killed in here has counted this chunk, or not. */
	REQUIRE(stamp.counter == log->next[stamp.number] ||
		(view->end == log->in_check && stamp.counter + 1 == log->next[stamp.number]));
	log->in_check = view->end;
	log->next[stamp.number] = stamp.counter + 1;
	log->seen_end = view->end;
	log->chunks++;
}

static bool consume(struct log *log, struct k2hft_ring *ring)
{
	struct k2hft_chunk_view view;
	struct k2hft_span span;
	size_t offset = 0;
	int claimed, chunks = k2hft_ring_read(ring, 20000, 0, &span, &claimed);

	REQUIRE(chunks >= 0);
	if (claimed)
		(void)k2hft_ring_recover(ring);
	while (chunks && k2hft_chunk_next(span.data, span.bytes, span.position, &offset, &view) == 1)
		chunk_check(log, &view);
	/* Sometimes late, so that the next consumer gets something again. */
	if (chunks && (log->chunks & 7))
		REQUIRE(k2hft_ring_release(ring, span.position + span.bytes) == 0);
	return chunks > 0 || claimed;
}

static struct k2hft_ring *ring_open(const char *path)
{
	struct k2hft_ring_options options = {.size = sizeof(options), .path = path, .ring_bytes = K2HFT_RING_BYTES_MIN};
	struct k2hft_ring *ring;

	REQUIRE(k2hft_ring_open(&options, &ring) == 0);
	return ring;
}

static void consumer_main(struct log *log, const char *path)
{
	struct k2hft_ring *ring = ring_open(path);
	struct pollfd wait = {.fd = k2hft_ring_wake_descriptor(ring), .events = POLLIN};

	log->consumers++;
	for (;;) {
		if (!consume(log, ring) && k2hft_ring_sleep(ring)) {
			(void)poll(&wait, 1, 100);
			k2hft_ring_awake(ring);
		}
	}
}

static pid_t consumer_start(struct log *log, const char *path)
{
	pid_t consumer = fork();

	REQUIRE(consumer >= 0);
	if (consumer == 0)
		consumer_main(log, path);
	return consumer;
}

static void kill_and_wait(pid_t process)
{
	int status;

	REQUIRE(kill(process, SIGKILL) == 0);
	REQUIRE(waitpid(process, &status, 0) == process);
	REQUIRE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void drain(struct log *log, const char *path, const struct worker *workers, unsigned producers)
{
	struct k2hft_ring_stats stats = {.size = sizeof(stats)};
	struct k2hft_ring *ring = ring_open(path);

	do {
		while (consume(log, ring))
			continue;
		REQUIRE(k2hft_ring_stats(ring, &stats) == 0);
		REQUIRE(k2hft_ring_release(ring, stats.read) == 0);
		REQUIRE(k2hft_ring_stats(ring, &stats) == 0);
	} while (stats.head != stats.tail);
	REQUIRE(stats.damaged_bytes == 0);
	REQUIRE(k2hft_ring_validate(ring) == 0);
	for (unsigned at = 0; at < producers; at++) {
		bool seen = log->life[at] == workers[at].life;

		REQUIRE((seen ? log->next[at] : 0) == log->board.committed[at]);
	}
	k2hft_ring_close(ring);
	printf("%u producers: %llu chunks, %llu came again, %llu consumers, %llu claims discarded\n", producers,
	       (unsigned long long)log->chunks, (unsigned long long)log->again, (unsigned long long)log->consumers,
	       (unsigned long long)stats.discarded_claims);
}

static void disturb(struct log *log, const char *path, struct worker *workers, unsigned producers, uint64_t end_ns)
{
	uint32_t random = 77;
	pid_t consumer = consumer_start(log, path);

	for (unsigned at = 0; at < producers; at++)
		process_start(&workers[at]);
	while (now_ns() < end_ns) {
		struct timespec moment = {.tv_nsec = (long)(random_next(&random) % 20000000)};
		struct worker *worker = &workers[random_next(&random) % producers];

		(void)nanosleep(&moment, NULL);
		kill_and_wait(consumer);
		consumer = consumer_start(log, path);
		if (random_next(&random) % 2)
			continue;
		kill_and_wait(worker->process);
		worker->life++;
		process_start(worker);
	}
	atomic_store(&log->board.stop, 1);
	for (unsigned at = 0; at < producers; at++) {
		int status;

		REQUIRE(waitpid(workers[at].process, &status, 0) == workers[at].process);
		REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	kill_and_wait(consumer);
}

static void stress_run(const char *path, unsigned producers, uint64_t duration_ns)
{
	struct log *log = mmap(NULL, sizeof(*log), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct worker workers[PRODUCERS_MAX];

	REQUIRE(log != MAP_FAILED);
	/* So that it is there to attach to. */
	k2hft_ring_close(ring_open(path));
	for (unsigned at = 0; at < producers; at++)
		workers[at] = (struct worker){.board = &log->board, .link = path, .number = at};
	disturb(log, path, workers, producers, now_ns() + duration_ns);
	drain(log, path, workers, producers);
	(void)munmap(log, sizeof(*log));
	(void)unlink(path);
}

/* The argument is how many seconds all of it takes. */
int main(int count, char **arguments)
{
	uint64_t duration_ns = (count > 1 ? strtoull(arguments[1], NULL, 10) : 2) * 1000000000 / 4;
	const char *parent = getenv("TMPDIR");
	char path[512];

	(void)setvbuf(stdout, NULL, _IONBF, 0);
	(void)snprintf(path, sizeof(path), "%s/k2hft-stress-%ld", parent ? parent : "/tmp", (long)getpid());
	for (unsigned producers = 1; producers <= PRODUCERS_MAX; producers *= 2)
		stress_run(path, producers, duration_ns);
	return 0;
}
