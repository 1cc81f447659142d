/* SPDX-License-Identifier: MIT */
/* The mounts, receivers and senders of this host, as far as /proc shows them to this user. */
#include "tools/stat/stat.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <k2hft/ring.h>

#include "config/settings.h"

#define ADDRESS_ROOM 300u

static void target_add(struct stat_targets *found, const char *name)
{
	char **grown;

	for (size_t at = 0; at < found->count; at++)
		if (strcmp(found->names[at], name) == 0)
			return;
	grown = realloc(found->names, (found->count + 1) * sizeof(*grown));
	if (!grown)
		return;
	found->names = grown;
	grown[found->count] = strdup(name);
	found->count += grown[found->count] != NULL;
}

/* mountinfo has blanks, line ends and backslashes of a path as \ooo. */
static void octal_decode(char *text)
{
	char *to = text;

	for (; *text; text++) {
		if (text[0] == '\\' && isdigit((unsigned char)text[1]) && isdigit((unsigned char)text[2]) &&
		    isdigit((unsigned char)text[3])) {
			*to++ = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0'));
			text += 3;
		} else {
			*to++ = *text;
		}
	}
	*to = '\0';
}

static void mounts_find(struct stat_targets *found)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, *point, *end;
	size_t room = 0;

	while (file && getline(&line, &room, file) > 0) {
		/* ID PARENT MAJOR:MINOR ROOT POINT OPTIONS... - TYPE SOURCE OPTIONS */
		if (!strstr(line, " - fuse.k2hftfuse "))
			continue;
		point = line;
		for (int field = 0; field < 4 && point; field++) {
			point = strchr(point, ' ');
			point += point != NULL;
		}
		end = point ? strchr(point, ' ') : NULL;
		if (!end)
			continue;
		*end = '\0';
		octal_decode(point);
		target_add(found, point);
	}
	free(line);
	if (file)
		(void)fclose(file);
}

/* The start of a file below /proc/PID, terminated; its length. */
static size_t proc_read(const char *pid, const char *name, char *text, size_t room)
{
	char path[PATH_MAX];
	size_t bytes = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
	file = fopen(path, "re");
	if (file) {
		bytes = fread(text, 1, room - 1, file);
		(void)fclose(file);
	}
	text[bytes] = '\0';
	return bytes;
}

/* Strings that end with NUL each: the value of the first option or variable of `names`; NULL: there is none. */
static const char *value_find(const char *text, size_t bytes, const char *const *names)
{
	const char *next;

	for (const char *at = text; at < text + bytes; at = next) {
		next = at + strlen(at) + 1;
		for (const char *const *name = names; *name; name++) {
			size_t name_bytes = strlen(*name);

			if (strcmp(at, *name) == 0 && next < text + bytes)
				return next;
			if (strncmp(at, *name, name_bytes) == 0 && at[name_bytes] == '=')
				return at + name_bytes + 1;
		}
	}
	return NULL;
}

/* Where a receiver answers, by its own configuration as it is now. */
static void receiver_find(struct stat_targets *found, const char *pid)
{
	static const char *const options[] = {"-conf", "--conf", "--config", "-json", NULL};
	static const char *const variables[] = {"K2HFTSVRCONFFILE", "K2HFTSVRJSONCONF", NULL};
	static char text[128 * 1024];
	struct k2i_settings *settings = NULL;
	char path[PATH_MAX], message[1024], target[ADDRESS_ROOM];
	const char *config = value_find(text, proc_read(pid, "cmdline", text, sizeof(text)), options);
	const char *address;

	if (!config)
		config = value_find(text, proc_read(pid, "environ", text, sizeof(text)), variables);
	if (!config)
		return;
	if (config[0] != '{') {
		(void)snprintf(path, sizeof(path), "/proc/%s/%s/%s", pid, config[0] == '/' ? "root" : "cwd", config);
		config = path;
	}
	if (k2i_settings_load(config, &settings, message, sizeof(message)) < 0)
		return;
	if (k2i_settings_control_port(settings)) {
		address = settings->control_address ? settings->control_address : "127.0.0.1";
		if (strcmp(address, "*") == 0 || strcmp(address, "0.0.0.0") == 0 || strcmp(address, "::") == 0)
			address = "127.0.0.1";
		(void)snprintf(target, sizeof(target), strchr(address, ':') ? "[%s]:%u" : "%s:%u", address,
			       k2i_settings_control_port(settings));
		target_add(found, target);
	} else {
		found->silent++;
	}
	k2i_settings_free(settings);
}

static bool maps_library(const char *pid)
{
	char path[PATH_MAX], *line = NULL;
	bool maps = false;
	size_t room = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	file = fopen(path, "re");
	while (file && !maps && getline(&line, &room, file) > 0)
		maps = strstr(line, "/libk2hft.so") != NULL;
	free(line);
	if (file)
		(void)fclose(file);
	return maps;
}

/* The name under which the process made the ring's file, before that got its own by link(2). */
#define NEW_SUFFIX ".k2hft-new (deleted)"

/* A ring that the process has open: by the name of its file, or else by its descriptor, which must be readable. */
static void ring_find(struct stat_targets *found, const char *descriptor)
{
	struct k2hft_ring_stats stats = K2HFT_RING_STATS_INIT;
	struct stat open_file, named;
	char name[PATH_MAX], *new_name;
	ssize_t bytes;

	if (stat(descriptor, &open_file) < 0 || !S_ISREG(open_file.st_mode) ||
	    k2hft_ring_observe(descriptor, &stats, NULL) != 0)
		return;
	bytes = readlink(descriptor, name, sizeof(name) - 1);
	name[bytes > 0 ? bytes : 0] = '\0';
	new_name = strstr(name, NEW_SUFFIX);
	if (new_name && !new_name[sizeof(NEW_SUFFIX) - 1])
		*new_name = '\0';
	if (stat(name, &named) == 0 && named.st_dev == open_file.st_dev && named.st_ino == open_file.st_ino)
		target_add(found, name);
	else
		target_add(found, descriptor);
}

static void rings_find(struct stat_targets *found, const char *pid)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *folder;

	(void)snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	folder = opendir(path);
	while (folder && (entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%s/fd/%s", pid, entry->d_name);
		ring_find(found, path);
	}
	if (folder)
		(void)closedir(folder);
}

static void process_look(struct stat_targets *found, const char *pid)
{
	char name[32];

	(void)proc_read(pid, "comm", name, sizeof(name));
	name[strcspn(name, "\n")] = '\0';
	if (strcmp(name, "k2hftfusesvr") == 0)
		receiver_find(found, pid);
	/* A mount's ring is shown with the mount. */
	else if (strcmp(name, "k2hftfuse") != 0 && strcmp(pid, found->own_pid) != 0 && maps_library(pid))
		rings_find(found, pid);
}

void stat_targets_find(struct stat_targets *found)
{
	DIR *folder = opendir("/proc");
	struct dirent *entry;

	(void)snprintf(found->own_pid, sizeof(found->own_pid), "%ld", (long)getpid());
	mounts_find(found);
	while (folder && (entry = readdir(folder)))
		if (isdigit((unsigned char)entry->d_name[0]))
			process_look(found, entry->d_name);
	if (folder)
		(void)closedir(folder);
}

void stat_targets_free(struct stat_targets *found)
{
	for (size_t at = 0; at < found->count; at++)
		free(found->names[at]);
	free(found->names);
}
