/* SPDX-License-Identifier: MIT */
#include "app/plugin/plugin.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

/* A process that ends sooner is started again later and later. */
#define LIVED_NS (10 * K2I_SECOND_NS)
#define PAUSE_MIN_NS (100 * K2I_MILLISECOND_NS)
#define PAUSE_MAX_NS (30 * K2I_SECOND_NS)
/* The times that it has to end: by itself, after SIGTERM, and after SIGKILL. */
#define END_NS (10 * K2I_SECOND_NS)
#define TERM_NS (500 * K2I_MILLISECOND_NS)
#define KILL_NS (500 * K2I_MILLISECOND_NS)
/* Nothing tells that a pipe was read, so it is asked. */
#define PROBE_MIN_NS K2I_MILLISECOND_NS
#define PROBE_MAX_NS (50 * K2I_MILLISECOND_NS)
#define PIECE_BYTES ((size_t)65536)
#define ERROR_LINES 20u /* in ten seconds */

struct k2i_plugin *k2i_plugin_make(const struct k2i_plugins_options *options, const char *name, void *argument)
{
	struct k2i_plugin *made = calloc(1, sizeof(*made));

	if (!made)
		return NULL;
	made->name = strdup(name);
	if (!made->name) {
		free(made);
		return NULL;
	}
	made->options = options;
	made->argument = argument;
	made->last_pushed = &made->pushed;
	made->last = &made->queue;
	made->errors_limit.burst = ERROR_LINES;
	return made;
}

void k2i_plugin_free(struct k2i_plugin *plugin)
{
	plugin->options->ops->closed(plugin->argument);
	free(plugin->name);
	free(plugin);
}

bool k2i_plugin_is_over(const struct k2i_plugin *plugin)
{
	return plugin->closed && plugin->state == K2I_PLUGIN_ENDED && !plugin->queue;
}

void k2i_plugin_request_take(struct k2i_plugin *plugin, bool stopping)
{
	if (plugin->pushed) {
		*plugin->last = plugin->pushed;
		plugin->last = plugin->last_pushed;
		if (!plugin->writing)
			plugin->writing = plugin->pushed;
		plugin->pushed = NULL;
		plugin->last_pushed = &plugin->pushed;
	}
	plugin->wanted |= plugin->begin;
	plugin->resting |= plugin->rest;
	plugin->closing = plugin->closed;
	plugin->begin = plugin->rest = false;
	if (stopping && !plugin->stopping && plugin->state == K2I_PLUGIN_CLOSED)
		plugin->deadline_ns = k2i_clock_now_ns() + plugin->options->stop_ns;
	plugin->stopping = stopping;
}

/* Standard error -------------------------------------------------------------------------------------------------- */

static void line_log(struct k2i_plugin *plugin)
{
	if (plugin->line_bytes)
		k2i_log_limited(&plugin->errors_limit, k2i_clock_now_ns(), K2HFT_LOG_WARNING, "%s: plug-in of %s: %.*s",
				plugin->options->area, plugin->name, (int)plugin->line_bytes, plugin->line);
	plugin->line_bytes = 0;
}

static void errors_close(struct k2i_plugin *plugin)
{
	line_log(plugin);
	if (plugin->process.errors >= 0)
		(void)close(plugin->process.errors);
	plugin->process.errors = -1;
}

/* A longer line comes in parts. */
static void errors_read(struct k2i_plugin *plugin)
{
	char bytes[4096];
	ssize_t got = -1;

	while (plugin->process.errors >= 0 && (got = read(plugin->process.errors, bytes, sizeof(bytes))) > 0) {
		for (ssize_t i = 0; i < got; i++) {
			if (bytes[i] == '\n' || plugin->line_bytes == sizeof(plugin->line))
				line_log(plugin);
			if (bytes[i] != '\n')
				plugin->line[plugin->line_bytes++] = bytes[i];
		}
	}
	if (got == 0)
		errors_close(plugin);
}

/* Blocks ---------------------------------------------------------------------------------------------------------- */

static void block_take(struct k2i_plugin *plugin, int error)
{
	struct k2i_plugin_block *block = plugin->queue;

	if (plugin->writing == block) {
		plugin->writing = block->next;
		plugin->write_at = 0;
	}
	plugin->queue = block->next;
	if (!plugin->queue)
		plugin->last = &plugin->queue;
	plugin->read_at = 0;
	plugin->options->ops->taken(plugin->argument, block, error);
	k2i_plugin_block_free(block);
}

/* Takes blocks that its process has read. Whether it has read something. */
static bool blocks_read(struct k2i_plugin *plugin)
{
	size_t unread = k2i_process_unread(&plugin->process);
	size_t bytes = plugin->unread > unread ? plugin->unread - unread : 0;

	if (!bytes)
		return false;
	plugin->unread = unread;
	plugin->read_at += bytes;
	atomic_fetch_sub(&plugin->waiting_bytes, bytes);
	while (plugin->queue && plugin->read_at >= plugin->queue->bytes) {
		bytes = plugin->read_at - plugin->queue->bytes;
		block_take(plugin, 0);
		plugin->read_at = bytes;
	}
	return true;
}

/* A process that ended in the middle of a record leaves it to the next, from its begin on; a byte stream has none. */
static void queue_rewind(struct k2i_plugin *plugin)
{
	const struct k2i_plugin_block *block = plugin->queue;
	const char *end;
	size_t back = plugin->read_at;

	if (block && !block->binary && back) {
		end = memrchr(block->data, '\n', back);
		back = end ? (size_t)(end - block->data) + 1 : 0;
		atomic_fetch_add(&plugin->waiting_bytes, plugin->read_at - back);
		atomic_fetch_add(plugin->options->refed_bytes, plugin->read_at - back);
		plugin->read_at = back;
	}
	plugin->writing = plugin->queue;
	plugin->write_at = plugin->read_at;
	plugin->unread = 0;
}

/* Processes ------------------------------------------------------------------------------------------------------- */

static void start_failed(struct k2i_plugin *plugin, int error, const char *what, uint64_t now_ns)
{
	atomic_store(&plugin->error, error);
	plugin->pause_ns = plugin->pause_ns < PAUSE_MIN_NS ? PAUSE_MIN_NS : 2 * plugin->pause_ns;
	plugin->pause_ns = plugin->pause_ns < PAUSE_MAX_NS ? plugin->pause_ns : PAUSE_MAX_NS;
	plugin->look_ns = now_ns + plugin->pause_ns;
	k2i_log_limited(&plugin->start_limit, now_ns, K2HFT_LOG_ERROR,
			"%s: plug-in of %s: %s: %s; what it should read waits, and it is tried again",
			plugin->options->area, plugin->name, what, strerror(-error));
}

static void process_start(struct k2i_plugin *plugin, uint64_t now_ns)
{
	int output = plugin->options->ops->output_open(plugin->argument), error;

	plugin->wanted = false;
	if (output < 0) {
		start_failed(plugin, output, "its output can't be opened", now_ns);
		return;
	}
	error = k2i_process_start(plugin->command, output, &plugin->process);
	if (error) {
		(void)close(output);
		start_failed(plugin, error, plugin->command->path, now_ns);
		return;
	}
	plugin->output = output;
	plugin->state = K2I_PLUGIN_RUNS;
	plugin->started_ns = now_ns;
	plugin->look_ns = now_ns + K2I_SECOND_NS;
	plugin->asked = plugin->resting = false;
	queue_rewind(plugin);
	atomic_store(&plugin->error, 0);
	atomic_store(&plugin->pid, plugin->process.pid);
	atomic_fetch_add(plugin->options->starts, 1);
}

/* The end of its input. `asked`: it is to end now. */
static void input_close(struct k2i_plugin *plugin, bool asked, uint64_t now_ns)
{
	(void)close(plugin->process.input);
	plugin->state = K2I_PLUGIN_CLOSED;
	plugin->asked = asked;
	plugin->deadline_ns = now_ns + (plugin->stopping ? plugin->options->stop_ns : END_NS);
	plugin->probe_ns = PROBE_MIN_NS;
}

static const char *status_text(int status, char text[64])
{
	if (status == -1)
		return "ended";
	(void)snprintf(text, 64, WIFSIGNALED(status) ? "was ended by signal %d" : "ended with status %d",
		       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return text;
}

/* Its process is gone. */
static void process_end(struct k2i_plugin *plugin, int status, uint64_t now_ns)
{
	char text[64];

	errors_read(plugin);
	errors_close(plugin);
	(void)close(plugin->output);
	plugin->state = K2I_PLUGIN_ENDED;
	atomic_store(&plugin->pid, 0);
	queue_rewind(plugin);
	if (plugin->asked) {
		plugin->look_ns = now_ns;
		return;
	}
	if (now_ns - plugin->started_ns >= LIVED_NS)
		plugin->pause_ns = 0;
	plugin->pause_ns = plugin->pause_ns ? 2 * plugin->pause_ns : PAUSE_MIN_NS;
	plugin->pause_ns = plugin->pause_ns < PAUSE_MAX_NS ? plugin->pause_ns : PAUSE_MAX_NS;
	plugin->look_ns = now_ns + plugin->pause_ns;
	atomic_fetch_add(&plugin->restarts, 1);
	atomic_fetch_add(plugin->options->deaths, 1);
	k2i_log_limited(&plugin->end_limit, now_ns, K2HFT_LOG_WARNING,
			"%s: plug-in of %s: process %d %s; %" PRIu64
			" bytes that it has not read are for the next, in %.1f s",
			plugin->options->area, plugin->name, plugin->process.pid, status_text(status, text),
			(uint64_t)atomic_load(&plugin->waiting_bytes), (double)plugin->pause_ns / 1e9);
}

/* Ends a process that has had the end of its input. */
static void process_press(struct k2i_plugin *plugin, uint64_t now_ns)
{
	int status;

	if (k2i_process_ended(&plugin->process, &status)) {
		process_end(plugin, status, now_ns);
		return;
	}
	if (now_ns < plugin->deadline_ns)
		return;
	switch (plugin->state) {
	case K2I_PLUGIN_CLOSED:
		k2i_log(K2HFT_LOG_WARNING, "%s: plug-in of %s: process %d does not end, and gets SIGTERM",
			plugin->options->area, plugin->name, plugin->process.pid);
		k2i_process_signal(&plugin->process, SIGTERM);
		plugin->state = K2I_PLUGIN_TERMED;
		plugin->deadline_ns = now_ns + TERM_NS;
		break;
	case K2I_PLUGIN_TERMED:
		k2i_process_signal(&plugin->process, SIGKILL);
		plugin->state = K2I_PLUGIN_KILLED;
		plugin->deadline_ns = now_ns + KILL_NS;
		break;
	default:
		/* The kernel keeps it, for a disk that does not answer. At the end of the program that is not waited for. */
		if (plugin->stopping)
			process_end(plugin, -1, now_ns);
	}
}

/*
 * Whole records go into the pipe, so that none is cut if this program dies: a write of PIPE_BUF is all or nothing, and so
 * is a larger one, while the pipe is half empty. A record that is longer can be cut.
 */
static size_t piece_bytes(const struct k2i_plugin *plugin)
{
	const char *data = plugin->writing->data + plugin->write_at, *end;
	size_t bytes = plugin->writing->bytes - plugin->write_at;
	size_t most = plugin->unread + PIECE_BYTES <= plugin->process.pipe_bytes / 2 ? PIECE_BYTES : PIPE_BUF;

	if (plugin->writing->binary || bytes <= most)
		return bytes;
	end = memrchr(data, '\n', most);
	if (!end)
		end = memchr(data + most, '\n', bytes - most);
	return end ? (size_t)(end - data) + 1 : bytes;
}

/* Whether its process can be fed no more. */
static bool process_feed(struct k2i_plugin *plugin)
{
	ssize_t written;

	while (plugin->writing && !(plugin->resting && plugin->write_at == 0)) {
		written = write(plugin->process.input, plugin->writing->data + plugin->write_at, piece_bytes(plugin));
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return errno != EAGAIN;
		plugin->unread += (size_t)written;
		plugin->write_at += (size_t)written;
		if (plugin->write_at < plugin->writing->bytes)
			continue;
		plugin->writing = plugin->writing->next;
		plugin->write_at = 0;
	}
	return false;
}

static void output_look(struct k2i_plugin *plugin, uint64_t now_ns)
{
	const struct k2i_plugin_ops *ops = plugin->options->ops;

	if (now_ns < plugin->look_ns)
		return;
	plugin->look_ns = now_ns + K2I_SECOND_NS;
	plugin->resting |= !ops->output_in_place(plugin->argument, plugin->output);
}

static void process_serve(struct k2i_plugin *plugin, uint64_t now_ns)
{
	bool moved = blocks_read(plugin), gone;

	output_look(plugin, now_ns);
	plugin->resting |= plugin->closing && !plugin->queue;
	gone = plugin->gone || process_feed(plugin);
	plugin->gone = false;
	if (gone)
		(void)blocks_read(plugin);
	if (gone || plugin->stopping || (plugin->resting && plugin->write_at == 0 && plugin->unread == 0))
		input_close(plugin, !gone, now_ns);
	plugin->probe_ns = moved || !plugin->unread ? PROBE_MIN_NS : 2 * plugin->probe_ns;
	plugin->probe_ns = plugin->probe_ns < PROBE_MAX_NS ? plugin->probe_ns : PROBE_MAX_NS;
}

/* Contract -------------------------------------------------------------------------------------------------------- */

void k2i_plugin_poll(const struct k2i_plugin *plugin, struct pollfd polled[2])
{
	bool feeds = plugin->writing && !(plugin->resting && plugin->write_at == 0);

	polled[0] = (struct pollfd){.fd = plugin->state == K2I_PLUGIN_RUNS ? plugin->process.input : -1,
				    .events = feeds ? POLLOUT : 0};
	polled[1] = (struct pollfd){.fd = plugin->state != K2I_PLUGIN_ENDED ? plugin->process.errors : -1,
				    .events = POLLIN};
}

void k2i_plugin_polled(struct k2i_plugin *plugin, const struct pollfd polled[2])
{
	plugin->gone = (polled[0].revents & (POLLERR | POLLNVAL)) != 0;
	plugin->errors_ready = polled[1].revents != 0;
}

uint64_t k2i_plugin_advance(struct k2i_plugin *plugin, uint64_t now_ns)
{
	if (plugin->state == K2I_PLUGIN_ENDED && (plugin->queue || plugin->wanted) && !plugin->stopping &&
	    now_ns >= plugin->look_ns)
		process_start(plugin, now_ns);
	if (plugin->state != K2I_PLUGIN_ENDED && plugin->errors_ready)
		errors_read(plugin);
	plugin->errors_ready = false;
	if (plugin->state == K2I_PLUGIN_RUNS)
		process_serve(plugin, now_ns);
	else if (plugin->state != K2I_PLUGIN_ENDED)
		process_press(plugin, now_ns);
	while (plugin->state == K2I_PLUGIN_ENDED && plugin->stopping && plugin->queue)
		block_take(plugin, -ECANCELED);
	atomic_store(&plugin->oldest_ns, plugin->queue ? plugin->queue->pushed_ns : 0);
	if (plugin->state == K2I_PLUGIN_ENDED)
		return plugin->queue || plugin->wanted ? plugin->look_ns : plugin->closing ? now_ns : UINT64_MAX;
	return plugin->state != K2I_PLUGIN_RUNS || plugin->unread || plugin->resting ? now_ns + plugin->probe_ns
										     : UINT64_MAX;
}

uint64_t k2i_plugin_waiting(const struct k2i_plugin *plugin)
{
	return atomic_load(&plugin->waiting_bytes);
}

void k2i_plugin_show(const struct k2i_plugin *plugin, uint64_t now_ns, struct k2i_plugin_shown *shown)
{
	uint64_t oldest_ns = atomic_load(&plugin->oldest_ns);

	*shown = (struct k2i_plugin_shown){
		.pid = atomic_load(&plugin->pid),
		.restarts = atomic_load(&plugin->restarts),
		.waiting_bytes = atomic_load(&plugin->waiting_bytes),
		.waiting_ns = oldest_ns && now_ns > oldest_ns ? now_ns - oldest_ns : 0,
		.error = atomic_load(&plugin->error),
	};
}
