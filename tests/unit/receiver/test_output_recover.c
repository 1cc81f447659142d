/* SPDX-License-Identifier: MIT */
#include <dirent.h>

#include "unit.h"
#include "output_place.h"

#define FILES 12u
#define DIRECTORIES 3u

static unsigned listings;

DIR *__real_fdopendir(int descriptor);
DIR *__wrap_fdopendir(int descriptor);
DIR *__wrap_fdopendir(int descriptor)
{
	listings++;
	return __real_fdopendir(descriptor);
}

/* The directories' names begin alike, so do the files'; the first of them are in the base directory itself. */
static void name_make(char name[40], unsigned i, const char *suffix)
{
	static const char *const directories[DIRECTORIES] = {"", "d/", "dd/"};

	(void)snprintf(name, 40, "%sf%u%s", directories[i % DIRECTORIES], i, suffix);
}

static void path_make(const struct place *place, char path[300], unsigned i, const char *suffix)
{
	char name[40];

	name_make(name, i, suffix);
	path_in(path, 300, place->base, name);
}

static void commit_one(struct place *place, unsigned i)
{
	char name[40];
	struct k2i_stream stream;

	name_make(name, i, "");
	stream = stream_make(i + 1, name);
	add(place, &stream, 0, 1, "committed\n");
	assert_int_equal(commit(place), 0);
}

/* Renamed while no receiver runs, with something in each that was not acknowledged; the last one is gone. */
static void rename_all(const struct place *place)
{
	char from[300], to[300];
	unsigned i;
	FILE *file;

	for (i = 0; i < FILES; i++) {
		path_make(place, from, i, "");
		path_make(place, to, i, ".1");
		file = fopen(from, "ae");
		assert_true(file && fputs("half", file) >= 0 && fclose(file) == 0);
		assert_int_equal(rename(from, to), 0);
	}
	assert_int_equal(remove(to), 0);
}

/* A directory is listed once, however many of its files were renamed: it can be huge. */
FIXTURE_TEST(test_renamed_files, struct place *place, setup, teardown)
{
	char name[40];
	unsigned i;

	place->open_max = FILES;
	place_open(place, "%L", NULL);
	for (i = 0; i < FILES; i++)
		commit_one(place, i);
	place_close(place);
	rename_all(place);
	listings = 0;
	place_open(place, "%L", NULL);
	assert_int_equal(listings, DIRECTORIES);
	for (i = 0; i + 1 < FILES; i++) {
		name_make(name, i, ".1");
		expect_file(place, name, "committed\n");
	}
	assert_int_equal(atomic_load(&place->counters.cut_bytes), 4 * (FILES - 1));
	assert_int_equal(atomic_load(&place->counters.uncut_files), 1);
	place_close(place);
}
