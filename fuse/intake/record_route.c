/* SPDX-License-Identifier: MIT */
#include "fuse/intake/record_route.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fuse/intake/handles.h"
#include "fuse/mount.h"
#include "fuse/copy/outputfile.h"
#include "fuse/base/journal.h"
#include "fuse/tree/tree.h"

/* Files that hand their records on; more is taken for a circle. */
#define CHAIN_LENGTH_MAX 16
/* More is given back when nothing is pending. */
#define PENDING_ROOM_KEPT (512u * 1024)
/* More in one step are released before it is done. */
#define RELEASES_MAX 64u

/* Streams to be released when the step is done. */
static struct {
	uint32_t stream_id;
	bool used;
} releases[RELEASES_MAX];
static unsigned release_count;

static uint32_t mount_streams(const struct k2i_mount *mount)
{
	struct k2hft_ring_stats stats = K2HFT_RING_STATS_INIT;

	(void)k2hft_ring_stats(mount->lane.ring, &stats);
	return stats.streams;
}

/* Whether one comes free by itself: of a file that is closed, when its records have been taken and are acknowledged. */
static bool number_comes(const struct k2i_mount *mount)
{
	bool comes = release_count || mount_streams(mount) < K2HFT_STREAM_COUNT_MAX;

	for (uint32_t at = 0; !comes && at < mount->handles.room; at++)
		comes = mount->handles.entries[at] && mount->handles.entries[at]->released;
	return comes && mount->settings->full != K2HFT_FULL_DROP && !mount->ending;
}

static int declare(struct k2i_mount *mount, struct k2i_route *route, const char *path)
{
	struct k2hft_stream stream = {
		.path = path,
		.mode = mount->settings->binary ? K2HFT_STREAM_BINARY : K2HFT_STREAM_TEXT,
	};
	int status;

	if (!route->transfer)
		return 0;
	if (strlen(path) > K2HFT_STREAM_PATH_BYTES_MAX)
		return -ENAMETOOLONG;
	status = k2hft_stream_declare(mount->lane.ring, &stream, &route->stream_id);
	if (status == -ENOSPC) /* no number is free */
		return number_comes(mount) ? -EAGAIN : -ENFILE;
	if (status == -EBUSY) /* an attached process is stopped while it declares */
		return -EAGAIN;
	route->declared = status == 0;
	return status;
}

static int open_one(struct k2i_mount *mount, const char *path, struct k2i_route **route)
{
	const struct k2i_rule_match *match = k2i_rules_find(mount->rules, path);
	struct k2i_route *opened;
	int status;

	if (!match)
		return -EPERM;
	opened = k2i_journal_alloc(sizeof(*opened));
	if (!opened)
		return -ENOMEM;
	memset(opened, 0, sizeof(*opened));
	opened->match = match;
	opened->passes_all = mount->settings->binary || k2i_rule_passes_all(match);
	opened->transfer = k2i_rule_settings(match)->transfer;
	opened->path = k2i_journal_strdup(path);
	status = opened->path ? 0 : -ENOMEM;
	if (status == 0 && !opened->passes_all)
		status = k2i_rule_scratch_create(match, &opened->scratch);
	if (status == 0)
		status = k2i_outputfile_get(mount, match, path, &opened->output);
	if (status == 0)
		status = declare(mount, opened, path);
	if (status) {
		k2i_route_close(mount, opened);
		return status;
	}
	*route = opened;
	return 0;
}

static int open_next(struct k2i_mount *mount, struct k2i_route *route, const char *path)
{
	uint32_t node;
	int status = open_one(mount, path, &route->next);

	if (status == 0)
		status = k2i_tree_file(mount, path, &node);
	if (status == 0) {
		route->next->node = node;
		k2i_node_opened(mount->nodes, node);
		k2i_node_keep(k2i_node_at(mount->nodes, node));
		k2i_node_at(mount->nodes, node)->is_copy_target = true;
	}
	return status;
}

int k2i_route_open(struct k2i_mount *mount, const char *path, struct k2i_route **route)
{
	char paths[2][K2I_PATH_BYTES_MAX + 1];
	int status = open_one(mount, path, route), length = 0;

	if (status)
		return status;
	for (struct k2i_route *last = *route; status == 0; last = last->next) {
		char *inside = paths[length % 2];

		status = k2i_outputfile_inside(mount, last->match, path, inside, sizeof(paths[0]));
		if (status <= 0)
			break;
		status = ++length > CHAIN_LENGTH_MAX ? -ELOOP : open_next(mount, last, inside);
		path = inside;
	}
	if (status) {
		k2i_route_close(mount, *route);
		*route = NULL;
	}
	return status;
}

void k2i_routes_release_streams(struct k2i_mount *mount)
{
	while (release_count) {
		uint32_t stream_id = releases[--release_count].stream_id;

		/* One that nobody has written to, as files that are only made or touched, waits for no acknowledgement. */
		if (releases[release_count].used)
			(void)k2hft_stream_release(mount->lane.ring, stream_id);
		else
			(void)k2hft_stream_withdraw(mount->lane.ring, stream_id);
	}
}

static void free_one(struct k2i_mount *mount, struct k2i_route *route)
{
	if (route->declared) {
		if (release_count == RELEASES_MAX)
			k2i_routes_release_streams(mount);
		releases[release_count].stream_id = route->stream_id;
		releases[release_count++].used = route->used;
	}
	if (route->node != K2I_NODE_NONE)
		k2i_node_closed(mount->nodes, route->node);
	k2i_outputfile_put(route->output);
	k2i_rule_scratch_free(route->scratch);
	k2i_journal_free(route->pending);
	k2i_journal_free(route->path);
	k2i_journal_free(route);
}

void k2i_route_close(struct k2i_mount *mount, struct k2i_route *route)
{
	while (route) {
		struct k2i_route *next = route->next;

		if (route->missing_newline) {
			K2I_JOURNAL_KEEP(route);
			route->closed = true;
			route->next = NULL;
		} else {
			free_one(mount, route);
		}
		route = next;
	}
}

/* The first of those that owe an end does so no more. */
static void take_owing(struct k2i_mount *mount)
{
	struct k2i_route *route = mount->routes.missing_newline_first;

	K2I_JOURNAL_KEEP(&mount->routes.missing_newline_first);
	mount->routes.missing_newline_first = route->missing_newline_next;
	if (route->closed)
		free_one(mount, route);
}

void k2i_routes_forget(struct k2i_mount *mount)
{
	while (mount->routes.missing_newline_first)
		take_owing(mount);
	k2i_routes_release_streams(mount);
}

int k2i_route_inherit(struct k2i_mount *mount, struct k2i_route *route)
{
	int status = 0;

	for (; route && status == 0; route = route->next) {
		route->scratch = NULL;
		route->output = NULL;
		if (!route->passes_all)
			status = k2i_rule_scratch_create(route->match, &route->scratch);
		route->output_missing =
			status == 0 && k2i_outputfile_get(mount, route->match, route->path, &route->output);
		if (route->output_missing)
			k2i_log(K2HFT_LOG_WARNING, "mount: %s: its OUTPUTFILE can't be opened again", route->path);
		/* The ring has forgotten who declared streams, but not their numbers. */
		if (status == 0 && route->declared && mount->lane.streams_forgotten)
			status = declare(mount, route, route->path);
	}
	return status;
}

static int add_pending(struct k2i_route *route, const struct k2i_records *records)
{
	size_t needed = route->pending_bytes + records->bytes;
	size_t room = route->pending_room ? route->pending_room : 4096;
	char *pending;

	if (needed > route->pending_room) {
		while (room < needed)
			room *= 2;
		pending = k2i_journal_alloc(room);
		if (!pending)
			return -ENOMEM;
		if (route->pending_bytes)
			memcpy(pending, route->pending, route->pending_bytes);
		K2I_JOURNAL_KEEP(route);
		k2i_journal_free(route->pending);
		route->pending = pending;
		route->pending_room = room;
	}
	K2I_JOURNAL_KEEP(route);
	memcpy(route->pending + route->pending_bytes, records->data, records->bytes);
	route->pending_bytes = needed;
	route->pending_continued = records->continued;
	route->pending_continues = records->continues;
	route->writer_pid = records->writer_pid;
	route->time_ns = records->time_ns;
	return 0;
}

static void account_next(struct k2i_mount *mount, const struct k2i_route *route, size_t bytes)
{
	struct k2i_node_entry *entry = k2i_node_at(mount->nodes, route->node);
	uint64_t most;

	if (!entry)
		return;
	/* No write(2) comes over the end of off_t; here the kernel would not believe in the file any more. */
	most = INT64_MAX - entry->size;
	/* The size of a file that is written through the cache is its watermark. */
	k2i_node_grow(entry, entry->cached ? 0 : entry->size + (bytes < most ? bytes : most));
}

static int append_output(struct k2i_mount *mount, struct k2i_route *route, const char *data, size_t bytes)
{
	int status = 0;

	if (route->output_missing)
		status = k2i_outputfile_get(mount, route->match, route->path, &route->output);
	route->output_missing = status != 0;
	if (status == 0 && route->output)
		status = k2i_outputfile_append(route->output, data, bytes);
	if (status == 0)
		return 0;
	k2i_mount_count(&mount->counts.output_errors, 1);
	k2i_log_limited(&mount->log.output, k2i_clock_now_ns(), K2HFT_LOG_ERROR, "mount: %s: %s",
			k2i_rule_settings(route->match)->output_file, strerror(-status));
	return status;
}

/* Before a chunk of its stream is committed. */
static void use(struct k2i_route *route)
{
	if (route->used)
		return;
	K2I_JOURNAL_KEEP(route);
	route->used = true;
}

void k2i_route_copy(struct k2i_mount *mount, struct k2i_route *route, const char *data, size_t bytes)
{
	use(route);
	(void)append_output(mount, route, data, bytes);
}

static uint64_t records_of(const struct k2i_mount *mount, const char *data, size_t bytes)
{
	return mount->settings->binary ? 1 : k2i_lines_count(data, bytes);
}

/* What a file behind a stream has no memory for. */
static void lose(struct k2i_mount *mount, const struct k2i_route *route, const char *data, size_t bytes)
{
	k2i_mount_count(&mount->counts.lost_records, records_of(mount, data, bytes));
	k2i_log_limited(&mount->log.lost, k2i_clock_now_ns(), K2HFT_LOG_ERROR,
			"mount: no memory: records that %s gets from another file are lost", route->path);
}

static int hand_on(struct k2i_mount *mount, struct k2i_route *route, const struct k2i_records *records, size_t *taken)
{
	int status;

	if (route->next) {
		status = k2i_route_take(mount, route->next, records, taken);
		account_next(mount, route->next, *taken);
	} else {
		status = append_output(mount, route, records->data, records->bytes);
		*taken = status ? 0 : records->bytes;
	}
	return status;
}

/* Records that the rule has passed; as k2i_route_take. */
static int deliver(struct k2i_mount *mount, struct k2i_route *route, const struct k2i_records *records, size_t *taken)
{
	int status = route->transfer ? add_pending(route, records) : 0;

	*taken = 0;
	if (status || records->bytes == 0)
		return status;
	status = hand_on(mount, route, records, taken);
	if (status == 0 || !route->transfer)
		return status;
	/* A stream has them: what fails behind it is no reason to have the writer write them again. */
	if (status == -ENOMEM && route->next)
		lose(mount, route->next, records->data + *taken, records->bytes - *taken);
	*taken = records->bytes;
	return 0;
}

/* A replacement of a record whose first piece was judged: it stands for the whole record, so it gets the line end. */
static int deliver_replaced(struct k2i_mount *mount, struct k2i_route *route, const struct k2i_records *replaced,
			    size_t *taken)
{
	struct k2i_records whole = *replaced;
	char *text = malloc(replaced->bytes + 1);
	int status;

	*taken = 0;
	if (!text)
		return -ENOMEM;
	memcpy(text, replaced->data, replaced->bytes);
	text[replaced->bytes] = '\n';
	whole.data = text;
	whole.bytes = replaced->bytes + 1;
	whole.continues = false;
	status = deliver(mount, route, &whole, taken);
	free(text);
	return status;
}

/* What a rule has done to records. Those that are not taken are judged again when their writer tries again. */
static void count_judged(struct k2i_mount *mount, const struct k2i_route *route, const struct k2i_rule_counts *counts)
{
	k2i_mount_count(&mount->counts.slow_patterns, counts->slow);
	if (counts->filtered)
		k2i_log_limited(&mount->log.filter, k2i_clock_now_ns(), K2HFT_LOG_INFO,
				"mount: %s: %llu records that its rule does not let pass", route->path,
				(unsigned long long)counts->filtered);
	k2i_mount_count(&mount->counts.filtered_records, counts->filtered);
	k2i_mount_count(&mount->counts.replaced_records, counts->replaced);
}

/* Whole records, or the first piece of one, through the rule. */
static int judge(struct k2i_mount *mount, struct k2i_route *route, const struct k2i_records *records, size_t *taken)
{
	struct k2i_records passed = *records;
	struct k2i_rule_counts counts = {0};
	struct k2i_rule_output output;
	size_t delivered;
	int verdict, status = 0;

	*taken = 0;
	k2i_rule_begin(route->scratch, records->data, records->bytes);
	verdict = k2i_rule_next(route->scratch, &output);
	if (verdict >= 0) {
		K2I_JOURNAL_KEEP(route);
		route->rest_dropped = records->continues && (verdict == 0 || output.replaced);
	}
	for (; verdict > 0 && status == 0; verdict = status ? status : k2i_rule_next(route->scratch, &output)) {
		passed.data = output.data;
		passed.bytes = output.bytes;
		status = route->rest_dropped ? deliver_replaced(mount, route, &passed, &delivered)
					     : deliver(mount, route, &passed, &delivered);
		if (delivered == 0)
			continue;
		*taken = output.end - (status ? passed.bytes - delivered : 0);
		counts = k2i_rule_counts(route->scratch);
	}
	if (verdict == 0) {
		*taken = records->bytes;
		counts = k2i_rule_counts(route->scratch);
	}
	count_judged(mount, route, &counts);
	return verdict;
}

int k2i_route_filter_in_place(struct k2i_mount *mount, struct k2i_route *route, char *records, size_t *bytes)
{
	struct k2i_rule_output output;
	struct k2i_rule_counts counts;
	size_t passed = 0;
	int verdict;

	if (route->passes_all)
		return 0;
	k2i_rule_begin(route->scratch, records, *bytes);
	while ((verdict = k2i_rule_next(route->scratch, &output)) > 0) {
		if (output.data != records + passed)
			memmove(records + passed, output.data, output.bytes);
		passed += output.bytes;
	}
	*bytes = passed;
	counts = k2i_rule_counts(route->scratch);
	if (verdict == 0)
		count_judged(mount, route, &counts);
	return verdict;
}

int k2i_route_take(struct k2i_mount *mount, struct k2i_route *route, const struct k2i_records *records, size_t *taken)
{
	*taken = records->bytes;
	if (records->continued)
		return route->rest_dropped ? 0 : deliver(mount, route, records, taken);
	if (!route->passes_all)
		return judge(mount, route, records, taken);
	if (route->rest_dropped) {
		K2I_JOURNAL_KEEP(route);
		route->rest_dropped = false;
	}
	return deliver(mount, route, records, taken);
}

static void owe_end(struct k2i_mount *mount, struct k2i_route *route)
{
	if (!route->missing_newline) {
		K2I_JOURNAL_KEEP(&mount->routes.missing_newline_first);
		route->missing_newline_next = mount->routes.missing_newline_first;
		mount->routes.missing_newline_first = route;
	}
	route->missing_newline = true;
	route->missing_newline_pid = route->writer_pid;
}

static void drop_pending(struct k2i_mount *mount, struct k2i_route *route)
{
	const char *data = route->pending + route->pending_from;
	size_t bytes = route->pending_bytes - route->pending_from;
	uint64_t records = records_of(mount, data, bytes);

	K2I_JOURNAL_KEEP(route);
	route->rest_dropped = route->pending_continues;
	if (route->pending_continued && !mount->settings->binary)
		owe_end(mount, route);
	route->pending_bytes = route->pending_from = 0;
	/* Other records take the place of these. */
	k2i_journal_step();
	k2hft_producer_drop(mount->lane.producer, records);
	k2i_log_limited(&mount->log.full, k2i_clock_now_ns(), K2HFT_LOG_ERROR,
			"mount: the ring is full: %llu records were dropped", (unsigned long long)records);
}

void k2i_route_count_piece(struct k2i_mount *mount, const struct k2i_route *route)
{
	k2i_mount_count(&mount->counts.pieces, 1);
	k2i_log_limited(&mount->log.piece, k2i_clock_now_ns(), K2HFT_LOG_INFO,
			"mount: a record of %s goes in pieces: it is over LINEMAX (%zu bytes), or fsync(2) came in the "
			"middle of it",
			route->path, mount->line_limits.piece_bytes_max);
}

/* One chunk of what is pending. */
static int push_one(struct k2i_mount *mount, struct k2i_route *route)
{
	const char *data = route->pending + route->pending_from;
	size_t bytes = route->pending_bytes - route->pending_from, count = bytes;
	bool binary = mount->settings->binary, cut = false;
	struct k2hft_chunk chunk = {
		.stream_id = route->stream_id,
		.time_ns = route->time_ns,
		.writer_pid = route->writer_pid,
	};
	void *payload;
	int status;

	if (!binary) {
		count = k2i_lines_chunk(data, bytes, mount->lane.chunk_bytes_max, mount->line_limits.piece_bytes_max,
					&cut);
	} else if (bytes > mount->lane.chunk_bytes_max) {
		count = mount->lane.chunk_bytes_max;
		cut = true;
	}
	if (cut || (count == bytes && route->pending_continues))
		chunk.flags |= K2HFT_CHUNK_CONTINUES;
	if (route->pending_continued)
		chunk.flags |= K2HFT_CHUNK_CONTINUED;
	status = k2i_lane_claim(&mount->lane, count, &payload);
	if (status)
		return status;
	/* Not sooner: while the ring is full, every request that is served comes by here. */
	chunk.record_count = binary ? 1 : k2i_lines_count(data, count);
	memcpy(payload, data, count);
	use(route);
	K2I_JOURNAL_KEEP(route);
	route->pending_from += count;
	route->pending_continued = cut;
	if (cut)
		k2i_route_count_piece(mount, route);
	status = k2i_lane_commit(&mount->lane, &chunk, 0, count, false);
	if (status)
		route->pending_from -= count;
	return status;
}

static int push_end(struct k2i_mount *mount, struct k2i_route *route)
{
	struct k2hft_chunk chunk = {
		.stream_id = route->stream_id,
		.record_count = 1,
		.time_ns = route->time_ns,
		.writer_pid = route->missing_newline_pid,
		.flags = K2HFT_CHUNK_CONTINUED,
	};
	void *payload;
	int status = k2i_lane_claim(&mount->lane, 1, &payload);

	if (status)
		return status;
	memcpy(payload, "\n", 1);
	use(route);
	K2I_JOURNAL_KEEP(route);
	route->missing_newline = false;
	status = k2i_lane_commit(&mount->lane, &chunk, 0, 1, false);
	route->missing_newline = status != 0;
	return status;
}

int k2i_routes_terminate(struct k2i_mount *mount)
{
	int status = 0;

	while (mount->routes.missing_newline_first && status == 0) {
		/* A worker can have died between the one and the other. */
		if (mount->routes.missing_newline_first->missing_newline)
			status = push_end(mount, mount->routes.missing_newline_first);
		if (status == 0)
			take_owing(mount);
	}
	return status;
}

static void forget_pending(struct k2i_route *route)
{
	K2I_JOURNAL_KEEP(route);
	route->pending_bytes = route->pending_from = 0;
	route->pending_continued = route->pending_continues = false;
	if (route->pending_room > PENDING_ROOM_KEPT) {
		k2i_journal_free(route->pending);
		route->pending = NULL;
		route->pending_room = 0;
	}
}

int k2i_route_push(struct k2i_mount *mount, struct k2i_route *route)
{
	for (; route; route = route->next) {
		while (route->pending_from < route->pending_bytes) {
			int status = k2i_routes_terminate(mount);

			if (status == 0)
				status = push_one(mount, route);
			if (status == -EAGAIN && mount->settings->full == K2HFT_FULL_DROP)
				drop_pending(mount, route);
			else if (status)
				return status;
		}
		if (route->pending_bytes)
			forget_pending(route);
	}
	return 0;
}

uint64_t k2i_route_forget_pending(struct k2i_mount *mount, struct k2i_route *route)
{
	uint64_t records = 0;

	for (; route; route = route->next) {
		if (route->pending_from < route->pending_bytes)
			records += records_of(mount, route->pending + route->pending_from,
					      route->pending_bytes - route->pending_from);
		forget_pending(route);
	}
	return records;
}

bool k2i_route_has_piece(const struct k2i_route *route)
{
	for (; route; route = route->next) {
		if (route->pending_bytes && (route->pending_continued || route->pending_continues))
			return true;
	}
	return false;
}

size_t k2i_route_pending(const struct k2i_route *route)
{
	size_t bytes = 0;

	for (; route; route = route->next)
		bytes += route->pending_bytes - route->pending_from;
	return bytes;
}
