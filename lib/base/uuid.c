/* SPDX-License-Identifier: MIT */
#include "base/uuid.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

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

static int digit_parse(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

bool k2i_uuid_parse(const char *text, uint8_t uuid[16])
{
	for (unsigned at = 0; at < 16; at++, text += 2) {
		if ((at == 4 || at == 6 || at == 8 || at == 10) && *text++ != '-')
			return false;
		if (digit_parse(text[0]) < 0 || digit_parse(text[1]) < 0)
			return false;
		uuid[at] = (uint8_t)(digit_parse(text[0]) * 16 + digit_parse(text[1]));
	}
	return true;
}

bool k2i_uuid_zero(const uint8_t uuid[16])
{
	static const uint8_t zeros[16];

	return memcmp(uuid, zeros, sizeof(zeros)) == 0;
}

int k2i_boot_id(uint8_t boot_id[16])
{
	char text[64] = "";
	int descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	unsigned digits = 0;
	ssize_t bytes;
	int error;

	memset(boot_id, 0, 16);
	if (descriptor < 0)
		return errno == ENOENT || errno == EACCES ? 0 : -errno;
	bytes = read(descriptor, text, sizeof(text) - 1);
	error = bytes < 0 ? -errno : 0;
	(void)close(descriptor);
	for (ssize_t at = 0; at < bytes && digits < 32; at++) {
		int digit = digit_parse(text[at]);

		if (digit < 0)
			continue;
		boot_id[digits / 2] = (uint8_t)(boot_id[digits / 2] << 4 | digit);
		digits++;
	}
	return error;
}
