/* SPDX-License-Identifier: MIT */
/* Records that go to an OUTPUTFILE, and rests of those that do not. */
#define UNIT_OWN_MAIN
#include "unit.h"
#include "mounted_help.h"

#include <errno.h>
#include <fcntl.h>

#include "fuse/base/options.h"
#include "uncached_help.h"

/* A rule with an OUTPUTFILE, which is open. */
struct place {
	char folder[200], path[220];
	struct k2i_rule rule;
	struct k2i_settings settings;
	struct k2i_mount_options options;
	struct k2i_mount mount;
	struct k2i_mount_parts parts;
	struct k2i_outputfile *output;
};

static char target[] = "t", nowhere[] = "/nowhere";

static int place_make(void **state)
{
	static struct place place;
	char message[512];

	memset(&place, 0, sizeof(place));
	k2i_mount_parts_join(&place.mount, &place.parts);
	folder_make(place.folder, sizeof(place.folder));
	(void)snprintf(place.path, sizeof(place.path), "%s/out", place.folder);
	place.rule = (struct k2i_rule){
		.target = target, .output_file = place.path, .default_allow = true, .place.file = "f"};
	place.settings = (struct k2i_settings){.rules = &place.rule, .rule_count = 1, .copy_mode = 0600};
	place.options.mount_point = nowhere;
	place.mount.settings = &place.settings;
	place.mount.options = &place.options;
	assert_int_equal(k2i_rules_compile(&place.settings, &place.mount.rules, message, sizeof(message)), 0);
	assert_int_equal(k2i_outputfiles_open(&place.mount, message, sizeof(message)), 0);
	assert_int_equal(
		k2i_outputfile_get(&place.mount, k2i_rules_find(place.mount.rules, target), target, &place.output), 0);
	*state = &place;
	return 0;
}

static int place_end(void **state)
{
	struct place *place = *state;

	k2i_outputfile_put(place->output);
	k2i_outputfiles_close(place->mount.outputfiles);
	k2i_rules_free(place->mount.rules);
	folder_remove(place->folder);
	return 0;
}

static int append(struct place *place, const char *text)
{
	return k2i_outputfile_append(place->output, text, strlen(text));
}

/* Each of the writes that follow takes so many bytes, and then the disk is full. */
static size_t write_bytes, writes_left;
static const char *others_path; /* who appends when nothing more goes in */
/* So many more find no room, although poll(2) always says so of a file. */
static unsigned refusals, asked;

/* The linker sends them here. */
ssize_t __real_write(int descriptor, const void *data, size_t bytes);
ssize_t __wrap_write(int descriptor, const void *data, size_t bytes);
ssize_t __wrap_write(int descriptor, const void *data, size_t bytes)
{
	int other;

	asked++;
	if (refusals > 0) {
		refusals--;
		errno = EAGAIN;
		return -1;
	}
	if (write_bytes == 0)
		return __real_write(descriptor, data, bytes);
	if (writes_left-- > 0)
		return __real_write(descriptor, data, write_bytes);
	if (others_path) {
		other = open(others_path, O_WRONLY | O_APPEND | O_CLOEXEC);
		assert_int_equal(__real_write(other, "others\n", 7), 7);
		assert_int_equal(close(other), 0);
	}
	errno = ENOSPC;
	return -1;
}

static int append_in_vain(struct place *place, size_t writes)
{
	int status;

	write_bytes = 2;
	writes_left = writes;
	status = append(place, "half of a line\n");
	write_bytes = 0;
	return status;
}

#define CASE(name) FIXTURE_TEST(name, struct place *place, place_make, place_end)

/* The next line would be joined to it. */
CASE(half_a_line_is_taken_back)
{
	assert_int_equal(append(place, "a1\n"), 0);
	assert_int_equal(append_in_vain(place, 1), -ENOSPC);
	expect_contents(place->path, "a1\n");
	assert_int_equal(append(place, "a2\n"), 0);
	expect_contents(place->path, "a1\na2\n");
}

/* Bytes that somebody else has appended are not cut off, be it behind that or between two parts of it. */
CASE(what_others_append_stays)
{
	assert_int_equal(append_in_vain(place, 2), -ENOSPC);
	expect_contents(place->path, "half");
	others_path = place->path;
	assert_int_equal(append_in_vain(place, 1), -ENOSPC);
	others_path = NULL;
	expect_contents(place->path, "halfhaothers\n");
}

/* Whether what is open has its name still can't be seen then, which is no reason to think that it has not. */
CASE(lines_go_on_without_descriptors)
{
	descriptors_limit(3);
	assert_int_equal(append(place, "a1\n"), 0);
	descriptors_limit(RLIM_INFINITY);
	expect_contents(place->path, "a1\n");
}

/* Asking again and again would keep a processor busy, and the mount for ever. */
CASE(room_that_is_none_is_not_asked_for_at_once)
{
	refusals = 3;
	assert_int_equal(append(place, "a1\n"), 0);
	refusals = 100000;
	asked = 0;
	assert_int_equal(append(place, "a2\n"), -ENOBUFS);
	assert_in_range(asked, 2, 150);
	asked = 0;
	assert_int_equal(append(place, "a3\n"), -ENOBUFS);
	assert_int_equal(asked, 1);
	refusals = 0;
	assert_int_equal(append(place, "a4\n"), 0);
	expect_contents(place->path, "a1\na4\n");
}

int main(void)
{
	mounted_clock_ns = MOUNTED_CLOCK_REAL;
	return unit_run();
}
