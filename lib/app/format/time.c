/* SPDX-License-Identifier: MIT */
#include "app/format/parts.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "app/format/format.h"
#include "config/path.h"

#define SECONDS_PER_HOUR UINT64_C(3600)
#define HOURS_PER_YEAR (366u * 24)

/* Where `%-` before a letter is the C library's flag "do not pad": conversions that pad. Before others, such as the Z
 * of an ISO 8601 time, it means nanoseconds, as it always does in K2HFTFUSE. */
static const char padded_letters[] = "CdegGHIjklmMSUVWyY";
static const char conversion_letters[] = "aAbBcCdDeFgGhHIjklmMnpPrRsStTuUVwWxXyYzZ%";

static bool one_of(const char *letters, char byte)
{
	return byte != '\0' && strchr(letters, byte) != NULL;
}

/* Length of the directive at `text` ('%' and on), 0 if strftime(3) has none such. */
static size_t directive_length(const char *text)
{
	size_t length = 1;

	length += strspn(text + length, "_-0^#");
	length += strspn(text + length, "0123456789");
	if (text[length] == 'E' || text[length] == 'O')
		length++;
	return one_of(conversion_letters, text[length]) ? length + 1 : 0;
}

/* Copies `from` to `to`, which has room for it, with the nanoseconds marked. Returns where it is wrong, or NULL. */
static const char *translate(const char *from, char *to)
{
	while (*from) {
		size_t length = 1;

		if (*from == K2I_TIME_NANOSECONDS)
			return from;
		if (from[0] == '%' && from[1] == '-' && !one_of(padded_letters, from[2])) {
			*to++ = K2I_TIME_NANOSECONDS;
			from += 2;
			continue;
		}
		if (*from == '%')
			length = directive_length(from);
		if (length == 0)
			return from;
		memcpy(to, from, length);
		to += length;
		from += length;
	}
	*to = '\0';
	return NULL;
}

int k2i_time_format_compile(const char *time_format, char *compiled, char *message, size_t message_room)
{
	const char *wrong;

	compiled[0] = 'x';
	wrong = translate(time_format, compiled + 1);
	if (!wrong)
		return 0;
	if (*wrong == '%')
		(void)snprintf(
			message, message_room,
			"time format: `%.8s' at byte %zu is no directive of strftime(3), nor %%- for nanoseconds",
			wrong, (size_t)(wrong - time_format) + 1);
	else
		(void)snprintf(message, message_room, "time format: control character at byte %zu",
			       (size_t)(wrong - time_format) + 1);
	return -EINVAL;
}

size_t k2i_time_second(const char *compiled, time_t second, char *text, size_t room)
{
	/* The C library locks, too, but the thread sanitizer does not see that. */
	static pthread_mutex_t zone_mutex = PTHREAD_MUTEX_INITIALIZER;
	struct tm broken_down;

	/* localtime_r(3) knows for ever what the zone was at first, and a receiver can run for years. */
	(void)pthread_mutex_lock(&zone_mutex);
	tzset();
	(void)pthread_mutex_unlock(&zone_mutex);
	return localtime_r(&second, &broken_down) ? strftime(text, room, compiled, &broken_down) : 0;
}

int k2i_time_text(const char *second_text, size_t second_bytes, uint32_t nanoseconds, char *output, size_t room)
{
	char digits[K2I_NANOSECONDS_DIGITS + 1];
	size_t used = 0;

	(void)snprintf(digits, sizeof(digits), "%09u", nanoseconds % (uint32_t)K2I_SECOND_NS);
	for (size_t i = 0; i < second_bytes; i++) {
		bool digit_run = second_text[i] == K2I_TIME_NANOSECONDS;
		size_t bytes = digit_run ? K2I_NANOSECONDS_DIGITS : 1;

		if (bytes > room - used)
			return -1;
		memcpy(output + used, digit_run ? digits : second_text + i, bytes);
		used += bytes;
	}
	return (int)used;
}

int k2i_format_time(const char *time_format, uint64_t time_ns, char *output, size_t room)
{
	char message[128], compiled[4096], text[4096];
	size_t second_bytes;
	int bytes;

	if (strlen(time_format) + K2I_TIME_FORMAT_MORE > sizeof(compiled) ||
	    k2i_time_format_compile(time_format, compiled, message, sizeof(message)))
		return -EINVAL;
	second_bytes = k2i_time_second(compiled, (time_t)(time_ns / K2I_SECOND_NS), text, sizeof(text));
	if (second_bytes == 0 || room == 0)
		return -EINVAL;
	bytes = k2i_time_text(text + 1, second_bytes - 1, (uint32_t)(time_ns % K2I_SECOND_NS), output, room - 1);
	if (bytes < 0)
		return -EINVAL;
	output[bytes] = '\0';
	return bytes;
}

const char *k2i_format_unify(const char *unify_file, uint64_t time_ns, char path[K2HFT_STREAM_PATH_BYTES_MAX + 1])
{
	/* A device. */
	if (*unify_file == '/') {
		(void)snprintf(path, K2HFT_STREAM_PATH_BYTES_MAX + 1, "%s", unify_file);
		return NULL;
	}
	if (k2i_format_time(unify_file, time_ns, path, K2HFT_STREAM_PATH_BYTES_MAX + 1) < 0)
		path[0] = '\0';
	return k2i_path_refused(path);
}

/*
 * A month, a weekday and a number without its zero can be longer then than now. The last second of every third hour of a
 * year has each of them at its longest together with all others, 10, 11 or 12 o'clock too, whatever the zone.
 */
const char *k2i_format_unify_check(const char *unify_file, uint64_t time_ns)
{
	uint64_t hour = time_ns / K2I_SECOND_NS / SECONDS_PER_HOUR;
	char path[K2HFT_STREAM_PATH_BYTES_MAX + 1];
	const char *refused = k2i_format_unify(unify_file, time_ns, path);

	for (unsigned later = 0; later < HOURS_PER_YEAR && !refused; later += 3) {
		uint64_t second = (hour + later + 1) * SECONDS_PER_HOUR - 1;

		if (k2i_format_unify(unify_file, second * K2I_SECOND_NS, path))
			refused = "gives a name that is too long at some time of the year";
	}
	return refused;
}
