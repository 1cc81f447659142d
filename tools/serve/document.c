/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tools/serve/serve.h"

static const char *const verdict_names[] = {
	[STAT_FINE] = "fine",
	[STAT_PROGRESS] = "progress",
	[STAT_STUCK] = "stuck",
};

char *serve_status_make(const struct serve_target *targets, size_t count)
{
	struct k2i_report report = {0};

	k2i_report_open(&report, NULL, '{');
	k2i_report_text(&report, "program", "k2hft serve");
	k2i_report_number(&report, "time_ms", k2i_clock_ns(CLOCK_REALTIME) / K2I_MILLISECOND_NS);
	k2i_report_open(&report, "targets", '[');
	for (size_t at = 0; at < count; at++) {
		k2i_report_open(&report, NULL, '{');
		k2i_report_text(&report, "target", targets[at].name);
		k2i_report_text(&report, "verdict", verdict_names[targets[at].verdict]);
		k2i_report_text(&report, "reason", targets[at].reason);
		/* It was parsed, so it is a value. */
		if (targets[at].text)
			k2i_report_add(&report, ",\n\"status\": %s", targets[at].text);
		k2i_report_close(&report, '}');
	}
	k2i_report_close(&report, ']');
	k2i_report_close(&report, '}');
	k2i_report_add(&report, "\n");
	return report.text;
}

char *serve_health_make(const struct serve_target *targets, size_t count, bool *healthy)
{
	struct k2i_report report = {0};

	*healthy = true;
	for (size_t at = 0; at < count; at++) {
		*healthy &= targets[at].verdict != STAT_STUCK;
		k2i_report_add(&report, "%s: %s\n", targets[at].name, targets[at].reason);
	}
	if (!count)
		k2i_report_add(&report, "no mount, receiver or sender runs on this host\n");
	return report.text;
}
