/* SPDX-License-Identifier: MIT */
#include "app/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/crash.h"

#define BLOCK_BYTES ((size_t)4096)
/* Below this a copy costs less than one more element of writev(2). */
#define COPY_BYTES_MAX ((size_t)1024)
#define STAGING_BYTES_MAX ((size_t)64 * 1024)

_Static_assert(COPY_BYTES_MAX < K2I_STORE_WRITE_BYTES_MIN, "a copy fits the staging buffer");

int k2i_store_flags(const struct k2i_store_options *options)
{
	static const int modes[] = {[K2I_STORE_BUFFERED] = 0, [K2I_STORE_DSYNC] = O_DSYNC, [K2I_STORE_SYNC] = O_SYNC};

	return modes[options->mode] | (options->direct ? O_DIRECT : 0);
}

void *k2i_store_buffer(size_t byte_count)
{
	return aligned_alloc(BLOCK_BYTES, (size_t)k2i_align_up(byte_count, BLOCK_BYTES));
}

int k2i_store_writer_start(struct k2i_store_writer *writer, const struct k2i_store_options *options)
{
	memset(writer, 0, sizeof(*writer));
	if (options->write_bytes < K2I_STORE_WRITE_BYTES_MIN || options->write_bytes > K2I_STORE_WRITE_BYTES_MAX ||
	    (options->direct && options->write_bytes % BLOCK_BYTES))
		return -EINVAL;
	writer->options = *options;
	writer->descriptor = -1;
	writer->staging_room = options->write_bytes;
	if (!options->direct && writer->staging_room > STAGING_BYTES_MAX)
		writer->staging_room = STAGING_BYTES_MAX;
	writer->staging = k2i_store_buffer(writer->staging_room);
	return writer->staging ? 0 : -ENOMEM;
}

void k2i_store_writer_free(struct k2i_store_writer *writer)
{
	free(writer->staging);
}

static void pending_forget(struct k2i_store_writer *writer)
{
	writer->vector_count = writer->pending_bytes = writer->staging_bytes = 0;
}

void k2i_store_writer_begin(struct k2i_store_writer *writer, int descriptor)
{
	pending_forget(writer);
	writer->descriptor = descriptor;
	writer->written_bytes = 0;
}

static void vectors_advance(struct iovec **vector, size_t *count, size_t bytes)
{
	while (*count > 0 && bytes >= (*vector)->iov_len) {
		bytes -= (*vector)->iov_len;
		(*vector)++;
		(*count)--;
	}
	if (*count > 0) {
		(*vector)->iov_base = (uint8_t *)(*vector)->iov_base + bytes;
		(*vector)->iov_len -= bytes;
	}
}

static int vectors_write(struct k2i_store_writer *writer)
{
	struct iovec *vector = writer->vectors;
	size_t count = writer->vector_count;
	ssize_t put;

	while (count > 0) {
		K2I_CRASH(output_write_before);
		put = writev(writer->descriptor, vector, (int)count);
		K2I_CRASH(output_written);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put ? -errno : -EIO;
		vectors_advance(&vector, &count, (size_t)put);
	}
	writer->written_bytes += writer->pending_bytes;
	pending_forget(writer);
	return 0;
}

static void vector_add(struct k2i_store_writer *writer, const uint8_t *bytes, size_t byte_count)
{
	struct iovec *last = &writer->vectors[writer->vector_count];

	writer->pending_bytes += byte_count;
	/* Copies lie one behind the other and become one element. */
	if (writer->vector_count > 0 && (const uint8_t *)last[-1].iov_base + last[-1].iov_len == bytes) {
		last[-1].iov_len += byte_count;
		return;
	}
	last->iov_base = (void *)(uintptr_t)bytes;
	last->iov_len = byte_count;
	writer->vector_count++;
}

static int room_make(struct k2i_store_writer *writer, size_t copy_bytes)
{
	if (writer->pending_bytes < writer->options.write_bytes && writer->vector_count < K2I_STORE_VECTORS &&
	    writer->staging_room - writer->staging_bytes >= copy_bytes)
		return 0;
	return vectors_write(writer);
}

int k2i_store_put(struct k2i_store_writer *writer, const void *bytes, size_t byte_count)
{
	const uint8_t *from = bytes;
	bool copy = writer->options.direct || byte_count <= COPY_BYTES_MAX;
	int error = 0;

	while (byte_count > 0 && !error) {
		size_t part = byte_count, room;

		/* Few bytes are copied to one place; with `direct` each write is full. */
		error = room_make(writer, writer->options.direct ? 1 : copy ? byte_count : 0);
		room = writer->options.write_bytes - writer->pending_bytes;
		if (error)
			break;
		if (part > room)
			part = room;
		if (copy) {
			vector_add(writer, memcpy(writer->staging + writer->staging_bytes, from, part), part);
			writer->staging_bytes += part;
		} else {
			vector_add(writer, from, part);
		}
		from += part;
		byte_count -= part;
	}
	return error;
}

/* Pages and O_DIRECT of one file don't mix well; behind the last whole block there is nothing direct to come. */
static int direct_flush(struct k2i_store_writer *writer)
{
	size_t whole_bytes = (size_t)k2i_align_down(writer->pending_bytes, BLOCK_BYTES);
	size_t rest_bytes = writer->pending_bytes - whole_bytes;
	int flags, error;

	pending_forget(writer);
	if (whole_bytes > 0)
		vector_add(writer, writer->staging, whole_bytes);
	error = vectors_write(writer);
	if (error)
		return error;
	flags = fcntl(writer->descriptor, F_GETFL);
	if (flags < 0 || fcntl(writer->descriptor, F_SETFL, flags & ~O_DIRECT) < 0)
		return -errno;
	vector_add(writer, writer->staging + whole_bytes, rest_bytes);
	return vectors_write(writer);
}

int k2i_store_flush(struct k2i_store_writer *writer)
{
	return writer->options.direct && writer->pending_bytes % BLOCK_BYTES ? direct_flush(writer)
									     : vectors_write(writer);
}

ssize_t k2i_store_read(const struct k2i_store_options *options, int descriptor, void *buffer, uint64_t offset)
{
	ssize_t got;

	do {
		got = pread(descriptor, buffer, options->write_bytes, (off_t)offset);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	if (got > 0 && options->cache == K2I_STORE_DROP && !options->direct)
		(void)posix_fadvise(descriptor, (off_t)offset, got, POSIX_FADV_DONTNEED);
	return got;
}
