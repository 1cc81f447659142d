/* SPDX-License-Identifier: MIT */
#include <k2hft/frame.h>

#include <errno.h>
#include <string.h>

#include "frame/message.h"
#include "base/text.h"

#define PART_BYTES_MAX 255u

static bool part_valid(const char *part, size_t bytes)
{
	if (bytes == 0 || bytes > PART_BYTES_MAX)
		return false;
	return !(part[0] == '.' && (bytes == 1 || (bytes == 2 && part[1] == '.')));
}

int k2hft_stream_path_check(const char *path, size_t path_bytes)
{
	size_t begin = 0;

	if (path_bytes == 0 || path_bytes > K2HFT_STREAM_PATH_BYTES_MAX || memchr(path, '\0', path_bytes))
		return -EINVAL;
	/* A leading, trailing or double slash makes an empty part. */
	while (begin <= path_bytes) {
		const char *slash = memchr(path + begin, '/', path_bytes - begin);
		size_t end = slash ? (size_t)(slash - path) : path_bytes;

		if (!part_valid(path + begin, end - begin))
			return -EINVAL;
		begin = end + 1;
	}
	return 0;
}

static bool stream_valid(const void *message)
{
	const struct k2hft_stream_message *stream = message;

	return (stream->mode == K2HFT_STREAM_TEXT || stream->mode == K2HFT_STREAM_BINARY) &&
	       k2hft_stream_path_check(stream->path, strlen(stream->path)) == 0 && k2i_text_plain(stream->host);
}

static const struct k2i_message stream_kind = {
	.valid = stream_valid,
	.fields = {K2I_NUMBER(k2hft_stream_message, stream_id), K2I_NUMBER(k2hft_stream_message, mode),
		   K2I_STRING(k2hft_stream_message, path), K2I_STRING(k2hft_stream_message, host)},
};

K2I_MESSAGE_FUNCTIONS(stream, k2hft_stream_message, K2HFT_FRAME_STREAM)
