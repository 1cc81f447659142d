/* SPDX-License-Identifier: MIT */
#ifndef K2I_APP_FORMAT_PARTS_H
#define K2I_APP_FORMAT_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Declarations that the files of the format share. */

enum k2i_format_kind {
	K2I_FORMAT_LITERAL,
	K2I_FORMAT_TIME,
	K2I_FORMAT_HOST,
	K2I_FORMAT_PID,
	K2I_FORMAT_PATH,
	K2I_FORMAT_NAME,
	K2I_FORMAT_RECORD,  /* %L */
	K2I_FORMAT_TRIMMED, /* %l */
	K2I_FORMAT_JSON,    /* %J */
	K2I_FORMAT_KINDS,
};

struct k2i_format_part {
	enum k2i_format_kind kind;
	size_t at, bytes; /* LITERAL: where its text is in k2i_format.literals */
};

struct k2i_format {
	uint64_t id; /* never given twice: tells whose second a buffer has cached */
	bool plain;
	bool uses[K2I_FORMAT_KINDS];
	char *time_format; /* as k2i_time_format_compile gives it; NULL: %T is empty */
	struct k2i_format_part *parts;
	size_t part_count;
	char *literals;
};

#define K2I_TIME_TEXT_BYTES_MAX 255u
#define K2I_NANOSECONDS_DIGITS 9u

/*
 * The strftime(3) format for FILE_TIMEFORM: a byte that makes an empty result differ from one that does not fit, and the
 * byte K2I_TIME_NANOSECONDS for each `%-`. `compiled` has room for K2I_TIME_FORMAT_MORE bytes more than time_format is
 * long. -EINVAL with the reason in message: a directive that strftime does not know.
 */
#define K2I_TIME_NANOSECONDS '\1'
#define K2I_TIME_FORMAT_MORE 2u
int k2i_time_format_compile(const char *time_format, char *compiled, char *message, size_t message_room);
/* Local time with nanoseconds still as K2I_TIME_NANOSECONDS. The length, or 0 if it does not fit. */
size_t k2i_time_second(const char *compiled, time_t second, char *text, size_t room);
/* Fills in the nanoseconds. The length, or -1 if it does not fit. */
int k2i_time_text(const char *second_text, size_t second_bytes, uint32_t nanoseconds, char *output, size_t room);

/* The inside of a JSON string: at most this many bytes come out for one. */
#define K2I_JSON_GROWTH 6u
size_t k2i_json_escape(const char *text, size_t bytes, char *output);

#endif
