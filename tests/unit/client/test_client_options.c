/* SPDX-License-Identifier: MIT */
/* Options that a client is opened with. */
#include "unit.h"
#include "client_peer.h"

CLIENT_TEST(options_are_checked)
{
	struct k2hft_client_options good = f->options, bad;
	struct k2hft_ring *attached;
	char path[64], name[K2HFT_STREAM_HOST_BYTES_MAX + 2] = "";

	bad = good;
	bad.host = NULL;
	assert_int_equal(k2hft_client_open(f->ring, &bad, &f->client), -EINVAL);
	bad = good;
	bad.port = "";
	assert_int_equal(k2hft_client_open(f->ring, &bad, &f->client), -EINVAL);
	bad.port = "0";
	assert_int_equal(k2hft_client_open(f->ring, &bad, &f->client), -EINVAL);
	bad.port = "65536";
	assert_int_equal(k2hft_client_open(f->ring, &bad, &f->client), -EINVAL);
	bad.port = "-1";
	assert_int_equal(k2hft_client_open(f->ring, &bad, &f->client), -EINVAL);
	bad = good;
	bad.level = K2HFT_LEVEL_SYNCED + 1;
	assert_int_equal(k2hft_client_open(f->ring, &bad, &f->client), -EINVAL);
	bad = good;
	bad.compress = 3;
	assert_int_equal(k2hft_client_open(f->ring, &bad, &f->client), -EINVAL);
	bad = good;
	bad.frame_bytes_max = K2HFT_FRAME_BODY_BYTES_MAX + 1;
	assert_int_equal(k2hft_client_open(f->ring, &bad, &f->client), -EINVAL);
	bad = good;
	bad.flags = 2;
	assert_int_equal(k2hft_client_open(f->ring, &bad, &f->client), -EINVAL);
	bad = good;
	bad.reserved = 1;
	assert_int_equal(k2hft_client_open(f->ring, &bad, &f->client), -EINVAL);
	bad = good;
	bad.host_name = "two\nlines";
	assert_int_equal(k2hft_client_open(f->ring, &bad, &f->client), -EINVAL);
	memset(name, 'n', K2HFT_STREAM_HOST_BYTES_MAX + 1);
	bad.host_name = name;
	assert_int_equal(k2hft_client_open(f->ring, &bad, &f->client), -EINVAL);
	bad = good;
	bad.size = 0;
	assert_int_equal(k2hft_client_open(f->ring, &bad, &f->client), -EINVAL);
	assert_int_equal(k2hft_client_open(NULL, &good, &f->client), -EINVAL);
	assert_int_equal(k2hft_client_open(f->ring, NULL, &f->client), -EINVAL);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", k2hft_ring_descriptor(f->ring));
	assert_int_equal(k2hft_ring_attach(path, &attached), 0);
	assert_int_equal(k2hft_client_open(attached, &good, &f->client), -EINVAL);
	k2hft_ring_close(attached);
	assert_null(f->client);
}

CLIENT_TEST(targets_are_checked)
{
	struct k2hft_tls_options tls = {.size = sizeof(tls), .version_min = 9};
	struct k2hft_target targets[2] = {{"127.0.0.1", "1", NULL}, {"127.0.0.1", "2", NULL}};

	f->options.others_count = 2;
	assert_int_equal(k2hft_client_open(f->ring, &f->options, &f->client), -EINVAL);
	f->options.others = targets;
	targets[1].host = "";
	assert_int_equal(k2hft_client_open(f->ring, &f->options, &f->client), -EINVAL);
	targets[1] = (struct k2hft_target){"127.0.0.1", "65536", NULL};
	assert_int_equal(k2hft_client_open(f->ring, &f->options, &f->client), -EINVAL);
	targets[1] = (struct k2hft_target){"127.0.0.1", "2", &tls};
	assert_int_equal(k2hft_client_open(f->ring, &f->options, &f->client), -EINVAL);
	targets[1].tls = NULL;
	f->options.failover_ms = K2HFT_FAILOVER_MS_MIN - 1;
	assert_int_equal(k2hft_client_open(f->ring, &f->options, &f->client), -EINVAL);
	assert_non_null(strstr(f->log, "failover_ms = 99 is less than 100"));
	f->options.failover_ms = K2HFT_FAILOVER_MS_MIN;
	client_open(f);
}

/* Each at its limit. */
CLIENT_TEST(the_largest_options_are_good)
{
	char name[K2HFT_STREAM_HOST_BYTES_MAX + 1] = "";

	memset(name, 'n', K2HFT_STREAM_HOST_BYTES_MAX);
	f->options.host_name = name;
	f->options.frame_bytes_max = K2HFT_FRAME_BODY_BYTES_MAX;
	f->options.compress = K2HFT_COMPRESS_ALWAYS;
	f->options.level = K2HFT_LEVEL_SYNCED;
	client_open(f);
	peer_accept(f);
	struct k2hft_hello hello = peer_hello(f);
	assert_string_equal(hello.host, name);
	assert_int_equal(hello.frame_bytes_max, K2HFT_FRAME_BODY_BYTES_MAX);
	k2hft_client_close(f->client);
	f->client = NULL;
	f->options.port = "65535";
	client_open(f);
}

CLIENT_TEST(tls_options_are_checked)
{
	struct k2hft_tls_options tls = {.size = sizeof(tls), .certificate_path = "/none"};
	struct k2hft_client_options options = f->options;

	options.tls = &tls;
	assert_int_equal(k2hft_client_open(f->ring, &options, &f->client), -EINVAL); /* without its key */
	tls = (struct k2hft_tls_options){.size = sizeof(tls), .shared_key_path = "/none", .authority_path = "/none"};
	assert_int_equal(k2hft_client_open(f->ring, &options, &f->client), -EINVAL);
	tls = (struct k2hft_tls_options){.size = sizeof(tls),
					 .shared_key_path = "/none",
					 .certificate_path = "/none",
					 .private_key_path = "/none"};
	assert_int_equal(k2hft_client_open(f->ring, &options, &f->client), -EINVAL);
	tls = (struct k2hft_tls_options){.size = sizeof(tls), .version_min = K2HFT_TLS_1_3 + 1};
	assert_int_equal(k2hft_client_open(f->ring, &options, &f->client), -EINVAL);
	tls = (struct k2hft_tls_options){.size = sizeof(tls), .reserved = 1};
	assert_int_equal(k2hft_client_open(f->ring, &options, &f->client), -EINVAL);
	tls = (struct k2hft_tls_options){.size = 0};
	assert_int_equal(k2hft_client_open(f->ring, &options, &f->client), -EINVAL);
	assert_null(strstr(f->log, "TLS"));
	tls = (struct k2hft_tls_options){.size = sizeof(tls), .shared_key_path = "/none/key"};
	assert_int_equal(k2hft_client_open(f->ring, &options, &f->client), -EINVAL);
	assert_non_null(strstr(f->log, "client: TLS: /none/key: No such file or directory"));
	assert_null(f->client);
}
