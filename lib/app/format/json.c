/* SPDX-License-Identifier: MIT */
#include "app/format/parts.h"

#include <string.h>

#include "base/utf8.h"

#define REPLACEMENT "\\ufffd"

static bool passes(unsigned char byte)
{
	return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

/* A control character, quote or backslash; returns how many bytes it became. */
static size_t escape_one(unsigned char byte, char *output)
{
	static const char digits[] = "0123456789abcdef";
	static const char letters[] = "\b\f\n\r\t\"\\", names[] = "bfnrt\"\\";
	const char *letter = byte ? strchr(letters, byte) : NULL;

	output[0] = '\\';
	if (letter) {
		output[1] = names[letter - letters];
		return 2;
	}
	memcpy(output + 1, "u00", 3);
	output[4] = digits[byte >> 4];
	output[5] = digits[byte & 15];
	return 6;
}

/* The compiler makes a few vector instructions of such a size. */
#define BLOCK_BYTES 32u

/* Whether all of a block goes out as it is. Those from 0x80 on are negative as a signed char, so below 0x20 too. */
static bool block_passes(const unsigned char *at)
{
	unsigned char stops = 0;

	for (size_t i = 0; i < BLOCK_BYTES; i++)
		stops |= (unsigned char)(((signed char)at[i] < 0x20) | (at[i] == '"') | (at[i] == '\\'));
	return stops == 0;
}

/* Copies what goes out as it is; returns how much. A block is looked at and copied in one go, while it is in registers. */
static size_t run_copy(const unsigned char *at, const unsigned char *end, char *out)
{
	const unsigned char *from = at;

	while ((size_t)(end - at) >= BLOCK_BYTES && block_passes(at)) {
		memcpy(out, at, BLOCK_BYTES);
		at += BLOCK_BYTES;
		out += BLOCK_BYTES;
	}
	while (at < end && passes(*at))
		*out++ = (char)*at++;
	return (size_t)(at - from);
}

size_t k2i_json_escape(const char *text, size_t bytes, char *output)
{
	const unsigned char *at = (const unsigned char *)text, *end = at + bytes;
	char *out = output;

	while (at < end) {
		size_t length = run_copy(at, end, out);

		at += length;
		out += length;
		if (at == end)
			break;
		if (*at < 0x80) {
			out += escape_one(*at++, out);
			continue;
		}
		length = k2i_utf8_length(at, (size_t)(end - at));
		if (length == 0) {
			memcpy(out, REPLACEMENT, sizeof(REPLACEMENT) - 1);
			out += sizeof(REPLACEMENT) - 1;
			at++;
			continue;
		}
		memcpy(out, at, length);
		out += length;
		at += length;
	}
	return (size_t)(out - output);
}
