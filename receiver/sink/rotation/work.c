/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "app/plugin/run.h"
#include "base/clock.h"
#include "receiver/sink/rotation/internal.h"

#define LOOK_NS (5 * K2I_SECOND_NS)
#define NICE_LEAST 19
#define IO_OF_THREAD 1    /* IOPRIO_WHO_PROCESS */
#define IO_IDLE (3 << 13) /* IOPRIO_CLASS_IDLE */

static void priority_lower(void)
{
	(void)setpriority(PRIO_PROCESS, 0, NICE_LEAST);
	(void)syscall(SYS_ioprio_set, IO_OF_THREAD, 0, IO_IDLE);
}

void k2i_rules_put(struct k2i_rotation_rules *rules)
{
	if (!rules || --rules->references)
		return;
	k2i_plugin_command_free(rules->post);
	free(rules);
}

/* The program can be run twice for a file, if the receiver is killed before it has noted that. */
static void file_post(struct k2i_rotation *rotation, struct k2i_sealed *sealed, const struct k2i_rotation_rules *rules)
{
	char path[K2HFT_STREAM_PATH_BYTES_MAX + 1], whole[PATH_MAX + K2HFT_STREAM_PATH_BYTES_MAX + 1];
	int result;

	sealed->posted = true;
	k2i_sealed_name(sealed, path);
	(void)snprintf(whole, sizeof(whole), "%s/%s", rotation->options.base_directory, path);
	(void)pthread_mutex_unlock(&rotation->mutex);
	result = k2i_plugin_run(rules->post, whole, "rotation", &rotation->stopping);
	(void)pthread_mutex_lock(&rotation->mutex);
	if (sealed->given || rotation->stopping)
		return;
	if (result < 0)
		k2i_sealed_failed(rotation, sealed, "POSTROTATE can't be run", result);
	else if (result > 0)
		k2i_sealed_failed(rotation, sealed, "POSTROTATE has failed, as its status says", -ECHILD);
}

/* POSTROTATE may take the file elsewhere. */
static bool is_gone(const struct k2i_rotation *rotation, const struct k2i_sealed *sealed)
{
	char path[K2HFT_STREAM_PATH_BYTES_MAX + 1];
	struct stat status;
	const char *name;
	int directory;
	bool gone;

	k2i_sealed_name(sealed, path);
	directory = k2i_sealed_directory(rotation, path, &name);
	if (directory < 0)
		return directory == -ENOENT;
	gone = fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
	(void)close(directory);
	return gone;
}

static void file_finish(struct k2i_rotation *rotation, struct k2i_sealed *sealed)
{
	struct k2i_rotation_rules *rules = rotation->rules;

	rules->references++;
	sealed->retry_ns = 0;
	if (rules->compress != K2I_ROTATE_COMPRESS_NONE && !sealed->packed)
		k2i_sealed_compress(rotation, sealed, rules->compress);
	if (rules->post && !sealed->retry_ns && !sealed->given && !rotation->stopping)
		file_post(rotation, sealed, rules);
	if (rules->post && sealed->posted && !sealed->given && !rotation->stopping && is_gone(rotation, sealed))
		k2i_sealed_forget(rotation, sealed);
	if (!sealed->retry_ns && !sealed->given && !rotation->stopping) {
		k2i_journal_done(rotation, sealed);
		k2i_sealed_done(rotation, sealed);
	}
	k2i_rules_put(rules);
}

/* Bytes that a power cut may take back from a file must not be in a compressed one then. */
static void file_work(struct k2i_rotation *rotation, struct k2i_sealed *sealed)
{
	const uint64_t birth = sealed->birth, inode = sealed->inode;
	bool deferred;

	rotation->working = sealed;
	(void)pthread_mutex_unlock(&rotation->mutex);
	deferred = k2i_ledger_file_deferred(rotation->options.ledger, birth, inode);
	(void)pthread_mutex_lock(&rotation->mutex);
	if (deferred)
		sealed->retry_ns = k2i_clock_now_ns() + K2I_SECOND_NS;
	else if (!sealed->given)
		file_finish(rotation, sealed);
	rotation->working = NULL;
	if (sealed->given)
		free(sealed);
}

/* The first whose turn it is; `until_ns` becomes the time of the next one that is tried again. */
static struct k2i_sealed *work_next(struct k2i_rotation *rotation, uint64_t now_ns, uint64_t *until_ns)
{
	struct k2i_sealed *sealed = k2i_sealed_at(rotation->sealed.oldest);

	*until_ns = now_ns + LOOK_NS;
	for (; sealed; sealed = k2i_sealed_at(sealed->link.newer)) {
		if (!sealed->ready || sealed->done)
			continue;
		if (sealed->retry_ns <= now_ns)
			return sealed;
		if (sealed->retry_ns < *until_ns)
			*until_ns = sealed->retry_ns;
	}
	return NULL;
}

void *k2i_rotation_work(void *argument)
{
	struct k2i_rotation *rotation = argument;
	struct k2i_sealed *sealed;
	struct timespec until;
	uint64_t until_ns;

	priority_lower();
	(void)pthread_mutex_lock(&rotation->mutex);
	while (!rotation->stopping) {
		sealed = work_next(rotation, k2i_clock_now_ns(), &until_ns);
		if (sealed)
			file_work(rotation, sealed);
		k2i_keep_enforce(rotation);
		k2i_journal_trim(rotation);
		until = k2i_timespec(until_ns);
		if (!sealed && !rotation->stopping)
			(void)pthread_cond_timedwait(&rotation->wake, &rotation->mutex, &until);
	}
	(void)pthread_mutex_unlock(&rotation->mutex);
	return NULL;
}
