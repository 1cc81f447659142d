/* SPDX-License-Identifier: MIT */
/* Settlement: a sender went on at another receiver, and this one takes back what it has behind that. */
#include <errno.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"
#include "receiver/sink/rotation/rotation.h"
#include "session_world.h"

/* Each letter is a commit of its own, of 40 bytes of the ring. */
static void put_letters(struct world *world, uint64_t position, const char *letters)
{
	char letter[2] = "";

	for (; *letters; letters++, position += 40) {
		letter[0] = *letters;
		put_data(world, position, 0, 1, letter);
		assert_int_equal(take(world), K2I_SESSION_MORE);
	}
	world->session.output_bytes = 0;
}

static void send_letters(struct world *world, uint64_t id, const char *ring, uint64_t position, const char *letters)
{
	session_again(world, id);
	put_hello(world, ring, 2, position);
	put_stream(world, 1, "file");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	put_letters(world, position, letters);
}

/* The sender comes again, from another receiver that has acknowledged up to `acked`. */
static struct k2hft_welcome settle(struct world *world, uint64_t id, uint64_t position, uint64_t acked)
{
	struct k2hft_hello hello = hello_make("ring", 2, acked);

	hello.unsettled_count = 2;
	hello.unsettled[0] = (struct k2hft_unsettled){{1}, 8};
	memcpy(hello.unsettled[1].receiver_uuid, world->shared.receiver_uuid, 16);
	hello.unsettled[1].position = position;
	session_again(world, id);
	put_greeting(world, &hello);
	assert_int_equal(take(world), K2I_SESSION_MORE);
	return expect_welcome(world);
}

/* Its receiver was killed, and comes again. */
static void kill_receiver(struct world *world)
{
	world_close(world);
	memset(&world->counters, 0, sizeof(world->counters));
	world->shared.raw = NULL;
	world_open(world);
	session_open(world, 100);
}

static unsigned lines_of(const struct world *world, char *text, size_t room)
{
	FILE *file = fopen(world->retracted, "r");
	size_t got = file ? fread(text, 1, room - 1, file) : 0;
	unsigned lines = 0;

	text[got] = '\0';
	for (size_t at = 0; at < got; at++)
		lines += text[at] == '\n';
	if (file)
		(void)fclose(file);
	return lines;
}

static void expect_lines(const struct world *world, unsigned lines)
{
	char text[4096];

	assert_int_equal(lines_of(world, text, sizeof(text)), lines);
}

SESSION_TEST(test_the_end_of_a_file_is_cut)
{
	struct k2hft_welcome welcome;

	for (unsigned killed = 0; killed < 2; killed++) {
		send_letters(world, 10 + killed, "ring", 120 * killed, killed ? "de" : "abcde");
		if (killed)
			kill_receiver(world);
		welcome = settle(world, 20 + killed, 120, 400);
		assert_int_equal(welcome.position, 400);
		assert_int_equal(welcome.cut_records, 2);
		assert_int_equal(welcome.retracted_records, 0);
		expect_file(world, "file", "abc");
		assert_int_equal(atomic_load(&world->counters.settled_records), 2);
		assert_int_equal(atomic_load(&world->counters.ledger_lost), 0);
		/* Once more, as its sender does that did not hear the answer. */
		welcome = settle(world, 30 + killed, 120, 400);
		assert_int_equal(welcome.cut_records, 0);
		assert_int_equal(atomic_load(&world->counters.settlements), 1);
		expect_file(world, "file", "abc");
	}
	expect_lines(world, 0);
}

SESSION_TEST(test_what_is_in_front_of_others_is_retracted)
{
	struct k2hft_welcome welcome;
	struct k2i_session first;
	char text[4096];

	send_letters(world, 10, "ring", 0, "abc");
	first = world->session;
	session_open(world, 11);
	send_letters(world, 12, "other", 0, "x");
	k2i_session_end(&world->session);
	world->session = first;
	put_letters(world, 120, "de");
	kill_receiver(world);
	welcome = settle(world, 20, 40, 400);
	assert_int_equal(welcome.cut_records, 2);
	assert_int_equal(welcome.retracted_records, 2);
	expect_file(world, "file", "abcx");
	assert_int_equal(lines_of(world, text, sizeof(text)), 2);
	assert_non_null(strstr(text, "\tfile\t2\t1\t72696e67-0000-0000-0000-000000000000\t80\t120\t1\t"));
	assert_non_null(strstr(text, "\tfile\t1\t1\t72696e67-0000-0000-0000-000000000000\t40\t80\t1\t"));
	assert_int_equal(atomic_load(&world->counters.retracted_ranges), 2);
	(void)settle(world, 21, 40, 400);
	expect_lines(world, 2);
}

/* Somebody else has cut or renamed the file: it is not there any more, or not where it was. */
SESSION_TEST(test_files_of_others_are_left_alone)
{
	struct k2hft_welcome welcome;
	char path[300], renamed[300], text[4096];

	send_letters(world, 10, "ring", 0, "abc");
	path_in(path, sizeof(path), world->base, "file");
	path_in(renamed, sizeof(renamed), world->base, "file.1");
	assert_int_equal(rename(path, renamed), 0);
	welcome = settle(world, 20, 80, 400);
	assert_int_equal(welcome.retracted_records, 1);
	expect_file(world, "file.1", "abc");
	(void)lines_of(world, text, sizeof(text));
	assert_non_null(strstr(text, "\tfile.1\t2\t1\t"));
	/* It was cut and goes on. */
	send_letters(world, 11, "ring", 400, "abc");
	assert_int_equal(truncate(path, 1), 0);
	put_letters(world, 520, "d");
	expect_file(world, "file", "ad");
	welcome = settle(world, 21, 440, 800);
	assert_int_equal(welcome.cut_records, 1);
	assert_int_equal(welcome.retracted_records, 2);
	expect_file(world, "file", "a");
}

/* A row that is behind what its sender says was acknowledged here is of an older disk. */
SESSION_TEST(test_a_restored_disk_is_told)
{
	struct k2hft_welcome welcome;

	send_letters(world, 10, "ring", 0, "abc");
	welcome = settle(world, 20, 160, 400);
	assert_int_equal(welcome.cut_records | welcome.retracted_records, 0);
	assert_int_equal(atomic_load(&world->counters.ledger_lost), 1);
	expect_file(world, "file", "abc");
}

/* Ranges whose sender proves to know of them are not kept. */
SESSION_TEST(test_what_is_proven_is_forgotten)
{
	struct k2hft_ping pong;
	struct k2i_ledger_range *ranges;
	size_t count;
	uint8_t uuid[16] = "ring", body[K2HFT_MESSAGE_BYTES_MAX];
	size_t body_bytes;
	unsigned pings = 0;

	session_again(world, 10);
	put_hello(world, "ring", 1, 0);
	put_stream(world, 1, "file");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	for (uint64_t position = 0; position < 200 * 40; position += 40) {
		uint8_t type;

		put_data(world, position, 0, 1, "a");
		assert_int_equal(take(world), K2I_SESSION_MORE);
		while ((type = next_answer(world, body, &body_bytes)) != 0) {
			if (type != K2HFT_FRAME_PING)
				continue;
			assert_int_equal(k2hft_ping_decode(body, body_bytes, &pong), 0);
			pings++;
			put_message(world,
				    k2hft_ping_encode(K2HFT_FRAME_PONG, &pong, input_end(world), input_room(world)));
		}
		assert_int_equal(k2i_ledger_ranges(world->ledger, uuid, 0, 0, &ranges, &count), 0);
		free(ranges);
		assert_in_range(count, 1, 33);
	}
	assert_in_range(pings, 5, 7);
	/* Its sender knows more than that, so what it asks for now has no place any more. */
	assert_int_equal(settle(world, 11, 0, 400 * 40).retracted_records, 0);
	expect_lines(world, 1);
}

/* The receiver seals a file when it has three letters, and once it is started compresses it. */
static struct k2i_rotation *rotation_open(struct world *world)
{
	struct k2i_settings settings = {.rotate_bytes = 3, .rotate_compress = K2I_ROTATE_COMPRESS_GZIP};
	struct k2i_rotation *rotation;

	assert_int_equal(k2i_rotation_open(&(struct k2i_rotation_options){.base_directory = world->base,
									  .state_directory = world->root,
									  .ledger = world->ledger,
									  .counters = &world->counters,
									  .settings = &settings},
					   &rotation),
			 0);
	k2i_outputs_rotation(world->outputs, rotation);
	return rotation;
}

/* The name of the sealed file, below the base. */
static void sealed_find(const struct world *world, char *name, size_t room)
{
	char pattern[300];
	glob_t found;

	path_in(pattern, sizeof(pattern), world->base, "file.2*");
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	assert_int_equal(found.gl_pathc, 1);
	(void)snprintf(name, room, "%s", strrchr(found.gl_pathv[0], '/') + 1);
	globfree(&found);
}

SESSION_TEST(test_a_sealed_file_is_cut)
{
	struct k2i_rotation *rotation;
	struct k2hft_welcome welcome;
	char name[100], path[400];

	for (unsigned killed = 0; killed < 2; killed++) {
		rotation = rotation_open(world);
		send_letters(world, 10 + killed, "ring", killed ? 400 : 0, "abcde");
		sealed_find(world, name, sizeof(name));
		expect_file(world, name, "abc");
		expect_file(world, "file", "de");
		if (killed) {
			k2i_rotation_close(rotation);
			kill_receiver(world);
			rotation = rotation_open(world);
			world->counters.settled_records = 0;
		}
		welcome = settle(world, 20 + killed, killed ? 480 : 80, 400 + 400 * killed);
		assert_int_equal(welcome.cut_records, 3);
		assert_int_equal(welcome.retracted_records, 0);
		expect_file(world, name, "ab");
		expect_file(world, "file", "");
		k2i_outputs_rotation(world->outputs, NULL);
		k2i_rotation_close(rotation);
		path_in(path, sizeof(path), world->base, name);
		assert_int_equal(remove(path), 0);
	}
}

SESSION_TEST(test_a_compressed_file_is_retracted)
{
	struct k2i_rotation *rotation = rotation_open(world);
	struct k2hft_welcome welcome;
	char name[100], line[200], text[4096];

	send_letters(world, 10, "ring", 0, "abcde");
	assert_int_equal(k2i_rotation_start(rotation), 0);
	for (unsigned look = 0; look < 2000 && k2i_rotation_waiting(rotation); look++)
		(void)usleep(10000);
	assert_int_equal(k2i_rotation_waiting(rotation), 0);
	sealed_find(world, name, sizeof(name));
	assert_non_null(strstr(name, ".gz"));
	welcome = settle(world, 20, 80, 400);
	assert_int_equal(welcome.cut_records, 2);
	assert_int_equal(welcome.retracted_records, 1);
	expect_file(world, "file", "");
	(void)lines_of(world, text, sizeof(text));
	(void)snprintf(line, sizeof(line), "\t%s\t2\t1\t", name);
	assert_non_null(strstr(text, line));
	k2i_outputs_rotation(world->outputs, NULL);
	k2i_rotation_close(rotation);
}
