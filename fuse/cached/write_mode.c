/* SPDX-License-Identifier: MIT */
#include "fuse/cached/write_mode.h"

#include <fcntl.h>

#include "app/rules/rules.h"
#include "fuse/copy/outputfile.h"
#include "fuse/base/mount.h"
#include "fuse/tree/nodes.h"

static enum k2i_write_mode rule_write_mode(const struct k2i_mount *mount, const struct k2i_rule *rule)
{
	return rule->write_mode == K2I_WRITE_MODE_UNSET ? mount->settings->write_mode : rule->write_mode;
}

bool k2i_write_mode_any_cached(const struct k2i_mount *mount)
{
	bool outside = k2i_outputfiles_readable(mount->outputfiles);

	for (size_t number = 0; !mount->settings->binary && number < mount->settings->rule_count; number++) {
		enum k2i_write_mode mode = rule_write_mode(mount, &mount->settings->rules[number]);

		if (mode == K2I_WRITE_MODE_CACHED || (mode == K2I_WRITE_MODE_AUTO && !outside))
			return true;
	}
	return false;
}

/*
 * For appending only: others write where they are in the file, and two of them to the same pages. Nor may the file be
 * read through the descriptor, since pages that were taken have no content here, nor be written past the cache. A file
 * that somebody writes directly stays so: what he has written may not be counted yet.
 */
bool k2i_write_mode_is_cached(const struct k2i_mount *mount, uint32_t node, const struct k2i_rule_match *match,
			      int flags)
{
	const struct k2i_node_entry *entry = k2i_node_at(mount->nodes, node);
	enum k2i_write_mode mode = rule_write_mode(mount, k2i_rule_settings(match));

	if (!mount->kernel.writeback || mode == K2I_WRITE_MODE_DIRECT || entry->is_copy_target)
		return false;
	if (mode == K2I_WRITE_MODE_AUTO && k2i_outputfile_outside(mount, match))
		return false;
	if ((flags & O_ACCMODE) != O_WRONLY || !(flags & O_APPEND) || flags & O_DIRECT)
		return false;
	return entry->cached || entry->writers == 0;
}
