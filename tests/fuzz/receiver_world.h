/* SPDX-License-Identifier: MIT */
#ifndef K2I_TESTS_FUZZ_RECEIVER_WORLD_H
#define K2I_TESTS_FUZZ_RECEIVER_WORLD_H

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "receiver/session/session.h"
#include "receiver/sink/file/file_sink.h"
#include "frames.h"
#include "quick_disk.h"

/*
 * The world behind a session of the receiver: ledger, rings, output files, quarantine, in a temporary folder; and a
 * disk that fails now and then. For one target each, since it takes the place of functions of libc.
 */
#define WINDOW_BYTES 4096u /* so that inputs reach its end */

/* Bits of the first control byte. */
#define WORLD_UNIFY 4u
#define WORLD_FORMATTED 8u
/* The second one: how much comes at a time (0: a frame), which calls that write fail. */
#define WORLD_AT_ONCE 0x80u
#define WORLD_STEP_MASK 15u
#define WORLD_FAULTS_SHIFT 4u

/*
 * In place of libc's: some of the calls that write output files and the ledger fail, or take a part only, as on a disk
 * that is full now and then.
 */
static unsigned fault_every, fault_calls;

static bool fault_due(void)
{
	return fault_every && ++fault_calls % (fault_every + 1) == 0;
}

ssize_t writev(int descriptor, const struct iovec *vectors, int count)
{
	if (!fault_due())
		return syscall(SYS_writev, descriptor, vectors, count);
	if (fault_calls % 2 && vectors->iov_len > 1)
		return syscall(SYS_write, descriptor, vectors->iov_base, vectors->iov_len / 2);
	errno = ENOSPC;
	return -1;
}

ssize_t pwrite(int descriptor, const void *bytes, size_t byte_count, off_t offset)
{
	if (!fault_due())
		return syscall(SYS_pwrite64, descriptor, bytes, byte_count, offset);
	if (fault_calls % 2 && byte_count > 1)
		return syscall(SYS_pwrite64, descriptor, bytes, byte_count / 2, offset);
	errno = ENOSPC;
	return -1;
}

struct world {
	char base[300], state[300], quarantine[300], retracted[320];
	unsigned control, faults;
	struct k2i_counters counters;
	struct k2i_ledger *ledger;
	struct k2i_rings *rings;
	struct k2i_destination destination;
	struct k2i_committer committer;
	struct k2i_format *format;
	struct k2i_outputs *outputs;
	struct k2i_stream_room streams;
	struct k2i_session_shared shared;
};

static uint64_t fenced_id;

static void on_fenced(struct k2i_owner owner)
{
	fenced_id = owner.id;
}

static void format_open(struct world *world)
{
	const char *format = world->control & WORLD_FORMATTED ? "%T %H %P %F %f \"%J\" %l|%L\\n" : "%L";
	char message[256];

	fuzz_check(k2i_format_compile(format, "%F %T.%-", &world->format, message, sizeof(message)) == 0);
	fuzz_check(k2i_file_sink_create(world->outputs, world->format,
					world->control & WORLD_UNIFY ? "log/unify.log" : NULL,
					world->destination.sinks.list) == 0);
	world->destination.sinks.count = 1;
}

static void file_recover(void *argument, const struct k2i_ledger_file *file)
{
	struct world *world = argument;

	k2i_outputs_recover(world->outputs, file, true);
}

/* As the corpus has it. */
static const uint8_t receiver_uuid[16] = {240, 241, 242, 243, 244, 245, 246, 247,
					  248, 249, 250, 251, 252, 253, 254, 255};

static void world_open(struct world *world)
{
	struct k2i_outputs_options options = {
		.base_directory = world->base, .open_max = 2, .file_mode = 0600, .store = {.write_bytes = 65536}};
	struct k2i_ledger_report report;
	uint8_t boot_id[16] = "boot";

	fuzz_check(k2i_ledger_open(world->state, boot_id, &world->ledger, &report) == 0);
	fuzz_check(!report.damaged && !report.torn);
	options.ledger = world->ledger;
	options.counters = &world->counters;
	fuzz_check(k2i_outputs_create(&options, &world->outputs) == 0);
	k2i_ledger_files(world->ledger, file_recover, world);
	(void)k2i_outputs_recover_renamed(world->outputs);
	fuzz_check(k2i_ledger_begin(world->ledger) == 0);
	fuzz_check(k2i_quarantine_create(world->quarantine, 64u * 1024, &world->counters,
					 &world->destination.quarantine) == 0);
	fuzz_check(k2i_rings_create(world->ledger, &world->destination.sinks, &world->counters, on_fenced,
				    &world->rings) == 0);
	format_open(world);
	world->destination.ledger = world->ledger;
	world->destination.retracted_path = world->retracted;
	world->destination.counters = &world->counters;
	fuzz_check(k2i_committer_start(&world->committer, &world->destination) == 0);
	fault_every = world->faults;
	world->streams.count_max = 100;
	world->shared = (struct k2i_session_shared){
		.rings = world->rings,
		.committer = &world->committer,
		.counters = &world->counters,
		.streams = &world->streams,
		.receiver_uuid = receiver_uuid,
		.window_bytes = WINDOW_BYTES,
		.frame_bytes_max = K2HFT_FRAME_BODY_BYTES_DEFAULT,
	};
	(void)pthread_mutex_lock(&world->shared.serving);
}

static void world_close(struct world *world)
{
	fault_every = 0;
	k2i_committer_free(&world->committer);
	k2i_rings_free(world->rings);
	(void)k2i_sinks_close(&world->destination.sinks, false);
	k2i_quarantine_free(world->destination.quarantine);
	/* With faults it is as if the receiver had died: what is not in the ledger is cut off. */
	k2i_ledger_close(world->ledger, world->faults == 0);
	k2i_format_free(world->format);
	(void)pthread_mutex_unlock(&world->shared.serving);
	free(world->shared.raw);
}

static uint64_t file_bytes;

static int file_add(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)path;
	(void)walk;
	if (type == FTW_F)
		file_bytes += (uint64_t)status->st_size;
	return 0;
}

static uint64_t files_bytes(const char *folder)
{
	file_bytes = 0;
	(void)nftw(folder, file_add, 16, FTW_PHYS);
	return file_bytes;
}

/* Without the list of what is there; a stream, too, can be named as that is. */
static uint64_t quarantine_bytes(const char *folder)
{
	uint64_t bytes = files_bytes(folder);
	char index[320];
	struct stat status;

	(void)snprintf(index, sizeof(index), "%s/index", folder);
	return stat(index, &status) == 0 ? bytes - (uint64_t)status.st_size : bytes;
}

/*
 * After any repetition and any failure, committed records are in the files, once, and nothing else is. Only in
 * quarantine there can be chunks that were not committed in the end.
 */
static void files_check(struct world *world)
{
	uint64_t stored = files_bytes(world->base), aside = quarantine_bytes(world->quarantine);
	uint64_t committed = atomic_load(&world->counters.bytes);
	struct stat status;

	fuzz_check(stat(fuzz_folder(), &status) == 0 && status.st_nlink <= 5);
	if (world->control & (WORLD_UNIFY | WORLD_FORMATTED))
		return;
	fuzz_check(stored <= committed && committed <= stored + aside);
	fuzz_check(world->faults || committed == stored + aside);
}

static void world_begin(struct world *world, const uint8_t control[FRAMES_CONTROL_BYTES])
{
	fuzz_log_open();
	memset(world, 0, sizeof(*world));
	k2i_flows_start(&world->streams.flows);
	world->control = control[0];
	world->faults = control[1] >> WORLD_FAULTS_SHIFT & 7;
	fault_calls = 0;
	(void)snprintf(world->base, sizeof(world->base), "%s/base", fuzz_folder());
	(void)snprintf(world->state, sizeof(world->state), "%s/state", fuzz_folder());
	(void)snprintf(world->quarantine, sizeof(world->quarantine), "%s/quarantine", fuzz_folder());
	(void)snprintf(world->retracted, sizeof(world->retracted), "%s/retracted", world->state);
	world_open(world);
}

static void world_end(struct world *world)
{
	world_close(world);
	k2i_flows_end(&world->streams.flows);
	files_check(world);
	fuzz_remove(world->base);
	fuzz_remove(world->state);
	fuzz_remove(world->quarantine);
}

#endif
