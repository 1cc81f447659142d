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

/* COMMIT */
#define COMMIT_EPOCH_AT (BODY_AT + 16)
#define COMMIT_POSITION_AT (BODY_AT + 24)
#define COMMIT_FLAGS_AT (BODY_AT + 32)
#define COMMIT_FILES_AT (BODY_AT + 40)
#define FILE_BYTES 32

/* OPENED */
#define OPENED_PATH_AT (BODY_AT + 40)

/* CLOSED, FORGOTTEN */
#define SUBJECT_BYTES (BODY_AT + 16)

/* CHECKPOINT */
#define CHECKPOINT_BYTES (BODY_AT + 8)

/* RING */
#define RING_EPOCH_AT (BODY_AT + 16)
#define RING_FLAGS_AT (BODY_AT + 24)
#define RING_MARKS_AT (BODY_AT + 28)
#define RING_STAGES_AT (BODY_AT + 32)
#define RING_BYTES (BODY_AT + 56)

/* FILE */
#define FILE_STAGES_AT (BODY_AT + 16)
#define FILE_PATH_AT (BODY_AT + 72)

_Static_assert(COMMIT_FILES_AT + K2I_LEDGER_FILES_MAX * FILE_BYTES <= K2I_LEDGER_RECORD_BYTES_MAX,
	       "the largest commit fits a record");
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

static int record_finish(uint8_t *bytes, size_t record_bytes, enum k2i_ledger_record_type type, size_t count)
{
	k2i_wire_u32_put(bytes + BYTES_AT, (uint32_t)record_bytes);
	k2i_wire_u16_put(bytes + TYPE_AT, (uint16_t)type);
	k2i_wire_u16_put(bytes + COUNT_AT, (uint16_t)count);
	k2i_wire_u64_put(bytes + CHECKSUM_AT, record_checksum(bytes, record_bytes));
	return (int)record_bytes;
}

static void file_put(uint8_t *bytes, const struct k2i_ledger_file *file)
{
	k2i_wire_u64_put(bytes, file->birth);
	k2i_wire_u64_put(bytes + 8, file->inode);
	k2i_wire_u64_put(bytes + 16, file->length);
	k2i_wire_u64_put(bytes + 24, file->open_writer);
}

static void file_get(const uint8_t *bytes, struct k2i_ledger_file *file)
{
	file->birth = k2i_wire_u64(bytes);
	file->inode = k2i_wire_u64(bytes + 8);
	file->length = k2i_wire_u64(bytes + 16);
	file->open_writer = k2i_wire_u64(bytes + 24);
	file->path = NULL;
	file->deferred = false;
	file->sink = 0;
}

int k2i_ledger_commit_encode(const struct k2i_ledger_ring *ring, const struct k2i_ledger_file *files, size_t file_count,
			     uint8_t bytes[K2I_LEDGER_RECORD_BYTES_MAX])
{
	size_t i;

	if (file_count > K2I_LEDGER_FILES_MAX)
		return -EINVAL;
	memcpy(bytes + BODY_AT, ring->uuid, 16);
	k2i_wire_u64_put(bytes + COMMIT_EPOCH_AT, ring->epoch);
	k2i_wire_u64_put(bytes + COMMIT_POSITION_AT, ring->position);
	k2i_wire_u32_put(bytes + COMMIT_FLAGS_AT, ring->flags | ring->sink << SINK_SHIFT);
	k2i_wire_u32_put(bytes + COMMIT_FLAGS_AT + 4, 0);
	for (i = 0; i < file_count; i++)
		file_put(bytes + COMMIT_FILES_AT + i * FILE_BYTES, &files[i]);
	return record_finish(bytes, COMMIT_FILES_AT + file_count * FILE_BYTES, K2I_LEDGER_COMMIT, file_count);
}

/* A path at `path_at`, its length and marks before it. The record's length, or -EINVAL. */
static int path_put(uint8_t *bytes, size_t path_at, const struct k2i_ledger_file *file, uint32_t marks)
{
	size_t path_bytes = strlen(file->path), record_bytes;

	if (path_bytes == 0 || path_bytes >= sizeof(((struct k2i_ledger_record *)0)->path))
		return -EINVAL;
	record_bytes = (size_t)k2i_align_up(path_at + path_bytes, 8);
	memset(bytes + path_at, 0, record_bytes - path_at);
	k2i_wire_u32_put(bytes + path_at - 8, (uint32_t)path_bytes);
	k2i_wire_u32_put(bytes + path_at - 4, marks | file->sink << SINK_SHIFT);
	memcpy(bytes + path_at, file->path, path_bytes);
	return (int)record_bytes;
}

int k2i_ledger_opened_encode(const struct k2i_ledger_file *file, uint8_t bytes[K2I_LEDGER_RECORD_BYTES_MAX])
{
	int record_bytes = path_put(bytes, OPENED_PATH_AT, file, file->deferred ? K2I_LEDGER_MARK_DEFERRED : 0);

	if (record_bytes < 0)
		return record_bytes;
	file_put(bytes + BODY_AT, file);
	return record_finish(bytes, (size_t)record_bytes, K2I_LEDGER_OPENED, 1);
}

int k2i_ledger_closed_encode(uint64_t birth, uint64_t inode, uint8_t bytes[K2I_LEDGER_RECORD_BYTES_MAX])
{
	k2i_wire_u64_put(bytes + BODY_AT, birth);
	k2i_wire_u64_put(bytes + BODY_AT + 8, inode);
	return record_finish(bytes, SUBJECT_BYTES, K2I_LEDGER_CLOSED, 1);
}

int k2i_ledger_forgotten_encode(const uint8_t uuid[16], uint8_t bytes[K2I_LEDGER_RECORD_BYTES_MAX])
{
	memcpy(bytes + BODY_AT, uuid, 16);
	return record_finish(bytes, SUBJECT_BYTES, K2I_LEDGER_FORGOTTEN, 0);
}

int k2i_ledger_empty_encode(enum k2i_ledger_record_type type, uint8_t bytes[K2I_LEDGER_RECORD_BYTES_MAX])
{
	return record_finish(bytes, BODY_AT, type, 0);
}

int k2i_ledger_checkpoint_encode(uint64_t end, uint8_t bytes[K2I_LEDGER_RECORD_BYTES_MAX])
{
	k2i_wire_u64_put(bytes + BODY_AT, end);
	return record_finish(bytes, CHECKPOINT_BYTES, K2I_LEDGER_CHECKPOINT, 0);
}

int k2i_ledger_ring_encode(const struct k2i_ledger_ring *ring, const struct k2i_ledger_stages *stages,
			   uint8_t bytes[K2I_LEDGER_RECORD_BYTES_MAX])
{
	memcpy(bytes + BODY_AT, ring->uuid, 16);
	k2i_wire_u64_put(bytes + RING_EPOCH_AT, ring->epoch);
	k2i_wire_u32_put(bytes + RING_FLAGS_AT, ring->flags | ring->sink << SINK_SHIFT);
	k2i_wire_u32_put(bytes + RING_MARKS_AT, stages->marks);
	k2i_wire_u64_put(bytes + RING_STAGES_AT, stages->now.at);
	k2i_wire_u64_put(bytes + RING_STAGES_AT + 8, stages->marked.at);
	k2i_wire_u64_put(bytes + RING_STAGES_AT + 16, stages->synced.at);
	return record_finish(bytes, RING_BYTES, K2I_LEDGER_RING, 0);
}

static void point_put(uint8_t *bytes, const struct k2i_ledger_point *point)
{
	k2i_wire_u64_put(bytes, point->at);
	k2i_wire_u64_put(bytes + 8, point->open_writer);
}

int k2i_ledger_file_encode(const struct k2i_ledger_file *file, const struct k2i_ledger_stages *stages,
			   uint8_t bytes[K2I_LEDGER_RECORD_BYTES_MAX])
{
	int record_bytes = path_put(bytes, FILE_PATH_AT, file, stages->marks);

	if (record_bytes < 0)
		return record_bytes;
	k2i_wire_u64_put(bytes + BODY_AT, file->birth);
	k2i_wire_u64_put(bytes + BODY_AT + 8, file->inode);
	point_put(bytes + FILE_STAGES_AT, &stages->now);
	point_put(bytes + FILE_STAGES_AT + 16, &stages->marked);
	point_put(bytes + FILE_STAGES_AT + 32, &stages->synced);
	return record_finish(bytes, (size_t)record_bytes, K2I_LEDGER_FILE, 1);
}

static void flags_get(const uint8_t *bytes, struct k2i_ledger_ring *ring)
{
	ring->flags = k2i_wire_u32(bytes) & SINK_BELOW;
	ring->sink = k2i_wire_u32(bytes) >> SINK_SHIFT;
}

static int commit_decode(const uint8_t *bytes, size_t record_bytes, size_t count, struct k2i_ledger_record *record)
{
	size_t i;

	if (count > K2I_LEDGER_FILES_MAX || record_bytes != COMMIT_FILES_AT + count * FILE_BYTES)
		return -EBADMSG;
	memcpy(record->ring.uuid, bytes + BODY_AT, 16);
	record->ring.epoch = k2i_wire_u64(bytes + COMMIT_EPOCH_AT);
	record->ring.position = k2i_wire_u64(bytes + COMMIT_POSITION_AT);
	flags_get(bytes + COMMIT_FLAGS_AT, &record->ring);
	for (i = 0; i < count; i++)
		file_get(bytes + COMMIT_FILES_AT + i * FILE_BYTES, &record->files[i]);
	record->file_count = count;
	return 0;
}

static int path_get(const uint8_t *bytes, size_t record_bytes, size_t path_at, struct k2i_ledger_record *record)
{
	size_t path_bytes;

	if (record_bytes < path_at)
		return -EBADMSG;
	path_bytes = k2i_wire_u32(bytes + path_at - 8);
	if (path_bytes == 0 || path_bytes >= sizeof(record->path) ||
	    record_bytes != k2i_align_up(path_at + path_bytes, 8) || memchr(bytes + path_at, 0, path_bytes))
		return -EBADMSG;
	memcpy(record->path, bytes + path_at, path_bytes);
	record->path[path_bytes] = '\0';
	record->stages.marks = k2i_wire_u32(bytes + path_at - 4) & SINK_BELOW;
	file_get(bytes + BODY_AT, &record->files[0]);
	record->files[0].sink = k2i_wire_u32(bytes + path_at - 4) >> SINK_SHIFT;
	record->files[0].path = record->path;
	record->files[0].deferred = record->stages.marks & K2I_LEDGER_MARK_DEFERRED;
	record->file_count = 1;
	return 0;
}

static int checkpoint_decode(const uint8_t *bytes, size_t record_bytes, struct k2i_ledger_record *record)
{
	if (record_bytes != CHECKPOINT_BYTES)
		return -EBADMSG;
	record->end = k2i_wire_u64(bytes + BODY_AT);
	return 0;
}

static int ring_decode(const uint8_t *bytes, size_t record_bytes, struct k2i_ledger_record *record)
{
	if (record_bytes != RING_BYTES)
		return -EBADMSG;
	memset(&record->stages, 0, sizeof(record->stages));
	memcpy(record->ring.uuid, bytes + BODY_AT, 16);
	record->ring.epoch = k2i_wire_u64(bytes + RING_EPOCH_AT);
	flags_get(bytes + RING_FLAGS_AT, &record->ring);
	record->stages.marks = k2i_wire_u32(bytes + RING_MARKS_AT);
	record->stages.now.at = record->ring.position = k2i_wire_u64(bytes + RING_STAGES_AT);
	record->stages.marked.at = k2i_wire_u64(bytes + RING_STAGES_AT + 8);
	record->stages.synced.at = k2i_wire_u64(bytes + RING_STAGES_AT + 16);
	return 0;
}

static void point_get(const uint8_t *bytes, struct k2i_ledger_point *point)
{
	point->at = k2i_wire_u64(bytes);
	point->open_writer = k2i_wire_u64(bytes + 8);
}

static int file_decode(const uint8_t *bytes, size_t record_bytes, struct k2i_ledger_record *record)
{
	int error = path_get(bytes, record_bytes, FILE_PATH_AT, record);

	if (error)
		return error;
	point_get(bytes + FILE_STAGES_AT, &record->stages.now);
	point_get(bytes + FILE_STAGES_AT + 16, &record->stages.marked);
	point_get(bytes + FILE_STAGES_AT + 32, &record->stages.synced);
	return 0;
}

static int closed_decode(const uint8_t *bytes, size_t record_bytes, struct k2i_ledger_record *record)
{
	if (record_bytes != SUBJECT_BYTES)
		return -EBADMSG;
	record->files[0].birth = k2i_wire_u64(bytes + BODY_AT);
	record->files[0].inode = k2i_wire_u64(bytes + BODY_AT + 8);
	record->file_count = 1;
	return 0;
}

static int forgotten_decode(const uint8_t *bytes, size_t record_bytes, struct k2i_ledger_record *record)
{
	if (record_bytes != SUBJECT_BYTES)
		return -EBADMSG;
	memcpy(record->ring.uuid, bytes + BODY_AT, 16);
	return 0;
}

static int body_decode(const uint8_t *bytes, size_t record_bytes, struct k2i_ledger_record *record)
{
	unsigned type = k2i_wire_u16(bytes + TYPE_AT);

	record->file_count = 0;
	record->type = (enum k2i_ledger_record_type)type;
	switch (type) {
	case K2I_LEDGER_COMMIT:
		return commit_decode(bytes, record_bytes, k2i_wire_u16(bytes + COUNT_AT), record);
	case K2I_LEDGER_OPENED:
		return path_get(bytes, record_bytes, OPENED_PATH_AT, record);
	case K2I_LEDGER_CLOSED:
		return closed_decode(bytes, record_bytes, record);
	case K2I_LEDGER_CHECKPOINT:
		return checkpoint_decode(bytes, record_bytes, record);
	case K2I_LEDGER_RING:
		return ring_decode(bytes, record_bytes, record);
	case K2I_LEDGER_FILE:
		return file_decode(bytes, record_bytes, record);
	case K2I_LEDGER_FORGOTTEN:
		return forgotten_decode(bytes, record_bytes, record);
	case K2I_LEDGER_CLEAN:
	case K2I_LEDGER_MARK:
	case K2I_LEDGER_WHOLE:
	case K2I_LEDGER_DOUBT:
		return record_bytes == BODY_AT ? 0 : -EBADMSG;
	default:
		return -EBADMSG;
	}
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
	size_t record_bytes;
	int error;

	if (byte_count < BODY_AT)
		return zeros_only(bytes, byte_count) ? 0 : -EBADMSG;
	record_bytes = k2i_wire_u32(bytes + BYTES_AT);
	if (record_bytes == 0)
		return zeros_only(bytes, byte_count) ? 0 : -EBADMSG;
	if (!length_plausible(record_bytes) || record_bytes > byte_count ||
	    k2i_wire_u64(bytes + CHECKSUM_AT) != record_checksum(bytes, record_bytes))
		return -EBADMSG;
	error = body_decode(bytes, record_bytes, record);
	return error ? error : (int)record_bytes;
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
