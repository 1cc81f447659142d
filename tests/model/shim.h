/* SPDX-License-Identifier: MIT */
#ifndef K2I_TESTS_MODEL_SHIM_H
#define K2I_TESTS_MODEL_SHIM_H

/*
 * Included in front of each of the ring's sources when they are compiled for the model: every atomic access and every
 * system call of theirs becomes a call of the model. Headers that they include come first, so that nothing but their
 * own text is changed.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "shim_calls.h"

#undef atomic_load_explicit
#undef atomic_store_explicit
#undef atomic_exchange_explicit
#undef atomic_fetch_add_explicit
#undef atomic_fetch_sub_explicit
#undef atomic_compare_exchange_strong_explicit
#undef atomic_compare_exchange_weak_explicit

#define MODEL_SITE(word) ((struct model_site){__func__, #word})
#define MODEL_VALUE(word, value) ((__typeof__(+*(word)))(value))
#define atomic_load_explicit(word, order) MODEL_VALUE(word, model_load(MODEL_SITE(word), word, order))
#define atomic_store_explicit(word, value, order) model_store(MODEL_SITE(word), word, value, order)
#define atomic_exchange_explicit(word, value, order)                                                                   \
	MODEL_VALUE(word, model_exchange(MODEL_SITE(word), word, value, order))
#define atomic_fetch_add_explicit(word, value, order) MODEL_VALUE(word, model_add(MODEL_SITE(word), word, value, order))
#define atomic_fetch_sub_explicit(word, value, order)                                                                  \
	MODEL_VALUE(word, model_add(MODEL_SITE(word), word, UINT64_C(0) - (value), order))
#define atomic_compare_exchange_strong_explicit(word, expected, value, order, failed)                                  \
	model_compare_exchange(MODEL_SITE(word), word, expected, sizeof(*(expected)), value, order)
#define atomic_compare_exchange_weak_explicit atomic_compare_exchange_strong_explicit

#define write(descriptor, bytes, byte_count) ((void)(bytes), model_wake())
#define pwrite(descriptor, bytes, byte_count, at) ((void)(bytes), (void)(at), model_wake())
#define read(descriptor, bytes, byte_count) ((void)(bytes), model_wake_taken())
#define syscall(number, word, operation, value, timeout, second, mask)                                                 \
	((void)(timeout), model_futex(word, operation, value))
#define clock_gettime(clock, now) ((void)(clock), (void)memset(now, 0, sizeof(*(now))))
#define calloc(count, bytes) model_calloc(count, bytes)
#define malloc(bytes) model_malloc(bytes)
#define free(memory) model_free(memory)

#endif
