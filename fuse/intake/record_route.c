/* SPDX-License-Identifier: MIT */
#include "fuse/intake/record_route.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fuse/tree/handles.h"
#include "fuse/mount.h"
#include "fuse/copy/outputfile.h"
#include "ring/handle.h"
#include "fuse/keeper/journal.h"
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

/* Whether one comes free by itself: of a file that is closed, when its records have been taken and are acknowledged. */
static bool number_comes(const struct k2i_mount *mount)
{
	bool comes = release_count || k2i_streams_declared(mount->ring) < K2I_STREAM_COUNT;

	for (uint32_t at = 0; !comes && at < mount->handle_room; at++)
		comes = mount->handles[at] && mount->handles[at]->released;
	return comes && mount->settings->full != K2HFT_FULL_DROP && !mount->ending;
}

static int declare(struct k2i_mount *mount, struct k2i_outlet *outlet, const char *path)
{
	struct k2hft_stream stream = {
		.path = path,
		.mode = mount->settings->binary ? K2HFT_STREAM_BINARY : K2HFT_STREAM_TEXT,
	};
	int status;

	if (!outlet->transfer)
		return 0;
	if (strlen(path) > K2HFT_STREAM_PATH_BYTES_MAX)
		return -ENAMETOOLONG;
	status = k2hft_stream_declare(mount->ring, &stream, &outlet->stream_id);
	if (status == -ENOSPC) /* no number is free */
		return number_comes(mount) ? -EAGAIN : -ENFILE;
	outlet->declared = status == 0;
	return status;
}

static int open_one(struct k2i_mount *mount, const char *path, struct k2i_outlet **outlet)
{
	const struct k2i_rule_match *match = k2i_rules_find(mount->rules, path);
	struct k2i_outlet *opened;
	int status;

	if (!match)
		return -EPERM;
	opened = k2i_shared_alloc(sizeof(*opened));
	if (!opened)
		return -ENOMEM;
	memset(opened, 0, sizeof(*opened));
	opened->match = match;
	opened->passes_all = mount->settings->binary || k2i_rule_passes_all(match);
	opened->transfer = k2i_rule_settings(match)->transfer;
	opened->path = k2i_shared_text(path);
	status = opened->path ? 0 : -ENOMEM;
	if (status == 0 && !opened->passes_all)
		status = k2i_rule_scratch_create(match, &opened->scratch);
	if (status == 0)
		status = k2i_output_get(mount, match, path, &opened->output);
	if (status == 0)
		status = declare(mount, opened, path);
	if (status) {
		k2i_outlet_close(mount, opened);
		return status;
	}
	*outlet = opened;
	return 0;
}

static int open_next(struct k2i_mount *mount, struct k2i_outlet *outlet, const char *path)
{
	uint32_t node;
	int status = open_one(mount, path, &outlet->next);

	if (status == 0)
		status = k2i_tree_file(mount, path, &node);
	if (status == 0) {
		outlet->next->node = node;
		k2i_node_opened(mount->nodes, node);
		k2i_node_keep(k2i_node_at(mount->nodes, node));
		k2i_node_at(mount->nodes, node)->fed = true;
	}
	return status;
}

int k2i_outlet_open(struct k2i_mount *mount, const char *path, struct k2i_outlet **outlet)
{
	char paths[2][K2I_PATH_BYTES_MAX + 1];
	int status = open_one(mount, path, outlet), length = 0;

	if (status)
		return status;
	for (struct k2i_outlet *last = *outlet; status == 0; last = last->next) {
		char *inside = paths[length % 2];

		status = k2i_output_inside(mount, last->match, path, inside, sizeof(paths[0]));
		if (status <= 0)
			break;
		status = ++length > CHAIN_LENGTH_MAX ? -ELOOP : open_next(mount, last, inside);
		path = inside;
	}
	if (status) {
		k2i_outlet_close(mount, *outlet);
		*outlet = NULL;
	}
	return status;
}

void k2i_outlet_release(struct k2i_mount *mount)
{
	while (release_count) {
		uint32_t stream_id = releases[--release_count].stream_id;

		/* One that nobody has written to, as files that are only made or touched, waits for no acknowledgement. */
		if (releases[release_count].used)
			(void)k2hft_stream_release(mount->ring, stream_id);
		else
			(void)k2i_stream_release_unused(mount->ring, stream_id);
	}
}

static void free_one(struct k2i_mount *mount, struct k2i_outlet *outlet)
{
	if (outlet->declared) {
		if (release_count == RELEASES_MAX)
			k2i_outlet_release(mount);
		releases[release_count].stream_id = outlet->stream_id;
		releases[release_count++].used = outlet->used;
	}
	if (outlet->node != K2I_NODE_NONE)
		k2i_node_closed(mount->nodes, outlet->node);
	k2i_output_put(outlet->output);
	k2i_rule_scratch_free(outlet->scratch);
	k2i_shared_free(outlet->pending);
	k2i_shared_free(outlet->path);
	k2i_shared_free(outlet);
}

void k2i_outlet_close(struct k2i_mount *mount, struct k2i_outlet *outlet)
{
	while (outlet) {
		struct k2i_outlet *next = outlet->next;

		if (outlet->owes_end) {
			K2I_SHARED_KEEP(outlet);
			outlet->closed = true;
			outlet->next = NULL;
		} else {
			free_one(mount, outlet);
		}
		outlet = next;
	}
}

/* The first of those that owe an end does so no more. */
static void take_owing(struct k2i_mount *mount)
{
	struct k2i_outlet *outlet = mount->owing_first;

	K2I_SHARED_KEEP(&mount->owing_first);
	mount->owing_first = outlet->owing_next;
	if (outlet->closed)
		free_one(mount, outlet);
}

void k2i_outlet_forget(struct k2i_mount *mount)
{
	while (mount->owing_first)
		take_owing(mount);
	k2i_outlet_release(mount);
}

int k2i_outlet_inherit(struct k2i_mount *mount, struct k2i_outlet *outlet)
{
	int status = 0;

	for (; outlet && status == 0; outlet = outlet->next) {
		outlet->scratch = NULL;
		outlet->output = NULL;
		if (!outlet->passes_all)
			status = k2i_rule_scratch_create(outlet->match, &outlet->scratch);
		outlet->output_missing =
			status == 0 && k2i_output_get(mount, outlet->match, outlet->path, &outlet->output);
		if (outlet->output_missing)
			k2i_log(K2HFT_LOG_WARNING, "mount: %s: its OUTPUTFILE can't be opened again", outlet->path);
		/* The ring has forgotten who declared streams, but not their numbers. */
		if (status == 0 && outlet->declared && mount->ring->streams_forgotten)
			status = declare(mount, outlet, outlet->path);
	}
	return status;
}

static int add_pending(struct k2i_outlet *outlet, const struct k2i_records *records)
{
	size_t needed = outlet->pending_bytes + records->bytes;
	size_t room = outlet->pending_room ? outlet->pending_room : 4096;
	char *pending;

	if (needed > outlet->pending_room) {
		while (room < needed)
			room *= 2;
		pending = k2i_shared_alloc(room);
		if (!pending)
			return -ENOMEM;
		if (outlet->pending_bytes)
			memcpy(pending, outlet->pending, outlet->pending_bytes);
		K2I_SHARED_KEEP(outlet);
		k2i_shared_free(outlet->pending);
		outlet->pending = pending;
		outlet->pending_room = room;
	}
	K2I_SHARED_KEEP(outlet);
	memcpy(outlet->pending + outlet->pending_bytes, records->data, records->bytes);
	outlet->pending_bytes = needed;
	outlet->pending_continued = records->continued;
	outlet->pending_continues = records->continues;
	outlet->writer_pid = records->writer_pid;
	outlet->time_ns = records->time_ns;
	return 0;
}

static void account_next(struct k2i_mount *mount, const struct k2i_outlet *outlet, size_t bytes)
{
	struct k2i_node_entry *entry = k2i_node_at(mount->nodes, outlet->node);
	uint64_t most;

	if (!entry)
		return;
	/* No write(2) comes over the end of off_t; here the kernel would not believe in the file any more. */
	most = INT64_MAX - entry->size;
	/* The size of a file that is written through the cache is its watermark. */
	k2i_node_grow(entry, entry->cached ? 0 : entry->size + (bytes < most ? bytes : most));
}

static int append_output(struct k2i_mount *mount, struct k2i_outlet *outlet, const char *data, size_t bytes)
{
	int status = 0;

	if (outlet->output_missing)
		status = k2i_output_get(mount, outlet->match, outlet->path, &outlet->output);
	outlet->output_missing = status != 0;
	if (status == 0 && outlet->output)
		status = k2i_output_append(outlet->output, data, bytes);
	if (status == 0)
		return 0;
	k2i_mount_count(&mount->counts.output_errors, 1);
	k2i_log_limited(&mount->output_limit, k2i_mount_clock_ns(), K2HFT_LOG_ERROR, "mount: %s: %s",
			k2i_rule_settings(outlet->match)->output_file, strerror(-status));
	return status;
}

/* Before a chunk of its stream is committed. */
static void use(struct k2i_outlet *outlet)
{
	if (outlet->used)
		return;
	K2I_SHARED_KEEP(outlet);
	outlet->used = true;
}

void k2i_outlet_copy(struct k2i_mount *mount, struct k2i_outlet *outlet, const char *data, size_t bytes)
{
	use(outlet);
	(void)append_output(mount, outlet, data, bytes);
}

static uint64_t records_of(const struct k2i_mount *mount, const char *data, size_t bytes)
{
	return mount->settings->binary ? 1 : k2i_text_records(data, bytes);
}

/* What a file behind a stream has no memory for. */
static void lose(struct k2i_mount *mount, const struct k2i_outlet *outlet, const char *data, size_t bytes)
{
	k2i_mount_count(&mount->counts.lost_records, records_of(mount, data, bytes));
	k2i_log_limited(&mount->lost_limit, k2i_mount_clock_ns(), K2HFT_LOG_ERROR,
			"mount: no memory: records that %s gets from another file are lost", outlet->path);
}

static int hand_on(struct k2i_mount *mount, struct k2i_outlet *outlet, const struct k2i_records *records, size_t *taken)
{
	int status;

	if (outlet->next) {
		status = k2i_outlet_take(mount, outlet->next, records, taken);
		account_next(mount, outlet->next, *taken);
	} else {
		status = append_output(mount, outlet, records->data, records->bytes);
		*taken = status ? 0 : records->bytes;
	}
	return status;
}

/* Records that the rule has passed; as k2i_outlet_take. */
static int deliver(struct k2i_mount *mount, struct k2i_outlet *outlet, const struct k2i_records *records, size_t *taken)
{
	int status = outlet->transfer ? add_pending(outlet, records) : 0;

	*taken = 0;
	if (status || records->bytes == 0)
		return status;
	status = hand_on(mount, outlet, records, taken);
	if (status == 0 || !outlet->transfer)
		return status;
	/* A stream has them: what fails behind it is no reason to have the writer write them again. */
	if (status == -ENOMEM && outlet->next)
		lose(mount, outlet->next, records->data + *taken, records->bytes - *taken);
	*taken = records->bytes;
	return 0;
}

/* A replacement of a record whose first piece was judged: it stands for the whole record, so it gets the line end. */
static int deliver_replaced(struct k2i_mount *mount, struct k2i_outlet *outlet, const struct k2i_records *replaced,
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
	status = deliver(mount, outlet, &whole, taken);
	free(text);
	return status;
}

/* What a rule has done to records. Those that are not taken are judged again when their writer tries again. */
static void count_judged(struct k2i_mount *mount, const struct k2i_outlet *outlet, const struct k2i_rule_counts *counts)
{
	k2i_mount_count(&mount->counts.slow_patterns, counts->slow);
	if (counts->filtered)
		k2i_log_limited(&mount->filter_limit, k2i_mount_clock_ns(), K2HFT_LOG_INFO,
				"mount: %s: %llu records that its rule does not let pass", outlet->path,
				(unsigned long long)counts->filtered);
	k2i_mount_count(&mount->counts.filtered_records, counts->filtered);
	k2i_mount_count(&mount->counts.replaced_records, counts->replaced);
}

/* Whole records, or the first piece of one, through the rule. */
static int judge(struct k2i_mount *mount, struct k2i_outlet *outlet, const struct k2i_records *records, size_t *taken)
{
	struct k2i_records passed = *records;
	struct k2i_rule_counts counts = {0};
	struct k2i_rule_output output;
	size_t delivered;
	int verdict, status = 0;

	*taken = 0;
	k2i_rule_begin(outlet->scratch, records->data, records->bytes);
	verdict = k2i_rule_next(outlet->scratch, &output);
	if (verdict >= 0) {
		K2I_SHARED_KEEP(outlet);
		outlet->rest_dropped = records->continues && (verdict == 0 || output.replaced);
	}
	for (; verdict > 0 && status == 0; verdict = status ? status : k2i_rule_next(outlet->scratch, &output)) {
		passed.data = output.data;
		passed.bytes = output.bytes;
		status = outlet->rest_dropped ? deliver_replaced(mount, outlet, &passed, &delivered)
					      : deliver(mount, outlet, &passed, &delivered);
		if (delivered == 0)
			continue;
		*taken = output.end - (status ? passed.bytes - delivered : 0);
		counts = k2i_rule_counts(outlet->scratch);
	}
	if (verdict == 0) {
		*taken = records->bytes;
		counts = k2i_rule_counts(outlet->scratch);
	}
	count_judged(mount, outlet, &counts);
	return verdict;
}

int k2i_outlet_sift(struct k2i_mount *mount, struct k2i_outlet *outlet, char *records, size_t *bytes)
{
	struct k2i_rule_output output;
	struct k2i_rule_counts counts;
	size_t passed = 0;
	int verdict;

	if (outlet->passes_all)
		return 0;
	k2i_rule_begin(outlet->scratch, records, *bytes);
	while ((verdict = k2i_rule_next(outlet->scratch, &output)) > 0) {
		if (output.data != records + passed)
			memmove(records + passed, output.data, output.bytes);
		passed += output.bytes;
	}
	*bytes = passed;
	counts = k2i_rule_counts(outlet->scratch);
	if (verdict == 0)
		count_judged(mount, outlet, &counts);
	return verdict;
}

int k2i_outlet_take(struct k2i_mount *mount, struct k2i_outlet *outlet, const struct k2i_records *records,
		    size_t *taken)
{
	*taken = records->bytes;
	if (records->continued)
		return outlet->rest_dropped ? 0 : deliver(mount, outlet, records, taken);
	if (!outlet->passes_all)
		return judge(mount, outlet, records, taken);
	if (outlet->rest_dropped) {
		K2I_SHARED_KEEP(outlet);
		outlet->rest_dropped = false;
	}
	return deliver(mount, outlet, records, taken);
}

static void owe_end(struct k2i_mount *mount, struct k2i_outlet *outlet)
{
	if (!outlet->owes_end) {
		K2I_SHARED_KEEP(&mount->owing_first);
		outlet->owing_next = mount->owing_first;
		mount->owing_first = outlet;
	}
	outlet->owes_end = true;
	outlet->owing_pid = outlet->writer_pid;
}

static void drop_pending(struct k2i_mount *mount, struct k2i_outlet *outlet)
{
	const char *data = outlet->pending + outlet->pending_from;
	size_t bytes = outlet->pending_bytes - outlet->pending_from;
	uint64_t records = records_of(mount, data, bytes);

	K2I_SHARED_KEEP(outlet);
	outlet->rest_dropped = outlet->pending_continues;
	if (outlet->pending_continued && !mount->settings->binary)
		owe_end(mount, outlet);
	outlet->pending_bytes = outlet->pending_from = 0;
	/* Other records take the place of these. */
	k2i_shared_step();
	k2i_ring_count(mount->ring, K2I_RING_dropped_records, records);
	k2i_log_limited(&mount->full_limit, k2i_mount_clock_ns(), K2HFT_LOG_ERROR,
			"mount: the ring is full: %llu records were dropped", (unsigned long long)records);
}

void k2i_outlet_count_piece(struct k2i_mount *mount, const struct k2i_outlet *outlet)
{
	k2i_mount_count(&mount->counts.pieces, 1);
	k2i_log_limited(&mount->piece_limit, k2i_mount_clock_ns(), K2HFT_LOG_INFO,
			"mount: a record of %s goes in pieces: it is over LINEMAX (%zu bytes), or fsync(2) came in the "
			"middle of it",
			outlet->path, mount->limits.piece_bytes_max);
}

/* One chunk of what is pending. */
static int push_one(struct k2i_mount *mount, struct k2i_outlet *outlet)
{
	const char *data = outlet->pending + outlet->pending_from;
	size_t bytes = outlet->pending_bytes - outlet->pending_from, count = bytes;
	bool binary = mount->settings->binary, cut = false;
	struct k2hft_chunk chunk = {
		.stream_id = outlet->stream_id,
		.time_ns = outlet->time_ns,
		.writer_pid = outlet->writer_pid,
	};
	void *payload;
	int status;

	if (!binary) {
		count = k2i_text_chunk(data, bytes, mount->chunk_bytes_max, mount->limits.piece_bytes_max, &cut);
	} else if (bytes > mount->chunk_bytes_max) {
		count = mount->chunk_bytes_max;
		cut = true;
	}
	if (cut || (count == bytes && outlet->pending_continues))
		chunk.flags |= K2HFT_CHUNK_CONTINUES;
	if (outlet->pending_continued)
		chunk.flags |= K2HFT_CHUNK_CONTINUED;
	status = k2hft_producer_reserve(mount->producer, count, &payload);
	if (status)
		return status;
	/* Not sooner: while the ring is full, every request that is served comes by here. */
	chunk.record_count = binary ? 1 : k2i_text_records(data, count);
	memcpy(payload, data, count);
	use(outlet);
	K2I_SHARED_KEEP(outlet);
	outlet->pending_from += count;
	outlet->pending_continued = cut;
	if (cut)
		k2i_outlet_count_piece(mount, outlet);
	status = k2i_shared_commit(mount->producer, &chunk, 0, count, false);
	if (status) {
		outlet->pending_from -= count;
		(void)k2hft_producer_discard(mount->producer);
	}
	return status;
}

static int push_end(struct k2i_mount *mount, struct k2i_outlet *outlet)
{
	struct k2hft_chunk chunk = {
		.stream_id = outlet->stream_id,
		.record_count = 1,
		.time_ns = outlet->time_ns,
		.writer_pid = outlet->owing_pid,
		.flags = K2HFT_CHUNK_CONTINUED,
	};
	void *payload;
	int status = k2hft_producer_reserve(mount->producer, 1, &payload);

	if (status)
		return status;
	memcpy(payload, "\n", 1);
	use(outlet);
	K2I_SHARED_KEEP(outlet);
	outlet->owes_end = false;
	status = k2i_shared_commit(mount->producer, &chunk, 0, 1, false);
	if (status) {
		outlet->owes_end = true;
		(void)k2hft_producer_discard(mount->producer);
	}
	return status;
}

int k2i_outlet_pay(struct k2i_mount *mount)
{
	int status = 0;

	while (mount->owing_first && status == 0) {
		/* A worker can have died between the one and the other. */
		if (mount->owing_first->owes_end)
			status = push_end(mount, mount->owing_first);
		if (status == 0)
			take_owing(mount);
	}
	return status;
}

static void forget_pending(struct k2i_outlet *outlet)
{
	K2I_SHARED_KEEP(outlet);
	outlet->pending_bytes = outlet->pending_from = 0;
	outlet->pending_continued = outlet->pending_continues = false;
	if (outlet->pending_room > PENDING_ROOM_KEPT) {
		k2i_shared_free(outlet->pending);
		outlet->pending = NULL;
		outlet->pending_room = 0;
	}
}

int k2i_outlet_push(struct k2i_mount *mount, struct k2i_outlet *outlet)
{
	for (; outlet; outlet = outlet->next) {
		while (outlet->pending_from < outlet->pending_bytes) {
			int status = k2i_outlet_pay(mount);

			if (status == 0)
				status = push_one(mount, outlet);
			if (status == -EAGAIN && mount->settings->full == K2HFT_FULL_DROP)
				drop_pending(mount, outlet);
			else if (status)
				return status;
		}
		if (outlet->pending_bytes)
			forget_pending(outlet);
	}
	return 0;
}

uint64_t k2i_outlet_forget_pending(struct k2i_mount *mount, struct k2i_outlet *outlet)
{
	uint64_t records = 0;

	for (; outlet; outlet = outlet->next) {
		if (outlet->pending_from < outlet->pending_bytes)
			records += records_of(mount, outlet->pending + outlet->pending_from,
					      outlet->pending_bytes - outlet->pending_from);
		forget_pending(outlet);
	}
	return records;
}

bool k2i_outlet_flagged(const struct k2i_outlet *outlet)
{
	for (; outlet; outlet = outlet->next) {
		if (outlet->pending_bytes && (outlet->pending_continued || outlet->pending_continues))
			return true;
	}
	return false;
}

size_t k2i_outlet_pending(const struct k2i_outlet *outlet)
{
	size_t bytes = 0;

	for (; outlet; outlet = outlet->next)
		bytes += outlet->pending_bytes - outlet->pending_from;
	return bytes;
}
