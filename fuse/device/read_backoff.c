/* SPDX-License-Identifier: MIT */
#include "fuse/device/read_backoff.h"

/* Whether all that waits is soon acknowledged. */
static void backoff_measure(struct k2i_read_backoff *backoff, uint64_t head, uint64_t used, uint64_t now_ns)
{
	if (now_ns - backoff->measured_ns < K2I_READ_BACKOFF_MEASURE_NS)
		return;
	backoff->slow = head - backoff->measured_head < used / K2I_READ_BACKOFF_MEASURES;
	backoff->measured_ns = now_ns;
	backoff->measured_head = head;
}

bool k2i_read_backoff_wanted(struct k2i_read_backoff *backoff, uint64_t head, uint64_t used, bool comes,
			     uint64_t now_ns)
{
	if (backoff->since_ns == 0)
		*backoff = (struct k2i_read_backoff){.since_ns = now_ns, .measured_ns = now_ns, .measured_head = head};
	backoff_measure(backoff, head, used, now_ns);
	backoff->wanted = comes && now_ns - backoff->since_ns < K2I_READ_BACKOFF_NS;
	/* A request is read between two moments. */
	if (now_ns - backoff->since_ns >= K2I_READ_BACKOFF_NS && !backoff->slow)
		backoff->since_ns = now_ns;
	return backoff->wanted;
}
