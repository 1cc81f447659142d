/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <k2hft/frame.h>

#include "base/spread.h"
#include "config/path.h"
#include "config/table.h"

/* Where a key of a section that comes once is said, or else the section. */
static struct k2i_place place(const struct k2i_checker *checker, enum k2i_section section, const char *key)
{
	struct k2i_place at = k2i_settings_key_place(checker->settings, section, key);

	return at.file ? at : checker->settings->places->sections[section];
}

static void error(struct k2i_checker *checker, struct k2i_place at, const char *text)
{
	k2i_checker_find(checker, K2I_FINDING_ERROR, at, "%s", text);
}

static void check_sections(struct k2i_checker *checker)
{
	const struct k2i_settings *settings = checker->settings;
	struct k2i_place nowhere = {0};

	if (!settings->fuse_present && settings->rule_count)
		error(checker, settings->rules[0].place, "a rule needs a [K2HFTFUSE] section in the file");
	else if (!settings->fuse_present && !settings->receiver_present && !settings->server_count)
		error(checker, nowhere, "neither [K2HFTFUSE] nor [K2HFTFUSESVR]: there is nothing to run");
}

static void home(const struct k2i_settings *settings, const struct k2i_node *node, char name[K2I_SPREAD_HOME_BYTES])
{
	char port[16];

	(void)snprintf(port, sizeof(port), "%u", k2i_node_port(settings, node));
	k2i_spread_home(node->name ? node->name : "", port, name);
}

/* Each receiver once: its name is also that of its ring's file. */
static void check_server_once(struct k2i_checker *checker, const struct k2i_node *node)
{
	const struct k2i_settings *settings = checker->settings;
	char own[K2I_SPREAD_HOME_BYTES], before[K2I_SPREAD_HOME_BYTES], text[512];

	home(settings, node, own);
	for (const struct k2i_node *other = settings->servers; other < node; other++) {
		home(settings, other, before);
		if (strcasecmp(own, before) != 0)
			continue;
		k2i_checker_find(checker, K2I_FINDING_ERROR, node->place, "a second [SVRNODE] for %s, after that of %s",
				 own, k2i_place_text(&other->place, node->place.file, text, sizeof(text)));
		return;
	}
}

static void check_server(struct k2i_checker *checker, const struct k2i_node *node)
{
	if (!node->name)
		error(checker, node->place, "[SVRNODE] needs NAME: the receiver's host name or address");
	else if (!strpbrk(node->name, "[]") && strpbrk(node->name, "*, "))
		error(checker, node->place,
		      "NAME of [SVRNODE] must be one host, or a list as h[1-5] or h[a,c].example; others need a "
		      "section each");
	if (!k2i_node_port(checker->settings, node))
		error(checker, node->place, "[SVRNODE] needs PORT, or [GLOBAL] does");
	else if (node->name)
		check_server_once(checker, node);
}

/* The more copies a record has, the fewer receivers are there to take over. */
static void check_spread(struct k2i_checker *checker)
{
	const struct k2i_settings *settings = checker->settings;
	struct k2i_place at = k2i_settings_key_place(settings, K2I_SECTION_K2HFTFUSE, "COPIES");

	if (settings->copies > settings->server_count)
		k2i_checker_find(
			checker, K2I_FINDING_ERROR, at,
			"COPIES must be at most the number of receivers, which is %zu: a [SVRNODE] or a name in "
			"a list for each",
			settings->server_count);
	else if (settings->copies > 1 && settings->broadcast)
		error(checker, at,
		      "COPIES can't be used together with K2HTPDTOR_BROADCAST = yes, which makes a copy for "
		      "each receiver: choose one of them");
	else if (settings->copies > 1 && settings->spread == K2HFT_SPREAD_RANDOM)
		error(checker, at, "COPIES needs DELIVERMODE = hash");
}

/* A file without rules is of k2hft push or a program, which can have more. */
static void check_lanes(struct k2i_checker *checker)
{
	const struct k2i_settings *settings = checker->settings;
	size_t count = settings->server_count;

	for (size_t number = 0; number < settings->rule_count; number++)
		count += settings->rules[number].plugin != NULL;
	if (settings->rule_count && count > K2I_MOUNT_LANES_MAX)
		k2i_checker_find(
			checker, K2I_FINDING_ERROR, settings->servers[settings->server_count - 1].place,
			"a mount can have %u receivers and rules with PLUGIN together, and these are %zu: divide "
			"them among several mounts",
			K2I_MOUNT_LANES_MAX, count);
}

static void check_servers(struct k2i_checker *checker)
{
	const struct k2i_settings *settings = checker->settings;

	if (!settings->server_count) {
		error(checker, checker->settings->places->sections[K2I_SECTION_K2HFTFUSE],
		      "[K2HFTFUSE] needs an [SVRNODE] with NAME: the receiver");
		return;
	}
	for (size_t number = 0; number < settings->server_count; number++)
		check_server(checker, &settings->servers[number]);
	check_lanes(checker);
	check_spread(checker);
}

/* A receiver lets in whom one of them names; a sender has its own certificate in one of them. */
static void check_senders(struct k2i_checker *checker)
{
	const struct k2i_settings *settings = checker->settings;
	bool sender = settings->fuse_present || !settings->receiver_present, seen = false;

	for (size_t number = 0; number < settings->sender_count; number++) {
		const struct k2i_sender_node *node = &settings->senders[number];
		bool tls = k2i_sender_node_has_tls(node);

		if (tls && !sender)
			k2i_checker_find(checker, K2I_FINDING_WITHOUT_EFFECT, node->place,
					 "CAPATH, SLAVE_CERT and SLAVE_PRIKEY of [SLVNODE] have no effect: they are "
					 "for the sender's file");
		else if (tls && seen)
			error(checker, node->place,
			      "a second [SLVNODE] with CAPATH, SLAVE_CERT or SLAVE_PRIKEY; keep the one of this host");
		seen |= tls;
		if (!settings->receiver_present && !tls)
			k2i_checker_find(checker, K2I_FINDING_WITHOUT_EFFECT, node->place,
					 "[SLVNODE] has no effect: the receiver's file says who may connect");
		else if (settings->receiver_present && (!node->name || !*node->name))
			error(checker, node->place, "[SLVNODE] needs NAME: who may connect");
	}
}

static void check_queue(struct k2i_checker *checker)
{
	struct k2i_settings *settings = checker->settings;
	bool file = settings->queue_type == K2I_QUEUE_FILE;
	const struct k2i_setting *linemax = k2i_setting_find(K2I_SECTION_K2HFTFUSE, "LINEMAX");
	struct k2i_place at;

	if (file && !settings->queue_file)
		error(checker, place(checker, K2I_SECTION_K2HFTFUSE, "K2HTYPE"), "K2HTYPE = file needs K2HFILE");
	if (settings->queue_type == K2I_QUEUE_MEMORY && settings->queue_file)
		error(checker, place(checker, K2I_SECTION_K2HFTFUSE, "K2HFILE"),
		      "K2HFILE is for K2HTYPE = file or temp; say so, or remove it");
	if (!file && !settings->queue_fresh)
		k2i_checker_find(checker, K2I_FINDING_WARNING, place(checker, K2I_SECTION_K2HFTFUSE, "K2HINIT"),
				 "K2HINIT = no has no effect without K2HTYPE = file: what waits does not outlive the "
				 "program");
	if (file && !k2i_settings_key_place(checker->settings, K2I_SECTION_K2HFTFUSE, "K2HINIT").file) {
		at = k2i_settings_key_place(checker->settings, K2I_SECTION_K2HFTFUSE, "K2HTYPE");
		k2i_checker_find(checker, K2I_FINDING_WARNING, at,
				 "each start discards what waits in K2HFILE; set K2HINIT = no to have it sent, or yes "
				 "if that is meant");
	}
	if (settings->record_bytes_max <= settings->ring_bytes / 2)
		return;
	if (settings->record_bytes_max == linemax->maximum)
		settings->record_bytes_max = settings->ring_bytes / 2;
	else
		error(checker, place(checker, K2I_SECTION_K2HFTFUSE, "LINEMAX"),
		      "LINEMAX must be at most half of RINGSIZE");
}

/* A cache joins what was written apart, so it can't hold blocks. */
static void check_write_modes(struct k2i_checker *checker)
{
	const struct k2i_settings *settings = checker->settings;
	static const char text[] =
		"WRITEMODE = cached is not possible with BINTRANS = yes: each write is a record then";

	if (!settings->binary)
		return;
	if (settings->write_mode == K2I_WRITE_MODE_CACHED)
		error(checker, place(checker, K2I_SECTION_K2HFTFUSE, "WRITEMODE"), text);
	for (size_t number = 0; number < settings->rule_count; number++)
		if (settings->rules[number].write_mode == K2I_WRITE_MODE_CACHED)
			error(checker, settings->rules[number].place, text);
}

static void check_patterns(struct k2i_checker *checker, const struct k2i_rule *rule)
{
	const struct k2i_pattern *idle = rule->default_allow ? rule->allow : rule->deny;
	size_t idle_count = rule->default_allow ? rule->allow_count : rule->deny_count, number;
	const struct k2i_pattern *used = rule->default_allow ? rule->deny : rule->allow;
	size_t used_count = rule->default_allow ? rule->deny_count : rule->allow_count;

	for (number = 0; number < idle_count; number++)
		k2i_checker_find(checker, K2I_FINDING_WITHOUT_EFFECT, idle[number].place,
				 rule->default_allow ? "ALLOW has no effect: DEFAULTALL = ALLOW uses DENY only"
						     : "DENY has no effect: DEFAULTALL = DENY uses ALLOW only");
	for (number = 0; number < used_count; number++) {
		if (rule->default_allow && !*used[number].text)
			k2i_checker_find(checker, K2I_FINDING_WITHOUT_EFFECT, used[number].place,
					 "the rule lets no record pass: an empty DENY matches every one");
		if (!strchr(used[number].text, '"') && strstr(used[number].text, ".*"))
			k2i_checker_find(checker, K2I_FINDING_WARNING, used[number].place,
					 "%s is a text here, not a regular expression: that needs double quotes",
					 used[number].text);
	}
	if (used_count && checker->settings->binary)
		error(checker, used->place, "ALLOW and DENY can't be used with BINTRANS = yes: they work on lines");
	else if (!rule->default_allow && checker->settings->binary)
		error(checker, rule->place,
		      "with BINTRANS = yes the rule needs DEFAULTALL = ALLOW: blocks are not looked into");
	else if (!rule->default_allow && !rule->allow_count)
		k2i_checker_find(checker, K2I_FINDING_WITHOUT_EFFECT, rule->place,
				 "the rule lets no record pass: DEFAULTALL = DENY and no ALLOW");
	else if (!rule->transfer && !rule->output_file && !rule->plugin)
		k2i_checker_find(checker, K2I_FINDING_WITHOUT_EFFECT, rule->place,
				 "what the rule lets pass goes nowhere: TRUNS = no and no OUTPUTFILE");
}

/* Whether a target can't be there because of an earlier one: the same, or a file where the other needs a directory. */
static bool targets_clash(const struct k2i_rule *a, const struct k2i_rule *b)
{
	size_t a_bytes = strlen(a->target), b_bytes = strlen(b->target);
	const struct k2i_rule *shorter = a_bytes <= b_bytes ? a : b, *longer = shorter == a ? b : a;
	size_t bytes = a_bytes <= b_bytes ? a_bytes : b_bytes;

	if (strncmp(a->target, b->target, bytes) != 0)
		return false;
	return a_bytes == b_bytes || (!shorter->directory && longer->target[bytes] == '/');
}

/*
 * Refuses names that a mount has of its own in its root, and paths that no receiver takes, of a directory all files
 * below it. A text that is no path at all has been refused as a value, or is the whole mount.
 */
static void check_target(struct k2i_checker *checker, const struct k2i_rule *rule)
{
	char path[K2HFT_STREAM_PATH_BYTES_MAX + 3];
	const char *refused = NULL;

	if (k2i_path_below(rule->target, K2I_STAT_NAME) || k2i_path_below(rule->target, K2I_RING_LINK_NAME)) {
		refused = "is a name that k2hftfuse has for itself";
	} else if (rule->transfer && k2hft_stream_path_check(rule->target, strlen(rule->target)) == 0) {
		(void)snprintf(path, sizeof(path), "%s%s", rule->target, rule->directory ? "/f" : "");
		refused = k2i_path_refused(path);
	}
	if (refused)
		k2i_checker_find(checker, K2I_FINDING_ERROR, rule->place, "TARGET = %s %s", rule->target, refused);
}

static const char *target_text(const struct k2i_rule *rule)
{
	return *rule->target ? rule->target : "/";
}

static void check_rule(struct k2i_checker *checker, const struct k2i_rule *rule)
{
	check_patterns(checker, rule);
	if (!rule->directory && rule->output_file && rule->output_file[strlen(rule->output_file) - 1] == '/')
		error(checker, rule->place, "OUTPUTFILE of [K2HFTFUSE_RULE] must name a file, not a directory");
	if (rule->plugin_transfers && (!rule->plugin || !rule->transfer || rule->output_file))
		error(checker, rule->place, "PLUGINTRANS = yes needs PLUGIN and TRUNS = yes, and no OUTPUTFILE");
	if (!rule->directory && (!rule->target || !*rule->target))
		error(checker, rule->place, "the rule needs TARGET");
	else
		check_target(checker, rule);
}

/* Targets below one stand right behind it: / comes before any other byte. The same ones are in the order of the file. */
static int targets_compare(const void *a, const void *b)
{
	const struct k2i_rule *const *one = a, *const *other = b;
	const char *x = (*one)->target, *y = (*other)->target;

	while (*x && *x == *y)
		x++, y++;
	if (*x == *y)
		return *one < *other ? -1 : 1;
	return !*x || (*y && (*x == '/' || (*y != '/' && (unsigned char)*x < (unsigned char)*y))) ? -1 : 1;
}

static void check_clash(struct k2i_checker *checker, const struct k2i_rule *a, const struct k2i_rule *b)
{
	const struct k2i_rule *earlier = a < b ? a : b, *rule = a < b ? b : a;
	char text[512];

	k2i_checker_find(checker, K2I_FINDING_ERROR, rule->place, "TARGET = %s clashes with the rule of %s for %s",
			 target_text(rule), k2i_place_text(&earlier->place, rule->place.file, text, sizeof(text)),
			 target_text(earlier));
}

/* In order, so that each is compared with one or two: there can be tens of thousands. -ENOMEM. */
static int check_targets(struct k2i_checker *checker)
{
	const struct k2i_settings *settings = checker->settings;
	const struct k2i_rule **rules = calloc(settings->rule_count + 1, sizeof(*rules)), *file = NULL;
	size_t count = 0;

	if (!rules)
		return -ENOMEM;
	for (size_t number = 0; number < settings->rule_count; number++)
		if (settings->rules[number].target &&
		    (settings->rules[number].directory || *settings->rules[number].target))
			rules[count++] = &settings->rules[number];
	qsort(rules, count, sizeof(*rules), targets_compare);
	for (size_t number = 0; number < count; number++) {
		if (file && targets_clash(file, rules[number])) {
			check_clash(checker, file, rules[number]);
			continue;
		}
		if (number && targets_clash(rules[number - 1], rules[number]))
			check_clash(checker, rules[number - 1], rules[number]);
		if (!rules[number]->directory)
			file = rules[number];
	}
	free(rules);
	return 0;
}

static void check_rotation(struct k2i_checker *checker)
{
	static const char *const keys[] = {"ROTATE_SIZE", "ROTATE_TIME", "ROTATE_KEEP", "ROTATE_COMPRESS",
					   "POSTROTATE"};
	const struct k2i_settings *settings = checker->settings;
	const bool given[] = {settings->rotate_bytes != 0, settings->rotate_time != NULL, settings->rotate_keep != NULL,
			      settings->rotate_compress != K2I_ROTATE_COMPRESS_NONE, settings->post_rotate != NULL};
	const char *why = settings->plugin ? "can't be used together with PLUGIN, whose programs write the files: "
					     "have logrotate(8) rotate them"
			  : settings->unify_file && *settings->unify_file == '/'
				  ? "can't be used together with a FILE_UNIFY that is a device"
			  : !(settings->outputs & K2I_OUTPUT_FILE) ? "needs file in TYPE"
			  : !given[0] && !given[1]                 ? "needs ROTATE_SIZE or ROTATE_TIME"
								   : NULL;

	for (size_t key = 0; why && key < sizeof(keys) / sizeof(keys[0]); key++) {
		if (given[key])
			k2i_checker_find(checker, K2I_FINDING_ERROR,
					 place(checker, K2I_SECTION_K2HFTFUSESVR, keys[key]), "%s %s", keys[key], why);
	}
}

/* Keys of destinations that TYPE does not have. */
static void check_idle(struct k2i_checker *checker)
{
	const struct k2i_setting *setting = k2i_settings_table;
	const char *word;
	struct k2i_place at;

	for (; setting < k2i_settings_table + k2i_settings_table_count; setting++) {
		word = k2i_setting_idle(setting, checker->settings);
		if (!word)
			continue;
		at = k2i_settings_key_place(checker->settings, setting->section, setting->name);
		if (at.file)
			k2i_checker_find(checker, K2I_FINDING_WITHOUT_EFFECT, at, "%s has no effect: TYPE has no %s",
					 setting->name, word);
	}
}

static void check_relay(struct k2i_checker *checker)
{
	const struct k2i_relay_settings *relay = &checker->settings->relay;
	bool file = relay->queue_type == K2I_QUEUE_FILE;

	if (file && !relay->queue_file)
		error(checker, place(checker, K2I_SECTION_K2HFTFUSESVR, "K2HTYPE"), "K2HTYPE = file needs K2HFILE");
	if (file && !k2i_settings_key_place(checker->settings, K2I_SECTION_K2HFTFUSESVR, "K2HINIT").file)
		k2i_checker_find(checker, K2I_FINDING_WARNING, place(checker, K2I_SECTION_K2HFTFUSESVR, "K2HTYPE"),
				 "each start discards what waits in K2HFILE; set K2HINIT = no to have it sent, or yes "
				 "if that is meant");
}

static void check_receiver(struct k2i_checker *checker)
{
	struct k2i_settings *settings = checker->settings;
	const char *doubt = k2i_own_server_find(settings);
	const struct k2i_node *own = k2i_settings_node(settings, true);
	struct k2i_place control_place = !own->control_port     ? place(checker, K2I_SECTION_GLOBAL, "CTLPORT")
					 : settings->own_server ? own->place
								: place(checker, K2I_SECTION_SVRNODE, "CTLPORT");

	if (doubt)
		k2i_checker_find(checker, K2I_FINDING_WARNING, own->place, "%s", doubt);
	if (!settings->base_directory && settings->outputs & K2I_OUTPUT_FILE)
		error(checker, place(checker, K2I_SECTION_K2HFTFUSESVR, "FILE_BASEDIR"),
		      "[K2HFTFUSESVR] needs FILE_BASEDIR: the directory of the output files");
	else if (!settings->base_directory && !settings->state_directory && settings->outputs &&
		 !k2i_settings_state_ends(settings))
		error(checker, place(checker, K2I_SECTION_K2HFTFUSESVR, "STATEDIR"),
		      "[K2HFTFUSESVR] needs STATEDIR, the directory of the ledger, if TYPE has no file");
	if (!k2i_settings_port(settings, true))
		error(checker, checker->settings->places->sections[K2I_SECTION_K2HFTFUSESVR],
		      "[K2HFTFUSESVR] needs PORT of [GLOBAL] or of [SVRNODE] to listen on");
	if (k2i_settings_control_port(settings) &&
	    k2i_settings_control_port(settings) == k2i_settings_port(settings, true))
		error(checker, control_place, "CTLPORT must be another port than PORT");
	if (settings->run_group && !settings->run_user)
		error(checker, place(checker, K2I_SECTION_K2HFTFUSESVR, "GROUP"),
		      "GROUP goes with USER; name that, too, or remove GROUP");
	if (settings->frame_bytes_max > settings->window_bytes)
		error(checker, place(checker, K2I_SECTION_K2HFTFUSESVR, "FRAMEMAX"), "FRAMEMAX must be at most WINDOW");
	check_rotation(checker);
	k2i_settings_remote_check(checker);
}

int k2i_settings_complete(struct k2i_checker *checker)
{
	const struct k2i_settings *settings = checker->settings;
	size_t number;

	check_sections(checker);
	check_senders(checker);
	if (settings->fuse_present || (!settings->receiver_present && settings->server_count))
		check_servers(checker);
	if (settings->fuse_present) {
		check_queue(checker);
		check_write_modes(checker);
	}
	for (number = 0; number < settings->rule_count; number++)
		check_rule(checker, &settings->rules[number]);
	if (settings->receiver_present) {
		check_receiver(checker);
		check_idle(checker);
		if (settings->outputs & K2I_OUTPUT_RELAY)
			check_relay(checker);
	}
	k2i_settings_tls_check(checker);
	return check_targets(checker);
}
