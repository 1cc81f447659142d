/* SPDX-License-Identifier: MIT */
/*
 * The receiver's session with all that is behind it (ledger, rings, output files, quarantine), fed with what a sender
 * sends. When a session ends, the rest of the input comes over the next connection.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "../../receiver/session.h"
#include "frames.h"

#define WINDOW_BYTES 4096u /* so that inputs reach its end */
#define PEERS 2u
#define SESSIONS_MAX 12u
#define STEPS_MAX 200u
/* The second byte: how much comes at a time (0: a frame), which calls that write fail. */
#define AT_ONCE 0x80u
#define FAULTS_SHIFT 4u

/* What the control byte asks for, beside FRAMES_LEAVE and FRAMES_CHAIN. */
#define UNIFY 4u
#define FORMATTED 8u
#define TWINS 16u   /* two connections, which get the same bytes in turn */
#define BLOCKED 32u /* the peer does not read its answers at once */
#define AGAIN 64u   /* the receiver ends and starts again between two connections */
#define CUT 128u    /* the other connection of a ring is told that it was fenced */

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	return frames_mutate(data, size, max_size, seed);
}

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

/* In place of libc's: a ledger then grows without its zeros being written, which took half of the time. */
int fallocate(int descriptor, int mode, off_t offset, off_t bytes)
{
	(void)descriptor;
	(void)mode;
	(void)offset;
	(void)bytes;
	errno = EOPNOTSUPP;
	return -1;
}

struct world {
	char base[300], state[300], quarantine[300];
	unsigned control, faults;
	struct k2i_counters counters;
	struct k2i_ledger *ledger;
	struct k2i_rings *rings;
	struct k2i_destination destination;
	struct k2i_committer committer;
	struct k2i_format *format;
	struct k2i_session_shared shared;
};

struct peer {
	struct k2i_session session;
	const uint8_t *bytes;
	size_t byte_count, given, done, wanted;
	uint64_t acked;
	unsigned sessions, holds;
	bool open;
};

static uint64_t fenced_id, last_id;

static void on_fenced(struct k2i_owner owner)
{
	fenced_id = owner.id;
}

/* The receiver --------------------------------------------------------------------------------------------------- */

static void format_open(struct world *world)
{
	const char *format = world->control & FORMATTED ? "%T %H %P %F %f \"%J\" %l|%L\\n" : "%L";
	char message[256];

	fuzz_check(k2i_format_compile(format, "%F %T.%-", &world->format, message, sizeof(message)) == 0);
	world->destination.format = world->format;
	world->destination.unify_file = world->control & UNIFY ? "log/unify.log" : NULL;
}

static void file_recover(void *argument, const struct k2i_ledger_file *file)
{
	struct world *world = argument;

	k2i_outputs_recover(world->destination.outputs, file, true);
}

static void world_open(struct world *world)
{
	struct k2i_outputs_options options = {.base_directory = world->base, .open_max = 2};
	struct k2i_ledger_report report;
	uint8_t boot_id[16] = "boot";

	fuzz_check(k2i_ledger_open(world->state, boot_id, &world->ledger, &report) == 0);
	fuzz_check(!report.damaged && !report.torn);
	options.ledger = world->ledger;
	options.counters = &world->counters;
	fuzz_check(k2i_outputs_create(&options, &world->destination.outputs) == 0);
	k2i_ledger_files(world->ledger, file_recover, world);
	fuzz_check(k2i_ledger_begin(world->ledger) == 0);
	fuzz_check(k2i_quarantine_create(world->quarantine, &world->counters, &world->destination.quarantine) == 0);
	fuzz_check(k2i_rings_create(world->ledger, &world->counters, on_fenced, &world->rings) == 0);
	format_open(world);
	world->destination.ledger = world->ledger;
	world->destination.counters = &world->counters;
	fuzz_check(k2i_committer_start(&world->committer, &world->destination) == 0);
	fault_every = world->faults;
	world->shared = (struct k2i_session_shared){
		.rings = world->rings,
		.committer = &world->committer,
		.counters = &world->counters,
		.receiver_uuid = k2i_ledger_uuid(world->ledger),
		.window_bytes = WINDOW_BYTES,
		.frame_bytes_max = K2HFT_FRAME_BODY_BYTES_DEFAULT,
	};
}

static void world_close(struct world *world)
{
	fault_every = 0;
	k2i_committer_free(&world->committer);
	k2i_rings_free(world->rings);
	(void)k2i_outputs_free(world->destination.outputs, false);
	k2i_quarantine_free(world->destination.quarantine);
	k2i_ledger_close(world->ledger, true);
	k2i_format_free(world->format);
	free(world->shared.raw);
}

/* A connection --------------------------------------------------------------------------------------------------- */

/* Answers are whole frames, and an acknowledgement never goes back or says more than was promised. */
static void answers_check(struct peer *peer)
{
	const uint8_t *bytes = peer->session.output;
	size_t left = peer->session.output_bytes, length;
	struct k2hft_frame frame;

	for (; left > 0; bytes += length, left -= length) {
		struct k2hft_ack ack;

		fuzz_check(k2hft_frame_header_decode(bytes, left, K2HFT_MESSAGE_BYTES_MAX, &frame) == 0);
		length = K2HFT_FRAME_HEADER_BYTES + frame.body_bytes;
		fuzz_check(length <= left);
		fuzz_check(k2hft_frame_verify(bytes, &frame, bytes + K2HFT_FRAME_HEADER_BYTES) == 0);
		if (frame.type != K2HFT_FRAME_ACK)
			continue;
		fuzz_check(k2hft_ack_decode(bytes + K2HFT_FRAME_HEADER_BYTES, frame.body_bytes, &ack) == 0);
		fuzz_check(ack.position >= peer->acked && ack.position <= peer->session.committed);
		fuzz_check(ack.window_end <= peer->session.window_end);
		peer->acked = ack.position;
	}
	peer->session.output_bytes = 0;
}

static void peer_open(struct world *world, struct peer *peer)
{
	struct k2i_owner owner = {NULL, ++last_id};

	k2i_session_start(&peer->session, &world->shared, owner, "peer");
	peer->open = true;
	peer->done = peer->given;
	peer->acked = 0;
	peer->wanted = 1;
	peer->holds = 0;
	peer->sessions++;
}

static void peer_close(struct peer *peer)
{
	if (!peer->open)
		return;
	answers_check(peer);
	k2i_session_end(&peer->session);
	peer->open = false;
}

/* As connection.c does it, but that the bytes have no room behind them. */
static void input_give(struct world *world, struct peer *peer)
{
	size_t byte_count = peer->given - peer->done, consumed = 0;
	uint8_t *bytes = fuzz_copy(peer->bytes + peer->done, byte_count);
	enum k2i_session_result result = k2i_session_input(&peer->session, bytes, byte_count, &consumed, &peer->wanted);

	free(bytes);
	/* An end without a word would be an answer that could not be written. */
	fuzz_check(result != K2I_SESSION_MORE || peer->session.state != K2I_SESSION_ENDED);
	fuzz_check(consumed <= byte_count);
	fuzz_check(peer->session.output_bytes <= sizeof(peer->session.output));
	/* Chunks of the group point to where the bytes were. */
	fuzz_check(world->committer.group.entry_count == 0 && world->committer.group.file_count == 0);
	fuzz_check(result != K2I_SESSION_MORE || peer->wanted <= k2i_session_input_max(&peer->session));
	peer->done += consumed;
	if (result == K2I_SESSION_HOLD) {
		fuzz_check(peer->session.hold_error < 0);
		k2i_session_ack(&peer->session);
		peer->holds++;
	} else {
		peer->holds = 0;
	}
	if (!(world->control & BLOCKED) || peer->wanted == 0)
		answers_check(peer);
	if (result == K2I_SESSION_CLOSE || peer->session.state == K2I_SESSION_ENDED || peer->holds > 2)
		peer_close(peer);
}

static void fence_tell(struct world *world, struct peer *peers)
{
	for (unsigned index = 0; index < PEERS; index++) {
		struct peer *peer = &peers[index];

		if (!(world->control & CUT) || !peer->open || peer->session.owner.id != fenced_id)
			continue;
		k2i_session_fail(&peer->session, K2HFT_ERROR_FENCED, "this ring has connected again");
		peer_close(peer);
	}
	fenced_id = 0;
}

static bool peer_step(struct world *world, struct peer *peer, size_t step)
{
	if (step == 0)
		step = frames_length(peer->bytes + peer->given, peer->byte_count - peer->given);
	if (step == 0)
		step = SIZE_MAX;
	if (peer->given == peer->byte_count)
		return false;
	if (!peer->open && peer->sessions == SESSIONS_MAX)
		return false;
	if (!peer->open)
		peer_open(world, peer);
	peer->given = step < peer->byte_count - peer->given ? peer->given + step : peer->byte_count;
	if (peer->given - peer->done >= peer->wanted)
		input_give(world, peer);
	while (peer->open && peer->holds > 0)
		input_give(world, peer);
	return true;
}

static void peers_run(struct world *world, struct peer *peers, uint8_t speed)
{
	uint64_t random = speed | UINT64_C(0x100000000);
	bool more = true;

	for (unsigned steps = 0; more; steps++) {
		size_t step = speed & 15 ? 1 + fuzz_random(&random) % (1u << (speed & 15)) : 0;

		if (speed & AT_ONCE || (speed & 15 && steps > STEPS_MAX))
			step = SIZE_MAX;
		more = false;
		for (unsigned index = 0; index < (world->control & TWINS ? PEERS : 1); index++) {
			more |= peer_step(world, &peers[index], step);
			fence_tell(world, peers);
		}
		if (world->control & AGAIN && !peers[0].open && !peers[1].open) {
			world_close(world);
			world_open(world);
		}
	}
	for (unsigned index = 0; index < PEERS; index++) {
		if (peers[index].open)
			k2i_session_ping(&peers[index].session);
		if (peers[index].open)
			k2i_session_bye(&peers[index].session);
		peer_close(&peers[index]);
	}
}

static uint64_t file_bytes;

static int file_add(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	if (type == FTW_F && strcmp(path + walk->base, "index") != 0)
		file_bytes += (uint64_t)status->st_size;
	return 0;
}

static uint64_t files_bytes(const char *folder)
{
	file_bytes = 0;
	(void)nftw(folder, file_add, 16, FTW_PHYS);
	return file_bytes;
}

/*
 * Whatever came how often and whatever failed: what was committed is in the files, once, and nothing else is. Only in
 * quarantine there can be chunks that were not committed in the end.
 */
static void files_check(struct world *world)
{
	uint64_t stored = files_bytes(world->base), aside = files_bytes(world->quarantine);
	uint64_t committed = atomic_load(&world->counters.bytes);
	struct stat status;

	fuzz_check(stat(fuzz_folder(), &status) == 0 && status.st_nlink <= 5);
	if (world->control & (UNIFY | FORMATTED))
		return;
	fuzz_check(stored <= committed && committed <= stored + aside);
	fuzz_check(world->faults || committed == stored + aside);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct peer peers[PEERS];
	struct world world = {.control = size ? data[0] : 0};
	uint8_t *bytes;

	if (size < FRAMES_CONTROL_BYTES)
		return 0;
	fuzz_log_open();
	(void)snprintf(world.base, sizeof(world.base), "%s/base", fuzz_folder());
	(void)snprintf(world.state, sizeof(world.state), "%s/state", fuzz_folder());
	(void)snprintf(world.quarantine, sizeof(world.quarantine), "%s/quarantine", fuzz_folder());
	world.faults = data[1] >> FAULTS_SHIFT & 7;
	bytes = fuzz_copy(data + FRAMES_CONTROL_BYTES, size - FRAMES_CONTROL_BYTES);
	size -= FRAMES_CONTROL_BYTES;
	frames_mend(bytes, size, data[0]);
	memset(peers, 0, sizeof(peers));
	for (unsigned index = 0; index < PEERS; index++) {
		peers[index].bytes = bytes;
		peers[index].byte_count = size;
	}
	world_open(&world);
	peers_run(&world, peers, data[1]);
	world_close(&world);
	files_check(&world);
	fuzz_remove(world.base);
	fuzz_remove(world.state);
	fuzz_remove(world.quarantine);
	free(bytes);
	return 0;
}
