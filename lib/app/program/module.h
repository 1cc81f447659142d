/* SPDX-License-Identifier: MIT */
#ifndef K2I_APP_PROGRAM_MODULE_H
#define K2I_APP_PROGRAM_MODULE_H

#include <limits.h>
#include <stddef.h>

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

/* The symbol k2i_kafka_reader of the module kafka. */
struct k2i_kafka_reader {
	const char *version; /* of libk2hft: who calls has the same */
	/*
	 * Reads all that is committed, one partition after the other, records in parts as one. 0, or an error as `take`; -EAGAIN
	 * with the reason.
	 */
	int (*read)(const struct k2i_topic *topic, char *reason, size_t reason_room);
};

#endif
