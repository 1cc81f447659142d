/* SPDX-License-Identifier: MIT */
/* Configuration files in YAML and JSON: what is printed of them is INI, and says the same. */
#define FUZZ_SUFFIX ".yaml"
#include "fuzz_settings.c"
