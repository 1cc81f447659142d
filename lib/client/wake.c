/* SPDX-License-Identifier: MIT */
#include <unistd.h>

#include "base/caller.h"
#include "client/state.h"

void k2i_client_interrupt(struct k2hft_client *client)
{
	/* A writer's call comes here, too, also where the program has closed the library's descriptors. */
	K2I_CANCEL_DISABLED;
	K2I_ERRNO_KEPT;
	uint64_t one = 1;

	(void)!write(client->wake.interrupt, &one, sizeof(one));
}

void k2i_client_interrupted(struct k2hft_client *client)
{
	uint64_t count;

	if (read(client->wake.interrupt, &count, sizeof(count)) == (ssize_t)sizeof(count))
		client->claims.begun = true;
}
