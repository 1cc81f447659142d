/* SPDX-License-Identifier: MIT */
#ifndef K2I_TESTS_MODEL_SHIM_CALLS_H
#define K2I_TESTS_MODEL_SHIM_CALLS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Where in the source an access is: the function and the text that names the word. */
struct model_site {
	const char *function, *word;
};

uint64_t model_load(struct model_site site, const void *word, memory_order order);
void model_store(struct model_site site, void *word, uint64_t value, memory_order order);
uint64_t model_add(struct model_site site, void *word, uint64_t value, memory_order order);
uint64_t model_exchange(struct model_site site, void *word, uint64_t value, memory_order order);
_Bool model_compare_exchange(struct model_site site, void *word, void *expected, size_t bytes, uint64_t value,
			     memory_order order);
ssize_t model_wake(void);
ssize_t model_wake_taken(void);
long model_futex(const void *word, int operation, uint32_t value);
void *model_calloc(size_t count, size_t bytes);
void *model_malloc(size_t bytes);
void model_free(const void *memory);

#endif
