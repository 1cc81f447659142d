/* SPDX-License-Identifier: MIT */
/*
 * Lines for `k2hft verify`: records whole, damaged, joined and torn. The input: a byte of flags, then lines,
 * whose checksums are put right unless the flags say that they be left.
 */
#include "tools/verify/tally.h"
#include "fuzz.h"
#include "base/hash.h"

#define LEAVE 1u
#define ONLY 2u
#define PREFIX 4u
#define EXPECT 8u
#define FEW 16u /* findings are kept */
#define ONE_RUN 32u
#define INSIDE 64u

#define LONG_CHECK_DIGITS 8u
#define COMPACT_CHECK_DIGITS 3u

static void line_mend(char *line, size_t bytes)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
	char check[LONG_CHECK_DIGITS + 1];

	if (bytes > LONG_CHECK_DIGITS + 3 && memcmp(line, "~k2", 3) == 0) {
		(void)snprintf(check, sizeof(check), "%08x", (unsigned)k2i_hash(line, bytes - LONG_CHECK_DIGITS));
		memcpy(line + bytes - LONG_CHECK_DIGITS, check, LONG_CHECK_DIGITS);
	} else if (bytes > COMPACT_CHECK_DIGITS + 1 && *line == '!') {
		uint64_t hash = k2i_hash(line, bytes - COMPACT_CHECK_DIGITS);

		for (unsigned left = 1; left <= COMPACT_CHECK_DIGITS; left++, hash >>= 6)
			line[bytes - left] = digits[hash & 63];
	}
}

/* A record that is written is the one that is read, and with a byte changed it is none. */
static void record_check(const struct verify_record *record, size_t wanted)
{
	static struct verify_text text;
	char line[256 + VERIFY_RECORD_NUMBERS_BYTES_MAX];
	struct verify_record again = {0};
	size_t bytes;

	if (!text.seed)
		verify_text_fill(&text, 7);
	bytes = verify_record_encode(&text, record, wanted, line);
	fuzz_check(bytes <= wanted + VERIFY_RECORD_NUMBERS_BYTES_MAX && bytes <= sizeof(line));
	fuzz_check(line[bytes - 1] == '\n');
	fuzz_check(verify_record_decode(line, bytes - 1, &again));
	fuzz_check(again.run == record->run && again.producer == record->producer && again.counter == record->counter);
	line[bytes - 2] ^= 1;
	fuzz_check(!verify_record_decode(line, bytes - 1, &again));
}

static void line_run(struct verify_tally *tally, const char *text, size_t bytes, bool ended, bool mend)
{
	char *copy = (char *)fuzz_copy(text, bytes);
	struct verify_line line = {.bytes = copy, .count = bytes, .ended = ended, .file = "file"};
	struct verify_record record = {0};

	if (mend)
		line_mend(copy, bytes);
	if (verify_record_decode(copy, bytes, &record)) {
		fuzz_check(record.producer > 0 && record.counter > 0);
		fuzz_check(verify_record_begins(copy, bytes));
		record_check(&record, 24 + bytes % 200);
	}
	(void)verify_record_marker_changed(copy, bytes);
	fuzz_check(verify_tally_line(tally, &line) == 0);
	if (bytes >= 16)
		fuzz_check(verify_tally_long_line(tally, &line, bytes) == 0);
	free(copy);
}

/* Every record has come in order, late, once more, or was not expected; what lies between those that came is missing. */
static void sequence_check(const struct verify_sequence *sequence)
{
	uint64_t came = sequence->records - sequence->repeated - sequence->extra;
	uint64_t behind = sequence->missing - sequence->missing_tail;

	fuzz_check(sequence->records >= sequence->repeated + sequence->late + sequence->extra);
	fuzz_check(sequence->gaps.next - sequence->gaps.first == came + behind);
	for (size_t at = 0; at < sequence->gaps.count; at++) {
		const struct verify_range *range = &sequence->gaps.ranges[at];

		fuzz_check(range->from <= range->to && range->from >= sequence->gaps.first);
		fuzz_check(at == 0 || range[-1].to + 1 < range->from);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned flags = size ? data[0] : 0;
	struct verify_options options = {
		.first = 1,
		.only = flags & ONLY,
		.prefix = flags & PREFIX,
		.inside = flags & INSIDE,
		.expected_all = flags & EXPECT ? 5 : VERIFY_ANY_NUMBER,
		.producers = flags & EXPECT ? 2 : 0,
		.limit = flags & FEW ? 2 : 100,
		.run_text = flags & ONE_RUN ? "00000a" : NULL,
		.run = 10,
	};
	struct verify_tally tally;
	const char *text = (const char *)data + 1, *end = (const char *)data + size;

	if (size == 0)
		return 0;
	verify_tally_init(&tally, &options);
	while (text < end) {
		const char *line_end = memchr(text, '\n', (size_t)(end - text));
		size_t bytes = (size_t)((line_end ? line_end : end) - text);

		line_run(&tally, text, bytes, line_end != NULL, !(flags & LEAVE));
		text += bytes + 1;
	}
	fuzz_check(verify_tally_end(&tally) == 0);
	for (size_t at = 0; at < tally.sequence_count; at++)
		sequence_check(tally.sequences[at]);
	verify_tally_free(&tally);
	return 0;
}
