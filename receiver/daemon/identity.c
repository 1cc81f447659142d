/* SPDX-License-Identifier: MIT */
#include "receiver/daemon/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "receiver/base/directory.h"
#include "base/log.h"
#include "receiver/base/text.h"

/* Finding -------------------------------------------------------------------------------------------------------- */

/* Digits are an id, even if no user has it. */
static bool id_parse(const char *text, unsigned *id)
{
	unsigned long value;
	char *end;

	if (strspn(text, "0123456789") != strlen(text))
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	/* The highest id means "leave it" to the system calls. */
	if (errno || value >= (unsigned)-1)
		return false;
	*id = (unsigned)value;
	return true;
}

static int user_find(const struct k2i_settings *settings, struct k2i_identity *identity)
{
	const struct passwd *entry = getpwnam(settings->run_user);
	char at[PATH_MAX + 16];

	k2i_settings_place(settings, K2I_SECTION_K2HFTFUSESVR, "USER", at, sizeof(at));
	if (!entry && !id_parse(settings->run_user, &identity->user)) {
		k2i_log(K2HFT_LOG_ERROR, "receiver: %s: USER = %s: there is no such user", at, settings->run_user);
		return -EINVAL;
	}
	if (!entry)
		entry = getpwuid(identity->user);
	if (entry) {
		identity->user = entry->pw_uid;
		identity->group = entry->pw_gid;
		return 0;
	}
	if (settings->run_group)
		return 0;
	k2i_log(K2HFT_LOG_ERROR, "receiver: %s: USER = %s has no entry in passwd(5), so it needs GROUP", at,
		settings->run_user);
	return -EINVAL;
}

static int group_find(const struct k2i_settings *settings, struct k2i_identity *identity)
{
	const struct group *entry = getgrnam(settings->run_group);
	char at[PATH_MAX + 16];

	if (entry)
		identity->group = entry->gr_gid;
	else if (!id_parse(settings->run_group, &identity->group)) {
		k2i_log(K2HFT_LOG_ERROR, "receiver: %s: GROUP = %s: there is no such group",
			k2i_settings_place(settings, K2I_SECTION_K2HFTFUSESVR, "GROUP", at, sizeof(at)),
			settings->run_group);
		return -EINVAL;
	}
	return 0;
}

int k2i_identity_find(const struct k2i_settings *settings, struct k2i_identity *identity)
{
	char at[PATH_MAX + 16];
	int error;

	memset(identity, 0, sizeof(*identity));
	if (!settings->run_user)
		return 0;
	identity->user_name = settings->run_user;
	error = user_find(settings, identity);
	if (!error && settings->run_group)
		error = group_find(settings, identity);
	if (error)
		return error;
	if (geteuid() == 0) {
		identity->changes = identity->user != 0;
		return 0;
	}
	if (identity->user == geteuid() && identity->group == getegid())
		return 0;
	k2i_log(K2HFT_LOG_ERROR, "receiver: %s: only root can become USER = %s%s%s: start it as root, or as that user",
		k2i_settings_place(settings, K2I_SECTION_K2HFTFUSESVR, "USER", at, sizeof(at)), settings->run_user,
		settings->run_group ? ", GROUP = " : "", settings->run_group ? settings->run_group : "");
	return -EINVAL;
}

/* Directories ---------------------------------------------------------------------------------------------------- */

/*
 * Somebody may have put another directory in the place of the new one, so only an empty one that root owns is given
 * away. A new directory below one with the set-group-ID bit keeps that bit and that group.
 */
static int directory_give(const struct k2i_identity *identity, int directory)
{
	struct stat status;
	gid_t group = identity->group;

	if (fstat(directory, &status) < 0)
		return -errno;
	if (status.st_uid != 0 || status.st_nlink > 2)
		return -EPERM;
	if (status.st_mode & S_ISGID)
		group = (gid_t)-1;
	return fchownat(directory, "", identity->user, group, AT_EMPTY_PATH) < 0 ? -errno : 0;
}

/* Whether a user other than root can put a link there, which could lead root to places closed to that user. */
static bool others_write(int directory)
{
	struct stat status;

	return fstat(directory, &status) < 0 || status.st_uid != 0 || (status.st_mode & (S_IWGRP | S_IWOTH));
}

/* Opens the directory `name` of `parent`, made if there is none. -ELOOP: it is another user's link, or no directory. */
static int directory_step(const struct k2i_identity *identity, int parent, const char *name, mode_t mode)
{
	bool follow = !others_write(parent);
	int made = k2i_directory_make_at(parent, name, mode), directory, error;

	if (made < 0)
		return made;
	directory = openat(parent, name, O_PATH | O_DIRECTORY | O_CLOEXEC | (made || !follow ? O_NOFOLLOW : 0));
	if (directory < 0)
		return errno == ENOTDIR && !follow ? -ELOOP : -errno;
	error = made ? directory_give(identity, directory) : 0;
	if (!error)
		return directory;
	(void)close(directory);
	return error;
}

static int directories_make(const struct k2i_identity *identity, const char *path, mode_t mode)
{
	int directory = open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int next = directory < 0 ? -errno : directory;
	char *copy = strdup(path), *rest = NULL, *part = copy ? strtok_r(copy, "/", &rest) : NULL;

	for (; part && next >= 0; part = strtok_r(NULL, "/", &rest)) {
		next = directory_step(identity, directory, part, mode);
		(void)close(directory);
		directory = next;
	}
	if (directory >= 0)
		(void)close(directory);
	free(copy);
	return copy ? next : -ENOMEM;
}

int k2i_identity_directory_make(const struct k2i_identity *identity, const char *key, const char *path, mode_t mode)
{
	int error = identity->changes ? directories_make(identity, path, mode) : 0;

	/* The target of such a link is the user's own affair. */
	if (error >= 0 || error == -ELOOP)
		return 0;
	k2i_log(K2HFT_LOG_ERROR, "receiver: can't make %s %s: %s", key, path, k2i_text_error(error));
	return error;
}

int k2i_identity_directory_check(const struct k2i_identity *identity, const char *key, const char *path)
{
	int error;

	if (!identity->changes || faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) == 0)
		return 0;
	error = -errno;
	k2i_log(K2HFT_LOG_ERROR,
		"receiver: USER = %s can't write in %s %s: %s; give that user the directory and access to those above "
		"it",
		identity->user_name, key, path, k2i_text_error(error));
	return error;
}

/* Taking --------------------------------------------------------------------------------------------------------- */

static int groups_set(const struct k2i_identity *identity)
{
	const struct passwd *entry = getpwuid(identity->user);
	int failed = entry ? initgroups(entry->pw_name, identity->group) : setgroups(1, &identity->group);

	return failed < 0 ? -errno : 0;
}

/* Checks that the change can't be taken back. */
static int finality_check(void)
{
	return setresuid((uid_t)-1, 0, (uid_t)-1) == 0 || geteuid() == 0 || getuid() == 0 ? -EPERM : 0;
}

int k2i_identity_take(const struct k2i_identity *identity)
{
	int error;

	if (!identity->changes)
		return 0;
	/* Groups first: another user may not set them. */
	error = groups_set(identity);
	if (!error && setresgid(identity->group, identity->group, identity->group) < 0)
		error = -errno;
	if (!error && setresuid(identity->user, identity->user, identity->user) < 0)
		error = -errno;
	if (!error && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		error = -errno;
	if (!error)
		error = finality_check();
	if (error)
		k2i_log(K2HFT_LOG_ERROR, "receiver: can't become USER = %s: %s", identity->user_name,
			k2i_text_error(error));
	else
		k2i_log(K2HFT_LOG_INFO, "receiver: runs as user %u, group %u from now on", identity->user,
			identity->group);
	return error;
}
