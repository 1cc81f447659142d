/* SPDX-License-Identifier: MIT */
#include "base/text.h"

static bool ascii_control(char byte)
{
	return (unsigned char)byte < 0x20 || byte == 0x7f;
}

unsigned k2i_text_control_bytes(const char *text)
{
	if (ascii_control(text[0]))
		return 1;
	return text[0] == '\xc2' && (unsigned char)text[1] >= 0x80 && (unsigned char)text[1] < 0xa0 ? 2 : 0;
}

void k2i_text_controls_mask(char *text)
{
	for (; *text; text++) {
		unsigned control = k2i_text_control_bytes(text);

		if (control)
			text[0] = text[control - 1] = '?';
	}
}

bool k2i_text_plain(const char *text)
{
	while (*text && !ascii_control(*text))
		text++;
	return !*text;
}
