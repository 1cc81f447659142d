/* SPDX-License-Identifier: MIT */
#include "app/program/page.h"

/* The file as it is: a string literal of it could not be read, nor edited with its colours. */
__asm__(".section .rodata\n"
	".global k2i_page\n"
	".hidden k2i_page\n"
	".global k2i_page_end\n"
	"k2i_page:\n"
	".incbin \"lib/app/program/page.html\"\n"
	"k2i_page_end:\n"
	".byte 0\n"
	".previous\n");
extern const char k2i_page_end[];

size_t k2i_page_bytes(void)
{
	return (size_t)(k2i_page_end - k2i_page);
}
