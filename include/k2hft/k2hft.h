/* SPDX-License-Identifier: MIT */
#ifndef K2HFT_K2HFT_H
#define K2HFT_K2HFT_H

/*
 * libk2hft sends records from one machine to a file on another: in order, exactly as written, once. libk2hft(7) is the
 * overview; each function has a page in section 3. Most programs need k2hft/sender.h only.
 *
 * Errors. A function returns 0 or a count, or a negative error number (-errno) on failure; errno itself is left as it
 * was. Results are stored through pointers. On failure a handle is left unchanged, and what a structure then contains
 * is undefined. Pointers must not be NULL unless a comment allows it. The library never prints anything and never ends
 * the process; its messages go to the callback of k2hft/log.h.
 *
 * Structures. A structure of options begins with its own size, which the caller sets with sizeof or by K2HFT_..._INIT
 * behind the structure; every other field may be zero, which is its default, unless a comment says otherwise. If the
 * structure is larger than this library's, as that of a newer program can be, the fields that this library does not
 * know must be zero, else -EINVAL. A structure of statistics begins with its size in the same way; fields that this
 * library does not know come out as zero. A structure without a size does not change as long as the soname does not.
 * Strings in options are copied; what is written is copied into the ring at once.
 *
 * Threads. Any number of threads may use a sender or a ring at the same time, except for the functions of a ring that
 * are for its consumer only. A writer, a producer, and a client that has no thread of its own are for one thread at a
 * time. No function may be called in a signal handler.
 *
 * fork. A child must not use, or even close, anything that its parent opened; it opens or attaches for itself. All
 * descriptors of the library close on exec, but for those by which OpenSSL reads certificates.
 *
 * Lifetimes. Objects are closed before those that they were opened from: writers before their sender, producers and the
 * client before their ring.
 */
#include <k2hft/version.h>
#include <k2hft/log.h>
#include <k2hft/ring.h>
#include <k2hft/frame.h>
#include <k2hft/client.h>
#include <k2hft/sender.h>

#endif
