/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_BASE_LIST_H
#define K2I_RECEIVER_BASE_LIST_H

#include <stddef.h>

/* A list, oldest first, of links that are embedded in the caller's structures. Zero-initialised; not locked. */
struct k2i_link {
	struct k2i_link *older, *newer;
};

struct k2i_list {
	struct k2i_link *oldest, *newest;
};

/* The structure that `link` is the member `field` of; NULL for NULL. */
#define K2I_LIST_ENTRY(link, type, field) ((link) ? (type *)(void *)((char *)(link)-offsetof(type, field)) : NULL)

static inline void k2i_list_add(struct k2i_list *list, struct k2i_link *link)
{
	link->newer = NULL;
	link->older = list->newest;
	*(link->older ? &link->older->newer : &list->oldest) = link;
	list->newest = link;
}

static inline void k2i_list_remove(struct k2i_list *list, struct k2i_link *link)
{
	*(link->older ? &link->older->newer : &list->oldest) = link->newer;
	*(link->newer ? &link->newer->older : &list->newest) = link->older;
}

#endif
