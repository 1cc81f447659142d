/* SPDX-License-Identifier: MIT */
#include "receiver/sink/rotation/rotation.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/condition.h"
#include "base/thread.h"
#include "receiver/sink/rotation/internal.h"

#define DAY_S UINT64_C(86400)

/* Rules ------------------------------------------------------------------------------------------------------------- */

static int rules_make(const struct k2i_settings *settings, struct k2i_rotation_rules **rules)
{
	struct k2i_rotation_rules *made = calloc(1, sizeof(*made));
	char message[512] = "", at[PATH_MAX + 16];
	int error = 0;

	if (!made)
		return -ENOMEM;
	made->references = 1;
	made->bytes = settings->rotate_bytes;
	made->compress = settings->rotate_compress;
	(void)k2i_period_parse(settings->rotate_time, &made->period_s);
	(void)k2i_keep_parse(settings->rotate_keep, &made->keep);
	if (settings->post_rotate)
		error = k2i_plugin_command_parse(settings->post_rotate, &made->post, message, sizeof(message));
	if (error) {
		k2i_log(K2HFT_LOG_ERROR, "rotation: %s: POSTROTATE = %s: %s",
			k2i_settings_place(settings, K2I_SECTION_K2HFTFUSESVR, "POSTROTATE", at, sizeof(at)),
			settings->post_rotate, message);
		free(made);
		return error;
	}
	*rules = made;
	return 0;
}

/* With the mutex, or at the start. */
static void rules_show(struct k2i_rotation *rotation)
{
	atomic_store(&rotation->bytes, rotation->rules->bytes);
	atomic_store(&rotation->period_s, rotation->rules->period_s);
}

int k2i_rotation_prepare(struct k2i_rotation *rotation, const struct k2i_settings *settings)
{
	return rules_make(settings, &rotation->prepared);
}

void k2i_rotation_change(struct k2i_rotation *rotation, bool take)
{
	struct k2i_rotation_rules *other = rotation->prepared;

	(void)pthread_mutex_lock(&rotation->mutex);
	if (take) {
		other = rotation->rules;
		rotation->rules = rotation->prepared;
		rules_show(rotation);
		(void)pthread_cond_signal(&rotation->wake);
	}
	rotation->prepared = NULL;
	k2i_rules_put(other);
	(void)pthread_mutex_unlock(&rotation->mutex);
}

uint64_t k2i_rotation_bytes(const struct k2i_rotation *rotation)
{
	return atomic_load(&rotation->bytes);
}

uint64_t k2i_rotation_period_s(const struct k2i_rotation *rotation)
{
	return atomic_load(&rotation->period_s);
}

static int64_t utc_offset_s(int64_t second)
{
	time_t time = (time_t)second;
	struct tm local;

	return localtime_r(&time, &local) ? local.tm_gmtoff : 0;
}

/* Days begin at midnight, also where a clock was set for the summer meanwhile. */
uint64_t k2i_rotation_due_s(const struct k2i_rotation *rotation, uint64_t begun_s)
{
	int64_t period = (int64_t)atomic_load(&rotation->period_s), begun = (int64_t)begun_s, offset, due;

	if (!period)
		return 0;
	offset = utc_offset_s(begun);
	due = ((begun + offset) / period + 1) * period - offset;
	if (period % (int64_t)DAY_S == 0)
		due += offset - utc_offset_s(due);
	return (uint64_t)due;
}

/* Sealing ----------------------------------------------------------------------------------------------------------- */

int k2i_rotation_begin(struct k2i_rotation *rotation, const struct k2i_sealing *sealing)
{
	struct k2i_sealed *sealed;
	int error = -EEXIST;

	(void)pthread_mutex_lock(&rotation->mutex);
	sealed = k2i_sealed_find(rotation, sealing->path) ? NULL : k2i_sealed_add(rotation, sealing);
	if (sealed) {
		error = k2i_journal_seal(rotation, sealed);
		if (error)
			k2i_sealed_remove(rotation, sealed);
	}
	(void)pthread_mutex_unlock(&rotation->mutex);
	return error;
}

void k2i_rotation_end(struct k2i_rotation *rotation, const char *path, bool sealed)
{
	struct k2i_sealed *file;

	(void)pthread_mutex_lock(&rotation->mutex);
	file = k2i_sealed_find(rotation, path);
	if (file && sealed) {
		file->ready = true;
		(void)pthread_cond_signal(&rotation->wake);
	} else if (file) {
		k2i_sealed_forget(rotation, file);
	}
	(void)pthread_mutex_unlock(&rotation->mutex);
}

/* Streams ----------------------------------------------------------------------------------------------------------- */

/* Whether the text ends in a stamp: most names don't, and nobody looks for them. */
static bool is_stamped(const char *path, size_t bytes)
{
	static const char form[] = ".00000000-000000-000000";
	const char *at = path + bytes - (sizeof(form) - 1);

	if (bytes < sizeof(form))
		return false;
	for (size_t i = 0; i < sizeof(form) - 1; i++) {
		if (form[i] == '0' ? at[i] < '0' || at[i] > '9' : at[i] != form[i])
			return false;
	}
	return true;
}

/* The name without what compression has put behind it. */
static bool sealed_name(const char *path, char name[K2HFT_STREAM_PATH_BYTES_MAX + 1])
{
	size_t bytes = strlen(path);

	if (bytes > 3 && strcmp(path + bytes - 3, ".gz") == 0)
		bytes -= 3;
	else if (bytes > 4 && strcmp(path + bytes - 4, ".zst") == 0)
		bytes -= 4;
	if (bytes > K2HFT_STREAM_PATH_BYTES_MAX || !is_stamped(path, bytes))
		return false;
	memcpy(name, path, bytes);
	name[bytes] = '\0';
	return true;
}

void k2i_rotation_give(struct k2i_rotation *rotation, const char *path)
{
	char name[K2HFT_STREAM_PATH_BYTES_MAX + 1];
	struct k2i_sealed *sealed;

	if (!sealed_name(path, name))
		return;
	(void)pthread_mutex_lock(&rotation->mutex);
	sealed = k2i_sealed_find(rotation, name);
	/* A file that gets its name just now has no stream yet. */
	if (sealed && sealed->ready) {
		k2i_sealed_forget(rotation, sealed);
	}
	(void)pthread_mutex_unlock(&rotation->mutex);
}

/* Settlement -------------------------------------------------------------------------------------------------------- */

static struct k2i_sealed *identity_find(struct k2i_rotation *rotation, uint64_t birth, uint64_t inode)
{
	struct k2i_sealed *sealed = k2i_sealed_at(rotation->sealed.newest);

	while (sealed && (sealed->birth != birth || sealed->inode != inode))
		sealed = k2i_sealed_at(sealed->link.older);
	return sealed;
}

bool k2i_rotation_hold(struct k2i_rotation *rotation, uint64_t birth, uint64_t inode,
		       char path[K2HFT_STREAM_PATH_BYTES_MAX + 1])
{
	const struct k2i_sealed *sealed;

	*path = '\0';
	(void)pthread_mutex_lock(&rotation->mutex);
	sealed = identity_find(rotation, birth, inode);
	if (sealed)
		k2i_sealed_name(sealed, path);
	if (sealed && !sealed->packed && !sealed->posted && !(sealed->done && rotation->rules->post))
		return true;
	(void)pthread_mutex_unlock(&rotation->mutex);
	return false;
}

void k2i_rotation_release(struct k2i_rotation *rotation, uint64_t birth, uint64_t inode, uint64_t length)
{
	struct k2i_sealed *sealed = identity_find(rotation, birth, inode);

	if (sealed)
		sealed->length = length;
	(void)pthread_mutex_unlock(&rotation->mutex);
}

uint64_t k2i_rotation_waiting(const struct k2i_rotation *rotation)
{
	return atomic_load(&rotation->waiting);
}

/* Start and end ----------------------------------------------------------------------------------------------------- */

/* Whether a file of the list is there, as far as it got. A shorter one was cut by settlement; a longer one is a stream's. */
static bool sealed_check(const struct k2i_rotation *rotation, struct k2i_sealed *sealed)
{
	char path[K2HFT_STREAM_PATH_BYTES_MAX + 1];
	uint64_t length = 0;
	const char *name;
	int directory = k2i_sealed_directory(rotation, sealed->path, &name), file, packed = -1;
	bool there;

	if (directory < 0)
		return false;
	file = k2i_sealed_open(directory, name, sealed->birth, sealed->inode, &length);
	there = file >= 0 && length <= sealed->length;
	if (there)
		sealed->length = length;
	(void)snprintf(path, sizeof(path), "%s%s", name, k2i_packed_suffix(sealed->packing));
	if (sealed->packed_inode)
		packed = k2i_sealed_open(directory, path, sealed->packed_birth, sealed->packed_inode, &length);
	/* Both are whole: the one that was to go goes. */
	if (packed >= 0 && there && unlinkat(directory, name, 0) < 0)
		(void)unlinkat(directory, path, 0);
	else if (packed >= 0)
		sealed->packed = there = true;
	else
		sealed->packed_inode = 0;
	if (file >= 0)
		(void)close(file);
	if (packed >= 0)
		(void)close(packed);
	(void)close(directory);
	return there;
}

int k2i_rotation_start(struct k2i_rotation *rotation)
{
	struct k2i_sealed *sealed = k2i_sealed_at(rotation->sealed.oldest), *next;
	int error;

	for (; sealed; sealed = next) {
		next = k2i_sealed_at(sealed->link.newer);
		sealed->ready = true;
		if (sealed_check(rotation, sealed))
			continue;
		k2i_sealed_forget(rotation, sealed);
	}
	error = k2i_thread_start(&rotation->thread, k2i_rotation_work, rotation);
	rotation->started = !error;
	return error;
}

int k2i_rotation_open(const struct k2i_rotation_options *options, struct k2i_rotation **rotation)
{
	struct k2i_rotation *opened = calloc(1, sizeof(*opened));
	int error;

	if (!opened)
		return -ENOMEM;
	opened->options = *options;
	(void)pthread_mutex_init(&opened->mutex, NULL);
	k2i_condition_init(&opened->wake);
	opened->journal.file = -1;
	error = rules_make(options->settings, &opened->rules);
	if (!error) {
		rules_show(opened);
		error = k2i_journal_open(opened);
	}
	if (error)
		k2i_rotation_close(opened);
	else
		*rotation = opened;
	return error;
}

void k2i_rotation_close(struct k2i_rotation *rotation)
{
	if (!rotation)
		return;
	(void)pthread_mutex_lock(&rotation->mutex);
	rotation->stopping = true;
	(void)pthread_cond_signal(&rotation->wake);
	(void)pthread_mutex_unlock(&rotation->mutex);
	if (rotation->started)
		(void)pthread_join(rotation->thread, NULL);
	while (rotation->sealed.oldest)
		k2i_sealed_remove(rotation, k2i_sealed_at(rotation->sealed.oldest));
	k2i_table_free(&rotation->table);
	k2i_journal_close(rotation);
	k2i_rules_put(rotation->rules);
	(void)pthread_cond_destroy(&rotation->wake);
	(void)pthread_mutex_destroy(&rotation->mutex);
	free(rotation);
}
