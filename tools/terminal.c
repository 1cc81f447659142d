/* SPDX-License-Identifier: MIT */
#include "terminal.h"

/* How many bytes of a text are a control character, of ASCII or of U+0080 to U+009F. */
static unsigned control_bytes(const char *text)
{
	unsigned char byte = (unsigned char)text[0];

	if (byte < 0x20 || byte == 0x7f)
		return 1;
	return text[0] == '\xc2' && (unsigned char)text[1] >= 0x80 && (unsigned char)text[1] < 0xa0 ? 2 : 0;
}

void text_show(FILE *output, const char *text, bool lines)
{
	unsigned control;

	for (; *text; text += control ? control : 1) {
		control = lines && *text == '\n' ? 0 : control_bytes(text);
		(void)fputc(control ? '?' : *text, output);
	}
}

void text_clean(char *text)
{
	for (; *text; text++) {
		unsigned control = control_bytes(text);

		if (control)
			text[0] = text[control - 1] = '?';
	}
}
