/* SPDX-License-Identifier: MIT */
/*
 * The smallest sender: one record to one receiver.
 *
 *	cc smallest_sender.c $(pkg-config --cflags --libs k2hft) -o smallest_sender
 *	./smallest_sender HOST PORT TEXT
 */
#include <stdio.h>
#include <string.h>

#include <k2hft/k2hft.h>

#define TIMEOUT_MS 10000

int main(int argc, char **argv)
{
	struct k2hft_sender_options options = K2HFT_SENDER_OPTIONS_INIT;
	struct k2hft_sender *sender;
	struct k2hft_writer *writer;
	int status;

	if (argc != 4) {
		fprintf(stderr, "usage: %s HOST PORT TEXT\n", argv[0]);
		return 2;
	}
	options.host = argv[1];
	options.port = argv[2];
	status = k2hft_sender_open(&options, &sender);
	if (status) {
		fprintf(stderr, "sender: %s\n", strerror(-status));
		return 1;
	}
	status = k2hft_writer_open(sender, "examples/smallest.log", &writer);
	if (status == 0) {
		status = k2hft_writer_write(writer, argv[3], strlen(argv[3]));
		k2hft_writer_close(writer);
	}
	if (status)
		fprintf(stderr, "writer: %s\n", strerror(-status));
	/* Waits until the record is in the receiver's file, or the time is over. */
	if (k2hft_sender_close(sender, TIMEOUT_MS) == 0)
		return status ? 1 : 0;
	fprintf(stderr, "the receiver has not acknowledged everything\n");
	return 1;
}
