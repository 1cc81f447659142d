/* SPDX-License-Identifier: MIT */
/*
 * Copies lines from standard input into a ring that another process sends: the ring of a mount, by the link
 * MOUNT/.k2hft-ring, or a ring file. This process needs no connection and may end at any time, because what it wrote is
 * in the ring.
 *
 *	cc attach_ring.c $(pkg-config --cflags --libs k2hft) -o attach_ring
 *	dmesg | ./attach_ring MOUNT/.k2hft-ring dmesg.log
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <k2hft/k2hft.h>

#define TIMEOUT_MS 10000

static int copy(struct k2hft_sender *sender, const char *path)
{
	struct k2hft_writer *writer;
	char text[65536];
	size_t bytes;
	int status = k2hft_writer_open(sender, path, &writer);

	if (status)
		return status;
	while (status == 0 && (bytes = fread(text, 1, sizeof(text), stdin)) > 0) {
		size_t done = 0, taken;

		/* A signal can end the wait for room in a full ring: go on with what was not taken. */
		do {
			status = k2hft_writer_lines(writer, text + done, bytes - done, &taken);
			done += taken;
		} while (status == -EINTR);
	}
	/* This also sends a last line without its line end. */
	k2hft_writer_close(writer);
	return status;
}

int main(int argc, char **argv)
{
	struct k2hft_sender *sender;
	int status, unsent;

	if (argc != 3) {
		fprintf(stderr, "usage: %s RING STREAM\n", argv[0]);
		return 2;
	}
	status = k2hft_sender_attach(argv[1], &sender);
	if (status) {
		fprintf(stderr, "%s: %s\n", argv[1], strerror(-status));
		return 1;
	}
	status = copy(sender, argv[2]);
	if (status)
		fprintf(stderr, "%s: %s\n", argv[2], strerror(-status));
	/* Waits until the process that sends the ring has an acknowledgement for all of it. */
	unsent = k2hft_sender_close(sender, TIMEOUT_MS);
	if (unsent)
		fprintf(stderr, "not everything was acknowledged: %s\n", strerror(-unsent));
	return unsent || status || ferror(stdin);
}
