/* SPDX-License-Identifier: MIT */
/*
 * A plug-in: lets records pass that have a text, in capital letters.
 *
 *	cc plugin_filter.c -o plugin_filter
 *	PLUGIN = /usr/local/bin/plugin_filter error
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	char *record = NULL;
	size_t room = 0;
	ssize_t bytes;

	/* Each record is written at once: what is read and not written is lost if this process dies. */
	while (argc == 2 && (bytes = getline(&record, &room, stdin)) > 0) {
		if (!memmem(record, (size_t)bytes, argv[1], strlen(argv[1])))
			continue;
		for (char *at = record; at < record + bytes; at++)
			*at = (char)toupper((unsigned char)*at);
		if (fwrite(record, 1, (size_t)bytes, stdout) != (size_t)bytes || fflush(stdout))
			return 1;
	}
	free(record);
	return argc != 2;
}
