/* SPDX-License-Identifier: MIT */
#include "fuse/plugin/feeder.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <k2hft/frame.h>

#include "app/program/ring_stats.h"
#include "base/clock.h"
#include "base/crash.h"
#include "base/thread.h"
#include "fuse/base/mount.h"
#include "fuse/copy/outputfile.h"
#include "fuse/intake/handles.h"
#include "fuse/intake/write.h"
#include "fuse/plugin/internal.h"

#define SPAN_BYTES ((size_t)1024 * 1024)
#define SPANS_MAX 16u /* of a lane, before the next one's turn */
#define LOOK_MS 1000
/* Those that have not ended within DRAINTIMEOUT; the keeper kills a worker 2 s behind that. */
#define STOP_NS (200 * K2I_MILLISECOND_NS)
#define NO_MEMORY_NS (20 * K2I_MILLISECOND_NS)

static void loop_wake(const struct k2i_feeder *feeder)
{
	uint64_t one = 1;

	(void)!write(feeder->loop_wake, &one, sizeof(one));
}

static void memory_await(void)
{
	struct timespec pause = k2i_timespec(NO_MEMORY_NS);

	(void)nanosleep(&pause, NULL);
}

/* Plug-ins ----------------------------------------------------------------------------------------------------------- */

static int fed_output_open(void *argument)
{
	struct k2i_fed *fed = argument;

	return fed->piped ? k2i_fed_pipe(fed)
			  : k2i_outputfile_lend(fed->lane->feeder->mount, fed->lane->lane->plugin, fed->path);
}

static bool fed_output_in_place(void *argument, int output)
{
	struct k2i_fed *fed = argument;

	return fed->piped ||
	       k2i_outputfile_lent_in_place(fed->lane->feeder->mount, fed->lane->lane->plugin, fed->path, output);
}

static void fed_taken(void *argument, struct k2i_plugin_block *block, int error)
{
	struct k2i_fed *fed = argument;
	struct k2i_feeder *feeder = fed->lane->feeder;
	struct k2i_fed_span *span = block->owner;
	bool read = false;

	/* The ring keeps it then. */
	if (error)
		return;
	(void)pthread_mutex_lock(&feeder->mutex);
	read = --span->unread == 0;
	(void)pthread_mutex_unlock(&feeder->mutex);
	if (read)
		k2i_feeder_wake(feeder);
}

static void fed_closed(void *argument)
{
	struct k2i_fed *fed = argument;
	struct k2i_feeder *feeder = fed->lane->feeder;

	(void)pthread_mutex_lock(&feeder->mutex);
	fed->closed = true;
	(void)pthread_mutex_unlock(&feeder->mutex);
	k2i_feeder_wake(feeder);
	loop_wake(feeder);
}

static const struct k2i_plugin_ops fed_ops = {fed_output_open, fed_output_in_place, fed_taken, fed_closed};

static struct k2i_fed *fed_make(struct k2i_fed_lane *lane, const char *path)
{
	const struct k2i_mount *mount = lane->feeder->mount;
	size_t room = strlen(path) + 1;
	struct k2i_fed *fed = calloc(1, sizeof(*fed) + room);
	char inside[K2HFT_STREAM_PATH_BYTES_MAX + 1];

	if (!fed)
		return NULL;
	memcpy(fed->path, path, room);
	fed->lane = lane;
	fed->reads = -1;
	fed->piped = lane->lane->plugin->rule.plugin_transfers ||
		     k2i_outputfile_lent_inside(mount, lane->lane->plugin, path, inside, sizeof(inside)) != 0;
	if (k2i_plugin_open(lane->plugins, path, fed, &fed->plugin)) {
		free(fed);
		return NULL;
	}
	(void)pthread_mutex_lock(&lane->feeder->mutex);
	fed->next = lane->fed;
	lane->fed = fed;
	(void)pthread_mutex_unlock(&lane->feeder->mutex);
	return fed;
}

static bool lane_covers(const struct k2i_fed_lane *lane, const char *path)
{
	const struct k2i_rule *rule = &lane->lane->plugin->rule;
	size_t bytes = strlen(rule->target);

	return strncmp(path, rule->target, bytes) == 0 &&
	       (rule->directory ? bytes == 0 || path[bytes] == '/' : path[bytes] == '\0');
}

/* NULL: no memory, or nobody knows the stream, as in a ring file of another configuration. */
static struct k2i_fed *fed_of(struct k2i_fed_lane *lane, uint32_t stream_id, bool *unknown)
{
	struct k2i_fed **place = &lane->streams[stream_id - 1], *fed = *place;
	struct k2hft_stream stream;
	uint32_t generation;

	*unknown = k2hft_stream_find(lane->lane->ring, stream_id, &stream, &generation) != 0 ||
		   !lane_covers(lane, stream.path);
	if (*unknown || (fed && fed->generation == generation))
		return *unknown ? NULL : fed;
	for (fed = lane->fed; fed && (fed->closing || strcmp(fed->path, stream.path) != 0); fed = fed->next)
		continue;
	if (!fed)
		fed = fed_make(lane, stream.path);
	if (!fed)
		return NULL;
	fed->stream_id = stream_id;
	fed->generation = generation;
	*place = fed;
	return fed;
}

static void fed_close(struct k2i_fed *fed)
{
	if (fed->stream_id && fed->lane->streams[fed->stream_id - 1] == fed)
		fed->lane->streams[fed->stream_id - 1] = NULL;
	fed->closing = true;
	k2i_plugin_close(fed->plugin);
}

static bool lane_is_read(const struct k2i_mount_lane *lane)
{
	const struct k2hft_ring_stats ring = k2i_ring_stats_get(lane->ring);

	return ring.tail == ring.read;
}

/* Whether its last writer has ended, and all is read that was written; a rule of one file goes on, while it is there. */
static bool fed_is_over(const struct k2i_fed *fed)
{
	const struct k2i_mount_lane *lane = fed->lane->lane;
	struct k2hft_stream stream;
	uint32_t generation;

	if (atomic_load(&fed->lane->feeder->ending) || (lane->state == K2I_LANE_EMPTIES && lane_is_read(lane)))
		return true;
	return lane->plugin->rule.directory && fed->stream_id &&
	       (k2hft_stream_find(lane->ring, fed->stream_id, &stream, &generation) || generation != fed->generation);
}

static void feds_look(struct k2i_fed_lane *lane)
{
	struct k2i_fed **place = &lane->fed, *fed;
	bool written = false;

	for (fed = lane->fed; fed; fed = fed->next)
		if (!fed->closing && fed_is_over(fed))
			fed_close(fed);
	(void)pthread_mutex_lock(&lane->feeder->mutex);
	while ((fed = *place) != NULL) {
		written |= fed->reads >= 0 && k2i_fed_read(fed);
		if (fed->closed && fed->reads < 0 && !fed->written_bytes && !fed->handle_open) {
			*place = fed->next;
			free(fed->written);
			free(fed);
			continue;
		}
		place = &fed->next;
	}
	(void)pthread_mutex_unlock(&lane->feeder->mutex);
	if (written)
		loop_wake(lane->feeder);
}

/* Rings -------------------------------------------------------------------------------------------------------------- */

static void block_push(struct k2i_fed_lane *lane, struct k2i_fed *fed, struct k2i_plugin_block *block,
		       struct k2i_fed_span *span)
{
	if (!block)
		return;
	block->owner = span;
	block->binary = lane->feeder->binary;
	(void)pthread_mutex_lock(&lane->feeder->mutex);
	span->unread++;
	(void)pthread_mutex_unlock(&lane->feeder->mutex);
	k2i_plugin_push(fed->plugin, block);
}

/* Chunks that follow each other in a stream are one block. */
static void span_push(struct k2i_fed_lane *lane, const struct k2hft_span *from, struct k2i_fed_span *span)
{
	struct k2i_plugin_block *block = NULL;
	struct k2i_fed *fed = NULL, *next;
	struct k2hft_chunk_view view;
	size_t offset = 0;
	bool unknown;

	while (k2hft_chunk_next(from->data, from->bytes, from->position, &offset, &view) > 0) {
		while (!(next = fed_of(lane, view.chunk.stream_id, &unknown)) && !unknown)
			memory_await();
		if (!next)
			continue;
		if (next != fed) {
			block_push(lane, fed, block, span);
			block = NULL;
		}
		fed = next;
		while (k2i_plugin_block_put(&block, (const char *)view.payload, view.payload_bytes))
			memory_await();
	}
	block_push(lane, fed, block, span);
}

/* Whether there may be more. */
static bool lane_read(struct k2i_fed_lane *lane)
{
	struct k2hft_ring *ring = lane->lane->ring;
	struct k2i_fed_span *span;
	struct k2hft_span from;
	int claimed, count = 1;

	for (unsigned spans = 0; spans < SPANS_MAX; spans++) {
		span = calloc(1, sizeof(*span));
		count = span ? k2hft_ring_read(ring, SPAN_BYTES, 0, &from, &claimed) : 0;
		if (count == -EBADMSG)
			(void)k2hft_ring_repair(ring);
		if (count <= 0) {
			free(span);
			return !span || count == -EBADMSG;
		}
		span->end = from.position + from.bytes;
		*lane->last = span;
		lane->last = &span->next;
		span_push(lane, &from, span);
	}
	return true;
}

/* Whether room became free. */
static bool lane_release(struct k2i_fed_lane *lane)
{
	struct k2i_fed_span *span;
	uint64_t end = 0;

	(void)pthread_mutex_lock(&lane->feeder->mutex);
	while ((span = lane->first) != NULL && span->unread == 0) {
		lane->first = span->next;
		if (!lane->first)
			lane->last = &lane->first;
		end = span->end;
		free(span);
	}
	(void)pthread_mutex_unlock(&lane->feeder->mutex);
	if (end) {
		K2I_CRASH(plugin_release_before);
		(void)k2hft_ring_release(lane->lane->ring, end);
		K2I_CRASH(plugin_released);
	}
	return end != 0;
}

/* The thread --------------------------------------------------------------------------------------------------------- */

static size_t polled_count(struct k2i_feeder *feeder)
{
	size_t count = 1;

	for (const struct k2i_fed_lane *lane = feeder->lanes; lane; lane = lane->next, count++)
		for (const struct k2i_fed *fed = lane->fed; fed; fed = fed->next)
			count++;
	return count;
}

/* The list is the feeder's to change; the mutex is for others, who look at it. */
static void feeder_await(struct k2i_feeder *feeder, int timeout_ms)
{
	size_t count = polled_count(feeder), at = 0;
	uint64_t woken;

	if (count > feeder->polled_room) {
		struct pollfd *polled = realloc(feeder->polled, 2 * count * sizeof(*polled));

		if (!polled) {
			memory_await();
			return;
		}
		feeder->polled = polled;
		feeder->polled_room = 2 * count;
	}
	feeder->polled[at++] = (struct pollfd){.fd = feeder->wake, .events = POLLIN};
	(void)pthread_mutex_lock(&feeder->mutex);
	for (const struct k2i_fed_lane *lane = feeder->lanes; lane; lane = lane->next) {
		feeder->polled[at++] =
			(struct pollfd){.fd = k2hft_ring_wake_descriptor(lane->lane->ring), .events = POLLIN};
		for (struct k2i_fed *fed = lane->fed; fed; fed = fed->next)
			feeder->polled[at++] = (struct pollfd){
				.fd = fed->written_bytes < K2I_FED_WRITTEN_MAX ? fed->reads : -1, .events = POLLIN};
	}
	(void)pthread_mutex_unlock(&feeder->mutex);
	(void)poll(feeder->polled, count, timeout_ms);
	if (feeder->polled[0].revents)
		(void)!read(feeder->wake, &woken, sizeof(woken));
}

/* Whether a former one of its TARGET has something to do still. */
static bool lane_waits(const struct k2i_fed_lane *lane)
{
	const struct k2i_lane_plugin *own = lane->lane->plugin;

	for (const struct k2i_fed_lane *other = lane->feeder->lanes; other; other = other->next) {
		struct k2hft_ring_stats ring = k2i_ring_stats_get(other->lane->ring);

		if (other->lane->plugin->turn < own->turn && (other->fed || ring.tail != ring.head) &&
		    strcmp(other->lane->plugin->rule.target, own->rule.target) == 0)
			return true;
	}
	return false;
}

/* Whether its turn has come. A file's own process is there from then on. */
static bool lane_begin(struct k2i_fed_lane *lane)
{
	const struct k2i_mount_lane *of = lane->lane;
	struct k2i_fed *fed = NULL;

	if (lane->begun || lane_waits(lane))
		return lane->begun;
	if (!of->plugin->rule.directory && of->state == K2I_LANE_TAKES) {
		fed = fed_make(lane, of->plugin->rule.target);
		if (!fed)
			return false;
		k2i_plugin_begin(fed->plugin);
	}
	return lane->begun = true;
}

static void lane_stop(struct k2i_fed_lane *lane)
{
	struct k2i_fed *fed;
	struct k2i_fed_span *span;

	k2i_plugins_stop(lane->plugins);
	k2i_plugin_command_free(lane->command);
	while ((fed = lane->fed) != NULL) {
		lane->fed = fed->next;
		if (fed->reads >= 0)
			(void)close(fed->reads);
		free(fed->written);
		free(fed);
	}
	while ((span = lane->first) != NULL) {
		lane->first = span->next;
		free(span);
	}
	free(lane);
}

static void lanes_leave(struct k2i_feeder *feeder)
{
	struct k2i_fed_lane **place = &feeder->lanes, *lane;

	while ((lane = *place) != NULL) {
		if (!atomic_load(&lane->leaving)) {
			place = &lane->next;
			continue;
		}
		(void)pthread_mutex_lock(&feeder->mutex);
		*place = lane->next;
		(void)pthread_mutex_unlock(&feeder->mutex);
		lane_stop(lane);
		loop_wake(feeder);
	}
}

static void *feeder_run(void *argument)
{
	struct k2i_feeder *feeder = argument;
	struct k2i_fed_lane *lane;

	while (!atomic_load(&feeder->stopping)) {
		bool more = false, released = false;

		lanes_leave(feeder);
		for (lane = feeder->lanes; lane; lane = lane->next) {
			released |= lane_release(lane);
			more |= lane->begun && lane_read(lane);
			feds_look(lane);
			(void)k2hft_ring_recover(lane->lane->ring);
		}
		if (released)
			loop_wake(feeder);
		for (lane = feeder->lanes; lane; lane = lane->next)
			more |= lane->begun ? !k2hft_ring_sleep(lane->lane->ring) : lane_begin(lane);
		feeder_await(feeder, more ? 0 : LOOK_MS);
		for (lane = feeder->lanes; lane; lane = lane->next)
			k2hft_ring_awake(lane->lane->ring);
	}
	return NULL;
}

/* Contract ----------------------------------------------------------------------------------------------------------- */

static int lane_start(struct k2i_feeder *feeder, struct k2i_mount_lane *of)
{
	struct k2i_fed_lane *lane = calloc(1, sizeof(*lane));
	char message[512] = "no memory";
	int status = lane ? k2i_plugin_command_parse(of->plugin->rule.plugin, &lane->command, message, sizeof(message))
			  : -ENOMEM;

	if (status) {
		k2i_log(K2HFT_LOG_ERROR, "mount: PLUGIN = %s: %s", of->plugin->rule.plugin, message);
		free(lane);
		return status;
	}
	lane->feeder = feeder;
	lane->lane = of;
	lane->last = &lane->first;
	lane->options = (struct k2i_plugins_options){
		.command = lane->command,
		.area = "mount",
		.ops = &fed_ops,
		.stop_ns = STOP_NS,
		.starts = &feeder->starts,
		.deaths = &feeder->deaths,
		.refed_bytes = &feeder->refed_bytes,
	};
	status = k2i_plugins_start(&lane->options, &lane->plugins);
	lane->next = feeder->lanes;
	feeder->lanes = lane;
	return status;
}

/* Handles of a worker that died have what its plug-ins wrote. */
static void handles_release(struct k2i_mount *mount)
{
	struct k2i_handle *handle;

	for (uint32_t number = 0; (handle = k2i_handle_next(mount->handles, &number));) {
		if (handle->plugin && !handle->released)
			k2i_write_release(mount, handle);
	}
}

static int feeder_make(struct k2i_mount *mount, int wake_fd)
{
	struct k2i_feeder *feeder = calloc(1, sizeof(*feeder));

	if (!feeder)
		return -ENOMEM;
	handles_release(mount);
	mount->feeder = feeder;
	feeder->mount = mount;
	feeder->loop_wake = wake_fd;
	feeder->binary = mount->settings->binary;
	(void)pthread_mutex_init(&feeder->mutex, NULL);
	feeder->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return feeder->wake < 0 ? -errno : 0;
}

static struct k2i_fed_lane *lane_of(const struct k2i_feeder *feeder, const struct k2i_mount_lane *of)
{
	struct k2i_fed_lane *lane = feeder ? feeder->lanes : NULL;

	while (lane && lane->lane != of)
		lane = lane->next;
	return lane;
}

int k2i_feeder_start(struct k2i_mount *mount, int wake_fd)
{
	struct k2i_feeder *feeder;
	int status = 0;

	for (unsigned at = 0; status == 0 && at < mount->lanes.count; at++) {
		struct k2i_mount_lane *lane = &mount->lanes.lane[at];

		if (!lane->plugin || !k2i_lane_used(lane) || lane_of(mount->feeder, lane))
			continue;
		if (!mount->feeder)
			status = feeder_make(mount, wake_fd);
		if (status == 0)
			status = lane_start(mount->feeder, lane);
	}
	feeder = mount->feeder;
	if (status || !feeder)
		return status;
	atomic_store(&feeder->stopping, false);
	status = k2i_thread_start(&feeder->thread, feeder_run, feeder);
	feeder->started = status == 0;
	return status;
}

void k2i_feeder_pause(struct k2i_mount *mount)
{
	struct k2i_feeder *feeder = mount->feeder;

	if (!feeder || !feeder->started)
		return;
	atomic_store(&feeder->stopping, true);
	k2i_feeder_wake(feeder);
	(void)pthread_join(feeder->thread, NULL);
	feeder->started = false;
}

bool k2i_feeder_leave(const struct k2i_mount *mount, const struct k2i_mount_lane *of)
{
	struct k2i_feeder *feeder = mount->feeder;
	struct k2i_fed_lane *lane;

	if (!feeder)
		return true;
	(void)pthread_mutex_lock(&feeder->mutex);
	lane = lane_of(feeder, of);
	if (lane && !lane->fed)
		atomic_store(&lane->leaving, true);
	(void)pthread_mutex_unlock(&feeder->mutex);
	k2i_feeder_wake(feeder);
	return lane == NULL;
}

void k2i_feeder_stop(struct k2i_mount *mount)
{
	struct k2i_feeder *feeder = mount->feeder;
	struct k2i_fed_lane *lane;

	if (!feeder)
		return;
	k2i_feeder_pause(mount);
	while ((lane = feeder->lanes) != NULL) {
		feeder->lanes = lane->next;
		lane_stop(lane);
	}
	if (feeder->wake >= 0)
		(void)close(feeder->wake);
	(void)pthread_mutex_destroy(&feeder->mutex);
	free(feeder->polled);
	free(feeder);
	mount->feeder = NULL;
}

bool k2i_feeder_drained(struct k2i_mount *mount)
{
	struct k2i_feeder *feeder = mount->feeder;
	struct timespec pause = {.tv_nsec = (long)K2I_MILLISECOND_NS};
	const struct k2i_fed_lane *lane;
	bool all = true;

	if (!feeder)
		return true;
	(void)pthread_mutex_lock(&feeder->mutex);
	for (lane = feeder->lanes; lane && all; lane = lane->next) {
		struct k2hft_ring_stats stats = k2i_ring_stats_get(lane->lane->ring);

		all = stats.tail == stats.head;
	}
	if (all && !atomic_exchange(&feeder->ending, true))
		k2i_feeder_wake(feeder);
	for (lane = feeder->lanes; lane; lane = lane->next)
		all = all && !lane->fed;
	(void)pthread_mutex_unlock(&feeder->mutex);
	/* The loop asks again at once. */
	if (!all)
		(void)nanosleep(&pause, NULL);
	return all;
}
