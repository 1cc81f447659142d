/* SPDX-License-Identifier: MIT */
#include "fuse/keeper/reload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crash.h"
#include "fuse/base/journal.h"
#include "fuse/base/mount.h"
#include "fuse/cached/write_mode.h"
#include "fuse/intake/handles.h"
#include "fuse/keeper/change.h"
#include "fuse/keeper/setup.h"
#include "fuse/tree/tree.h"

/* Setups that handles still go by: data that waits for a ring was written under them. */
static struct former {
	struct former *next;
	struct k2i_setup setup;
} * formers;

static void formers_free(const struct k2i_mount *mount)
{
	struct former *former;

	while (!mount->handles->next_route_count && (former = formers) != NULL) {
		formers = former->next;
		k2i_setup_free(&former->setup);
		free(former);
	}
}

static void rule_failed(struct k2i_reload *told, const struct k2i_rule *rule, int status)
{
	(void)snprintf(told->error, sizeof(told->error), "%s:%u: TARGET %s: %s", rule->place.file, rule->place.line,
		       rule->target, strerror(-status));
}

static void handle_failed(struct k2i_reload *told, const struct k2i_handle *handle, int status)
{
	(void)snprintf(told->error, sizeof(told->error), "%.900s is open for writing%s%s",
		       handle ? handle->path : "a file",
		       status == -EPERM ? ", and no rule covers it" : ", and can't be by the rules: ",
		       status == -EPERM ? "" : strerror(-status));
}

/* In one step, with the rules in use already. */
static int rules_take(struct k2i_mount *mount, const struct k2i_settings *former, uint64_t signature)
{
	struct k2i_reload *told = &mount->reload.told;
	const struct k2i_handle *handle = NULL;
	const struct k2i_rule *rule = NULL;
	int status = k2i_tree_change(mount, former, &rule);

	if (status) {
		rule_failed(told, rule, status);
	} else {
		status = k2i_handles_change_rules(mount, &handle);
		if (status)
			handle_failed(told, handle, status);
	}
	K2I_CRASH(mount_reload_prepared);
	if (status) {
		k2i_journal_undo();
		return status;
	}
	K2I_JOURNAL_KEEP(&mount->reload);
	mount->reload.taken++;
	mount->reload.signature = signature;
	k2i_journal_step();
	K2I_CRASH(mount_reload_taken);
	return 0;
}

/* Lanes whose connections have to be made anew, since what they are made with has changed. */
static uint64_t lanes_anew(const struct k2i_mount *mount, const struct k2i_setup *former, const struct k2i_setup *setup,
			   const struct k2i_change *change)
{
	bool alike = k2i_setup_connects_alike(former, setup);
	uint64_t anew = 0;

	for (unsigned at = 0; at < mount->lanes.count; at++) {
		const struct k2i_mount_lane *lane = &mount->lanes.lane[at];

		if (!lane->plugin && k2i_lane_used(lane) && !(change->added & k2i_lane_bit(lane)) &&
		    (!alike || !k2i_setup_secures_alike(former, setup, lane->target)))
			anew |= k2i_lane_bit(lane);
	}
	return anew;
}

static uint64_t setup_take(struct k2i_mount *mount, struct former *former, struct k2i_setup *setup,
			   const struct k2i_change *change)
{
	int status;

	k2i_setup_use(mount, setup);
	k2i_change_take(mount, change);
	status = rules_take(mount, former->setup.config.settings, setup->signature);
	if (status) {
		k2i_setup_use(mount, &former->setup);
		k2i_change_undo(mount, change);
		k2i_setup_free(setup);
		free(former);
		return 0;
	}
	former->next = formers;
	formers = former;
	k2i_change_follow(mount, change);
	if (!mount->kernel.writeback && k2i_write_mode_any_cached(mount))
		k2i_log(K2HFT_LOG_INFO, "mount: files are written directly until the mount is made anew: it was made "
					"without the page cache");
	return lanes_anew(mount, &former->setup, setup, change);
}

uint64_t k2i_reload_run(struct k2i_mount *mount)
{
	struct k2i_reload *told = &mount->reload.told;
	struct former *former = malloc(sizeof(*former));
	struct k2i_change change;
	struct k2i_setup setup;
	uint64_t anew = 0;

	k2i_reload_begin(told);
	formers_free(mount);
	if (!former)
		(void)snprintf(told->error, sizeof(told->error), "%s", strerror(ENOMEM));
	if (!former || k2i_setup_load(mount, mount->settings, &setup, told)) {
		free(former);
	} else if (k2i_change_prepare(mount, &setup, &change, told)) {
		k2i_setup_free(&setup);
		free(former);
	} else {
		former->setup = k2i_setup_of(mount);
		anew = setup_take(mount, former, &setup, &change);
		formers_free(mount);
	}
	k2i_reload_end(told, "mount");
	return anew;
}
