/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <string.h>

const char *k2i_text_error(int error)
{
	return strerror(-error);
}

const char *k2i_text_uuid(const uint8_t uuid[16], char text[K2I_TEXT_UUID_ROOM])
{
	static const char digits[] = "0123456789abcdef";
	char *end = text;
	unsigned i;

	for (i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*end++ = '-';
		*end++ = digits[uuid[i] >> 4];
		*end++ = digits[uuid[i] & 15];
	}
	*end = '\0';
	return text;
}

const char *k2i_text_clean(const char *input, char *output, size_t room)
{
	size_t i;

	for (i = 0; i + 1 < room && input[i]; i++)
		output[i] = (unsigned char)input[i] < 0x20 || input[i] == 0x7f ? '?' : input[i];
	output[i] = '\0';
	return output;
}
