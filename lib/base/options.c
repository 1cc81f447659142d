/* SPDX-License-Identifier: MIT */
#include "base/options.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/log.h"

int k2i_option_refuse(const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	k2i_log(K2HFT_LOG_ERROR, "options: %s", text);
	return -EINVAL;
}
