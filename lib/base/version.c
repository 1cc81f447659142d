/* SPDX-License-Identifier: MIT */
#include <k2hft/version.h>

const char *k2hft_version_string(void)
{
	return K2HFT_VERSION_STRING;
}
