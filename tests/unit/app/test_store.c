/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "unit.h"
#include "app/store/memory_limit.h"
#include "app/store/store.h"
#include "wrapped_names.h"

#define FILE_BYTES ((size_t)1000 * 1000)

static uint8_t *content(void)
{
	uint8_t *bytes = malloc(FILE_BYTES);
	size_t i;

	assert_non_null(bytes);
	for (i = 0; i < FILE_BYTES; i++)
		bytes[i] = (uint8_t)(i * 7 + i / 251);
	return bytes;
}

/* A file without a name, where the tests run. */
static int scratch(int flags)
{
	const char *folder = getenv("TMPDIR");
	int descriptor = open(folder ? folder : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC | flags, 0600);

	return descriptor < 0 ? -errno : descriptor;
}

/* Each call of write is a packet. */
static void packets(int ends[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
}

TEST(options_are_checked)
{
	struct k2i_store_options options = {.write_bytes = 4095};
	struct k2i_store_writer writer;

	assert_int_equal(k2i_store_writer_start(&writer, &options), -EINVAL);
	options.write_bytes = K2I_STORE_WRITE_BYTES_MAX + 1;
	assert_int_equal(k2i_store_writer_start(&writer, &options), -EINVAL);
	options.write_bytes = 5000;
	assert_int_equal(k2i_store_writer_start(&writer, &options), 0);
	k2i_store_writer_free(&writer);
	options.direct = true;
	assert_int_equal(k2i_store_writer_start(&writer, &options), -EINVAL);
}

TEST(flags_follow_the_options)
{
	struct k2i_store_options options = {.mode = K2I_STORE_BUFFERED};

	assert_int_equal(k2i_store_flags(&options), 0);
	options.mode = K2I_STORE_DSYNC;
	assert_int_equal(k2i_store_flags(&options), O_DSYNC);
	options.mode = K2I_STORE_SYNC;
	options.direct = true;
	assert_int_equal(k2i_store_flags(&options), O_SYNC | O_DIRECT);
}

static size_t write_most; /* 0: all */

/* Named by the linker: as a disk that has just become full, or a signal. */
ssize_t __real_writev(int descriptor, const struct iovec *vectors, int count);
ssize_t __wrap_writev(int descriptor, const struct iovec *vectors, int count);
ssize_t __wrap_writev(int descriptor, const struct iovec *vectors, int count)
{
	struct iovec some[K2I_STORE_VECTORS];
	size_t left = write_most;
	int i;

	for (i = 0; i < count && left > 0; i++) {
		some[i] = vectors[i];
		if (some[i].iov_len > left)
			some[i].iov_len = left;
		left -= some[i].iov_len;
	}
	return write_most ? __real_writev(descriptor, some, i) : __real_writev(descriptor, vectors, count);
}

/* Bytes that a call does not write, the next one does, each once. */
TEST(short_writes_go_on)
{
	const struct k2i_store_options options = {.write_bytes = 65536};
	static const size_t parts[] = {5000, 10, 2000, 1, 1025, 3, 60000};
	struct k2i_store_writer writer;
	uint8_t *bytes = content(), *found = content();
	size_t bytes_put, i;

	assert_int_equal(k2i_store_writer_start(&writer, &options), 0);
	for (write_most = 1; write_most < 8000; write_most = write_most * 3 + 7) {
		int file = scratch(0);

		assert_true(file >= 0);
		k2i_store_writer_begin(&writer, file);
		for (bytes_put = i = 0; i < sizeof(parts) / sizeof(parts[0]); bytes_put += parts[i++])
			assert_int_equal(k2i_store_put(&writer, bytes + bytes_put, parts[i]), 0);
		assert_int_equal(k2i_store_flush(&writer), 0);
		assert_int_equal(writer.written_bytes, bytes_put);
		assert_int_equal(pread(file, found, FILE_BYTES, 0), bytes_put);
		assert_memory_equal(found, bytes, bytes_put);
		(void)close(file);
	}
	write_most = 0;
	k2i_store_writer_free(&writer);
	free(found);
	free(bytes);
}

/* Few bytes gather, and no write is larger than asked for. */
TEST(writes_have_the_size)
{
	const struct k2i_store_options options = {.write_bytes = 10000};
	struct k2i_store_writer writer;
	uint8_t *bytes = content(), packet[20000];
	int ends[2], i;

	packets(ends);
	assert_int_equal(k2i_store_writer_start(&writer, &options), 0);
	k2i_store_writer_begin(&writer, ends[0]);
	assert_int_equal(k2i_store_put(&writer, bytes, 25000), 0);
	for (i = 0; i < 100; i++)
		assert_int_equal(k2i_store_put(&writer, bytes + 25000 + i * 10, 10), 0);
	assert_int_equal(k2i_store_flush(&writer), 0);
	assert_int_equal(k2i_store_flush(&writer), 0);
	assert_int_equal(writer.written_bytes, 26000);
	for (i = 0; i < 3; i++) {
		assert_int_equal(read(ends[1], packet, sizeof(packet)), i < 2 ? 10000 : 6000);
		assert_memory_equal(packet, bytes + (size_t)i * 10000, i < 2 ? 10000 : 6000);
	}
	assert_int_equal(read(ends[1], packet, sizeof(packet)), -1);
	k2i_store_writer_free(&writer);
	(void)close(ends[0]);
	(void)close(ends[1]);
	free(bytes);
}

/* A large piece goes out from where it is; a small one can be overwritten by its owner at once. */
TEST(only_small_parts_are_copied)
{
	const struct k2i_store_options options = {.write_bytes = 65536};
	struct k2i_store_writer writer;
	uint8_t *bytes = content(), small[3] = "ab";

	assert_int_equal(k2i_store_writer_start(&writer, &options), 0);
	k2i_store_writer_begin(&writer, -1);
	assert_int_equal(k2i_store_put(&writer, bytes, 30000), 0);
	assert_int_equal(k2i_store_put(&writer, small, 2), 0);
	assert_int_equal(writer.vector_count, 2);
	assert_ptr_equal(writer.vectors[0].iov_base, bytes);
	assert_ptr_not_equal(writer.vectors[1].iov_base, small);
	k2i_store_writer_free(&writer);
	free(bytes);
}

/* More than there is room for: large parts that do not follow each other, then small ones. */
TEST(many_parts_are_written)
{
	const struct k2i_store_options options = {.write_bytes = K2I_STORE_WRITE_BYTES_MAX};
	const size_t large = 600, large_bytes = 1500, small = 7000, small_bytes = 30;
	struct k2i_store_writer writer;
	uint8_t *bytes = content(), *found = malloc(FILE_BYTES);
	int descriptor = scratch(0);
	size_t i;

	assert_true(found && descriptor >= 0);
	assert_int_equal(k2i_store_writer_start(&writer, &options), 0);
	k2i_store_writer_begin(&writer, descriptor);
	for (i = 0; i < large; i++) {
		assert_int_equal(k2i_store_put(&writer, bytes + i * large_bytes, large_bytes - 1), 0);
		assert_true(writer.vector_count <= K2I_STORE_VECTORS);
	}
	for (i = 0; i < small; i++) {
		assert_int_equal(k2i_store_put(&writer, bytes + i * small_bytes, small_bytes - 1), 0);
		assert_true(writer.staging_bytes <= writer.staging_room);
	}
	assert_int_equal(k2i_store_flush(&writer), 0);
	for (i = 0; i < large; i++) {
		assert_int_equal(pread(descriptor, found, large_bytes - 1, (off_t)(i * (large_bytes - 1))),
				 large_bytes - 1);
		assert_memory_equal(found, bytes + i * large_bytes, large_bytes - 1);
	}
	for (i = 0; i < small; i++) {
		off_t at = (off_t)(large * (large_bytes - 1) + i * (small_bytes - 1));

		assert_int_equal(pread(descriptor, found, small_bytes - 1, at), small_bytes - 1);
		assert_memory_equal(found, bytes + i * small_bytes, small_bytes - 1);
	}
	k2i_store_writer_free(&writer);
	(void)close(descriptor);
	free(found);
	free(bytes);
}

TEST(errors_are_told)
{
	const struct k2i_store_options options = {.write_bytes = 4096};
	struct k2i_store_writer writer;
	int descriptor = open("/dev/full", O_WRONLY | O_CLOEXEC);

	assert_true(descriptor >= 0);
	assert_int_equal(k2i_store_writer_start(&writer, &options), 0);
	k2i_store_writer_begin(&writer, descriptor);
	assert_int_equal(k2i_store_put(&writer, "x", 1), 0);
	assert_int_equal(k2i_store_flush(&writer), -ENOSPC);
	/* The next file does not get it. */
	k2i_store_writer_begin(&writer, descriptor);
	assert_int_equal(k2i_store_flush(&writer), 0);
	k2i_store_writer_free(&writer);
	(void)close(descriptor);
}

/* Parts of all sizes, through each mode, and read back. */
static void file_round(const struct k2i_store_options *options)
{
	uint8_t *bytes = content(), *buffer = k2i_store_buffer(options->write_bytes);
	struct k2i_store_writer writer;
	size_t offset = 0, part = 1, done = 0;
	ssize_t got;
	int descriptor = scratch(k2i_store_flags(options));

	if (descriptor == -EINVAL && options->direct) {
		free(bytes);
		free(buffer);
		skip();
	}
	assert_true(descriptor >= 0);
	assert_non_null(buffer);
	assert_int_equal(k2i_store_writer_start(&writer, options), 0);
	k2i_store_writer_begin(&writer, descriptor);
	for (; offset < FILE_BYTES; offset += part, part = part * 3 % 70001 + 1) {
		if (part > FILE_BYTES - offset)
			part = FILE_BYTES - offset;
		assert_int_equal(k2i_store_put(&writer, bytes + offset, part), 0);
	}
	assert_int_equal(k2i_store_flush(&writer), 0);
	assert_int_equal(writer.written_bytes, FILE_BYTES);
	/* Whole blocks of a file that ends in a part of one can be read with O_DIRECT, too. */
	while ((got = k2i_store_read(options, descriptor, buffer, done)) > 0) {
		assert_memory_equal(buffer, bytes + done, (size_t)got);
		done += (size_t)got;
	}
	assert_int_equal(got, 0);
	assert_int_equal(done, FILE_BYTES);
	k2i_store_writer_free(&writer);
	(void)close(descriptor);
	free(buffer);
	free(bytes);
}

TEST(every_mode_writes_the_same)
{
	struct k2i_store_options options = {.write_bytes = 40000};
	int mode;

	for (mode = K2I_STORE_BUFFERED; mode <= K2I_STORE_SYNC; mode++) {
		options.mode = (enum k2i_store_mode)mode;
		options.cache = mode == K2I_STORE_DSYNC ? K2I_STORE_KEEP : K2I_STORE_DROP;
		file_round(&options);
	}
}

TEST(direct_writes_the_tail)
{
	const struct k2i_store_options options = {.write_bytes = 65536, .direct = true};

	file_round(&options);
}

static size_t cached_pages(int descriptor, size_t bytes)
{
	size_t pages = (bytes + 4095) / 4096, cached = 0, i;
	unsigned char *present = calloc(pages, 1);
	void *mapped = mmap(NULL, bytes, PROT_READ, MAP_SHARED, descriptor, 0);

	assert_non_null(present);
	assert_true(mapped != MAP_FAILED);
	assert_int_equal(mincore(mapped, bytes, present), 0);
	for (i = 0; i < pages; i++)
		cached += present[i] & 1;
	(void)munmap(mapped, bytes);
	free(present);
	return cached;
}

static time_t coarse_s = 1000000;

/* Named by the linker, so that a second lasts as long as a test wants. */
int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	if (clock != CLOCK_MONOTONIC_COARSE)
		return __real_clock_gettime(clock, now);
	*now = (struct timespec){.tv_sec = coarse_s};
	return 0;
}

/* Memory that other files of this process took no longer counts. */
static void others_stop_growing(void)
{
	coarse_s += 2;
}

/* Five stretches more than may wait: those are on the disk then, and gone from the page cache if they shall be. */
static size_t behind_cached(enum k2i_store_cache cache)
{
	const struct k2i_store_options options = {.write_bytes = 65536, .cache = cache};
	const uint64_t waiting_bytes = k2i_store_waiting_bytes(1);
	size_t bytes = (size_t)(waiting_bytes + 5 * K2I_STORE_BEHIND_BYTES), length = 0, cached;
	struct k2i_store_behind behind;
	uint8_t *block = content();
	int made = scratch(0), descriptor = fcntl(made, F_DUPFD_CLOEXEC, 16);

	assert_true(made >= 0);
	(void)close(made);
	/* A store whose first stretch is as long as all others. */
	assert_int_equal(descriptor, 16);
	others_stop_growing();
	k2i_store_behind_set(&behind, 0);
	while (length < bytes) {
		assert_int_equal(write(descriptor, block, 524288), 524288);
		length += 524288;
		assert_int_equal(k2i_store_behind_advance(&behind, &options, descriptor, length), 0);
		assert_true(length - behind.started <= K2I_STORE_BEHIND_BYTES);
		assert_true(length - behind.done <= waiting_bytes + K2I_STORE_BEHIND_BYTES);
	}
	assert_int_equal(behind.done, bytes - waiting_bytes);
	cached = cached_pages(descriptor, bytes);
	k2i_store_behind_end(&behind, &options, descriptor, length);
	assert_int_equal(behind.done, length);
	(void)close(descriptor);
	free(block);
	return cached;
}

static bool memory_only(void)
{
	int descriptor = scratch(0);
	bool memory;

	assert_true(descriptor >= 0);
	assert_int_equal(write(descriptor, "x", 1), 1);
	assert_int_equal(fdatasync(descriptor), 0);
	(void)posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
	memory = cached_pages(descriptor, 1) > 0;
	(void)close(descriptor);
	return memory;
}

TEST(written_pages_are_dropped)
{
	size_t most = (size_t)(k2i_store_waiting_bytes(1) + K2I_STORE_BEHIND_BYTES) / 4096;

	if (memory_only())
		skip();
	assert_true(behind_cached(K2I_STORE_DROP) <= most);
	assert_true(behind_cached(K2I_STORE_KEEP) > most);
}

/* Writes seldom end where a stretch is full. */
TEST(nothing_between_two_stretches_stays)
{
	const struct k2i_store_options options = {.write_bytes = 65536, .cache = K2I_STORE_DROP};
	const size_t stretch = (size_t)K2I_STORE_BEHIND_BYTES + 1048576;
	struct k2i_store_behind behind;
	uint8_t *block = content();
	int descriptor = scratch(0);
	size_t length = 0;

	if (memory_only())
		skip();
	assert_true(descriptor >= 0);
	k2i_store_behind_set(&behind, 0);
	for (int i = 0; i < 5; i++) {
		for (size_t end = length + stretch; length < end; length += 524288)
			assert_int_equal(write(descriptor, block, 524288), 524288);
		assert_int_equal(fdatasync(descriptor), 0);
		assert_int_equal(k2i_store_behind_advance(&behind, &options, descriptor, length), 0);
	}
	assert_true(length < k2i_store_waiting_bytes(1));
	assert_true(cached_pages(descriptor, length) <= stretch / 4096);
	(void)close(descriptor);
	free(block);
}

/* The kernel gives up what lies wholly in a range, and its pages can be as large as a write. */
TEST(nothing_across_two_stretches_stays)
{
	const struct k2i_store_options options = {.write_bytes = 65536, .cache = K2I_STORE_DROP};
	const size_t stretch = (size_t)K2I_STORE_BEHIND_BYTES + 200704;
	struct k2i_store_behind behind;
	uint8_t *block = content();
	int descriptor = scratch(0);

	if (memory_only())
		skip();
	assert_true(descriptor >= 0);
	/* The disk has all of it, so that what stays is not what it has not taken yet. */
	for (size_t length = 0; length < 5 * stretch; length += 524288)
		assert_int_equal(write(descriptor, block, 524288), 524288);
	assert_int_equal(fdatasync(descriptor), 0);
	k2i_store_behind_set(&behind, 0);
	for (size_t length = stretch; length <= 5 * stretch; length += stretch)
		assert_int_equal(k2i_store_behind_advance(&behind, &options, descriptor, length), 0);
	assert_int_equal(behind.started, 5 * stretch);
	assert_int_equal(cached_pages(descriptor, 3 * stretch), 0);
	(void)close(descriptor);
	free(block);
}

/* Else many files that grow together would all be written at the same moment. */
TEST(first_stretches_differ)
{
	const struct k2i_store_options options = {.write_bytes = 65536};
	int first = scratch(0), second = scratch(0);
	struct k2i_store_behind behind;
	uint64_t length[2] = {0, 0};

	assert_true(first >= 0 && second >= 0);
	assert_int_not_equal(first % 16, second % 16);
	for (int i = 0; i < 2; i++) {
		k2i_store_behind_set(&behind, 0);
		while (behind.started == 0) {
			length[i] += 4096;
			assert_int_equal(k2i_store_behind_advance(&behind, &options, i ? second : first, length[i]), 0);
		}
		assert_true(length[i] <= K2I_STORE_BEHIND_BYTES);
		uint64_t next = length[i] + K2I_STORE_BEHIND_BYTES;
		assert_int_equal(k2i_store_behind_advance(&behind, &options, i ? second : first, next - 4096), 0);
		assert_int_equal(behind.started, length[i]);
		assert_int_equal(k2i_store_behind_advance(&behind, &options, i ? second : first, next), 0);
		assert_int_equal(behind.started, next);
	}
	assert_int_not_equal(length[0], length[1]);
	(void)close(first);
	(void)close(second);
}

TEST(a_cut_begins_anew)
{
	const struct k2i_store_options options = {.write_bytes = 65536, .direct = true};
	struct k2i_store_behind behind;

	k2i_store_behind_set(&behind, 10 * K2I_STORE_BEHIND_BYTES);
	k2i_store_behind_set(&behind, 5000);
	assert_int_equal(behind.started, 4096);
	assert_int_equal(k2i_store_behind_advance(&behind, &options, 16, K2I_STORE_BEHIND_BYTES), 0);
	assert_int_equal(behind.started, 4096);
	assert_int_equal(k2i_store_behind_advance(&behind, &options, 16, K2I_STORE_BEHIND_BYTES + 4100), 0);
	assert_int_equal(behind.started, K2I_STORE_BEHIND_BYTES + 4096);
}

#define FILE_COUNT 12

TEST(files_that_grow_share_what_may_wait)
{
	const struct k2i_store_options options = {.write_bytes = 65536, .direct = true};
	const uint64_t stretch = K2I_STORE_BEHIND_BYTES, one = k2i_store_waiting_bytes(1);
	struct k2i_store_behind behind[FILE_COUNT];
	uint64_t length = 0;

	assert_true(one <= UINT64_C(64) << 20 && one <= k2i_memory_bytes() / 8);
	assert_int_equal(k2i_store_waiting_bytes(0), one);
	assert_int_equal(k2i_store_waiting_bytes(10000), 2 * stretch);
	/* Less has a machine of 1 GiB. */
	if (k2i_store_waiting_bytes(2) < one)
		skip();
	uint64_t share = k2i_store_waiting_bytes(FILE_COUNT);
	assert_true(share < one && share * FILE_COUNT <= UINT64_C(256) << 20);
	others_stop_growing();
	for (int file = 0; file < FILE_COUNT; file++)
		k2i_store_behind_set(&behind[file], 0);
	for (; length < 2 * one; length += stretch, coarse_s += length % one == 0)
		for (int file = 0; file < FILE_COUNT; file++)
			assert_int_equal(k2i_store_behind_advance(&behind[file], &options, 16, length), 0);
	length -= stretch;
	for (int file = 0; file < FILE_COUNT; file++)
		assert_int_equal(length - behind[file].done, share);
	/* The thread of the first file looked at the clock in the second before that of the others. */
	for (int round = 0; round < 2; round++) {
		length += stretch;
		for (int file = FILE_COUNT - 1; file >= 0; file--) {
			coarse_s -= file == 0;
			assert_int_equal(k2i_store_behind_advance(&behind[file], &options, 16, length), 0);
			coarse_s += file == 0;
			assert_int_equal(length - behind[file].done, share);
		}
	}
	/* A single file goes on, and the others do not. */
	others_stop_growing();
	for (uint64_t end = length + 2 * one; length < end; length += stretch)
		assert_int_equal(k2i_store_behind_advance(behind, &options, 16, length), 0);
	assert_int_equal(length - stretch - behind->done, one);
}
