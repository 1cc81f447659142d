/* SPDX-License-Identifier: MIT */
#ifndef K2I_BASE_CRASH_H
#define K2I_BASE_CRASH_H

/*
 * Named places at which a process dies as by SIGKILL, in a build that is made with K2I_CRASH_POINTS; in any other they
 * are nothing. Each name stands in the table of its program: lib/base/crash.def, fuse/base/crash.def or
 * receiver/base/crash.def. `make check-crash` goes through them all.
 *
 * The environment variable K2HFT_CRASH names a file, the plan, which processes of such a build map and share; without
 * it they only run on. A test fills in the steps, also while they run.
 */
#ifdef K2I_CRASH_POINTS

void k2i_crash(const char *point);

#define K2I_CRASH(name) k2i_crash(#name)

#else

#define K2I_CRASH(name) ((void)0)

#endif

#endif
