/* SPDX-License-Identifier: MIT */
/* Writes that wait in vain: their answers, and whether they count as refused or as lost. */
#include "unit.h"
#include "mounted_help.h"

#include <errno.h>

#include "fuse/intake/advance.h"
#include "uncached_help.h"

#define LINES "a1\na2\n"

/* Data that waits, as if the first `taken` bytes had been sent. */
static void queue_text(struct mounted *mounted, uint64_t unique, bool cached, size_t taken, const char *text)
{
	const struct k2i_queued item = {
		.kind = K2I_QUEUED_WRITE,
		.unique = unique,
		.handle = mounted->handle,
		.cached = cached,
		.bytes = strlen(text),
		.taken = taken,
	};

	mounted->handle->route->passes_all = true;
	assert_int_equal(k2i_queue_add(&mounted->mount, &item, text), 0);
}

static void queue_lines(struct mounted *mounted, uint64_t unique, bool cached, size_t taken)
{
	queue_text(mounted, unique, cached, taken, LINES);
}

/* The chunks that are in the ring since it was looked into, each in brackets, "<" continued, ">" continues. */
static void assert_chunks(const struct mounted *mounted, const char *wanted)
{
	struct k2hft_chunk_view view;
	struct k2hft_span span;
	size_t offset = 0, at = 0;
	char found[512] = "";

	if (k2hft_ring_read(mounted->mount.lanes.lane[0].ring, SIZE_MAX, 0, &span, NULL) > 0) {
		while (k2hft_chunk_next(span.data, span.bytes, span.position, &offset, &view) == 1)
			at += (size_t)snprintf(found + at, sizeof(found) - at, "[%s%.*s%s]",
					       view.chunk.flags & K2HFT_CHUNK_CONTINUED ? "<" : "",
					       (int)view.payload_bytes, (const char *)view.payload,
					       view.chunk.flags & K2HFT_CHUNK_CONTINUES ? ">" : "");
	}
	assert_string_equal(found, wanted);
}

static void fill(const struct mounted *mounted)
{
	while (push(mounted->mount.lanes.lane[0].producer, mounted->handle->route->streams->id, "\n") == 0)
		continue;
}

/* It has written less than it wanted, and comes again with the rest. */
MOUNTED_TEST(who_is_interrupted_is_told_what_was_taken)
{
	queue_lines(mounted, 1, false, 3);
	k2i_queue_interrupt(&mounted->mount, 1);
	assert_int_equal(answer_of(mounted, 1), 3);
	assert_int_equal(mounted->mount.counts.refused_writes, 0);
	queue_lines(mounted, 2, false, 0);
	k2i_queue_interrupt(&mounted->mount, 2);
	assert_int_equal(answer_of(mounted, 2), -EINTR);
	assert_int_equal(mounted->mount.counts.refused_writes, 1);
	k2i_queue_run(&mounted->mount);
	assert_sent(mounted, "");
}

/* Its write(2) returned long ago: it is sent, whoever does not wait for the kernel's request any more. */
MOUNTED_TEST(what_the_page_cache_gave_is_sent)
{
	queue_lines(mounted, 1, true, 0);
	k2i_queue_interrupt(&mounted->mount, 1);
	assert_int_equal(answer_of(mounted, 1), -EINTR);
	assert_int_equal(mounted->mount.counts.refused_writes, 0);
	k2i_queue_run(&mounted->mount);
	assert_sent(mounted, LINES);
	queue_lines(mounted, 2, true, 0);
	queue_lines(mounted, 3, false, 0);
	/* Neither comes again. */
	k2i_queue_resume_begin(&mounted->mount);
	k2i_queue_resume_end(&mounted->mount);
	k2i_queue_run(&mounted->mount);
	assert_sent(mounted, LINES);
}

/* A writer who is told of it has lost nothing. */
MOUNTED_TEST(what_has_no_memory_is_lost_if_it_was_accepted)
{
	for (int cached = 0; cached < 2; cached++) {
		queue_lines(mounted, 1, cached, 0);
		no_memory = true;
		k2i_queue_run(&mounted->mount);
		no_memory = false;
		assert_int_equal(answer_of(mounted, 1), -ENOMEM);
		assert_int_equal(mounted->mount.counts.lost_records, cached ? 2 : 0);
		assert_int_equal(mounted->mount.counts.refused_writes, 1);
	}
	/* A process that asks is told, once. */
	k2i_request_sync(&mounted->mount, 2, mounted->handle->number);
	assert_int_equal(answer_of(mounted, 2), -ENOMEM);
	k2i_request_sync(&mounted->mount, 3, mounted->handle->number);
	assert_int_equal(answer_of(mounted, 3), 0);
}

/* The mount ends: what was taken of them is lost, and so is a line that waits for its end; who was not told is refused. */
MOUNTED_TEST(what_was_accepted_is_lost_with_the_mount)
{
	for (unsigned held = 0; held < 2; held++) {
		mounted_anew(mounted);
		mounted->handle->route->passes_all = true;
		if (held)
			assert_int_equal(write_text(mounted, "a1"), 2);
		fill(mounted);
		if (!held) {
			queue_lines(mounted, 1000, false, 0);
			queue_lines(mounted, 1001, false, 0);
		}
		k2i_write_release(&mounted->mount, mounted->handle);
		assert_false(k2i_queue_is_empty(&mounted->mount));
		k2i_queue_abandon(&mounted->mount, -ECONNABORTED);
		if (!held) {
			assert_int_equal(answer_of(mounted, 1000), sizeof(LINES) - 1);
			assert_int_equal(answer_of(mounted, 1001), -ECONNABORTED);
		}
		assert_int_equal(mounted->mount.counts.lost_records, held ? 1 : 2);
		assert_int_equal(mounted->mount.handles->open_count, 0);
	}
}

/* A piece stands alone in its chunk, or its neighbours would be taken for more of it. */
MOUNTED_TEST(pieces_of_a_record_have_chunks_of_their_own)
{
	mounted->mount.line_limits->piece_bytes_max = 4;
	queue_text(mounted, 0, true, 0, "a1\nlong line\nb1\nb2\nlong");
	queue_text(mounted, 0, true, 0, " line\nc1\n");
	k2i_queue_run(&mounted->mount);
	assert_chunks(mounted, "[a1\n][long>][< lin>][<e\n][b1\nb2\n][long>][< lin>][<e\n][c1\n]");
	assert_int_equal(mounted->mount.counts.pieces, 4);
}

/* Where the write found it, so that it can be done again. */
MOUNTED_TEST(the_begin_of_a_record_stays_if_its_end_fails)
{
	for (int continued = 0; continued < 2; continued++) {
		mounted_anew(mounted);
		mounted->handle->route->passes_all = true;
		assert_int_equal(write_text(mounted, "a"), 1);
		mounted->handle->line.continued = continued;
		queue_text(mounted, 1000, false, 0, "1\n");
		no_memory = true;
		k2i_queue_run(&mounted->mount);
		no_memory = false;
		assert_int_equal(answer_of(mounted, 1000), -ENOMEM);
		assert_int_equal(write_text(mounted, "1\na2\n"), 5);
		assert_chunks(mounted, continued ? "[<a1\na2\n]" : "[a1\na2\n]");
	}
}

/* A claim that was made for it is given back, or the next one would find none. */
MOUNTED_TEST(what_fails_in_its_claim_leaves_none)
{
	mounted->handle->route->passes_all = true;
	no_memory = true;
	assert_int_equal(write_text(mounted, "a1\nrest"), -ENOMEM);
	no_memory = false;
	assert_int_equal(write_text(mounted, "a2\n"), 3);
	assert_chunks(mounted, "[a2\n]");
}

/* With what is held in front it is longer than what the claim has room for. */
MOUNTED_TEST(what_does_not_fit_into_its_claim_goes_elsewhere)
{
	struct k2i_write write = {.unique = 1000, .bytes = 2, .claim_bytes = 72, .answer_bytes = 2};
	char begin_of_line[201], line[260];
	void *claim;

	mounted->handle->route->passes_all = true;
	(void)snprintf(begin_of_line, sizeof(begin_of_line), "%0200d", 0);
	assert_int_equal(write_text(mounted, begin_of_line), 200);
	assert_int_equal(k2hft_producer_reserve(mounted->mount.lanes.lane[0].producer, write.claim_bytes, &claim), 0);
	write.handle = mounted->handle->number;
	write.claim = claim;
	write.data = memcpy(write.claim + 64, "1\n", 2);
	k2i_request_write(&mounted->mount, &write);
	assert_int_equal(answer_of(mounted, 1000), 2);
	(void)snprintf(line, sizeof(line), "[%s1\n]", begin_of_line);
	assert_chunks(mounted, line);
}

/* LINEMAX is for a line with its end; BYTELIMIT leaves out what is longer, wherever it stands. */
MOUNTED_TEST(limits_are_for_what_is_held_too)
{
	mounted->handle->route->passes_all = true;
	mounted->mount.line_limits->piece_bytes_max = 8;
	assert_int_equal(write_text(mounted, "long"), 4);
	assert_int_equal(write_text(mounted, "line\n"), 5);
	assert_int_equal(write_text(mounted, "long"), 4);
	assert_int_equal(write_text(mounted, "lin\n"), 4);
	assert_chunks(mounted, "[longline>][<\n][longlin\n]");
	*mounted->mount.line_limits = (struct k2i_line_limits){4096, 4, UINT64_MAX};
	assert_int_equal(write_text(mounted, "a1\nlong\na2\n"), 11);
	assert_chunks(mounted, "[a1\na2\n]");
	assert_int_equal(mounted->mount.counts.long_records, 1);
}
