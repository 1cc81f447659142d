/* SPDX-License-Identifier: MIT */
#include "app/program/page.h"

/* page.mk makes the numbers of page.html. */
const char k2i_page[] = {
#include "page.inc"
	0,
};

size_t k2i_page_bytes(void)
{
	return sizeof(k2i_page) - 1;
}
