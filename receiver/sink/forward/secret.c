/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "receiver/sink/forward/internal.h"
#include "receiver/sink/remote/secret.h"

int k2i_forward_secret_read(const char *file, char secret[K2I_FORWARD_SECRET_BYTES_MAX], char *reason, size_t room)
{
	const char *why;
	size_t count;

	if (k2i_secret_read(file, secret, K2I_FORWARD_SECRET_BYTES_MAX, &why) == 0) {
		count = strlen(secret);
		count -= count > 0 && secret[count - 1] == '\n';
		count -= count > 0 && secret[count - 1] == '\r';
		secret[count] = '\0';
		if (count && !strchr(secret, '\n'))
			return 0;
		why = "it wants one line with the secret, and nothing else";
	}
	(void)snprintf(reason, room, "%s: %s", file, why);
	return -EINVAL;
}
