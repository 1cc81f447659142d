/* SPDX-License-Identifier: MIT */
#ifndef K2I_APP_PROGRAM_PAGE_H
#define K2I_APP_PROGRAM_PAGE_H

#include <stddef.h>

/* The page that browsers get, terminated; and the policy that it needs: a value of Content-Security-Policy. */
extern const char k2i_page[];
size_t k2i_page_bytes(void);
#define K2I_PAGE_POLICY                                                                                                \
	"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; "              \
	"img-src data:; frame-ancestors 'none'"

#endif
