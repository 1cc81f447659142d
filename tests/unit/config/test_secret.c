/* SPDX-License-Identifier: MIT */
/* Files with secrets, which are nobody else's. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"
#include "config/remote.h"

struct place {
	char path[40];
	char secret[K2I_SECRET_BYTES_MAX];
};

static int place_open(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	assert_non_null(place);
	*state = place;
	(void)snprintf(place->path, sizeof(place->path), "/tmp/k2hft-secret.XXXXXX");
	return close(mkstemp(place->path));
}

static int place_close(void **state)
{
	struct place *place = *state;

	(void)unlink(place->path);
	free(place);
	return 0;
}

static const char *read_line(struct place *place, mode_t mode, const char *bytes, size_t count)
{
	int file = open(place->path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	assert_int_equal(write(file, bytes, count), count);
	assert_int_equal(fchmod(file, mode), 0);
	(void)close(file);
	return k2i_secret_line_read(place->path, place->secret);
}
#define READ_LINE(mode, bytes) read_line(place, mode, bytes, sizeof(bytes) - 1)

FIXTURE_TEST(test_line, struct place *place, place_open, place_close)
{
	static const char one_line[] = "it wants one line with the secret, and nothing else";
	char text[K2I_SECRET_BYTES_MAX];

	assert_null(READ_LINE(0600, "a secret"));
	assert_string_equal(place->secret, "a secret");
	assert_null(READ_LINE(0600, "another\r\n"));
	assert_string_equal(place->secret, "another");
	memset(text, 's', sizeof(text));
	assert_null(read_line(place, 0600, text, sizeof(text) - 1));
	assert_int_equal(strlen(place->secret), sizeof(text) - 1);
	assert_string_equal(read_line(place, 0600, text, sizeof(text)), "it is too long, or no text");
	assert_string_equal(READ_LINE(0600, "no\0text"), "it is too long, or no text");
	assert_string_equal(READ_LINE(0600, ""), one_line);
	assert_string_equal(READ_LINE(0600, "\r\n"), one_line);
	assert_string_equal(READ_LINE(0600, "two\nlines\n"), one_line);
}

FIXTURE_TEST(test_refused, struct place *place, place_open, place_close)
{
	static const char others[] = "other users have access to it; run chmod 600";

	assert_string_equal(READ_LINE(0640, "a"), others);
	assert_string_equal(READ_LINE(0602, "a"), others);
	assert_string_equal(k2i_secret_line_read("/", place->secret), "it is not a file");
	assert_string_equal(k2i_secret_line_read("/nowhere/key", place->secret), "No such file or directory");
}

/* Remarks are passed over, and lines without anything are none. */
TEST(test_header_lines)
{
	char text[] = "# a token\n  # another\nAuthorization = Bearer a=b\n\nX-Empty=";
	char *rest = text, *line, *name, *value;

	line = k2i_header_line(&rest);
	assert_null(k2i_header_split(line, &name, &value));
	assert_string_equal(name, "Authorization");
	assert_string_equal(value, "Bearer a=b");
	line = k2i_header_line(&rest);
	assert_null(k2i_header_split(line, &name, &value));
	assert_string_equal(name, "");
	line = k2i_header_line(&rest);
	assert_null(k2i_header_split(line, &name, &value));
	assert_string_equal(value, "");
	assert_null(k2i_header_line(&rest));
}
