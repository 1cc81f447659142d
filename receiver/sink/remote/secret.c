/* SPDX-License-Identifier: MIT */
#include "receiver/sink/remote/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int k2i_secret_read(const char *file, char *text, size_t room, const char **why)
{
	int descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat status;
	ssize_t count = -1;

	*why = NULL;
	if (descriptor >= 0 && fstat(descriptor, &status) == 0) {
		if (!S_ISREG(status.st_mode))
			*why = "it is not a file";
		else if (status.st_mode & (S_IRWXG | S_IRWXO))
			*why = "other users have access to it; run chmod 600";
		else
			count = read(descriptor, text, room);
	}
	if (count < 0 && !*why)
		*why = strerror(errno);
	if (descriptor >= 0)
		(void)close(descriptor);
	if (!*why && ((size_t)count == room || memchr(text, '\0', (size_t)count)))
		*why = "it is too long, or no text";
	if (*why)
		return -EINVAL;
	text[count] = '\0';
	return 0;
}
