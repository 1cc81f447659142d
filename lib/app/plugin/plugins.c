/* SPDX-License-Identifier: MIT */
#include "app/plugin/plugins.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "app/plugin/plugin.h"
#include "base/clock.h"
#include "base/thread.h"

/* Two descriptors of each plug-in, and one that wakes. */
#define POLLED_EACH 2u
#define NO_MEMORY_MS 100

struct k2i_plugins {
	const struct k2i_plugins_options *options;
	pthread_t thread;
	int wake;
	struct pollfd *polled;
	size_t polled_room;
	struct k2i_plugin_command *command; /* NULL: that of the options */
	/* Guards what follows. */
	pthread_mutex_t mutex;
	struct k2i_plugin *first;
	size_t count;
	bool stopping;
	struct k2i_plugin_command *changed; /* the next; NULL: the present one stays */
};

static void plugins_wake(struct k2i_plugins *plugins)
{
	uint64_t one = 1;

	(void)!write(plugins->wake, &one, sizeof(one));
}

/* The thread ------------------------------------------------------------------------------------------------------ */

/* Takes what others have asked for. Those that are closed are no longer in the list, which is given. */
static struct k2i_plugin *requests_take(struct k2i_plugins *plugins, size_t *count, bool *stopping)
{
	struct k2i_plugin **place = &plugins->first, *plugin, *closed = NULL, *first;

	(void)pthread_mutex_lock(&plugins->mutex);
	if (plugins->changed) {
		k2i_plugin_command_free(plugins->command);
		plugins->command = plugins->changed;
		plugins->changed = NULL;
	}
	while ((plugin = *place) != NULL) {
		k2i_plugin_request_take(plugin, plugins->stopping);
		if (!k2i_plugin_is_over(plugin)) {
			place = &plugin->next;
			continue;
		}
		*place = plugin->next;
		plugin->next = closed;
		closed = plugin;
		plugins->count--;
	}
	first = plugins->first;
	*count = plugins->count;
	*stopping = plugins->stopping;
	(void)pthread_mutex_unlock(&plugins->mutex);
	for (; closed; closed = plugin) {
		plugin = closed->next;
		k2i_plugin_free(closed);
	}
	return first;
}

static int polled_reserve(struct k2i_plugins *plugins, size_t count)
{
	size_t room = 2 * (count * POLLED_EACH + 1);
	struct pollfd *polled;

	if (count * POLLED_EACH + 1 <= plugins->polled_room)
		return 0;
	polled = realloc(plugins->polled, room * sizeof(*polled));
	if (!polled)
		return -ENOMEM;
	plugins->polled = polled;
	plugins->polled_room = room;
	return 0;
}

static int poll_ms(uint64_t until_ns, uint64_t now_ns)
{
	uint64_t ms = until_ns > now_ns ? (until_ns - now_ns + K2I_MILLISECOND_NS - 1) / K2I_MILLISECOND_NS : 0;

	return ms < 1000 ? (int)ms : 1000;
}

/* Only this thread takes a plug-in from the list, and others put theirs in front. */
static void plugins_await(struct k2i_plugins *plugins, struct k2i_plugin *first, size_t count, uint64_t until_ns)
{
	struct pollfd *polled = plugins->polled;
	struct k2i_plugin *plugin;
	uint64_t woken;

	polled[0] = (struct pollfd){.fd = plugins->wake, .events = POLLIN};
	for (plugin = first; plugin; plugin = plugin->next, polled += POLLED_EACH)
		k2i_plugin_poll(plugin, polled + 1);
	(void)poll(plugins->polled, count * POLLED_EACH + 1, poll_ms(until_ns, k2i_clock_now_ns()));
	polled = plugins->polled;
	for (plugin = first; plugin; plugin = plugin->next, polled += POLLED_EACH)
		k2i_plugin_polled(plugin, polled + 1);
	if (plugins->polled[0].revents)
		(void)!read(plugins->wake, &woken, sizeof(woken));
}

static void *plugins_run(void *argument)
{
	struct k2i_plugins *plugins = argument;
	struct k2i_plugin *plugin, *first;
	uint64_t now_ns, until_ns, next_ns;
	bool stopping = false, busy = true;
	size_t count;

	while (!stopping || busy) {
		first = requests_take(plugins, &count, &stopping);
		busy = false;
		now_ns = k2i_clock_now_ns();
		until_ns = now_ns + K2I_SECOND_NS;
		for (plugin = first; plugin; plugin = plugin->next) {
			plugin->command = plugins->command ? plugins->command : plugins->options->command;
			next_ns = k2i_plugin_advance(plugin, now_ns);
			until_ns = next_ns < until_ns ? next_ns : until_ns;
			busy |= plugin->state != K2I_PLUGIN_ENDED;
		}
		if (polled_reserve(plugins, count))
			(void)poll(NULL, 0, NO_MEMORY_MS);
		else if (!stopping || busy)
			plugins_await(plugins, first, count, until_ns);
	}
	return NULL;
}

/* Contract -------------------------------------------------------------------------------------------------------- */

int k2i_plugins_start(const struct k2i_plugins_options *options, struct k2i_plugins **plugins)
{
	struct k2i_plugins *made = calloc(1, sizeof(*made));
	int error;

	if (!made)
		return -ENOMEM;
	made->options = options;
	(void)pthread_mutex_init(&made->mutex, NULL);
	made->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	error = made->wake < 0 ? -errno : k2i_thread_start(&made->thread, plugins_run, made);
	if (!error) {
		*plugins = made;
		return 0;
	}
	if (made->wake >= 0)
		(void)close(made->wake);
	(void)pthread_mutex_destroy(&made->mutex);
	free(made);
	return error;
}

void k2i_plugins_stop(struct k2i_plugins *plugins)
{
	struct k2i_plugin *plugin;

	if (!plugins)
		return;
	(void)pthread_mutex_lock(&plugins->mutex);
	plugins->stopping = true;
	(void)pthread_mutex_unlock(&plugins->mutex);
	plugins_wake(plugins);
	(void)pthread_join(plugins->thread, NULL);
	while ((plugin = plugins->first) != NULL) {
		plugins->first = plugin->next;
		k2i_plugin_free(plugin);
	}
	(void)close(plugins->wake);
	(void)pthread_mutex_destroy(&plugins->mutex);
	k2i_plugin_command_free(plugins->command);
	k2i_plugin_command_free(plugins->changed);
	free(plugins->polled);
	free(plugins);
}

void k2i_plugins_change(struct k2i_plugins *plugins, struct k2i_plugin_command *command)
{
	(void)pthread_mutex_lock(&plugins->mutex);
	k2i_plugin_command_free(plugins->changed);
	plugins->changed = command;
	(void)pthread_mutex_unlock(&plugins->mutex);
}

int k2i_plugin_open(struct k2i_plugins *plugins, const char *name, void *argument, struct k2i_plugin **plugin)
{
	struct k2i_plugin *made = k2i_plugin_make(plugins->options, name, argument);

	if (!made)
		return -ENOMEM;
	made->plugins = plugins;
	(void)pthread_mutex_lock(&plugins->mutex);
	made->next = plugins->first;
	plugins->first = made;
	plugins->count++;
	(void)pthread_mutex_unlock(&plugins->mutex);
	*plugin = made;
	return 0;
}

static void request_make(struct k2i_plugin *plugin, bool *request)
{
	(void)pthread_mutex_lock(&plugin->plugins->mutex);
	*request = true;
	(void)pthread_mutex_unlock(&plugin->plugins->mutex);
	plugins_wake(plugin->plugins);
}

void k2i_plugin_close(struct k2i_plugin *plugin)
{
	request_make(plugin, &plugin->closed);
}

void k2i_plugin_begin(struct k2i_plugin *plugin)
{
	request_make(plugin, &plugin->begin);
}

void k2i_plugin_rest(struct k2i_plugin *plugin)
{
	request_make(plugin, &plugin->rest);
}

void k2i_plugin_push(struct k2i_plugin *plugin, struct k2i_plugin_block *block)
{
	bool first;

	block->next = NULL;
	block->pushed_ns = k2i_clock_now_ns();
	atomic_fetch_add(&plugin->waiting_bytes, block->bytes);
	(void)pthread_mutex_lock(&plugin->plugins->mutex);
	first = !plugin->pushed;
	*plugin->last_pushed = block;
	plugin->last_pushed = &block->next;
	(void)pthread_mutex_unlock(&plugin->plugins->mutex);
	if (first)
		plugins_wake(plugin->plugins);
}
