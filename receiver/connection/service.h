/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_CONNECTION_SERVICE_H
#define K2I_RECEIVER_CONNECTION_SERVICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "receiver/base/counters.h"
#include "receiver/commit/commit.h"
#include "receiver/connection/buffer.h"
#include "receiver/session/peers.h"
#include "receiver/session/rings.h"
#include "receiver/session/session.h"

struct k2i_admission;
struct k2i_secure;

/* Settings and parts that all loops share. */
struct k2i_service {
	const struct k2i_destination *destination;
	struct k2i_rings *rings;
	struct k2i_counters *counters;
	const uint8_t *receiver_uuid;
	struct k2i_syncer *syncer;
	bool sync_always;                /* FILE_SYNC = always */
	struct k2i_secure *secure;       /* NULL: connections without TLS */
	struct k2i_admission *admission; /* decides who may connect */
	uint64_t window_bytes;
	uint32_t frame_bytes_max;
	atomic_size_t connections_max;
	size_t host_connections_max; /* for one address; 0: any number */
	struct k2i_stream_room streams;
	struct k2i_buffer_budget budget;
	atomic_size_t connections; /* open now */
	atomic_uint_fast64_t next_id;
	struct k2i_peers peers;
};

#endif
