/* SPDX-License-Identifier: MIT */
#ifndef K2I_APP_PLUGIN_PLUGIN_H
#define K2I_APP_PLUGIN_PLUGIN_H

#include <poll.h>

#include "app/plugin/plugins.h"
#include "app/plugin/process.h"
#include "base/log.h"

enum k2i_plugin_state {
	K2I_PLUGIN_ENDED,  /* it has no process */
	K2I_PLUGIN_RUNS,   /* and reads */
	K2I_PLUGIN_CLOSED, /* its input has ended, or it reads no more: it has until `deadline_ns` to end */
	K2I_PLUGIN_TERMED, /* it had SIGTERM */
	K2I_PLUGIN_KILLED, /* it had SIGKILL: the kernel ends it, when that can */
};

struct k2i_plugin {
	struct k2i_plugins *plugins;
	const struct k2i_plugins_options *options;
	void *argument;
	char *name;
	/* The mutex of all guards what follows. */
	struct k2i_plugin *next;
	struct k2i_plugin_block *pushed, **last_pushed;
	bool begin, rest, closed;
	/* Copies for others. */
	atomic_uint_fast64_t waiting_bytes, oldest_ns, restarts;
	atomic_int pid, error;
	/* The thread's own. */
	const struct k2i_plugin_command *command; /* of its next process */
	struct k2i_plugin_block *queue, **last;   /* blocks that are not wholly read */
	struct k2i_plugin_block *writing;         /* the one that is written next, from `write_at` */
	size_t write_at, read_at;                 /* of the first block, what was read */
	size_t unread;                            /* in the pipe when it was looked at last */
	enum k2i_plugin_state state;
	bool wanted, resting, stopping, closing;
	bool asked;        /* it is to end */
	bool gone;         /* nobody reads its input any more */
	bool errors_ready; /* there is something on its standard error */
	struct k2i_process process;
	int output;
	uint64_t started_ns, deadline_ns, look_ns, pause_ns, probe_ns;
	struct k2i_log_limit end_limit, start_limit, errors_limit;
	char line[512]; /* of its standard error */
	size_t line_bytes;
};

struct k2i_plugin *k2i_plugin_make(const struct k2i_plugins_options *options, const char *name, void *argument);
/* Behind the last call of its ops. */
void k2i_plugin_free(struct k2i_plugin *plugin);
/* It is closed, and has nothing to do any more; with the lock of all. */
bool k2i_plugin_is_over(const struct k2i_plugin *plugin);
/* Takes over what others have asked for; with their lock. */
void k2i_plugin_request_take(struct k2i_plugin *plugin, bool stopping);
/* The events to wait for, of its input and its standard error. */
void k2i_plugin_poll(const struct k2i_plugin *plugin, struct pollfd polled[2]);
/* The events that came. */
void k2i_plugin_polled(struct k2i_plugin *plugin, const struct pollfd polled[2]);
/* Does all that can be done now; when to call again at the latest. */
uint64_t k2i_plugin_advance(struct k2i_plugin *plugin, uint64_t now_ns);

#endif
