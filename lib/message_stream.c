/* SPDX-License-Identifier: MIT */
#include <k2hft/frame.h>

#include <errno.h>
#include <string.h>

#include "message.h"

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

static bool stream_valid(const struct k2hft_stream_message *stream)
{
	return (stream->mode == K2HFT_STREAM_TEXT || stream->mode == K2HFT_STREAM_BINARY) &&
	       k2hft_stream_path_check(stream->path, strlen(stream->path)) == 0 && k2i_message_text_valid(stream->host);
}

int k2hft_stream_encode(const struct k2hft_stream_message *stream, uint8_t *bytes, size_t frame_room)
{
	struct k2i_message_writer writer;

	k2i_message_begin(&writer, bytes, frame_room);
	k2i_message_put_u32(&writer, stream->stream_id);
	k2i_message_put_u32(&writer, stream->mode);
	k2i_message_put_string(&writer, stream->path, sizeof(stream->path));
	k2i_message_put_string(&writer, stream->host, sizeof(stream->host));
	if (!writer.error && !stream_valid(stream))
		return -EINVAL;
	return k2i_message_end(&writer, K2HFT_FRAME_STREAM);
}

int k2hft_stream_decode(const void *body, size_t body_bytes, struct k2hft_stream_message *stream)
{
	struct k2i_message_reader reader;

	k2i_message_open(&reader, body, body_bytes);
	stream->stream_id = k2i_message_u32(&reader);
	stream->mode = k2i_message_u32(&reader);
	k2i_message_string(&reader, stream->path, sizeof(stream->path));
	k2i_message_string(&reader, stream->host, sizeof(stream->host));
	return k2i_message_complete(&reader) && stream_valid(stream) ? 0 : -EBADMSG;
}
