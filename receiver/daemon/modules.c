/* SPDX-License-Identifier: MIT */
#include "receiver/daemon/modules.h"

#include <errno.h>

#include "app/program/module.h"
#include "base/log.h"
#include "receiver/sink/module.h"

int k2i_module_sink_open(const char *name, const struct k2i_sink_options *options, struct k2i_sink **sink)
{
	char reason[K2I_MODULE_REASON_ROOM];
	const struct k2i_sink_module *module = k2i_module_load(name, "k2i_sink_module", reason, sizeof(reason));

	if (!module) {
		k2i_log(K2HFT_LOG_ERROR, "output: TYPE has %s, whose %s", name, reason);
		return -ENOEXEC;
	}
	return module->open(options, sink);
}
