/* SPDX-License-Identifier: MIT */
#include "tools/base/numbers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const level_names[] = {"received", "written", "synced", NULL};
const char *const compress_names[] = {"auto", "never", "always", NULL};

/* Digits only: strtoull would take blanks and signs. */
static int digits_parse(const char *text, char **end, uint64_t *number)
{
	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	*number = strtoull(text, end, 10);
	return errno ? -EINVAL : 0;
}

int number_parse(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *number)
{
	char *end;

	if (digits_parse(text, &end, number) || *end || *number < minimum || *number > maximum)
		return -EINVAL;
	return 0;
}

int word_parse(const char *text, const char *const *words, uint64_t *place)
{
	for (*place = 0; words[*place]; ++*place)
		if (strcmp(text, words[*place]) == 0)
			return 0;
	return -EINVAL;
}

int size_parse(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *bytes)
{
	static const char suffixes[] = "KMG";
	const char *suffix;
	unsigned shift = 0;
	char *end;

	if (digits_parse(text, &end, bytes))
		return -EINVAL;
	suffix = *end ? strchr(suffixes, *end) : NULL;
	if (suffix) {
		shift = 10 * (unsigned)(suffix - suffixes + 1);
		end++;
	}
	if (*end || *bytes > maximum >> shift)
		return -EINVAL;
	*bytes <<= shift;
	return *bytes < minimum ? -EINVAL : 0;
}

uint64_t number_list_most(const struct number_list *list)
{
	uint64_t most = 0;

	for (unsigned at = 0; at < list->count; at++)
		most = list->values[at] > most ? list->values[at] : most;
	return most;
}

const char *number_text(uint64_t number, char text[NUMBER_TEXT_ROOM])
{
	char digits[24];
	size_t count = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, number), at, used = 0;

	for (at = 0; at < count; at++) {
		if (at > 0 && (count - at) % 3 == 0)
			text[used++] = ',';
		text[used++] = digits[at];
	}
	text[used] = '\0';
	return text;
}

int receiver_parse(const char *given, const char *port_default, char copy[RECEIVER_ROOM], const char **host,
		   const char **port)
{
	char *colon, *end;
	uint64_t number;

	if (strlen(given) >= RECEIVER_ROOM)
		return -EINVAL;
	memcpy(copy, given, strlen(given) + 1);
	*host = copy;
	*port = port_default;
	colon = strrchr(copy, ':');
	if (*copy == '[') {
		end = strchr(copy, ']');
		if (!end || (end[1] && end[1] != ':'))
			return -EINVAL;
		*host = copy + 1;
		colon = end[1] ? end + 1 : NULL;
		*end = '\0';
	} else if (colon && strchr(copy, ':') != colon) {
		colon = NULL;
	}
	if (colon) {
		*colon = '\0';
		*port = colon + 1;
	}
	return **host && number_parse(*port, 1, 65535, &number) == 0 ? 0 : -EINVAL;
}
