/* SPDX-License-Identifier: MIT */
#include "fuse/copy/outputfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <k2hft/frame.h>

#include "base/clock.h"
#include "base/link.h"
#include "fuse/base/mount.h"
#include "fuse/base/options.h"
#include "fuse/tree/tree.h"

/* Without O_NONBLOCK, with which the open of a file fails on which somebody has a lease. A pipe's waits for nobody. */
#define OPEN_FLAGS (O_RDWR | O_APPEND | O_NOCTTY)
/* So long a pipe's reader, or a terminal, is waited for. */
#define ROOM_NS K2I_SECOND_NS
#define PAUSE_NS (10 * K2I_MILLISECOND_NS)

enum place_kind { PLACE_NONE, PLACE_FILE, PLACE_DIRECTORY, PLACE_INSIDE, PLACE_INSIDE_DIRECTORY };

struct k2i_outputfile {
	struct k2i_outputfiles *whole; /* whose directory that is, and which stays as long as this; or NULL */
	int fd;
	unsigned references;
	int directory_fd; /* where `name` is looked up; its own unless there is a `whole` */
	char *name;       /* NULL: what was opened is kept */
	mode_t file_mode; /* FILE_MODE, for the next of that name */
	dev_t device;
	ino_t inode;
	uint64_t looked_ns; /* when it was looked whether the name is still that of what is open */
	bool stalled;       /* a pipe whose reader was waited for in vain */
};

/* OUTPUTFILE of one rule. */
struct place {
	enum place_kind kind;
	struct k2i_outputfile *file; /* FILE */
	int directory_fd;            /* DIRECTORY; FILE: of its name, or -1 */
	const char *inside;          /* INSIDE, INSIDE_DIRECTORY: path below the mount */
	size_t inside_bytes;         /* without slashes at its end */
};

struct k2i_outputfiles {
	size_t references; /* files that are open by a directory of it, and k2i_outputfiles_open's */
	size_t count;
	bool readable;
	struct place places[]; /* one a rule */
};

static const struct place *rule_place(const struct k2i_mount *mount, const struct k2i_rule_match *match)
{
	return &mount->outputfiles->places[k2i_rule_settings(match) - mount->settings->rules];
}

static int output_set(struct k2i_outputfile *output, int fd)
{
	struct stat info;

	if (fd < 0 || fstat(fd, &info))
		return -errno;
	/* A regular file is not asked for room; a pipe that nobody reads must not keep the worker. */
	if (!S_ISREG(info.st_mode) && fcntl(fd, F_SETFL, O_APPEND | O_NONBLOCK))
		return -errno;
	output->fd = fd;
	output->device = info.st_dev;
	output->inode = info.st_ino;
	return 0;
}

static int output_from(int fd, int directory_fd, const char *name, mode_t file_mode, struct k2i_outputfile **output)
{
	struct k2i_outputfile *made;
	int status;

	if (fd < 0)
		return -errno;
	made = calloc(1, sizeof(*made));
	status = made ? output_set(made, fd) : -ENOMEM;
	if (status == 0 && name) {
		made->name = strdup(name);
		status = made->name ? 0 : -ENOMEM;
	}
	if (status) {
		(void)close(fd);
		free(made);
		return status;
	}
	made->references = 1;
	made->directory_fd = directory_fd;
	made->file_mode = file_mode;
	*output = made;
	return 0;
}

void k2i_outputfile_put(struct k2i_outputfile *output)
{
	if (!output || --output->references)
		return;
	(void)close(output->fd);
	if (output->whole)
		k2i_outputfiles_close(output->whole);
	else if (output->directory_fd >= 0)
		(void)close(output->directory_fd);
	free(output->name);
	free(output);
}

/* Below `directory_fd` and on its file system, wherever symbolic links point: never on the mount. */
static int directory_open_below(int directory_fd, const char *name, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (unsigned)(flags | O_CLOEXEC),
		.mode = mode,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
	};

	return (int)syscall(SYS_openat2, directory_fd, name, &how, sizeof(how));
}

/* Unless it is there: in `directory_fd`, from which no link may lead away, or anywhere with AT_FDCWD. */
static int directory_make(int directory_fd, const char *name, mode_t mode)
{
	int fd;

	if (directory_fd == AT_FDCWD)
		return mkdir(name, mode) && errno != EEXIST ? -errno : 0;
	fd = directory_open_below(directory_fd, name, O_PATH | O_DIRECTORY, 0);
	if (fd >= 0)
		return close(fd) ? -errno : 0;
	return errno != ENOENT || mkdirat(directory_fd, name, mode) ? -errno : 0;
}

/* Makes the directories above the last part of `path`. */
static int directories_make(int directory_fd, const char *path, mode_t file_mode)
{
	const mode_t mode = k2i_directory_mode(file_mode);
	char part[PATH_MAX];
	int status = 0;

	for (const char *slash = strchr(path + 1, '/'); status == 0 && slash; slash = strchr(slash + 1, '/')) {
		if (snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path) >= (int)sizeof(part))
			return -ENAMETOOLONG;
		status = directory_make(directory_fd, part, mode);
	}
	return status;
}

/* Opens `name`, with the directories above it, below `directory_fd`. */
static int directory_make_below(int directory_fd, const char *name, mode_t file_mode)
{
	int fd = directory_open_below(directory_fd, name, OPEN_FLAGS | O_CREAT, file_mode), status;

	if (fd >= 0 || errno != ENOENT)
		return fd;
	status = directories_make(directory_fd, name, file_mode);
	if (status == 0)
		return directory_open_below(directory_fd, name, OPEN_FLAGS | O_CREAT, file_mode);
	errno = -status;
	return -1;
}

/* The name of `path` below the directory of its rule. */
static const char *rule_name_below(const struct k2i_rule *rule, const char *path)
{
	size_t bytes = strlen(rule->target);

	return path + bytes + (bytes && path[bytes] == '/');
}

int k2i_outputfile_get(struct k2i_mount *mount, const struct k2i_rule_match *match, const char *path,
		       struct k2i_outputfile **output)
{
	const struct place *place = rule_place(mount, match);
	const mode_t mode = mount->settings->copy_mode;
	const char *name;
	int status = 0;

	*output = NULL;
	if (place->kind == PLACE_FILE) {
		*output = place->file;
		(*output)->references++;
	} else if (place->kind == PLACE_DIRECTORY) {
		name = rule_name_below(k2i_rule_settings(match), path);
		status = output_from(directory_make_below(place->directory_fd, name, mode), place->directory_fd, name,
				     mode, output);
		if (status == 0) {
			(*output)->whole = mount->outputfiles;
			mount->outputfiles->references++;
		}
	}
	return status;
}

/* Whether what is open has its name still. */
static bool output_is_in_place(const struct k2i_outputfile *output)
{
	struct stat info;
	int fd = directory_open_below(output->directory_fd, output->name, O_PATH, 0);
	bool same = fd < 0 ? errno != ENOENT
			   : fstat(fd, &info) == 0 && info.st_dev == output->device && info.st_ino == output->inode;

	if (fd >= 0)
		(void)close(fd);
	return same;
}

bool k2i_outputfile_outside(const struct k2i_mount *mount, const struct k2i_rule_match *match)
{
	const struct place *place = rule_place(mount, match);

	/* Plug-ins can be written to by themselves. */
	return !k2i_rule_settings(match)->plugin && (place->kind == PLACE_FILE || place->kind == PLACE_DIRECTORY);
}

static int place_inside(const struct place *place, const struct k2i_rule *rule, const char *path, char *inside,
			size_t room)
{
	bool directory = place->kind == PLACE_INSIDE_DIRECTORY;
	int bytes = 0;

	if (place->inside)
		bytes = snprintf(inside, room, "%.*s%s%s", (int)place->inside_bytes, place->inside,
				 directory && place->inside_bytes ? "/" : "",
				 directory ? rule_name_below(rule, path) : "");
	return (size_t)bytes < room ? bytes : -ENAMETOOLONG;
}

int k2i_outputfile_inside(const struct k2i_mount *mount, const struct k2i_rule_match *match, const char *path,
			  char *inside, size_t room)
{
	return place_inside(rule_place(mount, match), k2i_rule_settings(match), path, inside, room);
}

/* The next line would be joined to half a one. Bytes that somebody else has appended since are not ours to cut. */
static void output_take_back(const struct k2i_outputfile *output, size_t done)
{
	off_t end = lseek(output->fd, 0, SEEK_CUR);
	struct stat info;

	if (end >= (off_t)done && fstat(output->fd, &info) == 0 && info.st_size == end)
		(void)!ftruncate(output->fd, end - (off_t)done);
}

/*
 * A file that was renamed or removed, as logrotate(8) does, is made anew; everybody who has it open writes there then.
 */
static int output_open_again(struct k2i_outputfile *output, bool make)
{
	int old = output->fd;
	int fd = make ? directory_make_below(output->directory_fd, output->name, output->file_mode)
		      : directory_open_below(output->directory_fd, output->name, OPEN_FLAGS, 0);
	int status = output_set(output, fd);

	if (status == 0)
		(void)close(old);
	else if (fd >= 0)
		(void)close(fd);
	return status;
}

/* For a line of its own each that costs a fifth of all, so they are looked after with each tick of the clock only. */
static int output_look_after(struct k2i_outputfile *output, bool make)
{
	uint64_t now_ns = k2i_clock_ns(CLOCK_MONOTONIC_COARSE);
	int status;

	if (!output->name || now_ns == output->looked_ns)
		return 0;
	status = output_is_in_place(output) ? 0 : output_open_again(output, make);
	/* The open file is another one until it can be made: nothing goes there within the tick either. */
	if (status == 0)
		output->looked_ns = now_ns;
	return status;
}

/* Once only, until something goes there again: everybody on the mount waits as well. */
static int output_wait_for_room(struct k2i_outputfile *output, uint64_t *until_ns)
{
	struct pollfd room = {.fd = output->fd, .events = POLLOUT};
	struct timespec pause = {.tv_nsec = PAUSE_NS};
	uint64_t now_ns = k2i_clock_ns(CLOCK_MONOTONIC);

	/* A serial line can have room for poll(2) and none for write(2). */
	if (*until_ns)
		(void)nanosleep(&pause, NULL);
	else
		*until_ns = now_ns + ROOM_NS;
	if (!output->stalled && now_ns < *until_ns &&
	    poll(&room, 1, (int)((*until_ns - now_ns) / K2I_MILLISECOND_NS)) > 0)
		return 0;
	output->stalled = true;
	/* Not -EAGAIN, with which the writer would wait for the ring. */
	return -ENOBUFS;
}

/* As write(2), or -errno. */
static ssize_t output_append_some(struct k2i_outputfile *output, const char *data, size_t bytes)
{
	uint64_t until_ns = 0;
	ssize_t written;
	int status = 0;

	do
		written = write(output->fd, data, bytes);
	while (written < 0 &&
	       (errno == EINTR || (errno == EAGAIN && (status = output_wait_for_room(output, &until_ns)) == 0)));
	if (written < 0)
		return status ? status : -errno;
	output->stalled = false;
	return written;
}

int k2i_outputfile_append(struct k2i_outputfile *output, const char *data, size_t bytes)
{
	size_t done = 0, before = 0;
	int status = output_look_after(output, true);

	if (status)
		return status;
	while (done < bytes) {
		ssize_t written = output_append_some(output, data + done, bytes - done);

		if (written < 0) {
			/* Nobody knows whether there is something between two pieces. */
			if (done && before == 0)
				output_take_back(output, done);
			return (int)written;
		}
		if (written > 0) {
			before = done;
			done += (size_t)written;
		}
	}
	return 0;
}

ssize_t k2i_outputfile_read(struct k2i_outputfile *output, char *data, size_t bytes, uint64_t offset)
{
	ssize_t got;

	/* The file whose length stat(2) gives. A missing file is made by the next record, not by a reader. */
	(void)output_look_after(output, false);
	do
		got = pread(output->fd, data, bytes, (off_t)offset);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

int k2i_outputfile_size(struct k2i_mount *mount, const char *path, uint64_t *bytes)
{
	const struct k2i_rule_match *match = k2i_rules_find(mount->rules, path);
	const struct place *place = match ? rule_place(mount, match) : NULL;
	struct stat info;
	int fd, status = -1;

	if (place && place->kind == PLACE_FILE) {
		status = fstat(place->file->fd, &info);
	} else if (place && place->kind == PLACE_DIRECTORY) {
		fd = directory_open_below(place->directory_fd, rule_name_below(k2i_rule_settings(match), path), O_PATH,
					  0);
		if (fd >= 0) {
			status = fstat(fd, &info);
			(void)close(fd);
		}
	}
	if (status)
		return -ENOENT;
	*bytes = (uint64_t)info.st_size;
	return 0;
}

bool k2i_outputfiles_readable(const struct k2i_outputfiles *outputfiles)
{
	return outputfiles->readable;
}

/* ---- at the start */

/* The part of a resolved path behind the mount point; NULL: it is not below it. */
static const char *path_below_mount_point(const struct k2i_mount *mount, const char *path)
{
	size_t bytes = strlen(mount->options->mount_point);

	if (strncmp(path, mount->options->mount_point, bytes) != 0 || (path[bytes] && path[bytes] != '/'))
		return NULL;
	return path + bytes;
}

static int place_set_inside(struct place *place, const char *inside, bool directory)
{
	inside += strspn(inside, "/");
	place->inside = inside;
	place->inside_bytes = strlen(inside);
	while (place->inside_bytes && inside[place->inside_bytes - 1] == '/')
		place->inside_bytes--;
	place->kind = directory ? PLACE_INSIDE_DIRECTORY : PLACE_INSIDE;
	if (place->inside_bytes == 0)
		return directory ? 0 : -EINVAL;
	return k2hft_stream_path_check(inside, place->inside_bytes);
}

static int place_open_directory(struct place *place, const char *path)
{
	place->directory_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (place->directory_fd < 0)
		return -errno;
	place->kind = PLACE_DIRECTORY;
	return 0;
}

/* Where its name is, symbolic links resolved; a pipe, as /dev/stdout can be, has none. */
static int place_open_file(struct place *place, const char *path, mode_t mode)
{
	int fd = k2i_link_open(path, OPEN_FLAGS | O_CREAT | O_CLOEXEC, mode);
	char resolved[PATH_MAX], *slash = NULL;

	if (fd < 0)
		return fd == -ELOOP ? -EPERM : fd;
	place->kind = PLACE_FILE;
	place->directory_fd = -1;
	if (realpath(path, resolved)) {
		slash = strrchr(resolved, '/');
		*slash = '\0';
		place->directory_fd = open(*resolved ? resolved : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	return output_from(fd, place->directory_fd, place->directory_fd < 0 ? NULL : slash + 1, mode, &place->file);
}

static int place_open_outside(const struct k2i_mount *mount, struct place *place, const char *path, bool directory,
			      mode_t mode)
{
	const char *slash = strrchr(path, '/');
	char resolved[PATH_MAX], above[PATH_MAX];
	int status;

	status = directories_make(AT_FDCWD, path, mode);
	if (status)
		return status;
	(void)snprintf(above, sizeof(above), "%.*s", slash == path ? 1 : (int)(slash - path), path);
	/* A symbolic link must not lead to the mount: a server that waits for itself can't be ended. */
	if (!realpath(above, resolved))
		return -errno;
	if (path_below_mount_point(mount, resolved))
		return -ELOOP;
	return directory ? place_open_directory(place, path) : place_open_file(place, path, mode);
}

static int place_open(const struct k2i_mount *mount, const struct k2i_rule *rule, mode_t mode, struct place *place)
{
	const char *path = rule->output_file;
	/* For a rule of one file the settings do not take such a path. */
	bool directory = path && *path && path[strlen(path) - 1] == '/';

	if (!path || !*path)
		return 0;
	if (*path != '/')
		return place_set_inside(place, path, directory);
	if (path_below_mount_point(mount, path))
		return place_set_inside(place, path_below_mount_point(mount, path), directory);
	return place_open_outside(mount, place, path, directory, mode);
}

static void place_close(struct place *place)
{
	k2i_outputfile_put(place->file);
	if (place->kind == PLACE_DIRECTORY || (place->kind == PLACE_FILE && !place->file && place->directory_fd >= 0))
		(void)close(place->directory_fd);
}

/* Follows what the rule's records go through. -ENOENT a file on the way has no rule, -ELOOP they come round. */
static int rule_check_chain(const struct k2i_mount *mount, const struct k2i_rule *rule)
{
	char first[K2I_PATH_BYTES_MAX + 1], second[sizeof(first)], *path = first, *next = second, *former;
	const struct k2i_rule_match *match;
	int bytes;

	(void)snprintf(first, sizeof(first), "%s%s", rule->target,
		       !rule->directory ? "" : (*rule->target ? "/file" : "file"));
	for (size_t step = 0; step <= mount->settings->rule_count; step++) {
		match = k2i_rules_find(mount->rules, path);
		if (!match)
			return -ENOENT;
		bytes = k2i_outputfile_inside(mount, match, path, next, sizeof(second));
		if (bytes <= 0)
			return bytes;
		former = path;
		path = next;
		next = former;
	}
	return -ELOOP;
}

static const char *status_text(int status, bool inside)
{
	if (inside && status == -ENOENT)
		return "no rule covers that file of the mount";
	if (inside && status == -ELOOP)
		return "records would go round in a circle";
	if (status == -EINVAL)
		return "no path below the mount";
	if (status == -ELOOP)
		return "a symbolic link leads to the mount itself";
	if (status == -EPERM)
		return "it may not be written, or is another user's symbolic link";
	return strerror(-status);
}

int k2i_outputfiles_open(struct k2i_mount *mount, char *message, size_t message_room)
{
	const struct k2i_settings *settings = mount->settings;
	int status = 0;

	mount->outputfiles = calloc(1, sizeof(*mount->outputfiles) + settings->rule_count * sizeof(struct place));
	if (!mount->outputfiles)
		return -ENOMEM;
	mount->outputfiles->count = settings->rule_count;
	mount->outputfiles->references = 1;
	/* Files get FILE_MODE; all others that a worker makes are its owner's. */
	(void)umask(0);
	for (size_t number = 0; status == 0 && number < 2 * settings->rule_count; number++) {
		const struct k2i_rule *rule = &settings->rules[number % settings->rule_count];
		bool inside = number >= settings->rule_count;

		status = inside ? rule_check_chain(mount, rule)
				: place_open(mount, rule, settings->copy_mode, &mount->outputfiles->places[number]);
		if (!inside && (mount->outputfiles->places[number].file ||
				mount->outputfiles->places[number].kind == PLACE_DIRECTORY))
			mount->outputfiles->readable = true;
		if (status)
			(void)snprintf(message, message_room, "%s:%u: OUTPUTFILE %s: %s", rule->place.file,
				       rule->place.line, rule->output_file, status_text(status, inside));
		if (status && inside)
			status = -EINVAL;
	}
	return status;
}

void k2i_outputfiles_close(struct k2i_outputfiles *outputfiles)
{
	if (!outputfiles || --outputfiles->references)
		return;
	for (size_t number = 0; number < outputfiles->count; number++)
		place_close(&outputfiles->places[number]);
	free(outputfiles);
}

/* ---- for plug-ins: the rule may be none of the mount's any more */

static int place_lend(const struct place *place, const struct k2i_rule *rule, mode_t mode, const char *path)
{
	int fd;

	if (place->kind == PLACE_DIRECTORY)
		fd = directory_make_below(place->directory_fd, rule_name_below(rule, path), mode);
	else if (place->kind == PLACE_FILE && place->file->name)
		fd = directory_make_below(place->directory_fd, place->file->name, mode);
	else if (place->kind == PLACE_FILE)
		fd = fcntl(place->file->fd, F_DUPFD_CLOEXEC, 0);
	else
		fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int k2i_outputfile_lend(const struct k2i_mount *mount, const struct k2i_lane_plugin *plugin, const char *path)
{
	struct place place = {.kind = PLACE_NONE};
	int fd = place_open(mount, &plugin->rule, plugin->mode, &place);

	if (fd == 0)
		fd = place_lend(&place, &plugin->rule, plugin->mode, path);
	place_close(&place);
	return fd;
}

bool k2i_outputfile_lent_in_place(const struct k2i_mount *mount, const struct k2i_lane_plugin *plugin, const char *path,
				  int fd)
{
	struct place place = {.kind = PLACE_NONE};
	struct k2i_outputfile lent = {.name = NULL};
	struct stat info;
	bool same = true;

	if (place_open(mount, &plugin->rule, plugin->mode, &place) == 0 && fstat(fd, &info) == 0) {
		if (place.kind == PLACE_DIRECTORY)
			lent.name = (char *)(uintptr_t)rule_name_below(&plugin->rule, path);
		else if (place.kind == PLACE_FILE)
			lent.name = place.file->name;
		lent.directory_fd = place.directory_fd;
		lent.device = info.st_dev;
		lent.inode = info.st_ino;
		same = !lent.name || output_is_in_place(&lent);
	}
	place_close(&place);
	return same;
}

int k2i_outputfile_lent_inside(const struct k2i_mount *mount, const struct k2i_lane_plugin *plugin, const char *path,
			       char *inside, size_t room)
{
	struct place place = {.kind = PLACE_NONE};
	const char *output = plugin->rule.output_file;

	if (!output || !*output || (*output == '/' && !path_below_mount_point(mount, output)))
		return 0;
	(void)place_open(mount, &plugin->rule, plugin->mode, &place);
	return place_inside(&place, &plugin->rule, path, inside, room);
}
