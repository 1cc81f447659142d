/* SPDX-License-Identifier: MIT */
/*
 * tls_ends PORT KEYFILE: a program that has begun to use OpenSSL before the library does, whose OpenSSL ends while it has
 * senders, as exit(3) has it do. A child of fork(2) that ends in the same way leaves them alone.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <k2hft/k2hft.h>

#define TIMEOUT_MS 60000

int OPENSSL_init_ssl(uint64_t options, const void *settings);
void OPENSSL_cleanup(void);

static int wrong(const char *what, int status)
{
	fprintf(stderr, "tls_ends: %s: %s\n", what, strerror(-status));
	return 1;
}

static int end(struct k2hft_sender *sender, struct k2hft_writer *writer)
{
	int status;

	status = k2hft_writer_write(writer, "at last", 7);
	if (status)
		return wrong("write", status);
	OPENSSL_cleanup();
	status = k2hft_sender_flush(sender, 0);
	if (status)
		return wrong("flush of nothing behind the end", status);
	status = k2hft_writer_write(writer, "too late", 8);
	if (status)
		return wrong("write", status);
	status = k2hft_sender_flush(sender, -1);
	if (status != -EIO)
		return wrong("flush behind the end", status);
	k2hft_writer_close(writer);
	status = k2hft_sender_close(sender, -1);
	return status == -EIO ? 0 : wrong("close", status);
}

int main(int argc, char **argv)
{
	const struct k2hft_tls_options tls = {.size = sizeof(tls), .shared_key_path = argv[argc - 1]};
	const struct k2hft_sender_options options = {
		.size = sizeof(options), .host = "127.0.0.1", .port = argv[1], .tls = &tls};
	struct k2hft_sender *sender, *other;
	struct k2hft_writer *writer;
	int status;

	if (argc != 3 || OPENSSL_init_ssl(0, NULL) != 1 || k2hft_sender_open(&options, &sender) ||
	    k2hft_sender_open(&options, &other) || k2hft_writer_open(sender, "ends", &writer))
		return 1;
	for (int number = 0; number < 2; number++) {
		if (k2hft_writer_write(writer, "in time", 7) || k2hft_sender_flush(sender, TIMEOUT_MS))
			return wrong("flush", -ETIMEDOUT);
		if (number == 0 && fork() == 0) {
			OPENSSL_cleanup();
			_exit(0);
		}
		if (number == 0 && (wait(&status) < 0 || status))
			return wrong("child", -ECHILD);
	}
	k2hft_sender_close(other, 0);
	return end(sender, writer);
}
