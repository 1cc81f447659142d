/* SPDX-License-Identifier: MIT */
#ifndef K2I_TOOLS_PUSH_PUSH_H
#define K2I_TOOLS_PUSH_PUSH_H

#include <stdbool.h>
#include <stdint.h>

#include <k2hft/sender.h>

#include "tools/base/errors.h"
#include "tools/base/numbers.h"
#include "config/sender.h"

struct push_options {
	const char *receivers[K2HFT_TARGETS_MAX];
	uint32_t receiver_count;
	const char *config_file, *path, *ring_path, *host_name;
	const char *authority, *certificate, *private_key, *shared_key;
	uint64_t ring_bytes, timeout_s, level, compress, spread, copies, failover_s;
	bool help, binary, quiet, tls; /* tls: also if one of its files is given */
};

struct push_receiver {
	char text[RECEIVER_ROOM]; /* HOST and PORT */
};

/* A run of `k2hft push`. */
struct push {
	struct push_options options;
	struct k2i_sender_config config; /* with options.config_file */
	struct k2hft_tls_options tls;    /* without it */
	struct push_receiver *receivers; /* of options.receivers */
	struct k2hft_target *targets;    /* the same */
	struct k2hft_sender *sender;
	struct k2hft_lease lease; /* to send what is read, if it is much at once; of several receivers no client */
	bool show;                /* progress */
	uint64_t input_bytes, total_bytes; /* total: of all inputs; 0: not known */
	uint64_t started_ns, shown_ns;
	bool connected;              /* to any receiver, at the end of the time limit or later */
	uint64_t acked, progress_ns; /* last seen, and when it moved */
};

#define push_error(...) command_error("push", __VA_ARGS__)
#define push_failed(status, ...) command_failed(status, "push", __VA_ARGS__)
/* interrupts.c: how often SIGINT, SIGTERM or SIGQUIT came, or SIGHUP as the first of them. */
int push_interrupts(void);
void push_signals_set(void);

/* input.c: 0; STATUS_FAILED with its message written; -EINTR an interrupt came: what was read is sent. */
int push_input(struct push *push, int descriptor, const char *name, const char *path);

/* tls.c: TLS as the options have it, if they do. Exit status, with the message. */
int push_tls_take(struct push *push);

/* progress.c */
/* To be called now and then: writes the progress line. */
void push_progress(struct push *push);
/* STATUS_FAILED with its message: the receiver could not be reached in time. */
int push_connection_check(struct push *push);
/* True: nothing was acknowledged for the time limit although records wait, or the second interrupt came. */
bool push_stalled(struct push *push);
/* Waits until all is acknowledged. Exit status, with the message. */
int push_drain(struct push *push);

#endif
