/* SPDX-License-Identifier: MIT */
#ifndef K2I_TESTS_UNIT_MOUNTED_HELP_H
#define K2I_TESTS_UNIT_MOUNTED_HELP_H

#include "ring_help.h"

#include <linux/fuse.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "fuse/intake/handles.h"
#include "fuse/keeper/parts.h"
#include "fuse/intake/record_route.h"
#include "fuse/copy/outputfile.h"
#include "fuse/base/journal.h"
#include "fuse/intake/write.h"
#include "fuse/ops/request.h"
#include "app/rules/pattern.h"
#include "app/rules/rules.h"
#include "fuse/tree/nodes.h"

/* The clock of time limits stands still, unless a test wants the real one; the linker sends clock_gettime here. */
#define MOUNTED_CLOCK_REAL UINT64_MAX
static uint64_t mounted_clock_ns;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __real_clock_gettime(clockid_t clock, struct timespec *now);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	if (clock != CLOCK_MONOTONIC || mounted_clock_ns == MOUNTED_CLOCK_REAL)
		return __real_clock_gettime(clock, now);
	*now = k2i_timespec(mounted_clock_ns);
	return 0;
}

/* The linker sends k2i_journal_alloc here. */
static bool no_memory;

void *__wrap_k2i_journal_alloc(size_t bytes);
void *__real_k2i_journal_alloc(size_t bytes);

void *__wrap_k2i_journal_alloc(size_t bytes)
{
	return no_memory ? NULL : __real_k2i_journal_alloc(bytes);
}

/* A mount with one file, without a kernel: what it is answered is read from `device`. In memory that workers share. */
struct mounted {
	struct k2i_settings settings;
	struct k2i_mount mount;
	struct k2i_mount_parts parts;
	struct k2i_handle *handle;
	int device;
};

static char mounted_path[] = "t", mounted_expression[] = "\"^a([0-9])$\", \"b$1\"";
static struct k2i_pattern mounted_pattern = {.text = mounted_expression, .place.file = "f"};
static struct k2i_rule mounted_rule = {
	.target = mounted_path, .allow = &mounted_pattern, .allow_count = 1, .transfer = true, .place.file = "f"};

static inline struct k2i_route *route_make(struct mounted *mounted, const char *path)
{
	struct k2i_route *route = k2i_journal_alloc(sizeof(*route) + sizeof(*route->streams));

	assert_non_null(route);
	memset(route, 0, sizeof(*route) + sizeof(*route->streams));
	route->streams = (struct k2i_route_stream *)(void *)(route + 1);
	route->stream_count = route->copies = 1;
	route->match = k2i_rules_find(mounted->mount.rules, mounted_path);
	route->path = k2i_journal_strdup(path);
	route->transfer = true;
	*route->streams = (struct k2i_route_stream){
		.route = route,
		.lane = &mounted->mount.lanes.lane[0],
		.declared = true,
		.id = stream_of(mounted->mount.lanes.lane[0].ring, path),
	};
	assert_int_equal(k2i_rule_scratch_create(route->match, &route->scratch), 0);
	return route;
}

static inline struct k2i_handle *handle_make(struct mounted *mounted, uint32_t node)
{
	struct k2i_route *route = route_make(mounted, mounted_path);
	struct k2i_handle *handle;

	route->passes_all = true;
	assert_int_equal(k2i_handle_open(&mounted->mount, node, mounted_path, route, NULL, &handle), 0);
	return handle;
}

/* As if its stream had missed a newline. */
static inline void list_stream(struct mounted *mounted)
{
	struct k2i_route *route = mounted->handle->route;

	route->streams->listed = true;
	route->listed = mounted->mount.routes->listed = 1;
	mounted->mount.lanes.lane[0].missing_newline_first = route->streams;
}

static inline void mounted_make(struct mounted *mounted)
{
	struct k2i_node_owner owner = {.mode = S_IFDIR | 0755};
	char message[512];
	int ends[2];
	uint32_t node;

	memset(mounted, 0, sizeof(*mounted));
	k2i_mount_parts_join(&mounted->mount, &mounted->parts);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	mounted->device = ends[1];
	mounted->settings = (struct k2i_settings){.rules = &mounted_rule, .rule_count = 1};
	mounted->mount.settings = &mounted->settings;
	mounted->mount.kernel.fd = ends[0];
	mounted->mount.lanes.count = mounted->mount.lanes.takers = 1;
	mounted->mount.lanes.claimed = &mounted->mount.lanes.lane[0];
	mounted->mount.lanes.lane[0].ring = memory_ring();
	mounted->mount.lanes.lane[0].producer = producer_of(mounted->mount.lanes.lane[0].ring);
	mounted->mount.lanes.chunk_bytes_max = mounted->mount.line_limits->piece_bytes_max = 4096;
	mounted->mount.line_limits->held_bytes_max = UINT64_MAX;
	assert_int_equal(k2i_rules_compile(&mounted->settings, &mounted->mount.rules, message, sizeof(message)), 0);
	assert_int_equal(k2i_outputfiles_open(&mounted->mount, message, sizeof(message)), 0);
	assert_int_equal(k2i_nodes_create(&owner, &mounted->mount.nodes), 0);
	owner.mode = S_IFREG | 0644;
	assert_int_equal(k2i_node_make(mounted->mount.nodes, K2I_NODE_ROOT, mounted_path, &owner, &node), 0);
	assert_int_equal(k2i_handle_open(&mounted->mount, node, mounted_path, route_make(mounted, mounted_path), NULL,
					 &mounted->handle),
			 0);
}

static inline void mounted_end(struct mounted *mounted)
{
	k2i_handles_free(&mounted->mount);
	k2i_outputfiles_close(mounted->mount.outputfiles);
	k2i_nodes_free(mounted->mount.nodes);
	k2i_rules_free(mounted->mount.rules);
	k2hft_producer_close(mounted->mount.lanes.lane[0].producer);
	k2hft_ring_close(mounted->mount.lanes.lane[0].ring);
	assert_int_equal(close(mounted->device), 0);
	assert_int_equal(close(mounted->mount.kernel.fd), 0);
}

static inline void request(struct mounted *mounted, uint64_t unique, const char *text)
{
	struct k2i_write write = {
		.unique = unique,
		.handle = mounted->handle->number,
		.data = text,
		.bytes = strlen(text),
		.answer_bytes = strlen(text),
	};

	k2i_request_write(&mounted->mount, &write);
}

/* The result of write(2): a count or -errno. */
static inline int answer_of(struct mounted *mounted, uint64_t unique)
{
	struct {
		struct fuse_out_header header;
		struct fuse_write_out written;
	} answer = {.written = {.size = 0}};

	assert_true(recv(mounted->device, &answer, sizeof(answer), MSG_DONTWAIT) > 0);
	assert_int_equal(answer.header.unique, unique);
	return answer.header.error ? answer.header.error : (int)answer.written.size;
}

static inline int write_text(struct mounted *mounted, const char *text)
{
	static uint64_t unique;

	request(mounted, ++unique, text);
	return answer_of(mounted, unique);
}

static inline void assert_sent(const struct mounted *mounted, const char *text)
{
	struct k2hft_chunk_view view;
	struct k2hft_span span;
	size_t offset = 0, bytes = 0;
	char sent[256];

	if (k2hft_ring_read(mounted->mount.lanes.lane[0].ring, SIZE_MAX, 0, &span, NULL) > 0) {
		while (k2hft_chunk_next(span.data, span.bytes, span.position, &offset, &view) == 1) {
			assert_true(view.payload_bytes < sizeof(sent) - bytes);
			memcpy(sent + bytes, view.payload, view.payload_bytes);
			bytes += view.payload_bytes;
		}
	}
	sent[bytes] = '\0';
	assert_string_equal(sent, text);
}

static inline int mounted_begin(void **state)
{
	int status = k2i_journal_create(1);

	if (status == 0) {
		*state = k2i_journal_alloc(sizeof(struct mounted));
		assert_non_null(*state);
		mounted_make(*state);
	}
	return status;
}

static inline int mounted_finish(void **state)
{
	mounted_end(*state);
	k2i_journal_destroy();
	return 0;
}

/* For the next round of a test. */
static inline void mounted_anew(struct mounted *mounted)
{
	mounted_end(mounted);
	mounted_make(mounted);
}

#define MOUNTED_TEST(name) FIXTURE_TEST(name, struct mounted *mounted, mounted_begin, mounted_finish)

#endif
