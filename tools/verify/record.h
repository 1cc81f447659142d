/* SPDX-License-Identifier: MIT */
#ifndef K2I_TOOLS_VERIFY_RECORD_H
#define K2I_TOOLS_VERIFY_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The records of `k2hft verify`, each a line of text, in one of two forms; H is XXH3-64 of all bytes before its digits:
 *
 *	~k2RRRRRR,PRODUCER,COUNTER,PAYLOAD,CCCCCCCC	R: run, hexadecimal; decimal numbers; C: low 32 bits of H, hexadecimal
 *	!PNNNNPAYLOADCCC				compact: digits of 6 bits; C: low 18 bits of H; no run
 *
 * A payload is letters, digits, - and _: neither `~` nor `!` is inside a record, so two of them on one line show. Pure
 * functions, any thread.
 */
struct verify_record {
	uint32_t run; /* of 24 bits; or VERIFY_RUN_NONE: the compact form */
	uint32_t producer;
	uint64_t counter;
};
#define VERIFY_RUN_MAX UINT32_C(0xffffff)
#define VERIFY_RUN_NONE UINT32_MAX
#define VERIFY_PRODUCER_MAX 65535u
#define VERIFY_COUNTER_MAX UINT64_C(999999999999999999)
#define VERIFY_COMPACT_PRODUCER_MAX 63u
#define VERIFY_COMPACT_COUNTER_MAX UINT64_C(0xffffff)

/* Lengths with line end. A record of the long form is longer than wanted if its numbers need it. */
#define VERIFY_RECORD_BYTES_MAX (64u * 1024 * 1024)
#define VERIFY_RECORD_BYTES_MIN 24u
#define VERIFY_COMPACT_BYTES_MIN 10u
#define VERIFY_RECORD_NUMBERS_BYTES_MAX 24u /* more than that */

/* Text that payloads are cut from. It is so long that LZ4, which looks back 64 KiB, seldom finds a payload again. */
#define VERIFY_TEXT_BYTES (1024u * 1024)
struct verify_text {
	uint64_t seed;
	char bytes[VERIFY_TEXT_BYTES];
};
void verify_text_fill(struct verify_text *text, uint64_t seed);

/* Decisions of a seed: the run, and how long a record is, from `minimum` to `maximum`. */
uint32_t verify_run_of(uint64_t seed);
size_t verify_record_length(uint64_t seed, const struct verify_record *record, size_t minimum, size_t maximum);

/*
 * Writes a record of `wanted` bytes, line end included; `line` has VERIFY_RECORD_NUMBERS_BYTES_MAX bytes more than that.
 * The numbers are in range. Returns its length.
 */
size_t verify_record_encode(const struct verify_text *text, const struct verify_record *record, size_t wanted,
			    char *line);

/* A line without its line end. False: it is not a record, whole and unchanged. */
bool verify_record_decode(const char *line, size_t bytes, struct verify_record *record);

/* The run as it stands in records; "-" for none. */
#define VERIFY_RUN_TEXT_BYTES 8u
const char *verify_run_text(uint32_t run, char text[VERIFY_RUN_TEXT_BYTES]);
/* -EINVAL: `text` is neither. */
int verify_run_parse(const char *text, uint32_t *run);

/* Whether the line begins as a record does. */
bool verify_record_begins(const char *line, size_t bytes);
/* The next place behind the first byte where a record may begin, or NULL. */
const char *verify_record_find(const char *line, size_t bytes);
/*
 * The next place, the first byte included, where a record may stand with other text before and behind it, and how many
 * bytes it would have there. A compact one counts if it is whole, as `!` is common in other text. NULL: there is none.
 */
const char *verify_record_inside(const char *line, size_t bytes, size_t *record_bytes);
/* Whether the line is a record but for its first bytes. */
bool verify_record_marker_changed(const char *line, size_t bytes);

#endif
