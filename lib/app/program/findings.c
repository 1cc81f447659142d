/* SPDX-License-Identifier: MIT */
#include "app/program/findings.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "app/format/format.h"
#include "app/format/parts.h"
#include "app/plugin/command.h"
#include "app/program/module.h"
#include "app/rules/hosts.h"
#include "app/rules/rules.h"
#include "base/log.h"
#include "config/sender.h"
#include "config/table.h"

/* Where a key of the receiver's section is said. */
static struct k2i_place place_of(const struct k2i_checker *checker, const char *key)
{
	return k2i_settings_key_place(checker->settings, K2I_SECTION_K2HFTFUSESVR, key);
}

/* Formats -------------------------------------------------------------------------------------------------------- */

static void format_warn(struct k2i_checker *checker, const char *text, char letter)
{
	k2i_checker_find(checker, K2I_FINDING_WARNING, place_of(checker, "FORMAT"), text, letter);
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
static void format_check_quotes(struct k2i_checker *checker, const struct k2i_format *format)
{
	static const char records[K2I_FORMAT_KINDS] = {[K2I_FORMAT_RECORD] = 'L', [K2I_FORMAT_TRIMMED] = 'l'};
	static const char names[K2I_FORMAT_KINDS] = {
		[K2I_FORMAT_HOST] = 'H', [K2I_FORMAT_PATH] = 'F', [K2I_FORMAT_NAME] = 'f'};
	bool open = false;

	for (size_t number = 0; number < format->part_count; number++) {
		const struct k2i_format_part *part = &format->parts[number];

		if (part->kind == K2I_FORMAT_LITERAL)
			open = quotes_after(format, part, open);
		else if (open && records[part->kind])
			format_warn(checker,
				    "FORMAT has %%%c in quotes, and a record can have quotes itself: %%J escapes them",
				    records[part->kind]);
		else if (open && names[part->kind] && !format->uses[K2I_FORMAT_JSON])
			format_warn(checker,
				    "FORMAT has %%%c in quotes, which are escaped in it only if %%J is there, too",
				    names[part->kind]);
	}
}

static void format_check_text(struct k2i_checker *checker, const struct k2i_format *format)
{
	const struct k2i_format_part *last = &format->parts[format->part_count - 1];

	if (!format->uses[K2I_FORMAT_RECORD] && !format->uses[K2I_FORMAT_TRIMMED] && !format->uses[K2I_FORMAT_JSON])
		format_warn(checker,
			    "FORMAT has none of %%L, %%l and %%%c: records are acknowledged, but their text is not "
			    "written",
			    'J');
	if (last->kind != K2I_FORMAT_RECORD &&
	    (last->kind != K2I_FORMAT_LITERAL || format->literals[last->at + last->bytes - 1] != '\n'))
		format_warn(checker,
			    "FORMAT does not end with \\n or %%%c: records are written without a line end between them",
			    'L');
	format_check_quotes(checker, format);
}

/* NULL: it has an error. */
static struct k2i_format *format_compile(struct k2i_checker *checker, const char *format, const char *time_format,
					 const char *key)
{
	struct k2i_format *compiled = NULL;
	char message[512] = "";

	if (k2i_format_compile(format, time_format, &compiled, message, sizeof(message)))
		k2i_checker_find(checker, K2I_FINDING_ERROR, place_of(checker, key), "%s", message);
	return compiled;
}

static void output_check(struct k2i_checker *checker)
{
	const struct k2i_settings *settings = checker->settings;
	struct k2i_format *format = format_compile(checker, settings->format, NULL, "FORMAT"), *time_only = NULL;
	const char *refused = NULL;

	if (settings->time_format)
		time_only = format_compile(checker, "%T", settings->time_format, "FILE_TIMEFORM");
	if (format)
		format_check_text(checker, format);
	if (time_only && format && !k2i_format_has_time(format) &&
	    !(settings->outputs & (K2I_OUTPUT_FORWARD | K2I_OUTPUT_KAFKA)))
		k2i_checker_find(checker, K2I_FINDING_WITHOUT_EFFECT, place_of(checker, "FILE_TIMEFORM"),
				 "FILE_TIMEFORM has no effect: there is no %%T in FORMAT");
	if (!settings->time_format && format && k2i_format_has_time(format))
		format_warn(checker, "%%%c in FORMAT has no effect: there is no FILE_TIMEFORM", 'T');
	k2i_format_free(time_only);
	k2i_format_free(format);
	if (settings->unify_file)
		refused = k2i_format_unify_check(settings->unify_file, (uint64_t)time(NULL) * 1000000000u);
	if (refused)
		k2i_checker_find(checker, K2I_FINDING_ERROR, place_of(checker, "FILE_UNIFY"), "FILE_UNIFY \"%s\" %s",
				 settings->unify_file, refused);
}

/* `key_place`: where the key is said. */
static void plugin_check(struct k2i_checker *checker, struct k2i_place key_place, const char *key, const char *plugin)
{
	struct k2i_plugin_command *command = NULL;
	char message[512] = "";

	if (!plugin)
		return;
	if (k2i_plugin_command_parse(plugin, &command, message, sizeof(message)))
		k2i_checker_find(checker, K2I_FINDING_ERROR, key_place, "%s = %s: %s", key, plugin, message);
	k2i_plugin_command_free(command);
}

/* Modules that TYPE asks for. */
static void modules_check(struct k2i_checker *checker)
{
	char path[PATH_MAX];

	for (size_t number = 0; number < K2I_MODULES; number++) {
		const char *name = k2i_module_outputs[number].name;

		if (checker->settings->outputs & k2i_module_outputs[number].output && k2i_module_path(name, path))
			k2i_checker_find(checker, K2I_FINDING_ERROR, place_of(checker, "TYPE"),
					 "TYPE has %s, whose module %s is not there; install " K2I_MODULE_PACKAGE "%s",
					 name, path, name);
	}
}

static void tag_check(struct k2i_checker *checker)
{
	const struct k2i_settings *settings = checker->settings;
	struct k2i_format *format = NULL;
	char message[512] = "";

	if (settings->outputs & K2I_OUTPUT_FORWARD &&
	    k2i_format_compile_name(settings->forward_tag, settings->time_format, &format, message, sizeof(message)))
		k2i_checker_find(checker, K2I_FINDING_ERROR, place_of(checker, "FORWARD_TAG"), "FORWARD_TAG: %s",
				 message);
	k2i_format_free(format);
}

/* Rules ---------------------------------------------------------------------------------------------------------- */

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

/* -ENOMEM. */
static int patterns_check(struct k2i_checker *checker, const struct k2i_rule *rule)
{
	const struct k2i_pattern *pattern = rule->default_allow ? rule->deny : rule->allow;
	const struct k2i_pattern *end = pattern + (rule->default_allow ? rule->deny_count : rule->allow_count);
	char message[1024];

	for (; pattern < end; pattern++) {
		const char *posix = posix_find(pattern->text);

		int status = k2i_pattern_check(pattern, message, sizeof(message));

		if (status == -ENOMEM)
			return status;
		if (status)
			k2i_checker_find(checker, K2I_FINDING_ERROR, pattern->place, "%s: %s",
					 rule->default_allow ? "DENY" : "ALLOW", message);
		if (posix)
			k2i_checker_find(checker, K2I_FINDING_WARNING, pattern->place, "%s: %s", pattern->text, posix);
	}
	return 0;
}

/* -ENOMEM. */
static int rule_check(struct k2i_checker *checker, const struct k2i_rule *rule)
{
	plugin_check(checker, rule->place, "PLUGIN", rule->plugin);
	return patterns_check(checker, rule);
}

/* The receiver ---------------------------------------------------------------------------------------------------- */

/* Finds out whether a directory is there, or can be made in the nearest one that is. */
static void directory_check(struct k2i_checker *checker, const char *key, const char *path)
{
	char above[PATH_MAX], *slash;
	struct stat status;
	int error;

	if (!path || *path != '/')
		return;
	(void)snprintf(above, sizeof(above), "%s", path);
	while (stat(above, &status) && errno == ENOENT && (slash = strrchr(above, '/')) != NULL)
		slash[slash == above && above[1]] = '\0';
	error = stat(above, &status) ? errno : !S_ISDIR(status.st_mode) ? ENOTDIR : 0;
	if (!error && access(above, W_OK | X_OK))
		error = errno;
	/* The receiver may run as somebody else than who checks its file. */
	if (error)
		k2i_checker_find(checker, error == EACCES ? K2I_FINDING_WARNING : K2I_FINDING_ERROR,
				 place_of(checker, key), "%s = %s can't be used: %s: %s%s", key, path, above,
				 strerror(error), error == EACCES ? " for the user who asks" : "");
}

/* Programs that can't use the file, which k2hft push -c and others can. */
static void users_check(struct k2i_checker *checker)
{
	const struct k2i_settings *settings = checker->settings;
	struct k2i_place nowhere = {0}, at = settings->places->sections[K2I_SECTION_K2HFTFUSE];

	if (checker->errors)
		return;
	if (!settings->fuse_present && !settings->receiver_present)
		k2i_checker_find(
			checker, K2I_FINDING_WARNING, nowhere,
			"neither [K2HFTFUSE] nor [K2HFTFUSESVR]: only k2hft push and programs can use the file");
	else if (settings->fuse_present && !settings->rule_count)
		k2i_checker_find(checker, K2I_FINDING_WARNING, at,
				 "[K2HFTFUSE] has no rule: k2hftfuse would have no file, and refuses to start");
}

/* TRANSCONF is read, and so far as a sender's file can be checked, it is. */
static void relay_check(struct k2i_checker *checker)
{
	struct k2i_sender_config config;
	char message[1024] = "";
	int status;

	if (!(checker->settings->outputs & K2I_OUTPUT_RELAY))
		return;
	status = k2i_sender_config_relay(checker->settings, &config, message, sizeof(message));
	if (status)
		k2i_checker_find(checker, K2I_FINDING_ERROR, place_of(checker, "TRANSCONF"), "%s", message);
	else
		k2i_sender_config_free(&config);
}

/* Contract -------------------------------------------------------------------------------------------------------- */

static int collect(struct k2i_checker *checker, const char *file, struct k2i_settings **settings)
{
	struct k2i_hosts *hosts = NULL;
	int status = k2i_settings_check(file, checker->report, checker->argument, settings);

	if (status < 0)
		return status;
	checker->settings = *settings;
	checker->errors = status;
	users_check(checker);
	status = 0;
	for (size_t number = 0; number < (*settings)->rule_count && !status; number++)
		status = rule_check(checker, &(*settings)->rules[number]);
	if (status || !(*settings)->receiver_present)
		return status;
	status = k2i_hosts_compile(*settings, checker->report, checker->argument, &hosts);
	checker->errors += status == -EINVAL;
	k2i_hosts_free(hosts);
	output_check(checker);
	relay_check(checker);
	plugin_check(checker, place_of(checker, "PLUGIN"), "PLUGIN", (*settings)->plugin);
	plugin_check(checker, place_of(checker, "POSTROTATE"), "POSTROTATE", (*settings)->post_rotate);
	tag_check(checker);
	modules_check(checker);
	return status == -ENOMEM ? status : 0;
}

int k2i_findings_collect(const char *file, k2i_settings_report *report, void *argument, struct k2i_settings **settings)
{
	struct k2i_checker checker = {.report = report, .argument = argument};
	int status = collect(&checker, file, settings);

	if (status) {
		k2i_settings_free(*settings);
		*settings = NULL;
		return status;
	}
	if ((*settings)->receiver_present) {
		directory_check(&checker, "FILE_BASEDIR", (*settings)->base_directory);
		directory_check(&checker, "STATEDIR", (*settings)->state_directory);
	}
	return checker.errors;
}

struct finding_log {
	unsigned notes;
	char *first; /* error */
	size_t first_room;
};

static void finding_log(void *argument, enum k2i_finding finding, const char *file, unsigned line, const char *text)
{
	struct finding_log *log = argument;
	char number[16] = "";

	if (line)
		(void)snprintf(number, sizeof(number), ":%u", line);
	if (finding == K2I_FINDING_WITHOUT_EFFECT)
		log->notes++;
	else
		k2i_log(finding == K2I_FINDING_ERROR ? K2HFT_LOG_ERROR : K2HFT_LOG_WARNING, "%s%s: %s", file, number,
			text);
	if (finding == K2I_FINDING_ERROR && !log->first[0])
		(void)snprintf(log->first, log->first_room, "%s%s: %s", file, number, text);
}

int k2i_findings_log(const char *file, struct k2i_settings **settings, char *first, size_t first_room)
{
	struct finding_log log = {.first = first, .first_room = first_room};
	struct k2i_checker checker = {.report = finding_log, .argument = &log};
	int status;

	*first = '\0';
	status = collect(&checker, file, settings);
	if (status) {
		(void)snprintf(first, first_room, "%s: %s", file[strspn(file, " \t\r\n\\")] == '{' ? "(JSON)" : file,
			       strerror(-status));
		k2i_log(K2HFT_LOG_ERROR, "%s", first);
	} else if (log.notes) {
		k2i_log(K2HFT_LOG_INFO, "%s: %u keys or sections have no effect: k2hft check lists them",
			(*settings)->file, log.notes);
	}
	if (!status && !checker.errors)
		return 0;
	k2i_settings_free(*settings);
	*settings = NULL;
	return status ? status : -EINVAL;
}
