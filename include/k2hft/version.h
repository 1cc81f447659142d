/* SPDX-License-Identifier: MIT */
#ifndef K2HFT_VERSION_H
#define K2HFT_VERSION_H

#include <k2hft/visibility.h>

/* The only place where the version is written: soname, k2hft.pc, --version and the symbol map follow it. */
#define K2HFT_VERSION_MAJOR 0
#define K2HFT_VERSION_MINOR 1
#define K2HFT_VERSION_PATCH 0
#define K2HFT_VERSION_STRING "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Returns the version of the library that the program is running with, "MAJOR.MINOR.PATCH". It can be newer than that
 * of the headers that the program was compiled with. The string is static. Any thread, at any time. Since 0.1.0.
 */
K2HFT_API const char *k2hft_version_string(void);

#ifdef __cplusplus
}
#endif

#endif
