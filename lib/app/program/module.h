/* SPDX-License-Identifier: MIT */
#ifndef K2I_APP_PROGRAM_MODULE_H
#define K2I_APP_PROGRAM_MODULE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#define K2I_MODULE_PACKAGE "k2hftfusesvr-" /* and its name: the package of a module */

/*
 * The file of the receiver's module `name`: k2hft/NAME.so beside libk2hft, wherever that was loaded from, so that neither
 * a folder of a build nor a prefix nor a package has to be told. 0; -ENOENT there is no such file; -ENAMETOOLONG.
 */
int k2i_module_path(const char *name, char path[PATH_MAX]);

/* A topic that is read. */
struct k2i_topic {
	const char *brokers, *name;
	const char *options; /* of librdkafka: a line NAME=VALUE each; NULL: none */
	/* Takes a record with a line end. An error ends the reading. */
	int (*take)(void *argument, const char *bytes, size_t count);
	void *argument;
};

/* Records that are written to a topic, without a receiver. */
struct k2i_kafka_plain {
	const char *brokers, *topic;
	const char *block; /* lines, which are taken again and again */
	size_t block_bytes;
	uint64_t bytes;        /* at least so many, with line ends */
	uint64_t commit_ms;    /* a transaction takes records for so long, */
	uint64_t commit_bytes; /* or until it has so many bytes */
};

/* The symbol k2i_kafka_tools of the module kafka. */
struct k2i_kafka_tools {
	const char *version; /* of libk2hft: who calls has the same */
	/*
	 * Reads all that is committed, one partition after the other, records in parts as one. 0, or an error as `take`; -EAGAIN
	 * with the reason.
	 */
	int (*read)(const struct k2i_topic *topic, char *reason, size_t reason_room);
	/* Writes, and says how long that took from the first transaction on. 0; -EAGAIN with the reason. */
	int (*plain)(const struct k2i_kafka_plain *plain, double *seconds, char *reason, size_t reason_room);
};

/* Modules that TYPE asks for. */
#define K2I_MODULES 3u
extern const struct k2i_module_output {
	unsigned output; /* enum k2i_output */
	const char *name;
} k2i_module_outputs[K2I_MODULES];

#define K2I_MODULE_REASON_ROOM (PATH_MAX + 512)
/*
 * A symbol of a module: a structure that begins with its version, as text. NULL: the module is not there, is none, or is of
 * another version, as `reason` says.
 */
const void *k2i_module_load(const char *name, const char *symbol, char *reason, size_t reason_room);

#endif
