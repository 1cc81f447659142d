/* SPDX-License-Identifier: MIT */
#include "tools/verify/record.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"

#define MARKER "~k2"
#define MARKER_BYTES (sizeof(MARKER) - 1)
#define COMPACT_MARKER '!'
#define RUN_DIGITS 6u
#define CHECK_DIGITS 8u
#define COMPACT_COUNTER_DIGITS 4u
#define COMPACT_CHECK_DIGITS 3u
#define COMPACT_HEAD_BYTES (2 + COMPACT_COUNTER_DIGITS)
#define NUMBER_DIGITS_MAX 18u

static const char digits64[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
static const char digits16[] = "0123456789abcdef";

/* splitmix64's finalizer: what it gives for consecutive numbers looks independent. */
static uint64_t seed_mix(uint64_t value)
{
	value += UINT64_C(0x9e3779b97f4a7c15);
	value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
	return value ^ (value >> 31);
}

static uint64_t mix_record(uint64_t seed, const struct verify_record *record)
{
	return seed_mix(seed_mix(seed ^ ((uint64_t)record->producer << 40)) ^ record->counter);
}

void verify_text_fill(struct verify_text *text, uint64_t seed)
{
	uint64_t bits = 0;

	text->seed = seed;
	for (size_t at = 0; at < VERIFY_TEXT_BYTES; at++, bits >>= 6) {
		if (at % 10 == 0)
			bits = seed_mix(seed + at);
		text->bytes[at] = digits64[bits & 63];
	}
}

uint32_t verify_run_of(uint64_t seed)
{
	return (uint32_t)seed_mix(~seed) & VERIFY_RUN_MAX;
}

size_t verify_record_length(uint64_t seed, const struct verify_record *record, size_t minimum, size_t maximum)
{
	/* Another number than the one that chooses the payload. */
	return minimum + (size_t)(mix_record(~seed, record) % (maximum - minimum + 1));
}

static char *put_hex(char *at, uint64_t value, unsigned digits)
{
	for (unsigned left = digits; left-- > 0; value >>= 4)
		at[left] = digits16[value & 15];
	return at + digits;
}

static char *put_number(char *at, uint64_t value)
{
	char text[20];
	size_t begin = sizeof(text);

	do {
		text[--begin] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	memcpy(at, text + begin, sizeof(text) - begin);
	return at + sizeof(text) - begin;
}

static char *put_compact(char *at, uint64_t value, unsigned digits)
{
	for (unsigned left = digits; left-- > 0; value >>= 6)
		at[left] = digits64[value & 63];
	return at + digits;
}

static char *put_payload(char *at, const struct verify_text *text, uint64_t from, size_t bytes)
{
	size_t begin = (size_t)(from % VERIFY_TEXT_BYTES);

	while (bytes) {
		size_t run = bytes < VERIFY_TEXT_BYTES - begin ? bytes : VERIFY_TEXT_BYTES - begin;

		memcpy(at, text->bytes + begin, run);
		at += run;
		bytes -= run;
		begin = 0;
	}
	return at;
}

static size_t encode_compact(const struct verify_text *text, const struct verify_record *record, size_t wanted,
			     char *line)
{
	char *at = line;
	size_t payload_bytes = wanted > VERIFY_COMPACT_BYTES_MIN ? wanted - VERIFY_COMPACT_BYTES_MIN : 0;

	*at++ = COMPACT_MARKER;
	at = put_compact(at, record->producer, 1);
	at = put_compact(at, record->counter, COMPACT_COUNTER_DIGITS);
	at = put_payload(at, text, mix_record(text->seed, record), payload_bytes);
	at = put_compact(at, k2i_hash(line, (size_t)(at - line)), COMPACT_CHECK_DIGITS);
	*at++ = '\n';
	return (size_t)(at - line);
}

size_t verify_record_encode(const struct verify_text *text, const struct verify_record *record, size_t wanted,
			    char *line)
{
	char *at = line;
	size_t rest_bytes;

	if (record->run == VERIFY_RUN_NONE)
		return encode_compact(text, record, wanted, line);
	memcpy(at, MARKER, MARKER_BYTES);
	at = put_hex(at + MARKER_BYTES, record->run, RUN_DIGITS);
	*at++ = ',';
	at = put_number(at, record->producer);
	*at++ = ',';
	at = put_number(at, record->counter);
	*at++ = ',';
	rest_bytes = (size_t)(at - line) + 1 + CHECK_DIGITS + 1;
	at = put_payload(at, text, mix_record(text->seed, record), wanted > rest_bytes ? wanted - rest_bytes : 0);
	*at++ = ',';
	at = put_hex(at, k2i_hash(line, (size_t)(at - line)), CHECK_DIGITS);
	*at++ = '\n';
	return (size_t)(at - line);
}

static bool hex_digit(char byte)
{
	return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f');
}

static bool take_run(const char **at, uint32_t *run)
{
	*run = 0;
	for (unsigned digit = 0; digit < RUN_DIGITS; digit++, (*at)++) {
		if (!hex_digit(**at))
			return false;
		*run = *run << 4 | (uint32_t)(**at <= '9' ? **at - '0' : **at - 'a' + 10);
	}
	return true;
}

/* A decimal number from 1 on and the comma behind it. */
static bool take_number(const char **at, const char *end, uint64_t maximum, uint64_t *value)
{
	const char *limit = end - *at > (ptrdiff_t)NUMBER_DIGITS_MAX ? *at + NUMBER_DIGITS_MAX : end;

	if (*at == end || **at == '0')
		return false;
	*value = 0;
	for (; *at < limit && **at >= '0' && **at <= '9'; (*at)++)
		*value = *value * 10 + (uint64_t)(**at - '0');
	return *value && *value <= maximum && *at < end && *(*at)++ == ',';
}

static bool decode_long(const char *line, size_t bytes, struct verify_record *record)
{
	const char *at = line + MARKER_BYTES, *end = line + bytes - CHECK_DIGITS;
	char check[CHECK_DIGITS];
	uint64_t producer;

	(void)put_hex(check, k2i_hash(line, (size_t)(end - line)), CHECK_DIGITS);
	if (memcmp(check, end, CHECK_DIGITS) != 0)
		return false;
	/* Chance or malice can make a checksum right. */
	if (!take_run(&at, &record->run) || *at++ != ',' || !take_number(&at, end, VERIFY_PRODUCER_MAX, &producer) ||
	    !take_number(&at, end, VERIFY_COUNTER_MAX, &record->counter))
		return false;
	record->producer = (uint32_t)producer;
	return at < end && end[-1] == ',';
}

static bool take_compact(const char *at, unsigned digits, uint64_t *value)
{
	*value = 0;
	for (; digits; digits--, at++) {
		const char *digit = *at ? strchr(digits64, *at) : NULL;

		if (!digit)
			return false;
		*value = *value << 6 | (uint64_t)(digit - digits64);
	}
	return true;
}

static bool decode_compact(const char *line, size_t bytes, struct verify_record *record)
{
	char check[COMPACT_CHECK_DIGITS];
	size_t checked_bytes = bytes - COMPACT_CHECK_DIGITS;
	uint64_t producer;

	(void)put_compact(check, k2i_hash(line, checked_bytes), COMPACT_CHECK_DIGITS);
	if (memcmp(check, line + checked_bytes, COMPACT_CHECK_DIGITS) != 0 || !take_compact(line + 1, 1, &producer) ||
	    !take_compact(line + 2, COMPACT_COUNTER_DIGITS, &record->counter))
		return false;
	record->run = VERIFY_RUN_NONE;
	record->producer = (uint32_t)producer;
	return producer && record->counter;
}

bool verify_record_decode(const char *line, size_t bytes, struct verify_record *record)
{
	if (bytes + 1 >= VERIFY_RECORD_BYTES_MIN && memcmp(line, MARKER, MARKER_BYTES) == 0)
		return decode_long(line, bytes, record);
	return bytes + 1 >= VERIFY_COMPACT_BYTES_MIN && *line == COMPACT_MARKER && decode_compact(line, bytes, record);
}

bool verify_record_begins(const char *line, size_t bytes)
{
	return bytes &&
	       (*line == COMPACT_MARKER || memcmp(line, MARKER, bytes < MARKER_BYTES ? bytes : MARKER_BYTES) == 0);
}

/* `!` and `~` are common in other lines: only what goes on as a record does counts as its begin. */
static bool may_begin(const char *at, size_t bytes)
{
	uint32_t run;
	uint64_t number;

	if (*at == COMPACT_MARKER)
		return bytes >= COMPACT_HEAD_BYTES && take_compact(at + 1, 1 + COMPACT_COUNTER_DIGITS, &number);
	if (bytes <= MARKER_BYTES + RUN_DIGITS || memcmp(at, MARKER, MARKER_BYTES) != 0)
		return false;
	at += MARKER_BYTES;
	return take_run(&at, &run) && *at == ',';
}

const char *verify_record_find(const char *line, size_t bytes)
{
	/* Other lines that hold an exclamation mark are no reason to look for compact records in them. */
	bool compact = bytes && *line == COMPACT_MARKER;

	for (size_t at = 1; at < bytes; at++) {
		const char *next = memchr(line + at, compact ? COMPACT_MARKER : *MARKER, bytes - at);

		if (!next)
			return NULL;
		at = (size_t)(next - line);
		if (may_begin(next, bytes - at))
			return next;
	}
	return NULL;
}

/* Up to the last digit of its checksum, behind the fourth comma; or up to where another record may begin. */
static size_t long_span(const char *line, size_t bytes)
{
	const char *next = verify_record_find(line, bytes), *end = next ? next : line + bytes, *at = line;

	for (unsigned commas = 0; commas < 4 && at; commas++) {
		at = memchr(at, ',', (size_t)(end - at));
		at += at != NULL;
	}
	return at && end - at > (ptrdiff_t)CHECK_DIGITS ? (size_t)(at - line) + CHECK_DIGITS : (size_t)(end - line);
}

const char *verify_record_inside(const char *line, size_t bytes, size_t *record_bytes)
{
	const char *end = line + bytes;
	struct verify_record record;

	for (; line < end; line++) {
		if ((*line != *MARKER && *line != COMPACT_MARKER) || !may_begin(line, (size_t)(end - line)))
			continue;
		*record_bytes = 1;
		while (*line == COMPACT_MARKER && line + *record_bytes < end && line[*record_bytes] &&
		       strchr(digits64, line[*record_bytes]))
			++*record_bytes;
		if (*line == *MARKER)
			*record_bytes = long_span(line, (size_t)(end - line));
		if (*line == *MARKER || verify_record_decode(line, *record_bytes, &record))
			return line;
	}
	return NULL;
}

bool verify_record_marker_changed(const char *line, size_t bytes)
{
	const char *end = line + bytes - CHECK_DIGITS;
	char check[CHECK_DIGITS];

	if (bytes + 1 < VERIFY_RECORD_BYTES_MIN || end[-1] != ',')
		return false;
	(void)put_hex(check,
		      k2i_hash_pair(MARKER, MARKER_BYTES, line + MARKER_BYTES, (size_t)(end - line) - MARKER_BYTES),
		      CHECK_DIGITS);
	return memcmp(check, end, CHECK_DIGITS) == 0;
}

const char *verify_run_text(uint32_t run, char text[VERIFY_RUN_TEXT_BYTES])
{
	if (run == VERIFY_RUN_NONE)
		return "-";
	*put_hex(text, run, RUN_DIGITS) = '\0';
	return text;
}

int verify_run_parse(const char *text, uint32_t *run)
{
	if (strcmp(text, "-") == 0)
		*run = VERIFY_RUN_NONE;
	else if (strlen(text) != RUN_DIGITS || !take_run(&text, run))
		return -EINVAL;
	return 0;
}
