/* SPDX-License-Identifier: MIT */
#ifndef K2I_TOOLS_BASE_NUMBERS_H
#define K2I_TOOLS_BASE_NUMBERS_H

#include <stdint.h>

#define RECEIVER_PORT_DEFAULT "8020"
#define RECEIVER_NEEDED "HOST or HOST:PORT is needed, with a port from 1 to 65535"

/* Readers of arguments that several subcommands have. -EINVAL: the text is something else. */

/* A decimal number, nothing before or behind it. */
int number_parse(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *number);
/* K2HFT_LEVEL_RECEIVED and on, and K2HFT_COMPRESS_*. */
extern const char *const level_names[], *const compress_names[];
/* Where a word stands in a list that NULL ends. */
int word_parse(const char *text, const char *const *words, uint64_t *place);
/* Bytes; K, M and G behind the number are powers of 1,024. */
int size_parse(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *bytes);
#define NUMBER_LIST_MAX 16u
struct number_list {
	uint64_t values[NUMBER_LIST_MAX];
	unsigned count;
};
/* The largest; 0 of none. */
uint64_t number_list_most(const struct number_list *list);

/* Thousands apart. */
#define NUMBER_TEXT_ROOM 32u
const char *number_text(uint64_t number, char text[NUMBER_TEXT_ROOM]);
/*
 * HOST, HOST:PORT, [ADDRESS] or [ADDRESS]:PORT; an address with several colons needs no brackets without a port. `*host`
 * and `*port` are in `copy` then; without a port that is `port_default`, which can be "": one is needed.
 */
#define RECEIVER_ROOM 1100u
int receiver_parse(const char *given, const char *port_default, char copy[RECEIVER_ROOM], const char **host,
		   const char **port);

#endif
