/* SPDX-License-Identifier: MIT */
#ifndef K2I_APP_PLUGIN_PLUGINS_H
#define K2I_APP_PLUGIN_PLUGINS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "app/plugin/command.h"

/*
 * Plug-ins: for each output a process of one command, which reads records and writes what it makes of them. A thread
 * feeds all of them, and no other waits for them. Records come in blocks; a block is taken when the process has read
 * it from its pipe. A process that ends is followed by another, when there is something to read for it, which gets first
 * what that had not read: text from the begin of the record on in which it ended. The sooner processes end after their
 * start, the later the next begins.
 */
struct k2i_plugins;
struct k2i_plugin;

struct k2i_plugin_block {
	struct k2i_plugin_block *next;
	void *owner; /* for `taken` */
	uint64_t pushed_ns;
	bool binary; /* it has no lines */
	size_t bytes, room;
	char data[];
};

/* Appends to a block, NULL: a new one, which grows. -ENOMEM: it is as it was. */
int k2i_plugin_block_put(struct k2i_plugin_block **block, const char *bytes, size_t byte_count);
/* NULL is allowed. */
void k2i_plugin_block_free(struct k2i_plugin_block *block);

struct k2i_plugin_ops { /* all on the thread of the plug-ins */
	/* The standard output of the next process: a descriptor, which is closed when that has ended; or -errno. */
	int (*output_open)(void *argument);
	/* Once a second: whether it is still the one that output_open would open. */
	bool (*output_in_place)(void *argument, int output);
	/*
	 * A block, which is freed behind it, has been read; with an error, it never will be: the plug-ins are stopped.
	 * In the order in which they were pushed.
	 */
	void (*taken)(void *argument, struct k2i_plugin_block *block, int error);
	/* The last call: it was closed, or they are stopped. */
	void (*closed)(void *argument);
};

struct k2i_plugins_options {
	const struct k2i_plugin_command *command;
	const char *area; /* of messages */
	const struct k2i_plugin_ops *ops;
	uint64_t stop_ns; /* the time that they have to end when they are stopped */
	/* Counters: starts, ends that nobody asked for, bytes that were written to a second process, too. */
	atomic_uint_fast64_t *starts, *deaths, *refed_bytes;
};

/* The options must outlive them. -ENOMEM; others as eventfd(2) and pthread_create(3). */
int k2i_plugins_start(const struct k2i_plugins_options *options, struct k2i_plugins **plugins);
/*
 * Gives all of them the end of their input, and stop_ns to end; then SIGTERM and SIGKILL. Blocks that were not read are
 * handed back with an error. NULL is allowed.
 */
void k2i_plugins_stop(struct k2i_plugins *plugins);

/* Processes that start from now on have this command, which is the plug-ins' now. Any thread. */
void k2i_plugins_change(struct k2i_plugins *plugins, struct k2i_plugin_command *command);

/* `name`, of its output, is for messages. -ENOMEM. Any thread, as all that follow. */
int k2i_plugin_open(struct k2i_plugins *plugins, const char *name, void *argument, struct k2i_plugin **plugin);
/* No more is pushed: when all is read, and its process has ended, it is gone. */
void k2i_plugin_close(struct k2i_plugin *plugin);
/* Starts its process though there is nothing to read. */
void k2i_plugin_begin(struct k2i_plugin *plugin);
/* The block is the plug-in's now. */
void k2i_plugin_push(struct k2i_plugin *plugin, struct k2i_plugin_block *block);
/* Its process gets the end of its input when it has read what it has begun; the next one goes on. */
void k2i_plugin_rest(struct k2i_plugin *plugin);

struct k2i_plugin_shown {
	pid_t pid; /* 0: it does not run */
	uint64_t restarts, waiting_bytes;
	uint64_t waiting_ns; /* age of the oldest that it has not read */
	int error;           /* why it can't be started; 0: it can */
};
void k2i_plugin_show(const struct k2i_plugin *plugin, uint64_t now_ns, struct k2i_plugin_shown *shown);
/* Bytes that were pushed and not read. */
uint64_t k2i_plugin_waiting(const struct k2i_plugin *plugin);

#endif
