/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SINK_CARRIED_H
#define K2I_RECEIVER_SINK_CARRIED_H

#include <pthread.h>
#include <stdatomic.h>

#include "receiver/sink/carry.h"

/* Declarations that carry.c and carried.c share: one record that is carried, and its file. */

#define K2I_CARRIED_NAME_BYTES 34u /* writer and first position in hexadecimal */

struct k2i_carry {
	const struct k2i_sink *sink;
	struct k2i_ledger *ledger;
	int directory; /* -1: there is none */
	atomic_size_t count;
	atomic_bool dirty;
	pthread_mutex_t mutex; /* guards what follows, and who a record belongs to */
	struct k2i_table records;
	struct k2i_carried *ended; /* their files are to be removed */
	uint64_t bytes;
};

/* In a file, in this machine's byte order. Behind it: path and host with their zeros in the first, and the data. */
struct k2i_carried_entry {
	uint64_t checksum; /* of the other fields and the data */
	uint64_t names;    /* the checksum of path and host */
	uint8_t ring[16];
	uint64_t position, writer, time_ns;
	uint32_t writer_pid;
	uint8_t binary, end, reserved[2];
	uint32_t path_bytes, host_bytes, bytes;
};

void k2i_carried_name(const struct k2i_carried *record, char name[K2I_CARRIED_NAME_BYTES]);
/* Behind what the record's file has. Errors as write(2). */
int k2i_carried_write(struct k2i_carry *carry, const struct k2i_carried *record, struct k2i_carried_entry *entry,
		      const char *data);
/* The rest was not committed. */
void k2i_carried_file_cut(const struct k2i_carry *carry, const struct k2i_carried *record);
void k2i_carried_file_remove(const struct k2i_carry *carry, const struct k2i_carried *record);
uint64_t k2i_carried_cost(uint64_t file_bytes);
struct k2i_carried *k2i_carried_make(const struct k2i_carried_entry *entry, const char *path, const char *host);
void k2i_carried_free(struct k2i_carried *record);
int k2i_carried_room(struct k2i_carried *record, size_t bytes);
/* There is room. */
void k2i_carried_append(struct k2i_carried *record, const char *data, size_t bytes);
/* Whether nothing asks for the file of a record any more: its end is committed for good, and its sender knows that. */
bool k2i_carried_lasts(const struct k2i_carry *carry, const struct k2i_carried *record);

/* With the lock, as all that follow. -ENOMEM */
int k2i_carried_insert(struct k2i_carry *carry, struct k2i_carried *record);
void k2i_carried_remove(struct k2i_carry *carry, struct k2i_carried *record);
/* Its file is removed when nobody can ask for it. */
void k2i_carried_ended(struct k2i_carry *carry, struct k2i_carried *record);
/* A record as its file and the ledger have it. */
void k2i_carried_file_load(struct k2i_carry *carry, const char *name);

#endif
