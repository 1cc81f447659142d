/* SPDX-License-Identifier: MIT */
#include "app/program/findings.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "app/format/format.h"
#include "app/format/parts.h"
#include "app/rules/hosts.h"
#include "app/rules/rules.h"
#include "base/log.h"

struct collector {
	k2i_settings_report *report;
	void *argument;
	const struct k2i_settings *settings;
	int errors;
};

/* Hands a finding on, and counts errors. */
static void take(void *argument, enum k2i_finding finding, const char *file, unsigned line, const char *text)
{
	struct collector *collector = argument;

	collector->errors += finding == K2I_FINDING_ERROR;
	collector->report(collector->argument, finding, file, line, text);
}

__attribute__((format(printf, 4, 5))) static void find(struct collector *collector, enum k2i_finding finding,
						       const struct k2i_place *place, const char *format, ...)
{
	char text[PATH_MAX + 256];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	take(collector, finding, place->file ? place->file : collector->settings->file, place->line, text);
}

/* Formats -------------------------------------------------------------------------------------------------------- */

static char part_letter(enum k2i_format_kind kind)
{
	static const char letters[] = {[K2I_FORMAT_TIME] = 'T',    [K2I_FORMAT_HOST] = 'H', [K2I_FORMAT_PID] = 'P',
				       [K2I_FORMAT_PATH] = 'F',    [K2I_FORMAT_NAME] = 'f', [K2I_FORMAT_RECORD] = 'L',
				       [K2I_FORMAT_TRIMMED] = 'l', [K2I_FORMAT_JSON] = 'J'};

	return letters[kind];
}

/* Whether the quotes of a string that stand open before a literal do so behind it. */
static bool quotes_after(const struct k2i_format *format, const struct k2i_format_part *literal, bool open)
{
	const char *text = format->literals + literal->at;

	for (size_t at = 0; at < literal->bytes; at++)
		open ^= text[at] == '"' && (at == 0 || text[at - 1] != '\\');
	return open;
}

/* Records, hosts and paths in the quotes of a JSON string can have quotes themselves. */
static void format_check_quotes(struct collector *collector, const struct k2i_format *format)
{
	const struct k2i_place *place = &collector->settings->format_place;
	bool open = false;

	for (size_t number = 0; number < format->part_count; number++) {
		const struct k2i_format_part *part = &format->parts[number];
		bool record = part->kind == K2I_FORMAT_RECORD || part->kind == K2I_FORMAT_TRIMMED;

		if (part->kind == K2I_FORMAT_LITERAL)
			open = quotes_after(format, part, open);
		else if (open && record)
			find(collector, K2I_FINDING_WARNING, place,
			     "FORMAT has %%%c in quotes, and a record can have quotes itself: %%J escapes them",
			     part_letter(part->kind));
		else if (open && !format->uses[K2I_FORMAT_JSON] &&
			 (part->kind == K2I_FORMAT_HOST || part->kind == K2I_FORMAT_PATH ||
			  part->kind == K2I_FORMAT_NAME))
			find(collector, K2I_FINDING_WARNING, place,
			     "FORMAT has %%%c in quotes, which are escaped in it only if %%J is there, too",
			     part_letter(part->kind));
	}
}

static void format_check_text(struct collector *collector, const struct k2i_format *format)
{
	const struct k2i_format_part *last = &format->parts[format->part_count - 1];
	const struct k2i_place *place = &collector->settings->format_place;

	if (!format->uses[K2I_FORMAT_RECORD] && !format->uses[K2I_FORMAT_TRIMMED] && !format->uses[K2I_FORMAT_JSON])
		find(collector, K2I_FINDING_WARNING, place,
		     "FORMAT has none of %%L, %%l and %%J: records are acknowledged, but their text is not written");
	if (last->kind != K2I_FORMAT_RECORD &&
	    (last->kind != K2I_FORMAT_LITERAL || format->literals[last->at + last->bytes - 1] != '\n'))
		find(collector, K2I_FINDING_WARNING, place,
		     "FORMAT does not end with \\n or %%L: records are written without a line end between them");
	format_check_quotes(collector, format);
}

/* NULL: it has an error. */
static struct k2i_format *format_compile(struct collector *collector, const char *format, const char *time_format,
					 const struct k2i_place *place)
{
	struct k2i_format *compiled = NULL;
	char message[512] = "";

	if (k2i_format_compile(format, time_format, &compiled, message, sizeof(message)))
		find(collector, K2I_FINDING_ERROR, place, "%s", message);
	return compiled;
}

static void output_check(struct collector *collector)
{
	const struct k2i_settings *settings = collector->settings;
	const struct k2i_place *place = &settings->format_place, *time_place = &settings->time_format_place;
	struct k2i_format *time_only =
		settings->time_format ? format_compile(collector, "%T", settings->time_format, time_place) : NULL;
	struct k2i_format *format = format_compile(collector, settings->format, NULL, place);
	bool has_time = format && k2i_format_has_time(format);

	if (format)
		format_check_text(collector, format);
	if (time_only && format && !has_time)
		find(collector, K2I_FINDING_WITHOUT_EFFECT, time_place,
		     "FILE_TIMEFORM has no effect: there is no %%T in FORMAT");
	if (has_time && !settings->time_format)
		find(collector, K2I_FINDING_WARNING, place, "%%T in FORMAT has no effect: there is no FILE_TIMEFORM");
	k2i_format_free(time_only);
	k2i_format_free(format);
	if (settings->unify_file) {
		const char *refused = k2i_format_unify_check(settings->unify_file, (uint64_t)time(NULL) * 1000000000u);

		if (refused)
			find(collector, K2I_FINDING_ERROR, &settings->unify_place, "FILE_UNIFY \"%s\" %s",
			     settings->unify_file, refused);
	}
}

/* Rules ---------------------------------------------------------------------------------------------------------- */

/* Compiles a file of one rule. Its first error is all that it has, so the place in the message is known beforehand. */
static void rule_check(struct collector *collector, struct k2i_rule *rule, const struct k2i_place *place)
{
	const struct k2i_settings one = {.file = (char *)(uintptr_t)place->file, .rules = rule, .rule_count = 1};
	struct k2i_rules *rules = NULL;
	char message[1024] = "", begin[PATH_MAX + 32];
	int begin_bytes = snprintf(begin, sizeof(begin), "%s:%u: ", place->file, place->line);

	if (k2i_rules_compile(&one, &rules, message, sizeof(message)) == 0)
		k2i_rules_free(rules);
	else
		find(collector, K2I_FINDING_ERROR, place, "%s",
		     strncmp(message, begin, (size_t)begin_bytes) == 0 ? message + begin_bytes : message);
}

/* Syntax of POSIX, which K2HFTFUSE has, that is none of PCRE2 or another: what to write in its place, or NULL. */
static const char *posix_find(const char *text)
{
	const char *at = strchr(text, '"');
	bool in_class = false;

	while (at && *++at && *at != '"') {
		if (*at == '\\' && at[1]) {
			at++;
			if (!in_class && (*at == '<' || *at == '>'))
				return "\\< and \\> are the characters < and > here; a word begins and ends with \\b";
		} else if (in_class || *at == '[') {
			in_class = *at != ']';
		} else if (*at == '{' && at[1] == ',' && isdigit((unsigned char)at[2])) {
			return "a repetition without its least number, as {,3}, is text in PCRE2 before 10.43; write "
			       "{0,3}";
		}
	}
	return NULL;
}

/* Sections are compiled one at a time, since the compiler of rules stops at the first error. */
static void patterns_check(struct collector *collector, const struct k2i_rule *rule)
{
	struct k2i_pattern *pattern = rule->default_allow ? rule->deny : rule->allow;
	const struct k2i_pattern *end = pattern + (rule->default_allow ? rule->deny_count : rule->allow_count);
	struct k2i_rule one = *rule;
	const char *posix;

	one.allow_count = one.deny_count = 0;
	if (one.target && *one.target)
		rule_check(collector, &one, &rule->place);
	one.directory = true;
	one.target = NULL;
	*(rule->default_allow ? &one.deny_count : &one.allow_count) = 1;
	for (; pattern < end; pattern++) {
		*(rule->default_allow ? &one.deny : &one.allow) = pattern;
		rule_check(collector, &one, &pattern->place);
		posix = posix_find(pattern->text);
		if (posix)
			find(collector, K2I_FINDING_WARNING, &pattern->place, "%s: %s", pattern->text, posix);
	}
}

/* The receiver ---------------------------------------------------------------------------------------------------- */

/* Finds out whether a directory is there, or can be made in the nearest one that is. */
static void directory_check(struct collector *collector, const char *key, const char *path,
			    const struct k2i_place *place)
{
	char above[PATH_MAX];
	struct stat status;
	char *slash;
	int error;

	(void)snprintf(above, sizeof(above), "%s", path);
	while (stat(above, &status) && errno == ENOENT && (slash = strrchr(above, '/')) != NULL)
		slash[slash == above && above[1]] = '\0';
	error = stat(above, &status) ? errno : !S_ISDIR(status.st_mode) ? ENOTDIR : 0;
	if (!error && access(above, W_OK | X_OK))
		error = errno;
	/* The receiver may run as somebody else than who checks its file. */
	if (error)
		find(collector, error == EACCES ? K2I_FINDING_WARNING : K2I_FINDING_ERROR, place,
		     "%s = %s can't be used: %s: %s%s", key, path, above, strerror(error),
		     error == EACCES ? " for the user who asks" : "");
}

static void directories_check(struct collector *collector)
{
	const struct k2i_settings *settings = collector->settings;

	if (settings->base_directory && *settings->base_directory == '/')
		directory_check(collector, "FILE_BASEDIR", settings->base_directory, &settings->base_place);
	if (settings->state_directory && *settings->state_directory == '/')
		directory_check(collector, "STATEDIR", settings->state_directory, &settings->state_place);
}

/* Contract -------------------------------------------------------------------------------------------------------- */

static int collect(struct collector *collector, const char *file, struct k2i_settings **settings)
{
	struct k2i_hosts *hosts = NULL;
	int status = k2i_settings_check(file, take, collector, settings);

	if (status < 0)
		return status;
	collector->settings = *settings;
	for (size_t number = 0; number < (*settings)->rule_count; number++)
		patterns_check(collector, &(*settings)->rules[number]);
	if (!(*settings)->receiver_present)
		return 0;
	if (k2i_hosts_compile(*settings, take, collector, &hosts) == -ENOMEM)
		find(collector, K2I_FINDING_ERROR, &(struct k2i_place){0}, "%s", strerror(ENOMEM));
	k2i_hosts_free(hosts);
	output_check(collector);
	return 0;
}

int k2i_findings_collect(const char *file, k2i_settings_report *report, void *argument, struct k2i_settings **settings)
{
	struct collector collector = {.report = report, .argument = argument};
	int status = collect(&collector, file, settings);

	if (!status && (*settings)->receiver_present)
		directories_check(&collector);
	return status ? status : collector.errors;
}

static void finding_log(void *argument, enum k2i_finding finding, const char *file, unsigned line, const char *text)
{
	unsigned *notes = argument;
	char number[16] = "";

	if (line)
		(void)snprintf(number, sizeof(number), ":%u", line);
	if (finding == K2I_FINDING_WITHOUT_EFFECT)
		++*notes;
	else
		k2i_log(finding == K2I_FINDING_ERROR ? K2HFT_LOG_ERROR : K2HFT_LOG_WARNING, "%s%s: %s", file, number,
			text);
}

int k2i_findings_log(const char *file, struct k2i_settings **settings)
{
	unsigned notes = 0;
	struct collector collector = {.report = finding_log, .argument = &notes};
	int status = collect(&collector, file, settings);

	if (status) {
		k2i_log(K2HFT_LOG_ERROR, "%s: %s", file[strspn(file, " \t\r\n\\")] == '{' ? "(JSON)" : file,
			strerror(-status));
		return status;
	}
	if (notes)
		k2i_log(K2HFT_LOG_INFO, "%s: %u keys or sections have no effect: k2hft check lists them",
			(*settings)->file, notes);
	if (!collector.errors)
		return 0;
	k2i_settings_free(*settings);
	*settings = NULL;
	return -EINVAL;
}
