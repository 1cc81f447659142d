/* SPDX-License-Identifier: MIT */
#include "tools/base/terminal.h"

#include "base/text.h"

void text_show(FILE *output, const char *text, bool lines)
{
	unsigned control;

	for (; *text; text += control ? control : 1) {
		control = lines && *text == '\n' ? 0 : k2i_text_control_bytes(text);
		(void)fputc(control ? '?' : *text, output);
	}
}
