/* SPDX-License-Identifier: MIT */
/* Sealed files: their names, their times, and the list of them. */
#include <errno.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "unit.h"
#include "config/rotation.h"
#include "file_help.h"
#include "receiver/base/file_identity.h"
#include "receiver/sink/rotation/rotation.h"

struct world {
	char root[200], base[240];
	struct k2i_counters counters;
	struct k2i_ledger *ledger;
	struct k2i_rotation *rotation;
};

static void rotation_open(struct world *world, const struct k2i_settings *settings)
{
	assert_int_equal(k2i_rotation_open(&(struct k2i_rotation_options){.base_directory = world->base,
									  .state_directory = world->root,
									  .ledger = world->ledger,
									  .counters = &world->counters,
									  .settings = settings},
					   &world->rotation),
			 0);
}

static int setup(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	struct k2i_ledger_report report;
	uint8_t boot_id[16] = "";
	char path[300];

	assert_non_null(world);
	folder_make(world->root, sizeof(world->root));
	path_in(world->base, sizeof(world->base), world->root, "base");
	assert_int_equal(mkdir(world->base, 0700), 0);
	path_in(path, sizeof(path), world->root, "state");
	assert_int_equal(k2i_ledger_open(path, boot_id, &world->ledger, &report), 0);
	assert_int_equal(k2i_ledger_begin(world->ledger), 0);
	*state = world;
	return 0;
}

static int teardown(void **state)
{
	struct world *world = *state;

	k2i_rotation_close(world->rotation);
	k2i_ledger_close(world->ledger, true);
	folder_remove(world->root);
	free(world);
	return 0;
}

/* A file of four bytes that is sealed, that long ago. */
static void file_seal(struct world *world, const char *name, uint64_t age_s, char path[1024])
{
	const uint64_t now_ns = (uint64_t)time(NULL) * 1000000000u;
	struct k2i_sealing sealing = {.name = name, .path = path, .length = 4, .time_ns = now_ns - age_s * 1000000000u};
	char whole[1400];
	struct stat status;
	FILE *file;

	assert_int_equal(k2i_sealed_path(name, sealing.time_ns, path), 0);
	path_in(whole, sizeof(whole), world->base, path);
	file = fopen(whole, "w");
	assert_non_null(file);
	assert_int_equal(fwrite("abc\n", 1, 4, file), 4);
	assert_int_equal(fflush(file), 0);
	assert_int_equal(fstat(fileno(file), &status), 0);
	sealing.birth = k2i_file_birth_ns(fileno(file), status.st_dev);
	sealing.inode = status.st_ino;
	(void)fclose(file);
	assert_int_equal(k2i_rotation_begin(world->rotation, &sealing), 0);
	assert_int_equal(k2i_rotation_begin(world->rotation, &sealing), -EEXIST);
	k2i_rotation_end(world->rotation, path, true);
}

static bool is_there(const struct world *world, const char *path)
{
	char whole[1400];

	path_in(whole, sizeof(whole), world->base, path);
	return access(whole, F_OK) == 0;
}

static void expect_gone(const struct world *world, const char *path)
{
	for (unsigned look = 0; look < 2000 && is_there(world, path); look++)
		(void)usleep(10000);
	assert_false(is_there(world, path));
}

#define ROTATION_TEST(name) FIXTURE_TEST(name, struct world *world, setup, teardown)

ROTATION_TEST(test_values)
{
	static const char *const wrong_keep[] = {"0",     "1,2", "7d,8h", "x",
						 "7days", "-1",  "1G 2K", "99999999999999999999"};
	static const char *const wrong_period[] = {"", "0s", "5", "weekly", "1w", "1h1m", "-1h"};
	struct k2i_keep keep;
	uint64_t seconds;

	assert_int_equal(k2i_keep_parse("20G, 7d,10", &keep), 0);
	assert_int_equal(keep.bytes, UINT64_C(20) << 30);
	assert_int_equal(keep.seconds, 7 * 86400);
	assert_int_equal(keep.count, 10);
	assert_int_equal(k2i_keep_parse(NULL, &keep), 0);
	assert_int_equal(keep.bytes | keep.seconds | keep.count, 0);
	for (size_t i = 0; i < sizeof(wrong_keep) / sizeof(wrong_keep[0]); i++)
		assert_int_equal(k2i_keep_parse(wrong_keep[i], &keep), -EINVAL);
	assert_int_equal(k2i_period_parse("Daily", &seconds), 0);
	assert_int_equal(seconds, 86400);
	assert_int_equal(k2i_period_parse("90m", &seconds), 0);
	assert_int_equal(seconds, 5400);
	for (size_t i = 0; i < sizeof(wrong_period) / sizeof(wrong_period[0]); i++)
		assert_int_equal(k2i_period_parse(wrong_period[i], &seconds), -EINVAL);
}

ROTATION_TEST(test_names)
{
	char path[1024], name[300];

	assert_int_equal(k2i_sealed_path("a/f", UINT64_C(1795778369556166017), path), 0);
	assert_string_equal(path, "a/f.20261127-111929-556166");
	memset(name, 'x', sizeof(name));
	name[255 - K2I_SEALED_SUFFIX_BYTES] = '\0';
	assert_int_equal(k2i_sealed_path(name, 1, path), 0);
	name[255 - K2I_SEALED_SUFFIX_BYTES] = 'x';
	name[256 - K2I_SEALED_SUFFIX_BYTES] = '\0';
	assert_int_equal(k2i_sealed_path(name, 1, path), -ENAMETOOLONG);
}

/* Berlin: two hours before UTC in summer, one in winter, from October 25, 2026, 01:00 UTC on: a day of 25 hours. */
ROTATION_TEST(test_periods)
{
	struct k2i_settings settings = {.rotate_time = (char[]){"daily"}};

	assert_int_equal(setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1), 0);
	tzset();
	rotation_open(world, &settings);
	assert_int_equal(k2i_rotation_due_s(world->rotation, 1792879199), 1792879200);
	assert_int_equal(k2i_rotation_due_s(world->rotation, 1792879200), 1792969200);
	assert_int_equal(k2i_rotation_due_s(world->rotation, 1792969199), 1792969200);
	assert_int_equal(unsetenv("TZ"), 0);
	tzset();
}

ROTATION_TEST(test_keep)
{
	struct k2i_settings settings = {.rotate_bytes = 1, .rotate_keep = (char[]){"2, 1h, 16"}};
	char old[1024], first[1024], path[3][1024], other[1024];

	rotation_open(world, &(struct k2i_settings){.rotate_bytes = 1});
	file_seal(world, "f", 3601, old);
	file_seal(world, "f", 40, first);
	for (unsigned i = 0; i < 3; i++)
		file_seal(world, "f", 30 - i, path[i]);
	file_seal(world, "g", 20, other);
	k2i_rotation_close(world->rotation);
	/* Another start, which knows them. */
	settings.rotate_keep = (char[]){"3, 1h"};
	rotation_open(world, &settings);
	assert_int_equal(k2i_rotation_start(world->rotation), 0);
	expect_gone(world, old);
	expect_gone(world, first);
	assert_true(is_there(world, path[0]) && is_there(world, other));
	/* The oldest of all, by the bytes of all. */
	settings.rotate_keep = (char[]){"1K"};
	assert_int_equal(k2i_rotation_prepare(world->rotation, &settings), 0);
	k2i_rotation_change(world->rotation, true);
	assert_true(is_there(world, path[0]));
}

/* A file that somebody has written to, and a stream's, is not removed. */
ROTATION_TEST(test_others_are_kept)
{
	struct k2i_settings settings = {.rotate_bytes = 1, .rotate_keep = (char[]){"1"}};
	char written[1024], given[1024], removed[1024], last[1024], whole[1400];
	FILE *file;

	rotation_open(world, &settings);
	file_seal(world, "f", 50, written);
	file_seal(world, "f", 40, given);
	file_seal(world, "f", 30, removed);
	file_seal(world, "f", 20, last);
	path_in(whole, sizeof(whole), world->base, written);
	file = fopen(whole, "a");
	assert_non_null(file);
	assert_int_equal(fputs("more", file) >= 0, 1);
	(void)fclose(file);
	k2i_rotation_give(world->rotation, given);
	k2i_rotation_give(world->rotation, "f.20261127-111929-556166");
	assert_int_equal(k2i_rotation_start(world->rotation), 0);
	expect_gone(world, removed);
	assert_true(is_there(world, written) && is_there(world, given) && is_there(world, last));
}

/* No room for another list, as on a full disk: the one that is there goes on, without the half of a line at its end. */
ROTATION_TEST(test_list_goes_on)
{
	struct k2i_settings settings = {.rotate_bytes = 1};
	char first[1024], second[1024], list[300], blocked[300];
	FILE *file;

	rotation_open(world, &settings);
	file_seal(world, "f", 3620, first);
	k2i_rotation_close(world->rotation);
	path_in(list, sizeof(list), world->root, "rotated");
	file = fopen(list, "a");
	assert_non_null(file);
	assert_true(fputs("S\tf.2", file) >= 0);
	(void)fclose(file);
	path_in(blocked, sizeof(blocked), world->root, "rotated.new");
	assert_int_equal(mkdir(blocked, 0700), 0);
	rotation_open(world, &settings);
	file_seal(world, "f", 3610, second);
	k2i_rotation_close(world->rotation);
	assert_int_equal(rmdir(blocked), 0);
	settings.rotate_keep = (char[]){"1h"};
	rotation_open(world, &settings);
	assert_int_equal(k2i_rotation_start(world->rotation), 0);
	expect_gone(world, first);
	expect_gone(world, second);
}
