/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SINK_KAFKA_INTERNAL_H
#define K2I_RECEIVER_SINK_KAFKA_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include <librdkafka/rdkafka.h>

#include "base/clock.h"
#include "base/uuid.h"
#include "receiver/base/table.h"
#include "receiver/sink/kafka/kafka_sink.h"
#include "receiver/sink/room.h"

/*
 * Declarations that the files of the sink share.
 *
 * A ring's position is a record of the positions topic: the ring's uuid is its key, its value the position and the owner,
 * a transactional.id. Only a transaction of the owner writes the next record of the ring. A producer has its own id, so
 * what it owns is its until somebody else begins transactions with that id, which fences it: then it reads the positions
 * again. To take a ring over is one transaction with the owner's id that names another owner. A ring without a record
 * belongs to an id that follows from its uuid, so that of two that take it one is fenced. A ring that never comes again
 * gets a record without a value: brokers, which keep the last of each key, and those who read forget it.
 */

#define K2I_KAFKA_ID_PREFIX "k2hft-"
#define K2I_KAFKA_ID_BYTES 64u
#define K2I_KAFKA_REASON_BYTES 320u
#define K2I_KAFKA_PRODUCERS_MAX 256u
#define K2I_KAFKA_TRANSACTION_BYTES_MAX (32u * 1024 * 1024)
#define K2I_KAFKA_CALL_MS 1000 /* a call that waits for a broker is made again and again, to notice the end meanwhile */
#define K2I_KAFKA_ROOM_NS (UINT64_C(30) * K2I_SECOND_NS) /* for the library's queue to have room */

struct k2i_kafka_ring {
	struct k2i_table_node node;
	uint8_t uuid[16];
	struct k2i_kafka_producer *producer; /* the one that has its groups */
	uint64_t handed;                     /* behind the last chunk that was taken */
	bool owned;                          /* by the producer, so that `position` is the topic's */
	uint64_t position;
	uint64_t refused_owner; /* of groups behind some that are not stored; 0: none */
	uint64_t bytes;         /* that wait */
	uint64_t used_ns;
	uint64_t hold_until_ns; /* its topic takes nothing; 0: it does */
	unsigned refusals;      /* in a row */
	bool sent;              /* something of it is in the transaction, up to: */
	uint64_t sent_position;
	bool ended;   /* it never comes again, and its record is to go */
	bool dropped; /* with the transaction */
	struct k2i_kafka_ring *next_ended;
};

struct k2i_kafka_entry {
	const char *path, *host, *payload;
	uint64_t position, time_ns;
	uint32_t payload_bytes, record_count, writer_pid;
	uint16_t flags;
	bool binary;
};

struct k2i_kafka_group { /* with its entries and their bytes behind it */
	struct k2i_kafka_group *next;
	struct k2i_kafka_ring *ring;
	struct k2i_sink_report *report;
	uint64_t position, taken_ns;
	size_t bytes;
	bool sent; /* it is in the transaction */
	uint32_t entry_count;
	struct k2i_kafka_entry entries[];
};

struct k2i_kafka_topic {
	struct k2i_table_node node;
	rd_kafka_topic_t *handle;
	char name[256];
};

struct k2i_kafka_producer { /* a loop's, with a thread of its own */
	struct k2i_kafka_sink *kafka;
	unsigned number;
	char id[K2I_KAFKA_ID_BYTES];
	pthread_t thread;
	pthread_cond_t condition;
	/* The sink's mutex guards these. */
	struct k2i_kafka_group *first, **last; /* the queue, those of the transaction included */
	uint64_t bytes;
	uint64_t held_ns; /* since when nothing is committed, though it should; 0: it is */
	uint64_t retries;
	char held[K2I_KAFKA_REASON_BYTES];
	/* The thread's own. */
	rd_kafka_t *handle; /* NULL: it is to be made */
	rd_kafka_topic_t *positions;
	struct k2i_table topics;            /* that were found to be there */
	struct k2i_kafka_topic *topic;      /* the last one */
	char topic_name[256];               /* wanted last */
	char fault[K2I_KAFKA_REASON_BYTES]; /* the last that a broker, or a connection to it, was at fault for */
	rd_kafka_resp_err_t refused;        /* of a record in the transaction, and of which ring it is */
	struct k2i_kafka_ring *refused_ring;
	char refused_topic[256];
	struct k2i_format_buffer text, key;
	size_t message_bytes_max; /* the brokers take no larger ones; 0: it is not known */
	unsigned failures;        /* in a row */
	struct k2i_log_limit limit;
};

struct k2i_kafka_positions;

struct k2i_kafka_sink {
	struct k2i_sink sink;
	const struct k2i_settings *settings;
	struct k2i_ledger *ledger;
	struct k2i_format *topic, *key;
	struct k2i_kafka_positions *positions;
	atomic_bool stopping;
	pthread_mutex_t mutex; /* guards what follows */
	struct k2i_table rings;
	struct k2i_room room;
	struct k2i_kafka_ring *ended;
	struct k2i_kafka_producer *producers[K2I_KAFKA_PRODUCERS_MAX];
	unsigned producer_count;
};

static inline struct k2i_kafka_sink *k2i_kafka_sink(struct k2i_sink *sink)
{
	return (struct k2i_kafka_sink *)(void *)sink;
}

/* client.c: handles of librdkafka ------------------------------------------------------------------------------- */

/*
 * A handle for transactions of `id`, on behalf of `producer`; or, NULL, one that reads what is committed. NULL: `reason`
 * says why.
 */
rd_kafka_t *k2i_kafka_client_open(const struct k2i_settings *settings, const char *id,
				  struct k2i_kafka_producer *producer, char reason[K2I_KAFKA_REASON_BYTES]);
/* Sets options of the user: lines of NAME=VALUE. False: `reason` says why. */
bool k2i_kafka_options_set(rd_kafka_conf_t *conf, const char *lines, char reason[K2I_KAFKA_REASON_BYTES]);
/* Whether librdkafka takes the settings. The error was logged. */
int k2i_kafka_client_check(const struct k2i_settings *settings);
/* The text of an error, which it frees; with `what` was done. */
void k2i_kafka_reason(char reason[K2I_KAFKA_REASON_BYTES], const char *what, rd_kafka_error_t *error,
		      const struct k2i_kafka_producer *producer);
/* Takes the id from whoever had it. 0; -EAGAIN with the reason. */
int k2i_kafka_transactions_begin(struct k2i_kafka_producer *producer, rd_kafka_t *handle,
				 char reason[K2I_KAFKA_REASON_BYTES]);
/*
 * Commits. 0; -EAGAIN: it is aborted; -ESTALE: nobody knows, or somebody else has the id, and the handle is of no more
 * use.
 */
int k2i_kafka_transaction_commit(struct k2i_kafka_producer *producer, rd_kafka_t *handle,
				 char reason[K2I_KAFKA_REASON_BYTES]);
/* Aborts. The same. */
int k2i_kafka_transaction_abort(struct k2i_kafka_producer *producer, rd_kafka_t *handle,
				char reason[K2I_KAFKA_REASON_BYTES]);

/* positions.c --------------------------------------------------------------------------------------------------- */

int k2i_kafka_positions_create(struct k2i_kafka_sink *kafka, struct k2i_kafka_positions **positions);
void k2i_kafka_positions_free(struct k2i_kafka_positions *positions);
/*
 * Reads up to the end that the topic has now, `all`: also if that has to wait for transactions that are open. `handle` is
 * one for transactions. The topic is made if there is none. 0; -EAGAIN with the reason.
 */
int k2i_kafka_positions_read(struct k2i_kafka_positions *positions, rd_kafka_t *handle, bool all,
			     char reason[K2I_KAFKA_REASON_BYTES]);
/* A ring's record; false: none was read. */
bool k2i_kafka_positions_find(struct k2i_kafka_positions *positions, const uint8_t ring[16], uint64_t *position,
			      char owner[K2I_KAFKA_ID_BYTES]);
/* Once a second: reads what is there already. */
void k2i_kafka_positions_tick(struct k2i_kafka_positions *positions);
/* Adds a ring's record to the transaction of a handle; `owner` NULL: the ring has none any more. */
rd_kafka_resp_err_t k2i_kafka_position_put(rd_kafka_topic_t *topic, const uint8_t ring[16], uint64_t position,
					   const char *owner);

/* claim.c ------------------------------------------------------------------------------------------------------- */

/* Takes over the rings of the queue that the producer does not own. 0; -EAGAIN with the reason. */
int k2i_kafka_rings_claim(struct k2i_kafka_producer *producer, char reason[K2I_KAFKA_REASON_BYTES]);
/* Behind transactions_begin: which rings are still the producer's, and up to where they are stored. The same. */
int k2i_kafka_rings_look(struct k2i_kafka_producer *producer, char reason[K2I_KAFKA_REASON_BYTES]);

/* queue.c: with the sink's mutex ---------------------------------------------------------------------------------- */

struct k2i_kafka_ring *k2i_kafka_ring_get(struct k2i_kafka_sink *kafka, const uint8_t uuid[16]);
/* Forgets rings of which nothing waits. */
void k2i_kafka_rings_tick(struct k2i_kafka_sink *kafka, uint64_t now_ns);
/* The ring never comes again. */
void k2i_kafka_ring_end(struct k2i_kafka_sink *kafka, const uint8_t uuid[16]);
/* Whether records are to go. */
bool k2i_kafka_rings_ended(const struct k2i_kafka_producer *producer);
/* Puts that into the transaction. */
rd_kafka_resp_err_t k2i_kafka_rings_drop(struct k2i_kafka_producer *producer);
/* The transaction is over. */
void k2i_kafka_rings_dropped(struct k2i_kafka_producer *producer, bool committed);
/* A copy of a group's chunks from `from` on. NULL: no memory. */
struct k2i_kafka_group *k2i_kafka_group_copy(const struct k2i_group *group, uint64_t from,
					     struct k2i_sink_report *report);
void k2i_kafka_queue_push(struct k2i_kafka_producer *producer, struct k2i_kafka_group *group);
/* Gives all groups of a ring to another producer. */
void k2i_kafka_queue_move(struct k2i_kafka_ring *ring, struct k2i_kafka_producer *to);
/* Reports the ring's groups that are stored by its position. */
void k2i_kafka_queue_stored(struct k2i_kafka_ring *ring);
/* None of a ring's groups will be stored: they come again. */
void k2i_kafka_queue_refuse(struct k2i_kafka_ring *ring, int error);
void k2i_kafka_queue_free(struct k2i_kafka_producer *producer);

/* producer.c ---------------------------------------------------------------------------------------------------- */

/* The next loop's, whose thread runs; without the mutex. -ENOMEM; errors as pthread_create(3). */
int k2i_kafka_producer_start(struct k2i_kafka_sink *kafka, struct k2i_kafka_producer **producer);
/* `stopping` is set. Groups that are not committed come again. */
void k2i_kafka_producer_stop(struct k2i_kafka_producer *producer);

/* message.c ----------------------------------------------------------------------------------------------------- */

/* Forgets topics. */
void k2i_kafka_topics_free(struct k2i_kafka_producer *producer);
/*
 * The topic's state for a handle; that of a producer has brokers make a topic that is not there, if they do that.
 */
rd_kafka_resp_err_t k2i_kafka_topic_look(rd_kafka_t *handle, rd_kafka_topic_t *topic);
/* Compiles KAFKA_TOPIC and KAFKA_KEY. The error was logged. */
int k2i_kafka_templates_open(struct k2i_kafka_sink *kafka);
/* Adds an entry's records to the transaction. */
rd_kafka_resp_err_t k2i_kafka_entry_produce(struct k2i_kafka_producer *producer, struct k2i_kafka_ring *ring,
					    const struct k2i_kafka_entry *entry);

/* plain.c ------------------------------------------------------------------------------------------------------- */

struct k2i_kafka_plain;
/* A function of struct k2i_kafka_tools. */
int k2i_kafka_plain_run(const struct k2i_kafka_plain *wanted, double *seconds, char *reason, size_t reason_room);

#endif
