/* SPDX-License-Identifier: MIT */
#include "processes.h"

static void workers_disturb(struct stress *stress)
{
	REQUIRE(stress->claims_recovered == 0);
}
