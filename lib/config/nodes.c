/* SPDX-License-Identifier: MIT */
/* Lists in NAME of SVRNODE. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/table.h"

#define NAME_BYTES_MAX 255u
#define NUMBER_DIGITS_MAX 9u
#define DIGITS "0123456789"

/* The nodes of all sections so far, while one of them is looked at. */
struct expansion {
	struct k2i_checker *checker;
	struct k2i_node *nodes;
	size_t count;
	const struct k2i_node *from;
	int status; /* -EINVAL: a finding was made */
};

static void refuse(struct expansion *expansion, const char *what)
{
	if (expansion->status == 0)
		k2i_checker_find(expansion->checker, K2I_FINDING_ERROR, expansion->from->place, "NAME = %s %s",
				 expansion->from->name, what);
	expansion->status = -EINVAL;
}

static void node_add(struct expansion *expansion, const char *name)
{
	struct k2i_node *larger, *node;

	if (expansion->count == K2HFT_TARGETS_MAX) {
		refuse(expansion, "makes more than 256 receivers: the most that there can be");
		return;
	}
	larger = reallocarray(expansion->nodes, expansion->count + 1, sizeof(*larger));
	if (!larger) {
		expansion->status = -ENOMEM;
		return;
	}
	expansion->nodes = larger;
	node = &larger[expansion->count++];
	*node = *expansion->from;
	if (k2i_values_own(K2I_SECTION_SVRNODE, node))
		expansion->status = -ENOMEM;
	if (!name || expansion->status)
		return;
	free(node->name);
	node->name = strdup(name);
	if (!node->name)
		expansion->status = -ENOMEM;
}

static void name_go_on(struct expansion *expansion, const char *made, const char *rest);

static void value_go_on(struct expansion *expansion, const char *made, const char *value, size_t bytes,
			const char *rest)
{
	char name[NAME_BYTES_MAX + 1];
	size_t made_bytes = strlen(made);

	if (made_bytes + bytes > NAME_BYTES_MAX) {
		refuse(expansion, "makes a name of more than 255 bytes");
		return;
	}
	memcpy(name, made, made_bytes);
	memcpy(name + made_bytes, value, bytes);
	name[made_bytes + bytes] = '\0';
	name_go_on(expansion, name, rest);
}

static void numbers_go_on(struct expansion *expansion, const char *made, const char *element, const char *rest)
{
	size_t digits = strspn(element, DIGITS);
	unsigned long number = strtoul(element, NULL, 10), last = strtoul(element + digits + 1, NULL, 10);
	char value[NUMBER_DIGITS_MAX + 1];

	for (; number <= last && expansion->status == 0; number++) {
		(void)snprintf(value, sizeof(value), "%0*lu", *element == '0' ? (int)digits : 1, number);
		value_go_on(expansion, made, value, strlen(value), rest);
	}
}

static bool is_numbers(const char *element, size_t bytes)
{
	size_t first = strspn(element, DIGITS), second;

	if (!first || first > NUMBER_DIGITS_MAX || element[first] != '-')
		return false;
	second = strspn(element + first + 1, DIGITS);
	return second && second <= NUMBER_DIGITS_MAX && first + 1 + second == bytes &&
	       strtoul(element, NULL, 10) <= strtoul(element + first + 1, NULL, 10);
}

static bool is_letters(const char *element, size_t bytes)
{
	return bytes == 3 && element[1] == '-' && isalpha((unsigned char)element[0]) &&
	       isalpha((unsigned char)element[2]) && element[0] <= element[2] &&
	       !isupper((unsigned char)element[0]) == !isupper((unsigned char)element[2]);
}

static bool is_word(const char *element, size_t bytes)
{
	size_t at = 0;

	while (at < bytes && isalnum((unsigned char)element[at]))
		at++;
	return bytes && at == bytes;
}

static void element_go_on(struct expansion *expansion, const char *made, const char *element, size_t bytes,
			  const char *rest)
{
	if (is_numbers(element, bytes)) {
		numbers_go_on(expansion, made, element, rest);
	} else if (is_letters(element, bytes)) {
		for (char letter = element[0]; letter <= element[2] && expansion->status == 0; letter++)
			value_go_on(expansion, made, &letter, 1, rest);
	} else if (is_word(element, bytes)) {
		value_go_on(expansion, made, element, bytes, rest);
	} else {
		refuse(expansion,
		       "has brackets without a list: use [1-5], [01-12], [a-c] or [x,y], or several of them with "
		       "commas");
	}
}

/* The depth is that of the brackets in a name, which has 255 bytes at most. */
static void name_go_on(struct expansion *expansion, const char *made, const char *rest)
{
	size_t bytes = strcspn(rest, "[]");
	const char *close = rest[bytes] == '[' ? strchr(rest + bytes, ']') : NULL, *element;
	char name[NAME_BYTES_MAX + 1];

	if (strlen(made) + bytes > NAME_BYTES_MAX) {
		refuse(expansion, "makes a name of more than 255 bytes");
		return;
	}
	(void)snprintf(name, sizeof(name), "%s%.*s", made, (int)bytes, rest);
	if (!rest[bytes]) {
		node_add(expansion, name);
		return;
	}
	if (!close) {
		refuse(expansion, "has a bracket that is not closed, or not opened");
		return;
	}
	for (element = rest + bytes + 1; element <= close && expansion->status == 0; element += bytes + 1) {
		bytes = strcspn(element, ",]");
		element_go_on(expansion, name, element, bytes, close + 1);
	}
}

/* A section whose list is wrong stays, so that nobody misses it. */
static int section_expand(struct expansion *expansion)
{
	const char *name = expansion->from->name;
	size_t before = expansion->count;

	if (name && strpbrk(name, "[]"))
		name_go_on(expansion, "", name);
	else
		node_add(expansion, NULL);
	if (expansion->status != -EINVAL)
		return expansion->status;
	while (expansion->count > before)
		k2i_values_clear(K2I_SECTION_SVRNODE, &expansion->nodes[--expansion->count]);
	expansion->status = 0;
	node_add(expansion, NULL);
	return expansion->status == -ENOMEM ? -ENOMEM : 0;
}

int k2i_nodes_expand(struct k2i_checker *checker)
{
	struct k2i_settings *settings = checker->settings;
	struct expansion expansion = {.checker = checker};
	int status = 0;

	for (size_t number = 0; number < settings->server_count && status == 0; number++) {
		expansion.from = &settings->servers[number];
		status = section_expand(&expansion);
	}
	for (size_t number = 0; number < settings->server_count; number++)
		k2i_values_clear(K2I_SECTION_SVRNODE, &settings->servers[number]);
	free(settings->servers);
	settings->servers = expansion.nodes;
	settings->server_count = expansion.count;
	return status;
}
