/* SPDX-License-Identifier: MIT */
#ifndef K2I_BASE_OPTIONS_H
#define K2I_BASE_OPTIONS_H

#include <errno.h>
#include <stddef.h>
#include <string.h>

/* Structures of the public interface that begin with their own size (k2hft/k2hft.h says how they grow). */

/* Logs which field can't be what it is, since the caller is told no more than -EINVAL, which it returns. */
__attribute__((format(printf, 1, 2))) int k2i_option_refuse(const char *format, ...);

/* -EINVAL: there is none, or its size has not even room for itself. */
static inline int k2i_size_read(const void *given, size_t *bytes)
{
	if (!given)
		return -EINVAL;
	memcpy(bytes, given, sizeof(*bytes));
	return *bytes < sizeof(*bytes) ? -EINVAL : 0;
}

/*
 * The way in: fills `known`, which has `known_bytes`, from what a caller gave: fields that an older caller does not
 * have become zero; what a newer caller sets and this library does not know is -EINVAL.
 */
static inline int k2i_options_copy(void *known, size_t known_bytes, const void *given)
{
	const unsigned char *bytes = given;
	size_t given_bytes;
	int status = k2i_size_read(given, &given_bytes);

	if (status)
		return k2i_option_refuse("there are none, or their size is not set");
	for (size_t at = known_bytes; at < given_bytes; at++) {
		if (bytes[at])
			return k2i_option_refuse("a field is set that this version does not know: size = %zu, here %zu",
						 given_bytes, known_bytes);
	}
	memset(known, 0, known_bytes);
	memcpy(known, given, given_bytes < known_bytes ? given_bytes : known_bytes);
	return 0;
}

/*
 * The way out: hands `known` to a caller that has room for `size` bytes (first field of `given`), which is kept. Fields
 * that a newer caller has and this library does not know become zero.
 */
static inline int k2i_stats_copy(void *given, const void *known, size_t known_bytes)
{
	size_t given_bytes;
	int status = k2i_size_read(given, &given_bytes);

	if (status)
		return status;
	memset(given, 0, given_bytes);
	memcpy(given, known, given_bytes < known_bytes ? given_bytes : known_bytes);
	memcpy(given, &given_bytes, sizeof(given_bytes));
	return 0;
}

#endif
