/* SPDX-License-Identifier: MIT */

#include "unit.h"
#include "base/uuid.h"

TEST(its_text_is_the_usual_one)
{
	const uint8_t uuid[16] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
				  0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10};
	char text[K2I_UUID_TEXT_BYTES];

	assert_ptr_equal(k2i_uuid_text(uuid, text), text);
	assert_string_equal(text, "01234567-89ab-cdef-fedc-ba9876543210");
}

/* The kernel's answer, whatever was there before. */
TEST(the_boot_id_is_the_kernels)
{
	char said[64] = "", text[K2I_UUID_TEXT_BYTES];
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	uint8_t boot_id[16];

	if (!file)
		skip();
	assert_non_null(fgets(said, sizeof(said), file));
	(void)fclose(file);
	memset(boot_id, 0xee, sizeof(boot_id));
	assert_int_equal(k2i_boot_id(boot_id), 0);
	assert_memory_equal(k2i_uuid_text(boot_id, text), said, K2I_UUID_TEXT_BYTES - 1);
}
