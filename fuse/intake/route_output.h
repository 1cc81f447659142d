/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_INTAKE_ROUTE_OUTPUT_H
#define K2I_FUSE_INTAKE_ROUTE_OUTPUT_H

#include <stddef.h>

struct k2i_mount;
struct k2i_route;

/* Appends to the route's OUTPUTFILE outside of the mount, if it has one. An error is logged and counted. */
int k2i_route_append_output(struct k2i_mount *mount, struct k2i_route *route, const char *data, size_t bytes);

#endif
