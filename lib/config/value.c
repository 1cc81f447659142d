/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <strings.h>

#include <k2hft/frame.h>
#include <k2hft/ring.h>

#include "base/address.h"
#include "config/remote.h"
#include "config/rotation.h"
#include "config/table.h"

#define MODE_MOST 0664u

static void *field(const struct k2i_setting *setting, void *object)
{
	return (char *)object + setting->field_offset;
}

__attribute__((format(printf, 3, 4))) static int refuse(char *message, size_t room, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(message, room, format, arguments);
	va_end(arguments);
	return -EINVAL;
}

/* Numbers, words and truth values are of three widths: bool, unsigned or enum, uint64_t. */
static void number_store(const struct k2i_setting *setting, uint64_t value, void *object)
{
	unsigned narrow = (unsigned)value;
	bool truth = value != 0;

	if (setting->field_bytes == sizeof(value))
		memcpy(field(setting, object), &value, sizeof(value));
	else if (setting->field_bytes == sizeof(narrow))
		memcpy(field(setting, object), &narrow, sizeof(narrow));
	else
		memcpy(field(setting, object), &truth, sizeof(truth));
}

static uint64_t number_load(const struct k2i_setting *setting, const void *object)
{
	const char *from = (const char *)object + setting->field_offset;
	uint64_t value = 0;
	unsigned narrow;
	bool truth;

	if (setting->field_bytes == sizeof(value)) {
		memcpy(&value, from, sizeof(value));
	} else if (setting->field_bytes == sizeof(narrow)) {
		memcpy(&narrow, from, sizeof(narrow));
		value = narrow;
	} else {
		memcpy(&truth, from, sizeof(truth));
		value = truth;
	}
	return value;
}

static int text_store(const struct k2i_setting *setting, const char *text, void *object)
{
	char **to = field(setting, object);
	const char *wanted = *text ? text : setting->default_text;
	char *copy = *wanted ? strdup(wanted) : NULL;

	if (*wanted && !copy)
		return -ENOMEM;
	free(*to);
	*to = copy;
	return 0;
}

/* The bits to shift by for K, M, G or T; -1: `suffix` is something else. */
static int suffix_shift(const char *suffix)
{
	static const char letters[] = "KMGT";
	const char *letter;

	if (!*suffix)
		return 0;
	letter = strchr(letters, toupper((unsigned char)*suffix));
	return letter && !suffix[1] ? 10 * (int)(letter - letters + 1) : -1;
}

static void number_text(const struct k2i_setting *setting, uint64_t value, char *text, size_t room)
{
	static const char *const suffixes[] = {"", "K", "M", "G", "T"};
	unsigned step = 0;

	if (setting->type == K2I_TYPE_SIZE)
		while (value && value % 1024 == 0 && step < 4) {
			value /= 1024;
			step++;
		}
	(void)snprintf(text, room, "%" PRIu64 "%s", value, suffixes[step]);
}

static int number_refuse(const struct k2i_setting *setting, const char *text, const char *why, char *message,
			 size_t room)
{
	char minimum[32], maximum[32];

	number_text(setting, setting->minimum, minimum, sizeof(minimum));
	number_text(setting, setting->maximum, maximum, sizeof(maximum));
	return refuse(message, room, "%s = %s is %s; use %s to %s%s%s", setting->name, *text ? text : "(nothing)", why,
		      minimum, maximum, *setting->unit ? " " : "", setting->unit);
}

static int number_parse(const struct k2i_setting *setting, const char *text, void *object, char *message, size_t room)
{
	bool size = setting->type == K2I_TYPE_SIZE;
	const char *digits = text + (*text == '-');
	uint64_t value;
	char *end;
	int shift;

	errno = 0;
	value = strtoull(digits, &end, 10);
	shift = size ? suffix_shift(end) : (*end ? -1 : 0);
	if (!isdigit((unsigned char)*digits) || shift < 0)
		return number_refuse(setting, text, size ? "not a size, such as 64M" : "not a whole number", message,
				     room);
	if (*text == '-' || errno || value > UINT64_MAX >> shift)
		return number_refuse(setting, text, "out of range", message, room);
	value <<= shift;
	if (value < setting->minimum || value > setting->maximum)
		return number_refuse(setting, text, "out of range", message, room);
	number_store(setting, value, object);
	return 0;
}

/* The receiver itself writes the file; a log that everybody can write to proves nothing. */
static int mode_parse(const struct k2i_setting *setting, const char *text, void *object, char *message, size_t room)
{
	unsigned long mode = strtoul(text, NULL, 8);

	if (!*text || text[strspn(text, "01234567")] || (mode & 0600) != 0600 || (mode | MODE_MOST) != MODE_MOST)
		return refuse(message, room,
			      "%s = %s is not possible; use 0600, 0640, 0644, 0660 or 0664: octal, the owner reads and "
			      "writes, nobody executes, and not everybody writes",
			      setting->name, *text ? text : "(nothing)");
	number_store(setting, mode, object);
	return 0;
}

static void words_list(const struct k2i_word *words, char *list, size_t room)
{
	size_t bytes = 0;

	*list = '\0';
	for (; words->text && bytes < room; words++)
		if (!words->refused)
			bytes += (size_t)snprintf(list + bytes, room - bytes, "%s%s", bytes ? ", " : "", words->text);
}

static int word_parse(const struct k2i_setting *setting, const char *text, void *object, char *message, size_t room)
{
	const struct k2i_word *word = k2i_type_words(setting->type);
	char list[128];

	while (word->text && strcasecmp(word->text, text) != 0)
		word++;
	if (!word->text) {
		words_list(k2i_type_words(setting->type), list, sizeof(list));
		return refuse(message, room, "%s = %s is not known; use one of %s", setting->name,
			      *text ? text : "(nothing)", list);
	}
	if (word->refused && setting->type == K2I_TYPE_TLS_VERSION)
		return refuse(message, room, "%s = %s is not safe any more; use TLSV1.2 or TLSV1.3", setting->name,
			      text);
	if (word->refused)
		return refuse(message, room, "%s = %s is not available in this version", setting->name, text);
	number_store(setting, word->value, object);
	return 0;
}

/* Words with commas between them, each a bit or more. */
static int word_list_parse(const struct k2i_setting *setting, const char *text, void *object, char *message,
			   size_t room)
{
	static const char blanks[] = ", \t";
	uint64_t bits = 0;
	int status = 0;
	size_t bytes;
	char word[32];

	do {
		text += strspn(text, blanks);
		bytes = strcspn(text, blanks);
		(void)snprintf(word, sizeof(word), "%.*s", (int)(bytes < sizeof(word) ? bytes : sizeof(word)), text);
		status = word_parse(setting, word, object, message, room);
		bits |= number_load(setting, object);
		text += bytes;
	} while (!status && text[strspn(text, blanks)]);
	if (!status)
		number_store(setting, bits, object);
	return status;
}

static void word_list_print(const struct k2i_word *word, uint64_t bits, FILE *output)
{
	for (const char *before = ""; word->text && bits; word++) {
		if ((bits & word->value) != word->value)
			continue;
		(void)fprintf(output, "%s%s", before, word->text);
		bits &= ~(uint64_t)word->value;
		before = ", ";
	}
}

/* Without leading, trailing and double slashes and without "." parts. False: a part is "..". */
static bool path_normalise(const char *path, char *output)
{
	char *start = output;
	size_t bytes;

	*output = '\0';
	for (; *(path += strspn(path, "/")); path += bytes) {
		bytes = strcspn(path, "/");
		if (bytes == 2 && strncmp(path, "..", 2) == 0)
			return false;
		if (bytes == 1 && *path == '.')
			continue;
		if (output > start)
			*output++ = '/';
		memcpy(output, path, bytes);
		output += bytes;
		*output = '\0';
	}
	return true;
}

static int relative_store(const struct k2i_setting *setting, const char *text, void *object, char *message, size_t room)
{
	char **to = field(setting, object);
	char *path = malloc(strlen(text) + 1);
	int status = 0;

	if (!path)
		return -ENOMEM;
	if (!path_normalise(text, path))
		status = refuse(message, room, "%s = %s: .. is not allowed in it", setting->name, text);
	else if (strlen(path) > K2HFT_STREAM_PATH_BYTES_MAX)
		status =
			refuse(message, room, "%s is longer than %u bytes", setting->name, K2HFT_STREAM_PATH_BYTES_MAX);
	else if (setting->type == K2I_TYPE_TARGET && *path && k2hft_stream_path_check(path, strlen(path)))
		status = refuse(message, room, "%s has a name of more than 255 bytes in it", setting->name);
	free(status ? path : *to);
	if (!status)
		*to = path;
	return status;
}

static int path_parse(const struct k2i_setting *setting, const char *text, void *object, char *message, size_t room)
{
	bool relative = setting->type == K2I_TYPE_RELATIVE;
	struct stat status;

	if (setting->type == K2I_TYPE_FILE && strcasecmp(text, K2I_FILE_NONE) == 0)
		return text_store(setting, K2I_FILE_NONE, object);
	if (setting->type == K2I_TYPE_OUTPUT && strcmp(text, "/dev/null") == 0)
		text = "";
	if (!relative && setting->type != K2I_TYPE_OUTPUT && *text && *text != '/')
		return refuse(message, room, "%s = %s must be an absolute path", setting->name, text);
	if (!relative || !*text)
		return text_store(setting, text, object);
	if (*text == '/' && stat(text, &status) == 0 && S_ISCHR(status.st_mode))
		return text_store(setting, text, object);
	if (*text == '/')
		return refuse(message, room,
			      "%s = %s must be below FILE_BASEDIR, so without / in front, or a character device, as "
			      "/dev/null",
			      setting->name, text);
	if (text[strlen(text) - 1] == '/')
		return refuse(message, room, "%s = %s names a directory; it must name a file", setting->name, text);
	return relative_store(setting, text, object, message, room);
}

/* Takes whatever a resolver may know, but not what people write around a name. */
static int host_parse(const struct k2i_setting *setting, const char *text, void *object, char *message, size_t room)
{
	size_t bytes = strlen(text);
	bool brackets = bytes > 2 && text[0] == '[' && text[bytes - 1] == ']';
	char address[64];

	/* An address of a link has the link's name behind %. */
	(void)snprintf(address, sizeof(address), "%.*s", (int)strcspn(text + brackets, brackets ? "]%" : "%"),
		       text + brackets);
	if (k2i_address_valid(address)) {
		(void)snprintf(address, sizeof(address), "%.*s", (int)(bytes - (brackets ? 2 : 0)), text + brackets);
		return text_store(setting, address, object);
	}
	if (strchr(text, '/'))
		return refuse(message, room, "%s = %s is a network or a URL; use a host name or an address",
			      setting->name, text);
	if (strchr(text, ':'))
		return refuse(message, room, "%s = %s: use a host name or an address; %s has the port", setting->name,
			      text, strcmp(setting->name, "CTLADDRESS") == 0 ? "CTLPORT" : "PORT");
	return text_store(setting, text, object);
}

static int rotation_parse(const struct k2i_setting *setting, const char *text, void *object, char *message, size_t room)
{
	struct k2i_keep keep;
	uint64_t seconds;

	if (setting->type == K2I_TYPE_PERIOD && *text && k2i_period_parse(text, &seconds))
		return refuse(message, room,
			      "%s = %s is not known; use hourly, daily, or a number with s, m, h or d behind it",
			      setting->name, text);
	if (setting->type == K2I_TYPE_KEEP && k2i_keep_parse(text, &keep))
		return refuse(message, room,
			      "%s = %s is not known; use a number of files, an age with h or d behind it, bytes with "
			      "K, M, G or T behind them, or several of these, each once",
			      setting->name, text);
	return text_store(setting, text, object);
}

static int servers_parse(const struct k2i_setting *setting, const char *text, void *object, char *message, size_t room)
{
	char *copy = strdup(text), *rest = copy, *server, *host, *port;
	bool right;

	if (!copy)
		return -ENOMEM;
	server = k2i_server_next(&rest);
	right = server || !*text;
	for (; right && server; server = k2i_server_next(&rest))
		right = k2i_server_split(server, &host, &port);
	free(copy);
	if (!right)
		return refuse(message, room, "%s = %s: it wants HOST:PORT, a port of 65535 at most", setting->name,
			      text);
	return text_store(setting, text, object);
}

static int headers_parse(const struct k2i_setting *setting, const char *text, void *object, char *message, size_t room)
{
	char *copy = strdup(text), *rest = copy, *header, *name, *value;
	const char *why = NULL;

	if (!copy)
		return -ENOMEM;
	while (!why && (header = strsep(&rest, ",")) != NULL)
		why = k2i_header_split(header, &name, &value);
	free(copy);
	return why ? refuse(message, room, "%s has %s", setting->name, why) : text_store(setting, text, object);
}

/* The part of an address behind its scheme. */
static bool authority_right(const char *text)
{
	char *copy = strndup(text, strcspn(text, "/")), *host, *port;
	bool right = copy && k2i_server_split(copy, &host, &port);

	free(copy);
	return right;
}

/* A user's password would be shown with the address. */
static int url_parse(const struct k2i_setting *setting, const char *text, void *object, char *message, size_t room)
{
	size_t scheme = strncasecmp(text, "http://", 7) == 0 ? 7 : strncasecmp(text, "https://", 8) == 0 ? 8 : 0;

	if (*text && (!scheme || !authority_right(text + scheme) || text[strcspn(text, "@?# \t\"")]))
		return refuse(message, room,
			      "%s is no address as http://HOST:PORT or https://HOST:PORT/PATH, without user and query",
			      setting->name);
	return text_store(setting, text, object);
}

static int refused_parse(const struct k2i_setting *setting, const char *text, char *message, size_t room)
{
	struct k2i_setting boolean = *setting;
	bool truth = false;
	int status;

	if (setting->type == K2I_TYPE_BOOLEAN) {
		boolean.field_offset = 0;
		boolean.field_bytes = sizeof(truth);
		status = word_parse(&boolean, text, &truth, message, room);
		if (status)
			return status;
	} else {
		truth = setting->type == K2I_TYPE_FILTER ? strcasestr(text, "SETALL") != NULL
			: setting->type == K2I_TYPE_FILE ? *text && strcasecmp(text, K2I_FILE_NONE) != 0
							 : *text != '\0';
	}
	if (truth)
		return refuse(message, room, "%s is not available: %s", setting->name, setting->help);
	return 0;
}

static bool is_text(const struct k2i_setting *setting)
{
	return setting->effect == K2I_EFFECT_SETTING && setting->type < K2I_TYPE_PATTERN;
}

/* A key whose value is wrong was given nevertheless: no second error may say that it is missing. */
static void stand_in(const struct k2i_setting *setting, const char *text, void *object)
{
	if (is_text(setting))
		(void)text_store(setting, text, object);
	else if (setting->type == K2I_TYPE_NUMBER)
		number_store(setting, setting->minimum, object);
	else if (setting->type == K2I_TYPE_OUTPUTS)
		number_store(setting, 0, object);
}

/* The byte behind a backslash: 0 and up to three octal digits, or 0x and two hexadecimal ones. -1: there is none. */
static int escape_read(const char **at)
{
	static const char octal[] = "01234567", hexadecimal[] = "0123456789abcdefABCDEF";
	bool hex = (*at)[1] == '0' && (*at)[2] == 'x';
	const char *digits = *at + (hex ? 3 : 2);
	size_t count = strspn(digits, hex ? hexadecimal : octal), most = hex ? 2 : 3;
	char text[4] = "";
	unsigned long value;

	count = count < most ? count : most;
	if ((*at)[1] != '0' || !count)
		return -1;
	memcpy(text, digits, count);
	value = strtoul(text, NULL, hex ? 16 : 8);
	*at = digits + count;
	return value && value <= UINT8_MAX ? (int)value : -1;
}

bool k2i_prefix_parse(char *text)
{
	const char *from = text + strspn(text, "/");
	int byte;

	while (*from) {
		byte = *from == '\\' ? escape_read(&from) : (unsigned char)*from++;
		if (byte < 0)
			return false;
		*text++ = (char)byte;
	}
	*text = '\0';
	return true;
}

static int field_parse(const struct k2i_setting *setting, const char *text, void *object, char *message, size_t room)
{
	switch (setting->type) {
	case K2I_TYPE_TEXT:
	case K2I_TYPE_COMMAND:
		return text_store(setting, text, object);
	case K2I_TYPE_PATH:
	case K2I_TYPE_RELATIVE:
	case K2I_TYPE_OUTPUT:
	case K2I_TYPE_FILE:
		return path_parse(setting, text, object, message, room);
	case K2I_TYPE_PERIOD:
	case K2I_TYPE_KEEP:
		return rotation_parse(setting, text, object, message, room);
	case K2I_TYPE_HOST:
		return host_parse(setting, text, object, message, room);
	case K2I_TYPE_URL:
		return url_parse(setting, text, object, message, room);
	case K2I_TYPE_SERVERS:
		return servers_parse(setting, text, object, message, room);
	case K2I_TYPE_HEADERS:
		return headers_parse(setting, text, object, message, room);
	case K2I_TYPE_TARGET:
		return relative_store(setting, text, object, message, room);
	case K2I_TYPE_PATTERN:
	case K2I_TYPE_PREFIX:
	case K2I_TYPE_OPTIONS:
	case K2I_TYPE_FILTER:
		return 0; /* not fields: load.c adds patterns, prefixes and options to a list, and a filter has nothing to set */
	case K2I_TYPE_NUMBER:
	case K2I_TYPE_SIZE:
		return number_parse(setting, text, object, message, room);
	case K2I_TYPE_MODE:
		return mode_parse(setting, text, object, message, room);
	case K2I_TYPE_OUTPUTS:
		return word_list_parse(setting, text, object, message, room);
	default:
		return word_parse(setting, text, object, message, room);
	}
}

int k2i_value_parse(const struct k2i_setting *setting, const char *text, void *object, char *message, size_t room)
{
	int status;

	if (setting->effect == K2I_EFFECT_REFUSED)
		return refused_parse(setting, text, message, room);
	status = field_parse(setting, text, object, message, room);
	if (status == -EINVAL)
		stand_in(setting, text, object);
	return status;
}

int k2i_values_default(enum k2i_section section, void *object)
{
	const struct k2i_setting *setting = k2i_settings_table, *end = setting + k2i_settings_table_count;
	char message[256];
	int status = 0;

	for (; setting < end && !status; setting++)
		if (setting->section == section && *setting->default_text)
			status = k2i_value_parse(setting, setting->default_text, object, message, sizeof(message));
	return status;
}

int k2i_values_own(enum k2i_section section, void *object)
{
	const struct k2i_setting *setting = k2i_settings_table, *end = setting + k2i_settings_table_count;
	bool enough = true;

	for (; setting < end; setting++) {
		char **text = field(setting, object);

		if (setting->section != section || !is_text(setting) || !*text)
			continue;
		*text = strdup(*text);
		enough &= *text != NULL;
	}
	return enough ? 0 : -ENOMEM;
}

void k2i_values_clear(enum k2i_section section, void *object)
{
	const struct k2i_setting *setting = k2i_settings_table, *end = setting + k2i_settings_table_count;

	for (; setting < end; setting++) {
		if (setting->section != section || setting->effect != K2I_EFFECT_SETTING ||
		    setting->type == K2I_TYPE_PATTERN || setting->type == K2I_TYPE_PREFIX)
			continue;
		if (is_text(setting))
			free(*(char **)field(setting, object));
		memset(field(setting, object), 0, setting->field_bytes);
	}
}

static const char *text_load(const struct k2i_setting *setting, const void *object)
{
	return *(char *const *)((const char *)object + setting->field_offset);
}

bool k2i_value_set(const struct k2i_setting *setting, const void *object)
{
	if (is_text(setting))
		return text_load(setting, object) != NULL;
	return *setting->default_text || number_load(setting, object);
}

bool k2i_value_same(const struct k2i_setting *setting, const void *a, const void *b)
{
	const char *a_text, *b_text;

	if (!is_text(setting))
		return number_load(setting, a) == number_load(setting, b);
	a_text = text_load(setting, a);
	b_text = text_load(setting, b);
	return a_text && b_text ? strcmp(a_text, b_text) == 0 : a_text == b_text;
}

void k2i_value_print_number(const struct k2i_setting *setting, uint64_t value, FILE *output)
{
	char text[32];

	number_text(setting, value, text, sizeof(text));
	(void)fputs(text, output);
}

static void text_print(const char *text, FILE *output)
{
	(void)fputc('"', output);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			(void)fputc('\\', output);
		(void)fputc(*text, output);
	}
	(void)fputc('"', output);
}

void k2i_value_print(const struct k2i_setting *setting, const void *object, FILE *output)
{
	const struct k2i_word *word = k2i_type_words(setting->type);
	uint64_t value;

	if (setting->type == K2I_TYPE_COMMAND) {
		(void)fputs(text_load(setting, object), output);
		return;
	}
	if (is_text(setting)) {
		text_print(text_load(setting, object), output);
		return;
	}
	value = number_load(setting, object);
	if (setting->type == K2I_TYPE_MODE) {
		(void)fprintf(output, "%04o", (unsigned)value);
		return;
	}
	if (setting->type == K2I_TYPE_OUTPUTS) {
		word_list_print(word, value, output);
		return;
	}
	if (!word) {
		k2i_value_print_number(setting, value, output);
		return;
	}
	while (word->text && word->value != value)
		word++;
	(void)fputs(word->text ? word->text : "", output);
}
