/* SPDX-License-Identifier: MIT */
/* The ring file that is there when a sender is opened, whether that succeeds or not. */
#include <errno.h>

#include <k2hft/log.h>
#include <k2hft/sender.h>

#include "unit.h"
#include "folder_help.h"

static char ring_path[300], logged[1024];

static int folder_setup(void **state)
{
	(void)folder_begin(state);
	(void)snprintf(ring_path, sizeof(ring_path), "%s/ring", folder);
	return 0;
}

/* Nobody listens there. */
static struct k2hft_sender_options options_make(uint32_t ring_flags)
{
	return (struct k2hft_sender_options){.size = sizeof(struct k2hft_sender_options),
					     .host = "127.0.0.1",
					     .port = "1",
					     .ring_path = ring_path,
					     .ring_bytes = K2HFT_RING_BYTES_MIN,
					     .ring_flags = ring_flags};
}

static void records_leave(unsigned count)
{
	struct k2hft_sender_options options = options_make(0);
	struct k2hft_sender *sender;
	struct k2hft_writer *writer;

	assert_int_equal(k2hft_sender_open(&options, &sender), 0);
	assert_int_equal(k2hft_writer_open(sender, "a.log", &writer), 0);
	while (count--)
		assert_int_equal(k2hft_writer_write(writer, "record", 6), 0);
	k2hft_writer_close(writer);
	assert_int_equal(k2hft_sender_close(sender, 0), -ETIMEDOUT);
}

static uint64_t records_left(void)
{
	struct k2hft_sender_options options = options_make(0);
	struct k2hft_sender_stats stats = {.size = sizeof(stats)};
	struct k2hft_sender *sender;

	assert_int_equal(k2hft_sender_open(&options, &sender), 0);
	assert_int_equal(k2hft_sender_stats(sender, &stats), 0);
	(void)k2hft_sender_close(sender, 0);
	return stats.unacked_records;
}

static void message_keep(void *argument, enum k2hft_log_level level, const char *text)
{
	size_t used = strlen(logged);

	(void)argument;
	(void)level;
	(void)snprintf(logged + used, sizeof(logged) - used, "%s\n", text);
}

/* Refused, and the log says why. */
static void expect_refused(const struct k2hft_sender_options *options, const char *wanted)
{
	struct k2hft_sender *sender = NULL;

	logged[0] = '\0';
	k2hft_log_callback_set(message_keep, NULL, K2HFT_LOG_WARNING);
	assert_int_equal(k2hft_sender_open(options, &sender), -EINVAL);
	k2hft_log_callback_set(NULL, NULL, K2HFT_LOG_ERROR);
	assert_null(sender);
	assert_string_equal(logged, wanted);
	logged[0] = '\0';
}

#define CASE(name) FIXTURE_TEST(name, void *fixture, folder_setup, folder_end)

CASE(a_refused_option_leaves_the_file_as_it_is)
{
	struct k2hft_tls_options tls = {.size = sizeof(tls), .certificate_path = "/without/its/key"};
	struct k2hft_sender_options options = options_make(K2HFT_RING_FRESH);

	records_leave(3);
	options.host = NULL;
	expect_refused(&options, "options: host is missing\n");
	options.host = "localhost";
	options.port = "0";
	expect_refused(&options, "options: port = \"0\" is no port\n");
	options.port = "1";
	options.host_name = "a\nb";
	expect_refused(&options, "options: host_name = \"a?b\" has more than 255 bytes, or a control character\n");
	options.host_name = NULL;
	options.level = K2HFT_LEVEL_SYNCED + 1;
	expect_refused(&options, "options: level = 4 is not known\n");
	options.level = 0;
	options.full = 9;
	expect_refused(&options, "options: full = 9 is not known\n");
	options.full = 0;
	options.ring_bytes = 1;
	expect_refused(&options, "options: ring_bytes = 1 is less than 65536 or more than 1099511627776\n");
	options.ring_bytes = 0;
	options.tls = &tls;
	expect_refused(&options, "options: certificate_path and private_key_path need each other\n");
	tls = (struct k2hft_tls_options){.size = sizeof(tls), .version_min = K2HFT_TLS_1_3 + 1};
	expect_refused(&options, "options: version_min of tls = 2 is not known\n");
	assert_int_equal(records_left(), 3);
}

CASE(what_is_lost_is_logged_though_no_sender_is_opened)
{
	struct k2hft_tls_options tls = {.size = sizeof(tls), .authority_path = "/nonexistent/authority"};
	struct k2hft_sender_options options = options_make(K2HFT_RING_FRESH);
	struct k2hft_sender *sender;

	records_leave(3);
	options.tls = &tls;
	k2hft_log_callback_set(message_keep, NULL, K2HFT_LOG_WARNING);
	assert_int_equal(k2hft_sender_open(&options, &sender), -EINVAL);
	k2hft_log_callback_set(NULL, NULL, K2HFT_LOG_ERROR);
	assert_non_null(strstr(logged, "ring is begun afresh: 3 records"));
}

TEST(the_options_of_its_parts_are_given)
{
	struct k2hft_tls_options tls = {.size = sizeof(tls)};
	struct k2hft_sender_options options = K2HFT_SENDER_OPTIONS_INIT;
	struct k2hft_ring_options ring;
	struct k2hft_client_options client;

	assert_int_equal(options.size, sizeof(options));
	options.host = "logs.example";
	options.port = "8020";
	options.host_name = "here";
	options.ring_path = "/ring";
	options.ring_bytes = 1 << 20;
	options.ring_flags = K2HFT_RING_FRESH;
	options.level = K2HFT_LEVEL_SYNCED;
	options.compress = K2HFT_COMPRESS_NEVER;
	options.batch_records_max = 7;
	options.expire_s = 8;
	options.tls = &tls;
	assert_int_equal(k2hft_sender_ring_options(&options, &ring), 0);
	assert_int_equal(ring.size, sizeof(ring));
	assert_string_equal(ring.path, "/ring");
	assert_int_equal(ring.ring_bytes, 1 << 20);
	assert_int_equal(ring.flags, K2HFT_RING_FRESH);
	assert_int_equal(k2hft_sender_client_options(&options, &client), 0);
	assert_int_equal(client.size, sizeof(client));
	assert_string_equal(client.host, "logs.example");
	assert_string_equal(client.port, "8020");
	assert_string_equal(client.host_name, "here");
	assert_int_equal(client.level, K2HFT_LEVEL_SYNCED);
	assert_int_equal(client.compress, K2HFT_COMPRESS_NEVER);
	assert_int_equal(client.batch_records_max, 7);
	assert_int_equal(client.expire_s, 8);
	assert_ptr_equal(client.tls, &tls);
	assert_int_equal(client.flags, 0);
	assert_null(client.progress);
	/* A ring without a name ends with its client. */
	options.ring_flags = K2HFT_RING_TEMPORARY;
	assert_int_equal(k2hft_sender_client_options(&options, &client), 0);
	assert_int_equal(client.flags, K2HFT_CLIENT_RING_ENDS);
	options.size = 0;
	assert_int_equal(k2hft_sender_ring_options(&options, &ring), -EINVAL);
	assert_int_equal(k2hft_sender_client_options(&options, &client), -EINVAL);
	assert_int_equal(k2hft_sender_ring_options(&options, NULL), -EINVAL);
	assert_int_equal(k2hft_sender_client_options(&options, NULL), -EINVAL);
}
