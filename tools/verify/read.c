/* SPDX-License-Identifier: MIT */
/* Files into lines. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "tools/verify/retracted.h"
#include "tools/verify/tally.h"
#include "tools/verify/topic.h"

#define BUFFER_BYTES_FIRST (1024u * 1024)
/* Holds any record; what is longer is none. */
#define BUFFER_BYTES_MAX ((size_t)VERIFY_RECORD_BYTES_MAX + VERIFY_RECORD_NUMBERS_BYTES_MAX)

struct reader {
	struct verify_tally tally;
	struct verify_retracted retracted;
	struct verify_skip *skip, *skip_end; /* the next ones of the file */
	char *buffer;
	size_t room;
	/* The place in the file that is read now. */
	const char *file;
	int descriptor;
	size_t begin, end;    /* of the bytes in the buffer that are not taken yet */
	size_t searched;      /* up to where there is no line end */
	uint64_t offset;      /* of `begin` in the file */
	uint64_t long_offset; /* of a line that does not fit, with its length so far */
	uint64_t long_bytes;  /* 0: no such line */
	char long_begin[16];
};

/* Room for more bytes behind `end`: moves the begin of a line to the front, or gets more memory. */
static int room_make(struct reader *reader)
{
	size_t room = reader->room ? reader->room * 2 : BUFFER_BYTES_FIRST;
	char *buffer;

	if (reader->begin) {
		memmove(reader->buffer, reader->buffer + reader->begin, reader->end - reader->begin);
		reader->end -= reader->begin;
		reader->searched -= reader->begin;
		reader->begin = 0;
	}
	/* A short rest is no reason to read little at a time. */
	if (reader->end < reader->room / 2)
		return 0;
	if (room > BUFFER_BYTES_MAX)
		room = BUFFER_BYTES_MAX;
	if (room <= reader->room)
		return 0;
	buffer = realloc(reader->buffer, room);
	if (!buffer)
		return -ENOMEM;
	reader->buffer = buffer;
	reader->room = room;
	return 0;
}

static int line_take(struct reader *reader, size_t bytes, bool ended)
{
	struct verify_line line = {.bytes = reader->buffer + reader->begin,
				   .count = bytes,
				   .ended = ended,
				   .file = reader->file,
				   .offset = reader->offset};
	uint64_t long_bytes = reader->long_bytes;

	reader->begin += bytes + ended;
	reader->offset += bytes + ended;
	reader->searched = reader->begin;
	if (!long_bytes)
		return verify_tally_line(&reader->tally, &line);
	reader->long_bytes = 0;
	line.offset = reader->long_offset;
	line.bytes = reader->long_begin;
	line.count = sizeof(reader->long_begin);
	return verify_tally_long_line(&reader->tally, &line, long_bytes + bytes);
}

static int lines_take(struct reader *reader)
{
	int status = 0;

	while (status == 0 && reader->searched < reader->end) {
		const char *found = memchr(reader->buffer + reader->searched, '\n', reader->end - reader->searched);

		if (!found)
			reader->searched = reader->end;
		else
			status = line_take(reader, (size_t)(found - reader->buffer) - reader->begin, true);
	}
	return status;
}

/* The buffer is full of one line: its bytes are of no use any more, only their number. */
static void long_line_skip(struct reader *reader)
{
	size_t bytes = reader->end - reader->begin;

	if (!reader->long_bytes) {
		memcpy(reader->long_begin, reader->buffer + reader->begin, sizeof(reader->long_begin));
		reader->long_offset = reader->offset;
	}
	reader->long_bytes += bytes;
	reader->offset += bytes;
	reader->begin = reader->end = reader->searched = 0;
}

static int rest_take(struct reader *reader)
{
	if (reader->begin == reader->end && !reader->long_bytes)
		return 0;
	return line_take(reader, reader->end - reader->begin, false);
}

/* How much may be read next, up to the next range that is left out: behind that, if it comes at once. */
static size_t room_until_skip(struct reader *reader)
{
	size_t room = reader->room - reader->end;
	uint64_t at = reader->offset + (reader->end - reader->begin);

	while (reader->skip < reader->skip_end && reader->skip->offset == at) {
		(void)lseek(reader->descriptor, (off_t)reader->skip->bytes, SEEK_CUR);
		reader->offset += reader->skip->bytes;
		at += reader->skip++->bytes;
	}
	if (reader->skip < reader->skip_end && reader->skip->offset - at < room)
		room = (size_t)(reader->skip->offset - at);
	return room;
}

static int descriptor_read(struct reader *reader)
{
	for (;;) {
		int status = room_make(reader);
		ssize_t got;

		if (status)
			return status;
		if (reader->end == reader->room)
			long_line_skip(reader);
		got = read(reader->descriptor, reader->buffer + reader->end, room_until_skip(reader));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return rest_take(reader);
		reader->end += (size_t)got;
		reader->tally.bytes += (uint64_t)got;
		status = lines_take(reader);
		if (status)
			return status;
	}
}

/* Without the ranges that are retracted. */
static int file_read_apart(struct reader *reader, const char *file, bool standard)
{
	struct verify_skip *skips = NULL;
	int64_t count = standard ? 0 : verify_retracted_find(&reader->retracted, file, reader->descriptor, &skips);
	int status = count < 0 ? (int)count : 0;

	reader->skip = skips;
	reader->skip_end = skips && count > 0 ? skips + count : skips;
	if (!status)
		status = descriptor_read(reader);
	free(skips);
	return status;
}

static int descriptor_of(struct reader *reader, const char *file, struct verify_topic *topic)
{
	const struct verify_options *options = reader->tally.options;
	int descriptor;

	if (options->brokers)
		return verify_topic_open(topic, options->brokers, file, options->kafka_options);
	if (strcmp(file, "-") == 0)
		return STDIN_FILENO;
	descriptor = open(file, O_RDONLY | O_CLOEXEC);
	return descriptor < 0 ? -errno : descriptor;
}

static int file_read(struct reader *reader, const char *file)
{
	bool kafka = reader->tally.options->brokers != NULL, standard = !kafka && strcmp(file, "-") == 0;
	struct verify_topic topic;
	int status;

	reader->file = standard ? "standard input" : file;
	reader->descriptor = descriptor_of(reader, file, &topic);
	if (kafka && reader->descriptor == -ENOENT)
		return -ENOENT;
	if (reader->descriptor < 0) {
		status = reader->descriptor;
	} else {
		reader->begin = reader->end = reader->searched = 0;
		reader->offset = 0;
		status = file_read_apart(reader, file, standard || kafka);
		if (!standard)
			(void)close(reader->descriptor);
		if (kafka && verify_topic_close(&topic) && !status)
			return -EIO;
	}
	if (status)
		verify_error("%s: %s", reader->file, strerror(-status));
	return status;
}

static int files_read(struct reader *reader)
{
	uint64_t started_ns = k2i_clock_ns(CLOCK_MONOTONIC);
	int status;

	for (char **file = reader->tally.options->files; *file; file++)
		if (file_read(reader, *file))
			return STATUS_FAILED;
	status = verify_tally_end(&reader->tally);
	if (status)
		return verify_failed(STATUS_FAILED, "%s", strerror(-status));
	verify_report(&reader->tally, (double)(k2i_clock_ns(CLOCK_MONOTONIC) - started_ns) / 1e9);
	return reader->tally.fine ? STATUS_OK : STATUS_FOUND;
}

int verify_read(const struct verify_options *options)
{
	struct reader reader = {0};
	int status;

	verify_tally_init(&reader.tally, options);
	status = verify_retracted_read(&reader.retracted, options->retracted);
	if (status == STATUS_OK)
		status = files_read(&reader);
	verify_tally_free(&reader.tally);
	verify_retracted_free(&reader.retracted);
	free(reader.buffer);
	return status;
}
