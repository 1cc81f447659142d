/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <mntent.h>
#include <sys/stat.h>

#include "unit.h"
#include "folder_help.h"
#include "app/store/memory_limit.h"
#include "wrapped_names.h"

#define MIB (UINT64_C(1) << 20)

static void path_of(char path[300], const char *name)
{
	assert_true(snprintf(path, 300, "%s/%s", folder, name) < 300);
}

/* Named by the linker: files of /proc are those of the test's folder. */
FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode)
{
	char other[300];

	if (strcmp(path, "/proc/self/cgroup") != 0)
		return __real_fopen(path, mode);
	path_of(other, "cgroup");
	return __real_fopen(other, mode);
}

FILE *__real_setmntent(const char *path, const char *mode);
FILE *__wrap_setmntent(const char *path, const char *mode);
FILE *__wrap_setmntent(const char *path, const char *mode)
{
	char other[300];

	assert_string_equal(path, "/proc/self/mounts");
	path_of(other, "mounts");
	return __real_setmntent(other, mode);
}

static void put(const char *name, const char *text)
{
	char path[300];
	FILE *file;

	path_of(path, name);
	file = __real_fopen(path, "we");
	assert_true(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void make(const char *name)
{
	char path[300];

	path_of(path, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

/* Both hierarchies, as a machine with systemd has them, with a group in a group. */
static int setup(void **state)
{
	char mounts[1024];

	(void)folder_begin(state);
	(void)snprintf(mounts, sizeof(mounts),
		       "proc /proc proc rw 0 0\n"
		       "cgroup %s/cpu cgroup rw,cpu 0 0\n"
		       "cgroup %s/first cgroup rw,memory 0 0\n"
		       "cgroup2 %s/second cgroup2 rw 0 0\n",
		       folder, folder, folder);
	put("mounts", mounts);
	put("cgroup", "5:cpu:/\n4:memory:/logs/k2hft\n0::/logs/k2hft\n");
	make("first");
	make("first/logs");
	make("first/logs/k2hft");
	make("second");
	make("second/logs");
	make("second/logs/k2hft");
	return 0;
}

static uint64_t machine_bytes(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

#define LIMIT_TEST(name) FIXTURE_TEST(name, void *fixture, setup, folder_end)

LIMIT_TEST(without_limits_it_is_the_machines)
{
	assert_int_equal(k2i_memory_bytes(), machine_bytes());
	put("first/logs/k2hft/memory.limit_in_bytes", "9223372036854771712\n");
	put("second/logs/k2hft/memory.max", "max\n");
	put("second/logs/memory.max", "\n");
	assert_int_equal(k2i_memory_bytes(), machine_bytes());
}

LIMIT_TEST(the_least_limit_counts)
{
	put("second/logs/k2hft/memory.max", "33554432\n");
	assert_int_equal(k2i_memory_bytes(), 32 * MIB);
	put("second/logs/memory.max", "16777216\n");
	assert_int_equal(k2i_memory_bytes(), 16 * MIB);
	put("second/memory.max", "8388608\n");
	assert_int_equal(k2i_memory_bytes(), 8 * MIB);
	put("first/logs/k2hft/memory.limit_in_bytes", "4194304\n");
	assert_int_equal(k2i_memory_bytes(), 4 * MIB);
	put("first/memory.limit_in_bytes", "2097152\n");
	assert_int_equal(k2i_memory_bytes(), 2 * MIB);
}

LIMIT_TEST(memory_can_share_its_hierarchy)
{
	put("cgroup", "5:cpu,name=memory:/\n4:cpuset,memory,pids:/logs/k2hft\n");
	put("first/logs/k2hft/memory.limit_in_bytes", "4194304\n");
	assert_int_equal(k2i_memory_bytes(), 4 * MIB);
}

/* As in a container that sees its own group as the root. */
LIMIT_TEST(the_root_can_have_a_limit)
{
	char path[300], root[300];

	put("cgroup", "0::/\n");
	put("second/memory.max", "8388608\n");
	path_of(root, "second");
	assert_true(k2i_memory_group(true, path, sizeof(path)));
	assert_string_equal(path, root);
	assert_false(k2i_memory_group(false, path, sizeof(path)));
	assert_int_equal(k2i_memory_bytes(), 8 * MIB);
}

/* As in one that has its host's names. */
LIMIT_TEST(a_group_that_is_not_there_is_the_root)
{
	char path[300], root[300];

	put("cgroup", "0::/docker/k2hft\n");
	put("second/memory.max", "8388608\n");
	path_of(root, "second");
	assert_true(k2i_memory_group(true, path, sizeof(path)));
	assert_string_equal(path, root);
	assert_int_equal(k2i_memory_bytes(), 8 * MIB);
}

LIMIT_TEST(a_path_that_has_no_room_is_none)
{
	char path[300];
	size_t bytes;

	assert_true(k2i_memory_group(true, path, sizeof(path)));
	bytes = strlen(path);
	assert_false(k2i_memory_group(true, path, bytes));
	assert_true(k2i_memory_group(true, path, bytes + 1));
}

LIMIT_TEST(files_can_be_missing)
{
	char path[300];

	put("cgroup", "nonsense\n0\n");
	assert_int_equal(k2i_memory_bytes(), machine_bytes());
	path_of(path, "cgroup");
	assert_int_equal(remove(path), 0);
	assert_int_equal(k2i_memory_bytes(), machine_bytes());
	path_of(path, "mounts");
	assert_int_equal(remove(path), 0);
	assert_int_equal(k2i_memory_bytes(), machine_bytes());
}
