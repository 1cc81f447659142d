/* SPDX-License-Identifier: MIT */
#include "tools/verify/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/link.h"
#include "tools/base/output.h"

#define SLICE_MS 100

static int sender_options_make(const struct verify_options *options, struct verify_sender *sender)
{
	struct k2hft_sender_options *made = &sender->config.options;
	char message[1024] = "";
	int status;

	made->size = sizeof(*made);
	if (options->config) {
		status = k2i_sender_config_load(options->config, &sender->config, message, sizeof(message));
		if (status)
			return verify_failed(STATUS_WRONG, "%s", message[0] ? message : strerror(-status));
	} else if (receiver_parse(options->receiver, RECEIVER_PORT_DEFAULT, sender->receiver, &made->host,
				  &made->port)) {
		return verify_failed(STATUS_WRONG, "--receiver %s: " RECEIVER_NEEDED, options->receiver);
	}
	if (options->ring_path) {
		made->ring_path = options->ring_path;
		made->ring_flags = 0;
	}
	return STATUS_OK;
}

static int ring_attach(const char *ring, struct k2hft_sender **sender)
{
	int status = k2hft_sender_attach(ring, sender);

	if (status == 0)
		return STATUS_OK;
	return verify_failed(STATUS_FAILED, "%s: %s", ring,
			     status == -EPROTO     ? "it is not a ring that this version knows"
			     : status == -ENOTCONN ? "it is a ring that no process sends from now"
						   : strerror(-status));
}

int verify_sender_open(const struct verify_options *options, struct verify_sender *sender)
{
	char message[1024];
	int status;

	if (options->attach)
		return ring_attach(options->attach, &sender->sender);
	status = sender_options_make(options, sender);
	if (status)
		return status;
	status = k2hft_sender_open(&sender->config.options, &sender->sender);
	if (status == 0)
		return STATUS_OK;
	k2i_sender_config_ring_failed(&sender->config, status, message, sizeof(message));
	if (sender->config.settings)
		k2i_sender_config_free(&sender->config);
	return verify_failed(STATUS_FAILED, "%s", message);
}

static int stats_tell(struct k2hft_sender *sender, bool flushed)
{
	struct k2hft_sender_stats stats = {.size = sizeof(stats)};
	struct k2hft_client_stats client = {.size = sizeof(client)};
	int status = STATUS_OK;

	if (k2hft_sender_stats(sender, &stats))
		return STATUS_FAILED;
	if (stats.dropped_records) {
		verify_error("%" PRIu64 " records were dropped: the ring was full", stats.dropped_records);
		status = STATUS_FAILED;
	}
	/* An attached sender has no client. */
	(void)k2hft_client_stats(k2hft_sender_client(sender), &client);
	if (client.expired_records + client.unknown_records) {
		verify_error("%" PRIu64 " records were given up and are lost",
			     client.expired_records + client.unknown_records);
		status = STATUS_FAILED;
	}
	if (!flushed) {
		verify_error("%" PRIu64 " records are not acknowledged: %s", stats.unacked_records,
			     client.last_error[0] ? client.last_error : "no answer yet");
		status = STATUS_FAILED;
	}
	return status;
}

int verify_sender_close(const struct verify_options *options, struct verify_sender *sender, bool (*stop)(void))
{
	int64_t left_ms = (int64_t)options->timeout_s * 1000;
	int status = STATUS_OK, flushed = -ETIMEDOUT;

	if (sender->sender) {
		for (; flushed && left_ms >= 0 && !stop(); left_ms -= SLICE_MS)
			flushed = k2hft_sender_flush(sender->sender, SLICE_MS);
		status = stats_tell(sender->sender, flushed == 0);
		/* stats_tell has said what remains. */
		command_log_end();
		(void)k2hft_sender_close(sender->sender, 0);
	}
	if (sender->config.settings)
		k2i_sender_config_free(&sender->config);
	return status;
}

static int file_open(struct verify_output *output)
{
	const struct verify_options *options = output->options;
	bool append = options->append || options->append_each || options->reopen || options->shared;
	bool truncate = !append && options->first == 1;

	if (truncate && output_own_check(output->name, "\n~k2") && output_own_check(output->name, "\n!"))
		return -EEXIST;
	output->descriptor = k2i_link_open(
		output->name, O_WRONLY | O_CREAT | O_CLOEXEC | (append ? O_APPEND : 0) | (truncate ? O_TRUNC : 0),
		0666);
	if (output->descriptor < 0)
		return output->descriptor;
	/* Goes on where an earlier run ended; what can't be positioned does so by itself. */
	if (!append && !truncate)
		(void)lseek(output->descriptor, 0, SEEK_END);
	return 0;
}

int verify_output_open(struct verify_output *output, const struct verify_options *options, struct k2hft_sender *sender,
		       uint32_t producer)
{
	bool numbered = options->producers > 1 && !options->shared;
	int status = numbered ? asprintf(&output->name, "%s.%" PRIu32, options->path, producer)
			      : asprintf(&output->name, "%s", options->path);

	output->options = options;
	output->descriptor = -1;
	if (status < 0) {
		output->name = NULL;
		return -ENOMEM;
	}
	return sender ? k2hft_writer_open(sender, output->name, &output->writer) : file_open(output);
}

/* A record, or lines of any length. */
static int writer_put(struct verify_output *output, const char *bytes, size_t count, size_t *taken)
{
	int status;

	if (output->options->write_bytes)
		return k2hft_writer_lines(output->writer, bytes, count, taken);
	status = k2hft_writer_write(output->writer, bytes, count - 1);
	*taken = status ? 0 : count;
	return status;
}

static int reopen(struct verify_output *output)
{
	int before = output->descriptor;

	output->descriptor = -1;
	return before >= 0 && close(before) ? -errno : file_open(output);
}

int verify_output_put(struct verify_output *output, const char *bytes, size_t count, size_t *taken)
{
	ssize_t written;
	int status;

	*taken = 0;
	if (output->writer)
		return writer_put(output, bytes, count, taken);
	if (output->options->reopen) {
		status = reopen(output);
		if (status)
			return status;
	}
	written = write(output->descriptor, bytes, count);
	if (written < 0)
		return -errno;
	*taken = (size_t)written;
	return 0;
}

int verify_output_close(struct verify_output *output)
{
	int status = 0;

	k2hft_writer_close(output->writer);
	if (output->descriptor < 0)
		return 0;
	/* Not every file can be synchronized: a pipe has nothing to. */
	if (output->options->sync && fsync(output->descriptor) && errno != EINVAL)
		status = -errno;
	if (close(output->descriptor) && status == 0)
		status = -errno;
	return status;
}
