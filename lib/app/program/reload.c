/* SPDX-License-Identifier: MIT */
#include "app/program/reload.h"

#include <time.h>

#include "base/clock.h"
#include "base/log.h"

void k2i_reload_begin(struct k2i_reload *reload)
{
	reload->error[0] = reload->restart[0] = '\0';
	reload->begun++;
}

void k2i_reload_end(struct k2i_reload *reload, const char *area)
{
	bool failed = reload->error[0] != '\0';

	reload->at_s = k2i_clock_ns(CLOCK_REALTIME) / K2I_SECOND_NS;
	reload->failed += failed;
	reload->done++;
	if (failed)
		k2i_log(K2HFT_LOG_ERROR, "%s: not reloaded, nothing has changed: %s", area, reload->error);
	else
		k2i_log(K2HFT_LOG_INFO, "%s: reloaded: %s is in use", area, reload->file);
}

void k2i_reload_report(struct k2i_report *report, const struct k2i_reload *reload)
{
	k2i_report_open(report, "reload", '{');
	k2i_report_text(report, "file", reload->file);
	k2i_report_number(report, "begun", reload->begun);
	k2i_report_number(report, "done", reload->done);
	k2i_report_number(report, "failed", reload->failed);
	k2i_report_number(report, "at_s", reload->at_s);
	k2i_report_text(report, "error", reload->error);
	k2i_report_text(report, "restart", reload->restart);
	k2i_report_close(report, '}');
}
