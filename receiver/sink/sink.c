/* SPDX-License-Identifier: MIT */
#include "receiver/sink/sink.h"

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
	struct k2i_sink *sink = mark->sink < sinks->count ? sinks->list[mark->sink] : NULL;

	return sink && sink->ops->traits & K2I_SINK_UNDO ? sink : NULL;
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

	for (uint32_t i = 0; i < sinks->count; i++) {
		if (sinks->list[i]->ops->traits & K2I_SINK_UNDO)
			behind |= sinks->list[i]->ops->recover_end(sinks->list[i]);
	}
	return behind;
}

void k2i_sinks_start(const struct k2i_sinks *sinks)
{
	for (uint32_t i = 0; i < sinks->count; i++)
		sinks->list[i]->ops->start(sinks->list[i]);
}

int k2i_sinks_sync(const struct k2i_sinks *sinks)
{
	int error = 0;

	for (uint32_t i = 0; i < sinks->count && !error; i++)
		error = sinks->list[i]->ops->sync(sinks->list[i]);
	return error;
}

void k2i_sinks_reload(const struct k2i_sinks *sinks)
{
	for (uint32_t i = 0; i < sinks->count; i++)
		sinks->list[i]->ops->reload(sinks->list[i]);
}

void k2i_sinks_tick(const struct k2i_sinks *sinks, uint64_t now_ns)
{
	for (uint32_t i = 0; i < sinks->count; i++)
		sinks->list[i]->ops->tick(sinks->list[i], now_ns);
}

void k2i_sinks_show(const struct k2i_sinks *sinks, struct k2i_report *report, unsigned listed_max)
{
	for (uint32_t i = 0; i < sinks->count; i++)
		sinks->list[i]->ops->show(sinks->list[i], report, listed_max);
}

int k2i_sinks_close(struct k2i_sinks *sinks, bool sync)
{
	int error = 0, result;

	for (uint32_t i = 0; i < sinks->count; i++) {
		result = sinks->list[i]->ops->close(sinks->list[i], sync);
		if (!error)
			error = result;
	}
	sinks->count = 0;
	return error;
}
