/* SPDX-License-Identifier: MIT */
#ifndef K2HFT_K2HFT_H
#define K2HFT_K2HFT_H

/*
 * libk2hft: records from one machine to a file on another, in order, exactly as written, once.
 *
 * The one error rule: a function returns 0 or a count, and -errno on failure; errno itself is not touched. Results
 * come by out-parameter. The library never prints and never exits; see k2hft/log.h for its messages.
 *
 * An options structure begins with its own size, set by the caller to sizeof; all other fields zero means defaults.
 * A larger structure from a newer program is taken if what this library does not know is zero, else -EINVAL. So does
 * a structure of statistics begin: what this library does not know of a larger one comes out as zero. One without a
 * size does not change as long as the soname does not.
 * Strings in options are copied; what is written is copied into the ring at once.
 *
 * Threads: a sender and a ring are for any, but for what a ring's function says is for its consumer only; a writer, a
 * producer and a client that no thread runs for one at a time. No function may be called in a signal handler. After
 * fork() the child uses nothing that the parent has opened, but opens or attaches itself; descriptors close on exec.
 * What was opened from something is closed before it: writers before their sender, producers and client before their
 * ring.
 *
 * Most programs need k2hft/sender.h only.
 */
#include <k2hft/version.h>
#include <k2hft/log.h>
#include <k2hft/ring.h>
#include <k2hft/frame.h>
#include <k2hft/client.h>
#include <k2hft/sender.h>

#endif
