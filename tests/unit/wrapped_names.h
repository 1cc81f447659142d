/* SPDX-License-Identifier: MIT */
#ifndef K2I_TESTS_UNIT_WRAPPED_NAMES_H
#define K2I_TESTS_UNIT_WRAPPED_NAMES_H

/*
 * For tests that have a function of the C library of their own: with _FILE_OFFSET_BITS = 64 glibc calls another one
 * where a name stands that has to do with offsets, and with _TIME_BITS = 64 one that has to do with time.
 */
#include <features.h>

#ifdef __USE_FILE_OFFSET64
#define __real_fopen __real_fopen64
#define __wrap_fopen __wrap_fopen64
#define __real_fstat __real_fstat64
#define __wrap_fstat __wrap_fstat64
#define __real_fstatat __real_fstatat64
#define __wrap_fstatat __wrap_fstatat64
#define __real_ftruncate __real_ftruncate64
#define __wrap_ftruncate __wrap_ftruncate64
#define __real_mmap __real_mmap64
#define __wrap_mmap __wrap_mmap64
#define __real_open __real_open64
#define __wrap_open __wrap_open64
#define __real_pwrite __real_pwrite64
#define __wrap_pwrite __wrap_pwrite64
#endif

#if defined(__USE_TIME_BITS64) && __TIMESIZE == 32
#define __real_clock_gettime __real___clock_gettime64
#define __wrap_clock_gettime __wrap___clock_gettime64
#endif

#endif
