/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_CONNECTION_LOOP_H
#define K2I_RECEIVER_CONNECTION_LOOP_H

#include "receiver/base/list.h"
#include "receiver/connection/service.h"

struct event_base;
struct k2i_connection;

/* An event loop as its connections see it; only its own thread uses it, but for the atomic counts. */
struct k2i_loop {
	struct k2i_service *service;
	struct event_base *base;
	struct k2i_session_shared shared;
	struct k2i_committer committer;
	struct k2i_buffer_pool buffers;
	struct k2i_list connections, ungreeted;
	atomic_size_t connection_count; /* includes those that are on their way to it */
	atomic_size_t ungreeted_count;
	bool stopping;
};

/* A connection that was handed to the loop has ended. */
void k2i_loop_left(struct k2i_loop *loop);

#endif
