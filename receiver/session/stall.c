/* SPDX-License-Identifier: MIT */
#include "receiver/session/stall.h"

#include <inttypes.h>

#include "base/clock.h"
#include "receiver/base/text.h"

#define LOG_INTERVAL_NS (60 * K2I_SECOND_NS)

void k2i_stall_begin(struct k2i_stall *stall, const char *host, const char *peer, const char *place, int error,
		     struct k2i_counters *counters, uint64_t now_ns)
{
	if (!stall->since_ns) {
		stall->since_ns = now_ns;
		stall->next_log_ns = now_ns;
		k2i_count(&counters->held, 1);
	}
	/* Another reason is news. */
	if (now_ns < stall->next_log_ns && stall->error == error)
		return;
	stall->error = error;
	stall->next_log_ns = now_ns + LOG_INTERVAL_NS;
	k2i_log_limited(
		stall->limit, now_ns, K2HFT_LOG_ERROR,
		"hold: records of %s (%s) can't be written%s%s: %s; nothing is acknowledged, tried again every second",
		host, peer, place[0] ? " to " : "", place, k2i_text_error(error));
}

void k2i_stall_end(struct k2i_stall *stall, const char *host, const char *peer, uint64_t now_ns)
{
	if (!stall->since_ns)
		return;
	k2i_log_limited(stall->limit, now_ns, K2HFT_LOG_WARNING,
			"hold: records of %s (%s) are written again after %" PRIu64 " s", host, peer,
			(now_ns - stall->since_ns) / K2I_SECOND_NS);
	stall->since_ns = 0;
	stall->error = 0;
}
