/* SPDX-License-Identifier: MIT */
#include "receiver/ledger/log.h"

#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "base/hash.h"
#include "base/byte_order.h"

#define MAGIC UINT64_C(0x524744454c46484b)
#define VERSION 1u
#define PAGE_BYTES 4096u

/* header */
#define VERSION_AT 8
#define FILE_AT 12
#define UUID_AT 16
#define BOOT_AT 32
#define HEADER_CHECKSUM_AT 48

/* record */
#define BYTES_AT 0
#define TYPE_AT 4
#define COUNT_AT 6
#define CHECKSUM_AT 8
#define BODY_AT 16

/* flags and marks, below a sink's number */
#define SINK_SHIFT 8
#define SINK_BELOW ((1u << SINK_SHIFT) - 1)

#define CHECKPOINT_BYTES (BODY_AT + 8)

_Static_assert(K2I_LEDGER_SYNC_BYTES == 2 * BODY_AT + CHECKPOINT_BYTES, "a MARK, its CHECKPOINT, and a DOUBT");
_Static_assert(HEADER_CHECKSUM_AT + 8 == K2I_LEDGER_HEADER_BYTES, "header size");

void k2i_ledger_header_encode(const struct k2i_ledger_header *header, uint8_t bytes[K2I_LEDGER_HEADER_BYTES])
{
	k2i_wire_u64_put(bytes, MAGIC);
	k2i_wire_u32_put(bytes + VERSION_AT, VERSION);
	k2i_wire_u32_put(bytes + FILE_AT, header->file);
	memcpy(bytes + UUID_AT, header->uuid, 16);
	memcpy(bytes + BOOT_AT, header->boot_id, 16);
	k2i_wire_u64_put(bytes + HEADER_CHECKSUM_AT, k2i_hash(bytes, HEADER_CHECKSUM_AT));
}

int k2i_ledger_header_decode(const uint8_t *bytes, size_t byte_count, struct k2i_ledger_header *header)
{
	if (byte_count < K2I_LEDGER_HEADER_BYTES || k2i_wire_u64(bytes) != MAGIC ||
	    k2i_wire_u64(bytes + HEADER_CHECKSUM_AT) != k2i_hash(bytes, HEADER_CHECKSUM_AT))
		return -EBADMSG;
	if (k2i_wire_u32(bytes + VERSION_AT) != VERSION)
		return -EPROTO;
	header->file = k2i_wire_u32(bytes + FILE_AT);
	memcpy(header->uuid, bytes + UUID_AT, 16);
	memcpy(header->boot_id, bytes + BOOT_AT, 16);
	return 0;
}

static uint64_t record_checksum(const uint8_t *bytes, size_t record_bytes)
{
	return k2i_hash_pair(bytes, CHECKSUM_AT, bytes + BODY_AT, record_bytes - BODY_AT);
}

/* A body that is written, or read: a function below does either, so that both have the same form. */
struct body {
	uint8_t *bytes; /* the record's */
	size_t at, end;
	bool put, wrong;
};

static bool body_has(struct body *body, size_t bytes)
{
	body->wrong |= body->end - body->at < bytes;
	return !body->wrong;
}

static void u32_code(struct body *body, uint32_t *value)
{
	if (!body_has(body, sizeof(*value)))
		return;
	if (body->put)
		k2i_wire_u32_put(body->bytes + body->at, *value);
	else
		*value = k2i_wire_u32(body->bytes + body->at);
	body->at += sizeof(*value);
}

static void u64_code(struct body *body, uint64_t *value)
{
	if (!body_has(body, sizeof(*value)))
		return;
	if (body->put)
		k2i_wire_u64_put(body->bytes + body->at, *value);
	else
		*value = k2i_wire_u64(body->bytes + body->at);
	body->at += sizeof(*value);
}

static void uuid_code(struct body *body, uint8_t uuid[16])
{
	if (!body_has(body, 16))
		return;
	if (body->put)
		memcpy(body->bytes + body->at, uuid, 16);
	else
		memcpy(uuid, body->bytes + body->at, 16);
	body->at += 16;
}

/* Flags, or marks, and the number of a sink. */
static void flags_code(struct body *body, uint32_t *flags, uint32_t *sink)
{
	uint32_t both = *flags | *sink << SINK_SHIFT;

	u32_code(body, &both);
	*flags = both & SINK_BELOW;
	*sink = both >> SINK_SHIFT;
}

static void identity_code(struct body *body, struct k2i_ledger_file *file)
{
	u64_code(body, &file->birth);
	u64_code(body, &file->inode);
}

static void file_code(struct body *body, struct k2i_ledger_file *file)
{
	if (!body->put)
		memset(file, 0, sizeof(*file));
	identity_code(body, file);
	u64_code(body, &file->length);
	u64_code(body, &file->open_writer);
}

static void point_code(struct body *body, struct k2i_ledger_point *point)
{
	u64_code(body, &point->at);
	u64_code(body, &point->open_writer);
}

static void path_code(struct body *body, struct k2i_ledger_record *record)
{
	struct k2i_ledger_file *file = &record->files[0];
	size_t path_bytes = body->put ? strnlen(file->path, sizeof(record->path)) : 0;
	uint32_t shown = (uint32_t)path_bytes;
	uint8_t *path;

	u32_code(body, &shown);
	flags_code(body, &record->stages.marks, &file->sink);
	path = body->bytes + body->at;
	body->wrong |= shown == 0 || shown >= sizeof(record->path);
	if (body->wrong || !body_has(body, (size_t)k2i_align_up(shown, 8)))
		return;
	body->at += (size_t)k2i_align_up(shown, 8);
	if (body->put) {
		memset(path, 0, (size_t)k2i_align_up(shown, 8));
		memcpy(path, file->path, shown);
		return;
	}
	body->wrong |= memchr(path, 0, shown) != NULL;
	memcpy(record->path, path, shown);
	record->path[shown] = '\0';
	file->path = record->path;
	file->deferred = record->stages.marks & K2I_LEDGER_MARK_DEFERRED;
}

static void commit_code(struct body *body, struct k2i_ledger_record *record)
{
	uint32_t zero = 0;

	body->wrong |= record->file_count > K2I_LEDGER_FILES_MAX;
	uuid_code(body, record->ring.uuid);
	u64_code(body, &record->ring.epoch);
	u64_code(body, &record->ring.position);
	flags_code(body, &record->ring.flags, &record->ring.sink);
	u32_code(body, &zero);
	u64_code(body, &record->ring.proven);
	for (size_t i = 0; i < record->file_count && !body->wrong; i++) {
		file_code(body, &record->files[i]);
		u64_code(body, &record->files[i].bytes);
		u64_code(body, &record->files[i].records);
	}
}

static void range_code(struct body *body, struct k2i_ledger_record *record)
{
	struct k2i_ledger_range *range = &record->range;
	uint32_t zero = 0;

	uuid_code(body, record->ring.uuid);
	u64_code(body, &range->from);
	u64_code(body, &range->to);
	u64_code(body, &range->birth);
	u64_code(body, &range->inode);
	u64_code(body, &range->offset);
	u64_code(body, &range->open_writer);
	u64_code(body, &range->bytes);
	u64_code(body, &range->records);
	flags_code(body, &range->flags, &record->ring.sink);
	u32_code(body, &zero);
}

static void cut_code(struct body *body, struct k2i_ledger_record *record)
{
	uint32_t zero = 0;

	uuid_code(body, record->ring.uuid);
	file_code(body, &record->files[0]);
	flags_code(body, &record->ring.flags, &record->ring.sink);
	u32_code(body, &zero);
}

static void ring_code(struct body *body, struct k2i_ledger_record *record)
{
	uuid_code(body, record->ring.uuid);
	u64_code(body, &record->ring.epoch);
	flags_code(body, &record->ring.flags, &record->ring.sink);
	u32_code(body, &record->stages.marks);
	u64_code(body, &record->stages.now.at);
	u64_code(body, &record->stages.marked.at);
	u64_code(body, &record->stages.synced.at);
	u64_code(body, &record->ring.proven);
	record->ring.position = record->stages.now.at;
}

static void stages_code(struct body *body, struct k2i_ledger_record *record)
{
	identity_code(body, &record->files[0]);
	point_code(body, &record->stages.now);
	point_code(body, &record->stages.marked);
	point_code(body, &record->stages.synced);
	path_code(body, record);
}

/* As log.h describes each. */
static void body_code(struct body *body, struct k2i_ledger_record *record)
{
	switch (record->type) {
	case K2I_LEDGER_COMMIT:
	case K2I_LEDGER_SETTLED:
		commit_code(body, record);
		return;
	case K2I_LEDGER_OPENED:
		file_code(body, &record->files[0]);
		path_code(body, record);
		return;
	case K2I_LEDGER_CLOSED:
		identity_code(body, &record->files[0]);
		return;
	case K2I_LEDGER_CHECKPOINT:
		u64_code(body, &record->end);
		return;
	case K2I_LEDGER_RING:
		ring_code(body, record);
		return;
	case K2I_LEDGER_FILE:
		stages_code(body, record);
		return;
	case K2I_LEDGER_FORGOTTEN:
		uuid_code(body, record->ring.uuid);
		return;
	case K2I_LEDGER_RANGE:
		range_code(body, record);
		return;
	case K2I_LEDGER_CUT:
		cut_code(body, record);
		return;
	case K2I_LEDGER_CLEAN:
	case K2I_LEDGER_MARK:
	case K2I_LEDGER_WHOLE:
	case K2I_LEDGER_DOUBT:
		return;
	}
	body->wrong = true;
}

int k2i_ledger_record_encode(struct k2i_ledger_record *record, uint8_t bytes[K2I_LEDGER_RECORD_BYTES_MAX])
{
	struct body body = {bytes, BODY_AT, K2I_LEDGER_RECORD_BYTES_MAX, .put = true};

	body_code(&body, record);
	if (body.wrong)
		return -EINVAL;
	k2i_wire_u32_put(bytes + BYTES_AT, (uint32_t)body.at);
	k2i_wire_u16_put(bytes + TYPE_AT, (uint16_t)record->type);
	k2i_wire_u16_put(bytes + COUNT_AT, (uint16_t)(record->type == K2I_LEDGER_COMMIT ? record->file_count : 0));
	k2i_wire_u64_put(bytes + CHECKSUM_AT, record_checksum(bytes, body.at));
	return (int)body.at;
}

static bool zeros_only(const uint8_t *bytes, size_t byte_count)
{
	return byte_count == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, byte_count - 1) == 0);
}

static bool length_plausible(size_t record_bytes)
{
	return record_bytes >= BODY_AT && record_bytes <= K2I_LEDGER_RECORD_BYTES_MAX && record_bytes % 8 == 0;
}

int k2i_ledger_record_decode(const uint8_t *bytes, size_t byte_count, struct k2i_ledger_record *record)
{
	struct body body = {(uint8_t *)(uintptr_t)bytes, BODY_AT, .put = false}; /* it is only read */
	size_t record_bytes = byte_count < BODY_AT ? 0 : k2i_wire_u32(bytes + BYTES_AT);

	if (record_bytes == 0)
		return zeros_only(bytes, byte_count) ? 0 : -EBADMSG;
	if (!length_plausible(record_bytes) || record_bytes > byte_count ||
	    k2i_wire_u64(bytes + CHECKSUM_AT) != record_checksum(bytes, record_bytes))
		return -EBADMSG;
	record->type = (enum k2i_ledger_record_type)k2i_wire_u16(bytes + TYPE_AT);
	record->file_count = k2i_wire_u16(bytes + COUNT_AT);
	memset(&record->stages, 0, sizeof(record->stages));
	memset(&record->files[0], 0, sizeof(record->files[0]));
	body.end = record_bytes;
	body_code(&body, record);
	return body.wrong || body.at != record_bytes ? -EBADMSG : (int)record_bytes;
}

bool k2i_ledger_record_torn(const uint8_t *log, size_t log_bytes, size_t offset)
{
	size_t boundary = (size_t)k2i_align_down(offset, PAGE_BYTES) + PAGE_BYTES, record_bytes;

	if (log_bytes - offset < BODY_AT || boundary >= log_bytes)
		return false;
	record_bytes = k2i_wire_u32(log + offset + BYTES_AT);
	return length_plausible(record_bytes) && record_bytes > boundary - offset &&
	       zeros_only(log + boundary, log_bytes - boundary);
}

static bool proof_here(const uint8_t *bytes, size_t byte_count, size_t offset)
{
	size_t record_bytes = k2i_wire_u32(bytes + BYTES_AT);
	unsigned type = k2i_wire_u16(bytes + TYPE_AT);

	if (!(type == K2I_LEDGER_WHOLE && record_bytes == BODY_AT) &&
	    !(type == K2I_LEDGER_CHECKPOINT && record_bytes == CHECKPOINT_BYTES && byte_count >= CHECKPOINT_BYTES &&
	      k2i_wire_u64(bytes + BODY_AT) > offset))
		return false;
	return k2i_wire_u64(bytes + CHECKSUM_AT) == record_checksum(bytes, record_bytes);
}

bool k2i_ledger_record_proven(const uint8_t *log, size_t log_bytes, size_t offset)
{
	size_t at;

	/* Records begin at multiples of 8, as the first does. */
	for (at = offset; log_bytes - at >= BODY_AT; at += 8) {
		if (proof_here(log + at, log_bytes - at, offset))
			return true;
	}
	return false;
}
