/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "app/format/format.h"
#include "base/clock.h"
#include "receiver/base/text.h"
#include "receiver/base/confine.h"
#include "receiver/sink/file/file_rules.h"
#include "receiver/sink/file/internal.h"

/* Outputs as the settings say them. */

int k2i_outputs_failed(const struct k2i_settings *settings, const char *what, int error)
{
	char at[PATH_MAX + 16];

	k2i_log(K2HFT_LOG_ERROR, "output: %s: can't %s FILE_BASEDIR %s: %s",
		k2i_settings_place(settings, K2I_SECTION_K2HFTFUSESVR, "FILE_BASEDIR", at, sizeof(at)), what,
		settings->base_directory,
		error == -EWOULDBLOCK ? "another receiver writes there" : k2i_text_error(error));
	return error;
}

/* A directory can have two names: a file system can take OUT for out, and a directory be mounted twice. */
static bool same_directory(const char *one, const char *other)
{
	struct stat first, second;

	return stat(one, &first) == 0 && stat(other, &second) == 0 && first.st_dev == second.st_dev &&
	       first.st_ino == second.st_ino;
}

/* The state within the base directory must not be a name that a stream can have. */
static int refused_prefix_find(const char *base_directory, const char *state_directory, char **prefix)
{
	char *base = realpath(base_directory, NULL), *state = realpath(state_directory, NULL);
	size_t base_bytes = base ? strlen(base) : 0;
	int error = base && state ? 0 : -errno;

	/* The root alone ends with a slash. */
	if (base_bytes == 1)
		base_bytes = 0;
	if (!error && same_directory(state, base)) {
		error = -EINVAL;
	} else if (!error && strncmp(state, base, base_bytes) == 0 && state[base_bytes] == '/') {
		*prefix = strdup(state + base_bytes + 1);
		error = *prefix ? 0 : -ENOMEM;
	}
	free(base);
	free(state);
	return error;
}

static int prefix_failed(const struct k2i_settings *settings, int error)
{
	char at[PATH_MAX + 16];

	if (error != -EINVAL)
		return k2i_outputs_failed(settings, "use", error);
	k2i_log(K2HFT_LOG_ERROR,
		"ledger: %s: STATEDIR must not be FILE_BASEDIR itself, where streams can have the names of its files; "
		"name a directory in it, or elsewhere",
		k2i_settings_place(settings, K2I_SECTION_K2HFTFUSESVR, "STATEDIR", at, sizeof(at)));
	return error;
}

int k2i_outputs_open(const struct k2i_sink_options *options, struct k2i_outputs **outputs)
{
	const struct k2i_settings *settings = options->settings;
	struct k2i_outputs_options outputs_options = {
		.base_directory = settings->base_directory,
		.state_directory = options->state_directory,
		.killed = options->killed,
		.open_max = options->targets_max,
		.file_mode = settings->file_mode,
		.store = k2i_file_rules_store(settings),
		.ledger = options->ledger,
		.counters = options->counters,
	};
	char *prefix = NULL;
	int error = refused_prefix_find(settings->base_directory, options->state_directory, &prefix);

	if (error)
		return prefix_failed(settings, error);
	outputs_options.refused_prefix = prefix;
	error = k2i_outputs_create(&outputs_options, outputs);
	free(prefix);
	return error ? k2i_outputs_failed(settings, "use", error) : 0;
}

/* A link that leads out can't be opened, which holds senders. */
int k2i_outputs_unify(struct k2i_outputs *outputs, const char *unify_file, char path[K2HFT_STREAM_PATH_BYTES_MAX + 1])
{
	if (k2i_format_unify(unify_file, k2i_clock_ns(CLOCK_REALTIME), path))
		return -EINVAL;
	if (!k2i_output_device(path) && k2i_output_follow(outputs, path))
		k2i_log_limited(
			&outputs->link_limit, k2i_clock_now_ns(), K2HFT_LOG_ERROR,
			"output: FILE_UNIFY %s is a symbolic link that leads out of FILE_BASEDIR, or nowhere: let it "
			"lead to a file below that; senders are held until then",
			path);
	return 0;
}

/* Files for others ------------------------------------------------------------------------------------------------- */

int k2i_output_lend(struct k2i_outputs *outputs, const char *path)
{
	int descriptor;

	if (k2i_output_device(path)) {
		descriptor = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
		return descriptor < 0 ? -errno : descriptor;
	}
	if (k2i_output_refused_path(outputs, path))
		return -EACCES;
	(void)pthread_rwlock_rdlock(&outputs->base_lock);
	descriptor =
		k2i_output_leads_to_state(outputs, path)
			? -EACCES
			: k2i_confine_open(outputs->base, path, O_APPEND | O_CREAT | k2i_store_flags(&outputs->store),
					   outputs->file_mode);
	(void)pthread_rwlock_unlock(&outputs->base_lock);
	return descriptor;
}

bool k2i_output_lent_in_place(struct k2i_outputs *outputs, const char *path, int descriptor)
{
	struct stat own, named;
	bool in_place;

	if (k2i_output_device(path) || fstat(descriptor, &own) < 0)
		return true;
	(void)pthread_rwlock_rdlock(&outputs->base_lock);
	if (fstatat(outputs->base, path, &named, AT_SYMLINK_NOFOLLOW) == 0)
		in_place = named.st_dev == own.st_dev && named.st_ino == own.st_ino;
	else
		in_place = errno != ENOENT && errno != ENOTDIR;
	(void)pthread_rwlock_unlock(&outputs->base_lock);
	return in_place;
}

void k2i_outputs_lent_written(struct k2i_outputs *outputs)
{
	atomic_store(&outputs->unsynced, true);
}
