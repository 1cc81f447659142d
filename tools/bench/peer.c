/* SPDX-License-Identifier: MIT */
/*
 * The server that records are sent on to, of Forward or OTLP: processes that read what comes, acknowledge it and keep
 * nothing but the first messages. These are what a plain sender sends again, to set a sink beside.
 */
#include "tools/bench/bench.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/bench/pipe.h"

#define KEPT_BYTES (UINT64_C(64) << 20)
#define KEPT_MAX 65536u
#define MESSAGE_BYTES_MAX (UINT64_C(1) << 30)
#define READ_BYTES (256u * 1024)
#define ANSWER_ROOM 64u

/* Shared by the processes of a server and the one that has started it. */
struct bench_kept {
	_Atomic uint64_t payload_bytes; /* of all that came */
	atomic_flag taken;              /* a connection keeps its messages */
	uint64_t kept_payload_bytes, answer_bytes;
	unsigned count;
	uint64_t ends[KEPT_MAX];
	char bytes[KEPT_BYTES];
};

struct message {
	uint64_t bytes, payload_bytes; /* 0: it is not whole */
	char answer[ANSWER_ROOM];
	size_t answer_bytes;
};

/* Forward --------------------------------------------------------------------------------------------------------- */

/*
 * The head of a value of MessagePack that is no extension: its bytes, and those that follow it. 0: it is not whole. The
 * receiver is our own, so what it sends is right.
 */
static size_t head_bytes(const unsigned char *at, size_t left, uint64_t *following)
{
	/* c4 to c6 binary, cc to cf numbers, d9 to db strings: how many bytes of length or number they have. */
	static const unsigned char widths[32] = {[4] = 1, 2, 4, [12] = 1, 2, 4, 8, [25] = 1, 2, 4};
	size_t width = left && *at >= 0xc0 && *at < 0xe0 ? widths[*at - 0xc0] : 0;
	uint64_t number = 0;

	if (left < 1 + width)
		return 0;
	for (size_t byte = 1; byte <= width; byte++)
		number = number << 8 | at[byte];
	*following = *at >= 0xa0 && *at < 0xc0 ? *at & 0x1f : *at >= 0xcc && *at < 0xd0 ? 0 : number;
	return 1 + width;
}

/* [tag, entries, {"chunk": id, "size": number}]: each a value, and so are the begins of array and map. */
enum { ENTRIES = 2, ID = 5, VALUES = 8 };

static void forward_read(const char *bytes, size_t count, struct message *message)
{
	static const char ack[] = "\x81\xa3"
				  "ack";
	const unsigned char *at = (const unsigned char *)bytes, *end = at + count, *begins[VALUES];
	uint64_t following[VALUES];
	size_t head;

	for (unsigned value = 0; value < VALUES; value++) {
		begins[value] = at;
		head = head_bytes(at, (size_t)(end - at), &following[value]);
		if (!head || following[value] > (size_t)(end - at) - head)
			return;
		at += head + following[value];
	}
	message->answer_bytes = sizeof(ack) - 1 + (size_t)(begins[ID + 1] - begins[ID]);
	if (message->answer_bytes > ANSWER_ROOM)
		return;
	message->bytes = (uint64_t)((const char *)at - bytes);
	message->payload_bytes = following[ENTRIES];
	memcpy(message->answer, ack, sizeof(ack) - 1);
	memcpy(message->answer + sizeof(ack) - 1, begins[ID], message->answer_bytes - (sizeof(ack) - 1));
}

/* OTLP ------------------------------------------------------------------------------------------------------------ */

static void otlp_read(const char *bytes, size_t count, struct message *message)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", length[] = "\r\nContent-Length: ";
	const char *end = memmem(bytes, count, "\r\n\r\n", 4);
	const char *at = end ? memmem(bytes, (size_t)(end - bytes), length, sizeof(length) - 1) : NULL;

	if (!at)
		return;
	message->payload_bytes = strtoull(at + sizeof(length) - 1, NULL, 10);
	if (count - (size_t)(end + 4 - bytes) < message->payload_bytes)
		return;
	message->bytes = (uint64_t)(end + 4 - bytes) + message->payload_bytes;
	message->answer_bytes = sizeof(answer) - 1;
	memcpy(message->answer, answer, sizeof(answer));
}

/* `window`: messages that a sender has under way. All answers are of one length. */
static const struct kind {
	void (*read)(const char *bytes, size_t count, struct message *message);
	uint64_t window;
} kinds[] = {[BENCH_SINK_FORWARD] = {forward_read, 256}, [BENCH_SINK_OTLP] = {otlp_read, 1}};

/* Server ---------------------------------------------------------------------------------------------------------- */

static void message_keep(struct bench_kept *kept, const char *bytes, const struct message *message)
{
	uint64_t used = kept->count ? kept->ends[kept->count - 1] : 0;

	if (kept->count == KEPT_MAX || used + message->bytes > KEPT_BYTES)
		return;
	memcpy(kept->bytes + used, bytes, message->bytes);
	kept->ends[kept->count++] = used + message->bytes;
	kept->kept_payload_bytes += message->payload_bytes;
	kept->answer_bytes = message->answer_bytes;
}

/* Whole messages at the begin of `bytes`; how many bytes they have. -errno */
static ssize_t messages_answer(const struct kind *kind, int connection, struct bench_kept *kept, bool keep,
			       const char *bytes, size_t count)
{
	size_t taken = 0;
	int error = 0;

	while (error == 0) {
		struct message message = {.bytes = 0};

		kind->read(bytes + taken, count - taken, &message);
		if (!message.bytes)
			break;
		if (keep)
			message_keep(kept, bytes + taken, &message);
		atomic_fetch_add(&kept->payload_bytes, message.payload_bytes);
		error = bench_write_all(connection, message.answer, message.answer_bytes);
		taken += message.bytes;
	}
	return error ? error : (ssize_t)taken;
}

static _Noreturn void connection_serve(const struct kind *kind, int connection, struct bench_kept *kept)
{
	bool keep = !atomic_flag_test_and_set(&kept->taken);
	size_t used = 0, room = READ_BYTES;
	char *bytes = malloc(room);
	ssize_t got = 1, taken = 0;

	while (bytes && got > 0 && taken >= 0) {
		got = read(connection, bytes + used, room - used);
		used += got > 0 ? (size_t)got : 0;
		taken = messages_answer(kind, connection, kept, keep, bytes, used);
		if (taken > 0) {
			used -= (size_t)taken;
			memmove(bytes, bytes + taken, used);
		}
		if (used == room) {
			room *= 2;
			bytes = room > MESSAGE_BYTES_MAX ? NULL : realloc(bytes, room);
		}
	}
	_exit(0);
}

static _Noreturn void server_run(const struct kind *kind, int listener, struct bench_kept *kept)
{
	const int on = 1;

	(void)signal(SIGCHLD, SIG_IGN);
	for (;;) {
		int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		pid_t parent = getpid();

		if (connection < 0)
			continue;
		(void)setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		if (fork() == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() == parent)
				connection_serve(kind, connection, kept);
			_exit(1);
		}
		(void)close(connection);
	}
}

int bench_peer_start(struct bench_run *run)
{
	struct sockaddr_in address;
	int listener;

	run->kept = mmap(NULL, sizeof(*run->kept), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (run->kept == MAP_FAILED) {
		run->kept = NULL;
		return bench_failed(-1, "memory: %s", strerror(errno));
	}
	listener = bench_listener_open(&address);
	if (listener < 0)
		return bench_failed(-1, "a server: %s", strerror(-listener));
	(void)snprintf(run->peer_port, sizeof(run->peer_port), "%u", (unsigned)ntohs(address.sin_port));
	run->peer.pid = fork();
	if (run->peer.pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)signal(SIGINT, SIG_IGN);
		(void)signal(SIGTERM, SIG_DFL);
		server_run(&kinds[run->point.sink], listener, run->kept);
	}
	(void)close(listener);
	if (run->peer.pid > 0)
		return 0;
	run->peer.pid = 0;
	return bench_failed(-1, "fork: %s", strerror(errno));
}

void bench_peer_stop(struct bench_run *run)
{
	if (run->peer.pid) {
		(void)kill(run->peer.pid, SIGKILL);
		while (waitpid(run->peer.pid, NULL, 0) < 0 && errno == EINTR)
			continue;
		run->peer.pid = 0;
	}
	if (run->kept)
		(void)munmap(run->kept, sizeof(*run->kept));
	run->kept = NULL;
}

uint64_t bench_peer_bytes(const struct bench_run *run)
{
	return atomic_load(&run->kept->payload_bytes);
}

/* Plain sender ---------------------------------------------------------------------------------------------------- */

/* Until no more than `most` of the messages that were sent have no answer. */
static int answers_await(int connection, const struct bench_kept *kept, uint64_t sent, uint64_t most,
			 uint64_t *answered)
{
	static char answers[4096];
	ssize_t got;

	while (sent - *answered / kept->answer_bytes > most) {
		got = read(connection, answers, sizeof(answers));
		if (got <= 0)
			return got < 0 ? -errno : -ECONNRESET;
		*answered += (uint64_t)got;
	}
	return 0;
}

/* The messages that were kept, again and again, until `bytes` of them are acknowledged. */
static int kept_send(int connection, const struct kind *kind, const struct bench_kept *kept, uint64_t bytes)
{
	uint64_t sent = 0, answered = 0, begin, end = 0;
	int error = 0;

	for (uint64_t left = bytes; left > 0 && error == 0; sent++) {
		begin = sent % kept->count ? end : 0;
		end = kept->ends[sent % kept->count];
		error = answers_await(connection, kept, sent, kind->window - 1, &answered);
		if (error == 0)
			error = bench_write_all(connection, kept->bytes + begin, end - begin);
		left -= end - begin < left ? end - begin : left;
	}
	return error ? error : answers_await(connection, kept, sent, 0, &answered);
}

int bench_peer_send(const struct bench_run *run, uint64_t records_bytes, struct bench_pipe *carried)
{
	const struct bench_kept *kept = run->kept;
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				      .sin_port = htons((uint16_t)strtoul(run->peer_port, NULL, 10))};
	/* The messages of so many bytes of records. */
	double wire = kept->count ? (double)kept->ends[kept->count - 1] / (double)kept->kept_payload_bytes *
					    (double)bench_peer_bytes(run) / (double)records_bytes
				  : 0;
	struct rusage before, after;
	uint64_t begin_ns;
	int connection, error;

	if (!kept->count)
		return -ENODATA;
	connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connection < 0)
		return -errno;
	(void)getrusage(RUSAGE_SELF, &before);
	begin_ns = k2i_clock_now_ns();
	error = connect(connection, (const struct sockaddr *)&address, sizeof(address)) ? -errno : 0;
	if (error == 0)
		error = kept_send(connection, &kinds[run->point.sink], kept, (uint64_t)(wire * (double)carried->bytes));
	carried->seconds = (double)(k2i_clock_now_ns() - begin_ns) / 1e9;
	(void)getrusage(RUSAGE_SELF, &after);
	carried->cpu_seconds = bench_cpu_s(&after) - bench_cpu_s(&before);
	(void)close(connection);
	return error;
}
