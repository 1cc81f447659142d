/* SPDX-License-Identifier: MIT */
#include "receiver/base/text.h"

#include <string.h>

#include "base/text.h"

const char *k2i_text_error(int error)
{
	return strerror(-error);
}

const char *k2i_text_clean(const char *input, char *output, size_t room)
{
	size_t bytes = strnlen(input, room - 1);

	memmove(output, input, bytes);
	output[bytes] = '\0';
	k2i_text_controls_mask(output);
	return output;
}
