/* SPDX-License-Identifier: MIT */
/*
 * Finds the text that every line has in which a regular expression matches: then lines without it need no look by
 * PCRE2. For
 *
 *	user=(root|admin) .*failed
 *
 * that is "user="; for `ERROR|WARN(ING)?: ' one of "ERROR" and "WARN". The expression has been compiled, so it is well
 * formed. Wherever it has something that is not read here, nothing is known, and PCRE2 sees every line; to know a text
 * that a matching line lacks would lose records.
 */
#include "app/rules/pattern_literal.h"

#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"

/* A single byte is in most lines. */
#define TEXT_BYTES_MIN 2u
#define DEPTH_MAX 16u

struct reader {
	const char *at, *end;
	unsigned depth;
	bool unknown; /* something that is not read here */
	bool plain;   /* nothing but texts and `|' so far */
};

/* A piece of a sequence: a character that stands for itself, a group, or something else. */
struct piece {
	size_t character_bytes; /* 0: it is not a character */
	char character[4];
	struct k2i_literals group; /* count 0: nothing is known */
};

static void alternatives_read(struct reader *reader, struct k2i_literals *known);

static int peek(const struct reader *reader, size_t ahead)
{
	return ahead < (size_t)(reader->end - reader->at) ? (unsigned char)reader->at[ahead] : -1;
}

static void advance(struct reader *reader, size_t bytes)
{
	size_t left = (size_t)(reader->end - reader->at);

	reader->at += bytes < left ? bytes : left;
}

static bool is_digit(int byte)
{
	return byte >= '0' && byte <= '9';
}

static size_t shortest(const struct k2i_literals *literals)
{
	size_t bytes = literals->count ? literals->texts[0].bytes : 0;

	for (size_t i = 1; i < literals->count; i++) {
		if (literals->texts[i].bytes < bytes)
			bytes = literals->texts[i].bytes;
	}
	return bytes;
}

/* Long texts are rare; of two as long, one is better than one of several. */
static void better_keep(struct k2i_literals *best, const struct k2i_literals *other)
{
	size_t bytes = shortest(other), best_bytes = shortest(best);

	if (bytes > best_bytes || (bytes == best_bytes && other->count < best->count))
		*best = *other;
}

static void text_end(struct k2i_literal *text, struct k2i_literals *best)
{
	struct k2i_literals one = {.count = 1};

	one.texts[0] = *text;
	if (text->bytes >= TEXT_BYTES_MIN)
		better_keep(best, &one);
	text->bytes = 0;
}

static void text_add(struct k2i_literal *text, const struct piece *piece)
{
	/* The beginning of a long text is as good as all of it. */
	for (size_t i = 0; i < piece->character_bytes && text->bytes < sizeof(text->text); i++)
		text->text[text->bytes++] = piece->character[i];
}

/* The name of a kind of bytes within a class, as [:alpha:]. */
static void class_name_read(struct reader *reader)
{
	const char *end = memmem(reader->at, (size_t)(reader->end - reader->at), ":]", 2);

	reader->unknown |= peek(reader, 1) != ':' || !end;
	for (const char *at = reader->at + 2; end && at < end; at++)
		reader->unknown |= *at != '^' && (*at < 'a' || *at > 'z');
	reader->at = end ? end + 2 : reader->end;
}

/* A class from its `[' on. A class that could end elsewhere than at the next `]' is not read. */
static void class_read(struct reader *reader)
{
	advance(reader, peek(reader, 1) == '^' ? 2 : 1);
	advance(reader, peek(reader, 0) == ']');
	while (peek(reader, 0) >= 0 && peek(reader, 0) != ']') {
		int byte = peek(reader, 0), next = peek(reader, 1);

		if (byte == '[' && next >= 0 && strchr(":.=", next)) {
			class_name_read(reader);
			continue;
		}
		if (byte == '\\')
			reader->unknown |= next < 0 || strchr("cQE", next) != NULL;
		advance(reader, byte == '\\' ? 2 : 1);
	}
	advance(reader, 1);
}

static void escape_read(struct reader *reader, struct piece *piece)
{
	int next = peek(reader, 1);

	advance(reader, 2);
	if (next >= 0x80 || next <= 0x20 || next == 0x7f) {
		reader->unknown = true;
	} else if (is_digit(next) || (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z')) {
		/* Those stand for one byte of some kind, a line end, or a place. */
		reader->unknown |= strchr("dDwWsShHvVRbBAzZGntrfea", next) == NULL;
	} else {
		piece->character_bytes = 1;
		piece->character[0] = (char)next;
	}
}

static void group_read(struct reader *reader, struct piece *piece)
{
	advance(reader, 1);
	if (peek(reader, 0) == '?' && peek(reader, 1) == ':')
		advance(reader, 2);
	else if (peek(reader, 0) == '?' || peek(reader, 0) == '*')
		reader->unknown = true;
	if (++reader->depth > DEPTH_MAX)
		reader->unknown = true;
	if (!reader->unknown)
		alternatives_read(reader, &piece->group);
	reader->depth--;
	advance(reader, 1);
}

/* The quantifier at the reader, which is left behind it: whether there is one; `*optional`: none at all will do. */
static bool quantifier_read(struct reader *reader, bool *optional)
{
	int sign = peek(reader, 0);
	size_t length = 1;

	*optional = sign == '*' || sign == '?';
	if (sign == '{') {
		int next = peek(reader, 1);

		if (!is_digit(next)) {
			/* The meaning of {,3} and { 3 } depends on the version of PCRE2. */
			reader->unknown |= next == ',' || next == ' ' || next == '\t';
			return false;
		}
		for (*optional = true; is_digit(peek(reader, length)); length++)
			*optional = *optional && peek(reader, length) == '0';
		/* With two commas it is text. */
		length += peek(reader, length) == ',';
		while (is_digit(peek(reader, length)))
			length++;
		reader->unknown |= peek(reader, length) != '}';
		length++;
	} else if (sign != '*' && sign != '?' && sign != '+') {
		return false;
	}
	advance(reader, length);
	advance(reader, peek(reader, 0) == '?' || peek(reader, 0) == '+');
	return true;
}

static void piece_read(struct reader *reader, struct piece *piece)
{
	const size_t left = (size_t)(reader->end - reader->at);

	memset(piece, 0, sizeof(*piece));
	switch (*reader->at) {
	case '(':
		group_read(reader, piece);
		return;
	case '[':
		class_read(reader);
		return;
	case '\\':
		escape_read(reader, piece);
		return;
	case '.':
	case '^':
	case '$':
		reader->at++;
		return;
	default:
		/* A quantifier repeats the whole character. */
		piece->character_bytes = k2i_utf8_length((const unsigned char *)reader->at, left);
		if (!piece->character_bytes)
			piece->character_bytes = 1;
		memcpy(piece->character, reader->at, piece->character_bytes);
		reader->at += piece->character_bytes;
	}
}

static void sequence_read(struct reader *reader, struct k2i_literals *best)
{
	struct k2i_literal text = {.bytes = 0};
	struct piece piece;
	size_t pieces = 0;

	best->count = 0;
	while (!reader->unknown && reader->at < reader->end && *reader->at != '|' && *reader->at != ')') {
		bool optional, repeated, known;

		piece_read(reader, &piece);
		repeated = quantifier_read(reader, &optional);
		/* A line has no LF; a text with one could be found across two. */
		known = piece.character_bytes && piece.character[0] != '\n';
		if (known && !(repeated && optional))
			text_add(&text, &piece);
		pieces += piece.character_bytes ? piece.character_bytes : 1;
		if (!known || repeated)
			text_end(&text, best);
		if (piece.group.count && !(repeated && optional))
			better_keep(best, &piece.group);
	}
	/* Each piece has put its bytes there, and none has ended it. */
	reader->plain &= pieces == text.bytes;
	text_end(&text, best);
}

static void alternatives_read(struct reader *reader, struct k2i_literals *known)
{
	struct k2i_literals sequence;
	bool lacks = false;

	known->count = 0;
	for (;;) {
		sequence_read(reader, &sequence);
		lacks |= sequence.count == 0 || known->count + sequence.count > K2I_LITERALS_MAX;
		for (size_t i = 0; i < sequence.count && !lacks; i++)
			known->texts[known->count++] = sequence.texts[i];
		if (reader->unknown || peek(reader, 0) != '|')
			break;
		reader->at++;
	}
	if (lacks || reader->unknown)
		known->count = 0;
}

bool k2i_literals_find(const char *regex, size_t bytes, struct k2i_literals *literals)
{
	struct reader reader = {.at = regex, .end = regex + bytes, .plain = true};

	alternatives_read(&reader, literals);
	if (reader.unknown || reader.at != reader.end)
		literals->count = 0;
	return literals->count && reader.plain;
}

bool k2i_regex_takes_all(const char *regex, size_t bytes)
{
	struct reader reader = {.at = regex, .end = regex + bytes};
	bool begins = peek(&reader, 0) == '^', any;

	advance(&reader, begins);
	any = peek(&reader, 0) == '.' && peek(&reader, 1) == '*';
	advance(&reader, any ? 2 : 0);
	/* Both ends of a line with nothing between them are those of an empty one. */
	if (peek(&reader, 0) == '$' && (any || !begins))
		advance(&reader, 1);
	return reader.at == reader.end;
}
