/* SPDX-License-Identifier: MIT */
#include "app/program/module.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <k2hft/version.h>

#include "config/settings.h"

int k2i_module_path(const char *name, char path[PATH_MAX])
{
	const char *(*library)(void) = k2hft_version_string;
	const char *slash = NULL;
	Dl_info info;
	void *address;
	int length;

	/* POSIX has functions and data in the same kind of pointer, and ISO C does not. */
	memcpy(&address, &library, sizeof(address));
	if (dladdr(address, &info) && info.dli_fname)
		slash = strrchr(info.dli_fname, '/');
	length = snprintf(path, PATH_MAX, "%.*s/k2hft/%s.so", slash ? (int)(slash - info.dli_fname) : 1,
			  slash ? info.dli_fname : ".", name);
	if ((size_t)length >= PATH_MAX)
		return -ENAMETOOLONG;
	return access(path, R_OK) == 0 ? 0 : -ENOENT;
}

const struct k2i_module_output k2i_module_outputs[K2I_MODULES] = {
	{K2I_OUTPUT_KAFKA, "kafka"}, {K2I_OUTPUT_FORWARD, "forward"}, {K2I_OUTPUT_OTLP, "otlp"}};

const void *k2i_module_load(const char *name, const char *symbol, char *reason, size_t reason_room)
{
	const struct {
		const char *version;
	} *found = NULL;
	char path[PATH_MAX];
	int error = k2i_module_path(name, path);
	/* nodelete: libraries of modules have threads. */
	void *handle = error ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

	if (handle)
		found = dlsym(handle, symbol);
	if (found && strcmp(found->version, K2HFT_VERSION_STRING) == 0)
		return found;
	(void)snprintf(reason, reason_room,
		       "module %s can't be loaded: %s; install " K2I_MODULE_PACKAGE
		       "%s of version " K2HFT_VERSION_STRING,
		       path,
		       error   ? strerror(-error)
		       : found ? "it is of another version"
			       : dlerror(),
		       name);
	return NULL;
}
