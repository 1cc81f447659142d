/* SPDX-License-Identifier: MIT */
#include "collect.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "handles.h"
#include "hash.h"
#include "mount.h"
#include "outlet.h"
#include "output.h"
#include "park.h"
#include "reply.h"
#include "rules.h"
#include "shared.h"
#include "sweep.h"
#include "write.h"

/* So many answers without anything new in a row, and a file is left alone. */
#define LEAVE_AFTER 40u
/*
 * A write(2) that was under way then can end later, in theory any time later, if it has to wait for the memory that it
 * takes its bytes from. So there are looks, twice as far apart each time, up to this; the files share what that costs.
 */
#define LOOK_MS 1000u
#define LOOK_MS_PER_FILE 50u
/* What is due so soon is asked now: one wake-up for all. */
#define TOGETHER_NS K2I_MILLISECOND_NS
/* The kernel did not take the mark of a cut: only a later request tells that it is done. */
#define MARK_UNKNOWN UINT8_MAX
/* A mark that is not there by then is not waited for: its process is killed, and after as long again left. */
#define MARK_NS UINT64_C(1000000000)
#define MARK_LOOK_MS 100
#define PAGE_BYTES_MIN 4096u

struct k2i_collect_wait {
	struct k2i_collect_wait *next;
	k2i_collect_then *then;
	void *argument;
};

/* ---- which files */

static enum k2i_write_mode mode_of(const struct k2i_mount *mount, const struct k2i_rule *rule)
{
	return rule->write_mode == K2I_WRITE_MODE_UNSET ? mount->settings->write_mode : rule->write_mode;
}

bool k2i_collect_possible(const struct k2i_mount *mount)
{
	bool outside = k2i_outputs_readable(mount->outputs);

	for (size_t number = 0; !mount->settings->binary && number < mount->settings->rule_count; number++) {
		enum k2i_write_mode mode = mode_of(mount, &mount->settings->rules[number]);

		if (mode == K2I_WRITE_MODE_CACHED || (mode == K2I_WRITE_MODE_AUTO && !outside))
			return true;
	}
	return false;
}

/*
 * For appending only: others write where they are in the file, and two of them to the same pages. Nor may the file be
 * read through the descriptor, since pages that were taken have no content here, nor be written past the cache. A file
 * that somebody writes directly stays so: what he has written may not be counted yet.
 */
bool k2i_collect_wanted(const struct k2i_mount *mount, uint32_t node, const struct k2i_rule_match *match, int flags)
{
	const struct k2i_node_entry *entry = k2i_node_at(mount->nodes, node);
	enum k2i_write_mode mode = mode_of(mount, k2i_rule_settings(match));

	if (!mount->writeback || mode == K2I_WRITE_MODE_DIRECT || entry->fed)
		return false;
	if (mode == K2I_WRITE_MODE_AUTO && k2i_output_outside(mount, match))
		return false;
	if ((flags & O_ACCMODE) != O_WRONLY || !(flags & O_APPEND) || flags & O_DIRECT)
		return false;
	return entry->cached || entry->writers == 0;
}

static struct k2i_cached_file *file_of(const struct k2i_mount *mount, uint64_t node)
{
	const struct k2i_node_entry *entry = k2i_node_at(mount->nodes, node);

	return entry ? entry->cached : NULL;
}

/* The watermark is the file's size, as the kernel counts it. */
static uint64_t watermark_of(const struct k2i_mount *mount, const struct k2i_cached_file *file)
{
	return k2i_node_at(mount->nodes, file->node)->size;
}

/* ---- open and close */

static void due(struct k2i_mount *mount, struct k2i_cached_file *file, uint64_t at_ns)
{
	file->due_ns = at_ns;
	if (at_ns < mount->collect_due_ns)
		mount->collect_due_ns = at_ns;
}

static int open_stream(struct k2i_mount *mount, uint32_t node, const char *path, struct k2i_handle **stream)
{
	struct k2i_outlet *outlet = NULL;
	int status = k2i_outlet_open(mount, path, &outlet);

	if (status == 0)
		status = k2i_handle_open(mount, node, path, outlet, NULL, stream);
	if (status) {
		k2i_outlet_close(mount, outlet);
		return status;
	}
	(*stream)->stream = true;
	/* It is no writer of its own. */
	k2i_node_writers(mount->nodes, node, -1);
	return 0;
}

static int begin(struct k2i_mount *mount, uint32_t node, const char *path, struct k2i_cached_file **file)
{
	struct k2i_node_entry *entry = k2i_node_at(mount->nodes, node);
	struct k2i_cached_file *begun = k2i_shared_alloc(sizeof(*begun));
	int status = begun ? 0 : -ENOMEM;

	if (status == 0) {
		memset(begun, 0, sizeof(*begun));
		status = open_stream(mount, node, path, &begun->stream);
	}
	if (status) {
		k2i_shared_free(begun);
		return status;
	}
	k2i_node_keep(entry);
	K2I_SHARED_KEEP(&mount->cached_first);
	K2I_SHARED_KEEP(&mount->cached_count);
	entry->cached = begun;
	begun->node = node;
	begun->next = mount->cached_first;
	mount->cached_first = begun;
	mount->cached_count++;
	*file = begun;
	return 0;
}

int k2i_collect_open(struct k2i_mount *mount, uint32_t node, const char *path, uint32_t pid,
		     struct k2i_cached_file **file)
{
	int status = 0;

	*file = k2i_node_at(mount->nodes, node)->cached;
	if (*file) {
		/* All that wrote to it have closed it: a record that they left without its end has it. */
		if ((*file)->stream->flushed)
			status = k2i_write_end(mount, (*file)->stream);
		if (status) {
			*file = NULL; /* no writer more */
			return status;
		}
		K2I_SHARED_KEEP(*file);
		if ((*file)->writer_pid != pid)
			(*file)->writer_pid = 0;
	} else {
		status = begin(mount, node, path, file);
		if (status)
			return status;
		(*file)->writer_pid = pid;
	}
	(*file)->writers++;
	(*file)->left = false;
	(*file)->idle = 0;
	due(mount, *file, k2i_mount_clock_ns() + mount->settings->flush_ms * K2I_MILLISECOND_NS);
	return 0;
}

void k2i_collect_flushed(struct k2i_mount *mount, struct k2i_cached_file *file)
{
	if (file->writers == 1)
		k2i_handle_flushed(mount, file->stream);
}

static void run_waits(struct k2i_mount *mount, struct k2i_cached_file *file)
{
	while (file->waits) {
		struct k2i_collect_wait *wait = file->waits;

		file->waits = wait->next;
		wait->then(mount, wait->argument);
		free(wait);
	}
}

/* What was kept and has its turn now: each piece goes from there to what is parked, in one step. */
static void take_kept(struct k2i_mount *mount, struct k2i_cached_file *file)
{
	struct k2i_cached_part part;

	while (k2i_cached_next(&file->pieces, watermark_of(mount, file), &part)) {
		struct k2i_write write = {
			.writer_pid = file->writer_pid,
			.offset = watermark_of(mount, file),
			.data = part.data,
			.bytes = part.bytes,
		};

		if (k2i_write_park_cached(mount, file->stream, &write)) {
			k2i_log_limited(&mount->wait_limit, k2i_mount_clock_ns(), K2HFT_LOG_ERROR,
					"mount: no memory: what was written to %s waits until there is some",
					file->stream->path);
			return;
		}
		k2i_cached_advance(&file->pieces, watermark_of(mount, file));
		k2i_shared_step();
		k2i_park_run(mount);
	}
	k2i_cached_advance(&file->pieces, watermark_of(mount, file));
}

void k2i_collect_pass_hole(struct k2i_mount *mount, struct k2i_cached_file *file)
{
	take_kept(mount, file);
	while (k2i_cached_begin(&file->pieces) > watermark_of(mount, file) && !file->refused) {
		k2i_node_grow(k2i_node_at(mount->nodes, file->node), k2i_cached_begin(&file->pieces));
		take_kept(mount, file);
	}
}

/* What is kept still was accepted, and comes no more: for it, or for what stands before it, there was no memory. */
static void lose_kept(struct k2i_mount *mount, struct k2i_cached_file *file)
{
	uint64_t records = k2i_cached_forget(&file->pieces);

	if (records == 0)
		return;
	K2I_SHARED_KEEP(&file->stream->lost);
	file->stream->lost = -ENOMEM;
	k2i_mount_count(&mount->counts.lost_records, records);
	k2i_log_limited(&mount->lost_limit, k2i_mount_clock_ns(), K2HFT_LOG_ERROR,
			"mount: no memory: %llu records of %s are lost", (unsigned long long)records,
			file->stream->path);
}

void k2i_collect_close(struct k2i_mount *mount, struct k2i_cached_file *file)
{
	struct k2i_node_entry *entry = k2i_node_at(mount->nodes, file->node);
	struct k2i_cached_file **place = &mount->cached_first;

	/* In steps of its own, so before anything of this one: a successor gets the request again and finds the file. */
	if (file->writers == 1) {
		k2i_collect_pass_hole(mount, file);
		run_waits(mount, file);
		(void)k2i_write_end(mount, file->stream);
	}
	K2I_SHARED_KEEP(file);
	if (--file->writers)
		return;
	lose_kept(mount, file);
	while (*place != file)
		place = &(*place)->next;
	K2I_SHARED_KEEP(place);
	K2I_SHARED_KEEP(&mount->cached_count);
	k2i_node_keep(entry);
	*place = file->next;
	mount->cached_count--;
	entry->cached = NULL;
	k2i_write_release(mount, file->stream);
	k2i_shared_free(file);
	k2i_sweep_closed(mount);
}

void k2i_collect_inherit(struct k2i_mount *mount)
{
	uint64_t now_ns = k2i_mount_clock_ns();

	for (struct k2i_cached_file *file = mount->cached_first; file; file = file->next) {
		file->asked = 0;
		file->left = false;
		file->idle = 0;
		file->waits = NULL;
		due(mount, file, now_ns);
	}
}

/* ---- what comes */

/* Takes what is new of it, and answers it. */
static void take(struct k2i_mount *mount, struct k2i_cached_file *file, const struct k2i_write *write)
{
	uint64_t watermark = watermark_of(mount, file);
	struct k2i_write taken = *write;
	struct k2i_cached_part part = {.bytes = 0};
	/* Not after the mount has begun to end: its records have been ended. */
	bool late = mount->ending && write->offset + write->bytes > watermark;
	int status = late ? -ECONNABORTED
			  : k2i_cached_give(&file->pieces, watermark, write->offset, write->data, write->bytes, &part);

	taken.data = part.data;
	taken.bytes = part.bytes;
	taken.offset = watermark;
	taken.writer_pid = file->writer_pid;
	if (status == 0 && part.bytes) {
		k2i_write_cached(mount, file->stream, &taken);
	} else {
		k2i_write_give_back(mount, write);
		if (status && write->unique)
			k2i_mount_count_refused(mount, status);
		if (status)
			k2i_reply_status(mount, write->unique, status);
		else
			k2i_reply_written(mount, write->unique, write->answer_bytes);
	}
	if (write->unique && (status || watermark_of(mount, file) < watermark + part.bytes)) {
		K2I_SHARED_KEEP(&file->refused);
		file->refused = true;
	}
	k2i_shared_step();
	take_kept(mount, file);
}

void k2i_collect_write(struct k2i_mount *mount, uint64_t node, const struct k2i_write *write)
{
	struct k2i_cached_file *file = file_of(mount, node);

	/* It writes nothing back while a file is being cut. */
	k2i_collect_cut_done(mount, (uint32_t)node);
	if (!file || k2i_park_resent(mount, write->unique)) {
		k2i_write_give_back(mount, write);
		if (!file) {
			k2i_mount_count_refused(mount, -EBADF);
			k2i_reply_status(mount, write->unique, -EBADF);
		}
		return;
	}
	take(mount, file, write);
	k2i_sweep_written(mount, file->node, write->offset + write->bytes);
}

/* ---- what is asked */

/* Tells the kernel something that it does not answer, or not here. */
static bool notify(int device_fd, int code, const struct iovec *body, const struct iovec *data)
{
	struct fuse_out_header header = {
		.len = (uint32_t)(sizeof(header) + body->iov_len + (data ? data->iov_len : 0)),
		.error = code,
	};
	struct iovec parts[3] = {{.iov_base = &header, .iov_len = sizeof(header)}, *body};

	if (data)
		parts[2] = *data;
	return device_fd >= 0 && writev(device_fd, parts, data ? 3 : 2) == (ssize_t)header.len;
}

static uint64_t pause_ns(const struct k2i_mount *mount, const struct k2i_cached_file *file)
{
	uint64_t pause_ms = mount->settings->flush_ms, look_ms = (uint64_t)mount->cached_count * LOOK_MS_PER_FILE;

	look_ms = look_ms > LOOK_MS ? look_ms : LOOK_MS;
	for (unsigned looks = LEAVE_AFTER; file->left && looks < file->idle && pause_ms < look_ms; looks++)
		pause_ms = pause_ms * 2 < look_ms ? pause_ms * 2 : look_ms;
	return pause_ms * K2I_MILLISECOND_NS;
}

bool k2i_collect_leave(const struct k2i_mount *mount, const struct k2i_cached_file *file)
{
	struct fuse_notify_inval_inode_out attributes = {.ino = file->node, .off = -1};

	return notify(mount->device_fd, FUSE_NOTIFY_INVAL_INODE,
		      &(struct iovec){.iov_base = &attributes, .iov_len = sizeof(attributes)}, NULL);
}

/* When to ask again after an answer, which had something new or not. */
static void answered(struct k2i_mount *mount, struct k2i_cached_file *file, bool news)
{
	if (news && file->left) {
		k2i_mount_count(&mount->counts.late_appends, 1);
		file->left = false;
	}
	file->idle = news ? 0 : file->idle + 1;
	if (!file->left && file->idle >= LEAVE_AFTER)
		file->left = k2i_collect_leave(mount, file);
	if (file->left)
		k2i_sweep_idle(mount, file->node);
	due(mount, file, k2i_mount_clock_ns() + pause_ns(mount, file));
}

void k2i_collect_announced(struct k2i_mount *mount, struct k2i_cached_file *file)
{
	uint64_t at_ns = k2i_mount_clock_ns() + mount->settings->flush_ms * K2I_MILLISECOND_NS;

	if (file->left)
		k2i_mount_count(&mount->counts.announced_appends, 1);
	file->left = false;
	file->idle = 0;
	if (file->due_ns > at_ns)
		due(mount, file, at_ns);
}

bool k2i_collect_left(const struct k2i_node_entry *entry)
{
	return entry->cached && entry->cached->left;
}

int k2i_collect_prepare(struct k2i_mount *mount)
{
	pthread_mutexattr_t attributes;
	int status = pthread_mutexattr_init(&attributes);

	if (status == 0)
		status = pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	if (status == 0)
		status = pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	if (status == 0)
		status = pthread_mutex_init(&mount->marking, &attributes);
	return -status;
}

/*
 * Writes to the kernel's copy of a page, which is not written back. The kernel waits for the page, which somebody can be
 * reading just then (mmap(2), posix_fadvise(2)), and such a READ is answered by the loop: so it is not the loop that waits.
 * Nor is it a thread: a worker that is killed is gone when all of it is, and only then comes the one that answers. It has
 * nothing open but the device, so that who comes does not find the ring in use.
 *
 * So it can outlive its worker, and what it writes would then be in what is appended after a later cut. That cut's mark
 * waits for it: whoever has `marking` has it until it is gone. Nor is it waited for without end: who maps the file has the
 * page until that is written back (mmap(2)), and nothing is written back before the cut has its answer. What it writes is
 * in a page that it has not touched, which the kernel gets for no process that has been killed: so then it writes nothing.
 */
static _Noreturn void store(struct k2i_mount *mount, const struct k2i_collect_mark *mark, pid_t worker)
{
	struct fuse_notify_store_out place = {.nodeid = mark->node, .offset = mark->end, .size = mark->bytes};

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != worker || dup2(mount->device_fd, STDIN_FILENO) != STDIN_FILENO)
		_exit(EXIT_FAILURE);
	/* By its number: musl has no function close_range. */
	(void)syscall(SYS_close_range, STDIN_FILENO + 1, ~0u, 0);
	if (pthread_mutex_lock(&mount->marking) == EOWNERDEAD)
		(void)pthread_mutex_consistent(&mount->marking);
	if (!notify(STDIN_FILENO, FUSE_NOTIFY_STORE, &(struct iovec){.iov_base = &place, .iov_len = sizeof(place)},
		    &(struct iovec){.iov_base = mark->page, .iov_len = mark->bytes}))
		_exit(EXIT_FAILURE);
	_exit(EXIT_SUCCESS);
}

/* It is there, or not. */
static void end_mark(struct k2i_mount *mount, struct k2i_collect_mark **place, bool there)
{
	struct k2i_collect_mark *mark = *place;

	*place = mark->next;
	if (mark->page != MAP_FAILED)
		(void)munmap(mark->page, sizeof(mark->value));
	if (!there)
		mark->bytes = MARK_UNKNOWN;
	mark->then(mount, mark->argument);
}

/* In one page, which leaves the cache, and comes again with zeros, as a whole. */
static uint8_t mark_bytes(uint64_t end, uint64_t gone)
{
	uint64_t left = PAGE_BYTES_MIN - end % PAGE_BYTES_MIN, most = left < gone ? left : gone;

	return most < sizeof(uint64_t) ? (uint8_t)most : sizeof(uint64_t);
}

void k2i_collect_mark(struct k2i_mount *mount, uint32_t node, uint64_t bytes, struct k2i_collect_mark *mark)
{
	const struct k2i_node_entry *entry = k2i_node_at(mount->nodes, node);
	uint64_t gone = entry->size > bytes ? entry->size - bytes : 0;
	pid_t worker = getpid();

	if (!mount->writeback || gone == 0) {
		mark->then(mount, mark->argument);
		return;
	}
	mark->node = node;
	mark->end = bytes;
	mark->value = k2i_hash(&(uint64_t){k2i_mount_clock_ns()}, sizeof(uint64_t));
	mark->bytes = mark_bytes(bytes, gone);
	mark->page = mmap(NULL, sizeof(mark->value), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (mark->page != MAP_FAILED)
		*mark->page = mark->value;
	mark->process = mark->page == MAP_FAILED ? -1 : fork();
	if (mark->process == 0)
		store(mount, mark, worker);
	mark->until_ns = k2i_mount_clock_ns() + MARK_NS;
	mark->next = mount->marks;
	mount->marks = mark;
	if (mark->process < 0)
		end_mark(mount, &mount->marks, false);
}

void k2i_collect_marked(struct k2i_mount *mount)
{
	struct k2i_collect_mark **place;
	pid_t ended;
	int status;

	while ((ended = waitpid(-1, &status, WNOHANG)) > 0) {
		for (place = &mount->marks; *place && (*place)->process != ended; place = &(*place)->next)
			continue;
		if (*place)
			end_mark(mount, place, WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
	}
}

int k2i_collect_marks_run(struct k2i_mount *mount)
{
	struct k2i_collect_mark **place = &mount->marks;
	uint64_t now_ns;

	if (!mount->marks)
		return -1;
	now_ns = k2i_mount_clock_ns();
	while (*place) {
		if (now_ns >= (*place)->until_ns)
			(void)kill((*place)->process, SIGKILL);
		if (now_ns >= (*place)->until_ns + MARK_NS)
			end_mark(mount, place, false);
		else
			place = &(*place)->next;
	}
	k2i_shared_step();
	return mount->marks ? MARK_LOOK_MS : -1;
}

void k2i_collect_cut(struct k2i_mount *mount, uint32_t node, uint64_t bytes, const struct k2i_collect_mark *mark)
{
	struct k2i_node_entry *entry = k2i_node_at(mount->nodes, node);

	k2i_sweep_cut(mount, node, bytes);
	if (entry->cached)
		lose_kept(mount, entry->cached);
	k2i_node_keep(entry);
	entry->cut_mark = mark->value;
	entry->cut_bytes = mark->bytes;
}

void k2i_collect_cut_done(struct k2i_mount *mount, uint32_t node)
{
	struct k2i_node_entry *entry = k2i_node_at(mount->nodes, node);

	if (!entry || entry->cut_bytes == 0)
		return;
	k2i_node_keep(entry);
	entry->cut_bytes = 0;
}

/* false: there will be no answer. */
static bool ask(struct k2i_mount *mount, struct k2i_cached_file *file)
{
	struct fuse_notify_retrieve_out question = {
		.notify_unique = ++mount->questions_asked,
		.nodeid = file->node,
		.offset = watermark_of(mount, file),
		.size = K2I_WRITE_BYTES_MAX,
	};

	if (!notify(mount->device_fd, FUSE_NOTIFY_RETRIEVE,
		    &(struct iovec){.iov_base = &question, .iov_len = sizeof(question)}, NULL))
		return false;
	file->asked = question.notify_unique;
	file->asked_in_time = true;
	file->probe = k2i_node_at(mount->nodes, file->node)->cut_bytes != 0;
	return true;
}

/* All that was there when `waits` came is taken when an answer to a younger question has nothing more. */
static void wait_on(struct k2i_mount *mount, struct k2i_cached_file *file, bool nothing)
{
	if (file->waits && ((nothing && file->asked_in_time) || !ask(mount, file)))
		run_waits(mount, file);
}

static void go_on(struct k2i_mount *mount, struct k2i_cached_file *file, uint64_t new_bytes)
{
	answered(mount, file, new_bytes > 0);
	/* Not sooner: of a page that the kernel copied and dropped the WRITE can wait for the answers to others. */
	if (file->left && !mount->park.first)
		k2i_collect_pass_hole(mount, file);
	if (new_bytes >= K2I_WRITE_BYTES_MAX)
		due(mount, file, 0);
	wait_on(mount, file, new_bytes == 0);
}

/* Whether it shows that the cut is done; -1: a page that has left the cache since, and was read again, has zeros. */
static int shows_cut(const struct k2i_node_entry *entry, const struct k2i_write *write)
{
	const uint64_t zeros = 0;

	if (write->bytes == 0)
		return 0;
	if (entry->cut_bytes == MARK_UNKNOWN ||
	    (write->bytes >= entry->cut_bytes && memcmp(write->data, &zeros, entry->cut_bytes) == 0))
		return -1;
	return write->bytes < entry->cut_bytes || memcmp(write->data, &entry->cut_mark, entry->cut_bytes) != 0;
}

/* Nothing of it is taken: its length can be the old one and its pages new, as they are read later. */
static void probed(struct k2i_mount *mount, struct k2i_cached_file *file, const struct k2i_write *write)
{
	const struct k2i_node_entry *entry = k2i_node_at(mount->nodes, file->node);
	int cut = shows_cut(entry, write);

	k2i_write_give_back(mount, write);
	if (cut > 0)
		k2i_collect_cut_done(mount, file->node);
	else if (cut < 0) /* a WRITE tells */
		k2i_sweep_write_back(mount, file->node);
	answered(mount, file, false);
	if (entry->cut_bytes == 0) {
		file->idle = 0;
		due(mount, file, 0);
	}
	wait_on(mount, file, write->bytes == 0);
}

void k2i_collect_answer(struct k2i_mount *mount, uint64_t node, uint64_t number, const struct k2i_write *write)
{
	struct k2i_cached_file *file = file_of(mount, node);
	uint64_t before;

	/* Of a question that a worker asked who died since, or about another file. */
	if (!file || file->asked != number) {
		k2i_write_give_back(mount, write);
		return;
	}
	file->asked = 0;
	if (file->probe) {
		probed(mount, file, write);
		return;
	}
	before = watermark_of(mount, file);
	take(mount, file, write);
	go_on(mount, file, watermark_of(mount, file) - before);
}

void k2i_collect_run(struct k2i_mount *mount, uint64_t now_ns)
{
	if (!mount->cached_first || mount->ending || mount->park.first || now_ns < mount->collect_due_ns)
		return;
	mount->collect_due_ns = UINT64_MAX;
	for (struct k2i_cached_file *file = mount->cached_first; file; file = file->next) {
		if (file->asked || (file->due_ns <= now_ns + TOGETHER_NS && ask(mount, file)))
			continue;
		due(mount, file, file->due_ns > now_ns ? file->due_ns : now_ns + pause_ns(mount, file));
	}
}

int k2i_collect_timeout_ms(const struct k2i_mount *mount, uint64_t now_ns)
{
	if (!mount->cached_first || mount->ending || mount->park.first || mount->collect_due_ns == UINT64_MAX)
		return -1;
	if (mount->collect_due_ns <= now_ns)
		return 0;
	return (int)((mount->collect_due_ns - now_ns + K2I_MILLISECOND_NS - 1) / K2I_MILLISECOND_NS);
}

void k2i_collect_before(struct k2i_mount *mount, uint32_t node, k2i_collect_then *then, void *argument)
{
	struct k2i_cached_file *file = file_of(mount, node);
	struct k2i_collect_wait *wait, **place;

	wait = file && mount->device_fd >= 0 ? malloc(sizeof(*wait)) : NULL;
	if (!wait) {
		then(mount, argument);
		return;
	}
	*wait = (struct k2i_collect_wait){.then = then, .argument = argument};
	for (place = &file->waits; *place; place = &(*place)->next)
		continue;
	*place = wait;
	file->asked_in_time = false;
	if (!file->asked && !ask(mount, file))
		run_waits(mount, file);
}

void k2i_collect_abandon(struct k2i_mount *mount)
{
	struct k2i_cached_file *file = mount->cached_first, *next;

	for (; file; file = next) {
		next = file->next;
		run_waits(mount, file);
	}
}
