/* SPDX-License-Identifier: MIT */
/*
 * Records that are pending while the ring is full, and when there is room again; counts of judged records; errors that
 * a writer gets for failed ones.
 */
#include "unit.h"
#include "mounted_help.h"

#include "fuse/intake/advance.h"
#include "fuse/intake/record_route.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "fuse/tree/nodes.h"
#include "unpulled_help.h"

#define PENDING_BYTES 4096u
#define LINE "0123456"
#define LINES (PENDING_BYTES / sizeof(LINE))

struct place {
	struct k2i_settings settings;
	struct k2i_mount mount;
	struct k2i_mount_parts parts;
	struct k2i_route route;
	struct k2i_route_stream stream;
};

/* The pages of the kernel's cache are to be taken first. */
static k2i_pull_then *pulled;
static void *pulled_argument;

void k2i_pull_before(struct k2i_mount *mount, uint32_t node, k2i_pull_then *then, void *argument)
{
	(void)mount;
	(void)node;
	pulled = then;
	pulled_argument = argument;
}

static void fill(const struct k2i_mount *mount, uint32_t stream_id)
{
	struct k2hft_chunk chunk = chunk_of(stream_id);
	static char filling[PENDING_BYTES / 2];
	int status;

	do
		status = k2hft_producer_push(mount->lanes.lane[0].producer, &chunk, filling, sizeof(filling));
	while (status == 0);
	assert_int_equal(status, -EAGAIN);
	while (push(mount->lanes.lane[0].producer, stream_id, "\n") == 0)
		continue;
}

/* `pending` in a page of its own. */
static int place_make(void **state)
{
	struct place *place = calloc(1, sizeof(*place));
	char *page = mmap(NULL, PENDING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(place && page != MAP_FAILED);
	for (size_t at = 0; at < PENDING_BYTES; at += sizeof(LINE))
		memcpy(page + at, LINE "\n", sizeof(LINE));
	*state = place;
	k2i_mount_parts_join(&place->mount, &place->parts);
	place->mount.settings = &place->settings;
	place->mount.lanes.lane[0].ring = memory_ring();
	place->mount.lanes.lane[0].producer = producer_of(place->mount.lanes.lane[0].ring);
	place->mount.lanes.chunk_bytes_max = place->mount.line_limits->piece_bytes_max = PENDING_BYTES;
	place->route.transfer = place->route.passes_all = true;
	place->mount.lanes.count = place->mount.lanes.takers = 1;
	place->mount.lanes.claimed = &place->mount.lanes.lane[0];
	place->stream = (struct k2i_route_stream){.route = &place->route, .lane = &place->mount.lanes.lane[0]};
	place->route.streams = &place->stream;
	place->route.stream_count = place->route.copies = 1;
	place->route.streams->id = stream_of(place->mount.lanes.lane[0].ring, "file");
	place->route.pending = page;
	place->route.pending_bytes = place->route.pending_room = PENDING_BYTES;
	return 0;
}

static int place_end(void **state)
{
	struct place *place = *state;

	assert_int_equal(munmap(place->route.pending, PENDING_BYTES), 0);
	k2hft_producer_close(place->mount.lanes.lane[0].producer);
	k2hft_ring_close(place->mount.lanes.lane[0].ring);
	free(place);
	return 0;
}

#define CASE(name) FIXTURE_TEST(name, struct place *place, place_make, place_end)

/* It is tried with every request that is served meanwhile. */
CASE(a_full_ring_costs_no_look_at_what_is_pending)
{
	fill(&place->mount, place->route.streams->id);
	assert_int_equal(mprotect(place->route.pending, PENDING_BYTES, PROT_NONE), 0);
	assert_int_equal(k2i_route_push(&place->mount, &place->route), -EAGAIN);
	place->settings.binary = true;
	assert_int_equal(k2i_route_push(&place->mount, &place->route), -EAGAIN);
	assert_int_equal(k2i_route_pending(&place->route), PENDING_BYTES);
}

CASE(what_is_pending_goes_with_its_number_of_records)
{
	struct k2hft_chunk_view view;
	struct k2hft_span span;
	size_t offset = 0;

	assert_int_equal(k2i_route_push(&place->mount, &place->route), 0);
	assert_int_equal(k2i_route_pending(&place->route), 0);
	assert_int_equal(k2hft_ring_read(place->mount.lanes.lane[0].ring, SIZE_MAX, 0, &span, NULL), 1);
	assert_int_equal(k2hft_chunk_next(span.data, span.bytes, span.position, &offset, &view), 1);
	assert_int_equal(view.payload_bytes, PENDING_BYTES);
	assert_memory_equal(view.payload, place->route.pending, PENDING_BYTES);
	assert_int_equal(view.chunk.record_count, LINES);
}

/* Takes the next chunk out of the ring. */
static void assert_next(struct k2hft_ring *ring, uint16_t flags, const char *text)
{
	struct k2hft_chunk_view view;
	struct k2hft_span span;
	size_t offset = 0;

	assert_int_equal(k2hft_ring_read(ring, 1, 1, &span, NULL), 1);
	assert_int_equal(k2hft_chunk_next(span.data, span.bytes, span.position, &offset, &view), 1);
	assert_int_equal(view.chunk.flags, flags);
	if (text) {
		assert_int_equal(view.chunk.writer_pid, flags ? 5 : 1);
		assert_int_equal(view.payload_bytes, strlen(text));
		assert_memory_equal(view.payload, text, view.payload_bytes);
	}
	assert_int_equal(k2hft_ring_release(ring, span.position + span.bytes), 0);
}

/* A line's begin is out when the ring is full: it ends there, and the next line is its own. */
CASE(a_dropped_rest_ends_its_line)
{
	struct k2hft_ring_stats stats;

	place->settings.full = K2HFT_FULL_DROP;
	place->route.pending_continues = true;
	assert_int_equal(k2i_route_push(&place->mount, &place->route), 0);
	fill(&place->mount, place->route.streams->id);
	stats = stats_of(place->mount.lanes.lane[0].ring);
	for (int i = 0; i < 2; i++) {
		place->route.pending_bytes = PENDING_BYTES;
		place->route.pending_continued = i == 0;
		place->route.writer_pid = i == 0 ? 5 : 1;
		assert_int_equal(k2i_route_push(&place->mount, &place->route), 0);
	}
	assert_int_equal(stats_of(place->mount.lanes.lane[0].ring).dropped_records - stats.dropped_records, 2 * LINES);
	assert_next(place->mount.lanes.lane[0].ring, K2HFT_CHUNK_CONTINUES, NULL);
	while (stats_of(place->mount.lanes.lane[0].ring).acked < stats.tail)
		assert_next(place->mount.lanes.lane[0].ring, 0, NULL);
	place->route.pending_bytes = sizeof(LINE);
	assert_int_equal(k2i_route_push(&place->mount, &place->route), 0);
	assert_next(place->mount.lanes.lane[0].ring, K2HFT_CHUNK_CONTINUED, "\n");
	assert_next(place->mount.lanes.lane[0].ring, 0, LINE "\n");
}

/* In blocks it would be a changed byte. */
CASE(a_dropped_rest_of_a_block_has_no_line_end)
{
	place->settings = (struct k2i_settings){.full = K2HFT_FULL_DROP, .binary = true};
	place->mount.lanes.chunk_bytes_max = PENDING_BYTES / 2;
	assert_int_equal(k2i_route_push(&place->mount, &place->route), 0);
	assert_int_equal(place->mount.counts.pieces, 1);
	fill(&place->mount, place->route.streams->id);
	place->route.pending_bytes = PENDING_BYTES;
	place->route.pending_continued = true;
	assert_int_equal(k2i_route_push(&place->mount, &place->route), 0);
	assert_int_equal(place->mount.routes->listed, 0);
}

/* The linker sends calls here: the one after so many fails; -1: none. */
static int matches_before_failure = -1;

int __wrap_k2i_regex_match(const struct k2i_regex *regex, struct k2i_regex_scratch *scratch, const char *subject,
			   size_t bytes, struct k2i_regex_group *groups);
int __real_k2i_regex_match(const struct k2i_regex *regex, struct k2i_regex_scratch *scratch, const char *subject,
			   size_t bytes, struct k2i_regex_group *groups);

int __wrap_k2i_regex_match(const struct k2i_regex *regex, struct k2i_regex_scratch *scratch, const char *subject,
			   size_t bytes, struct k2i_regex_group *groups)
{
	if (matches_before_failure >= 0 && matches_before_failure-- == 0)
		return -ENOMEM;
	return __real_k2i_regex_match(regex, scratch, subject, bytes, groups);
}

#define MIXED "drop\na1\ndrop a\na2\ndrop\n"
#define PASSING "a1\na2\n"

/* A writer who gets an error tries again, so what is judged for him comes twice. */
TEST(what_failed_counts_when_it_is_tried_again)
{
	char target[] = "t", expression[] = "\"a[0-9]\"", message[512], text[sizeof(MIXED)] = MIXED;
	struct k2i_pattern pattern = {.text = expression, .place.file = "f"};
	struct k2i_rule rule = {.target = target, .allow = &pattern, .allow_count = 1, .place.file = "f"};
	struct k2i_settings settings = {.rules = &rule, .rule_count = 1};
	struct k2i_mount mount = {.settings = &settings};
	struct k2i_route route = {.path = target};
	struct k2i_rules *rules;
	size_t bytes = sizeof(MIXED) - 1;

	assert_int_equal(k2i_rules_compile(&settings, &rules, message, sizeof(message)), 0);
	route.match = k2i_rules_find(rules, "t");
	assert_int_equal(k2i_rule_scratch_create(route.match, &route.scratch), 0);
	matches_before_failure = 2;
	assert_int_equal(k2i_route_filter_in_place(&mount, &route, text, &bytes), -ENOMEM);
	assert_int_equal(matches_before_failure, -1);
	assert_int_equal(mount.counts.filtered_records, 0);
	memcpy(text, MIXED, sizeof(text));
	bytes = sizeof(MIXED) - 1;
	assert_int_equal(k2i_route_filter_in_place(&mount, &route, text, &bytes), 0);
	assert_int_equal(bytes, sizeof(PASSING) - 1);
	assert_memory_equal(text, PASSING, bytes);
	assert_int_equal(mount.counts.filtered_records, 3);
	k2i_rule_scratch_free(route.scratch);
	k2i_rules_free(rules);
}

#define BEGIN "drop\na1\ndrop a\na2\n"
#define REST "drop a\na3\ndrop\n"

/* A writer that is told how much was taken comes again with the rest only. */
MOUNTED_TEST(lines_before_one_that_fails_come_once)
{
	matches_before_failure = 4;
	assert_int_equal(write_text(mounted, BEGIN REST), sizeof(BEGIN) - 1);
	assert_int_equal(matches_before_failure, -1);
	assert_sent(mounted, "b1\nb2\n");
	assert_int_equal(mounted->mount.counts.filtered_records, 2);
	assert_int_equal(mounted->mount.counts.replaced_records, 2);
	assert_int_equal(write_text(mounted, REST), sizeof(REST) - 1);
	assert_sent(mounted, "b3\n");
	assert_int_equal(mounted->mount.counts.filtered_records, 4);
	assert_int_equal(mounted->mount.counts.replaced_records, 3);
	assert_int_equal(mounted->mount.counts.lost_records, 0);
	assert_int_equal(mounted->mount.counts.refused_writes, 0);
}

MOUNTED_TEST(nothing_is_taken_of_what_fails_at_once)
{
	matches_before_failure = 0;
	assert_int_equal(write_text(mounted, BEGIN), -ENOMEM);
	assert_sent(mounted, "");
	assert_int_equal(mounted->mount.counts.refused_writes, 1);
	assert_int_equal(write_text(mounted, BEGIN), sizeof(BEGIN) - 1);
	assert_sent(mounted, "b1\nb2\n");
	assert_int_equal(mounted->mount.counts.filtered_records, 2);
}

/* The records of a stream are not written again for another one's sake. */
MOUNTED_TEST(what_another_file_has_no_memory_for_is_counted)
{
	mounted->handle->route->passes_all = true;
	mounted->handle->route->next = route_make(mounted, "next");
	matches_before_failure = 2;
	assert_int_equal(write_text(mounted, "a1\n" REST), sizeof("a1\n" REST) - 1);
	assert_sent(mounted, "a1\n" REST "b1\n");
	assert_int_equal(mounted->mount.counts.lost_records, 3);
}

/* It is not put into the ring as it is, behind the pieces of the one before. */
MOUNTED_TEST(a_missing_newline_goes_before_the_next_line)
{
	mounted->handle->route->passes_all = true;
	list_stream(mounted);
	mounted->handle->route->streams->missing_newline = true;
	assert_int_equal(write_text(mounted, "a1\n"), sizeof("a1\n") - 1);
	assert_int_equal(write_text(mounted, "a2\n"), sizeof("a2\n") - 1);
	assert_sent(mounted, "\na1\na2\n");
	/* A worker can have died when it was sent, and was not forgotten. */
	list_stream(mounted);
	k2i_queue_run(&mounted->mount);
	assert_true(k2i_queue_is_empty(&mounted->mount));
	assert_sent(mounted, "");
}

/* Its begin is out, and the ring is full since. */
static void break_line(struct mounted *mounted)
{
	char begin_of_line[5000];

	memset(begin_of_line, 'l', sizeof(begin_of_line) - 1);
	begin_of_line[sizeof(begin_of_line) - 1] = '\0';
	mounted->settings.full = K2HFT_FULL_DROP;
	mounted->handle->route->passes_all = true;
	assert_int_equal(write_text(mounted, begin_of_line), sizeof(begin_of_line) - 1);
	fill(&mounted->mount, mounted->handle->route->streams->id);
	assert_int_equal(write_text(mounted, "\n"), 1);
}

static void take_all(struct k2hft_ring *ring)
{
	struct k2hft_span span;

	while (k2hft_ring_read(ring, SIZE_MAX, 0, &span, NULL) > 0)
		assert_int_equal(k2hft_ring_release(ring, span.position + span.bytes), 0);
}

/* The ring's next room goes to the next line of another handle, or to nobody. */
MOUNTED_TEST(a_missing_newline_outlives_its_file)
{
	static const char *const followed[] = {"a1\n", NULL};

	for (size_t way = 0; way < sizeof(followed) / sizeof(followed[0]); way++) {
		uint32_t node;

		mounted_anew(mounted);
		node = mounted->handle->node;
		break_line(mounted);
		k2i_write_release(&mounted->mount, mounted->handle);
		assert_int_equal(mounted->mount.handles->open_count, 0);
		k2i_queue_run(&mounted->mount);
		assert_false(k2i_queue_is_empty(&mounted->mount));
		k2i_routes_release_streams();
		assert_int_equal(stats_of(mounted->mount.lanes.lane[0].ring).streams, 1);
		take_all(mounted->mount.lanes.lane[0].ring);
		if (followed[way]) {
			mounted->handle = handle_make(mounted, node);
			assert_int_equal(write_text(mounted, followed[way]), strlen(followed[way]));
		} else {
			k2i_queue_run(&mounted->mount);
			k2i_routes_release_streams();
			assert_int_equal(stats_of(mounted->mount.lanes.lane[0].ring).streams, 0);
		}
		assert_true(k2i_queue_is_empty(&mounted->mount));
		assert_sent(mounted, followed[way] ? "\na1\n" : "\n");
	}
}

/* There never is room again. */
MOUNTED_TEST(a_missing_newline_ends_with_the_mount)
{
	break_line(mounted);
	k2i_write_release(&mounted->mount, mounted->handle);
}

/* Its end is paid for, so only the outlet knows that what comes is the rest of it. */
MOUNTED_TEST(the_rest_of_a_dropped_line_is_no_line)
{
	char rest[5000];

	memset(rest, 'l', sizeof(rest) - 1);
	rest[sizeof(rest) - 1] = '\0';
	mounted->settings.full = K2HFT_FULL_DROP;
	mounted->handle->route->passes_all = true;
	assert_int_equal(write_text(mounted, rest), sizeof(rest) - 1);
	fill(&mounted->mount, mounted->handle->route->streams->id);
	assert_int_equal(write_text(mounted, rest), sizeof(rest) - 1);
	take_all(mounted->mount.lanes.lane[0].ring);
	k2i_queue_run(&mounted->mount);
	assert_int_equal(write_text(mounted, "rest\n"), 5);
	assert_int_equal(write_text(mounted, "a1\n"), 3);
	assert_sent(mounted, "\na1\n");
	assert_false(mounted->handle->route->streams->rest_dropped);
}

/* An fsync(2) sends records of its file only. */
MOUNTED_TEST(a_record_is_continued_until_its_end)
{
	const struct k2i_node_owner owner = {.mode = S_IFREG | 0644};
	struct k2i_handle *first;
	uint32_t node;

	first = mounted->handle;
	first->route->passes_all = true;
	assert_int_equal(k2i_node_make(mounted->mount.nodes, K2I_NODE_ROOT, "other", &owner, &node), 0);
	mounted->handle = handle_make(mounted, node);
	assert_int_equal(write_text(mounted, "o"), 1);
	mounted->handle = first;
	assert_int_equal(write_text(mounted, "a"), 1);
	k2i_request_sync(&mounted->mount, 100, mounted->handle->number);
	assert_int_equal(write_text(mounted, "1\n"), 2);
	assert_int_equal(write_text(mounted, "a2\n"), 3);
	assert_next(mounted->mount.lanes.lane[0].ring, K2HFT_CHUNK_CONTINUES, NULL);
	assert_next(mounted->mount.lanes.lane[0].ring, K2HFT_CHUNK_CONTINUED, NULL);
	assert_next(mounted->mount.lanes.lane[0].ring, 0, NULL);
}

MOUNTED_TEST(what_makes_a_line_too_long_cuts_it)
{
	char begin_of_line[4000];

	memset(begin_of_line, 'l', sizeof(begin_of_line) - 1);
	begin_of_line[sizeof(begin_of_line) - 1] = '\0';
	mounted->handle->route->passes_all = true;
	assert_int_equal(write_text(mounted, begin_of_line), sizeof(begin_of_line) - 1);
	begin_of_line[100] = '\n';
	begin_of_line[101] = '\0';
	assert_int_equal(write_text(mounted, begin_of_line), 101);
	assert_int_equal(mounted->mount.counts.pieces, 1);
}

/* It is judged as a whole, when its end is there. */
MOUNTED_TEST(fsync_sends_no_part_of_what_is_judged)
{
	assert_int_equal(write_text(mounted, "a1"), 2);
	k2i_request_sync(&mounted->mount, 100, mounted->handle->number);
	assert_int_equal(answer_of(mounted, 100), 0);
	assert_sent(mounted, "");
	assert_int_equal(write_text(mounted, "\n"), 1);
	assert_sent(mounted, "b1\n");
	mounted->mount.ending = true;
	assert_int_equal(write_text(mounted, "a2\n"), -ECONNABORTED);
}

/* As of a log that was renamed: what its writer left comes before what the next one writes to the same stream. */
MOUNTED_TEST(what_was_left_in_a_stream_ends_whatever_its_file_is)
{
	const struct k2i_node_owner owner = {.mode = S_IFREG | 0644};
	uint32_t node;

	mounted->handle->route->passes_all = true;
	assert_int_equal(write_text(mounted, "a1"), 2);
	k2i_handle_flushed(&mounted->mount, mounted->handle);
	assert_int_equal(k2i_node_make(mounted->mount.nodes, K2I_NODE_ROOT, "new", &owner, &node), 0);
	mounted->handle = handle_make(mounted, node);
	assert_int_equal(write_text(mounted, "a2\n"), 3);
	assert_sent(mounted, "a1a2\n");
}

static void assert_unanswered(const struct mounted *mounted)
{
	char byte;

	assert_int_equal(recv(mounted->device, &byte, sizeof(byte), MSG_DONTWAIT), -1);
}

/* The end of the ring that it saw is one no more. */
MOUNTED_TEST(fsync_waits_for_no_claim_that_is_given_back)
{
	struct k2hft_producer *other;
	void *claim;

	mounted->handle->route->passes_all = true;
	assert_int_equal(write_text(mounted, "a1\n"), 3);
	other = producer_of(mounted->mount.lanes.lane[0].ring);
	assert_int_equal(k2hft_producer_reserve(other, 1000, &claim), 0);
	k2i_request_sync(&mounted->mount, 100, mounted->handle->number);
	assert_int_equal(k2hft_producer_discard(other), 0);
	k2i_queue_run(&mounted->mount);
	assert_unanswered(mounted);
	take_all(mounted->mount.lanes.lane[0].ring);
	k2i_queue_run(&mounted->mount);
	assert_int_equal(answer_of(mounted, 100), 0);
	k2hft_producer_close(other);
}

/*
 * A successor: nothing goes on or is answered before the kernel has sent it again, whatever room there is; who has gone
 * meanwhile has written nothing.
 */
MOUNTED_TEST(what_waited_for_a_worker_that_died_goes_on)
{
	struct k2i_mount *mount = &mounted->mount;

	mounted->handle->route->passes_all = true;
	assert_int_equal(write_text(mounted, "a0\n"), 3);
	k2i_request_sync(mount, 100, mounted->handle->number);
	fill(mount, mounted->handle->route->streams->id);
	request(mounted, 101, "a1\n");
	request(mounted, 102, "a2\n");
	request(mounted, 103, "a3\n");
	take_all(mount->lanes.lane[0].ring);
	k2i_queue_resume_begin(mount);
	k2i_queue_run(mount);
	for (uint64_t unique = 100; unique < 104; unique++)
		k2i_request_interrupt(mount, unique);
	request(mounted, 104, "a4\n");
	assert_unanswered(mounted);
	for (uint64_t unique = 100; unique < 103; unique++)
		assert_true(k2i_queue_resent(mount, unique | K2I_UNIQUE_RESENT));
	assert_false(k2i_queue_resent(mount, 105 | K2I_UNIQUE_RESENT));
	k2i_request_interrupt(mount, 102 | K2I_UNIQUE_RESENT);
	assert_int_equal(answer_of(mounted, 102 | K2I_UNIQUE_RESENT), -EINTR);
	k2i_queue_resume_end(mount);
	k2i_queue_run(mount);
	assert_int_equal(answer_of(mounted, 101 | K2I_UNIQUE_RESENT), 3);
	assert_int_equal(answer_of(mounted, 104), 3);
	assert_int_equal(answer_of(mounted, 100 | K2I_UNIQUE_RESENT), 0);
	assert_unanswered(mounted);
	assert_sent(mounted, "a1\na4\n");
}

/* It is held as before, and its end comes. */
MOUNTED_TEST(what_fsync_has_no_memory_for_is_not_lost)
{
	mounted->handle->route->passes_all = true;
	assert_int_equal(write_text(mounted, "a1"), 2);
	no_memory = true;
	k2i_request_sync(&mounted->mount, 100, mounted->handle->number);
	no_memory = false;
	assert_int_equal(answer_of(mounted, 100), -ENOMEM);
	assert_int_equal(mounted->mount.counts.lost_records, 0);
	assert_int_equal(write_text(mounted, "\n"), 1);
	assert_sent(mounted, "a1\n");
}

/* The next writer is told, and the record that was left without its end comes before his in the end. */
MOUNTED_TEST(what_cannot_be_ended_for_another_writer_is_not_lost)
{
	struct k2i_handle *closed;

	closed = mounted->handle;
	closed->route->passes_all = true;
	assert_int_equal(write_text(mounted, "a1"), 2);
	k2i_handle_flushed(&mounted->mount, closed);
	mounted->handle = handle_make(mounted, closed->node);
	no_memory = true;
	assert_int_equal(write_text(mounted, "a2\n"), -ENOMEM);
	no_memory = false;
	assert_int_equal(mounted->mount.counts.lost_records, 0);
	assert_sent(mounted, "");
	assert_int_equal(write_text(mounted, "a2\n"), 3);
	assert_sent(mounted, "a1a2\n");
	/* Nobody is there to be told any more. */
	assert_int_equal(write_text(mounted, "a3"), 2);
	no_memory = true;
	k2i_write_release(&mounted->mount, mounted->handle);
	no_memory = false;
	assert_int_equal(mounted->mount.counts.lost_records, 1);
}

/* The kernel says so once, and nobody can end a writer who waits in the park then. */
MOUNTED_TEST(a_write_that_waits_for_the_page_cache_is_interrupted)
{
	struct k2i_cached_file file = {.next = NULL};

	mounted->handle->route->passes_all = true;
	k2i_node_at(mounted->mount.nodes, mounted->handle->node)->cached = &file;
	request(mounted, 1, "a1\n");
	k2i_request_interrupt(&mounted->mount, 2);
	pulled(&mounted->mount, pulled_argument);
	assert_int_equal(answer_of(mounted, 1), sizeof("a1\n") - 1);
	assert_sent(mounted, "a1\n");
	request(mounted, 3, "a2\n");
	k2i_request_interrupt(&mounted->mount, 3);
	pulled(&mounted->mount, pulled_argument);
	assert_int_equal(answer_of(mounted, 3), -EINTR);
	assert_sent(mounted, "");
}

/* The mount ends with a full ring: of a write out of the page cache all was taken, a line is pending and one has only begun. */
MOUNTED_TEST(what_was_taken_is_counted_when_there_is_no_room_in_the_end)
{
	const struct k2i_write write = {.unique = 1, .data = "a1\na2", .bytes = 5, .answer_bytes = 5};

	mounted->handle->route->passes_all = true;
	fill(&mounted->mount, mounted->handle->route->streams->id);
	k2i_write_take(&mounted->mount, &write, mounted->handle, true);
	k2i_write_end_all(&mounted->mount);
	k2i_queue_abandon(&mounted->mount, -ECONNABORTED);
	assert_int_equal(mounted->mount.counts.lost_records, 2);
}
