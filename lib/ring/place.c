/* SPDX-License-Identifier: MIT */
/* The place of a ring's file: a copy has another one than its header says. */
#include "ring/map.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/hash.h"

/* Zeros where the machine has none. */
static void machine_id_read(char machine_id[32])
{
	int descriptor = open("/etc/machine-id", O_RDONLY | O_CLOEXEC);

	memset(machine_id, 0, 32);
	if (descriptor < 0)
		return;
	(void)!read(descriptor, machine_id, 32);
	(void)close(descriptor);
}

uint64_t k2i_ring_place(int descriptor)
{
	struct {
		char machine_id[32];
		uint64_t inode, birth_s, birth_ns;
		uint64_t file_system; /* unlike the number of a device it is the same after a reboot, with most */
	} place;
	struct statx file = {.stx_ino = 0};
	struct statfs system = {.f_type = 0};

	memset(&place, 0, sizeof(place));
	if (statx(descriptor, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &file) || fstatfs(descriptor, &system))
		return 0;
	machine_id_read(place.machine_id);
	place.inode = file.stx_ino;
	if (file.stx_mask & STATX_BTIME) {
		place.birth_s = (uint64_t)file.stx_btime.tv_sec;
		place.birth_ns = file.stx_btime.tv_nsec;
	}
	memcpy(&place.file_system, &system.f_fsid, sizeof(system.f_fsid));
	return k2i_hash(&place, sizeof(place)) | 1;
}

bool k2i_ring_elsewhere(int descriptor, const struct k2i_ring_header *header)
{
	/* relaxed: a copy that nobody shares. */
	uint64_t kept = atomic_load_explicit(&header->place, memory_order_relaxed);
	uint64_t place = kept ? k2i_ring_place(descriptor) : 0;

	return place && place != kept;
}
