/* SPDX-License-Identifier: MIT */
/*
 * A ledger that is damaged: it is loaded, what it says of output files is acted on, and it goes on as a good one. The
 * input: a byte of flags, then the file.
 */
#include <fcntl.h>

#include "receiver/base/file_identity.h"
#include "receiver/ledger/ledger.h"
#include "receiver/ledger/log.h"
#include "receiver/sink/file/output.h"
#include "fuzz.h"
#include "base/hash.h"
#include "quick_disk.h"
#include "base/byte_order.h"

#define LEAVE 1u  /* checksums stay as they are */
#define OURS 2u   /* files that were opened are the one that is there */
#define REBOOT 4u /* the machine has been restarted since */
#define WAITS 8u  /* the sender that comes then waits for the disk */
#define COPY 16u  /* the file is not the one that its header names */
#define ROUNDS 2u

#define RECORD_CHECKSUM_AT 8u
#define RECORD_BODY_AT 16u

static struct {
	char base[300], state[300], log[320], file[320];
	uint64_t birth, inode;
} place;

static void file_write(const char *path, const void *bytes, size_t byte_count)
{
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	fuzz_check(file >= 0);
	fuzz_check(write(file, bytes, byte_count) == (ssize_t)byte_count);
	fuzz_check(close(file) == 0);
}

static void place_make(void)
{
	static const uint8_t content[100];
	struct stat status;
	int file;

	(void)snprintf(place.base, sizeof(place.base), "%s/base", fuzz_folder());
	(void)snprintf(place.state, sizeof(place.state), "%s/state", fuzz_folder());
	(void)snprintf(place.log, sizeof(place.log), "%s/ledger", place.state);
	(void)snprintf(place.file, sizeof(place.file), "%s/a", place.base);
	fuzz_check(mkdir(place.base, 0700) == 0 && mkdir(place.state, 0700) == 0);
	file_write(place.file, content, sizeof(content));
	fuzz_check(stat(place.file, &status) == 0);
	file = open(place.file, O_RDONLY | O_CLOEXEC);
	fuzz_check(file >= 0);
	place.birth = k2i_file_birth_ns(file, status.st_dev);
	fuzz_check(close(file) == 0);
	place.inode = status.st_ino;
}

/* Makes it. */
static void header_name(uint8_t *bytes, size_t byte_count, unsigned flags)
{
	struct stat status;
	int file;

	file_write(place.log, "", 0);
	file = open(place.log, O_RDONLY | O_CLOEXEC);
	fuzz_check(file >= 0 && fstat(file, &status) == 0);
	if (!(flags & COPY) && byte_count >= K2I_LEDGER_HEADER_BYTES)
		k2i_wire_u32_put(bytes + 12, k2i_file_identity_hash(file, status.st_dev, status.st_ino));
	fuzz_check(close(file) == 0);
}

static void records_mend(uint8_t *bytes, size_t byte_count, unsigned flags)
{
	size_t record_bytes;

	if (flags & LEAVE || byte_count < K2I_LEDGER_HEADER_BYTES)
		return;
	k2i_wire_u64_put(bytes + K2I_LEDGER_HEADER_BYTES - 8, k2i_hash(bytes, K2I_LEDGER_HEADER_BYTES - 8));
	bytes += K2I_LEDGER_HEADER_BYTES;
	byte_count -= K2I_LEDGER_HEADER_BYTES;
	while (byte_count >= RECORD_BODY_AT) {
		record_bytes = k2i_wire_u32(bytes);
		if (record_bytes < RECORD_BODY_AT || record_bytes > byte_count)
			return;
		if (flags & OURS &&
		    (k2i_wire_u16(bytes + 4) == K2I_LEDGER_OPENED || k2i_wire_u16(bytes + 4) == K2I_LEDGER_FILE) &&
		    record_bytes >= RECORD_BODY_AT + 16) {
			k2i_wire_u64_put(bytes + RECORD_BODY_AT, place.birth);
			k2i_wire_u64_put(bytes + RECORD_BODY_AT + 8, place.inode);
		}
		k2i_wire_u64_put(bytes + RECORD_CHECKSUM_AT,
				 k2i_hash_pair(bytes, RECORD_CHECKSUM_AT, bytes + RECORD_BODY_AT,
					       record_bytes - RECORD_BODY_AT));
		bytes += record_bytes;
		byte_count -= record_bytes;
	}
}

/* Every record that is well formed, wherever it begins. */
static void records_decode(const uint8_t *bytes, size_t byte_count)
{
	struct k2i_ledger_record record;

	for (size_t at = 0; at < byte_count && at < 2048; at += 8) {
		uint8_t *copy = fuzz_copy(bytes + at, byte_count - at);
		int length = k2i_ledger_record_decode(copy, byte_count - at, &record);

		fuzz_check(length <= (int)(byte_count - at));
		if (length < 0) {
			(void)k2i_ledger_record_torn(bytes, byte_count, at);
			(void)k2i_ledger_record_proven(bytes, byte_count, at);
		}
		fuzz_check(length <= 0 || record.file_count <= K2I_LEDGER_FILES_MAX);
		free(copy);
	}
}

struct recovery {
	struct k2i_outputs *outputs;
	unsigned count;
};

static void on_file(void *argument, const struct k2i_ledger_file *file)
{
	struct recovery *recovery = argument;

	recovery->count++;
	k2i_outputs_recover(recovery->outputs, file, true);
}

static int files_recover(struct k2i_ledger *ledger)
{
	struct k2i_counters counters = {0};
	struct k2i_outputs_options options = {.base_directory = place.base,
					      .open_max = 4,
					      .file_mode = 0600,
					      .ledger = ledger,
					      .counters = &counters};
	struct recovery recovery = {NULL, 0};

	fuzz_check(k2i_outputs_create(&options, &recovery.outputs) == 0);
	k2i_ledger_files(ledger, on_file, &recovery);
	(void)k2i_outputs_recover_renamed(recovery.outputs);
	(void)k2i_outputs_free(recovery.outputs, false);
	return (int)recovery.count;
}

/* The ledger goes on from whatever there was. */
static void commit_some(struct k2i_ledger *ledger, struct k2i_ledger_ring *ring, unsigned flags)
{
	struct k2i_ledger_file file = {place.birth, place.inode, 100, 0, "a", flags & WAITS, 0, 0, 0};
	uint64_t number;

	fuzz_check(k2i_ledger_begin(ledger) == 0);
	(void)k2i_ledger_find(ledger, ring->uuid, 0, ring);
	ring->position += 8;
	ring->flags = flags & WAITS ? K2I_LEDGER_DEFERRED : 0;
	fuzz_check(k2i_ledger_file_opened(ledger, &file) >= (flags & WAITS ? 1 : 0));
	fuzz_check(k2i_ledger_commit(ledger, ring, &file, 1) == 0);
	fuzz_check(k2i_ledger_mark(ledger, &number) == 0 && number == ring->number);
	fuzz_check(k2i_ledger_checkpoint(ledger) == 0);
	fuzz_check(k2i_ledger_check(ledger) == 0);
}

static void ledger_run(unsigned flags)
{
	static const uint8_t boots[ROUNDS][16] = {"boot", "reboot"};
	struct k2i_ledger_ring ring = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, 1, 0, 0, 0, 0, 0, 0},
			       again;
	const uint8_t *boot = boots[(flags & REBOOT) != 0];
	struct k2i_ledger_report report;
	struct k2i_ledger *ledger;
	int error = k2i_ledger_open(place.state, boot, &ledger, &report);

	fuzz_check(error == 0 || error == -EPROTO);
	if (error)
		return;
	(void)files_recover(ledger);
	commit_some(ledger, &ring, flags);
	k2i_ledger_close(ledger, true);
	fuzz_check(k2i_ledger_open(place.state, boot, &ledger, &report) == 0);
	fuzz_check(report.found && report.clean && report.same_boot && !report.torn && !report.damaged &&
		   !report.copied);
	fuzz_check(k2i_ledger_find(ledger, ring.uuid, 0, &again) && again.position == ring.position &&
		   again.synced == ring.position);
	fuzz_check(files_recover(ledger) == 1);
	k2i_ledger_close(ledger, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned flags = size ? data[0] : 0;
	uint8_t *bytes;
	struct stat status;

	if (size == 0)
		return 0;
	fuzz_log_open();
	if (!place.base[0])
		place_make();
	bytes = fuzz_copy(data + 1, size - 1);
	header_name(bytes, size - 1, flags);
	records_mend(bytes, size - 1, flags);
	records_decode(bytes, size - 1);
	file_write(place.log, bytes, size - 1);
	ledger_run(flags);
	/* Nothing was made for the sake of what a ledger says. */
	fuzz_check(stat(place.base, &status) == 0 && status.st_nlink == 2);
	fuzz_check(truncate(place.file, 100) == 0);
	(void)unlink(place.log);
	free(bytes);
	return 0;
}
