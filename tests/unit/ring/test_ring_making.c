/* SPDX-License-Identifier: MIT */
/* A ring's file while it is made, by processes that die or compete, and the room that it has. */
#include "unit.h"
#include "ring_help.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "ring/handle.h"
#include "wrapped_names.h"

static bool there(const char *path)
{
	struct stat file;

	return lstat(path, &file) == 0;
}

/*
 * The temporary file of a process that died while it made a ring is removed by the next, which makes or opens that
 * ring.
 */
FILES_TEST(leftovers_go)
{
	struct k2hft_ring *ring;

	for (uint32_t made = 0; made < 3; made++) {
		int descriptor = open(files->leftover, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

		assert_true(descriptor >= 0);
		assert_int_equal(ftruncate(descriptor, 12345), 0);
		(void)close(descriptor);
		/* None is there; one is; one is to be replaced. */
		k2hft_ring_close(file_ring(files->path, made == 2 ? K2HFT_RING_FRESH : 0));
		assert_false(there(files->leftover));
	}
	/* It died when the whole ring had both names. */
	ring = file_ring(files->path, 0);
	struct k2hft_producer *producer = producer_of(ring);
	assert_int_equal(push(producer, stream_of(ring, "s"), "kept"), 0);
	k2hft_producer_close(producer);
	k2hft_ring_close(ring);
	assert_int_equal(link(files->path, files->leftover), 0);
	ring = file_ring(files->path, 0);
	assert_false(there(files->leftover));
	(void)take(ring, "kept");
	k2hft_ring_close(ring);
}

/* A call that fails has not begun the ring afresh. */
FILES_TEST(a_failure_replaces_nothing)
{
	struct k2hft_ring *ring = file_ring(files->path, 0);
	struct k2hft_producer *producer = producer_of(ring);
	unsigned limit = 0;
	int status;

	assert_int_equal(push(producer, stream_of(ring, "s"), "kept"), 0);
	k2hft_producer_close(producer);
	k2hft_ring_close(ring);
	do {
		descriptors_limit(limit++);
		status = open_answer(files->path, K2HFT_RING_FRESH);
		descriptors_limit(RLIM_INFINITY);
		ring = file_ring(files->path, 0);
		if (status) {
			assert_int_equal(status, -EMFILE);
			assert_true(stats_of(ring).tail > 0);
		}
		k2hft_ring_close(ring);
	} while (status);
}

static bool no_addresses;

void *__real_mmap(void *address, size_t bytes, int protection, int flags, int descriptor, off_t offset);
void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int descriptor, off_t offset);
void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int descriptor, off_t offset)
{
	if (no_addresses) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return __real_mmap(address, bytes, protection, flags, descriptor, offset);
}

/* RLIMIT_AS allows less than the ring needs, say. */
FILES_TEST(without_addresses_nothing_is_replaced_or_made)
{
	struct k2hft_ring *ring;

	no_addresses = true;
	assert_int_equal(open_answer(files->path, 0), -ENOMEM);
	assert_false(there(files->path));
	no_addresses = false;
	ring = file_ring(files->path, 0);
	struct k2hft_producer *producer = producer_of(ring);
	assert_int_equal(push(producer, stream_of(ring, "s"), "kept"), 0);
	k2hft_producer_close(producer);
	k2hft_ring_close(ring);
	no_addresses = true;
	assert_int_equal(open_answer(files->path, K2HFT_RING_FRESH), -ENOMEM);
	no_addresses = false;
	assert_false(there(files->leftover));
	ring = file_ring(files->path, 0);
	(void)take(ring, "kept");
	k2hft_ring_close(ring);
}

static const char *made_path; /* of what is made; NULL: it does not matter */
static unsigned syncs;
static int sync_error;

int __real_fdatasync(int descriptor);
int __wrap_fdatasync(int descriptor);
int __wrap_fdatasync(int descriptor)
{
	struct k2i_ring_header header;

	if (made_path) {
		syncs++;
		assert_false(there(made_path));
		assert_int_equal(pread(descriptor, &header, sizeof(header), 0), sizeof(header));
		assert_true(header.magic == K2I_RING_MAGIC);
	}
	errno = sync_error;
	return sync_error ? -1 : __real_fdatasync(descriptor);
}

/* Else a power cut leaves zeros under its name, which nobody can open. */
FILES_TEST(it_is_on_the_disk_before_it_has_its_name)
{
	made_path = files->path;
	sync_error = EIO;
	assert_int_equal(open_answer(files->path, 0), -EIO);
	assert_false(there(files->path));
	assert_false(there(files->leftover));
	sync_error = 0;
	assert_int_equal(open_answer(files->path, 0), 0);
	assert_int_equal(syncs, 2);
	made_path = NULL;
}

static bool cut_short;

ssize_t __real_pwrite(int descriptor, const void *bytes, size_t byte_count, off_t offset);
ssize_t __wrap_pwrite(int descriptor, const void *bytes, size_t byte_count, off_t offset);
ssize_t __wrap_pwrite(int descriptor, const void *bytes, size_t byte_count, off_t offset)
{
	return __real_pwrite(descriptor, bytes, cut_short ? byte_count / 2 : byte_count, offset);
}

/* A value of errno from before is no answer: with some of those the file would be made over and over. */
FILES_TEST(half_a_header_is_no_room)
{
	const int before[] = {0, ENOENT, EEXIST, EAGAIN};

	cut_short = true;
	for (size_t at = 0; at < sizeof(before) / sizeof(before[0]); at++) {
		errno = before[at];
		assert_int_equal(open_answer(files->path, 0), -ENOSPC);
		errno = before[at];
		assert_int_equal(open_answer(NULL, 0), -ENOSPC);
	}
	cut_short = false;
	assert_false(there(files->path));
	assert_false(there(files->leftover));
}

static bool without_tmpfile;

int __real_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, mode_t mode)
{
	if (without_tmpfile && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return __real_open(path, flags, mode);
}

/* Not every file system makes files without a name. */
FILES_TEST(a_temporary_loses_its_name)
{
	struct k2hft_ring *ring;
	struct stat file;

	without_tmpfile = true;
	ring = file_ring(files->folder, K2HFT_RING_TEMPORARY);
	assert_int_equal(open_answer(files->path, K2HFT_RING_TEMPORARY), -ENOENT);
	without_tmpfile = false;
	assert_int_equal(open_answer(files->path, K2HFT_RING_TEMPORARY), -ENOENT);
	assert_int_equal(fcntl(k2hft_ring_descriptor(ring), F_GETFD), FD_CLOEXEC);
	assert_int_equal(fstat(k2hft_ring_descriptor(ring), &file), 0);
	assert_int_equal(file.st_nlink, 0);
	assert_int_equal(file.st_mode & 0777, 0600);
	assert_true(file.st_blocks * 512 >= file.st_size);
	k2hft_ring_close(ring);
}

/* A file that is being made is nobody else's to remove, nor is anything that is no file. */
FILES_TEST(what_is_being_made_stays)
{
	int descriptor;

	k2hft_ring_close(file_ring(files->path, 0));
	descriptor = open(files->leftover, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(descriptor >= 0);
	assert_int_equal(k2i_ring_lock_try(descriptor, K2I_LOCK_OPEN), 0);
	k2hft_ring_close(file_ring(files->path, 0));
	assert_true(there(files->leftover));
	(void)close(descriptor);
	k2hft_ring_close(file_ring(files->path, 0));
	assert_false(there(files->leftover));

	assert_int_equal(unlink(files->path), 0);
	assert_int_equal(mkdir(files->leftover, 0700), 0);
	assert_int_equal(open_answer(files->path, 0), -EISDIR);
	assert_int_equal(rmdir(files->leftover), 0);
	assert_int_equal(mkfifo(files->leftover, 0600), 0);
	assert_int_equal(open_answer(files->path, 0), -EBUSY);
	assert_int_equal(unlink(files->leftover), 0);
	assert_int_equal(symlink("elsewhere", files->leftover), 0);
	assert_int_equal(open_answer(files->path, 0), -ELOOP);
	assert_int_equal(unlink(files->leftover), 0);
	assert_false(there(files->path));
}

/* 0: it became the consumer and stayed until `end` was closed; 1: another one is; 2: something else. */
static int compete(const char *path, const int go[2], const int end[2])
{
	struct k2hft_ring_options options = {.size = sizeof(options), .path = path, .ring_bytes = SMALL};
	struct k2hft_ring *ring;
	char byte;
	int status;

	(void)close(go[1]);
	(void)close(end[1]);
	(void)!read(go[0], &byte, 1);
	status = k2hft_ring_open(&options, &ring);
	if (status)
		return status == -EBUSY ? 1 : 2;
	(void)!read(end[0], &byte, 1);
	return 0;
}

static int child_status(void)
{
	int status;

	assert_true(waitpid(-1, &status, 0) > 0);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Many processes make the same ring at once: a single one is its consumer, and nothing is left beside it. */
FILES_TEST(one_of_many_makes_it)
{
	for (unsigned round = 0; round < 20; round++) {
		int go[2], end[2];

		assert_int_equal(pipe(go), 0);
		assert_int_equal(pipe(end), 0);
		for (unsigned child = 0; child < 8; child++) {
			if (fork() == 0)
				_exit(compete(files->path, go, end));
		}
		(void)close(go[0]);
		(void)close(end[0]);
		(void)close(go[1]);
		for (unsigned child = 0; child < 7; child++)
			assert_int_equal(child_status(), 1);
		(void)close(end[1]);
		assert_int_equal(child_status(), 0);
		assert_false(there(files->leftover));
		assert_int_equal(unlink(files->path), 0);
	}
}

/* A process that may only read the file can lock it: an open does not wait for that for ever. */
FILES_TEST(a_readers_lock_is_not_waited_for)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = K2I_LOCK_OPEN, .l_len = 1};
	int descriptor;

	k2hft_ring_close(file_ring(files->path, 0));
	descriptor = open(files->path, O_RDONLY | O_CLOEXEC);
	assert_true(descriptor >= 0);
	assert_int_equal(fcntl(descriptor, F_OFD_SETLK, &lock), 0);
	assert_int_equal(open_answer(files->path, 0), -EBUSY);
	assert_int_equal(open_answer(files->path, K2HFT_RING_FRESH), -EBUSY);
	(void)close(descriptor);
	assert_int_equal(open_answer(files->path, 0), 0);
}

static int64_t missing_bytes(const char *path)
{
	struct stat file;

	assert_int_equal(stat(path, &file), 0);
	return file.st_size - file.st_blocks * 512;
}

/* As a copy can have them where nothing was written. Its content stays, and memory is taken when it is used. */
FILES_TEST(holes_are_filled)
{
	const int punch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
	struct k2hft_ring *ring = file_ring(files->path, 0), *memory = memory_ring();
	struct k2hft_producer *producer = producer_of(ring);
	int descriptor;
	char target[64];

	assert_int_equal(push(producer, stream_of(ring, "s"), "kept"), 0);
	k2hft_producer_close(producer);
	k2hft_ring_close(ring);
	descriptor = open(files->path, O_RDWR | O_CLOEXEC);
	assert_int_equal(fallocate(descriptor, punch, K2I_DATA_AT + SMALL / 2, SMALL / 2), 0);
	(void)close(descriptor);
	assert_true(missing_bytes(files->path) > 0);
	ring = file_ring(files->path, 0);
	assert_true(missing_bytes(files->path) <= 0);
	(void)take(ring, "kept");
	k2hft_ring_close(ring);

	descriptor = dup(k2hft_ring_descriptor(memory));
	k2hft_ring_close(memory);
	(void)snprintf(target, sizeof(target), "/proc/self/fd/%d", descriptor);
	assert_int_equal(open_answer(target, 0), 0);
	assert_true(missing_bytes(target) > 0);
	(void)close(descriptor);
}

static bool ranges_can_be_zeroed(const struct k2hft_ring *ring)
{
	return fallocate(k2hft_ring_descriptor(ring), FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, K2I_DATA_AT, 4096) ==
	       0;
}

static size_t resident_pages(const uint8_t *from, size_t bytes)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE), resident = 0;
	unsigned char *pages = malloc(bytes / page_bytes);

	assert_non_null(pages);
	assert_int_equal(mincore((void *)(uintptr_t)from, bytes, pages), 0);
	for (size_t at = 0; at < bytes / page_bytes; at++)
		resident += pages[at] & 1;
	free(pages);
	return resident;
}

/* In the middle of a lap it is in two parts. */
FILES_TEST(free_room_is_cleared_and_nothing_else)
{
	char large[12001] = "";
	struct k2hft_ring *ring = file_ring(files->path, 0);
	struct k2hft_producer *producer = producer_of(ring);
	uint32_t stream_id = stream_of(ring, "s");
	uint64_t places[4];

	memset(large, 'l', sizeof(large) - 1);
	for (int lap = 0; lap < 5; lap++) {
		assert_int_equal(push(producer, stream_id, large), 0);
		(void)take(ring, large);
	}
	assert_int_equal(push(producer, stream_id, "kept"), 0);
	k2hft_producer_close(producer);
	places[0] = stats_of(ring).tail;
	places[1] = SMALL - 8;
	places[2] = SMALL;
	places[3] = ring->head + SMALL - 8;
	assert_true(places[0] < places[1]);
	for (int at = 0; at < 4; at++)
		atomic_store(&k2i_entry_at(ring, places[at])->mark,
			     k2i_mark_make(ring, places[at], K2I_KIND_DISCARDED, 8));
	memset(ring->header->boot_id, 0xee, sizeof(ring->header->boot_id));
	k2hft_ring_close(ring);
	ring = file_ring(files->path, 0);
	for (int at = 0; at < 4; at++)
		assert_int_equal(atomic_load(&k2i_entry_at(ring, places[at])->mark), 0);
	(void)take(ring, "kept");
	k2hft_ring_close(ring);
}

/* A start after a boot would have to wait for as much as the ring can hold. */
FILES_TEST(free_room_is_not_read)
{
	enum { RING_BYTES = 16 * 1024 * 1024, APART_BYTES = 4 * 1024 * 1024 };
	struct k2hft_ring_options options = {.size = sizeof(options), .path = files->path, .ring_bytes = RING_BYTES};
	struct k2hft_ring *ring;
	bool asked;

	assert_int_equal(k2hft_ring_open(&options, &ring), 0);
	asked = ranges_can_be_zeroed(ring);
	memset(ring->header->boot_id, 0xee, sizeof(ring->header->boot_id));
	k2hft_ring_close(ring);
	assert_int_equal(k2hft_ring_open(&options, &ring), 0);
	if (asked)
		assert_int_equal(resident_pages(ring->data + APART_BYTES, RING_BYTES - 2 * APART_BYTES), 0);
	k2hft_ring_close(ring);
}

/* A process that is attached can't cut the ring's end off under the others. */
RING_TEST(memory_keeps_its_size)
{
	int descriptor = k2hft_ring_descriptor(ring);

	assert_int_equal(ftruncate(descriptor, 4096), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(descriptor, 1 << 30), -1);
	assert_int_equal(fcntl(descriptor, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
}

static unsigned rings_mapped(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned mapped = 0;
	char line[512];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		mapped += strstr(line, "k2hft-ring") != NULL;
	(void)fclose(maps);
	return mapped;
}

TEST(nothing_of_it_stays)
{
	unsigned before = rings_mapped();
	struct k2hft_ring *ring = memory_ring();

	assert_true(rings_mapped() > before);
	k2hft_ring_close(ring);
	assert_int_equal(rings_mapped(), before);
}

FILES_TEST(no_program_inherits_a_ring)
{
	struct k2hft_ring *rings[] = {memory_ring(), file_ring(files->path, 0),
				      file_ring(files->folder, K2HFT_RING_TEMPORARY), NULL};

	assert_int_equal(k2hft_ring_attach(files->path, &rings[3]), 0);
	for (size_t at = 0; at < 4; at++) {
		assert_int_equal(fcntl(k2hft_ring_descriptor(rings[at]), F_GETFD), FD_CLOEXEC);
		k2hft_ring_close(rings[at]);
	}
}

FILES_TEST(temporary_has_no_name)
{
	struct k2hft_ring *ring = file_ring(files->folder, K2HFT_RING_TEMPORARY);
	struct k2hft_producer *producer = producer_of(ring);
	struct stat file;
	char target[64];

	/* Nor can anybody give it one. */
	(void)snprintf(target, sizeof(target), "/proc/self/fd/%d", k2hft_ring_descriptor(ring));
	assert_int_equal(linkat(AT_FDCWD, target, AT_FDCWD, files->path, AT_SYMLINK_FOLLOW), -1);
	assert_int_equal(fstat(k2hft_ring_descriptor(ring), &file), 0);
	assert_int_equal(file.st_nlink, 0);
	/* It has a name in /proc for who may look there. */
	assert_int_equal(file.st_mode & 0777, 0600);
	assert_true(file.st_blocks * 512 >= file.st_size);
	assert_int_equal(push(producer, stream_of(ring, "s"), "x"), 0);
	(void)take(ring, "x");
	k2hft_producer_close(producer);
	k2hft_ring_close(ring);
}

/* Files of this process may not grow: what a full disk does, without filling one. SIGXFSZ does not end the process. */
FILES_TEST(no_room_on_the_disk)
{
	struct k2hft_ring *ring = memory_ring();
	char target[64];
	int status;
	pid_t child;

	(void)snprintf(target, sizeof(target), "/proc/%d/fd/%d", (int)getpid(), k2hft_ring_descriptor(ring));
	child = fork();
	if (child == 0) {
		struct rlimit limit = {1 << 20, 1 << 20}, none = {0, 0},
			      enough = {K2I_DATA_AT + SMALL, K2I_DATA_AT + SMALL};

		if (setrlimit(RLIMIT_FSIZE, &enough) || open_answer(NULL, 0))
			_exit(2);
		if (setrlimit(RLIMIT_FSIZE, &limit) || attach_answer(target) || open_answer(NULL, 0) != -EFBIG ||
		    open_answer(files->path, 0) != -EFBIG || open_answer(files->folder, K2HFT_RING_TEMPORARY) != -EFBIG)
			_exit(1);
		_exit(setrlimit(RLIMIT_FSIZE, &none) || attach_answer(target) != -EFBIG);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(access(files->path, F_OK), -1);
	k2hft_ring_close(ring);
}

/* As RFC 9562 has it, version 4. */
TEST(every_ring_has_a_uuid)
{
	struct k2hft_ring *ring = memory_ring(), *other = memory_ring();
	struct k2hft_ring_stats stats = stats_of(ring), other_stats = stats_of(other);

	assert_int_equal(stats.uuid[6] & 0xf0, 0x40);
	assert_int_equal(stats.uuid[8] & 0xc0, 0x80);
	assert_memory_not_equal(stats.uuid, other_stats.uuid, sizeof(stats.uuid));
	assert_true(ring->seed != other->seed);
	k2hft_ring_close(ring);
	k2hft_ring_close(other);
}

/* Where addresses have 32 bits it is refused, before anything is mapped at the place of something else. */
TEST(ring_as_large_as_all_addresses)
{
	for (unsigned bits = 31; bits <= 32; bits++) {
		struct k2hft_ring_options options = {.size = sizeof(options), .ring_bytes = UINT64_C(1) << bits};
		struct k2hft_ring *ring = NULL;

		assert_int_equal(k2hft_ring_open(&options, &ring), sizeof(void *) > 4 ? 0 : -ENOMEM);
		k2hft_ring_close(ring);
	}
}

/* Whether a core dump has what is mapped there. */
static bool dumped(const void *place)
{
	FILE *maps = fopen("/proc/self/smaps", "r");
	uintptr_t address = (uintptr_t)place;
	unsigned long begin, end;
	bool inside = false, left_out = false;
	char line[1024];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
			inside = address >= begin && address < end;
		if (inside && strncmp(line, "VmFlags:", strlen("VmFlags:")) == 0)
			left_out = strstr(line, " dd") != NULL;
	}
	assert_int_equal(fclose(maps), 0);
	return !left_out;
}

/* The largest part of what a process with a large ring leaves when it crashes. */
STATE_TEST(the_data_are_in_a_core_dump_once, ring_make, ring_end)
{
	const struct k2hft_ring *ring = *state;

	assert_true(dumped(ring->header));
	assert_true(dumped(ring->data));
	assert_true(dumped(ring->data + ring->capacity - 1));
	assert_false(dumped(ring->data + ring->capacity));
	assert_false(dumped(ring->data + 2 * ring->capacity - 1));
}
