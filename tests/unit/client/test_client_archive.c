/* SPDX-License-Identifier: MIT */
/* The archive: each record once, in the order in which they are sent first, whatever becomes of the connection. */
#define UNIT_OWN_MAIN
#include "unit.h"
#include "client_peer.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "ring/ring.h"

static char directory[] = "/tmp/k2hft-archive.XXXXXX", path[64], other[64];

static void archive_is(const char *file, const char *text)
{
	char got[4096];
	int descriptor = open(file, O_RDONLY | O_CLOEXEC);
	ssize_t bytes = read(descriptor, got, sizeof(got) - 1);

	assert_true(bytes >= 0);
	got[bytes] = '\0';
	assert_string_equal(got, text);
	assert_int_equal(close(descriptor), 0);
}

static void archive_append(const char *text)
{
	int descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);

	assert_int_equal(write(descriptor, text, strlen(text)), strlen(text));
	assert_int_equal(close(descriptor), 0);
}

static int archive_open(void **state)
{
	struct fixture *f;

	(void)unlink(path);
	(void)unlink(other);
	(void)fixture_open(state);
	f = *state;
	f->options.archive_path = path;
	return 0;
}

static void client_again(struct fixture *f)
{
	k2hft_client_close(f->client);
	peer_close(f);
	client_open(f);
}

#define ARCHIVE_TEST(name) FIXTURE_TEST(name, struct fixture *f, archive_open, fixture_close)

ARCHIVE_TEST(what_is_sent_again_is_there_once)
{
	uint64_t from, to;

	archive_append("before\n");
	client_open(f);
	push_three(f, &from, &to);
	(void)peer_connect_data(f, 0);
	archive_is(path, "before\none\ntwo\nthree\n");
	peer_close(f);
	push(f, "four\n");
	(void)peer_connect_data(f, from);
	archive_is(path, "before\none\ntwo\nthree\nfour\n");
	client_again(f);
	push(f, "five\n");
	(void)peer_connect_data(f, from);
	archive_is(path, "before\none\ntwo\nthree\nfour\nfive\n");
	assert_int_equal(ring_stats_of(f).unarchived_records, 0);
}

/* As a process leaves it that was killed before the ring knew of the last frame. */
ARCHIVE_TEST(what_a_killed_process_wrote_last_is_cut)
{
	struct k2i_ring_archive mark;

	client_open(f);
	push(f, "one\n");
	(void)peer_connect_data(f, 0);
	k2i_ring_archive(f->ring, &mark);
	assert_int_equal(mark.bytes, 4);
	archive_append("tw");
	client_again(f);
	push(f, "two\n");
	(void)peer_connect_data(f, f->end);
	archive_is(path, "one\ntwo\n");
	/* More than a frame, or another file, was not its own. */
	k2hft_client_close(f->client);
	peer_close(f);
	assert_int_equal(truncate(path, K2HFT_FRAME_BODY_BYTES_MAX + 9), 0);
	client_open(f);
	struct stat file;
	assert_int_equal(stat(path, &file), 0);
	assert_int_equal(file.st_size, K2HFT_FRAME_BODY_BYTES_MAX + 9);
	k2hft_client_close(f->client);
	assert_int_equal(rename(path, other), 0);
	archive_append("another file\n");
	client_open(f);
	archive_is(path, "another file\n");
}

ARCHIVE_TEST(many_chunks_are_there_in_order)
{
	char expected[1024];
	size_t bytes = 0;

	client_open(f);
	for (int line = 0; line < 200; line++) {
		char text[16];

		(void)snprintf(text, sizeof(text), "%d\n", line);
		bytes += (size_t)snprintf(expected + bytes, sizeof(expected) - bytes, "%s", text);
		push(f, text);
	}
	(void)peer_connect_data(f, 0);
	archive_is(path, expected);
}

ARCHIVE_TEST(a_renamed_file_is_followed)
{
	struct stat file;

	archive_append("");
	client_open(f);
	push(f, "one\n");
	(void)peer_connect_data(f, 0);
	assert_int_equal(rename(path, other), 0);
	f->now_ns += 1001 * MS;
	push(f, "two\n");
	(void)peer_data(f);
	archive_is(other, "one\n");
	archive_is(path, "two\n");
	assert_int_equal(stat(path, &file), 0);
	assert_int_equal(file.st_mode & 0777, 0640);
}

/* Half a record would be joined to the next one. */
ARCHIVE_TEST(a_full_disk_keeps_nothing_from_being_sent)
{
	struct rlimit before, limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = (struct rlimit){10, before.rlim_max};
	(void)signal(SIGXFSZ, SIG_IGN);
	client_open(f);
	push(f, "one\n");
	(void)peer_connect_data(f, 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	push(f, "two, and more\n");
	(void)peer_data(f);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	archive_is(path, "one\n");
	push(f, "three\n");
	(void)peer_data(f);
	archive_is(path, "one\nthree\n");
	assert_int_equal(ring_stats_of(f).unarchived_records, 1);
	assert_non_null(strstr(f->log, "archive"));
	(void)signal(SIGXFSZ, SIG_DFL);
}

ARCHIVE_TEST(without_its_directory_it_is_tried_again)
{
	char moved[] = "/tmp/k2hft-archive.moved.XXXXXX";

	assert_non_null(mkdtemp(moved));
	assert_int_equal(rename(directory, moved), 0);
	client_open(f);
	push(f, "one\n");
	(void)peer_connect_data(f, 0);
	assert_int_equal(ring_stats_of(f).unarchived_records, 1);
	assert_non_null(strstr(f->log, "No such file or directory: records are sent without it"));
	assert_int_equal(rename(moved, directory), 0);
	f->now_ns += 1001 * MS;
	push(f, "two\n");
	(void)peer_data(f);
	archive_is(path, "two\n");
}

ARCHIVE_TEST(one_sender_has_it)
{
	struct k2hft_ring_options options = {.size = sizeof(options), .ring_bytes = K2HFT_RING_BYTES_MIN};
	struct k2hft_client *second;
	struct k2hft_ring *ring;

	client_open(f);
	assert_int_equal(k2hft_ring_open(&options, &ring), 0);
	assert_int_equal(k2hft_client_open(ring, &f->options, &second), 0);
	assert_non_null(strstr(f->log, "another sender has it"));
	k2hft_client_close(second);
	k2hft_ring_close(ring);
	push(f, "one\n");
	(void)peer_connect_data(f, 0);
	archive_is(path, "one\n");
}

int main(void)
{
	int failed;

	assert_non_null(mkdtemp(directory));
	(void)snprintf(path, sizeof(path), "%s/archive", directory);
	(void)snprintf(other, sizeof(other), "%s/archive.1", directory);
	failed = unit_run();
	(void)unlink(path);
	(void)unlink(other);
	(void)rmdir(directory);
	return failed;
}
