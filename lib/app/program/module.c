/* SPDX-License-Identifier: MIT */
#include "app/program/module.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <k2hft/version.h>

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

const struct k2i_kafka_tools *k2i_kafka_tools_load(char *reason, size_t reason_room)
{
	const struct k2i_kafka_tools *tools = NULL;
	char path[PATH_MAX];
	int error = k2i_module_path("kafka", path);
	/* nodelete: the library has threads. */
	void *handle = error ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

	if (handle)
		tools = dlsym(handle, "k2i_kafka_tools");
	if (tools && strcmp(tools->version, K2HFT_VERSION_STRING) == 0)
		return tools;
	(void)snprintf(reason, reason_room,
		       "it needs the module %s: %s; install " K2I_MODULE_PACKAGE
		       "kafka of version " K2HFT_VERSION_STRING,
		       path,
		       error   ? strerror(-error)
		       : tools ? "it is of another version"
			       : dlerror());
	return NULL;
}
