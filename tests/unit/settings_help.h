/* SPDX-License-Identifier: MIT */
#ifndef K2I_TESTS_UNIT_SETTINGS_HELP_H
#define K2I_TESTS_UNIT_SETTINGS_HELP_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "config/settings.h"
#include "config/table.h"

struct findings {
	char text[16384];
	size_t bytes;
	unsigned errors, notes;
};

static char path[256];

static inline void keep(void *argument, enum k2i_finding kind, const char *file, unsigned line, const char *text)
{
	struct findings *findings = argument;

	(void)file;
	*(kind == K2I_FINDING_ERROR ? &findings->errors : &findings->notes) += 1;
	findings->bytes += (size_t)snprintf(findings->text + findings->bytes, sizeof(findings->text) - findings->bytes,
					    "%u: %s: %s\n", line, kind == K2I_FINDING_ERROR ? "error" : "note", text);
	assert_true(findings->bytes < sizeof(findings->text));
}

static inline void write_file(const char *text)
{
	FILE *file;

	(void)snprintf(path, sizeof(path), "%.200s/k2hft-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	file = fdopen(mkstemp(path), "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static inline struct k2i_settings *check(const char *text, struct findings *findings)
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

static inline struct k2i_settings *load(const char *text)
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
static inline void expect_error(const char *text, unsigned line, const char *part)
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

#endif
