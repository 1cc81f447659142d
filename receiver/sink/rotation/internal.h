/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SINK_ROTATION_INTERNAL_H
#define K2I_RECEIVER_SINK_ROTATION_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "app/plugin/command.h"
#include "base/log.h"
#include "config/rotation.h"
#include "receiver/base/list.h"
#include "receiver/base/table.h"
#include "receiver/sink/rotation/rotation.h"

/* Declarations that the files of this folder share. */

struct k2i_rotation_rules {
	unsigned references; /* with the mutex */
	uint64_t bytes, period_s;
	struct k2i_keep keep;
	enum k2i_rotate_compress compress;
	struct k2i_plugin_command *post; /* NULL: none */
};

struct k2i_sealed { /* with the mutex, as all that follows; the path never changes */
	struct k2i_table_node node;
	struct k2i_link link;
	uint64_t birth, inode, length, time_ns;
	uint64_t packed_birth, packed_inode, packed_bytes; /* of the compressed file; 0: there is none */
	enum k2i_rotate_compress packing;                  /* its form */
	uint64_t retry_ns;                                 /* nothing is done to it before */
	bool ready;                                        /* it has its name */
	bool packed;                                       /* only the compressed file is left */
	bool posted;                                       /* POSTROTATE was run, or is */
	bool done;
	bool surplus; /* ROTATE_KEEP does not keep it */
	bool given;   /* it is a stream's, or nobody's, and is freed when the thread has done with it */
	const char *name;
	char path[];
};

struct k2i_rotation_journal {
	const char *directory; /* STATEDIR */
	int file;
	uint64_t bytes, lines;
	struct k2i_log_limit limit;
};

struct k2i_rotation {
	struct k2i_rotation_options options;
	/* Those of `rules`, for whoever has not the mutex. */
	atomic_uint_fast64_t bytes, period_s;
	atomic_uint_fast64_t waiting;
	atomic_bool stopping;
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	pthread_t thread;
	bool started;
	struct k2i_rotation_rules *rules, *prepared;
	struct k2i_rotation_journal journal;
	struct k2i_table table;     /* by the path */
	struct k2i_list sealed;     /* in the order of their sealing */
	struct k2i_sealed *working; /* the thread's, without the mutex */
	struct k2i_log_limit limit;
};

/* sealed.c ---------------------------------------------------------------------------------------------------------- */

static inline struct k2i_sealed *k2i_sealed_at(struct k2i_link *link)
{
	return K2I_LIST_ENTRY(link, struct k2i_sealed, link);
}

struct k2i_sealed *k2i_sealed_find(struct k2i_rotation *rotation, const char *path);
/* In the list, behind all others; NULL: no memory. */
struct k2i_sealed *k2i_sealed_add(struct k2i_rotation *rotation, const struct k2i_sealing *sealing);
/* Out of the list, and freed, unless the thread has it. */
void k2i_sealed_remove(struct k2i_rotation *rotation, struct k2i_sealed *sealed);
void k2i_sealed_done(struct k2i_rotation *rotation, struct k2i_sealed *sealed);
/* Its name now. */
void k2i_sealed_name(const struct k2i_sealed *sealed, char path[K2HFT_STREAM_PATH_BYTES_MAX + 1]);
const char *k2i_packed_suffix(enum k2i_rotate_compress packing);
/* A descriptor for reading, of the file of this identity. -ESTALE: it is another. */
int k2i_sealed_open(int directory, const char *name, uint64_t birth, uint64_t inode, uint64_t *length);
/* The directory of a path below the base directory, whose name in it `name` becomes. Errors as open(2). */
int k2i_sealed_directory(const struct k2i_rotation *rotation, const char *path, const char **name);

/* journal.c --------------------------------------------------------------------------------------------------------- */

/* Reads the list, and writes it anew. Errors as open(2). */
int k2i_journal_open(struct k2i_rotation *rotation);
void k2i_journal_close(struct k2i_rotation *rotation);
/* Errors as write(2): nothing is written. */
int k2i_journal_seal(struct k2i_rotation *rotation, const struct k2i_sealed *sealed);
/* The compressed file is going to get its name; it survives a power cut. */
int k2i_journal_pack(struct k2i_rotation *rotation, const struct k2i_sealed *sealed);
/* A line that can't be written makes the next start do it again, or find it missing. */
void k2i_journal_done(struct k2i_rotation *rotation, const struct k2i_sealed *sealed);
/* It is gone, or somebody else's, and out of the list. */
void k2i_sealed_forget(struct k2i_rotation *rotation, struct k2i_sealed *sealed);
/* Writes the list anew if it has many lines that say nothing any more. */
void k2i_journal_trim(struct k2i_rotation *rotation);

/* pack.c ------------------------------------------------------------------------------------------------------------ */

/* Compresses a file from its begin on. -ECANCELED: `stop`; others as read(2), write(2) and fdatasync(2). */
int k2i_pack(int from, int to, enum k2i_rotate_compress packing, const atomic_bool *stop, uint64_t *taken,
	     uint64_t *packed);

/* compress.c, keep.c, work.c: with the mutex, which they give up for a while ------------------------------------------ */

void k2i_sealed_compress(struct k2i_rotation *rotation, struct k2i_sealed *sealed, enum k2i_rotate_compress packing);
void k2i_keep_enforce(struct k2i_rotation *rotation);
void *k2i_rotation_work(void *rotation);
void k2i_rules_put(struct k2i_rotation_rules *rules);
/* Counted and logged, now and then. */
void k2i_sealed_failed(struct k2i_rotation *rotation, const struct k2i_sealed *sealed, const char *what, int error);

#endif
