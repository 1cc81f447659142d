/* SPDX-License-Identifier: MIT */
#include "receiver/sink/otlp/request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include <k2hft/version.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "base/uuid.h"
#include "receiver/sink/otlp/logs.pb-c.h"

#define RECORD_BYTES 160u /* of a record beside its body and path, about */
#define REQUEST_BYTES_MAX (UINT64_C(1) << 30)
#define GZIP_WINDOW (15 + 16)
#define GZIP_MEMORY 8

enum { PATH, PID, RING, POSITION, ATTRIBUTES };

struct cursor {
	struct k2i_remote_piece *const *pieces;
	size_t count, at, offset;
};

struct record_slot {
	Otlp__Record record;
	Otlp__Value body, position_value;
	Otlp__Attribute position;
	Otlp__Attribute *attributes[ATTRIBUTES];
	struct host_slot *host;
};

struct piece_slot { /* what its records have in common */
	Otlp__Attribute attributes[POSITION];
	Otlp__Value values[POSITION];
	char ring[K2I_UUID_TEXT_BYTES];
	struct host_slot *host;
};

struct host_slot {
	const char *name;
	Otlp__ResourceLogs logs, *logs_pointer;
	Otlp__Resource resource;
	Otlp__Attribute attribute, *attribute_pointer;
	Otlp__Value value;
	Otlp__ScopeLogs scope, *scope_pointer;
	size_t count;
};

struct tree { /* points into the pieces */
	struct record_slot *records;
	struct piece_slot *pieces;
	struct host_slot *hosts;
	Otlp__Record **record_list;
	Otlp__ResourceLogs **host_list;
	size_t record_count, piece_count, host_count;
	Otlp__Scope name;
	uint64_t observed_ns;
};

/* Bytes of the record that begins at the cursor, with the line end if it has one. */
static size_t record_bytes(const struct cursor *cursor)
{
	const struct k2i_remote_piece *piece = cursor->pieces[cursor->at];
	const char *record = piece->records + cursor->offset;
	size_t left = piece->bytes - cursor->offset;
	const char *end = piece->binary || !left ? NULL : memchr(record, '\n', left);

	return end ? (size_t)(end - record) + 1 : left;
}

static void cursor_advance(struct cursor *cursor, size_t bytes)
{
	cursor->offset += bytes;
	if (cursor->offset < cursor->pieces[cursor->at]->bytes)
		return;
	cursor->at++;
	cursor->offset = 0;
}

/* How many records go into the request, and where the next one begins. */
static size_t records_choose(struct cursor *cursor, size_t bytes_max)
{
	size_t chosen = 0, bytes = 0, length;

	while (cursor->at < cursor->count) {
		length = record_bytes(cursor);
		bytes += length + strlen(cursor->pieces[cursor->at]->origin.path) + RECORD_BYTES;
		if (chosen && bytes > bytes_max)
			break;
		cursor_advance(cursor, length);
		chosen++;
	}
	return chosen;
}

/* Texts and numbers ----------------------------------------------------------------------------------------------- */

static ProtobufCBinaryData bytes_of(const char *bytes, size_t count)
{
	/* The library takes what it only reads without const. */
	return (ProtobufCBinaryData){.len = count, .data = (uint8_t *)(uintptr_t)bytes};
}

/* A text that is not UTF-8 would make the whole request invalid. */
static void value_text(Otlp__Value *value, const char *bytes, size_t count, bool binary)
{
	otlp__value__init(value);
	if (!binary && k2i_utf8_kind(bytes, count) != K2I_UTF8_NOT) {
		value->value_case = OTLP__VALUE__VALUE_STRING_VALUE;
		value->string_value = bytes_of(bytes, count);
	} else {
		value->value_case = OTLP__VALUE__VALUE_BYTES_VALUE;
		value->bytes_value = bytes_of(bytes, count);
	}
}

static void value_number(Otlp__Value *value, uint64_t number)
{
	otlp__value__init(value);
	value->value_case = OTLP__VALUE__VALUE_INT_VALUE;
	value->int_value = (int64_t)number;
}

static void attribute_set(Otlp__Attribute *attribute, const char *key, Otlp__Value *value)
{
	otlp__attribute__init(attribute);
	attribute->key = (char *)(uintptr_t)key;
	attribute->value = value;
}

/* The tree -------------------------------------------------------------------------------------------------------- */

static struct host_slot *host_find(struct tree *tree, const char *name)
{
	struct host_slot *host;

	for (host = tree->hosts; host < tree->hosts + tree->host_count; host++)
		if (strcmp(host->name, name) == 0)
			return host;
	tree->host_count++;
	host->name = name;
	value_text(&host->value, name, strlen(name), false);
	attribute_set(&host->attribute, "host.name", &host->value);
	otlp__resource__init(&host->resource);
	host->attribute_pointer = &host->attribute;
	host->resource.attributes = &host->attribute_pointer;
	host->resource.n_attributes = 1;
	otlp__scope_logs__init(&host->scope);
	host->scope.scope = &tree->name;
	host->scope_pointer = &host->scope;
	otlp__resource_logs__init(&host->logs);
	host->logs.resource = &host->resource;
	host->logs.scope_logs = &host->scope_pointer;
	host->logs.n_scope_logs = 1;
	return host;
}

static struct piece_slot *piece_put(struct tree *tree, const struct k2i_remote_piece *piece)
{
	struct piece_slot *slot = &tree->pieces[tree->piece_count++];

	(void)k2i_uuid_text(piece->ring, slot->ring);
	value_text(&slot->values[PATH], piece->origin.path, strlen(piece->origin.path), false);
	value_number(&slot->values[PID], piece->origin.writer_pid);
	value_text(&slot->values[RING], slot->ring, strlen(slot->ring), false);
	attribute_set(&slot->attributes[PATH], "log.file.path", &slot->values[PATH]);
	attribute_set(&slot->attributes[PID], "process.pid", &slot->values[PID]);
	attribute_set(&slot->attributes[RING], "k2hft.ring", &slot->values[RING]);
	slot->host = host_find(tree, piece->origin.host);
	return slot;
}

/* `bytes` without the line end. */
static void record_put(struct tree *tree, struct piece_slot *common, const struct cursor *cursor, size_t bytes)
{
	const struct k2i_remote_piece *piece = cursor->pieces[cursor->at];
	struct record_slot *slot = &tree->records[tree->record_count++];

	value_text(&slot->body, piece->records + cursor->offset, bytes, piece->binary);
	/* A record takes a byte at least, so the next one, and the next chunk, have another position. */
	value_number(&slot->position_value, piece->position + cursor->offset);
	attribute_set(&slot->position, "k2hft.position", &slot->position_value);
	for (size_t i = 0; i < POSITION; i++)
		slot->attributes[i] = &common->attributes[i];
	slot->attributes[POSITION] = &slot->position;
	otlp__record__init(&slot->record);
	slot->record.time_unix_nano = piece->origin.time_ns;
	slot->record.observed_time_unix_nano = tree->observed_ns;
	slot->record.body = &slot->body;
	slot->record.attributes = slot->attributes;
	slot->record.n_attributes = ATTRIBUTES;
	slot->host = common->host;
	slot->host->count++;
}

/* Records of a host stay in their order. */
static void hosts_list(struct tree *tree)
{
	Otlp__Record **list = tree->record_list;
	size_t i;

	for (i = 0; i < tree->host_count; i++) {
		tree->hosts[i].scope.log_records = list;
		list += tree->hosts[i].count;
		tree->host_list[i] = &tree->hosts[i].logs;
	}
	for (i = 0; i < tree->record_count; i++) {
		Otlp__ScopeLogs *scope = &tree->records[i].host->scope;

		scope->log_records[scope->n_log_records++] = &tree->records[i].record;
	}
}

static void tree_free(struct tree *tree)
{
	free(tree->records);
	free(tree->pieces);
	free(tree->hosts);
	free(tree->record_list);
	free(tree->host_list);
}

/* -ENOMEM */
static int tree_make(struct tree *tree, struct cursor cursor, size_t records, size_t pieces)
{
	struct piece_slot *common = NULL;
	size_t bytes;

	tree->records = calloc(records, sizeof(*tree->records));
	tree->pieces = calloc(pieces, sizeof(*tree->pieces));
	tree->hosts = calloc(pieces, sizeof(*tree->hosts));
	tree->record_list = calloc(records, sizeof(Otlp__Record *));
	tree->host_list = calloc(pieces, sizeof(Otlp__ResourceLogs *));
	if (!tree->records || !tree->pieces || !tree->hosts || !tree->record_list || !tree->host_list)
		return -ENOMEM;
	otlp__scope__init(&tree->name);
	tree->name.name = (char *)(uintptr_t) "k2hft";
	tree->name.version = (char *)(uintptr_t)K2HFT_VERSION_STRING;
	tree->observed_ns = k2i_clock_ns(CLOCK_REALTIME);
	while (tree->record_count < records) {
		const struct k2i_remote_piece *piece = cursor.pieces[cursor.at];

		if (!common || cursor.offset == 0)
			common = piece_put(tree, piece);
		bytes = record_bytes(&cursor);
		record_put(tree, common, &cursor,
			   bytes - (!piece->binary && bytes && piece->records[cursor.offset + bytes - 1] == '\n'));
		cursor_advance(&cursor, bytes);
	}
	hosts_list(tree);
	return 0;
}

/* Bytes ----------------------------------------------------------------------------------------------------------- */

static int room_make(uint8_t **memory, size_t *room, size_t wanted)
{
	uint8_t *larger;

	if (wanted > REQUEST_BYTES_MAX)
		return -EMSGSIZE;
	if (wanted <= *room)
		return 0;
	larger = realloc(*memory, wanted);
	if (!larger)
		return -ENOMEM;
	*memory = larger;
	*room = wanted;
	return 0;
}

static int body_pack(struct k2i_otlp_request *request, const struct tree *tree)
{
	Otlp__Request message;
	int error;

	otlp__request__init(&message);
	message.resource_logs = tree->host_list;
	message.n_resource_logs = tree->host_count;
	request->raw_bytes = otlp__request__get_packed_size(&message);
	error = room_make(&request->raw, &request->raw_room, request->raw_bytes);
	if (!error)
		(void)otlp__request__pack(&message, request->raw);
	request->body = request->raw;
	request->body_bytes = request->raw_bytes;
	return error;
}

static int body_compress(struct k2i_otlp_request *request)
{
	z_stream stream = {.next_in = request->raw, .avail_in = (uInt)request->raw_bytes};
	int error;

	if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	error = room_make(&request->compressed, &request->compressed_room, deflateBound(&stream, request->raw_bytes));
	if (!error) {
		stream.next_out = request->compressed;
		stream.avail_out = (uInt)request->compressed_room;
		/* The room is enough for all of it. */
		(void)deflate(&stream, Z_FINISH);
		request->body = request->compressed;
		request->body_bytes = stream.total_out;
	}
	(void)deflateEnd(&stream);
	return error;
}

int k2i_otlp_request_make(struct k2i_otlp_request *request, struct k2i_remote_piece *const *pieces, size_t count,
			  size_t offset, size_t bytes_max, bool gzip)
{
	const struct cursor begin = {pieces, count, 0, offset};
	struct cursor end = begin;
	struct tree tree = {0};
	int error;

	request->record_count = records_choose(&end, bytes_max);
	request->ended = end.at;
	request->rest = end.offset;
	error = tree_make(&tree, begin, request->record_count, end.at + (end.offset > 0));
	if (!error)
		error = body_pack(request, &tree);
	tree_free(&tree);
	return !error && gzip ? body_compress(request) : error;
}

void k2i_otlp_request_free(struct k2i_otlp_request *request)
{
	free(request->raw);
	free(request->compressed);
}
