/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "unit.h"
#include "config/path.h"
#include "receiver/base/confine.h"
#include "receiver/sink/file/output.h"
#include "file_help.h"

struct place {
	char root[200], base[240], outside[240];
};

static int setup(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	assert_non_null(place);
	folder_make(place->root, sizeof(place->root));
	path_in(place->base, sizeof(place->base), place->root, "base");
	path_in(place->outside, sizeof(place->outside), place->root, "outside");
	assert_int_equal(mkdir(place->outside, 0700), 0);
	*state = place;
	return 0;
}

static int teardown(void **state)
{
	struct place *place = *state;

	folder_remove(place->root);
	free(place);
	return 0;
}

static const char *const hostile_paths[] = {
	"",
	".",
	"..",
	"/",
	"/etc/k2hft",
	"//x",
	"../x",
	"../outside/x",
	"a/../../outside/x",
	"a/..",
	"a/./b",
	"./x",
	"x/",
	"a//b",
	"a/",
	"../../../../../../../../tmp/x",
	"link",
	"link/",
	"linkdir/x",
	"linkdir/../x",
	"linkdir/sub/x",
	"dangling",
	"dangling/x",
	"absolute",
	"absolutedir/x",
	"fifo",
	"socket",
	"directory",
	"file/x",
	"file/..",
	"up",
	"up/outside/x",
	"directory/up2/outside/x",
	"self",
	"self/x",
	"device",
	"linkdir",
	"directory/up2",
	"inside/x",
	"up/../outside/x",
	"directory/../../outside/x",
};

static void hostile_setup(const struct place *place)
{
	static const char *const links[][2] = {
		{"../outside/target", "link"}, {"../outside", "linkdir"}, {"../outside/none", "dangling"},
		{"/etc/passwd", "absolute"},   {"/tmp", "absolutedir"},   {"..", "up"},
		{"../..", "directory/up2"},    {"self", "self"},          {"/dev/null", "device"},
		{"directory", "inside"},
	};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char path[400];
	size_t i;
	int file;

	path_in(path, sizeof(path), place->base, "directory");
	assert_int_equal(mkdir(path, 0700), 0);
	for (i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		path_in(path, sizeof(path), place->base, links[i][1]);
		assert_int_equal(symlink(links[i][0], path), 0);
	}
	path_in(path, sizeof(path), place->base, "fifo");
	assert_int_equal(mkfifo(path, 0600), 0);
	path_in(path, sizeof(path), place->base, "file");
	file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(file >= 0);
	(void)close(file);
	assert_int_equal(chdir(place->base), 0);
	file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	memcpy(address.sun_path, "socket", sizeof("socket"));
	assert_int_equal(bind(file, (struct sockaddr *)&address, sizeof(address)), 0);
	(void)close(file);
	assert_int_equal(chdir("/"), 0);
}

#define CASE(name) FIXTURE_TEST(name, struct place *place, setup, teardown)

/* None but what is a directory, below the base, without a symbolic link on the way. */
CASE(test_directories)
{
	int base, descriptor;
	size_t i;

	assert_int_equal(mkdir(place->base, 0700), 0);
	hostile_setup(place);
	base = open(place->base, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (i = 0; i < sizeof(hostile_paths) / sizeof(hostile_paths[0]); i++) {
		descriptor = *hostile_paths[i] && strcmp(hostile_paths[i], "directory") != 0
				     ? k2i_confine_directory(base, hostile_paths[i])
				     : -ENOTDIR;
		if (descriptor >= 0)
			fail_msg("\"%s\" was opened as a directory", hostile_paths[i]);
	}
	assert_int_equal(k2i_confine_directory(base, "file"), -ENOTDIR);
	descriptor = k2i_confine_directory(base, "directory");
	assert_true(descriptor >= 0);
	(void)close(descriptor);
	descriptor = k2i_confine_directory(base, "");
	assert_true(descriptor >= 0);
	(void)close(descriptor);
	(void)close(base);
}

CASE(test_hostile_paths)
{
	size_t i;
	int base, descriptor, reader;

	assert_int_equal(mkdir(place->base, 0700), 0);
	hostile_setup(place);
	base = open(place->base, O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* A FIFO that somebody reads can be opened. */
	reader = openat(base, "fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(base >= 0 && reader >= 0);
	for (i = 0; i < sizeof(hostile_paths) / sizeof(hostile_paths[0]); i++) {
		descriptor = k2i_confine_open(base, hostile_paths[i], O_APPEND | O_CREAT, 0600);
		if (descriptor >= 0)
			fail_msg("\"%s\" was opened", hostile_paths[i]);
		if (!k2i_output_error_own(descriptor) && descriptor != -ENOENT)
			fail_msg("\"%s\": %s is not the path's fault", hostile_paths[i], strerror(-descriptor));
	}
	/* Nothing came there. */
	assert_int_equal(rmdir(place->outside), 0);
	(void)close(reader);
	(void)close(base);
}

CASE(test_long_and_deep_paths)
{
	char path[1100], deep[2 * K2I_PATH_PARTS_MAX + 2];
	int base, descriptor, i;

	assert_int_equal(mkdir(place->base, 0700), 0);
	base = open(place->base, O_PATH | O_DIRECTORY | O_CLOEXEC);
	memset(path, 'p', sizeof(path));
	path[1024] = '\0';
	assert_int_equal(k2i_confine_open(base, path, O_CREAT, 0600), -ENAMETOOLONG);
	path[300] = '\0';
	assert_true(k2i_confine_open(base, path, O_CREAT, 0600) < 0);
	for (i = 0; i < (int)K2I_PATH_PARTS_MAX; i++)
		memcpy(deep + 2 * i, "d/", 2);
	memcpy(deep + 2 * i, "f", 2);
	assert_int_equal(k2i_confine_open(base, deep, O_CREAT, 0600), -ENAMETOOLONG);
	descriptor = k2i_confine_open(base, deep + 2, O_CREAT, 0600);
	assert_true(descriptor >= 0);
	(void)close(descriptor);
	(void)close(base);
}

static mode_t mode_at(int base, const char *path)
{
	struct stat status;

	assert_int_equal(fstatat(base, path, &status, AT_SYMLINK_NOFOLLOW), 0);
	return status.st_mode & 07777;
}

/* Directories can be entered by whoever can read what is in them; only their owner writes there. */
CASE(test_modes)
{
	static const mode_t modes[][2] = {
		{0600, 0700}, {0604, 0705}, {0640, 0750}, {0644, 0755}, {0660, 0750}, {0664, 0755}, {0620, 0700},
	};
	int base, descriptor;
	mode_t mask = umask(0);
	char top[24], directory[32], path[40];

	assert_int_equal(mkdir(place->base, 0700), 0);
	base = open(place->base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		const mode_t *mode = modes[i];

		(void)snprintf(top, sizeof(top), "%zu", i);
		path_in(directory, sizeof(directory), top, "b");
		path_in(path, sizeof(path), directory, "c");
		descriptor = k2i_confine_open(base, path, O_APPEND | O_CREAT, mode[0]);
		assert_true(descriptor >= 0);
		(void)close(descriptor);
		assert_int_equal(mode_at(base, path), mode[0]);
		assert_int_equal(mode_at(base, directory), mode[1]);
		assert_int_equal(mode_at(base, top), mode[1]);
	}
	(void)umask(mask);
	(void)close(base);
}

/* Existing files are left as they are. */
CASE(test_modes_stay)
{
	int base, descriptor;

	assert_int_equal(mkdir(place->base, 0700), 0);
	base = open(place->base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	descriptor = k2i_confine_open(base, "a/b", O_CREAT, 0600);
	assert_true(descriptor >= 0);
	(void)close(descriptor);
	descriptor = k2i_confine_open(base, "a/b", O_APPEND | O_CREAT, 0664);
	assert_true(descriptor >= 0);
	(void)close(descriptor);
	assert_int_equal(mode_at(base, "a"), 0700);
	assert_int_equal(mode_at(base, "a/b"), 0600);
	(void)close(base);
}
