/* SPDX-License-Identifier: MIT */
/* An answer of a length that is known at its end only, from a file, a pipe or a socket. */
#include "tools/stat/stat.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"

#define ROOM_FIRST ((size_t)64 * 1024)
#define ROOM_MAX ((size_t)16 * 1024 * 1024)

static int room_make(char **text, size_t bytes, size_t *room)
{
	size_t wanted = *room ? *room * 2 : ROOM_FIRST;
	char *grown;

	if (bytes + 1 < *room)
		return 0;
	if (wanted > ROOM_MAX)
		return -EFBIG;
	grown = realloc(*text, wanted);
	if (!grown)
		return -ENOMEM;
	*text = grown;
	*room = wanted;
	return 0;
}

char *stat_answer_read(int descriptor, int64_t timeout_ms)
{
	int64_t end_ms = (int64_t)(k2i_clock_now_ns() / 1000000) + timeout_ms, left_ms;
	struct pollfd wait = {.fd = descriptor, .events = POLLIN};
	size_t bytes = 0, room = 0;
	char *text = NULL;
	ssize_t got = 1;
	int error = 0;

	while (got != 0 && error == 0) {
		error = room_make(&text, bytes, &room);
		left_ms = end_ms - (int64_t)(k2i_clock_now_ns() / 1000000);
		if (!error && timeout_ms >= 0 && poll(&wait, 1, left_ms > 0 ? (int)left_ms : 0) == 0)
			error = -ETIMEDOUT;
		got = error ? 0 : read(descriptor, text + bytes, room - bytes - 1);
		if (got < 0 && errno != EINTR)
			error = -errno;
		bytes += got > 0 ? (size_t)got : 0;
	}
	if (error == 0) {
		text[bytes] = '\0';
		return text;
	}
	free(text);
	errno = -error;
	return NULL;
}
