/* SPDX-License-Identifier: MIT */
#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"
#include "base/line_ends.h"
#include "random_help.h"

/* A text may begin anywhere, and end at a page that can't be read. */
TEST(line_ends_are_counted)
{
	const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *page = mmap(NULL, 2 * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *end = page + page_bytes;
	uint64_t random = 3;

	assert_ptr_not_equal(page, MAP_FAILED);
	assert_int_equal(mprotect(end, page_bytes, PROT_NONE), 0);
	/* The last 600 bytes are nothing else: more than a byte counts to. */
	for (size_t at = 0; at < page_bytes; at++)
		page[at] = (uint8_t)(page_bytes - at <= 600 ? '\n' : "\n\n\v\t\x8a"[random_next(&random) % 5]);
	for (size_t behind = 0; behind < 64; behind++) {
		uint64_t count = 0;

		for (size_t bytes = 0; bytes < 1000; count += end[-(ptrdiff_t)(behind + ++bytes)] == '\n')
			assert_int_equal(k2i_line_ends_count(end - behind - bytes, bytes), count);
	}
	assert_int_equal(munmap(page, 2 * page_bytes), 0);
}
