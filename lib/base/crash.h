/* SPDX-License-Identifier: MIT */
#ifndef K2I_BASE_CRASH_H
#define K2I_BASE_CRASH_H

/*
 * Named places (crash.def) at which a process dies as by SIGKILL, in a build that is made with K2I_CRASH_POINTS; in any
 * other they are nothing. `make check-crash` goes through them all.
 *
 * The environment variable K2HFT_CRASH names a file, the plan, which processes of such a build map and share; without
 * it they only run on. A test fills in the steps, also while they run, and reads how often each point was passed.
 */
#ifdef K2I_CRASH_POINTS

enum k2i_crash_point {
#define K2I_CRASH_POINT(name, who, need) K2I_CRASH_##name,
#include "base/crash.def"
#undef K2I_CRASH_POINT
	K2I_CRASH_COUNT
};

void k2i_crash(enum k2i_crash_point point);

#define K2I_CRASH(name) k2i_crash(K2I_CRASH_##name)

#else

#define K2I_CRASH(name) ((void)0)

#endif

#endif
