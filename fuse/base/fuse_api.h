/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_BASE_FUSE_API_H
#define K2I_FUSE_BASE_FUSE_API_H

/* libfuse 3.14 (Debian 12), in one place. */
#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>
#include <fuse_opt.h>
#if FUSE_VERSION < FUSE_MAKE_VERSION(3, 14)
#error "libfuse is too old: 3.14 or newer is needed"
#endif

#endif
