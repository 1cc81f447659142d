/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/rules/rules.h"
#include "base/clock.h"
#include "fuse/copy/outputfile.h"
#include "fuse/base/journal.h"
#include "fuse/intake/record_route.h"
#include "fuse/base/mount.h"
#include "fuse/tree/nodes.h"

static void node_account(struct k2i_mount *mount, const struct k2i_route *route, size_t bytes)
{
	struct k2i_node_entry *entry = k2i_node_at(mount->nodes, route->node);

	/* The size of a file that is written through the cache is its watermark. */
	if (entry)
		k2i_node_grow(entry, entry->cached ? 0 : entry->size + bytes);
}

int k2i_route_append_output(struct k2i_mount *mount, struct k2i_route *route, const char *data, size_t bytes)
{
	int status = 0;

	if (route->output_missing)
		status = k2i_outputfile_get(mount, route->match, route->path, &route->output);
	route->output_missing = status != 0;
	if (status == 0 && route->output)
		status = k2i_outputfile_append(route->output, data, bytes);
	if (status == 0)
		return 0;
	k2i_mount_count(&mount->counts.output_errors, 1);
	k2i_log_limited(&mount->log.output, k2i_clock_now_ns(), K2HFT_LOG_ERROR, "mount: %s: %s",
			k2i_rule_settings(route->match)->output_file, strerror(-status));
	return status;
}

/* Records that a file behind a stream has no memory for. */
static void records_lose(struct k2i_mount *mount, const struct k2i_route *route, const char *data, size_t bytes)
{
	k2i_mount_count(&mount->counts.lost_records, k2i_records_count(mount, data, bytes));
	k2i_log_limited(&mount->log.lost, k2i_clock_now_ns(), K2HFT_LOG_ERROR,
			"mount: no memory: records that %s gets from another file are lost", route->path);
}

static int records_hand_on(struct k2i_mount *mount, struct k2i_route *route, const struct k2i_records *records,
			   size_t *taken)
{
	int status;

	if (route->next) {
		status = k2i_route_take(mount, route->next, records, taken);
		node_account(mount, route->next, *taken);
	} else {
		status = k2i_route_append_output(mount, route, records->data, records->bytes);
		*taken = status ? 0 : records->bytes;
	}
	return status;
}

/* Records that the rule has passed; as k2i_route_take. */
static int records_deliver(struct k2i_mount *mount, struct k2i_route *route, const struct k2i_records *records,
			   size_t *taken)
{
	int status = route->transfer ? k2i_route_add_pending(route, records) : 0;

	*taken = 0;
	if (status || records->bytes == 0)
		return status;
	status = records_hand_on(mount, route, records, taken);
	if (status == 0 || !route->transfer)
		return status;
	/* A stream has them: what fails behind it is no reason to have the writer write them again. */
	if (status == -ENOMEM && route->next)
		records_lose(mount, route->next, records->data + *taken, records->bytes - *taken);
	*taken = records->bytes;
	return 0;
}

/* A replacement of a record whose first piece was judged: it stands for the whole record, so it gets the line end. */
static int replaced_deliver(struct k2i_mount *mount, struct k2i_route *route, const struct k2i_records *replaced,
			    size_t *taken)
{
	struct k2i_records whole = *replaced;
	char *text = malloc(replaced->bytes + 1);
	int status;

	*taken = 0;
	if (!text)
		return -ENOMEM;
	memcpy(text, replaced->data, replaced->bytes);
	text[replaced->bytes] = '\n';
	whole.data = text;
	whole.bytes = replaced->bytes + 1;
	whole.continues = false;
	status = records_deliver(mount, route, &whole, taken);
	free(text);
	return status;
}

/* Counts of a rule's work on records. Those that are not taken are judged again when their writer tries again. */
static void judged_count(struct k2i_mount *mount, const struct k2i_route *route, const struct k2i_rule_counts *counts)
{
	k2i_mount_count(&mount->counts.slow_patterns, counts->slow);
	if (counts->filtered)
		k2i_log_limited(&mount->log.filter, k2i_clock_now_ns(), K2HFT_LOG_INFO,
				"mount: %s: %llu records that its rule does not let pass", route->path,
				(unsigned long long)counts->filtered);
	k2i_mount_count(&mount->counts.filtered_records, counts->filtered);
	k2i_mount_count(&mount->counts.replaced_records, counts->replaced);
}

/* Whole records, or the first piece of one, through the rule. */
static int records_judge(struct k2i_mount *mount, struct k2i_route *route, const struct k2i_records *records,
			 size_t *taken)
{
	struct k2i_records passed = *records;
	struct k2i_rule_counts counts = {0};
	struct k2i_rule_output output;
	size_t delivered;
	int verdict, status = 0;

	*taken = 0;
	k2i_rule_begin(route->scratch, records->data, records->bytes);
	verdict = k2i_rule_next(route->scratch, &output);
	if (verdict >= 0) {
		K2I_JOURNAL_KEEP(route);
		route->rest_dropped = records->continues && (verdict == 0 || output.replaced);
	}
	for (; verdict > 0 && status == 0; verdict = status ? status : k2i_rule_next(route->scratch, &output)) {
		passed.data = output.data;
		passed.bytes = output.bytes;
		status = route->rest_dropped ? replaced_deliver(mount, route, &passed, &delivered)
					     : records_deliver(mount, route, &passed, &delivered);
		if (delivered == 0)
			continue;
		*taken = output.end - (status ? passed.bytes - delivered : 0);
		counts = k2i_rule_counts(route->scratch);
	}
	if (verdict == 0) {
		*taken = records->bytes;
		counts = k2i_rule_counts(route->scratch);
	}
	judged_count(mount, route, &counts);
	return verdict;
}

int k2i_route_filter_in_place(struct k2i_mount *mount, struct k2i_route *route, char *records, size_t *bytes)
{
	struct k2i_rule_output output;
	struct k2i_rule_counts counts;
	size_t passed = 0;
	int verdict;

	if (route->passes_all)
		return 0;
	k2i_rule_begin(route->scratch, records, *bytes);
	while ((verdict = k2i_rule_next(route->scratch, &output)) > 0) {
		if (output.data != records + passed)
			memmove(records + passed, output.data, output.bytes);
		passed += output.bytes;
	}
	*bytes = passed;
	counts = k2i_rule_counts(route->scratch);
	if (verdict == 0)
		judged_count(mount, route, &counts);
	return verdict;
}

int k2i_route_take(struct k2i_mount *mount, struct k2i_route *route, const struct k2i_records *records, size_t *taken)
{
	*taken = records->bytes;
	if (records->continued)
		return route->rest_dropped ? 0 : records_deliver(mount, route, records, taken);
	if (!route->passes_all)
		return records_judge(mount, route, records, taken);
	if (route->rest_dropped) {
		K2I_JOURNAL_KEEP(route);
		route->rest_dropped = false;
	}
	return records_deliver(mount, route, records, taken);
}
