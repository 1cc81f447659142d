/* SPDX-License-Identifier: MIT */
/* A sender with several receivers, each a small one in a thread of the test. */
#include <dirent.h>
#include <errno.h>

#include <k2hft/sender.h>

#include "unit.h"
#include "base/clock.h"
#include "ring/ring.h"
#include "sender/sender.h"
#include "sender/writer.h"
#include "small_receiver.h"

#define RECEIVERS 4u
#define STREAMS 12u
#define LONG_MS 60000

struct world {
	struct receiver *receivers[RECEIVERS];
	struct k2hft_target targets[RECEIVERS];
	struct k2hft_sender_options options;
	struct k2hft_sender *sender;
};

static int world_open(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	*state = world;
	for (unsigned at = 0; at < RECEIVERS; at++) {
		world->receivers[at] = receiver_make((uint8_t)at);
		world->targets[at] = (struct k2hft_target){"127.0.0.1", world->receivers[at]->port, NULL};
	}
	world->options = (struct k2hft_sender_options){.size = sizeof(world->options),
						       .targets = world->targets,
						       .target_count = RECEIVERS,
						       .ring_bytes = 1024 * 1024,
						       .replica = K2HFT_REPLICA_NONE};
	return 0;
}

static int world_close(void **state)
{
	struct world *world = *state;

	(void)k2hft_sender_close(world->sender, 0);
	for (unsigned at = 0; at < RECEIVERS; at++) {
		void *receiver = world->receivers[at];

		(void)receiver_end(&receiver);
	}
	free(world);
	return 0;
}

static void sender_open(struct world *world)
{
	assert_int_equal(k2hft_sender_open(&world->options, &world->sender), 0);
}

static void sender_close(struct world *world)
{
	assert_int_equal(k2hft_sender_close(world->sender, LONG_MS), 0);
	world->sender = NULL;
}

static struct k2hft_writer *writer_make(struct world *world, unsigned stream)
{
	struct k2hft_writer *writer;
	char path[32];

	(void)snprintf(path, sizeof(path), "s%u.log", stream);
	assert_int_equal(k2hft_writer_open(world->sender, path, &writer), 0);
	return writer;
}

static void number_write(struct k2hft_writer *writer, unsigned number)
{
	char text[32];
	int bytes = snprintf(text, sizeof(text), "%u", number);

	assert_int_equal(k2hft_writer_write(writer, text, (size_t)bytes), 0);
}

/* Numbers from `from` on in each of the streams. */
static void numbers_write(struct k2hft_writer **writers, unsigned from, unsigned count)
{
	for (unsigned number = from; number < from + count; number++)
		for (unsigned stream = 0; stream < STREAMS; stream++)
			number_write(writers[stream], number);
}

static const struct kept *kept_find(const struct receiver *receiver, unsigned stream)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "s%u.log", stream);
	for (unsigned at = 0; at < receiver->kept_count; at++)
		if (strcmp(receiver->kept[at].path, path) == 0 && receiver->kept[at].byte_count)
			return &receiver->kept[at];
	return NULL;
}

/* How many lines the receiver has of a stream; each number in `seen` is counted, and numbers only rise. */
static unsigned lines_count(const struct receiver *receiver, unsigned stream, uint8_t *seen, unsigned count)
{
	const struct kept *kept = kept_find(receiver, stream);
	unsigned lines = 0, number = 0, last = 0;

	for (size_t at = 0; kept && at < kept->byte_count; at++) {
		if (kept->bytes[at] != '\n') {
			number = number * 10 + kept->bytes[at] - '0';
			continue;
		}
		assert_true(number < count && (!lines || number > last));
		seen[number]++;
		last = number;
		number = 0;
		lines++;
	}
	return lines;
}

/* Each number of each stream is there in so many copies. */
static void all_there(const struct world *world, unsigned count, unsigned copies)
{
	for (unsigned stream = 0; stream < STREAMS; stream++) {
		uint8_t *seen = calloc(count, 1);

		for (unsigned at = 0; at < RECEIVERS; at++)
			(void)lines_count(world->receivers[at], stream, seen, count);
		for (unsigned number = 0; number < count; number++)
			assert_int_equal(seen[number], copies);
		free(seen);
	}
}

static unsigned holders_count(const struct world *world, unsigned stream)
{
	unsigned count = 0;

	for (unsigned at = 0; at < RECEIVERS; at++)
		count += kept_find(world->receivers[at], stream) != NULL;
	return count;
}

static void streams_write(struct world *world, unsigned count)
{
	struct k2hft_writer *writers[STREAMS];

	for (unsigned stream = 0; stream < STREAMS; stream++)
		writers[stream] = writer_make(world, stream);
	numbers_write(writers, 0, count);
	for (unsigned stream = 0; stream < STREAMS; stream++)
		k2hft_writer_close(writers[stream]);
}

#define COUNT 20000u

static void spread_check(struct world *world, unsigned copies, unsigned holders)
{
	struct k2hft_sender_stats stats = {.size = sizeof(stats)};

	sender_open(world);
	streams_write(world, COUNT);
	assert_int_equal(k2hft_sender_flush(world->sender, LONG_MS), 0);
	assert_int_equal(k2hft_sender_stats(world->sender, &stats), 0);
	assert_int_equal(stats.written_records, COUNT * STREAMS);
	assert_int_equal(stats.unacked_records, 0);
	assert_int_equal(stats.dropped_records, 0);
	assert_int_equal(k2hft_sender_lane_count(world->sender), RECEIVERS);
	sender_close(world);
	all_there(world, COUNT, copies);
	for (unsigned stream = 0; stream < STREAMS && holders; stream++)
		assert_int_equal(holders_count(world, stream), holders);
}

#define WORLD_TEST(name) FIXTURE_TEST(name, struct world *world, world_open, world_close)

WORLD_TEST(hash_keeps_a_stream_whole)
{
	unsigned used = 0;

	spread_check(world, 1, 1);
	for (unsigned at = 0; at < RECEIVERS; at++)
		used += world->receivers[at]->records > 0;
	assert_true(used > 1);
}

WORLD_TEST(random_reaches_all)
{
	world->options.spread = K2HFT_SPREAD_RANDOM;
	spread_check(world, 1, 0);
	for (unsigned at = 0; at < RECEIVERS; at++)
		assert_true(world->receivers[at]->records > COUNT * STREAMS / RECEIVERS / 4);
}

WORLD_TEST(all_get_all)
{
	world->options.spread = K2HFT_SPREAD_ALL;
	spread_check(world, RECEIVERS, RECEIVERS);
}

WORLD_TEST(two_get_a_copy)
{
	world->options.copies = 2;
	spread_check(world, 2, 2);
}

/* With the ring's own room a receiver that does not answer holds nobody up who has another lane. */
WORLD_TEST(a_silent_receiver_is_passed_over)
{
	struct k2hft_writer *writer;
	char *text = calloc(1, 65536);

	memset(text, 'x', 65535);
	atomic_store(&world->receivers[1]->silent, 1);
	world->options.spread = K2HFT_SPREAD_RANDOM;
	sender_open(world);
	writer = writer_make(world, 0);
	for (unsigned record = 0; record < 400; record++)
		assert_int_equal(k2hft_writer_write(writer, text, 65535), 0);
	k2hft_writer_close(writer);
	atomic_store(&world->receivers[1]->silent, 0);
	free(text);
}

/* Nothing is acknowledged, so draws go round: where all have as many bytes the last can be the next, at most each 4th time. */
WORLD_TEST(a_fast_writer_keeps_its_lane)
{
	struct k2hft_writer *writer;
	struct k2i_writer_lane *last = NULL;
	char *text = calloc(1, 60000);
	unsigned kept = 0;

	memset(text, 'x', 59999);
	world->options.spread = K2HFT_SPREAD_RANDOM;
	for (unsigned at = 0; at < RECEIVERS; at++)
		atomic_store(&world->receivers[at]->silent, 1);
	sender_open(world);
	for (unsigned at = 0; at < RECEIVERS; at++)
		while (!k2i_lane_connected(world->sender->lanes[at]))
			(void)poll(NULL, 0, 1);
	writer = writer_make(world, 0);
	for (unsigned record = 0; record < 40; record++) {
		writer->drawn_ns = k2i_clock_now_ns(); /* fast, on whatever machine */
		assert_int_equal(k2hft_writer_write(writer, text, 59999), 0);
		kept += writer->to == last;
		last = writer->to;
	}
	assert_true(kept > 40 / RECEIVERS);
	k2hft_writer_close(writer);
	for (unsigned at = 0; at < RECEIVERS; at++)
		atomic_store(&world->receivers[at]->silent, 0);
	free(text);
}

/* A record is whole at one receiver, whatever its length and the number of its pieces. */
WORLD_TEST(pieces_stay_together)
{
	struct k2hft_writer *writer;
	size_t bytes = 700000;
	char *text = calloc(1, bytes);

	world->options.spread = K2HFT_SPREAD_RANDOM;
	sender_open(world);
	writer = writer_make(world, 0);
	for (unsigned record = 0; record < 40; record++) {
		memset(text, 'a' + (int)(record % 26), bytes);
		assert_int_equal(k2hft_writer_write(writer, text, bytes), 0);
		memset(text, 'A' + (int)(record % 26), bytes);
		text[bytes - 1] = '\n';
		assert_int_equal(k2hft_writer_lines(writer, text, bytes, NULL), 0);
	}
	k2hft_writer_close(writer);
	sender_close(world);
	for (unsigned at = 0; at < RECEIVERS; at++) {
		const struct kept *kept = kept_find(world->receivers[at], 0);

		for (size_t from = 0; kept && from < kept->byte_count;) {
			const uint8_t *line = kept->bytes + from, *end = memchr(line, '\n', kept->byte_count - from);

			assert_non_null(end);
			for (const uint8_t *byte = line; byte < end; byte++)
				assert_int_equal(*byte, *line);
			from += (size_t)(end - line) + 1;
			bytes = (size_t)(end - line);
			assert_true(bytes == 700000 || bytes == 699999);
		}
	}
	free(text);
}

WORLD_TEST(copies_block)
{
	struct k2hft_writer *writer;
	char text[4096] = {0};
	int status = 0;

	memset(text, 'x', sizeof(text));
	atomic_store(&world->receivers[2]->silent, 1);
	world->options.spread = K2HFT_SPREAD_ALL;
	world->options.full = K2HFT_FULL_FAIL;
	sender_open(world);
	writer = writer_make(world, 0);
	for (unsigned record = 0; record < 1000 && status == 0; record++)
		status = k2hft_writer_write(writer, text, sizeof(text));
	assert_int_equal(status, -EAGAIN);
	atomic_store(&world->receivers[2]->silent, 0);
	k2hft_writer_close(writer);
}

/* The others have each record, and lines are whole where some are missing. */
WORLD_TEST(copies_drop_for_one)
{
	struct k2hft_sender_stats stats = {.size = sizeof(stats)};
	uint64_t dropped[RECEIVERS];
	struct k2hft_writer *writer;
	unsigned lines[RECEIVERS] = {0}, records = 0;
	char *text = calloc(1, 500000);

	atomic_store(&world->receivers[2]->silent, 1);
	world->options.spread = K2HFT_SPREAD_ALL;
	world->options.full = K2HFT_FULL_DROP;
	sender_open(world);
	writer = writer_make(world, 0);
	for (; records < 60; records++) {
		size_t bytes = records % 3 == 0 ? 500000 : records % 3 == 1 ? 300 : 60000;

		memset(text, 'a' + (int)(records % 26), bytes);
		if (records % 2) {
			assert_int_equal(k2hft_writer_write(writer, text, bytes), 0);
		} else {
			text[bytes - 1] = '\n';
			for (size_t at = 0; at < bytes; at += bytes / 4)
				assert_int_equal(k2hft_writer_lines(writer, text + at, bytes / 4, NULL), 0);
		}
		/* The others keep up. */
		for (unsigned at = 0; at < RECEIVERS; at++) {
			struct k2hft_lane lane = K2HFT_LANE_INIT;

			assert_int_equal(k2hft_sender_lane(world->sender, at, &lane), 0);
			(void)k2i_sender_seal(world->sender);
			if (at != 2)
				assert_int_equal(k2hft_client_drain(lane.client, LONG_MS), 0);
			dropped[at] = k2i_ring_stats(lane.ring).dropped_records;
		}
	}
	assert_int_equal(k2hft_sender_stats(world->sender, &stats), 0);
	assert_true(dropped[2] > 0);
	assert_int_equal(stats.dropped_records, dropped[0] + dropped[1] + dropped[2] + dropped[3]);
	assert_int_equal(dropped[0] + dropped[1] + dropped[3], 0);
	k2hft_writer_close(writer);
	/* A receiver that connects again gets what waits. */
	(void)k2hft_sender_close(world->sender, 0);
	world->sender = NULL;
	for (unsigned at = 0; at < RECEIVERS; at++) {
		/* The silent one still listens. */
		const struct kept *kept = at == 2 ? NULL : kept_find(world->receivers[at], 0);

		for (size_t byte = 0; kept && byte < kept->byte_count; byte++)
			lines[at] += kept->bytes[byte] == '\n';
	}
	assert_int_equal(lines[0], records);
	assert_int_equal(lines[1], records);
	assert_int_equal(lines[3], records);
	free(text);
}

/* Its writers know nothing of it. */
WORLD_TEST(an_excepted_stream_is_not_sent)
{
	static const char *const except[] = {"none", "s1.", "s2"};
	struct k2hft_sender_stats stats = {.size = sizeof(stats)};
	struct k2hft_writer *writer;
	void *memory;
	size_t bytes;

	world->options.except = except;
	world->options.except_count = 3;
	sender_open(world);
	streams_write(world, 100);
	writer = writer_make(world, 1);
	assert_int_equal(k2hft_writer_lines(writer, "a\nb", 3, NULL), 0);
	assert_int_equal(k2hft_writer_lines_end(writer), 0);
	assert_int_equal(k2hft_writer_reserve(writer, &memory, &bytes), 0);
	memcpy(memory, "c\n", 2);
	assert_int_equal(k2hft_writer_commit(writer, 2), 0);
	k2hft_writer_close(writer);
	assert_int_equal(k2hft_sender_flush(world->sender, LONG_MS), 0);
	assert_int_equal(k2hft_sender_stats(world->sender, &stats), 0);
	assert_int_equal(stats.excepted_records, 203);
	assert_int_equal(stats.written_records, 100 * STREAMS + 3);
	assert_int_equal(stats.unacked_records, 0);
	sender_close(world);
	for (unsigned stream = 0; stream < STREAMS; stream++)
		assert_int_equal(holders_count(world, stream), stream != 1 && stream != 2);
}

WORLD_TEST(options_are_refused)
{
	struct k2hft_sender_options options = world->options, good = options;

	options.host = "a";
	assert_int_equal(k2hft_sender_open(&options, &world->sender), -EINVAL);
	options = good, options.targets = NULL;
	assert_int_equal(k2hft_sender_open(&options, &world->sender), -EINVAL);
	options = good, options.target_count = K2HFT_TARGETS_MAX + 1;
	assert_int_equal(k2hft_sender_open(&options, &world->sender), -EINVAL);
	options = good, options.spread = 3;
	assert_int_equal(k2hft_sender_open(&options, &world->sender), -EINVAL);
	options = good, options.copies = RECEIVERS + 1;
	assert_int_equal(k2hft_sender_open(&options, &world->sender), -EINVAL);
	options = good, options.copies = 2, options.spread = K2HFT_SPREAD_RANDOM;
	assert_int_equal(k2hft_sender_open(&options, &world->sender), -EINVAL);
	options = good, options.except_count = 1;
	assert_int_equal(k2hft_sender_open(&options, &world->sender), -EINVAL);
	world->targets[1] = world->targets[0];
	assert_int_equal(k2hft_sender_open(&good, &world->sender), -EINVAL);
	world->targets[1].host = "a/b";
	assert_int_equal(k2hft_sender_open(&good, &world->sender), -EINVAL);
	world->sender = NULL;
}

static unsigned files_count(const char *folder)
{
	DIR *files = opendir(folder);
	unsigned count = 0;

	assert_non_null(files);
	for (struct dirent *entry; (entry = readdir(files)) != NULL;)
		count += entry->d_name[0] != '.';
	(void)closedir(files);
	return count;
}

static void lanes_await(struct world *world, uint32_t count)
{
	while (k2hft_sender_lane_count(world->sender) != count)
		(void)poll(NULL, 0, 10);
}

/* Streams go to other receivers while they are written, and each stays in order: lines_count looks at one receiver. */
WORLD_TEST(receivers_come_and_go)
{
	struct k2hft_writer *writers[STREAMS];

	world->options.target_count = 2;
	world->options.ring_path = world->receivers[0]->ring_path;
	sender_open(world);
	for (unsigned stream = 0; stream < STREAMS; stream++)
		writers[stream] = writer_make(world, stream);
	numbers_write(writers, 0, 1000);
	assert_int_equal(k2hft_sender_target_add(world->sender, &world->targets[1]), -EEXIST);
	assert_int_equal(k2hft_sender_target_add(world->sender, &world->targets[2]), 0);
	numbers_write(writers, 1000, 1000);
	assert_int_equal(k2hft_sender_target_add(world->sender, &world->targets[3]), 0);
	assert_int_equal(k2hft_sender_lane_count(world->sender), 4);
	assert_int_equal(files_count(world->receivers[0]->folder), 4);
	numbers_write(writers, 2000, 1000);
	assert_int_equal(k2hft_sender_target_remove(world->sender, "127.0.0.1", "1"), -ENOENT);
	assert_int_equal(k2hft_sender_target_remove(world->sender, "127.0.0.1", world->targets[0].port), 0);
	numbers_write(writers, 3000, 1000);
	assert_int_equal(k2hft_sender_target_remove(world->sender, "127.0.0.1", world->targets[3].port), 0);
	/* Nobody writes any more: idle writers leave, too. */
	lanes_await(world, 2);
	assert_int_equal(files_count(world->receivers[0]->folder), 2);
	numbers_write(writers, 4000, 1000);
	assert_int_equal(k2hft_sender_target_remove(world->sender, "127.0.0.1", world->targets[1].port), 0);
	assert_int_equal(k2hft_sender_target_remove(world->sender, "127.0.0.1", world->targets[2].port), -EINVAL);
	for (unsigned stream = 0; stream < STREAMS; stream++)
		k2hft_writer_close(writers[stream]);
	lanes_await(world, 1);
	sender_close(world);
	all_there(world, 5000, 1);
}

/* Where the others have copies nobody takes over: a flush does not wait for ever for one that was removed and is away. */
WORLD_TEST(a_removed_receiver_that_is_away_is_given_up)
{
	world->targets[3].port = "1";
	world->options.spread = K2HFT_SPREAD_ALL;
	world->options.failover_ms = 1000;
	sender_open(world);
	streams_write(world, 10);
	assert_int_equal(k2hft_sender_flush(world->sender, 0), -ETIMEDOUT);
	assert_int_equal(k2hft_sender_target_remove(world->sender, "127.0.0.1", "1"), 0);
	assert_int_equal(k2hft_sender_flush(world->sender, LONG_MS), 0);
	lanes_await(world, 3);
	sender_close(world);
	all_there(world, 10, 3);
}

/* Numbers only rise in a stream at the time of their arrival, over all receivers. */
WORLD_TEST(a_stream_waits_for_its_old_lane)
{
	struct k2hft_writer *writers[STREAMS];

	world->options.target_count = 1;
	world->options.full = K2HFT_FULL_FAIL;
	atomic_store(&world->receivers[0]->silent, 1);
	sender_open(world);
	for (unsigned stream = 0; stream < STREAMS; stream++)
		writers[stream] = writer_make(world, stream);
	numbers_write(writers, 0, 1);
	assert_int_equal(k2hft_sender_target_add(world->sender, &world->targets[1]), 0);
	for (unsigned stream = 0; stream < STREAMS; stream++) {
		int status = k2hft_writer_write(writers[stream], "1", 1);
		struct k2hft_writer *fresh = writer_make(world, stream);
		bool moves = writers[stream]->to->lane->target.port[0] &&
			     strcmp(writers[stream]->to->lane->target.port, world->targets[1].port) == 0;

		assert_int_equal(status, moves ? -EAGAIN : 0);
		/* Another writer of the stream can come later. */
		assert_int_equal(fresh->behind_count > 0, moves);
		k2hft_writer_close(fresh);
		k2hft_writer_close(writers[stream]);
	}
	/* A stream that the old lane never had waits for nothing. */
	for (unsigned stream = STREAMS; stream < 3 * STREAMS; stream++) {
		struct k2hft_writer *writer = writer_make(world, stream);

		number_write(writer, 0);
		k2hft_writer_close(writer);
	}
	atomic_store(&world->receivers[0]->silent, 0);
}

/* Records in files of receivers that are no longer there still go to them, and then the files go. */
WORLD_TEST(ring_files_are_found_again)
{
	world->options.ring_path = world->receivers[0]->ring_path;
	for (unsigned at = 0; at < RECEIVERS; at++)
		atomic_store(&world->receivers[at]->silent, 1);
	sender_open(world);
	streams_write(world, 1);
	assert_int_equal(k2hft_sender_close(world->sender, 0), -ETIMEDOUT);
	assert_int_equal(files_count(world->receivers[0]->folder), 4);
	for (unsigned at = 0; at < RECEIVERS; at++)
		atomic_store(&world->receivers[at]->silent, 0);
	world->options.target_count = 2;
	sender_open(world);
	lanes_await(world, 2);
	assert_int_equal(files_count(world->receivers[0]->folder), 2);
	sender_close(world);
	all_there(world, 1, 1);
}
