/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "receiver/sink/forward/internal.h"

/* The bytes of a file that is nobody else's. */
static ssize_t file_read(int file, char *bytes, size_t room, const char **why)
{
	struct stat status;
	ssize_t count = -1;

	if (fstat(file, &status) < 0 || !S_ISREG(status.st_mode))
		*why = "it is not a file";
	else if (status.st_mode & (S_IRWXG | S_IRWXO))
		*why = "other users have access to it; run chmod 600";
	else
		count = read(file, bytes, room);
	return count;
}

int k2i_forward_secret_read(const char *file, char secret[K2I_FORWARD_SECRET_BYTES_MAX], char *reason, size_t room)
{
	int descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	const char *why = NULL;
	ssize_t count = descriptor < 0 ? -1 : file_read(descriptor, secret, K2I_FORWARD_SECRET_BYTES_MAX, &why);

	if (count < 0 && !why)
		why = strerror(errno);
	if (descriptor >= 0)
		(void)close(descriptor);
	if (!why) {
		count -= count > 0 && secret[count - 1] == '\n';
		count -= count > 0 && secret[count - 1] == '\r';
		if (count == 0 || count == (ssize_t)K2I_FORWARD_SECRET_BYTES_MAX ||
		    memchr(secret, '\n', (size_t)count) || memchr(secret, '\0', (size_t)count))
			why = "it wants one line with the secret, and nothing else";
	}
	if (why) {
		(void)snprintf(reason, room, "%s: %s", file, why);
		return -EINVAL;
	}
	secret[count] = '\0';
	return 0;
}
