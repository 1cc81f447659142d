/* SPDX-License-Identifier: MIT */
#include "config/rotation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HOUR_S UINT64_C(3600)
#define DAY_S (24 * HOUR_S)
#define SECONDS_MAX (36500 * DAY_S)
#define BYTES_MAX (UINT64_C(1) << 60)

/* A number above 0, with what a letter behind it makes of it: `letters` and `factors` go together. -EINVAL */
static int amount_parse(const char **text, const char *letters, const uint64_t *factors, uint64_t most, char *letter,
			uint64_t *amount)
{
	const char *found;
	char *end;

	errno = 0;
	*amount = **text >= '0' && **text <= '9' ? strtoull(*text, &end, 10) : 0;
	if (!*amount || errno)
		return -EINVAL;
	found = *end ? strchr(letters, *end) : NULL;
	*letter = found ? *end : '\0';
	*text = end + (found != NULL);
	if (*amount > most / (found ? factors[found - letters] : 1))
		return -EINVAL;
	*amount *= found ? factors[found - letters] : 1;
	return 0;
}

int k2i_period_parse(const char *text, uint64_t *seconds)
{
	static const uint64_t factors[] = {1, 60, HOUR_S, DAY_S};
	char letter;

	*seconds = 0;
	if (!text || strcasecmp(text, "hourly") == 0 || strcasecmp(text, "daily") == 0) {
		*seconds = !text ? 0 : *text == 'h' || *text == 'H' ? HOUR_S : DAY_S;
		return 0;
	}
	if (amount_parse(&text, "smhd", factors, SECONDS_MAX, &letter, seconds))
		return -EINVAL;
	return *text || !letter ? -EINVAL : 0;
}

int k2i_keep_parse(const char *text, struct k2i_keep *keep)
{
	static const uint64_t factors[] = {
		HOUR_S, DAY_S, UINT64_C(1) << 10, UINT64_C(1) << 20, UINT64_C(1) << 30, UINT64_C(1) << 40};
	uint64_t amount, *limit;
	char letter;

	memset(keep, 0, sizeof(*keep));
	for (text = text ? text : ""; *(text += strspn(text, ", \t"));) {
		if (amount_parse(&text, "hdKMGT", factors, BYTES_MAX, &letter, &amount) ||
		    (*text && !strchr(", \t", *text)))
			return -EINVAL;
		limit = !letter ? &keep->count : letter == 'h' || letter == 'd' ? &keep->seconds : &keep->bytes;
		/* Each kind once. */
		if (*limit || (limit == &keep->seconds && amount > SECONDS_MAX))
			return -EINVAL;
		*limit = amount;
	}
	return 0;
}
