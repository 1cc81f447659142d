/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "settings.h"
#include "settings_table.h"

struct findings {
	char text[16384];
	size_t bytes;
	unsigned errors, notes;
};

static char path[64];

static void keep(void *argument, enum k2i_finding kind, const char *file, unsigned line, const char *text)
{
	struct findings *findings = argument;

	(void)file;
	*(kind == K2I_FINDING_ERROR ? &findings->errors : &findings->notes) += 1;
	findings->bytes += (size_t)snprintf(findings->text + findings->bytes, sizeof(findings->text) - findings->bytes,
					    "%u: %s: %s\n", line, kind == K2I_FINDING_ERROR ? "error" : "note", text);
	assert_true(findings->bytes < sizeof(findings->text));
}

static void write_file(const char *text)
{
	FILE *file;

	(void)snprintf(path, sizeof(path), "/tmp/k2hft-settings-XXXXXX");
	file = fdopen(mkstemp(path), "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static struct k2i_settings *check(const char *text, struct findings *findings)
{
	struct k2i_settings *settings;
	int errors;

	memset(findings, 0, sizeof(*findings));
	write_file(text);
	errors = k2i_settings_check(path, keep, findings, &settings);
	(void)unlink(path);
	assert_int_equal(errors, findings->errors);
	assert_non_null(settings);
	return settings;
}

static struct k2i_settings *load(const char *text)
{
	struct k2i_settings *settings = NULL;
	char message[512] = "";
	int status;

	write_file(text);
	status = k2i_settings_load(path, &settings, message, sizeof(message));
	(void)unlink(path);
	if (status)
		print_error("%s\n", message);
	assert_int_equal(status, 0);
	return settings;
}

/* The one error that the text must give, found by a part of it; `line` is where. */
static void expect_error(const char *text, unsigned line, const char *part)
{
	struct findings findings;
	char place[16];

	k2i_settings_free(check(text, &findings));
	(void)snprintf(place, sizeof(place), "%u: error: ", line);
	if (findings.errors != 1 || !strstr(findings.text, part) || !strstr(findings.text, place))
		print_error("for:\n%s\ngot:\n%swanted %s%s\n", text, findings.text, place, part);
	assert_int_equal(findings.errors, 1);
	assert_non_null(strstr(findings.text, part));
	assert_non_null(strstr(findings.text, place));
}

#define SENDER "[SVRNODE]\nNAME=a.example\nPORT=8020\n[K2HFTFUSE]\n"
#define RECEIVER "[GLOBAL]\nPORT=8020\n[K2HFTFUSESVR]\nFILE_BASEDIR=/tmp/x\n"

static void test_sender_defaults(void **state)
{
	struct k2i_settings *settings = load(SENDER);

	(void)state;
	assert_true(settings->fuse_present);
	assert_false(settings->receiver_present);
	assert_int_equal(settings->server_count, 1);
	assert_string_equal(settings->servers[0].name, "a.example");
	assert_int_equal(settings->servers[0].port, 8020);
	assert_int_equal(settings->servers[0].ssl, K2I_SSL_UNSET);
	assert_int_equal(settings->ssl, K2I_SSL_NO);
	assert_int_equal(settings->queue_type, K2I_QUEUE_MEMORY);
	assert_true(settings->queue_fresh);
	assert_int_equal(settings->ring_bytes, 64 << 20);
	assert_int_equal(settings->full, K2I_FULL_BLOCK);
	assert_false(settings->binary);
	assert_int_equal(settings->record_bytes_max, 1 << 20);
	assert_int_equal(settings->batch_records_max, 0);
	assert_int_equal(settings->expire_s, 0);
	assert_int_equal(settings->compress, K2I_COMPRESS_AUTO);
	assert_int_equal(settings->drain_timeout_s, 30);
	k2i_settings_free(settings);
}

static void test_receiver_defaults(void **state)
{
	struct k2i_settings *settings = load(RECEIVER);

	(void)state;
	assert_true(settings->receiver_present);
	assert_int_equal(settings->port, 8020);
	assert_int_equal(settings->loop_count, 1);
	assert_string_equal(settings->base_directory, "/tmp/x");
	assert_string_equal(settings->format, "%L");
	assert_null(settings->unify_file);
	assert_null(settings->time_format);
	assert_null(settings->state_directory);
	assert_null(settings->listen_address);
	assert_int_equal(settings->window_bytes, 16 << 20);
	assert_int_equal(settings->frame_bytes_max, 4 << 20);
	k2i_settings_free(settings);
}

static void test_rules(void **state)
{
	struct k2i_settings *settings =
		load(SENDER "[K2HFTFUSE_RULE]\nTARGET=/log//./a.log\nTRUNS=ON\n"
			    "ALLOW = \"a, b\", \"$0\" # comment\nallow = plain\nOUTPUTFILE=/dev/null\n"
			    "[K2HFTFUSE_RULE_DIR]\nTARGET=/\nDEFAULTALL=allow\nDENY=x\n"
			    "DENY=y\nOUTPUTFILE=/var/log/\n[K2HFTFUSE_RULE_DIR]\nTARGET=b/\n"
			    "DEFAULTALL=allow\n");
	(void)state;
	k2i_settings_free(settings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sender_defaults),
		cmocka_unit_test(test_receiver_defaults),
		cmocka_unit_test(test_rules),
	};

	(void)expect_error;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
