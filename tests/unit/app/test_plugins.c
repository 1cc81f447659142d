/* SPDX-License-Identifier: MIT */
#define UNIT_OWN_MAIN
#include "unit.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "app/plugin/plugins.h"
#include "base/clock.h"

/* Plug-ins with one output, a file without a name. */
struct world {
	struct k2i_plugin_command *command;
	struct k2i_plugins_options options;
	struct k2i_plugins *plugins;
	struct k2i_plugin *plugin;
	int output;
	atomic_uint_fast64_t starts, deaths, refed_bytes;
	atomic_uint_fast64_t taken, given_back, closed; /* blocks */
	atomic_bool refuses, moved;
};

static int world_output_open(void *argument)
{
	struct world *world = argument;

	return atomic_load(&world->refuses) ? -EACCES : fcntl(world->output, F_DUPFD_CLOEXEC, 3);
}

static bool world_in_place(void *argument, int output)
{
	struct world *world = argument;

	assert_true(output > 0);
	return !atomic_exchange(&world->moved, false);
}

static void world_taken(void *argument, struct k2i_plugin_block *block, int error)
{
	struct world *world = argument;

	assert_ptr_equal(block->owner, world);
	atomic_fetch_add(error ? &world->given_back : &world->taken, 1);
}

static void world_closed(void *argument)
{
	struct world *world = argument;

	atomic_fetch_add(&world->closed, 1);
}

static const struct k2i_plugin_ops world_ops = {world_output_open, world_in_place, world_taken, world_closed};

static void world_open(struct world *world, const char *command)
{
	char message[256] = "";

	memset(world, 0, sizeof(*world));
	world->output =
		open(getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
	assert_true(world->output >= 0);
	assert_int_equal(k2i_plugin_command_parse(command, &world->command, message, sizeof(message)), 0);
	world->options = (struct k2i_plugins_options){.command = world->command,
						      .area = "test",
						      .ops = &world_ops,
						      .stop_ns = 100 * K2I_MILLISECOND_NS,
						      .starts = &world->starts,
						      .deaths = &world->deaths,
						      .refed_bytes = &world->refed_bytes};
	assert_int_equal(k2i_plugins_start(&world->options, &world->plugins), 0);
	assert_int_equal(k2i_plugin_open(world->plugins, "output", world, &world->plugin), 0);
}

static void world_close(struct world *world)
{
	k2i_plugins_stop(world->plugins);
	assert_int_equal(atomic_load(&world->closed), 1);
	k2i_plugin_command_free(world->command);
	(void)close(world->output);
}

static void push(struct world *world, const char *text)
{
	struct k2i_plugin_block *block = NULL;

	assert_int_equal(k2i_plugin_block_put(&block, text, strlen(text) / 2), 0);
	assert_int_equal(k2i_plugin_block_put(&block, text + strlen(text) / 2, strlen(text) - strlen(text) / 2), 0);
	block->owner = world;
	k2i_plugin_push(world->plugin, block);
}

static void await(const atomic_uint_fast64_t *count, uint64_t wanted)
{
	struct timespec pause = {0, 2000000};

	for (int i = 0; i < 10000 && atomic_load(count) < wanted; i++)
		(void)nanosleep(&pause, NULL);
	assert_int_equal(atomic_load(count), wanted);
}

static void await_output(const struct world *world, const char *wanted)
{
	struct timespec pause = {0, 2000000};
	char text[4096];
	ssize_t got = 0;

	for (int i = 0; i < 5000 && got < (ssize_t)strlen(wanted); i++) {
		(void)nanosleep(&pause, NULL);
		got = pread(world->output, text, sizeof(text) - 1, 0);
	}
	text[got > 0 ? got : 0] = '\0';
	assert_string_equal(text, wanted);
}

TEST(test_fed)
{
	struct world world;
	struct k2i_plugin_shown shown;

	world_open(&world, "/bin/cat");
	push(&world, "one\n");
	push(&world, "two\n");
	await(&world.taken, 2);
	await_output(&world, "one\ntwo\n");
	k2i_plugin_show(world.plugin, k2i_clock_now_ns(), &shown);
	assert_true(shown.pid > 0);
	assert_int_equal(shown.waiting_bytes, 0);
	assert_int_equal(shown.restarts, 0);
	world_close(&world);
	assert_int_equal(atomic_load(&world.starts), 1);
	assert_int_equal(atomic_load(&world.given_back), 0);
}

/* It reads all that it has, and dies in the middle of the second record: that is the next one's. */
TEST(test_dies)
{
	struct world world;

	world_open(&world, "/bin/sh -c '/bin/dd bs=1 count=6 2>/dev/null; kill -9 $$'");
	push(&world, "one\ntwo\nthree\n");
	await(&world.deaths, 1);
	await(&world.deaths, 2);
	/* one, tw; two, th: each begins with a record. */
	await_output(&world, "one\ntwtwo\nththree\n");
	await(&world.taken, 1);
	assert_int_equal(atomic_load(&world.refed_bytes), 4);
	world_close(&world);
}

/* A stream without lines goes on in the middle: its bytes count that were read. */
TEST(test_dies_binary)
{
	struct world world;
	struct k2i_plugin_block *block = NULL;

	world_open(&world, "/bin/sh -c '/bin/dd bs=1 count=6 2>/dev/null; kill -9 $$'");
	assert_int_equal(k2i_plugin_block_put(&block, "ab\ncdefghijkl", 13), 0);
	block->owner = &world;
	block->binary = true;
	k2i_plugin_push(world.plugin, block);
	await(&world.taken, 1);
	await_output(&world, "ab\ncdefghijkl");
	assert_int_equal(atomic_load(&world.refed_bytes), 0);
	world_close(&world);
}

/* Its own end is no reason to start another one before there are records. */
TEST(test_ends_by_itself)
{
	struct world world;
	struct k2i_plugin_shown shown;

	world_open(&world, "/usr/bin/head -n 1");
	k2i_plugin_begin(world.plugin);
	await(&world.starts, 1);
	push(&world, "one\n");
	await(&world.deaths, 1);
	push(&world, "two\n");
	await(&world.taken, 2);
	await_output(&world, "one\ntwo\n");
	await(&world.deaths, 2);
	k2i_plugin_show(world.plugin, k2i_clock_now_ns(), &shown);
	assert_int_equal(shown.pid, 0);
	assert_int_equal(shown.restarts, 2);
	world_close(&world);
	assert_int_equal(atomic_load(&world.starts), 2);
}

TEST(test_rests)
{
	struct world world;

	world_open(&world, "/bin/sh -c '/bin/cat; echo end'");
	push(&world, "one\n");
	await(&world.taken, 1);
	k2i_plugin_rest(world.plugin);
	await_output(&world, "one\nend\n");
	push(&world, "two\n");
	await(&world.taken, 2);
	atomic_store(&world.moved, true);
	await_output(&world, "one\nend\ntwo\nend\n");
	push(&world, "three\n");
	await(&world.taken, 3);
	k2i_plugin_close(world.plugin);
	await(&world.closed, 1);
	await_output(&world, "one\nend\ntwo\nend\nthree\nend\n");
	assert_int_equal(atomic_load(&world.deaths), 0);
	world_close(&world);
}

TEST(test_output_refused)
{
	struct world world;
	struct k2i_plugin_shown shown;
	struct timespec pause = {0, 2000000};

	world_open(&world, "/bin/cat");
	atomic_store(&world.refuses, true);
	push(&world, "one\n");
	do {
		(void)nanosleep(&pause, NULL);
		k2i_plugin_show(world.plugin, k2i_clock_now_ns(), &shown);
	} while (!shown.error);
	assert_int_equal(shown.error, -EACCES);
	assert_int_equal(shown.waiting_bytes, 4);
	assert_true(shown.waiting_ns > 0);
	atomic_store(&world.refuses, false);
	await(&world.taken, 1);
	await_output(&world, "one\n");
	world_close(&world);
}

/* Blocks that nobody has read are given back. The pipe takes some that it never reads. */
TEST(test_hangs)
{
	struct world world;

	world_open(&world, "/bin/sh -c 'trap \"\" TERM; exec /bin/sleep 1000'");
	push(&world, "one\n");
	push(&world, "two\n");
	await(&world.starts, 1);
	world_close(&world);
	assert_int_equal(atomic_load(&world.taken), 0);
	assert_int_equal(atomic_load(&world.given_back), 2);
}

/* More than a pipe holds, in blocks of all lengths. */
TEST(test_much)
{
	struct world world;
	struct stat status;
	struct k2i_plugin_block *block;
	char *text = malloc(300000);
	uint64_t bytes = 0;

	assert_non_null(text);
	memset(text, 'x', 300000);
	world_open(&world, "/bin/cat");
	for (size_t i = 0; i < 200; i++) {
		size_t length = 1 + i * 7919 % 300000;

		text[length - 1] = '\n';
		block = NULL;
		assert_int_equal(k2i_plugin_block_put(&block, text, length), 0);
		text[length - 1] = 'x';
		block->owner = &world;
		bytes += length;
		k2i_plugin_push(world.plugin, block);
	}
	await(&world.taken, 200);
	k2i_plugins_stop(world.plugins);
	assert_int_equal(fstat(world.output, &status), 0);
	assert_int_equal(status.st_size, bytes);
	assert_int_equal(atomic_load(&world.given_back), 0);
	k2i_plugin_command_free(world.command);
	(void)close(world.output);
	free(text);
}

int main(void)
{
	(void)signal(SIGPIPE, SIG_IGN);
	return unit_run();
}
