/* SPDX-License-Identifier: MIT */
#ifndef K2I_CONFIG_TABLE_H
#define K2I_CONFIG_TABLE_H

#include "config/settings.h"

/* settings.def as data, for the files of this folder. */

enum k2i_value_type {
	K2I_TYPE_TEXT,
	K2I_TYPE_PATH,     /* absolute */
	K2I_TYPE_RELATIVE, /* no "..", no leading slash; or a character device */
	K2I_TYPE_TARGET,   /* path below the mount, normalised */
	K2I_TYPE_OUTPUT,   /* absolute; /dev/null is none */
	K2I_TYPE_FILE,     /* absolute; null is none, which hides what another section says */
	K2I_TYPE_COMMAND,  /* a program and its arguments, with their quotes as written */
	K2I_TYPE_PERIOD,   /* rotation.h */
	K2I_TYPE_KEEP,     /* rotation.h */
	K2I_TYPE_HOST,     /* name or address; an address in brackets is stored without them */
	K2I_TYPE_URL,      /* http or https, without user, query and fragment */
	K2I_TYPE_SERVERS,  /* remote.h: a list of them */
	K2I_TYPE_HEADERS,  /* remote.h: a list of them */
	K2I_TYPE_OPTIONS,  /* of a library, named behind the key's dot; repeatable */
	K2I_TYPE_PATTERN,  /* kept raw, repeatable */
	K2I_TYPE_PREFIX,   /* the beginning of a path below the mount, with octal and hexadecimal escapes; repeatable */
	K2I_TYPE_FILTER,   /* kinds of K2HASH transactions that are not sent */
	K2I_TYPE_NUMBER,
	K2I_TYPE_SIZE, /* a number with K, M, G or T behind it */
	K2I_TYPE_MODE, /* of a file: the permissions, octal */
	/* Words of a list from here on. */
	K2I_TYPE_BOOLEAN,
	K2I_TYPE_SSL,
	K2I_TYPE_TLS_VERSION,
	K2I_TYPE_QUEUE,
	K2I_TYPE_FULL,
	K2I_TYPE_WRITE_MODE,
	K2I_TYPE_COMPRESS,
	K2I_TYPE_GZIP,
	K2I_TYPE_RELOAD,
	K2I_TYPE_VERDICT,
	K2I_TYPE_OUTPUTS, /* a list of them */
	K2I_TYPE_OPEN_MODE,
	K2I_TYPE_CACHE,
	K2I_TYPE_FILE_SYNC,
	K2I_TYPE_ROTATE_COMPRESS,
	K2I_TYPE_SPREAD,
	K2I_TYPE_KAFKA_BATCH,
	K2I_TYPE_COUNT
};

#define K2I_FILE_NONE "null" /* of K2I_TYPE_FILE */

struct k2i_word {
	const char *text; /* NULL: end of the list. The first with a value is how that value is printed */
	unsigned value;
	bool refused; /* known, and not available in this version */
};

enum k2i_effect { K2I_EFFECT_SETTING, K2I_EFFECT_ACCEPTED, K2I_EFFECT_REFUSED };

struct k2i_setting {
	enum k2i_section section;
	const char *name;
	enum k2i_value_type type;
	const char *unit;
	uint64_t minimum, maximum;
	const char *default_text;
	enum k2i_effect effect;
	size_t field_offset, field_bytes; /* in the section's struct */
	const char *help;                 /* or the reason of K2I_EFFECT_ACCEPTED and _REFUSED */
};

extern const struct k2i_setting k2i_settings_table[];
extern const size_t k2i_settings_table_count;

const char *k2i_section_name(enum k2i_section section);
/* K2I_SECTION_COUNT: there is no such section. */
enum k2i_section k2i_section_find(const char *name);
const struct k2i_word *k2i_type_words(enum k2i_value_type type);

/* Any case. NULL: the section has no such key. */
const struct k2i_setting *k2i_setting_find(enum k2i_section section, const char *name);
/* The word that TYPE lacks for the key to have an effect; NULL: it has one. `settings` is read for keys of a receiver only. */
const char *k2i_setting_idle(const struct k2i_setting *setting, const struct k2i_settings *settings);
/* The known name that is little different from `name`, NULL if none is. */
const char *k2i_section_nearest(const char *name);
const char *k2i_setting_nearest(enum k2i_section section, const char *name);
/* Another section that has this key; K2I_SECTION_COUNT: none. */
enum k2i_section k2i_setting_elsewhere(const char *name);

/* Parses text without quotes into the field of `object`, if the key has an effect. 0, -ENOMEM, or -EINVAL with the reason. */
int k2i_value_parse(const struct k2i_setting *setting, const char *text, void *object, char *message,
		    size_t message_room);
/* Puts what K2I_TYPE_PREFIX says in place of the text. False: it can't be the beginning of a path. */
bool k2i_prefix_parse(char *text);
/* Sets every field of a section's struct to its default. 0 or -ENOMEM. */
int k2i_values_default(enum k2i_section section, void *object);
/* Gives a copy of a section's struct texts of its own. */
int k2i_values_own(enum k2i_section section, void *object);
/* Frees every text of a section's struct, and sets every field to 0. */
void k2i_values_clear(enum k2i_section section, void *object);
/* False: a text or number that has no default and was not given. */
bool k2i_value_set(const struct k2i_setting *setting, const void *object);
/* Whether two structs of a section say the same. */
bool k2i_value_same(const struct k2i_setting *setting, const void *a, const void *b);
/* A range's end, a default or a field as one would write it in a file: sizes with a suffix, texts with quotes. */
void k2i_value_print_number(const struct k2i_setting *setting, uint64_t value, FILE *output);
void k2i_value_print(const struct k2i_setting *setting, const void *object, FILE *output);

/* Where a file says what: the last header of each section, and each key, indexed as the table. */
struct k2i_places {
	struct k2i_place sections[K2I_SECTION_COUNT];
	struct k2i_place keys[];
};
/* Where a key is said; without a file, it is not. */
struct k2i_place k2i_settings_key_place(const struct k2i_settings *settings, enum k2i_section section, const char *key);

/* "line LINE" for a reader of `file`, else "FILE:LINE". */
const char *k2i_place_text(const struct k2i_place *place, const char *file, char *text, size_t room);

/* For those who find something. */
struct k2i_checker {
	struct k2i_settings *settings;
	k2i_settings_report *report;
	void *argument;
	int errors;
	const struct k2i_node *node; /* of a sender's receivers one that is not the first: findings are of it */
};
/* A place without file is the whole file. */
void k2i_checker_find(struct k2i_checker *checker, enum k2i_finding finding, struct k2i_place place, const char *format,
		      ...) __attribute__((format(printf, 4, 5)));
/* Finds what is wrong with the whole, though each value is right, and fits values that depend on each other. -ENOMEM. */
int k2i_settings_complete(struct k2i_checker *checker);

/* settings.c: forgets GLOBAL, SVRNODE and SLVNODE. */
void k2i_settings_nodes_clear(struct k2i_settings *settings);
/* Whether a SLVNODE says what TLS of its sender needs. */
bool k2i_sender_node_has_tls(const struct k2i_sender_node *node);

/*
 * nodes.c: puts a SVRNODE in place of each name that NAME of one lists, with its other keys. -ENOMEM; what is no list is a
 * finding.
 */
int k2i_nodes_expand(struct k2i_checker *checker);

/* own_server.c: finds the SVRNODE that the receiver is. NULL, or what is doubtful about it. */
const char *k2i_own_server_find(struct k2i_settings *settings);

/* check_remote.c: the same for destinations on other machines, the files included. */
void k2i_settings_remote_check(struct k2i_checker *checker);
/* check_tls.c: the same for all that is about TLS, the files included. */
void k2i_settings_tls_check(struct k2i_checker *checker);

#endif
