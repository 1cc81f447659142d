/* SPDX-License-Identifier: MIT */
#include "app/rules/hosts.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "app/rules/pattern.h"

#define HOST_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:_-"
#define DIGITS "0123456789"
#define DIGITS_MAX 9u /* of a number in a list */
#define NO_HOST "~"   /* what no name and no address has in it */

struct host {
	char *list;              /* NULL: the expression */
	struct k2i_regex *regex; /* NULL: the list */
};

struct k2i_hosts {
	struct host *hosts;
	size_t count;
	struct k2i_regex_scratch *scratch;
};

/* Lists ---------------------------------------------------------------------------------------------------------- */

static const char *element_end(const char *element)
{
	return element + strcspn(element, ",]");
}

static size_t number_bytes(const char *text)
{
	size_t bytes = strspn(text, DIGITS);

	return bytes <= DIGITS_MAX ? bytes : 0;
}

/* "1-12", "a-f": whether a range is in front, and where its second half begins. */
static const char *range_second(const char *element, const char *end)
{
	size_t first = number_bytes(element);
	const char *second = element + (first ? first : 1);

	if (end - element < 3 || *second++ != '-')
		return NULL;
	/* A range that goes backwards is no list, and a mistake in an expression, too. */
	if (first)
		return number_bytes(second) > 0 && second + number_bytes(second) == end &&
				       strtoul(element, NULL, 10) <= strtoul(second, NULL, 10)
			       ? second
			       : NULL;
	return isalpha((unsigned char)*element) && isalpha((unsigned char)*second) && second + 1 == end &&
			       *element <= *second
		       ? second
		       : NULL;
}

static bool element_valid(const char *element, const char *end, bool alone)
{
	const char *at = element;

	if (range_second(element, end))
		return true;
	while (at < end && isalnum((unsigned char)*at))
		at++;
	/* [abc] is one of three letters in every regular expression, and as a list of one it would say nothing. */
	return at == end && at > element && !(alone && at - element > 1);
}

/* The bracket behind a list that begins at `open`; NULL: it is not a list. */
static const char *list_end(const char *open)
{
	const char *element, *end;

	for (element = open + 1;; element = end + 1) {
		end = element_end(element);
		if (!*end || !element_valid(element, end, element == open + 1 && *end == ']'))
			return NULL;
		if (*end == ']')
			return end;
	}
}

static bool is_list(const char *text)
{
	for (text += strspn(text, HOST_CHARACTERS); *text == '['; text += strspn(text, HOST_CHARACTERS)) {
		text = list_end(text);
		if (!text)
			return false;
		text++;
	}
	return !*text;
}

static bool list_match(const char *list, const char *name);

static bool numbers_match(const char *element, const char *second, const char *rest, const char *name)
{
	unsigned long low = strtoul(element, NULL, 10), high = strtoul(second, NULL, 10), number = 0;
	size_t width = element[0] == '0' ? number_bytes(element) : 0, digits;

	/* As many digits as there are, then fewer: [1-20]5 can be 15. */
	digits = strspn(name, DIGITS);
	for (digits = digits < DIGITS_MAX ? digits : DIGITS_MAX; digits > 0; digits--) {
		if (width ? digits < width || (digits > width && name[0] == '0') : digits > 1 && name[0] == '0')
			continue;
		number = 0;
		for (size_t at = 0; at < digits; at++)
			number = number * 10 + (unsigned long)(name[at] - '0');
		if (number >= low && number <= high && list_match(rest, name + digits))
			return true;
	}
	return false;
}

static bool element_match(const char *element, const char *end, const char *rest, const char *name)
{
	const char *second = range_second(element, end);
	size_t bytes = (size_t)(end - element);

	if (second && isdigit((unsigned char)*element))
		return numbers_match(element, second, rest, name);
	if (second)
		return tolower((unsigned char)*name) >= tolower((unsigned char)*element) &&
		       tolower((unsigned char)*name) <= tolower((unsigned char)*second) && list_match(rest, name + 1);
	return strncasecmp(element, name, bytes) == 0 && list_match(rest, name + bytes);
}

/* The depth is that of the list's brackets, which the administrator has written. */
static bool list_match(const char *list, const char *name)
{
	const char *element, *end, *close;

	for (; *list && *list != '['; list++, name++)
		if (tolower((unsigned char)*list) != tolower((unsigned char)*name))
			return false;
	if (!*list)
		return !*name;
	close = strchr(list, ']');
	for (element = list + 1; element <= close; element = end + 1) {
		end = element_end(element);
		if (element_match(element, end, close + 1, name))
			return true;
	}
	return false;
}

/* All ------------------------------------------------------------------------------------------------------------ */

static bool host_match(const struct k2i_hosts *hosts, const struct host *host, const char *name)
{
	return host->list ? list_match(host->list, name)
			  : k2i_regex_match(host->regex, hosts->scratch, name, strlen(name), NULL) == 1;
}

bool k2i_hosts_match(const struct k2i_hosts *hosts, const char *name)
{
	size_t number;

	for (number = 0; number < hosts->count; number++)
		if (host_match(hosts, &hosts->hosts[number], name))
			return true;
	return false;
}

/* Whether each alternative is ^...$. Text between brackets or parentheses belongs to one name. */
static bool is_whole(const char *expression)
{
	const char *begin = expression, *at;
	bool in_class = false;
	int depth = 0;

	for (at = expression; *at; at++) {
		if (*at == '\\' && at[1]) {
			at++;
		} else if (in_class || *at == '[') {
			in_class = *at != ']';
		} else if (*at == '(' || *at == ')') {
			depth += *at == '(' ? 1 : -1;
		} else if (*at == '|' && depth == 0) {
			if (*begin != '^' || at[-1] != '$')
				return false;
			begin = at + 1;
		}
	}
	return *begin == '^' && at[-1] == '$';
}

/* Names that an expression lets in and that its author may not think of. */
static void expression_check(const struct k2i_hosts *hosts, const struct host *host, const struct k2i_sender_node *node,
			     k2i_settings_report *report, void *argument)
{
	if (host_match(hosts, host, NO_HOST))
		report(argument, K2I_FINDING_WARNING, node->place.file, node->place.line,
		       "NAME of [SLVNODE] lets every host connect");
	else if (!is_whole(node->name))
		report(argument, K2I_FINDING_WARNING, node->place.file, node->place.line,
		       "NAME of [SLVNODE] is a regular expression, found anywhere in a name: begin it, and each "
		       "alternative of it, with ^ and end it with $, or longer names are let in, too");
}

/*
 * An address can be written in many ways, also in brackets as in a URL, which as an expression would take nearly every
 * name; peers have it in one.
 */
static bool address_read(const char *name, char text[INET6_ADDRSTRLEN])
{
	unsigned char address[sizeof(struct in6_addr)];
	size_t bytes = strlen(name);
	bool brackets = *name == '[' && name[bytes - 1] == ']';

	bytes -= brackets ? 2 : 0;
	if (bytes >= INET6_ADDRSTRLEN)
		return false;
	(void)snprintf(text, INET6_ADDRSTRLEN, "%.*s", (int)bytes, name + brackets);
	return inet_pton(AF_INET6, text, address) == 1 && inet_ntop(AF_INET6, address, text, INET6_ADDRSTRLEN);
}

static int host_compile(const struct k2i_hosts *hosts, struct host *host, const struct k2i_sender_node *node,
			k2i_settings_report *report, void *argument)
{
	char message[512] = "", address[INET6_ADDRSTRLEN];
	bool is_address = address_read(node->name, address);
	int error;

	if (is_address || is_list(node->name)) {
		host->list = strdup(is_address ? address : node->name);
		return host->list ? 0 : -ENOMEM;
	}
	error = k2i_regex_compile(node->name, strlen(node->name), true, &host->regex, message, sizeof(message));
	if (error == -EINVAL)
		report(argument, K2I_FINDING_ERROR, node->place.file, node->place.line, message);
	else if (!error)
		expression_check(hosts, host, node, report, argument);
	return error;
}

int k2i_hosts_compile(const struct k2i_settings *settings, k2i_settings_report *report, void *argument,
		      struct k2i_hosts **hosts)
{
	struct k2i_hosts *made;
	int error, status;

	*hosts = NULL;
	if (!settings->sender_count)
		return 0;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->hosts = calloc(settings->sender_count, sizeof(*made->hosts));
	status = made->hosts ? k2i_regex_scratch_create(&made->scratch) : -ENOMEM;
	while (status != -ENOMEM && made->count < settings->sender_count) {
		/* A section without NAME is an error that was reported. */
		error = settings->senders[made->count].name
				? host_compile(made, &made->hosts[made->count], &settings->senders[made->count], report,
					       argument)
				: -EINVAL;
		made->count++;
		status = error ? error : status;
	}
	if (status)
		k2i_hosts_free(made);
	else
		*hosts = made;
	return status;
}

void k2i_hosts_free(struct k2i_hosts *hosts)
{
	size_t number;

	if (!hosts)
		return;
	for (number = 0; number < hosts->count; number++) {
		free(hosts->hosts[number].list);
		k2i_regex_free(hosts->hosts[number].regex);
	}
	free(hosts->hosts);
	k2i_regex_scratch_free(hosts->scratch);
	free(hosts);
}
