/* SPDX-License-Identifier: MIT */
#include "receiver/sink/forward/message.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>
#include <zlib.h>

#include "base/utf8.h"

/* zlib's own, and 16: gzip. */
#define GZIP_WINDOW_BITS (MAX_WBITS + 16)
#define GZIP_MEMORY_LEVEL 8

/* Tags ------------------------------------------------------------------------------------------------------------ */

/* Parts of a tag stand between dots, and it is text. -ENOMEM */
static int tag_make(struct k2i_message_maker *maker, const struct k2i_remote_piece *piece)
{
	struct k2i_format_buffer *text = &maker->tag_text;
	bool valid;
	int error = k2i_format_name(maker->tag, &piece->origin, text);

	if (error)
		return error;
	valid = k2i_utf8_kind(text->data, text->bytes) != K2I_UTF8_NOT;
	for (char *at = text->data; at < text->data + text->bytes; at++)
		*at = *at == '/' ? '.' : !valid && (unsigned char)*at >= 0x80 ? '?' : *at;
	return 0;
}

/* Entries --------------------------------------------------------------------------------------------------------- */

/* The record at `from`; its bytes, without the line end. */
static size_t record_next(const struct k2i_remote_piece *piece, size_t from, size_t *next)
{
	const char *end = piece->binary ? NULL : memchr(piece->records + from, '\n', piece->bytes - from);

	*next = end ? (size_t)(end - piece->records) + 1 : piece->bytes;
	return *next - from - (end != NULL);
}

static void pair_add(struct k2i_packed *entries, const char *key, const char *text, size_t bytes)
{
	k2i_pack_text(entries, key, strlen(key));
	k2i_pack_text(entries, text, bytes);
}

/* [time, {message, host, path, pid}] */
static void entry_add(struct k2i_packed *entries, const struct k2i_format_origin *origin, const char *record,
		      size_t bytes)
{
	k2i_pack_array(entries, 2);
	k2i_pack_time(entries, origin->time_ns);
	k2i_pack_map(entries, origin->writer_pid ? 4 : 3);
	pair_add(entries, "message", record, bytes);
	pair_add(entries, "host", origin->host, strlen(origin->host));
	pair_add(entries, "path", origin->path, strlen(origin->path));
	if (!origin->writer_pid)
		return;
	k2i_pack_text(entries, "pid", 3);
	k2i_pack_unsigned(entries, origin->writer_pid);
}

/* How many entries. */
static uint32_t entries_make(struct k2i_packed *entries, const struct k2i_remote_piece *piece, size_t *from)
{
	uint32_t count = 0;
	size_t next, bytes;

	entries->count = 0;
	while (*from < piece->bytes) {
		bytes = record_next(piece, *from, &next);
		if (count && entries->count + bytes > K2I_FORWARD_ENTRIES_BYTES)
			break;
		entry_add(entries, &piece->origin, piece->records + *from, bytes);
		*from = next;
		count++;
	}
	return count;
}

static int entries_compress(const struct k2i_packed *entries, struct k2i_packed *compressed)
{
	z_stream stream = {.next_in = entries->bytes, .avail_in = (uInt)entries->count};
	uLong room;
	int result;

	if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, GZIP_WINDOW_BITS, GZIP_MEMORY_LEVEL, Z_DEFAULT_STRATEGY) !=
	    Z_OK)
		return -ENOMEM;
	compressed->count = 0;
	room = deflateBound(&stream, (uLong)entries->count);
	stream.next_out = k2i_pack_reserve(compressed, room);
	stream.avail_out = stream.next_out ? (uInt)room : 0;
	result = stream.next_out ? deflate(&stream, Z_FINISH) : Z_MEM_ERROR;
	compressed->count = room - stream.avail_out;
	(void)deflateEnd(&stream);
	return result == Z_STREAM_END ? 0 : -ENOMEM;
}

/* Messages -------------------------------------------------------------------------------------------------------- */

/* A hash: a server keeps ids, and who knows a ring's identity can connect in its place. */
static int id_make(const struct k2i_remote_piece *piece, unsigned number, char id[K2I_FORWARD_ID_BYTES])
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	char name[80];
	int length;

	memcpy(name, piece->ring, sizeof(piece->ring));
	length = snprintf(name + sizeof(piece->ring), sizeof(name) - sizeof(piece->ring), "-%" PRIu64 "-%u",
			  piece->position, number);
	if (!EVP_Digest(name, sizeof(piece->ring) + (size_t)length, digest, NULL, EVP_sha256(), NULL))
		return -ENOMEM;
	(void)EVP_EncodeBlock((unsigned char *)id, digest, 16);
	return 0;
}

int k2i_message_skip(struct k2i_message_maker *maker, const struct k2i_remote_piece *piece, size_t *from)
{
	(void)entries_make(&maker->entries, piece, from);
	return maker->entries.failed ? -ENOMEM : 0;
}

int k2i_message_make(struct k2i_message_maker *maker, const struct k2i_remote_piece *piece, unsigned number,
		     size_t *from, char id[K2I_FORWARD_ID_BYTES])
{
	struct k2i_packed *message = &maker->message, *packed = &maker->entries;
	uint32_t count = entries_make(packed, piece, from);
	int error = packed->failed ? -ENOMEM : tag_make(maker, piece);

	if (!error)
		error = id_make(piece, number, id);
	if (!error && maker->compress) {
		packed = &maker->compressed;
		error = entries_compress(&maker->entries, packed);
	}
	if (error)
		return error;
	message->count = 0;
	k2i_pack_array(message, 3);
	k2i_pack_text(message, maker->tag_text.data, maker->tag_text.bytes);
	k2i_pack_binary(message, packed->bytes, packed->count);
	k2i_pack_map(message, maker->compress ? 3 : 2);
	pair_add(message, "chunk", id, strlen(id));
	k2i_pack_text(message, "size", 4);
	k2i_pack_unsigned(message, count);
	if (maker->compress)
		pair_add(message, "compressed", "gzip", 4);
	return message->failed ? -ENOMEM : 0;
}

void k2i_message_maker_end(struct k2i_message_maker *maker)
{
	free(maker->entries.bytes);
	free(maker->compressed.bytes);
	free(maker->message.bytes);
	free(maker->tag_text.data);
}
