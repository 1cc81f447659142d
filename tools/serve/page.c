/* SPDX-License-Identifier: MIT */
#include "tools/serve/serve.h"

/* The file as it is: a string literal of it could not be read, nor edited with its colours. */
__asm__(".section .rodata\n"
	".global serve_page\n"
	".global serve_page_end\n"
	"serve_page:\n"
	".incbin \"tools/serve/page.html\"\n"
	"serve_page_end:\n"
	".byte 0\n"
	".previous\n");
extern const char serve_page_end[];

size_t serve_page_bytes(void)
{
	return (size_t)(serve_page_end - serve_page);
}
