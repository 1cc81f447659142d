/* SPDX-License-Identifier: MIT */
/* When the sweeper gets orders, and who waits for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "fuse/cached/writeback_pull.h"
#include "fuse/keeper/parts.h"
#include "fuse/cached/cache_drop.h"
#include "fuse/cached/cache_dropper.h"
#include "fuse/tree/nodes.h"

#define MIB (UINT64_C(1) << 20)
#define SECOND_NS UINT64_C(1000000000)

struct place {
	struct k2i_mount mount;
	struct k2i_mount_parts parts;
	uint32_t node, other;
	struct k2i_cached_file cached;
	struct k2i_cache_drop_order order; /* the last one */
};

static uint64_t now_ns;
static unsigned answers;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	(void)clock;
	*now = k2i_timespec(now_ns);
	return 0;
}

/* libfuse's, which knows no request of a test. */
int fuse_reply_err(fuse_req_t req, int error)
{
	assert_null(req);
	assert_int_equal(error, 0);
	answers++;
	return 0;
}

static struct k2i_node_entry *entry_of(struct place *place, uint32_t node)
{
	return k2i_node_at(place->mount.nodes, node);
}

static int place_make(void **state)
{
	struct place *place = calloc(1, sizeof(*place));
	struct k2i_node_owner owner = {.mode = S_IFDIR | 0755};

	assert_non_null(place);
	*state = place;
	k2i_mount_parts_join(&place->mount, &place->parts);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, place->mount.cache_dropper->fds), 0);
	place->mount.cache_dropper->process = getpid();
	assert_int_equal(k2i_nodes_create(&owner, &place->mount.nodes), 0);
	owner.mode = S_IFREG | 0644;
	assert_int_equal(k2i_node_make(place->mount.nodes, K2I_NODE_ROOT, "a", &owner, &place->node), 0);
	assert_int_equal(k2i_node_make(place->mount.nodes, K2I_NODE_ROOT, "b", &owner, &place->other), 0);
	entry_of(place, place->node)->cached = entry_of(place, place->other)->cached = &place->cached;
	now_ns = SECOND_NS;
	answers = 0;
	return 0;
}

static int place_end(void **state)
{
	struct place *place = *state;

	k2i_nodes_free(place->mount.nodes);
	assert_int_equal(close(place->mount.cache_dropper->fds[0]), 0);
	assert_int_equal(close(place->mount.cache_dropper->fds[1]), 0);
	free(place);
	return 0;
}

/* The sweeper's next order; false: there is none. */
static bool take_order(struct place *place, struct k2i_cache_drop_order *order)
{
	return recv(place->mount.cache_dropper->fds[K2I_CACHE_DROP_DROPPER], order, sizeof(*order), MSG_DONTWAIT) > 0;
}

static bool nothing_ordered(struct place *place)
{
	struct k2i_cache_drop_order order;

	return !take_order(place, &order);
}

/* Whether the sweeper is to keep the file open. */
#define KEEPS true
#define CLOSES false

static void expect_order(struct place *place, const char *path, uint64_t end, bool keep)
{
	assert_true(take_order(place, &place->order));
	assert_string_equal(place->order.path, path);
	assert_int_equal(place->order.end, end);
	assert_int_equal(place->order.keep, keep);
}

static void done(struct place *place)
{
	const uint64_t number = place->order.number;

	assert_int_equal(send(place->mount.cache_dropper->fds[K2I_CACHE_DROP_DROPPER], &number, sizeof(number), 0),
			 sizeof(number));
	k2i_cache_drop_heard(&place->mount);
}

static void expect_done(struct place *place, const char *path, uint64_t end, bool keep)
{
	expect_order(place, path, end, keep);
	done(place);
}

static void test_a_file_is_swept_in_stretches(void **state)
{
	struct place *place = *state;

	entry_of(place, place->node)->size = 40 * MIB + 5;
	k2i_cache_drop_written(&place->mount, place->node, 31 * MIB);
	assert_true(nothing_ordered(place));
	k2i_cache_drop_written(&place->mount, place->node, 33 * MIB + 7);
	expect_order(place, "a", 33 * MIB, KEEPS);
	/* Only one order at a time; a process that closes another file, which has little, does not wait. */
	k2i_cache_drop_idle(&place->mount, place->node);
	assert_true(nothing_ordered(place));
	k2i_cache_drop_flush(&place->mount, place->other, NULL);
	assert_int_equal(answers, 1);
	done(place);
	/* No further than what is taken. */
	k2i_cache_drop_written(&place->mount, place->node, 80 * MIB);
	assert_true(nothing_ordered(place));
	k2i_cache_drop_idle(&place->mount, place->node);
	expect_done(place, "a", 40 * MIB, CLOSES);
	k2i_cache_drop_idle(&place->mount, place->node);
	assert_true(nothing_ordered(place));
}

static void test_a_cut_file_is_swept_anew(void **state)
{
	struct place *place = *state;

	entry_of(place, place->node)->size = 50 * MIB;
	k2i_cache_drop_idle(&place->mount, place->node);
	expect_done(place, "a", 50 * MIB, CLOSES);
	k2i_cache_drop_cut(&place->mount, place->node, 0);
	entry_of(place, place->node)->size = 2 * MIB;
	k2i_cache_drop_idle(&place->mount, place->node);
	expect_order(place, "a", 2 * MIB, CLOSES);
}

static void test_a_close_waits_for_its_sweep(void **state)
{
	struct place *place = *state;

	entry_of(place, place->node)->size = MIB;
	entry_of(place, place->other)->size = 3 * MIB;
	k2i_cache_drop_flush(&place->mount, place->node, NULL);
	k2i_cache_drop_flush(&place->mount, place->node, NULL);
	k2i_cache_drop_flush(&place->mount, place->other, NULL);
	assert_int_equal(answers, 0);
	expect_order(place, "a", MIB, CLOSES);
	assert_true(nothing_ordered(place));
	done(place);
	assert_int_equal(answers, 2);
	expect_order(place, "b", 3 * MIB, CLOSES);
	/* A close meanwhile is one more order. */
	entry_of(place, place->other)->size = 5 * MIB;
	k2i_cache_drop_flush(&place->mount, place->other, NULL);
	done(place);
	assert_int_equal(answers, 3);
	expect_done(place, "b", 5 * MIB, CLOSES);
	assert_int_equal(answers, 4);
	assert_int_equal(k2i_cache_drop_run(&place->mount), -1);
}

static void test_no_close_waits_longer_than_a_second(void **state)
{
	struct place *place = *state;

	entry_of(place, place->node)->size = entry_of(place, place->other)->size = MIB;
	k2i_cache_drop_flush(&place->mount, place->node, NULL);
	k2i_cache_drop_flush(&place->mount, place->other, NULL);
	now_ns += SECOND_NS - 1;
	assert_int_equal(k2i_cache_drop_run(&place->mount), 1);
	assert_int_equal(answers, 0);
	now_ns++;
	assert_int_equal(k2i_cache_drop_run(&place->mount), -1);
	assert_int_equal(answers, 2);
	/* A process that comes then does not wait at all. */
	k2i_cache_drop_flush(&place->mount, place->node, NULL);
	assert_int_equal(answers, 3);
	expect_done(place, "a", MIB, CLOSES);
	k2i_cache_drop_flush(&place->mount, place->other, NULL);
	assert_int_equal(answers, 3);
	expect_order(place, "b", MIB, CLOSES);
	k2i_cache_drop_abandon(&place->mount);
	assert_int_equal(answers, 4);
}

/*
 * Files that the dropper keeps open are closed before their writers are told that they have closed it, however little
 * is left.
 */
static void test_what_is_kept_open_is_closed_in_the_end(void **state)
{
	struct place *place = *state;

	entry_of(place, place->node)->size = entry_of(place, place->other)->size = 40 * MIB;
	k2i_cache_drop_written(&place->mount, place->node, UINT64_MAX);
	expect_order(place, "a", 40 * MIB, KEEPS);
	k2i_cache_drop_flush(&place->mount, place->node, NULL);
	done(place);
	assert_int_equal(answers, 0);
	expect_done(place, "a", 40 * MIB, CLOSES);
	assert_int_equal(answers, 1);
	k2i_cache_drop_flush(&place->mount, place->node, NULL);
	assert_int_equal(answers, 2);

	/* Also one that nobody appends to; and one whose last writer goes without a close, while the ring is full. */
	k2i_cache_drop_written(&place->mount, place->other, UINT64_MAX);
	expect_done(place, "b", 40 * MIB, KEEPS);
	k2i_cache_drop_idle(&place->mount, place->other);
	expect_done(place, "b", 40 * MIB, CLOSES);
	entry_of(place, place->other)->size = 80 * MIB;
	k2i_cache_drop_written(&place->mount, place->other, UINT64_MAX);
	expect_done(place, "b", 80 * MIB, KEEPS);
	entry_of(place, place->other)->cached = NULL;
	place->mount.queue->first = (struct k2i_queued *)place;
	k2i_cache_drop_closed(&place->mount);
	expect_order(place, "b", 80 * MIB, CLOSES);
}

static void test_nothing_is_swept_while_the_ring_is_full(void **state)
{
	struct place *place = *state;

	entry_of(place, place->node)->size = 40 * MIB;
	place->mount.queue->first = (struct k2i_queued *)place;
	k2i_cache_drop_written(&place->mount, place->node, UINT64_MAX);
	k2i_cache_drop_idle(&place->mount, place->node);
	k2i_cache_drop_flush(&place->mount, place->node, NULL);
	assert_int_equal(answers, 1);
	assert_true(nothing_ordered(place));
}

static void test_a_file_without_name_is_not_swept(void **state)
{
	struct place *place = *state;

	k2i_node_opened(place->mount.nodes, place->node);
	assert_int_equal(k2i_node_remove(place->mount.nodes, place->node), 0);
	entry_of(place, place->node)->size = 2 * MIB;
	k2i_cache_drop_flush(&place->mount, place->node, NULL);
	assert_int_equal(answers, 1);
	assert_true(nothing_ordered(place));
}

static void socket_fill(struct place *place)
{
	struct k2i_cache_drop_order order = {.number = 0};

	while (send(place->mount.cache_dropper->fds[K2I_CACHE_DROP_WORKER], &order, sizeof(order), MSG_DONTWAIT) > 0)
		continue;
}

static void socket_empty(struct place *place)
{
	struct k2i_cache_drop_order order;

	while (take_order(place, &order))
		assert_int_equal(order.number, 0);
}

/* A close has its file written back; in the end that is not put off until the ring has room. */
static void test_writing_back_sweeps_nothing(void **state)
{
	struct place *place = *state;
	struct k2i_queued queued = {.next = NULL};

	entry_of(place, place->node)->size = 40 * MIB;
	k2i_cache_drop_write_back(&place->mount, place->node);
	expect_done(place, "a", 0, CLOSES);
	assert_int_equal(entry_of(place, place->node)->dropped, 0);
	place->mount.queue->first = &queued;
	k2i_cache_drop_write_back(&place->mount, place->node);
	assert_true(nothing_ordered(place));
	place->mount.asked = true;
	k2i_cache_drop_write_back(&place->mount, place->node);
	expect_order(place, "a", 0, CLOSES);
}

/* The socket takes no order now: with the next one nothing is missing, and nobody waits for what was not ordered. */
static void test_an_order_that_was_not_sent_is_none(void **state)
{
	struct place *place = *state;

	entry_of(place, place->node)->size = entry_of(place, place->other)->size = 40 * MIB;
	k2i_cache_drop_written(&place->mount, place->node, UINT64_MAX);
	expect_done(place, "a", 40 * MIB, KEEPS);
	socket_fill(place);
	k2i_cache_drop_written(&place->mount, place->other, UINT64_MAX);
	k2i_cache_drop_idle(&place->mount, place->other);
	k2i_cache_drop_flush(&place->mount, place->other, NULL);
	k2i_cache_drop_flush(&place->mount, place->node, NULL);
	assert_int_equal(answers, 2);
	socket_empty(place);
	/* Files that the dropper has open are still to be closed. */
	k2i_cache_drop_flush(&place->mount, place->node, NULL);
	assert_int_equal(answers, 2);
	expect_done(place, "a", 40 * MIB, CLOSES);
	assert_int_equal(answers, 3);
	k2i_cache_drop_idle(&place->mount, place->other);
	expect_order(place, "b", 40 * MIB, CLOSES);

	/* Nor what a successor is to find out by. */
	socket_fill(place);
	k2i_cache_drop_inherit(&place->mount);
	socket_empty(place);
	k2i_cache_drop_cut(&place->mount, place->node, 0);
	k2i_cache_drop_idle(&place->mount, place->node);
	expect_order(place, "a", 40 * MIB, CLOSES);
}

/* A worker that died had counted an order that it never gave, or whose answer nobody has read. */
static void test_a_successor_finds_out_what_was_ordered(void **state)
{
	struct place *place = *state;

	entry_of(place, place->node)->size = 2 * MIB;
	k2i_cache_drop_inherit(&place->mount);
	assert_true(nothing_ordered(place));
	place->mount.cache_drop->ordered++;
	k2i_cache_drop_inherit(&place->mount);
	k2i_cache_drop_idle(&place->mount, place->node);
	expect_done(place, "", 0, CLOSES);
	k2i_cache_drop_idle(&place->mount, place->node);
	expect_order(place, "a", 2 * MIB, CLOSES);
}

int main(void)
{
#define PLACE_TEST(name) cmocka_unit_test_setup_teardown(name, place_make, place_end)
	const struct CMUnitTest tests[] = {
		PLACE_TEST(test_a_file_is_swept_in_stretches),
		PLACE_TEST(test_a_cut_file_is_swept_anew),
		PLACE_TEST(test_a_close_waits_for_its_sweep),
		PLACE_TEST(test_no_close_waits_longer_than_a_second),
		PLACE_TEST(test_what_is_kept_open_is_closed_in_the_end),
		PLACE_TEST(test_nothing_is_swept_while_the_ring_is_full),
		PLACE_TEST(test_a_file_without_name_is_not_swept),
		PLACE_TEST(test_an_order_that_was_not_sent_is_none),
		PLACE_TEST(test_a_successor_finds_out_what_was_ordered),
		PLACE_TEST(test_writing_back_sweeps_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
