/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_INTAKE_ROUTE_JUDGE_H
#define K2I_FUSE_INTAKE_ROUTE_JUDGE_H

#include <stddef.h>

struct k2i_mount;
struct k2i_records;
struct k2i_route;

/*
 * Through the rule, into what is pending and to OUTPUTFILE. -ENOMEM; an error of OUTPUTFILE if there is no stream. Even so
 * the first `*taken` bytes, whole records, are taken, and must not come again.
 */
int k2i_route_take(struct k2i_mount *mount, struct k2i_route *route, const struct k2i_records *records, size_t *taken);
/* Leaves of whole records those that its rule passes, which must be one that replaces none. -ENOMEM: nothing counts. */
int k2i_route_filter_in_place(struct k2i_mount *mount, struct k2i_route *route, char *records, size_t *bytes);

#endif
