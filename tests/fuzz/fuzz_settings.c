/* SPDX-License-Identifier: MIT */
/*
 * Configuration files: reader, table, checks, who may connect, print. Settings without errors that are printed must be
 * read again without errors, and print the same.
 */
#include <fcntl.h>

#include "fuzz.h"
#include "app/rules/hosts.h"
#include "config/settings.h"

/* fuzz_yaml.c is this with another one. */
#ifndef FUZZ_SUFFIX
#define FUZZ_SUFFIX ".conf"
#endif

static void on_finding(void *argument, enum k2i_finding finding, const char *file, unsigned line, const char *text)
{
	unsigned *errors = argument;

	(void)line;
	fuzz_check(file && *file && text && *text);
	*errors += finding == K2I_FINDING_ERROR;
}

static void file_write(const char *path, const void *bytes, size_t byte_count)
{
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	fuzz_check(file >= 0);
	fuzz_check(write(file, bytes, byte_count) == (ssize_t)byte_count);
	fuzz_check(close(file) == 0);
}

static void hosts_run(const struct k2i_settings *settings)
{
	static const char *const names[] = {"", "web1.example.com", "192.0.2.7", "web-0012a", "2001:db8::7"};
	struct k2i_hosts *hosts;
	unsigned errors = 0;

	fuzz_check(k2i_hosts_compile(settings, on_finding, &errors, &hosts) == 0 || !hosts);
	for (size_t at = 0; hosts && at < sizeof(names) / sizeof(names[0]); at++)
		(void)k2i_hosts_match(hosts, names[at]);
	/* Each is for itself at least, if it is no list and no expression. */
	for (size_t at = 0; hosts && at < settings->sender_count; at++) {
		const char *name = settings->senders[at].name;

		if (!name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.")])
			fuzz_check(k2i_hosts_match(hosts, name));
	}
	k2i_hosts_free(hosts);
}

static char *printed(const struct k2i_settings *settings, size_t *bytes)
{
	char *text = NULL;
	FILE *output = open_memstream(&text, bytes);

	fuzz_check(output);
	fuzz_check(k2i_settings_print(settings, output) == 0);
	fuzz_check(fclose(output) == 0);
	return text;
}

static void again_check(const char *path, const char *text, size_t bytes)
{
	struct k2i_settings *settings;
	char message[1024] = "", *again;
	size_t again_bytes;

	file_write(path, text, bytes);
	if (k2i_settings_load(path, &settings, message, sizeof(message)) != 0) {
		(void)fprintf(stderr, "%s", text);
		fuzz_failed(message, path, 0);
	}
	again = printed(settings, &again_bytes);
	fuzz_check(again_bytes == bytes && memcmp(text, again, bytes) == 0);
	free(again);
	k2i_settings_free(settings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct k2i_settings *settings;
	unsigned errors = 0;
	char path[300], *text;
	size_t bytes;
	int status;

	(void)snprintf(path, sizeof(path), "%s/fuzz" FUZZ_SUFFIX, fuzz_folder());
	file_write(path, data, size);
	status = k2i_settings_check(path, on_finding, &errors, &settings);
	fuzz_check(status >= 0 && (unsigned)status == errors);
	hosts_run(settings);
	text = printed(settings, &bytes);
	k2i_settings_free(settings);
	(void)snprintf(path, sizeof(path), "%s/fuzz.conf", fuzz_folder());
	if (errors == 0)
		again_check(path, text, bytes);
	free(text);
	return 0;
}
