/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "unit.h"
#include "folder_help.h"
#include "config/sender.h"

static char file[300];

static int load(const char *text, struct k2i_sender_config *config, char message[512])
{
	FILE *stream = fopen(file, "w");

	assert_non_null(stream);
	assert_true(fputs(text, stream) >= 0);
	assert_int_equal(fclose(stream), 0);
	return k2i_sender_config_load(file, config, message, 512);
}

static void loads(const char *text, struct k2i_sender_config *config)
{
	char message[512] = "";

	if (load(text, config, message))
		fail_msg("%s", message);
}

TEST(the_defaults)
{
	struct k2i_sender_config config;

	loads("[GLOBAL]\nPORT=8020\n[SVRNODE]\nNAME=a.example\n[K2HFTFUSE]\n", &config);
	assert_int_equal(config.options.size, sizeof(config.options));
	assert_string_equal(config.options.host, "a.example");
	assert_string_equal(config.options.port, "8020");
	assert_null(config.options.ring_path);
	assert_int_equal(config.options.ring_flags, 0);
	assert_int_equal(config.options.ring_bytes, 64 << 20);
	assert_int_equal(config.options.full, K2HFT_FULL_BLOCK);
	assert_int_equal(config.options.compress, K2HFT_COMPRESS_AUTO);
	assert_int_equal(config.options.batch_records_max, 0);
	assert_int_equal(config.options.expire_s, 0);
	assert_null(config.options.tls);
	assert_int_equal(config.target_count, 1);
	assert_string_equal(config.targets[0].host, "a.example");
	assert_null(config.options.targets);
	assert_int_equal(config.options.target_count, 0);
	assert_int_equal(config.options.spread, K2HFT_SPREAD_HASH);
	assert_int_equal(config.options.copies, 1);
	assert_int_equal(config.options.replica, 0);
	assert_int_equal(config.options.failover_ms, 10000);
	k2i_sender_config_free(&config);
}

/* Each with what its section says, or GLOBAL. */
TEST(several_receivers)
{
	struct k2i_sender_config config;

	loads("[GLOBAL]\nPORT=1\nDELIVERMODE=Random\nREPLICA=2\n[SVRNODE]\nNAME=h[1-2,x]\n[SVRNODE]\nNAME=::1\nPORT=2\n"
	      "SSL=yes\n[K2HFTFUSE]\nFAILOVERTIME=3600\n",
	      &config);
	assert_null(config.options.host);
	assert_null(config.options.port);
	assert_null(config.options.tls);
	assert_ptr_equal(config.options.targets, config.targets);
	assert_int_equal(config.options.target_count, 4);
	assert_int_equal(config.target_count, 4);
	assert_string_equal(config.targets[0].host, "h1");
	assert_string_equal(config.targets[1].host, "h2");
	assert_string_equal(config.targets[2].host, "hx");
	assert_string_equal(config.targets[2].port, "1");
	assert_null(config.targets[2].tls);
	assert_string_equal(config.targets[3].host, "::1");
	assert_string_equal(config.targets[3].port, "2");
	assert_non_null(config.targets[3].tls);
	assert_int_equal(config.options.spread, K2HFT_SPREAD_RANDOM);
	assert_int_equal(config.options.replica, 0);
	assert_int_equal(config.options.failover_ms, 3600000);
	k2i_sender_config_free(&config);
}

static void spread(const char *global, const char *other, uint32_t wanted, uint32_t copies, uint32_t replica)
{
	struct k2i_sender_config config;
	char text[512];

	(void)snprintf(text, sizeof(text), "[GLOBAL]\nPORT=1\n%s[SVRNODE]\nNAME=h[1-3]\n%s", global, other);
	loads(text, &config);
	assert_int_equal(config.options.spread, wanted);
	assert_int_equal(config.options.copies, copies);
	assert_int_equal(config.options.replica, replica);
	k2i_sender_config_free(&config);
}

TEST(every_spread)
{
	spread("DELIVERMODE=hash\n", "", K2HFT_SPREAD_HASH, 1, 0);
	spread("REPLICA=0\n", "", K2HFT_SPREAD_HASH, 1, K2HFT_REPLICA_NONE);
	spread("REPLICA=1\n", "", K2HFT_SPREAD_HASH, 1, 1);
	spread("REPLICA=0\nDELIVERMODE=random\n", "", K2HFT_SPREAD_RANDOM, 1, 0);
	spread("", "[K2HTPDTOR]\nK2HTPDTOR_BROADCAST=on\n", K2HFT_SPREAD_ALL, 1, 0);
	spread("DELIVERMODE=random\n", "[K2HTPDTOR]\nK2HTPDTOR_BROADCAST=yes\n", K2HFT_SPREAD_ALL, 1, 0);
	spread("DELIVERMODE=random\n", "[K2HTPDTOR]\nK2HTPDTOR_BROADCAST=no\n", K2HFT_SPREAD_RANDOM, 1, 0);
	spread("", "[K2HFTFUSE]\nCOPIES=2\n", K2HFT_SPREAD_HASH, 2, 0);
}

TEST(every_key_is_heard)
{
	struct k2i_sender_config config;

	loads("[GLOBAL]\nPORT=1\n[SVRNODE]\nNAME=a\nPORT=2\n"
	      "[K2HFTFUSE]\nK2HTYPE=file\nK2HFILE=/a/ring\nK2HINIT=no\nRINGSIZE=2M\nRINGFULL=drop\n"
	      "COMPRESS=never\nTRANSLINECNT=7\nEXPIRE=3153600000\n",
	      &config);
	assert_string_equal(config.options.host, "a");
	assert_string_equal(config.options.port, "2");
	assert_string_equal(config.options.ring_path, "/a/ring");
	assert_int_equal(config.options.ring_flags, 0);
	assert_int_equal(config.options.ring_bytes, 2 << 20);
	assert_int_equal(config.options.full, K2HFT_FULL_DROP);
	assert_int_equal(config.options.compress, K2HFT_COMPRESS_NEVER);
	assert_int_equal(config.options.batch_records_max, 7);
	assert_int_equal(config.options.expire_s, 3153600000);
	k2i_sender_config_free(&config);
	loads("[GLOBAL]\nPORT=1\n[SVRNODE]\nNAME=a\n[K2HFTFUSE]\nK2HTYPE=file\nK2HFILE=/a/ring\nK2HINIT=yes\n",
	      &config);
	assert_int_equal(config.options.ring_flags, K2HFT_RING_FRESH);
	k2i_sender_config_free(&config);
}

/* Where temporary files of this host go. */
TEST(a_temporary_ring)
{
	static const char text[] = "[GLOBAL]\nPORT=1\n[SVRNODE]\nNAME=a\n[K2HFTFUSE]\nK2HTYPE=temp\n";
	const char *before = getenv("TMPDIR");
	char *kept = before ? strdup(before) : NULL;
	struct k2i_sender_config config;

	assert_int_equal(setenv("TMPDIR", "/elsewhere", 1), 0);
	loads(text, &config);
	assert_string_equal(config.options.ring_path, "/elsewhere");
	assert_int_equal(config.options.ring_flags, K2HFT_RING_TEMPORARY);
	k2i_sender_config_free(&config);
	loads("[GLOBAL]\nPORT=1\n[SVRNODE]\nNAME=a\n[K2HFTFUSE]\nK2HTYPE=temp\nK2HFILE=/b/c/q\n", &config);
	assert_string_equal(config.options.ring_path, "/b/c/");
	k2i_sender_config_free(&config);
	for (unsigned set = 0; set < 2; set++) {
		assert_int_equal(set ? setenv("TMPDIR", "", 1) : unsetenv("TMPDIR"), 0);
		loads(text, &config);
		assert_string_equal(config.options.ring_path, "/tmp");
		k2i_sender_config_free(&config);
	}
	assert_int_equal(kept ? setenv("TMPDIR", kept, 1) : unsetenv("TMPDIR"), 0);
	free(kept);
}

TEST(tls_as_the_sender_has_it)
{
	struct k2i_sender_config config;
	char text[1024], key[512];
	const struct k2hft_tls_options *tls;
	FILE *stream;

	(void)snprintf(key, sizeof(key), "%s/key", folder);
	stream = fopen(key, "w");
	assert_non_null(stream);
	assert_true(fputs("me:00112233445566778899aabbccddeeff\n", stream) >= 0);
	assert_int_equal(fclose(stream), 0);
	assert_int_equal(chmod(key, 0600), 0);
	(void)snprintf(text, sizeof(text),
		       "[GLOBAL]\nPORT=1\nSSL=yes\nPSKFILE=%s\nSSL_MIN_VER=TLSV1.3\n[SVRNODE]\nNAME=a\n[K2HFTFUSE]\n",
		       key);
	loads(text, &config);
	assert_ptr_equal(config.options.tls, config.targets[0].tls);
	tls = config.options.tls;
	assert_int_equal(tls->size, sizeof(*tls));
	assert_string_equal(tls->shared_key_path, key);
	assert_null(tls->authority_path);
	assert_null(tls->certificate_path);
	assert_null(tls->private_key_path);
	assert_int_equal(tls->version_min, K2HFT_TLS_1_3);
	k2i_sender_config_free(&config);
}

TEST(a_receivers_file_is_refused)
{
	static const char *const texts[] = {
		"[GLOBAL]\nPORT=1\n[K2HFTFUSESVR]\nFILE_BASEDIR=/tmp/x\n",
		"[GLOBAL]\nPORT=1\n[SVRNODE]\nPORT=2\n[K2HFTFUSESVR]\nFILE_BASEDIR=/tmp/x\n",
	};
	struct k2i_sender_config config;
	char message[512] = "";

	for (size_t at = 0; at < sizeof(texts) / sizeof(texts[0]); at++) {
		assert_int_equal(load(texts[at], &config, message), -EINVAL);
		assert_non_null(strstr(message, "it is a receiver's file"));
	}
	/* A receiver that says where it is has all that a sender needs. */
	loads("[SVRNODE]\nNAME=a\nPORT=1\n[K2HFTFUSESVR]\nFILE_BASEDIR=/tmp/x\n", &config);
	assert_string_equal(config.options.host, "a");
	k2i_sender_config_free(&config);
}

/* With the key that names it, its place, and what to do. */
TEST(a_ring_that_cannot_be_is_explained)
{
	struct k2i_sender_config config;
	struct k2hft_sender *sender;
	char text[600], message[1024] = "", wanted[1200];

	(void)snprintf(text, sizeof(text),
		       "[SVRNODE]\nNAME=a\nPORT=1\n[K2HFTFUSE]\nK2HTYPE=file\nK2HFILE=%s/none/ring\n", folder);
	loads(text, &config);
	k2i_sender_config_free(&config);
	assert_int_equal(k2hft_sender_open_config(file, &sender, message, sizeof(message)), -ENOENT);
	(void)snprintf(wanted, sizeof(wanted),
		       "%s:6: K2HFILE %s/none/ring: No such file or directory; make its directory", file, folder);
	assert_memory_equal(message, wanted, strlen(wanted));
}

/* As when an environment variable that names it is not set. */
TEST(no_file_is_said_to_be_missing)
{
	struct k2hft_sender *sender;
	char message[64] = "of before";

	assert_int_equal(k2hft_sender_open_config(NULL, &sender, message, sizeof(message)), -EINVAL);
	assert_string_equal(message, "no configuration file was given");
	assert_int_equal(k2hft_sender_open_config("file", NULL, message, sizeof(message)), -EINVAL);
	assert_string_equal(message, "no place for the sender was given");
}

static int file_name(void **state)
{
	(void)folder_begin(state);
	(void)snprintf(file, sizeof(file), "%s/f.ini", folder);
	return 0;
}

UNIT_GROUP(file_name, folder_end)
