/* SPDX-License-Identifier: MIT */
/* The rings of a target, by their files. */
#include "tools/stat/stat.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config/path.h"

const struct json_value *stat_lane_backlog(const struct json_value *status, const struct json_value *lane)
{
	const struct json_value *rings = json_get(json_get(status, "backlog"), "rings");
	const struct json_value *ring = rings ? rings->first : NULL;

	while (ring && strcmp(json_text(ring, "ring_file"), json_text(lane, "ring_file")) != 0)
		ring = ring->next;
	return ring;
}

static int ring_add(struct stat_targets *rings, const char *path)
{
	rings->names[rings->count] = strdup(path);
	return rings->names[rings->count++] ? 0 : -ENOMEM;
}

/* Those of its lanes, or, with a single receiver, the one that its root links to. */
static int mount_rings(const struct json_value *status, const char *directory, struct stat_targets *rings)
{
	const struct json_value *lanes = json_get(status, "lanes"), *lane = lanes ? lanes->first : NULL;
	char link[PATH_MAX];
	int error = 0;

	for (; lane && rings->count < STAT_LANES_MAX && !error; lane = lane->next)
		error = ring_add(rings, json_text(lane, "ring_file"));
	if (rings->count || error)
		return error;
	if ((size_t)snprintf(link, sizeof(link), "%s/%s", directory, K2I_RING_LINK_NAME) >= sizeof(link))
		return -ENAMETOOLONG;
	return ring_add(rings, link);
}

static int mount_ask(const char *directory, int timeout_ms, struct stat_targets *rings, char *reason, size_t room)
{
	char *text = stat_fetch(directory, timeout_ms, reason, room);
	struct json_value *status;
	size_t at;
	int error;

	if (!text)
		return -EIO;
	status = json_parse(text, strlen(text), &at);
	error = mount_rings(status, directory, rings);
	if (error)
		(void)snprintf(reason, room, "%s", strerror(-error));
	json_free(status);
	free(text);
	return error;
}

int stat_rings_find(const char *target, int timeout_ms, struct stat_targets *rings, char *reason, size_t room)
{
	struct stat status;
	int error = stat(target, &status) < 0 ? -errno : 0;

	*rings = (struct stat_targets){.names = calloc(STAT_LANES_MAX, sizeof(*rings->names))};
	if (!rings->names)
		error = -ENOMEM;
	(void)snprintf(reason, room, "%s", error ? strerror(-error) : "");
	if (!error && S_ISDIR(status.st_mode))
		return mount_ask(target, timeout_ms, rings, reason, room);
	return error ? error : ring_add(rings, target);
}
