/* SPDX-License-Identifier: MIT */
/* Pages that the kernel's cache has given and that can't be taken, for lack of memory; pages of a file that is cut. */
#include "unit.h"
#include "mounted_help.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/wait.h>

#include "fuse/cached/write_mode.h"
#include "fuse/cached/writeback_pull.h"
#include "fuse/cached/truncate_probe.h"
#include "fuse/intake/advance.h"
#include "fuse/tree/nodes.h"

static int open_writer(struct mounted *mounted, struct k2i_cached_file **file)
{
	int status = k2i_pull_open(&mounted->mount, mounted->handle->node, mounted_path, 1, file);

	if (status == 0)
		(*file)->stream->route->passes_all = true;
	return status;
}

static struct k2i_cached_file *writer_open(struct mounted *mounted)
{
	struct k2i_cached_file *file;

	assert_int_equal(open_writer(mounted, &file), 0);
	return file;
}

/* The kernel writes pages back: what it is answered. */
static int give(struct mounted *mounted, uint64_t offset, const char *text)
{
	static uint64_t unique;
	struct k2i_write write = {
		.unique = ++unique,
		.offset = offset,
		.data = text,
		.bytes = strlen(text),
		.answer_bytes = strlen(text),
	};

	k2i_pull_write(&mounted->mount, mounted->handle->node, &write);
	return answer_of(mounted, unique);
}

MOUNTED_TEST(what_is_kept_behind_a_gap_is_counted)
{
	struct k2i_cached_file *file = writer_open(mounted);

	no_memory = true;
	assert_int_equal(give(mounted, 0, "a1"), -ENOMEM);
	no_memory = false;
	assert_int_equal(give(mounted, 3, "a2\na3\n"), 6);
	k2i_pull_pass_hole(&mounted->mount, file);
	assert_sent(mounted, "");
	k2i_pull_cut(&mounted->mount, mounted->handle->node, &(struct k2i_truncate_probe){.bytes = 0});
	assert_int_equal(mounted->mount.counts.lost_records, 2);
	assert_int_equal(k2i_handle_lost(file->stream), -ENOMEM);
	assert_int_equal(give(mounted, 3, "a4\n"), 3);
	k2i_pull_close(&mounted->mount, file);
	assert_int_equal(mounted->mount.counts.lost_records, 3);
	assert_sent(mounted, "");
}

/* Nobody has written what is missing. */
MOUNTED_TEST(what_is_kept_behind_a_hole_is_sent)
{
	struct k2i_cached_file *file = writer_open(mounted);

	assert_int_equal(give(mounted, 10, "a1\n"), 3);
	assert_int_equal(give(mounted, 20, "a2\n"), 3);
	assert_sent(mounted, "");
	k2i_pull_pass_hole(&mounted->mount, file);
	assert_sent(mounted, "a1\na2\n");
	assert_int_equal(give(mounted, 30, "a3\n"), 3);
	k2i_pull_close(&mounted->mount, file);
	assert_sent(mounted, "a3\n");
	assert_int_equal(mounted->mount.counts.lost_records, 0);
}

/* There is some again. */
MOUNTED_TEST(what_waits_for_memory_goes_when_its_file_is_closed)
{
	struct k2i_cached_file *file = writer_open(mounted);

	assert_int_equal(give(mounted, 3, "a2\n"), 3);
	no_memory = true;
	assert_int_equal(give(mounted, 0, "a1\n"), 3);
	no_memory = false;
	assert_sent(mounted, "a1\n");
	k2i_pull_close(&mounted->mount, file);
	assert_sent(mounted, "a2\n");
	assert_int_equal(mounted->mount.counts.lost_records, 0);
}

/* The mount has begun to end: who wrote it is told. */
MOUNTED_TEST(what_is_refused_is_not_kept)
{
	struct k2i_cached_file *file = writer_open(mounted);

	mounted->mount.ending = true;
	assert_int_equal(give(mounted, 3, "a2\n"), -ECONNABORTED);
	assert_int_equal(mounted->mount.counts.refused_writes, 1);
	k2i_pull_close(&mounted->mount, file);
	assert_int_equal(mounted->mount.counts.lost_records, 0);
}

/* A process that opens the file is told, and a record in it without its end stays. */
MOUNTED_TEST(what_cannot_be_ended_for_another_writer_is_not_lost)
{
	struct k2i_cached_file *file, *second;

	file = writer_open(mounted);
	assert_int_equal(give(mounted, 0, "a1"), 2);
	k2i_pull_flushed(&mounted->mount, file);
	no_memory = true;
	assert_int_equal(open_writer(mounted, &second), -ENOMEM);
	no_memory = false;
	assert_int_equal(mounted->mount.counts.lost_records, 0);
	assert_sent(mounted, "");
	second = writer_open(mounted);
	assert_ptr_equal(second, file);
	assert_sent(mounted, "a1");
	k2i_pull_close(&mounted->mount, file);
	k2i_pull_close(&mounted->mount, second);
}

/* Two writers who do not append would overwrite each other there; what a direct one has written may not be counted yet. */
MOUNTED_TEST(who_appends_to_what_nobody_writes_directly_goes_through_the_cache)
{
	static const int others[] = {O_RDWR | O_APPEND, O_WRONLY, O_RDONLY | O_APPEND, O_WRONLY | O_APPEND | O_DIRECT};
	const int append = O_WRONLY | O_APPEND | O_CREAT;
	const struct k2i_rule_match *match;
	struct k2i_node_entry *entry;
	struct k2i_cached_file *file;
	uint32_t node;

	node = mounted->handle->node;
	match = mounted->handle->route->match;
	entry = k2i_node_at(mounted->mount.nodes, node);
	mounted->settings.write_mode = K2I_WRITE_MODE_AUTO;
	assert_false(k2i_write_mode_is_cached(&mounted->mount, node, match, append));
	mounted->mount.kernel.writeback = true;
	assert_false(k2i_write_mode_is_cached(&mounted->mount, node, match, append));
	entry->writers = 0;
	assert_true(k2i_write_mode_is_cached(&mounted->mount, node, match, append));
	file = writer_open(mounted);
	k2i_pull_close(&mounted->mount, file);
	assert_true(k2i_write_mode_is_cached(&mounted->mount, node, match, append));
	for (size_t at = 0; at < sizeof(others) / sizeof(others[0]); at++)
		assert_false(k2i_write_mode_is_cached(&mounted->mount, node, match, others[at]));
	entry->is_copy_target = true;
	assert_false(k2i_write_mode_is_cached(&mounted->mount, node, match, append));
	entry->is_copy_target = false;
	mounted->settings.write_mode = K2I_WRITE_MODE_DIRECT;
	assert_false(k2i_write_mode_is_cached(&mounted->mount, node, match, append));
}

/* It ends what the last of them leaves, and has its process if it is the only one. */
MOUNTED_TEST(several_write_to_a_file)
{
	struct k2i_cached_file *file = writer_open(mounted), *third;

	(void)writer_open(mounted);
	assert_int_equal(give(mounted, 0, "a1"), 2);
	assert_int_equal(file->stream->writer_pid, 1);
	k2i_pull_flushed(&mounted->mount, file);
	assert_int_equal(k2i_pull_open(&mounted->mount, mounted->handle->node, mounted_path, 2, &third), 0);
	assert_ptr_equal(third, file);
	assert_sent(mounted, "");
	assert_int_equal(give(mounted, 2, "\n"), 1);
	assert_int_equal(file->stream->writer_pid, 0);
	assert_sent(mounted, "a1\n");
	for (int writers = 3; writers > 0; writers--) {
		assert_ptr_equal(mounted->mount.pull->first, file);
		k2i_pull_close(&mounted->mount, file);
	}
	assert_null(mounted->mount.pull->first);
}

static unsigned told_attributes(struct mounted *mounted)
{
	struct fuse_out_header notification;
	unsigned told = 0;

	while (recv(mounted->device, &notification, sizeof(notification), MSG_DONTWAIT) > 0)
		told += notification.unique == 0 && notification.error == FUSE_NOTIFY_INVAL_INODE;
	return told;
}

/* A record ends with its writer, although nothing of it is held: fsync(2) has sent all of it, or it is over BYTELIMIT. */
MOUNTED_TEST(what_the_next_writer_appends_is_no_rest)
{
	for (int sent = 0; sent < 2; sent++) {
		struct k2i_cached_file *file, *second;

		mounted_anew(mounted);
		mounted->mount.line_limits->record_bytes_max = sent ? 0 : 4;
		file = writer_open(mounted);
		assert_int_equal(give(mounted, 0, "too long"), 8);
		assert_int_equal(k2i_queue_add_sync(&mounted->mount, mounted->handle, 0, 0), 0);
		k2i_queue_run(&mounted->mount);
		k2i_pull_flushed(&mounted->mount, file);
		second = writer_open(mounted);
		assert_int_equal(told_attributes(mounted), sent); /* the sync waits */
		assert_false(file->stream->line.continued);
		assert_int_equal(give(mounted, 8, "a1\n"), 3);
		assert_sent(mounted, sent ? "too longa1\n" : "a1\n");
		assert_int_equal(mounted->mount.counts.long_records, !sent);
		k2i_pull_close(&mounted->mount, file);
		k2i_pull_close(&mounted->mount, second);
	}
}

MOUNTED_TEST(an_append_after_a_pause_is_asked_for_at_once)
{
	struct k2i_cached_file *file = writer_open(mounted);

	file->left = true;
	file->due_ns = UINT64_MAX;
	k2i_pull_announced(&mounted->mount, file);
	assert_false(file->left);
	assert_int_equal(file->due_ns, 0);
	assert_int_equal(mounted->mount.counts.announced_appends, 1);
	k2i_pull_close(&mounted->mount, file);
}

/* Attributes that the kernel was told before are believed no more; others that it is told meanwhile are not to be believed. */
MOUNTED_TEST(appends_wait_while_many_wait_for_room)
{
	struct k2i_mount *mount = &mounted->mount;
	struct k2i_cached_file *file = writer_open(mounted);

	k2i_pull_run(mount, 0);
	file->stream->queue->cached_bytes = K2I_QUEUE_HOLD_BYTES - 1;
	k2i_pull_run(mount, 0);
	assert_false(k2i_pull_holds(mount, file->stream->queue));
	assert_int_equal(told_attributes(mounted), 0);
	file->stream->queue->cached_bytes++;
	k2i_pull_run(mount, 0);
	k2i_pull_run(mount, 0);
	assert_true(k2i_pull_holds(mount, file->stream->queue));
	assert_int_equal(told_attributes(mounted), 1);
	assert_ptr_equal(writer_open(mounted), file);
	assert_int_equal(told_attributes(mounted), 1);
	/* An append has its attributes, and as many wait again when somebody looks. */
	k2i_pull_announced(mount, file);
	k2i_pull_run(mount, 0);
	assert_int_equal(told_attributes(mounted), 1);
	mount->asked = true;
	assert_false(k2i_pull_holds(mount, file->stream->queue));
	mount->asked = false;
	file->stream->queue->cached_bytes = 0;
	assert_false(k2i_pull_holds(mount, file->stream->queue));
	k2i_pull_close(mount, file);
	k2i_pull_close(mount, file);
}

/* The kernel keeps a file locked that somebody syncs. */
MOUNTED_TEST(appends_wait_for_who_syncs_their_file)
{
	struct k2i_mount *mount = &mounted->mount;
	uint32_t node = mounted->handle->node;
	struct k2i_cached_file *file = writer_open(mounted);

	assert_int_equal(give(mounted, 0, "a1\n"), 3);
	assert_false(k2i_pull_holds_file(mount, node));
	assert_int_equal(k2i_queue_add_sync(mount, file->stream, 1000, 0), 0);
	assert_true(k2i_pull_holds_file(mount, node));
	k2i_queue_run(mount);
	assert_true(k2i_pull_holds_file(mount, node));
	assert_false(k2i_pull_holds_file(mount, K2I_NODE_ROOT));
	assert_false(k2i_pull_holds(mount, file->stream->queue));
	assert_true(k2i_queue_interrupt(mount, 1000));
	assert_false(k2i_pull_holds_file(mount, node));
	k2i_pull_close(mount, file);
	assert_sent(mounted, "a1\n");
}

/* Where the file ended when it was cut is no end of it any more; and what is too much is answered when it is through. */
MOUNTED_TEST(what_is_parked_counts_once)
{
	struct k2i_write write = {.unique = 1000, .data = "a2\n", .bytes = 3, .answer_bytes = 3};
	struct k2i_cached_file *file = writer_open(mounted);
	char byte;

	mounted->mount.queues->resuming = true;
	assert_int_equal(give(mounted, 0, "a"), 1);
	assert_int_equal(give(mounted, 1, "1 and more\n"), 11);
	k2i_pull_cut(&mounted->mount, mounted->handle->node, &(struct k2i_truncate_probe){.bytes = 0});
	k2i_node_at(mounted->mount.nodes, mounted->handle->node)->size = 0;
	mounted->mount.queues->cached_bytes += k2i_queue_cached_bytes_max();
	k2i_pull_write(&mounted->mount, mounted->handle->node, &write);
	assert_int_equal(recv(mounted->device, &byte, sizeof(byte), MSG_DONTWAIT), -1);
	mounted->mount.queues->resuming = false;
	k2i_queue_run(&mounted->mount);
	assert_int_equal(answer_of(mounted, 1000), 3);
	mounted->mount.queues->cached_bytes -= k2i_queue_cached_bytes_max();
	assert_int_equal(mounted->mount.queues->cached_bytes, 0);
	assert_int_equal(k2i_node_at(mounted->mount.nodes, mounted->handle->node)->size, 3);
	assert_sent(mounted, "a1 and more\na2\n");
	k2i_pull_close(&mounted->mount, file);
}

/* The kernel is asked what it has behind the watermark, and answers. */
static void ask_and_answer(struct mounted *mounted, const char *data, size_t bytes)
{
	struct k2i_mount *mount = &mounted->mount;
	struct k2i_write answer = {.offset = 0, .data = data, .bytes = bytes};
	char question[128];

	k2i_pull_run(mount, UINT64_MAX / 2);
	assert_true(recv(mounted->device, question, sizeof(question), MSG_DONTWAIT) > 0);
	k2i_pull_answer(mount, mounted->handle->node, mount->pull->questions, &answer);
}

/*
 * Until then its pages are the old ones: not even one that was read again meanwhile says anything else.
 */
MOUNTED_TEST(a_cut_is_done_when_its_mark_makes_way_for_a_record)
{
	const struct k2i_truncate_probe probe = {.value = UINT64_C(0x0102030405060708), .bytes = sizeof(probe.value)};
	const char zeros[64] = "";
	struct k2i_cached_file *file = writer_open(mounted);

	k2i_pull_cut(&mounted->mount, mounted->handle->node, &probe);
	ask_and_answer(mounted, (const char *)&probe.value, sizeof(probe.value));
	ask_and_answer(mounted, zeros, sizeof(zeros));
	ask_and_answer(mounted, zeros, 0);
	assert_int_equal(k2i_node_at(mounted->mount.nodes, mounted->handle->node)->probe_bytes, sizeof(probe.value));
	assert_sent(mounted, "");
	ask_and_answer(mounted, "a1\na2\na3\n", 9);
	assert_int_equal(k2i_node_at(mounted->mount.nodes, mounted->handle->node)->probe_bytes, 0);
	ask_and_answer(mounted, "a1\na2\na3\n", 9);
	assert_sent(mounted, "a1\na2\na3\n");
	k2i_pull_close(&mounted->mount, file);
}

static void go_on(struct k2i_mount *mount, void *gone_on)
{
	(void)mount;
	*(bool *)gone_on = true;
}

static void answer(struct mounted *mounted, uint64_t number, const char *text)
{
	struct k2i_write write = {.offset = 0, .data = text, .bytes = strlen(text)};

	k2i_pull_answer(&mounted->mount, mounted->handle->node, number, &write);
}

/* An answer to a question that is older than the wait may not have all. */
MOUNTED_TEST(who_waits_goes_on_when_a_younger_question_has_nothing_more)
{
	bool gone_on[3] = {false, false, false};
	struct k2i_cached_file *file = writer_open(mounted);
	struct k2i_mount *mount = &mounted->mount;

	k2i_pull_run(mount, UINT64_MAX / 2);
	k2i_pull_before(mount, mounted->handle->node, go_on, &gone_on[0]);
	assert_int_equal(mount->pull->questions, 1);
	answer(mounted, 1, "");
	assert_false(gone_on[0]);
	answer(mounted, 1, "no answer any more\n");
	answer(mounted, 2, "a1\n");
	assert_false(gone_on[0]);
	answer(mounted, 3, "");
	assert_true(gone_on[0]);
	assert_sent(mounted, "a1\n");
	/* Or when there is nobody any more to ask, or nobody who writes. */
	k2i_pull_before(mount, mounted->handle->node, go_on, &gone_on[1]);
	k2i_pull_abandon(mount);
	assert_true(gone_on[1]);
	k2i_pull_before(mount, mounted->handle->node, go_on, &gone_on[2]);
	k2i_pull_close(mount, file);
	assert_true(gone_on[2]);
}

/* A page of zeros shows nothing: zeros can be a record. */
MOUNTED_TEST(a_cut_is_done_when_the_kernel_goes_on)
{
	const struct k2i_truncate_probe probe = {.value = UINT64_C(0x0102030405060708), .bytes = sizeof(probe.value)};
	struct k2i_cached_file *file = writer_open(mounted);
	struct k2i_node_entry *entry;
	char question[128];

	entry = k2i_node_at(mounted->mount.nodes, mounted->handle->node);
	k2i_pull_cut(&mounted->mount, mounted->handle->node, &probe);
	assert_int_equal(entry->probe_bytes, sizeof(probe.value));
	k2i_pull_run(&mounted->mount, UINT64_MAX / 2);
	assert_true(recv(mounted->device, question, sizeof(question), MSG_DONTWAIT) > 0);
	assert_int_equal(give(mounted, 0, "a1\n"), 3);
	assert_int_equal(entry->probe_bytes, 0);
	/* An earlier question has nothing to clear up any more. */
	answer(mounted, mounted->mount.pull->questions, "a1\n");
	k2i_pull_cut(&mounted->mount, mounted->handle->node, &probe);
	k2i_request_sync(&mounted->mount, 1000, mounted->handle->number);
	assert_int_equal(entry->probe_bytes, 0);
	k2i_pull_close(&mounted->mount, file);
}

/* Nothing is appended any more that would make the kernel show that the cut is done. */
MOUNTED_TEST(who_waits_behind_a_cut_goes_on)
{
	const struct k2i_truncate_probe probe = {.value = UINT64_C(0x0102030405060708), .bytes = sizeof(probe.value)};
	struct k2i_write answers[] = {{.data = (const char *)&probe.value, .bytes = sizeof(probe.value)}, {.bytes = 0}};
	struct k2i_cached_file *file = writer_open(mounted);
	bool gone_on = false;

	k2i_pull_cut(&mounted->mount, mounted->handle->node, &probe);
	k2i_pull_before(&mounted->mount, mounted->handle->node, go_on, &gone_on);
	for (size_t at = 0; at < 2; at++) {
		assert_false(gone_on);
		k2i_pull_answer(&mounted->mount, mounted->handle->node, mounted->mount.pull->questions, &answers[at]);
	}
	assert_true(gone_on);
	k2i_pull_close(&mounted->mount, file);
}

/*
 * While somebody appends, what is missing in front can still come. When the file is left alone, for which nothing new is to
 * come many times in a row, nothing does, and the kernel is told.
 */
MOUNTED_TEST(a_hole_is_passed_when_the_file_is_left)
{
	struct fuse_out_header told = {.error = 0};
	struct k2i_cached_file *file = writer_open(mounted);

	ask_and_answer(mounted, "", 0);
	ask_and_answer(mounted, "a1\n", 3);
	assert_int_equal(file->idle, 0);
	assert_sent(mounted, "a1\n");
	assert_int_equal(give(mounted, 10, "a2\n"), 3);
	for (int answers = 1; !file->left; answers++) {
		assert_true(answers < 1000);
		assert_sent(mounted, "");
		ask_and_answer(mounted, "", 0);
	}
	assert_true(recv(mounted->device, &told, sizeof(told), MSG_DONTWAIT) > 0);
	assert_int_equal(told.error, FUSE_NOTIFY_INVAL_INODE);
	assert_sent(mounted, "a2\n");
	k2i_pull_close(&mounted->mount, file);
}

/* There is no room for an answer; and what waits for one is unknown to a successor, since its request comes again. */
MOUNTED_TEST(nothing_is_asked_while_something_is_parked)
{
	struct k2i_cached_file *file = writer_open(mounted);
	bool gone_on = false;

	mounted->mount.queues->resuming = true;
	assert_int_equal(give(mounted, 0, "a1"), 2);
	k2i_pull_run(&mounted->mount, UINT64_MAX / 2);
	assert_int_equal(mounted->mount.pull->questions, 0);
	assert_int_equal(k2i_pull_timeout_ms(&mounted->mount, UINT64_MAX / 2), -1);
	mounted->mount.queues->resuming = false;
	k2i_queue_run(&mounted->mount);
	k2i_pull_before(&mounted->mount, mounted->handle->node, go_on, &gone_on);
	assert_int_equal(mounted->mount.pull->questions, 1);
	free(file->waits);
	k2i_pull_inherit(&mounted->mount);
	k2i_pull_close(&mounted->mount, file);
	assert_false(gone_on);
	assert_sent(mounted, "a1");
}

/* Its size is the watermark, behind which the kernel has what is to come. */
MOUNTED_TEST(what_another_file_brings_is_not_counted)
{
	struct k2i_queued item = {.kind = K2I_QUEUED_WRITE, .bytes = 3, .cached = true, .handle = mounted->handle};
	struct k2i_cached_file *file = writer_open(mounted);

	mounted->handle->route->passes_all = true;
	mounted->handle->route->next = route_make(mounted, "next");
	mounted->handle->route->next->passes_all = true;
	mounted->handle->route->next->node = file->node;
	k2i_node_opened(mounted->mount.nodes, file->node);
	assert_int_equal(k2i_queue_add(&mounted->mount, &item, "a1\n"), 0);
	k2i_queue_run(&mounted->mount);
	assert_int_equal(k2i_node_at(mounted->mount.nodes, file->node)->size, 0);
	assert_int_equal(give(mounted, 0, "a2\n"), 3);
	k2i_pull_close(&mounted->mount, file);
}

/* Its record is sent then, and who comes next gets the request again. */
MOUNTED_TEST(a_worker_that_dies_in_the_last_close_leaves_the_file)
{
	struct k2i_cached_file *file = writer_open(mounted);
	pid_t worker;

	assert_int_equal(give(mounted, 0, "a1"), 2);
	worker = fork();
	if (worker == 0) {
		k2i_pull_close(&mounted->mount, file);
		_exit(EXIT_SUCCESS);
	}
	assert_int_equal(waitpid(worker, NULL, 0), worker);
	k2i_journal_settle((const struct k2hft_ring *[]){mounted->mount.lanes.lane[0].ring});
	assert_int_equal(file->writers, 1);
	k2i_queue_run(&mounted->mount);
	k2i_pull_close(&mounted->mount, file);
	assert_null(mounted->mount.pull->first);
	assert_int_equal(mounted->mount.handles->open_count, 1);
	assert_sent(mounted, "a1");
}
