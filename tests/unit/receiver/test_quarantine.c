/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "unit.h"
#include "receiver/commit/quarantine.h"
#include "file_help.h"
#include "base/log.h"

#define CHUNK_1 "72696e67-0000-0000-0000-000000000000-00000000000000000064"
#define CHUNK_2 "72696e67-0000-0000-0000-000000000000-00000000000000000128"
#define PATH_ROOM 400
#define LINE_ROOM 800
#define LINES CHUNK_1 "\t6\tIs a directory\thost\tpath\n" CHUNK_2 "\t6\tIs a directory\thost\tpath\n"

struct folder {
	char path[256];
	const char *names[3];
	struct k2i_counters counters;
	struct k2i_quarantine *quarantine;
};

static int setup(void **state)
{
	static struct folder folder;

	folder = (struct folder){.names = {CHUNK_1, CHUNK_2, "index"}};
	folder_make(folder.path, sizeof(folder.path));
	*state = &folder;
	return 0;
}

static int teardown(void **state)
{
	const struct folder *folder = *state;
	char path[PATH_ROOM];
	size_t at;

	k2i_quarantine_free(folder->quarantine);
	for (at = 0; at < 3; at++) {
		path_in(path, sizeof(path), folder->path, folder->names[at]);
		(void)unlink(path);
	}
	assert_int_equal(rmdir(folder->path), 0);
	return 0;
}

static void expect_file(const struct folder *folder, const char *name, const char *wanted)
{
	char path[PATH_ROOM];

	path_in(path, sizeof(path), folder->path, name);
	expect_contents(path, wanted);
}

static const uint8_t ring[16] = "ring";
static const struct k2i_stream stream = {.path = "path", .host = "host"};
static struct k2i_group_entry entries[] = {
	{.stream = &stream, .payload = (const uint8_t *)"chunk1", .payload_bytes = 6, .position = 64, .next = 1},
	{.stream = &stream, .payload = (const uint8_t *)"chunk2", .payload_bytes = 6, .position = 128},
};

/* The second of them alone. */
static const struct k2i_group group_of_one = {.entries = entries + 1, .entry_count = 1};
static const struct k2i_group_target file_of_one = {.error = -EISDIR};

static int put(struct folder *folder)
{
	return k2i_quarantine_put(folder->quarantine, ring, &group_of_one, &file_of_one);
}

/* In place of the one before. */
static void create_at(struct folder *folder, const char *path, uint64_t bytes_max)
{
	k2i_quarantine_free(folder->quarantine);
	assert_int_equal(k2i_quarantine_create(path, bytes_max, &folder->counters, &folder->quarantine), 0);
}

static void create(struct folder *folder, uint64_t bytes_max)
{
	create_at(folder, folder->path, bytes_max);
}

#define FOLDER_TEST(name) FIXTURE_TEST(name, struct folder *folder, setup, teardown)

/* As often as its sender is held and tries again, a chunk is there once, and takes room once. */
FOLDER_TEST(what_comes_again_is_there_once)
{
	const struct k2i_group group = {.entries = entries, .entry_count = 2};
	const struct k2i_group_target file = {.last = 1, .error = -EISDIR};
	char index[PATH_ROOM];
	int tries;

	/* All of it has to have room. */
	create(folder, 4096);
	assert_int_equal(k2i_quarantine_put(folder->quarantine, ring, &group, &file), -EDQUOT);
	/* Two chunks and the index. */
	create(folder, UINT64_C(3) * 4096);
	path_in(index, sizeof(index), folder->path, "index");
	assert_int_equal(mkdir(index, 0700), 0);
	assert_int_equal(k2i_quarantine_put(folder->quarantine, ring, &group, &file), -EISDIR);
	assert_int_equal(atomic_load(&folder->counters.quarantined_chunks), 0);
	assert_int_equal(rmdir(index), 0);
	for (tries = 0; tries < 4; tries++)
		assert_int_equal(k2i_quarantine_put(folder->quarantine, ring, &group, &file), 0);
	expect_file(folder, CHUNK_1, "chunk1");
	expect_file(folder, CHUNK_2, "chunk2");
	expect_file(folder, "index", LINES);
	assert_int_equal(atomic_load(&folder->counters.quarantined_chunks), 2);
	assert_int_equal(atomic_load(&folder->counters.quarantined_bytes), 12);
}

/* A disk that is full can take half of a line of the index. */
FOLDER_TEST(a_line_that_was_cut_stays_one)
{
	char index[PATH_ROOM];
	int file;

	path_in(index, sizeof(index), folder->path, "index");
	file = open(index, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(file >= 0);
	assert_int_equal(write(file, "72696e67-00", 11), 11);
	assert_int_equal(close(file), 0);
	create(folder, UINT64_MAX);
	assert_int_equal(put(folder), 0);
	expect_file(folder, "index", "72696e67-00\n" CHUNK_2 "\t6\tIs a directory\thost\tpath\n");
}

static const struct timespec long_ago[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};

/* A quarantine that has room for one file, and has it, since long ago. */
static void one_there(struct folder *folder, char there[PATH_ROOM])
{
	path_in(there, PATH_ROOM, folder->path, CHUNK_1);
	assert_int_equal(close(open(there, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
	assert_int_equal(utimensat(AT_FDCWD, folder->path, long_ago, 0), 0);
	create(folder, 4096);
}

/* A held session asks time and again: all files are looked at when one can have been moved away. */
FOLDER_TEST(a_full_one_is_looked_through_when_it_changes)
{
	char there[PATH_ROOM];

	one_there(folder, there);
	assert_int_equal(put(folder), -EDQUOT);
	assert_int_equal(unlink(there), 0);
	assert_int_equal(utimensat(AT_FDCWD, folder->path, long_ago, 0), 0);
	assert_int_equal(put(folder), -EDQUOT);
	assert_int_equal(utimensat(AT_FDCWD, folder->path, NULL, 0), 0);
	assert_int_equal(put(folder), 0);
}

/* It can change twice in what its time can tell apart. */
FOLDER_TEST(a_full_one_that_has_just_changed_is_looked_through)
{
	struct timespec now[2];
	char there[PATH_ROOM];

	assert_int_equal(clock_gettime(CLOCK_REALTIME, &now[0]), 0);
	now[1] = now[0];
	path_in(there, sizeof(there), folder->path, CHUNK_1);
	assert_int_equal(close(open(there, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
	assert_int_equal(utimensat(AT_FDCWD, folder->path, now, 0), 0);
	create(folder, 4096);
	assert_int_equal(put(folder), -EDQUOT);
	assert_int_equal(unlink(there), 0);
	assert_int_equal(utimensat(AT_FDCWD, folder->path, now, 0), 0);
	assert_int_equal(put(folder), 0);
}

/* However often it was tried: a disk that is full for long does not fill it. */
FOLDER_TEST(what_could_not_be_put_there_takes_no_room)
{
	char part[PATH_ROOM];
	int tries;

	path_in(part, sizeof(part), folder->path, CHUNK_2 ".part");
	assert_int_equal(mkdir(part, 0700), 0);
	create(folder, 4096);
	for (tries = 0; tries < 4; tries++) {
		assert_int_equal(utimensat(AT_FDCWD, folder->path, long_ago, 0), 0);
		assert_int_equal(put(folder), -EISDIR);
	}
	assert_int_equal(rmdir(part), 0);
	assert_int_equal(put(folder), 0);
	expect_file(folder, CHUNK_2, "chunk2");
}

/* Named by the linker. */
static bool no_descriptors;
DIR *__real_opendir(const char *path);
DIR *__wrap_opendir(const char *path);
DIR *__wrap_opendir(const char *path)
{
	errno = EMFILE;
	return no_descriptors ? NULL : __real_opendir(path);
}

/* A directory that can't be looked through for a moment is not taken for empty from then on. */
FOLDER_TEST(what_can_not_be_counted_holds)
{
	char there[PATH_ROOM];

	one_there(folder, there);
	no_descriptors = true;
	assert_int_equal(put(folder), -EMFILE);
	no_descriptors = false;
	assert_int_equal(put(folder), -EDQUOT);
	assert_int_equal(unlink(there), 0);
	assert_int_equal(put(folder), 0);
}

static int syncs, failing /* of them; 0: none */;
/* Somebody else was told of an error: of those who sync the file system only who had it open before is, too. */
#define OPEN_BEFORE O_NONBLOCK

static void error_told(void)
{
	struct stat status;
	int descriptor;

	for (descriptor = 3; descriptor < 64; descriptor++)
		if (fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode))
			assert_int_equal(fcntl(descriptor, F_SETFL, OPEN_BEFORE), 0);
}

/* Named by the linker. */
int __real_syncfs(int descriptor);
int __wrap_syncfs(int descriptor);
int __wrap_syncfs(int descriptor)
{
	bool fails = ++syncs == failing || fcntl(descriptor, F_GETFL) & OPEN_BEFORE;

	errno = EIO;
	return fails ? -1 : __real_syncfs(descriptor);
}

/* The receiver that put it there may have been killed before it was on the disk. */
FOLDER_TEST(what_was_found_is_synced)
{
	char none[PATH_ROOM];

	create(folder, UINT64_MAX);
	assert_int_equal(k2i_quarantine_sync(folder->quarantine), 0);
	assert_int_equal(syncs, 1);
	assert_int_equal(k2i_quarantine_sync(folder->quarantine), 0);
	assert_int_equal(syncs, 1);
	path_in(none, sizeof(none), folder->path, "none");
	create_at(folder, none, UINT64_MAX);
	assert_int_equal(k2i_quarantine_sync(folder->quarantine), 0);
	assert_int_equal(syncs, 1);
}

/* Each file is synced until that has succeeded. */
FOLDER_TEST(what_is_put_there_is_synced)
{
	create(folder, UINT64_MAX);
	assert_int_equal(k2i_quarantine_sync(folder->quarantine), 0);
	assert_int_equal(put(folder), 0);
	syncs = 0;
	failing = 1;
	assert_int_equal(k2i_quarantine_sync(folder->quarantine), -EIO);
	failing = 0;
	assert_int_equal(k2i_quarantine_sync(folder->quarantine), 0);
	assert_int_equal(syncs, 2);
	assert_int_equal(k2i_quarantine_sync(folder->quarantine), 0);
	assert_int_equal(syncs, 2);
}

/* Also of a directory that was made for what was put there. */
FOLDER_TEST(an_error_that_others_were_told_of_is_noticed)
{
	int made;

	for (made = 0; made < 2; made++) {
		if (made)
			assert_int_equal(rmdir(folder->path), 0);
		create(folder, UINT64_MAX);
		if (made)
			assert_int_equal(put(folder), 0);
		error_told();
		assert_int_equal(k2i_quarantine_sync(folder->quarantine), -EIO);
	}
}

/* How many this process has open. */
static unsigned directories_count(const struct stat *which)
{
	struct stat status;
	unsigned count = 0;
	int descriptor;

	for (descriptor = 3; descriptor < 64; descriptor++)
		count += fstat(descriptor, &status) == 0 && status.st_dev == which->st_dev &&
			 status.st_ino == which->st_ino;
	return count;
}

/* Files from before another file system took the place. */
FOLDER_TEST(an_error_of_the_one_before_is_noticed)
{
	struct stat here, there;
	char link[PATH_ROOM], other[] = "/dev/shm/k2hft-test.XXXXXX";
	int puts;

	/* A folder in which packages are built has no tmpfs there, and it is root's. */
	if (!mkdtemp(other)) {
		assert_true(errno == EACCES || errno == ENOENT);
		print_message("SKIP: /dev/shm: %s\n", strerror(errno));
		skip();
	}
	assert_int_equal(stat(folder->path, &here) | stat(other, &there), 0);
	if (here.st_dev == there.st_dev) {
		assert_int_equal(rmdir(other), 0);
		skip();
	}
	path_in(link, sizeof(link), folder->path, "index");
	for (puts = 0; puts < 2; puts++) {
		assert_int_equal(symlink(folder->path, link), 0);
		create_at(folder, link, UINT64_MAX);
		error_told();
		assert_int_equal(unlink(link) | symlink(other, link), 0);
		if (puts)
			assert_int_equal(put(folder), 0);
		else
			k2i_quarantine_tick(folder->quarantine);
		assert_int_equal(directories_count(&here), 0);
		assert_int_equal(k2i_quarantine_sync(folder->quarantine), -EIO);
		assert_int_equal(k2i_quarantine_sync(folder->quarantine), 0);
		assert_int_equal(unlink(link), 0);
	}
	folder_remove(other);
}

static void line_keep(void *argument, enum k2hft_log_level level, const char *text)
{
	(void)level;
	(void)snprintf(argument, LINE_ROOM, "%s", text);
}

/* The log line about records that can't be put into the quarantine at `path`, or were. */
static void expect_line(struct folder *folder, const char *path, const char *what, const char *why)
{
	char line[LINE_ROOM] = "", wanted[LINE_ROOM];

	k2hft_log_callback_set(line_keep, line, K2HFT_LOG_ERROR);
	create_at(folder, path, UINT64_MAX);
	(void)put(folder);
	k2hft_log_callback_set(NULL, NULL, K2HFT_LOG_ERROR);
	(void)snprintf(wanted, sizeof(wanted),
		       "quarantine: what host sends to \"path\" can't be stored there (Is a directory) and %s%s%s",
		       what, path, why);
	assert_string_equal(line, wanted);
}

/* The log does not say that held records are in the quarantine, but why they are not. */
FOLDER_TEST(what_it_says)
{
	char part[PATH_ROOM], below[PATH_ROOM];

	path_in(part, sizeof(part), folder->path, CHUNK_2 ".part");
	assert_int_equal(mkdir(part, 0700), 0);
	expect_line(folder, folder->path, "is held, because it can't go to ", ": Is a directory");
	assert_int_equal(rmdir(part), 0);
	expect_line(folder, folder->path, "goes to ", "");
	path_in(below, sizeof(below), folder->path, CHUNK_2 "/quarantine");
	expect_line(folder, below, "is held, because it can't go to ", ": Not a directory");
}

/* root's rights do without those of a file. False: they can't be given away. */
static bool capabilities_set(struct __user_cap_data_struct wanted[2], bool drop)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct now[2];

	if (drop && syscall(SYS_capget, &header, wanted) < 0)
		return false;
	memcpy(now, wanted, sizeof(now));
	if (drop)
		now[0].effective = now[1].effective = 0;
	return syscall(SYS_capset, &header, now) == 0;
}

static struct k2i_quarantine *unreadable;

void __wrap_sync(void);
/* It can take long: whoever needs the quarantine meanwhile does not wait, as this thread would for itself. */
void __wrap_sync(void)
{
	(void)alarm(20);
	k2i_quarantine_tick(unreadable);
	(void)alarm(0);
	syncs++;
}

/* The directory can be written and not read: senders that wait for the disk do not fail for that. */
FOLDER_TEST(one_that_can_not_be_read)
{
	struct __user_cap_data_struct capabilities[2];

	if (!capabilities_set(capabilities, true))
		skip();
	assert_int_equal(chmod(folder->path, 0300), 0);
	create(folder, UINT64_MAX);
	assert_int_equal(put(folder), 0);
	unreadable = folder->quarantine;
	syncs = 0;
	assert_int_equal(k2i_quarantine_sync(folder->quarantine), 0);
	assert_int_equal(syncs, 1);
	assert_int_equal(chmod(folder->path, 0700), 0);
	expect_file(folder, CHUNK_2, "chunk2");
	assert_true(capabilities_set(capabilities, false));
}

/* A sender that has something for it is held, and those that only wait for the disk are not kept waiting. */
FOLDER_TEST(one_that_is_a_file)
{
	char path[PATH_ROOM];
	int file;

	path_in(path, sizeof(path), folder->path, "index");
	file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(file >= 0);
	(void)close(file);
	create_at(folder, path, UINT64_MAX);
	assert_int_equal(k2i_quarantine_sync(folder->quarantine), 0);
	assert_int_equal(put(folder), -ENOTDIR);
	assert_int_equal(k2i_quarantine_sync(folder->quarantine), 0);
}
