/* SPDX-License-Identifier: MIT */
#include "receiver/sink/sink.h"

void k2i_sink_state_add(struct k2i_sink_state *state, const char *held, uint64_t waiting_bytes, uint64_t waiting_ns)
{
	state->held += *held != '\0';
	state->waiting_bytes += waiting_bytes;
	if (waiting_ns > state->waiting_ns)
		state->waiting_ns = waiting_ns;
}

void k2i_sink_stored(const struct k2i_sink *sink, struct k2i_sink_report *report, int error)
{
	report->error = error;
	sink->listener->stored(report);
}

void k2i_sink_ready(const struct k2i_sink *sink, struct k2i_owner owner)
{
	sink->listener->ready(owner);
}

/* NULL: the ledger is of a receiver that had more sinks, or another one. */
static struct k2i_sink *mark_sink(const struct k2i_sinks *sinks, const struct k2i_ledger_file *mark)
{
	K2I_SINKS_EACH(sinks, sink) {
		if ((*sink)->number == mark->sink)
			return (*sink)->ops->traits & K2I_SINK_UNDO ? *sink : NULL;
	}
	return NULL;
}

bool k2i_sinks_behind(const struct k2i_sinks *sinks, const struct k2i_ledger_file *mark)
{
	struct k2i_sink *sink = mark_sink(sinks, mark);

	return sink && sink->ops->is_behind(sink, mark);
}

void k2i_sinks_recover(const struct k2i_sinks *sinks, const struct k2i_ledger_file *mark, bool cut)
{
	struct k2i_sink *sink = mark_sink(sinks, mark);

	if (sink)
		sink->ops->recover(sink, mark, cut);
}

bool k2i_sinks_recover_end(const struct k2i_sinks *sinks)
{
	bool behind = false;

	K2I_SINKS_EACH(sinks, sink)
		behind |= (*sink)->ops->traits & K2I_SINK_UNDO && (*sink)->ops->recover_end(*sink);
	return behind;
}

int k2i_sinks_close(struct k2i_sinks *sinks, bool sync)
{
	int error = 0, result;

	K2I_SINKS_EACH(sinks, sink) {
		result = (*sink)->ops->close(*sink, sync);
		error = error ? error : result;
	}
	sinks->count = 0;
	return error;
}
