/* SPDX-License-Identifier: MIT */
#include "app/format/format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <k2hft/ring.h>

#include "base/clock.h"
#include "app/format/parts.h"

struct text {
	const char *data;
	size_t bytes;
};

/* Fields that all records of a chunk have in common, made once for each chunk. */
struct texts {
	struct text of[K2I_FORMAT_KINDS];
	char path[K2I_JSON_GROWTH * K2HFT_STREAM_PATH_BYTES_MAX];
	char name[K2I_JSON_GROWTH * K2HFT_STREAM_PATH_BYTES_MAX];
	char host[K2I_JSON_GROWTH * K2HFT_STREAM_HOST_BYTES_MAX];
	char time[K2I_NANOSECONDS_DIGITS * K2I_TIME_TEXT_BYTES_MAX];
	char time_json[K2I_JSON_GROWTH * K2I_NANOSECONDS_DIGITS * K2I_TIME_TEXT_BYTES_MAX];
	char pid[16];
};

static bool room_make(struct k2i_format_buffer *output, size_t bytes)
{
	size_t room = output->room;
	char *data;

	if (bytes <= room - output->bytes)
		return true;
	if (bytes > SIZE_MAX / 2 - output->bytes)
		return false;
	bytes += output->bytes;
	room = room + room / 2 > bytes ? room + room / 2 : bytes;
	data = realloc(output->data, room);
	if (!data)
		return false;
	output->data = data;
	output->room = room;
	return true;
}

/* A path or host as it goes out: nothing in it may end a record or, if `json`, the string around it. */
static struct text name_clean(const char *name, size_t bytes, bool json, char *room)
{
	struct text text = {.data = room, .bytes = bytes};

	if (json) {
		text.bytes = k2i_json_escape(name, bytes, room);
		return text;
	}
	for (size_t i = 0; i < bytes; i++) {
		unsigned char byte = (unsigned char)name[i];

		room[i] = byte < 32 || byte == 127 ? '?' : name[i];
	}
	return text;
}

static struct text time_make(const struct k2i_format *format, uint64_t time_ns, struct k2i_format_buffer *output,
			     struct texts *texts)
{
	struct text text = {.data = texts->time};
	int64_t second = (int64_t)(time_ns / K2I_SECOND_NS);
	int bytes;

	if (!format->time_format)
		return text;
	if (output->second_format != format->id || output->second != second) {
		output->second_bytes = k2i_time_second(format->time_format, (time_t)second, output->second_text,
						       sizeof(output->second_text));
		output->second = second;
		output->second_format = format->id;
	}
	if (output->second_bytes == 0)
		return text;
	bytes = k2i_time_text(output->second_text + 1, output->second_bytes - 1, (uint32_t)(time_ns % K2I_SECOND_NS),
			      texts->time, sizeof(texts->time));
	text.bytes = bytes < 0 ? 0 : (size_t)bytes;
	if (format->uses[K2I_FORMAT_JSON]) {
		text.bytes = k2i_json_escape(texts->time, text.bytes, texts->time_json);
		text.data = texts->time_json;
	}
	return text;
}

static void texts_make(const struct k2i_format *format, const struct k2i_format_origin *origin,
		       struct k2i_format_buffer *output, struct texts *texts)
{
	const bool json = format->uses[K2I_FORMAT_JSON];
	const size_t path_bytes = strnlen(origin->path, K2HFT_STREAM_PATH_BYTES_MAX);
	const char *slash = memrchr(origin->path, '/', path_bytes);
	const char *name = slash ? slash + 1 : origin->path;

	if (format->uses[K2I_FORMAT_TIME])
		texts->of[K2I_FORMAT_TIME] = time_make(format, origin->time_ns, output, texts);
	if (format->uses[K2I_FORMAT_PATH])
		texts->of[K2I_FORMAT_PATH] = name_clean(origin->path, path_bytes, json, texts->path);
	if (format->uses[K2I_FORMAT_NAME])
		texts->of[K2I_FORMAT_NAME] =
			name_clean(name, path_bytes - (size_t)(name - origin->path), json, texts->name);
	if (format->uses[K2I_FORMAT_HOST])
		texts->of[K2I_FORMAT_HOST] =
			name_clean(origin->host, strnlen(origin->host, K2HFT_STREAM_HOST_BYTES_MAX), json, texts->host);
	if (format->uses[K2I_FORMAT_PID]) {
		texts->of[K2I_FORMAT_PID].data = texts->pid;
		texts->of[K2I_FORMAT_PID].bytes =
			(size_t)snprintf(texts->pid, sizeof(texts->pid), "%u", origin->writer_pid);
	}
}

static struct text trimmed(const char *record, size_t bytes)
{
	static const char spaces[] = " \t\n\v\f\r";
	struct text text = {.data = record, .bytes = bytes};

	while (text.bytes && memchr(spaces, text.data[text.bytes - 1], sizeof(spaces) - 1))
		text.bytes--;
	while (text.bytes && memchr(spaces, text.data[0], sizeof(spaces) - 1)) {
		text.data++;
		text.bytes--;
	}
	return text;
}

/* The record as the inside of a JSON string. A CR stays, as \r: only what ends the record is not part of it. */
static bool json_append(const char *record, size_t bytes, bool binary, struct k2i_format_buffer *output)
{
	if (!binary && bytes && record[bytes - 1] == '\n')
		bytes--;
	if (bytes > SIZE_MAX / 2 / K2I_JSON_GROWTH || !room_make(output, K2I_JSON_GROWTH * bytes))
		return false;
	if (bytes)
		output->bytes += k2i_json_escape(record, bytes, output->data + output->bytes);
	return true;
}

static bool text_append(struct text text, struct k2i_format_buffer *output)
{
	if (text.bytes == 0)
		return true;
	if (!room_make(output, text.bytes))
		return false;
	memcpy(output->data + output->bytes, text.data, text.bytes);
	output->bytes += text.bytes;
	return true;
}

static bool record_append(const struct k2i_format *format, const struct texts *texts, struct text record, bool binary,
			  struct k2i_format_buffer *output)
{
	for (size_t i = 0; i < format->part_count; i++) {
		const struct k2i_format_part *part = &format->parts[i];
		struct text text = texts->of[part->kind];

		if (part->kind == K2I_FORMAT_JSON) {
			if (!json_append(record.data, record.bytes, binary, output))
				return false;
			continue;
		}
		if (part->kind == K2I_FORMAT_LITERAL) {
			text.data = format->literals + part->at;
			text.bytes = part->bytes;
		} else if (part->kind == K2I_FORMAT_RECORD) {
			text = record;
		} else if (part->kind == K2I_FORMAT_TRIMMED) {
			text = trimmed(record.data, record.bytes);
		}
		if (!text_append(text, output))
			return false;
	}
	return true;
}

static bool is_enough(const size_t *taken, const struct k2i_format_buffer *output)
{
	return taken && output->bytes > K2I_FORMAT_ENOUGH_BYTES;
}

int k2i_format_records(const struct k2i_format *format, const struct k2i_format_origin *origin, bool binary,
		       const char *payload, size_t payload_bytes, size_t *taken, struct k2i_format_buffer *output)
{
	const char *next = payload, *payload_end = payload + payload_bytes;
	const size_t bytes_before = output->bytes;
	struct texts texts;

	if (taken)
		*taken = payload_bytes;
	if (format->plain) {
		struct text all = {.data = payload, .bytes = payload_bytes};

		return text_append(all, output) ? 0 : -ENOMEM;
	}
	memset(texts.of, 0, sizeof(texts.of));
	texts_make(format, origin, output, &texts);
	while (next < payload_end && !is_enough(taken, output)) {
		const size_t left = (size_t)(payload_end - next);
		const char *end = binary ? NULL : memchr(next, '\n', left);
		struct text record = {.data = next, .bytes = end ? (size_t)(end - next) + 1 : left};

		if (!record_append(format, &texts, record, binary, output)) {
			output->bytes = bytes_before;
			return -ENOMEM;
		}
		next += record.bytes;
	}
	if (taken)
		*taken = (size_t)(next - payload);
	return 0;
}

int k2i_format_name(const struct k2i_format *format, const struct k2i_format_origin *origin,
		    struct k2i_format_buffer *output)
{
	output->bytes = 0;
	return k2i_format_records(format, origin, true, "", 1, NULL, output);
}
