/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "receiver/base/file_identity.h"
#include "receiver/ledger/internal.h"

#define DAMAGED_NAME "ledger.damaged"
#define COPY_BYTES (1024u * 1024) /* at a time */

static int log_apply(struct k2i_ledger *ledger, const uint8_t *log, size_t log_bytes, struct k2i_ledger_report *report)
{
	struct k2i_ledger_record *record = malloc(sizeof(*record));
	size_t offset = K2I_LEDGER_HEADER_BYTES;
	int length = 0, error = record ? 0 : -ENOMEM;

	while (!error && (length = k2i_ledger_record_decode(log + offset, log_bytes - offset, record)) > 0) {
		error = k2i_known_apply(&ledger->known, record);
		report->clean = record->type == K2I_LEDGER_CLEAN;
		report->record_count++;
		offset += (size_t)length;
	}
	if (!error && (length < 0 || offset == log_bytes)) {
		report->torn = k2i_ledger_record_torn(log, log_bytes, offset) ||
			       (!report->same_boot && !k2i_ledger_record_proven(log, log_bytes, offset));
		report->damaged = !report->torn;
		report->clean = false;
		report->lost_bytes = log_bytes - offset;
	}
	free(record);
	return error;
}

static int log_decode(struct k2i_ledger *ledger, uint32_t mark, const uint8_t *log, size_t log_bytes,
		      struct k2i_ledger_report *report)
{
	struct k2i_ledger_header header;
	int error = k2i_ledger_header_decode(log, log_bytes, &header);

	if (error == -EBADMSG) {
		report->damaged = true;
		report->lost_bytes = log_bytes;
		return 0;
	}
	if (error)
		return error;
	memcpy(ledger->header.uuid, header.uuid, sizeof(header.uuid));
	report->same_boot = memcmp(header.boot_id, ledger->header.boot_id, sizeof(header.boot_id)) == 0;
	report->copied = header.file != mark;
	return log_apply(ledger, log, log_bytes, report);
}

static int read_whole(int file, uint8_t *bytes, size_t byte_count)
{
	size_t done = 0;
	ssize_t got;

	while (done < byte_count) {
		got = pread(file, bytes + done, byte_count - done, (off_t)done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -EIO;
		done += (size_t)got;
	}
	return 0;
}

static int log_load(struct k2i_ledger *ledger, int file, struct k2i_ledger_report *report)
{
	struct stat status;
	uint8_t *log;
	int error;

	if (fstat(file, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -ENXIO;
	log = malloc((size_t)status.st_size + 1);
	if (!log)
		return -ENOMEM;
	error = read_whole(file, log, (size_t)status.st_size);
	if (!error)
		error = log_decode(ledger, k2i_file_identity_hash(file, status.st_dev, status.st_ino), log,
				   (size_t)status.st_size, report);
	free(log);
	return error;
}

static int damaged_copy(int directory, int file)
{
	int copy = openat(directory, DAMAGED_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600), error;
	off_t offset = 0;
	ssize_t got;

	if (copy < 0)
		return -errno;
	do
		got = sendfile(copy, file, &offset, COPY_BYTES);
	while (got > 0 || (got < 0 && errno == EINTR));
	error = got ? -errno : 0;
	if (close(copy) < 0 && !error)
		error = -errno;
	if (error)
		(void)unlinkat(directory, DAMAGED_NAME, 0);
	return error;
}

/*
 * The damaged log stays for a look; that is not worth failing for. Not by rename(2): until the new one is written,
 * another start needs what is before the damage.
 */
static int damaged_keep(int directory, int file)
{
	(void)unlinkat(directory, DAMAGED_NAME, 0);
	if (linkat(directory, K2I_LEDGER_NAME, directory, DAMAGED_NAME, 0) == 0)
		return 0;
	/* FAT and others have no hard links. */
	return damaged_copy(directory, file);
}

int k2i_ledger_load(struct k2i_ledger *ledger, struct k2i_ledger_report *report)
{
	int file = openat(ledger->directory, K2I_LEDGER_NAME, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW), error;

	if (file < 0)
		return errno == ENOENT ? 0 : -errno;
	report->found = true;
	error = log_load(ledger, file, report);
	if (!error && report->damaged)
		report->keep_error = damaged_keep(ledger->directory, file);
	(void)close(file);
	if (error)
		return error;
	ledger->resumed = report->same_boot && !report->clean && !report->damaged && !report->copied;
	if (report->clean || report->same_boot)
		return 0;
	/* A checkpoint that was on the disk may be among what is lost, or what came later: then there is none to go back to. */
	if (report->damaged || report->copied)
		k2i_known_doubt(&ledger->known);
	else
		k2i_known_fall_back(&ledger->known, true);
	return 0;
}
