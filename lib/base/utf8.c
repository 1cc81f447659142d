/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

#define HIGH_BITS UINT64_C(0x8080808080808080)

size_t k2i_utf8_length(const unsigned char *text, size_t bytes)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t length;

	if (bytes < 2 || text[0] < 0xc2 || text[0] > 0xf4)
		return 0;
	length = text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
	if (length > bytes)
		return 0;
	if (text[0] == 0xe0)
		low = 0xa0; /* not longer than needed */
	else if (text[0] == 0xed)
		high = 0x9f; /* no surrogates */
	else if (text[0] == 0xf0)
		low = 0x90;
	else if (text[0] == 0xf4)
		high = 0x8f;
	if (text[1] < low || text[1] > high)
		return 0;
	for (size_t i = 2; i < length; i++) {
		if (text[i] < 0x80 || text[i] > 0xbf)
			return 0;
	}
	return length;
}

/* Bytes at `text` before the first that is not ASCII: eight at a time, since most logs have no other. */
static size_t ascii_length(const char *text, size_t bytes)
{
	size_t at = 0;
	uint64_t word;

	for (; bytes - at >= sizeof(word); at += sizeof(word)) {
		memcpy(&word, text + at, sizeof(word));
		if (word & HIGH_BITS)
			break;
	}
	while (at < bytes && (unsigned char)text[at] < 0x80)
		at++;
	return at;
}

enum k2i_utf8_kind k2i_utf8_kind(const char *text, size_t bytes)
{
	size_t at = ascii_length(text, bytes);

	if (at == bytes)
		return K2I_UTF8_ASCII;
	while (at < bytes) {
		size_t length = k2i_utf8_length((const unsigned char *)text + at, bytes - at);

		if (!length)
			return K2I_UTF8_NOT;
		at += length;
		at += ascii_length(text + at, bytes - at);
	}
	return K2I_UTF8_VALID;
}

size_t k2i_utf8_cut(const char *text, size_t bytes, size_t at)
{
	const unsigned char *begin = (const unsigned char *)text;

	for (size_t back = 1; back < 4 && back <= at; back++) {
		unsigned char first = begin[at - back];
		size_t left = bytes - at + back, length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

		if (first < 0x80)
			break;
		if (first < 0xc2 || first > 0xf4)
			continue;
		/* The bytes between are of no other character: the loop has passed them. */
		if (length > back && (length > left || k2i_utf8_length(begin + at - back, left)))
			return at - back;
		break;
	}
	return at;
}
