/* SPDX-License-Identifier: MIT */
#ifndef K2I_CONFIG_INI_READ_H
#define K2I_CONFIG_INI_READ_H

#include <stdbool.h>

/* INI files, entry by entry; what sections and keys there are is not known here. */
struct k2i_ini_entry {
	const char *file;
	unsigned line;
	const char *section;     /* "" before the first header */
	unsigned section_number; /* counts headers: tells two sections of one name apart */
	const char *name;        /* NULL: this is the section's header */
	const char *value;       /* all behind the first '=', without blanks around it and without a comment */
	bool literal;            /* quotes in the value are part of it */
};

struct k2i_ini_calls {
	/* Each header and each key, in order. Strings are valid during the call. */
	void (*entry)(void *argument, const struct k2i_ini_entry *entry);
	/* A line that can't be understood; reading goes on behind it. */
	void (*fault)(void *argument, const char *file, unsigned line, const char *text);
	void *argument;
};

/*
 * Reads an INI file and the files that it includes ("INCLUDE path", taken from the directory of the including file, put
 * in its place as text). 0 if it was read, whatever was found in it; -errno if `file` can't be opened or read.
 */
int k2i_ini_read(const char *file, const struct k2i_ini_calls *calls);

/*
 * Takes the quotes off a value, in place: '...' is literal; in "..." \" and \\ stand for " and \ and any other backslash
 * stays; outside quotes a backslash makes a quote, a blank, # or \ literal and stays before anything else.
 */
void k2i_ini_unquote(char *value);

#endif
