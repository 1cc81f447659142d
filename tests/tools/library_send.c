/* SPDX-License-Identifier: MIT */
/*
 * Sends a file through the library, for the tests:
 *
 *	library_send PORT STREAM lines|records|blocks|refused FILE [RING]
 *
 * lines: parts of any length; records: a write for each line, a rest without line end as a part; blocks: parts as
 * records of a binary stream. Ends with 0 when everything is acknowledged. refused: records that do not wait for room,
 * up to the first that is refused; ends with 0 if that came, and does not wait for acknowledgements.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <k2hft/k2hft.h>

#define TIMEOUT_MS 60000
#define PART_BYTES_MAX (300u * 1024)

static uint64_t random_state = 1;

static size_t part_bytes(size_t left)
{
	size_t most, bytes;

	random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	most = (size_t)1 << (random_state >> 33) % 20;
	bytes = 1 + (size_t)(random_state >> 40) % (most < PART_BYTES_MAX ? most : PART_BYTES_MAX);
	return bytes < left ? bytes : left;
}

static int lines_send(struct k2hft_writer *writer, const char *text, size_t bytes)
{
	int status = 0;

	for (size_t at = 0; at < bytes && status == 0;) {
		size_t part = part_bytes(bytes - at);

		status = k2hft_writer_lines(writer, text + at, part, NULL);
		at += part;
	}
	return status;
}

static int records_send(struct k2hft_writer *writer, const char *text, size_t bytes)
{
	size_t at = 0;
	int status = 0;

	while (status == 0 && at < bytes) {
		const char *end = memchr(text + at, '\n', bytes - at);

		if (!end)
			return k2hft_writer_lines(writer, text + at, bytes - at, NULL);
		status = k2hft_writer_write(writer, text + at, (size_t)(end - text) - at);
		at = (size_t)(end - text) + 1;
	}
	return status;
}

static int blocks_send(struct k2hft_writer *writer, const char *text, size_t bytes)
{
	int status = 0;

	for (size_t at = 0; at < bytes && status == 0;) {
		size_t part = part_bytes(bytes - at);

		status = k2hft_writer_write(writer, text + at, part);
		at += part;
	}
	return status;
}

static char *file_read(const char *path, size_t *bytes)
{
	FILE *file = fopen(path, "rb");
	char *text = NULL;
	size_t room = 0, got = 0;

	*bytes = 0;
	while (file) {
		char *larger;

		room = room ? room * 2 : 65536;
		larger = realloc(text, room);
		if (!larger)
			break;
		text = larger;
		got = fread(text + *bytes, 1, room - *bytes, file);
		*bytes += got;
		if (*bytes < room)
			break;
	}
	if (!file || ferror(file) || fclose(file)) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(1);
	}
	return text;
}

static int send_all(struct k2hft_sender *sender, char **argv)
{
	int blocks = strcmp(argv[3], "blocks") == 0, status;
	struct k2hft_writer *writer;
	size_t bytes;
	char *text = file_read(argv[4], &bytes);

	status = blocks ? k2hft_writer_open_binary(sender, argv[2], &writer)
			: k2hft_writer_open(sender, argv[2], &writer);
	if (status == 0) {
		if (blocks)
			status = blocks_send(writer, text, bytes);
		else if (strcmp(argv[3], "lines") != 0)
			status = records_send(writer, text, bytes);
		else
			status = lines_send(writer, text, bytes);
		k2hft_writer_close(writer);
	}
	free(text);
	return status;
}

int main(int argc, char **argv)
{
	struct k2hft_sender_options options = {.size = sizeof(options), .host = "127.0.0.1", .ring_bytes = 1 << 20};
	struct k2hft_sender *sender;
	int status, closed;

	if (argc < 5)
		return 2;
	options.port = argv[1];
	options.ring_path = argv[5];
	options.full = strcmp(argv[3], "refused") == 0 ? K2HFT_FULL_FAIL : K2HFT_FULL_BLOCK;
	status = k2hft_sender_open(&options, &sender);
	if (status) {
		fprintf(stderr, "sender: %s\n", strerror(-status));
		return 1;
	}
	status = send_all(sender, argv);
	if (status)
		fprintf(stderr, "writer: %s\n", strerror(-status));
	if (options.full == K2HFT_FULL_FAIL) {
		(void)k2hft_sender_close(sender, 0);
		return status != -EAGAIN;
	}
	closed = k2hft_sender_close(sender, TIMEOUT_MS);
	if (closed)
		fprintf(stderr, "close: %s\n", strerror(-closed));
	return status || closed;
}
