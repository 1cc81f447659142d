/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <time.h>

#include "unit.h"
#include "app/format/format.h"

#define TIME_NS (UINT64_C(1700000000) * 1000000000 + 7) /* 2023-11-14 22:13:20 UTC */

static struct k2i_format_origin origin = {
	.path = "app/access.log", .host = "web1", .writer_pid = 4242, .time_ns = TIME_NS};

/* Compares the payload as `format` makes it with `wanted`, terminators included. */
static void gives(const char *format, const char *payload, size_t payload_bytes, const char *wanted,
		  size_t wanted_bytes)
{
	struct k2i_format_buffer output = {0};
	struct k2i_format *compiled;
	char message[256] = "";

	if (k2i_format_compile(format, "%F %T.%-", &compiled, message, sizeof(message)) != 0)
		fail_msg("%s: %s", format, message);
	assert_int_equal(k2i_format_records(compiled, &origin, false, payload, payload_bytes, NULL, &output), 0);
	if (output.bytes != wanted_bytes || (wanted_bytes && memcmp(output.data, wanted, wanted_bytes) != 0))
		fail_msg("%s gives `%.*s', wanted `%s'", format, (int)output.bytes, output.data ? output.data : "",
			 wanted);
	free(output.data);
	k2i_format_free(compiled);
}
#define GIVES(format, payload, wanted) gives(format, payload, sizeof(payload) - 1, wanted, sizeof(wanted) - 1)

static void refused(const char *format, const char *time_format, const char *reason)
{
	struct k2i_format *compiled;
	char message[256] = "";

	assert_int_equal(k2i_format_compile(format, time_format, &compiled, message, sizeof(message)), -EINVAL);
	if (!strstr(message, reason))
		fail_msg("message is: %s", message);
}

TEST(directives_give_their_values)
{
	GIVES("%L", "a\r\nb\n", "a\r\nb\n");
	GIVES("[%L]", "a\r\nb\nc", "[a\r\n][b\n][c]");
	GIVES("[%l]\n", " \t a b\v\r\n\n", "[a b]\n[]\n");
	GIVES("%H %h %P %p %F %f %%\n", "x\n", "web1 web1 4242 4242 app/access.log access.log %\n");
	GIVES("%T|%t|%L", "x\n", "2023-11-14 22:13:20.000000007|2023-11-14 22:13:20.000000007|x\n");
	GIVES("", "x\n", "x\n");
	GIVES(NULL, "x\n", "x\n");
	GIVES("%H", "x\ny\n", "web1web1");
	GIVES("%L", "", "");
}

TEST(any_byte_passes)
{
	GIVES("<%L>", "a\0b\xff\n", "<a\0b\xff\n>");
	GIVES("<%l>", "\0a\0\n", "<\0a\0>");
	GIVES("<%J>", "\0a\n", "<\\u0000a>");
	GIVES("\\0\\x00%l", "a\n", "\0\0a");
}

TEST(escapes_are_bytes)
{
	GIVES("\\a\\b\\f\\n\\r\\t\\\\\\\"\\'\\?%l", "x\n", "\a\b\f\n\r\t\\\"'?x");
	GIVES("\\x41\\xfg\\x7G\\xFf%l", "x\n", "A\x0fg\x07G\xffx");
	GIVES("\\1\\8\\12%l", "x\n",
	      "\1\x08\1"
	      "2x");
}

TEST(mistakes_are_named)
{
	refused("abc%q", NULL, "unknown directive `%q' at byte 4");
	refused("%L\\y", NULL, "unknown escape `\\y' at byte 3");
	refused("%L\\9", NULL, "unknown escape");
	refused("%L\\xg", NULL, "unknown escape");
	refused("%L%", NULL, "ends behind `%' at byte 3");
	refused("%L\\", NULL, "ends behind `\\' at byte 3");
	refused("%T", "%Y %Q", "byte 4");
	refused("%T", "%N", "no directive");
	refused("%T", "%Y%", "no directive");
	refused("%T", "a\1", "control character");
	refused("%T", "%0300d", "more than");
}

TEST(json_is_valid)
{
	GIVES("{\"m\":\"%J\"}\n", "a\"b\\c\td\r\n", "{\"m\":\"a\\\"b\\\\c\\td\\r\"}\n");
	GIVES("%J\n", "\x01\x1f\x7f\b\f", "\\u0001\\u001f\x7f\\b\\f\n");
	GIVES("%J\n", "\n\n", "\n\n");
	GIVES("%J", "no end", "no end");
	/* Well-formed: 2, 3 and 4 bytes, the first and last of their kinds. */
	GIVES("%J", "\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x98\x80\n", "\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x98\x80");
	GIVES("%J", "\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xf0\x90\x80\x80\xf4\x8f\xbf\xbf",
	      "\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xf0\x90\x80\x80\xf4\x8f\xbf\xbf");
	/* Not: stray, cut, too long, surrogate, beyond the last. */
	GIVES("%J", "a\x80z", "a\\ufffdz");
	GIVES("%J", "\xff\n", "\\ufffd");
	GIVES("%J", "\xc3\n", "\\ufffd");
	GIVES("%J", "\xe6\x97", "\\ufffd\\ufffd");
	GIVES("%J", "\xc0\xaf\xe0\x80\xaf", "\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd");
	GIVES("%J", "\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd");
	GIVES("%J", "\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd");
	GIVES("%J", "\xf0\x80\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd");
	GIVES("%J", "\xf5\x80\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd");
	GIVES("%J", "\xf0\x9f\x98(", "\\ufffd\\ufffd\\ufffd(");
	GIVES("%J", "\xe6\x97(\xe6\x97\xc3\xa9", "\\ufffd\\ufffd(\\ufffd\\ufffd\xc3\xa9");
}

/* Wherever in it something has to be escaped. */
TEST(long_json_is_valid)
{
	static const char *const cases[][2] = {
		{"\"", "\\\""}, {"\\", "\\\\"}, {"\x1f", "\\u001f"}, {"\x80", "\\ufffd"}, {"\x7f", "\x7f"}};
	char text[80], wanted[80];
	size_t bytes, at, number, wanted_bytes;

	for (bytes = 1; bytes <= 70; bytes++) {
		for (at = 0; at < bytes; at++) {
			number = (bytes + at) % (sizeof(cases) / sizeof(cases[0]));
			wanted_bytes = strlen(cases[number][1]);
			memset(text, 'a', bytes);
			text[at] = *cases[number][0];
			memset(wanted, 'a', sizeof(wanted));
			memcpy(wanted + at, cases[number][1], wanted_bytes);
			wanted[bytes - 1 + wanted_bytes] = '\0';
			gives("%J", text, bytes, wanted, bytes - 1 + wanted_bytes);
		}
	}
}

TEST(names_do_not_break_lines_or_strings)
{
	const struct k2i_format_origin before = origin;

	origin.path = "a\nb\x7f/c\"d";
	GIVES("%F %f %l\n", "x\n", "a?b?/c\"d c\"d x\n");
	GIVES("{\"%F\":\"%J\"}\n", "x\n", "{\"a\\nb\x7f/c\\\"d\":\"x\"}\n");
	origin = before;
}

TEST(binary_is_one_record)
{
	struct k2i_format_buffer output = {0};
	struct k2i_format *compiled;
	char message[256];

	assert_int_equal(k2i_format_compile("<%L>%J\n", NULL, &compiled, message, sizeof(message)), 0);
	assert_int_equal(k2i_format_records(compiled, &origin, true, "a\nb\n", 4, NULL, &output), 0);
	assert_int_equal(output.bytes, 13);
	assert_memory_equal(output.data, "<a\nb\n>a\\nb\\n\n", 13);
	free(output.data);
	k2i_format_free(compiled);
}

TEST(plain_is_recognised)
{
	static const struct {
		const char *format;
		bool plain;
	} cases[] = {{"%L", true}, {"", true}, {"%l", false}, {"%L ", false}, {"%L%L", false}, {"%J", false}};
	struct k2i_format *compiled;
	char message[256];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(k2i_format_compile(cases[i].format, NULL, &compiled, message, sizeof(message)), 0);
		assert_int_equal(k2i_format_plain(compiled), cases[i].plain);
		k2i_format_free(compiled);
	}
}

static void time_is(const char *time_format, const char *wanted)
{
	char text[64];

	assert_int_equal(k2i_format_time(time_format, TIME_NS, text, sizeof(text)), strlen(wanted));
	assert_string_equal(text, wanted);
}

TEST(nanoseconds_and_flags_differ)
{
	char text[8];

	time_is("%S.%-", "20.000000007");
	time_is("%-%-", "000000007000000007");
	time_is("%H:%M:%S.%-Z", "22:13:20.000000007Z");
	time_is("%S.%- x", "20.000000007 x");
	time_is("%-m/%-d %-H", "11/14 22");
	time_is("%%-", "%-");
	time_is("%%%-", "%000000007");
	time_is("%10Y|%_d|%^a|%Ey", "0000002023|14|TUE|23");
	time_is("", "");
	assert_int_equal(k2i_format_time("%F", TIME_NS, text, sizeof(text)), -EINVAL);
	assert_int_equal(k2i_format_time("%!", TIME_NS, text, sizeof(text)), -EINVAL);
	assert_int_equal(k2i_format_time("%H%M%S1", TIME_NS, text, sizeof(text)), 7);
	assert_int_equal(k2i_format_time("%-", UINT64_MAX, text, sizeof(text)), -EINVAL);
}

TEST(the_zone_can_change)
{
	time_is("%H:%M %Z", "22:13 UTC");
	(void)setenv("TZ", "EAST-5:30", 1);
	time_is("%F %H:%M %z %Z", "2023-11-15 03:43 +0530 EAST");
	(void)setenv("TZ", "UTC0", 1);
	time_is("%H:%M %Z", "22:13 UTC");
}

/* Its longest is on a Wednesday in September with two digits, at 10 to 12 o'clock: long after it was configured. */
TEST(a_unified_name_fits_all_year)
{
	static const char *const zones[] = {"UTC0", "EAST-5:45", "WEST8", "SUMMER3TIME"};
	static const char directives[] = "%B%A%-d%-I%-M";
	char name[300], path[K2HFT_STREAM_PATH_BYTES_MAX + 1];
	const size_t longest = 24, most = 255 - longest;

	memset(name, 'n', sizeof(name));
	for (size_t i = 0; i < sizeof(zones) / sizeof(zones[0]); i++) {
		(void)setenv("TZ", zones[i], 1);
		memcpy(name + most, directives, sizeof(directives));
		assert_null(k2i_format_unify_check(name, TIME_NS));
		name[most] = 'n';
		memcpy(name + most + 1, directives, sizeof(directives));
		assert_null(k2i_format_unify(name, TIME_NS, path));
		assert_non_null(strstr(k2i_format_unify_check(name, TIME_NS), "time of the year"));
	}
	(void)setenv("TZ", "UTC0", 1);
	assert_non_null(k2i_format_unify_check("%Q", TIME_NS));
	assert_non_null(k2i_format_unify_check("", TIME_NS));
}

/* A buffer, two formats, and times that change: a cached text must not come out for another. */
TEST(cached_second_is_its_own)
{
	struct k2i_format_buffer output = {0};
	struct k2i_format_origin at = origin;
	struct k2i_format *first, *second;
	char message[256];

	assert_int_equal(k2i_format_compile("%T ", "%s.%-", &first, message, sizeof(message)), 0);
	assert_int_equal(k2i_format_compile("%T ", "%Y", &second, message, sizeof(message)), 0);
	at.time_ns = 0;
	assert_int_equal(k2i_format_records(first, &at, false, "x\n", 2, NULL, &output), 0);
	at.time_ns = 1;
	assert_int_equal(k2i_format_records(first, &at, false, "x\n", 2, NULL, &output), 0);
	at.time_ns = 2000000001;
	assert_int_equal(k2i_format_records(first, &at, false, "x\n", 2, NULL, &output), 0);
	assert_int_equal(k2i_format_records(second, &at, false, "x\n", 2, NULL, &output), 0);
	assert_int_equal(k2i_format_records(first, &at, false, "x\n", 2, NULL, &output), 0);
	assert_int_equal(output.bytes, 53);
	assert_memory_equal(output.data, "0.000000000 0.000000001 2.000000001 1970 2.000000001 ", 53);
	free(output.data);
	k2i_format_free(first);
	k2i_format_free(second);
}

static int use_utc(void **state)
{
	(void)state;
	(void)setenv("TZ", "UTC0", 1);
	tzset();
	return 0;
}

/* In as many turns as it wants, it comes to the same. */
TEST(it_stops_when_that_is_enough)
{
	enum { RECORDS = 100000, RECORD_BYTES = 16 };
	struct k2i_format_buffer all = {0}, some = {0};
	struct k2i_format *compiled;
	char message[256], *payload = calloc(RECORDS, 2);
	size_t taken, at = 0, compared = 0;

	assert_non_null(payload);
	for (size_t record = 0; record < RECORDS; record++)
		memcpy(payload + 2 * record, (char[]){(char)('a' + record % 26), '\n'}, 2);
	assert_int_equal(k2i_format_compile("%F%L", NULL, &compiled, message, sizeof(message)), 0);
	assert_int_equal(k2i_format_records(compiled, &origin, false, payload, (size_t)2 * RECORDS, NULL, &all), 0);
	assert_int_equal(all.bytes, RECORDS * RECORD_BYTES);
	for (; at < (size_t)2 * RECORDS; at += taken, compared += some.bytes, some.bytes = 0) {
		assert_int_equal(k2i_format_records(compiled, &origin, false, payload + at, (size_t)2 * RECORDS - at,
						    &taken, &some),
				 0);
		assert_int_equal(some.bytes, taken / 2 * RECORD_BYTES);
		assert_in_range(some.bytes, 1, K2I_FORMAT_ENOUGH_BYTES + RECORD_BYTES);
		assert_memory_equal(some.data, all.data + compared, some.bytes);
	}
	assert_int_equal(compared, all.bytes);
	free(all.data);
	free(some.data);
	free(payload);
	k2i_format_free(compiled);
}

UNIT_GROUP(use_utc, NULL)
