/* SPDX-License-Identifier: MIT */
#ifndef K2I_CONFIG_YAML_READ_H
#define K2I_CONFIG_YAML_READ_H

#include "config/ini_read.h"

/*
 * Reads a YAML or JSON file, or, if `text` is not NULL, that text in its place, and calls as k2i_ini_read does: sections
 * are the keys of the file, a section that comes several times is a list, and rules are in K2HFTFUSE or beside it. The
 * value of a key that is unknown or without effect comes as "".
 */
int k2i_yaml_read(const char *file, const char *text, const struct k2i_ini_calls *calls);

#endif
