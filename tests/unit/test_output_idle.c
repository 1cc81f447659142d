/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../receiver/output_whole.h"
#include "file_help.h"

static struct k2i_outputs *outputs;
static unsigned calls;

/* A disk can keep who calls these for as long as it likes; meanwhile others open their files. */
static void others_can_go_on(void)
{
	if (!outputs)
		return;
	assert_int_equal(pthread_mutex_trylock(&outputs->mutex), 0);
	(void)pthread_mutex_unlock(&outputs->mutex);
	calls++;
}

/* Named by the linker. */
int __real_close(int descriptor);
int __wrap_close(int descriptor);
int __wrap_close(int descriptor)
{
	others_can_go_on();
	return __real_close(descriptor);
}

int __real_sync_file_range(int descriptor, off_t from, off_t byte_count, unsigned flags);
int __wrap_sync_file_range(int descriptor, off_t from, off_t byte_count, unsigned flags);
int __wrap_sync_file_range(int descriptor, off_t from, off_t byte_count, unsigned flags)
{
	others_can_go_on();
	return __real_sync_file_range(descriptor, from, byte_count, flags);
}

/* Made, written and given back. */
static void output_use(const char *path)
{
	struct k2i_output_file *output;

	assert_int_equal(k2i_output_acquire(outputs, path, &output), 0);
	k2i_output_lock(output);
	assert_int_equal(k2i_output_prepare(outputs, output), 0);
	assert_int_equal(write(output->descriptor, "a", 1), 1);
	output->length++;
	k2i_output_unlock(output);
	k2i_output_release(outputs, output);
}

/* Those that have not been used for long, with SIGHUP, and to make room for another. */
static void files_are_closed_without_the_tables_lock(void **state)
{
	static struct k2i_counters counters;
	struct k2i_outputs_options options = {.open_max = 2, .store = {.write_bytes = 4096}, .counters = &counters};
	struct k2i_outputs *made;
	char base[256];

	(void)state;
	folder_make(base, sizeof(base));
	options.base_directory = base;
	assert_int_equal(k2i_outputs_create(&options, &made), 0);
	outputs = made;
	output_use("first");
	output_use("second");
	calls = 0;
	output_use("third");
	assert_int_equal(calls, 2);
	assert_int_equal(k2i_outputs_open_count(outputs), 2);
	k2i_outputs_reopen(outputs);
	assert_int_equal(calls, 6);
	output_use("first");
	calls = 0;
	k2i_outputs_tick(outputs, UINT64_MAX);
	assert_int_equal(calls, 3); /* the tick looks at the directory, too */
	assert_int_equal(k2i_outputs_open_count(outputs), 0);
	outputs = NULL;
	assert_int_equal(k2i_outputs_free(made, false), 0);
	folder_remove(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_closed_without_the_tables_lock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
