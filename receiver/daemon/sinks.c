/* SPDX-License-Identifier: MIT */
#include "receiver/daemon/sinks.h"

#include <errno.h>

#include "receiver/daemon/modules.h"
#include "receiver/sink/exec/exec_sink.h"
#include "receiver/sink/file/file_sink.h"
#include "receiver/sink/relay/relay_sink.h"

/* Files are written by one or the other. */
static int output_open(const struct k2i_sink_options *options, struct k2i_sink **sink)
{
	return options->settings->plugin ? k2i_exec_sink_open(options, sink) : k2i_file_sink_open(options, sink);
}

/* The list of all sinks, and the only place that knows them. The ledger knows each by its place here, for ever. */
static const struct opener {
	unsigned output; /* of TYPE */
	int (*open)(const struct k2i_sink_options *options, struct k2i_sink **sink);
	const char *module; /* in place of `open` */
} openers[K2I_SINKS_MAX] = {
	{K2I_OUTPUT_FILE, output_open, NULL}, {K2I_OUTPUT_RELAY, k2i_relay_sink_open, NULL},
	{K2I_OUTPUT_KAFKA, NULL, "kafka"},    {K2I_OUTPUT_FORWARD, NULL, "forward"},
	{K2I_OUTPUT_OTLP, NULL, "otlp"},
};

int k2i_sinks_make(const struct k2i_settings *settings)
{
	return k2i_file_sink_base_make(settings);
}

int k2i_sinks_open(const struct k2i_sink_options *options, struct k2i_sinks *sinks)
{
	struct k2i_sink *sink;
	int error = 0;

	for (uint32_t number = 0; number < K2I_SINKS_MAX && !error; number++) {
		const struct opener *opener = &openers[number];

		if (!(options->settings->outputs & opener->output))
			continue;
		error = opener->open ? opener->open(options, &sink)
				     : k2i_module_sink_open(opener->module, options, &sink);
		if (error)
			break;
		sink->listener = options->listener;
		sink->number = number;
		sinks->list[sinks->count++] = sink;
	}
	return error;
}
