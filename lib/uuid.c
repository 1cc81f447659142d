/* SPDX-License-Identifier: MIT */
#include "uuid.h"

const char *k2i_uuid_text(const uint8_t uuid[16], char text[K2I_UUID_TEXT_BYTES])
{
	static const char digits[] = "0123456789abcdef";
	char *end = text;

	for (unsigned at = 0; at < 16; at++) {
		if (at == 4 || at == 6 || at == 8 || at == 10)
			*end++ = '-';
		*end++ = digits[uuid[at] >> 4];
		*end++ = digits[uuid[at] & 15];
	}
	*end = '\0';
	return text;
}
