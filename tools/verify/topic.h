/* SPDX-License-Identifier: MIT */
#ifndef K2I_TOOLS_VERIFY_TOPIC_H
#define K2I_TOOLS_VERIFY_TOPIC_H

#include <fcntl.h>
#include <pthread.h>

#include "app/program/module.h"

struct verify_topic {
	struct k2i_topic topic;
	const struct k2i_kafka_tools *tools;
	pthread_t thread;
	int descriptor, error;
	char reason[512];
};

/*
 * A descriptor that all committed records of a topic come from; or -errno, with the message if it is -ENOENT. `topic` stays
 * where it is until verify_topic_close, which wants all to be read, or the descriptor closed.
 */
int verify_topic_open(struct verify_topic *topic, const char *brokers, const char *name, const char *options);
/* The error was told. */
int verify_topic_close(struct verify_topic *topic);

#endif
