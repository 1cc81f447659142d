/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/crash.h"
#include "receiver/base/text.h"
#include "receiver/sink/exec/internal.h"

/* Without records for so long a process ends, and another one begins with the next. */
#define IDLE_NS (300 * K2I_SECOND_NS)
/* So long processes have to end with the receiver. */
#define STOP_NS (10 * K2I_SECOND_NS)
/* The same as IDLE_NS where there are more than the receiver may have open. */
#define CROWDED_NS (2 * K2I_SECOND_NS)

/* For the plug-ins' thread ---------------------------------------------------------------------------------------- */

static int output_open(void *argument)
{
	struct k2i_target *target = argument;

	return k2i_output_lend(target->sink->outputs, target->path);
}

static bool output_in_place(void *argument, int output)
{
	struct k2i_target *target = argument;

	return k2i_output_lent_in_place(target->sink->outputs, target->path, output);
}

/* Tells those who wait for a target that is empty enough. */
static void waiters_wake(struct k2i_exec_sink *exec, const struct k2i_target *target)
{
	size_t kept = 0;

	(void)pthread_mutex_lock(&exec->mutex);
	for (size_t i = 0; i < exec->waiter_count; i++) {
		if (exec->waiters[i].target == target)
			k2i_sink_ready(&exec->sink, exec->waiters[i].owner);
		else
			exec->waiters[kept++] = exec->waiters[i];
	}
	exec->waiter_count = kept;
	(void)pthread_mutex_unlock(&exec->mutex);
}

static void block_taken(void *argument, struct k2i_plugin_block *block, int error)
{
	struct k2i_target *target = argument;
	struct k2i_exec_sink *exec = target->sink;

	atomic_fetch_sub(&exec->waiting_bytes, block->bytes);
	k2i_outputs_lent_written(exec->outputs);
	K2I_CRASH(exec_read);
	k2i_pending_done(&exec->pending, block->owner, error);
	K2I_CRASH(exec_told);
	if (k2i_plugin_waiting(target->plugin) <= exec->settings->buffer_bytes / 4 && !k2i_exec_target_full(target))
		waiters_wake(exec, target);
}

static void target_closed(void *argument)
{
	struct k2i_target *target = argument;

	(void)pthread_mutex_destroy(&target->mutex);
	free(target);
}

static const struct k2i_plugin_ops plugin_ops = {output_open, output_in_place, block_taken, target_closed};

int k2i_exec_plugins_start(struct k2i_exec_sink *exec)
{
	exec->options = (struct k2i_plugins_options){
		.command = exec->command,
		.area = "output",
		.ops = &plugin_ops,
		.stop_ns = STOP_NS,
		.starts = &exec->counters->plugin_starts,
		.deaths = &exec->counters->plugin_deaths,
		.refed_bytes = &exec->counters->plugin_refed_bytes,
	};
	return k2i_plugins_start(&exec->options, &exec->plugins);
}

/* Targets --------------------------------------------------------------------------------------------------------- */

static struct k2i_target *target_find(struct k2i_exec_sink *exec, const char *path, uint64_t hash)
{
	struct k2i_table_node *node = NULL;
	struct k2i_target *target;

	while ((node = k2i_table_find(&exec->targets, hash, node)) != NULL) {
		target = K2I_TABLE_ENTRY(node, struct k2i_target, node);
		if (strcmp(target->path, path) == 0)
			return target;
	}
	return NULL;
}

static struct k2i_target *target_make(struct k2i_exec_sink *exec, const char *path, uint64_t hash)
{
	size_t room = strlen(path) + 1;
	struct k2i_target *target = calloc(1, sizeof(*target) + room);
	char name[K2HFT_STREAM_PATH_BYTES_MAX + 1];

	if (!target)
		return NULL;
	target->sink = exec;
	(void)pthread_mutex_init(&target->mutex, NULL);
	memcpy(target->path, path, room);
	if (k2i_table_insert(&exec->targets, &target->node, hash)) {
		target_closed(target);
		return NULL;
	}
	if (k2i_plugin_open(exec->plugins, k2i_text_clean(path, name, sizeof(name)), target, &target->plugin)) {
		k2i_table_remove(&exec->targets, &target->node);
		target_closed(target);
		return NULL;
	}
	target->number = exec->next_number++;
	return target;
}

int k2i_exec_target_get(struct k2i_exec_sink *exec, const char *path, struct k2i_target **target)
{
	uint64_t hash = k2i_table_hash(path, strlen(path));

	(void)pthread_mutex_lock(&exec->mutex);
	*target = target_find(exec, path, hash);
	if (!*target)
		*target = target_make(exec, path, hash);
	if (*target)
		(*target)->references++;
	(void)pthread_mutex_unlock(&exec->mutex);
	return *target ? 0 : -ENOMEM;
}

void k2i_exec_target_put(struct k2i_target *target)
{
	struct k2i_exec_sink *exec = target->sink;

	(void)pthread_mutex_lock(&exec->mutex);
	target->references--;
	target->used_ns = k2i_clock_now_ns();
	(void)pthread_mutex_unlock(&exec->mutex);
}

/* A plug-in that hangs must not take the room of the others: with nothing to read, each gets a group. */
bool k2i_exec_target_full(const struct k2i_target *target)
{
	const struct k2i_exec_sink *exec = target->sink;
	uint64_t waiting = k2i_plugin_waiting(target->plugin);

	return waiting && k2i_share_full(waiting, atomic_load(&exec->waiting_bytes), exec->settings->buffer_bytes);
}

/* Without memory, or when another target makes room, the owner finds out by itself within a second. */
void k2i_exec_target_await(struct k2i_target *target, struct k2i_owner owner)
{
	struct k2i_exec_sink *exec = target->sink;
	size_t room = exec->waiter_room ? 2 * exec->waiter_room : 16;
	struct k2i_exec_waiter *waiters = exec->waiters;

	(void)pthread_mutex_lock(&exec->mutex);
	for (size_t i = 0; i < exec->waiter_count; i++)
		if (exec->waiters[i].owner.id == owner.id)
			goto there;
	if (exec->waiter_count == exec->waiter_room) {
		waiters = realloc(exec->waiters, room * sizeof(*waiters));
		if (!waiters)
			goto there;
		exec->waiters = waiters;
		exec->waiter_room = room;
	}
	exec->waiters[exec->waiter_count++] = (struct k2i_exec_waiter){owner, target};
there:
	(void)pthread_mutex_unlock(&exec->mutex);
	if (!k2i_exec_target_full(target))
		waiters_wake(exec, target);
}

/* Housekeeping ---------------------------------------------------------------------------------------------------- */

struct tick {
	struct k2i_exec_sink *exec;
	uint64_t now_ns, idle_ns;
	const char *unify_path;
	uint64_t running, oldest_ns;
};

static void target_look(void *argument, struct k2i_table_node *node)
{
	struct tick *tick = argument;
	struct k2i_target *target = K2I_TABLE_ENTRY(node, struct k2i_target, node);
	bool former = tick->unify_path && strcmp(tick->unify_path, target->path) != 0;
	struct k2i_plugin_shown shown;

	k2i_plugin_show(target->plugin, tick->now_ns, &shown);
	tick->running += shown.pid != 0;
	tick->oldest_ns = shown.waiting_ns > tick->oldest_ns ? shown.waiting_ns : tick->oldest_ns;
	if (target->references || shown.waiting_bytes || (!former && tick->now_ns < target->used_ns + tick->idle_ns))
		return;
	if (shown.pid) {
		k2i_plugin_rest(target->plugin);
		return;
	}
	if (tick->unify_path && !former)
		return;
	k2i_table_remove(&tick->exec->targets, node);
	k2i_plugin_close(target->plugin);
}

void k2i_exec_targets_tick(struct k2i_exec_sink *exec, uint64_t now_ns, const char *unify_path)
{
	struct tick tick = {.exec = exec, .now_ns = now_ns, .unify_path = unify_path};

	(void)pthread_mutex_lock(&exec->mutex);
	tick.idle_ns = exec->targets.count > exec->targets_max ? CROWDED_NS : unify_path ? UINT64_MAX / 2 : IDLE_NS;
	k2i_table_each(&exec->targets, target_look, &tick);
	(void)pthread_mutex_unlock(&exec->mutex);
	atomic_store(&exec->counters->plugins_running, tick.running);
	atomic_store(&exec->counters->plugin_waiting_bytes, atomic_load(&exec->waiting_bytes));
	atomic_store(&exec->counters->plugin_waiting_seconds, tick.oldest_ns / K2I_SECOND_NS);
}

static void target_rest(void *argument, struct k2i_table_node *node)
{
	(void)argument;
	k2i_plugin_rest(K2I_TABLE_ENTRY(node, struct k2i_target, node)->plugin);
}

void k2i_exec_targets_rest(struct k2i_exec_sink *exec)
{
	(void)pthread_mutex_lock(&exec->mutex);
	k2i_table_each(&exec->targets, target_rest, NULL);
	(void)pthread_mutex_unlock(&exec->mutex);
}

struct listing {
	struct k2i_report *report;
	struct k2i_sink_state *state;
	unsigned count, count_max;
	uint64_t now_ns;
};

static void target_show(void *argument, struct k2i_table_node *node)
{
	struct listing *listing = argument;
	struct k2i_report *report = listing->report;
	const struct k2i_target *target = K2I_TABLE_ENTRY(node, struct k2i_target, node);
	struct k2i_plugin_shown shown;
	const char *held;

	k2i_plugin_show(target->plugin, listing->now_ns, &shown);
	held = shown.error ? k2i_text_error(shown.error) : "";
	k2i_sink_state_add(listing->state, held, shown.waiting_bytes, shown.waiting_ns);
	if (listing->count++ >= listing->count_max)
		return;
	k2i_report_open(report, NULL, '{');
	k2i_report_text(report, "path", target->path);
	k2i_report_number(report, "pid", (uint64_t)shown.pid);
	k2i_report_number(report, "restarts", shown.restarts);
	k2i_report_number(report, "waiting_bytes", shown.waiting_bytes);
	k2i_report_number(report, "waiting_s", shown.waiting_ns / K2I_SECOND_NS);
	k2i_report_text(report, "held", held);
	k2i_report_close(report, '}');
}

void k2i_exec_targets_show(struct k2i_exec_sink *exec, struct k2i_report *report, unsigned listed_max,
			   struct k2i_sink_state *state)
{
	struct listing listing = {report, state, 0, listed_max, k2i_clock_now_ns()};

	state->name = "exec";
	k2i_report_open(report, "plugins", '[');
	(void)pthread_mutex_lock(&exec->mutex);
	k2i_table_each(&exec->targets, target_show, &listing);
	(void)pthread_mutex_unlock(&exec->mutex);
	k2i_report_close(report, ']');
}
