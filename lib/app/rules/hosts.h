/* SPDX-License-Identifier: MIT */
#ifndef K2I_APP_RULES_HOSTS_H
#define K2I_APP_RULES_HOSTS_H

#include <stdbool.h>

#include "config/settings.h"

/*
 * The hosts that may connect: NAME of the SLVNODE sections. Each has one or several of these, with commas between them
 *
 *	web1.example.com, 192.0.2.7	a name or an address: the whole of it, in any case
 *	web[1-12,20].example.com	a list: numbers (with leading zeros if the first has them), letters, or words
 *	192.0.2.0/24			a network
 *
 * or is a regular expression, such as ^web[0-9]+\.example\.com$, found anywhere in a name or address.
 */
struct k2i_hosts;

/*
 * `*hosts` is NULL if there is no SLVNODE section, or an error; each finding goes to `report`, unless that is NULL. -EINVAL there was an error;
 * -ENOMEM.
 */
int k2i_hosts_compile(const struct k2i_settings *settings, k2i_settings_report *report, void *argument,
		      struct k2i_hosts **hosts);
void k2i_hosts_free(struct k2i_hosts *hosts);
/* A name, or an address as getnameinfo(3) writes it. A single thread at a time. */
bool k2i_hosts_match(const struct k2i_hosts *hosts, const char *name);

#endif
