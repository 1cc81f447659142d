/* SPDX-License-Identifier: MIT */
#include "receiver/daemon/modules.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "app/program/module.h"
#include "base/log.h"
#include "receiver/base/text.h"
#include "receiver/sink/module.h"

static int module_failed(const char *name, const char *path, const char *why)
{
	k2i_log(K2HFT_LOG_ERROR,
		"output: TYPE has %s, whose module %s can't be loaded: %s; install " K2I_MODULE_PACKAGE
		"%s of version " K2I_SINK_MODULE_VERSION,
		name, path, why, name);
	return -ENOEXEC;
}

int k2i_module_sink_open(const char *name, const struct k2i_sink_options *options, struct k2i_sink **sink)
{
	const struct k2i_sink_module *module = NULL;
	char path[PATH_MAX];
	int error = k2i_module_path(name, path);
	void *handle;

	if (error)
		return module_failed(name, path, k2i_text_error(error));
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (handle)
		module = dlsym(handle, "k2i_sink_module");
	if (!module)
		return module_failed(name, path, dlerror());
	if (strcmp(module->version, K2I_SINK_MODULE_VERSION) != 0)
		return module_failed(name, path, "it is of another version");
	return module->open(options, sink);
}
