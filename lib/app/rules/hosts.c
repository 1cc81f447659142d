/* SPDX-License-Identifier: MIT */
#include "app/rules/hosts.h"

#include <arpa/inet.h>
#include <assert.h>
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
#define MAPPED_BITS 96u
#define NO_HOST "~" /* what no name and no address has in it */

struct host {
	char *list;              /* or */
	struct k2i_regex *regex; /* or a network */
	int family;
	unsigned char address[sizeof(struct in6_addr)];
	unsigned bits; /* of the address that count */
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

/* Networks ------------------------------------------------------------------------------------------------------- */

/* ::ffff:192.0.2.1, whose peer has an address of IPv4 here. */
static bool is_mapped(const unsigned char *address)
{
	static const unsigned char mapped[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

	static_assert(sizeof(mapped) == MAPPED_BITS / 8, "what is in front of an address of IPv4");
	return memcmp(address, mapped, sizeof(mapped)) == 0;
}

static unsigned address_bits(int family)
{
	return family == AF_INET ? 32 : 128;
}

/* How many bits a mask such as 255.255.255.0 has in front, or more than 32 if others are set. */
static unsigned mask_bits(const char *text)
{
	struct in_addr mask;
	unsigned bits = 0;

	if (inet_pton(AF_INET, text, &mask) != 1)
		return 33;
	while (bits < 32 && ntohl(mask.s_addr) << bits >> 31)
		bits++;
	return bits < 32 && ntohl(mask.s_addr) << bits ? 33 : bits;
}

/* ADDRESS/BITS, or ADDRESS/MASK of IPv4. */
static bool network_read(const char *text, struct host *host)
{
	const char *slash = strchr(text, '/');
	char address[INET6_ADDRSTRLEN];

	if (!slash || slash - text >= INET6_ADDRSTRLEN)
		return false;
	(void)snprintf(address, sizeof(address), "%.*s", (int)(slash - text), text);
	host->family = strchr(address, ':') ? AF_INET6 : AF_INET;
	if (inet_pton(host->family, address, host->address) != 1)
		return false;
	if (number_bytes(++slash) && !slash[number_bytes(slash)])
		host->bits = (unsigned)strtoul(slash, NULL, 10);
	else
		host->bits = host->family == AF_INET ? mask_bits(slash) : 129;
	if (host->family == AF_INET6 && host->bits >= MAPPED_BITS && is_mapped(host->address)) {
		host->family = AF_INET;
		memmove(host->address, host->address + MAPPED_BITS / 8, sizeof(struct in_addr));
		host->bits -= MAPPED_BITS;
	}
	return host->bits <= address_bits(host->family);
}

static bool network_match(const struct host *host, const char *name)
{
	unsigned char address[sizeof(struct in6_addr)];
	unsigned whole = host->bits / 8, rest = host->bits % 8;

	return inet_pton(host->family, name, address) == 1 && memcmp(address, host->address, whole) == 0 &&
	       (!rest || (address[whole] ^ host->address[whole]) >> (8 - rest) == 0);
}

/* All ------------------------------------------------------------------------------------------------------------ */

static bool host_match(const struct k2i_hosts *hosts, const struct host *host, const char *name)
{
	if (host->list)
		return list_match(host->list, name);
	return host->regex ? k2i_regex_match(host->regex, hosts->scratch, name, strlen(name), NULL) == 1
			   : network_match(host, name);
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
	if (inet_pton(AF_INET6, text, address) != 1)
		return false;
	if (is_mapped(address))
		return inet_ntop(AF_INET, address + MAPPED_BITS / 8, text, INET6_ADDRSTRLEN);
	return inet_ntop(AF_INET6, address, text, INET6_ADDRSTRLEN);
}

struct compiler {
	struct k2i_hosts *hosts;
	const struct k2i_sender_node *node;
	k2i_settings_report *report;
	void *argument;
};

static void say(const struct compiler *compiler, enum k2i_finding finding, const char *text, const char *name)
{
	char whole[1024];

	(void)snprintf(whole, sizeof(whole), text, name);
	if (compiler->report)
		compiler->report(compiler->argument, finding, compiler->node->place.file, compiler->node->place.line,
				 whole);
}

static struct host *host_add(struct k2i_hosts *hosts)
{
	struct host *larger = reallocarray(hosts->hosts, hosts->count + 1, sizeof(*larger));

	if (!larger)
		return NULL;
	hosts->hosts = larger;
	larger[hosts->count] = (struct host){.list = NULL};
	return &larger[hosts->count++];
}

static int expression_compile(const struct compiler *compiler)
{
	const char *name = compiler->node->name;
	struct host *host = host_add(compiler->hosts);
	char message[512] = "";
	int error =
		host ? k2i_regex_compile(name, strlen(name), true, &host->regex, message, sizeof(message)) : -ENOMEM;

	if (error == -EINVAL)
		say(compiler, K2I_FINDING_ERROR, "%s", message);
	if (error)
		return error;
	/* Names that it lets in and that its author may not think of. */
	if (host_match(compiler->hosts, host, NO_HOST))
		say(compiler, K2I_FINDING_WARNING, "NAME of [SLVNODE] lets every host connect", NULL);
	else if (!is_whole(name))
		say(compiler, K2I_FINDING_WARNING,
		    "NAME of [SLVNODE] is a regular expression, found anywhere in a name: begin it, and each "
		    "alternative of it, with ^ and end it with $, or longer names are let in, too",
		    NULL);
	return 0;
}

/* 1: it is an address, a network, a name or a list of names. */
static int element_compile(const struct compiler *compiler, const char *element)
{
	char address[INET6_ADDRSTRLEN];
	bool is_address = address_read(element, address);
	struct host network = {.list = NULL}, *host;

	if (!is_address && !is_list(element) && !network_read(element, &network))
		return 0;
	host = host_add(compiler->hosts);
	if (!host)
		return -ENOMEM;
	if (!is_address && strchr(element, '/')) {
		*host = network;
		return 1;
	}
	host->list = strdup(is_address ? address : element);
	if (!is_address && (*element == '.' || element[strlen(element) - 1] == '.' || strchr(element, ':')))
		say(compiler, K2I_FINDING_WARNING,
		    "NAME of [SLVNODE]: no host is called %s: write a whole name or address, a network as "
		    "192.0.2.0/24, or a regular expression",
		    element);
	return host->list ? 1 : -ENOMEM;
}

/* The end of an element of NAME: a comma or a blank that is not in brackets or braces. */
static char *name_part_end(char *part)
{
	bool inside = false;

	while (*part && (inside || !strchr(", \t", *part)))
		inside = strchr("[{", *part) || (inside && !strchr("]}", *part)), part++;
	return part;
}

/* NAME is a list of names, addresses and networks, or else one expression. */
static int name_compile(const struct compiler *compiler)
{
	char *name = strdup(compiler->node->name), *part = name, *end;
	size_t before = compiler->hosts->count;
	int status = name ? 1 : -ENOMEM;

	for (; status == 1 && *(part += strspn(part, ", \t")); part = end) {
		end = name_part_end(part);
		if (*end)
			*end++ = '\0';
		status = element_compile(compiler, part);
		if (status == 0 && (strchr(part, '/') || strcmp(part, compiler->node->name) != 0)) {
			say(compiler, K2I_FINDING_ERROR,
			    "NAME of [SLVNODE]: %s is no name, no address and no network as 192.0.2.0/24; an "
			    "expression needs a section of its own",
			    part);
			status = -EINVAL;
		}
	}
	free(name);
	if (status < 0)
		return status;
	return compiler->hosts->count > before ? 0 : expression_compile(compiler);
}

int k2i_hosts_compile(const struct k2i_settings *settings, k2i_settings_report *report, void *argument,
		      struct k2i_hosts **hosts)
{
	struct compiler compiler = {.report = report, .argument = argument};
	int error, status;

	*hosts = NULL;
	if (!settings->sender_count)
		return 0;
	compiler.hosts = calloc(1, sizeof(*compiler.hosts));
	if (!compiler.hosts)
		return -ENOMEM;
	status = k2i_regex_scratch_create(&compiler.hosts->scratch);
	for (size_t number = 0; status != -ENOMEM && number < settings->sender_count; number++) {
		compiler.node = &settings->senders[number];
		/* A section without NAME is an error that was reported. */
		error = compiler.node->name ? name_compile(&compiler) : -EINVAL;
		status = error ? error : status;
	}
	if (status)
		k2i_hosts_free(compiler.hosts);
	else
		*hosts = compiler.hosts;
	return status;
}

void k2i_hosts_free(struct k2i_hosts *hosts)
{
	if (!hosts)
		return;
	for (size_t number = 0; number < hosts->count; number++) {
		free(hosts->hosts[number].list);
		k2i_regex_free(hosts->hosts[number].regex);
	}
	free(hosts->hosts);
	k2i_regex_scratch_free(hosts->scratch);
	free(hosts);
}
