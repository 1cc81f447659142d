/* SPDX-License-Identifier: MIT */
#include "receiver/base/file_identity.h"

#include <fcntl.h>
#include <linux/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"

uint64_t k2i_file_birth_ns(int descriptor, uint64_t device)
{
	struct statx status;

	/* Not statx(3), which musl has only since 1.2.5. */
	if (syscall(SYS_statx, descriptor, "", AT_EMPTY_PATH, STATX_BTIME, &status) < 0 ||
	    !(status.stx_mask & STATX_BTIME))
		return device;
	return (uint64_t)status.stx_btime.tv_sec * K2I_SECOND_NS + status.stx_btime.tv_nsec;
}

uint32_t k2i_file_identity_hash(int descriptor, uint64_t device, uint64_t inode)
{
	const uint64_t known_by[] = {k2i_file_birth_ns(descriptor, device), inode};

	return (uint32_t)k2i_hash(known_by, sizeof(known_by));
}
