/* SPDX-License-Identifier: MIT */
#include "tools/base/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

static bool is_set(const char *text)
{
	return text && *text;
}

static bool has_colours(FILE *output)
{
	const char *terminal = getenv("TERM");

	return !is_set(getenv("NO_COLOR")) && is_set(terminal) && strcmp(terminal, "dumb") != 0 &&
	       isatty(fileno(output));
}

void colour_begin(FILE *output, enum colour colour)
{
	static const char *const codes[] = {[COLOUR_GOOD] = "32", [COLOUR_DOUBTFUL] = "33", [COLOUR_BAD] = "31"};

	if (has_colours(output))
		(void)fprintf(output, "\033[%sm", codes[colour]);
}

void colour_end(FILE *output)
{
	if (has_colours(output))
		(void)fputs("\033[0m", output);
}

void text_show(FILE *output, const char *text, bool lines)
{
	unsigned control;

	for (; *text; text += control ? control : 1) {
		control = lines && *text == '\n' ? 0 : k2i_text_control_bytes(text);
		(void)fputc(control ? '?' : *text, output);
	}
}
