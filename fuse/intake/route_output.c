/* SPDX-License-Identifier: MIT */
#include "fuse/intake/route_output.h"

#include <string.h>

#include "app/rules/rules.h"
#include "base/clock.h"
#include "fuse/copy/outputfile.h"
#include "fuse/intake/record_route.h"
#include "fuse/base/mount.h"

int k2i_route_append_output(struct k2i_mount *mount, struct k2i_route *route, const char *data, size_t bytes)
{
	int status = 0;

	if (route->output_missing)
		status = k2i_outputfile_get(mount, route->match, route->path, &route->output);
	route->output_missing = status != 0;
	if (status == 0 && route->output)
		status = k2i_outputfile_append(route->output, data, bytes);
	if (status == 0)
		return 0;
	k2i_mount_count(&mount->counts.output_errors, 1);
	k2i_log_limited(&mount->log.output, k2i_clock_now_ns(), K2HFT_LOG_ERROR, "mount: %s: %s",
			k2i_rule_settings(route->match)->output_file, strerror(-status));
	return status;
}
