/* SPDX-License-Identifier: MIT */
/*
 * Regular expressions by PCRE2. K2HFTFUSE promises those of POSIX, extended; what is written in such files means the
 * same here, but for these:
 *
 *	a|ab		the first alternative that matches, not the longest
 *	[\d]		a digit, not a backslash or d
 *	\<  \>		those signs; the border of a word is \b
 *	a{,3}		as it stands, before PCRE2 10.43; up to three is a{0,3}
 *	a*?  a{2}+	as few as will do; as many as there are, and none of them is given back
 *
 * The line end is not part of the subject, so $ stands before it. A subject may hold any bytes. Where it and the
 * expression are valid UTF-8, `.' and each member of a class are a character; else they are a byte. Both meanings are
 * compiled: an expression that never matched a byte that is not UTF-8 would lose lines in Latin-1, and in a line of ASCII
 * an expression of ASCII finds the same both ways, so it is matched as bytes, which is faster.
 */
#include "app/rules/pattern.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/utf8.h"

/*
 * A match may take this many steps, and some for each byte, since an honest expression can need a few on each. A match
 * of an expression with nested repetition is over after some ten milliseconds, also on a record that was written for
 * it.
 */
#define STEPS_MIN 1000000u
#define STEPS_PER_BYTE 16u
/* Address space; memory is taken as a match needs it. Enough for a group that is repeated 1 Mi times, LINEMAX's most. */
#define JIT_STACK_BYTES_MIN (32u * 1024)
#define JIT_STACK_BYTES_MAX (64u * 1024 * 1024)

/* A compiled meaning of an expression. */
struct meaning {
	pcre2_code *code;
	bool jit; /* compiled to instructions of the processor */
};

struct k2i_regex {
	struct meaning bytes;      /* code NULL: the expression names a character that no byte is, as \x{100} does */
	struct meaning characters; /* code NULL: the expression is not valid UTF-8 */
	uint32_t group_count;
	bool ascii; /* the expression */
};

struct k2i_regex_scratch {
	pcre2_match_data *data;
	pcre2_match_context *context;
	pcre2_jit_stack *stack;
};

static int meaning_compile(const char *text, size_t bytes, uint32_t options, struct meaning *meaning, PCRE2_SIZE *at)
{
	int error = 0;

	meaning->code =
		pcre2_compile((PCRE2_SPTR)text, bytes, PCRE2_DOTALL | PCRE2_DOLLAR_ENDONLY | options, &error, at, NULL);
	if (!meaning->code)
		return error;
	/* Where memory can't be made executable this fails, and pcre2_match works without. */
	meaning->jit = pcre2_jit_compile(meaning->code, PCRE2_JIT_COMPLETE) == 0;
	return 0;
}

static int meanings_compile(struct k2i_regex *regex, const char *text, size_t bytes, bool any_case, PCRE2_SIZE *at)
{
	const uint32_t options = any_case ? PCRE2_CASELESS : 0;
	const enum k2i_utf8_kind kind = k2i_utf8_kind(text, bytes);
	const bool valid = kind != K2I_UTF8_NOT;
	int error = valid ? meaning_compile(text, bytes, options | PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF,
					    &regex->characters, at)
			  : 0;

	if (error)
		return error;
	regex->ascii = kind == K2I_UTF8_ASCII;
	error = meaning_compile(text, bytes, options | PCRE2_NEVER_UTF | PCRE2_NEVER_UCP, &regex->bytes, at);
	/* `\x{100}' */
	return error == PCRE2_ERROR_CODE_POINT_TOO_BIG && valid ? 0 : error;
}

int k2i_regex_compile(const char *text, size_t bytes, bool any_case, struct k2i_regex **regex, char *message,
		      size_t message_room)
{
	struct k2i_regex *made = calloc(1, sizeof(*made));
	PCRE2_UCHAR reason[128];
	PCRE2_SIZE at = 0;
	int error;

	if (!made)
		return -ENOMEM;
	error = meanings_compile(made, text, bytes, any_case, &at);
	if (error) {
		k2i_regex_free(made);
		if (error == PCRE2_ERROR_HEAP_FAILED)
			return -ENOMEM;
		(void)pcre2_get_error_message(error, reason, sizeof(reason));
		(void)snprintf(message, message_room, "regular expression: %s, at byte %zu of `%.*s'",
			       (const char *)reason, (size_t)at + 1, (int)(bytes < 200 ? bytes : 200), text);
		return -EINVAL;
	}
	(void)pcre2_pattern_info(made->bytes.code ? made->bytes.code : made->characters.code, PCRE2_INFO_CAPTURECOUNT,
				 &made->group_count);
	*regex = made;
	return 0;
}

void k2i_regex_free(struct k2i_regex *regex)
{
	if (!regex)
		return;
	pcre2_code_free(regex->bytes.code);
	pcre2_code_free(regex->characters.code);
	free(regex);
}

unsigned k2i_regex_groups(const struct k2i_regex *regex)
{
	return regex->group_count;
}

int k2i_regex_scratch_create(struct k2i_regex_scratch **scratch)
{
	struct k2i_regex_scratch *made = calloc(1, sizeof(*made));

	if (!made)
		return -ENOMEM;
	made->data = pcre2_match_data_create(K2I_GROUPS_MAX, NULL);
	made->context = pcre2_match_context_create(NULL);
	made->stack = pcre2_jit_stack_create(JIT_STACK_BYTES_MIN, JIT_STACK_BYTES_MAX, NULL);
	if (!made->data || !made->context) {
		k2i_regex_scratch_free(made);
		return -ENOMEM;
	}
	/* Without a stack of its own the JIT uses 32 KiB of the thread's. */
	if (made->stack)
		pcre2_jit_stack_assign(made->context, NULL, made->stack);
	*scratch = made;
	return 0;
}

void k2i_regex_scratch_free(struct k2i_regex_scratch *scratch)
{
	if (!scratch)
		return;
	pcre2_match_data_free(scratch->data);
	pcre2_match_context_free(scratch->context);
	pcre2_jit_stack_free(scratch->stack);
	free(scratch);
}

static void groups_read(const struct k2i_regex *regex, struct k2i_regex_scratch *scratch,
			struct k2i_regex_group groups[K2I_GROUPS_MAX])
{
	const PCRE2_SIZE *offsets = pcre2_get_ovector_pointer(scratch->data);

	for (uint32_t i = 0; i < K2I_GROUPS_MAX; i++) {
		bool took_part = i <= regex->group_count && offsets[2 * i] != PCRE2_UNSET;

		/* Before 10.38, \K in a look-ahead could put the begin of a match behind its end. */
		groups[i].begin = took_part ? offsets[2 * i] : 0;
		groups[i].end =
			took_part && offsets[2 * i + 1] >= groups[i].begin ? offsets[2 * i + 1] : groups[i].begin;
	}
}

static const struct meaning *meaning_choose(const struct k2i_regex *regex, const char *subject, size_t bytes)
{
	if (!regex->characters.code)
		return &regex->bytes;
	if (!regex->bytes.code)
		return &regex->characters;
	switch (k2i_utf8_kind(subject, bytes)) {
	case K2I_UTF8_ASCII:
		return regex->ascii ? &regex->bytes : &regex->characters;
	case K2I_UTF8_VALID:
		return &regex->characters;
	default:
		return &regex->bytes;
	}
}

int k2i_regex_match(const struct k2i_regex *regex, struct k2i_regex_scratch *scratch, const char *subject, size_t bytes,
		    struct k2i_regex_group *groups)
{
	const size_t steps_more = bytes < UINT32_MAX / 2 / STEPS_PER_BYTE ? bytes * STEPS_PER_BYTE : UINT32_MAX / 2;
	const struct meaning *meaning = meaning_choose(regex, subject, bytes);
	int result;

	(void)pcre2_set_match_limit(scratch->context, STEPS_MIN + (uint32_t)steps_more);
	/* pcre2_match would come to the same, behind checks that cost as much as a short line. */
	result = (meaning->jit ? pcre2_jit_match : pcre2_match)(meaning->code, (PCRE2_SPTR)subject, bytes, 0, 0,
								scratch->data, scratch->context);
	if (result >= 0) {
		if (groups)
			groups_read(regex, scratch, groups);
		return 1;
	}
	if (result == PCRE2_ERROR_NOMATCH)
		return 0;
	return result == PCRE2_ERROR_NOMEMORY ? -ENOMEM : -ELOOP;
}
