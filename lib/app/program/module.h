/* SPDX-License-Identifier: MIT */
#ifndef K2I_APP_PROGRAM_MODULE_H
#define K2I_APP_PROGRAM_MODULE_H

#include <limits.h>
#include <stddef.h>

#define K2I_MODULE_PACKAGE "k2hftfusesvr-" /* and its name: the package of a module */

/*
 * The file of the receiver's module `name`: k2hft/NAME.so beside libk2hft, wherever that was loaded from, so that neither
 * a folder of a build nor a prefix nor a package has to be told. 0; -ENOENT there is no such file; -ENAMETOOLONG.
 */
int k2i_module_path(const char *name, char path[PATH_MAX]);

#endif
