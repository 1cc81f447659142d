/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SINK_FILE_FILE_RULES_H
#define K2I_RECEIVER_SINK_FILE_FILE_RULES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "app/format/format.h"
#include "app/store/store.h"
#include "config/settings.h"

/* The part of the settings that a group goes by. It stays as it is; a reload puts another in its place between two groups. */
struct k2i_file_rules {
	atomic_uint references;
	const struct k2i_format *format;
	struct k2i_format *own_format; /* of a reload; NULL: it is the opener's */
	char *unify_file;              /* FILE_UNIFY with its strftime directives; NULL: a file for each stream */
	mode_t file_mode;
	struct k2i_store_options store;
};

static inline bool k2i_file_rules_plain_at_start(const struct k2i_file_rules *rules)
{
	return k2i_format_plain(rules->format) && !rules->own_format;
}

struct k2i_file_rules_place {
	_Atomic(struct k2i_file_rules *) now;
	pthread_mutex_t mutex; /* is held while they change, or get a reference */
	struct k2i_file_rules *prepared;
};

struct k2i_store_options k2i_file_rules_store(const struct k2i_settings *settings);
/* `format` must outlive them. -ENOMEM */
int k2i_file_rules_make(const struct k2i_format *format, const char *unify_file, struct k2i_file_rules **rules);
/* NULL is allowed. */
void k2i_file_rules_put(struct k2i_file_rules *rules);

void k2i_file_rules_place_start(struct k2i_file_rules_place *place, struct k2i_file_rules *rules);
void k2i_file_rules_place_free(struct k2i_file_rules_place *place);
/* Those of now, for k2i_file_rules_put. Any thread. */
struct k2i_file_rules *k2i_file_rules_get(struct k2i_file_rules_place *place);
/* See struct k2i_sink_ops. A single thread. */
int k2i_file_rules_prepare(struct k2i_file_rules_place *place, const struct k2i_settings *settings);
void k2i_file_rules_change(struct k2i_file_rules_place *place, bool take);

#endif
