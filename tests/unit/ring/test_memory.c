/* SPDX-License-Identifier: MIT */
/* Memory that is short at any one place: an error says so, and nothing of what was opened stays. */
#include "unit.h"
#include "ring_help.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <k2hft/config.h>
#include <k2hft/sender.h>

#include "app/format/format.h"
#include "app/rules/rules.h"
#include "wrapped_names.h"

/* Allocations of this thread that succeed before one fails; -1: all do. And whether one has failed. */
static _Thread_local int left = -1;
static _Thread_local bool was_short;

static bool is_short(void)
{
	if (left < 0 || left-- > 0)
		return false;
	errno = ENOMEM;
	was_short = true;
	return true;
}

/* The linker has the library call these. */
#define WRAP(type, failure, name, parameters, arguments)                                                               \
	type __real_##name parameters;                                                                                 \
	type __wrap_##name parameters;                                                                                 \
	type __wrap_##name parameters                                                                                  \
	{                                                                                                              \
		return is_short() ? failure : __real_##name arguments;                                                 \
	}
WRAP(void *, NULL, malloc, (size_t bytes), (bytes))
WRAP(void *, NULL, calloc, (size_t count, size_t bytes), (count, bytes))
WRAP(void *, NULL, realloc, (void *memory, size_t bytes), (memory, bytes))
WRAP(void *, NULL, reallocarray, (void *memory, size_t count, size_t bytes), (memory, count, bytes))
WRAP(void *, NULL, aligned_alloc, (size_t alignment, size_t bytes), (alignment, bytes))
WRAP(char *, NULL, strdup, (const char *text), (text))
WRAP(void *, MAP_FAILED, mmap, (void *place, size_t bytes, int protection, int flags, int descriptor, off_t at),
     (place, bytes, protection, flags, descriptor, at))
WRAP(int, -1, memfd_create, (const char *name, unsigned flags), (name, flags))
WRAP(int, -1, ftruncate, (int descriptor, off_t bytes), (descriptor, bytes))
WRAP(int, -1, epoll_create1, (int flags), (flags))
WRAP(int, -1, eventfd, (unsigned count, int flags), (count, flags))
WRAP(int, -1, epoll_ctl, (int epoll, int operation, int descriptor, struct epoll_event *event),
     (epoll, operation, descriptor, event))
WRAP(int, ENOMEM, pthread_create,
     (pthread_t * thread, const pthread_attr_t *attributes, void *(*run)(void *argument), void *argument),
     (thread, attributes, run, argument))

static int descriptor_count(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int count = 0;

	assert_non_null(folder);
	while (readdir(folder))
		count++;
	(void)closedir(folder);
	return count;
}

/* The calls of an application, with as many allocations; whether they were not enough, which need not matter. */
static bool falls_short(const char *config, int allocations)
{
	struct k2hft_sender_options options = {
		.size = sizeof(options), .host = "127.0.0.1", .port = "1", .ring_bytes = SMALL};
	struct k2hft_sender *sender = NULL;
	struct k2hft_writer *writer = NULL;
	char message[512];
	int status;

	left = allocations;
	was_short = false;
	errno = 77;
	status = config ? k2hft_sender_open_config(config, &sender, message, sizeof(message))
			: k2hft_sender_open(&options, &sender);
	if (status == 0)
		status = k2hft_writer_open(sender, "a.log", &writer);
	if (status == 0)
		status = k2hft_writer_lines(writer, "no line end", 11, NULL);
	left = -1;
	assert_int_equal(errno, 77);
	k2hft_writer_close(writer);
	(void)k2hft_sender_close(sender, 0);
	assert_true(status == 0 || (was_short && status == -ENOMEM));
	return was_short;
}

static void each_shortage_is_told(const char *config)
{
	int allocations = 0, descriptors;

	assert_false(falls_short(config, -1)); /* what OpenSSL opens for ever is open now */
	descriptors = descriptor_count();
	while (falls_short(config, allocations))
		allocations++;
	assert_in_range(allocations, 5, 1000);
	assert_int_equal(descriptor_count(), descriptors);
}

TEST(options_open_a_sender)
{
	each_shortage_is_told(NULL);
}

STATE_TEST(a_configuration_opens_a_sender, files_make, files_remove)
{
	const struct files *files = *state;
	FILE *key = fopen(files->path, "w");
	char config[1024];

	assert_non_null(key);
	assert_int_equal(fchmod(fileno(key), 0600), 0);
	assert_true(fputs("00112233445566778899aabbccddeeff\n", key) >= 0);
	assert_int_equal(fclose(key), 0);
	(void)snprintf(
		config, sizeof(config),
		"{GLOBAL: {PORT: 1, SSL: yes, PSKFILE: %s}, SVRNODE: {NAME: 127.0.0.1}, K2HFTFUSE: {K2HTYPE: mem, "
		"RINGSIZE: 1M, K2HFTFUSE_RULE_DIR: {TARGET: app, TRUNS: on, DEFAULTALL: DENY, ALLOW: [text]}}}",
		files->path);
	each_shortage_is_told(config);
}

/* The receiver has to know it at any time. */
TEST(the_name_of_an_output_needs_no_memory)
{
	char path[K2HFT_STREAM_PATH_BYTES_MAX + 1];
	const char *refused;

	left = 0;
	refused = k2i_format_unify("log/%Y.log", UINT64_C(1500000000000000000), path);
	left = -1;
	assert_null(refused);
	assert_string_equal(path, "log/2017.log");
}

TEST(what_is_compiled_lacks_memory)
{
	struct k2i_pattern patterns[] = {{(char *)(uintptr_t) "text", {"f", 2}},
					 {(char *)(uintptr_t) "\"a\", \"$0\"", {"f", 3}}};
	struct k2i_rule rule = {
		.directory = true, .transfer = true, .allow = patterns, .allow_count = 2, .place = {"f", 1}};
	const struct k2i_settings settings = {.file = (char *)(uintptr_t) "f", .rules = &rule, .rule_count = 1};
	int allocations = 0;

	do {
		struct k2i_format *format = NULL;
		struct k2i_rules *rules = NULL;
		char message[512] = "";
		int status;

		left = allocations++;
		was_short = false;
		status = k2i_format_compile("%T %L", "%H:%M", &format, message, sizeof(message));
		if (status == 0)
			status = k2i_rules_compile(&settings, &rules, message, sizeof(message));
		left = -1;
		k2i_rules_free(rules);
		k2i_format_free(format);
		assert_int_equal(status, was_short ? -ENOMEM : 0);
		assert_true(!was_short || strstr(message, "no memory"));
	} while (was_short);
	assert_in_range(allocations, 10, 100);
}
