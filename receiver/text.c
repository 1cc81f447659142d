/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <string.h>

const char *k2i_text_error(int error)
{
	return strerror(-error);
}

const char *k2i_text_clean(const char *input, char *output, size_t room)
{
	size_t i;

	for (i = 0; i + 1 < room && input[i]; i++)
		output[i] = (unsigned char)input[i] < 0x20 || input[i] == 0x7f ? '?' : input[i];
	output[i] = '\0';
	return output;
}
