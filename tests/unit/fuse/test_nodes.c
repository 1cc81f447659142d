/* SPDX-License-Identifier: MIT */
/* The tree of a mount. */
#include <errno.h>
#include <sys/stat.h>

#include "unit.h"
#include "fuse/tree/nodes.h"
#include "random_help.h"

static const struct k2i_node_owner file = {.mode = S_IFREG | 0644}, directory = {.mode = S_IFDIR | 0755};

static int set_up(void **state)
{
	struct k2i_node_table *table = NULL;
	int status = k2i_nodes_create(&directory, &table);

	*state = table;
	return status;
}

static int tear_down(void **state)
{
	k2i_nodes_free(*state);
	return 0;
}

static uint32_t make(struct k2i_node_table *table, uint32_t parent, const char *name,
		     const struct k2i_node_owner *owner)
{
	uint32_t node = K2I_NODE_NONE;

	assert_int_equal(k2i_node_make(table, parent, name, owner, &node), 0);
	assert_int_equal(k2i_node_find(table, parent, name), node);
	return node;
}

static void assert_path(struct k2i_node_table *table, uint32_t node, const char *expected)
{
	char path[100];

	assert_int_equal(k2i_node_path(table, node, NULL, path, sizeof(path)), strlen(expected));
	assert_string_equal(path, expected);
}

#define CASE(name) FIXTURE_TEST(name, struct k2i_node_table *table, set_up, tear_down)

CASE(paths_and_names)
{
	uint32_t a = make(table, K2I_NODE_ROOT, "a", &directory), b = make(table, a, "bb", &directory);
	char path[100];

	make(table, b, "file", &file);
	assert_path(table, K2I_NODE_ROOT, "");
	assert_path(table, b, "a/bb");
	assert_int_equal(k2i_node_path(table, b, "new", path, sizeof(path)), 8);
	assert_string_equal(path, "a/bb/new");
	assert_int_equal(k2i_node_path(table, K2I_NODE_ROOT, "new", path, sizeof(path)), 3);
	assert_string_equal(path, "new");
	assert_int_equal(k2i_node_path(table, b, "new", path, 9), 8);
	assert_int_equal(k2i_node_path(table, b, "new", path, 8), -ENAMETOOLONG);
	assert_int_equal(k2i_node_find(table, a, "bb"), b);
	assert_int_equal(k2i_node_find(table, a, "c"), K2I_NODE_NONE);
}

CASE(names_are_taken_once)
{
	uint32_t a = make(table, K2I_NODE_ROOT, "a", &file), node;
	char name[300];

	assert_int_equal(k2i_node_make(table, K2I_NODE_ROOT, "a", &file, &node), -EEXIST);
	assert_int_equal(k2i_node_make(table, a, "b", &file, &node), -ENOTDIR);
	assert_int_equal(k2i_node_make(table, 4711, "b", &file, &node), -ENOENT);
	memset(name, 'x', sizeof(name));
	name[256] = '\0';
	assert_int_equal(k2i_node_make(table, K2I_NODE_ROOT, name, &file, &node), -ENAMETOOLONG);
	name[255] = '\0';
	assert_int_equal(k2i_node_make(table, K2I_NODE_ROOT, name, &file, &node), 0);
}

CASE(a_node_lives_as_long_as_it_is_known)
{
	uint32_t a = make(table, K2I_NODE_ROOT, "a", &file), again;
	uint64_t generation = k2i_node_at(table, a)->generation;
	char path[10];

	k2i_node_looked_up(table, a);
	k2i_node_looked_up(table, a);
	k2i_node_opened(table, a);
	assert_int_equal(k2i_node_links(k2i_node_at(table, a)), 1);
	assert_int_equal(k2i_node_remove(table, a), 0);
	assert_int_equal(k2i_node_find(table, K2I_NODE_ROOT, "a"), K2I_NODE_NONE);
	assert_int_equal(k2i_node_links(k2i_node_at(table, a)), 0);
	assert_int_equal(k2i_node_path(table, a, NULL, path, sizeof(path)), -ENOENT);
	k2i_node_forget(table, a, 1);
	k2i_node_closed(table, a);
	assert_non_null(k2i_node_at(table, a));
	k2i_node_forget(table, a, 1);
	assert_null(k2i_node_at(table, a));
	/* Its index comes again, as another node. */
	again = make(table, K2I_NODE_ROOT, "b", &file);
	assert_int_equal(again, a);
	assert_int_not_equal(k2i_node_at(table, again)->generation, generation);
}

static void assert_last_path(struct k2i_node_table *table, uint32_t node, const char *expected)
{
	char path[100];

	assert_int_equal(k2i_node_last_path(table, node, path, sizeof(path)), strlen(expected));
	assert_string_equal(path, expected);
}

/* A process that has looked a file up opens it by the name that it had then, whatever has become of that. */
CASE(a_node_without_a_name_has_a_last_path)
{
	uint32_t above = make(table, K2I_NODE_ROOT, "above", &directory), a = make(table, above, "a", &file);
	char path[10];

	k2i_node_looked_up(table, above);
	k2i_node_looked_up(table, a);
	assert_last_path(table, a, "above/a");
	assert_int_equal(k2i_node_rename(table, above, K2I_NODE_ROOT, "b", true), 0);
	assert_int_equal(k2i_node_rename(table, a, above, "c", true), 0);
	assert_int_equal(k2i_node_remove(table, a), 0);
	assert_last_path(table, a, "b/c");
	assert_int_equal(k2i_node_remove(table, above), 0);
	assert_last_path(table, a, "b/c");
	assert_int_equal(k2i_node_path(table, a, NULL, path, sizeof(path)), -ENOENT);
	/* Another one takes the directory's index. */
	k2i_node_forget(table, above, 1);
	assert_int_equal(k2i_node_last_path(table, a, path, sizeof(path)), -ENOENT);
	assert_int_equal(make(table, K2I_NODE_ROOT, "d", &directory), above);
	assert_int_equal(k2i_node_last_path(table, a, path, sizeof(path)), -ENOENT);
}

/* Without execution by the group its bit means another thing (chmod(2)). */
CASE(a_write_takes_the_right_to_be_somebody_else)
{
	static const struct {
		mode_t before, after;
	} modes[] = {{06755, 0755}, {06644, 02644}, {04644, 0644}, {02644, 02644}, {0755, 0755}};
	uint32_t node = make(table, K2I_NODE_ROOT, "a", &file);

	for (size_t at = 0; at < sizeof(modes) / sizeof(modes[0]); at++) {
		k2i_node_at(table, node)->mode = S_IFREG | modes[at].before;
		k2i_node_drop_set_ids(table, node);
		assert_int_equal(k2i_node_at(table, node)->mode, S_IFREG | modes[at].after);
	}
	k2i_node_drop_set_ids(table, node + 1);
}

CASE(a_name_keeps_its_node)
{
	uint32_t a = make(table, K2I_NODE_ROOT, "a", &file);

	k2i_node_looked_up(table, a);
	k2i_node_forget(table, a, 1000);
	k2i_node_forget(table, 4711, 1);
	k2i_node_forget(table, UINT64_MAX, 1);
	assert_int_equal(k2i_node_find(table, K2I_NODE_ROOT, "a"), a);
}

CASE(directories_go_when_empty)
{
	uint32_t a = make(table, K2I_NODE_ROOT, "a", &directory), b = make(table, a, "b", &file);

	assert_int_equal(k2i_node_links(k2i_node_at(table, K2I_NODE_ROOT)), 3);
	assert_int_equal(k2i_node_remove(table, a), -ENOTEMPTY);
	assert_int_equal(k2i_node_remove(table, b), 0);
	k2i_node_at(table, a)->implied = true;
	assert_int_equal(k2i_node_remove(table, a), -EBUSY);
	k2i_node_at(table, a)->implied = false;
	assert_int_equal(k2i_node_remove(table, a), 0);
	assert_int_equal(k2i_node_links(k2i_node_at(table, K2I_NODE_ROOT)), 2);
	assert_int_equal(k2i_nodes_used(table), 1);
}

CASE(renames)
{
	uint32_t a = make(table, K2I_NODE_ROOT, "a", &directory), b = make(table, a, "b", &directory);
	uint32_t f = make(table, a, "f", &file), g = make(table, b, "g", &file);

	assert_int_equal(k2i_node_rename(table, a, b, "a", true), -EINVAL);
	assert_int_equal(k2i_node_rename(table, f, b, "g", false), -EEXIST);
	assert_int_equal(k2i_node_rename(table, f, a, "b", true), -EISDIR);
	assert_int_equal(k2i_node_rename(table, b, a, "f", true), -ENOTDIR);
	assert_int_equal(k2i_node_rename(table, f, a, "f", true), 0);
	k2i_node_opened(table, g);
	assert_int_equal(k2i_node_rename(table, f, b, "g", true), 0);
	assert_path(table, f, "a/b/g");
	assert_int_equal(k2i_node_find(table, b, "g"), f);
	assert_int_equal(k2i_node_links(k2i_node_at(table, g)), 0);
	k2i_node_closed(table, g);
	assert_null(k2i_node_at(table, g));
	assert_int_equal(k2i_node_rename(table, b, K2I_NODE_ROOT, "c", true), 0);
	assert_path(table, f, "c/g");
	assert_int_equal(k2i_node_links(k2i_node_at(table, a)), 2);
	assert_int_equal(k2i_node_rename(table, a, K2I_NODE_ROOT, "c", true), -ENOTEMPTY);
	assert_int_equal(k2i_node_rename(table, K2I_NODE_ROOT, b, "r", true), -EBUSY);
}

static void assert_links(struct k2i_node_table *table, uint32_t node, nlink_t links)
{
	assert_int_equal(k2i_node_links(k2i_node_at(table, node)), links);
}

static uint32_t node_named(const struct k2i_node_table *table, uint32_t parent, const char *name)
{
	return k2i_node_of(table, k2i_node_find(table, parent, name));
}

CASE(a_file_has_several_names)
{
	uint32_t a = make(table, K2I_NODE_ROOT, "a", &directory), f = make(table, a, "f", &file);

	assert_int_equal(k2i_node_link(table, a, a, "directory"), -EPERM);
	assert_int_equal(k2i_node_link(table, 4711, a, "nobody"), -ENOENT);
	assert_int_equal(k2i_node_link(table, f, a, "f"), -EEXIST);
	assert_int_equal(k2i_node_link(table, f, a, "g"), 0);
	assert_int_equal(k2i_node_link(table, f, K2I_NODE_ROOT, "h"), 0);
	assert_links(table, f, 3);
	assert_int_equal(node_named(table, a, "g"), f);
	assert_int_equal(node_named(table, K2I_NODE_ROOT, "h"), f);
	assert_path(table, f, "a/f");
	/* A link renamed to another: as rename(2), nothing. */
	assert_int_equal(k2i_node_rename(table, k2i_node_find(table, a, "g"), a, "f", true), 0);
	assert_links(table, f, 3);
	assert_int_equal(k2i_node_rename(table, k2i_node_find(table, a, "g"), a, "i", true), 0);
	assert_int_equal(node_named(table, a, "i"), f);
	/* It goes on under the oldest of the others when the first one goes, and when something takes that one's place. */
	assert_int_equal(k2i_node_remove(table, f), 0);
	assert_int_equal(k2i_node_find(table, a, "f"), K2I_NODE_NONE);
	assert_links(table, f, 2);
	assert_path(table, f, "a/i");
	assert_int_equal(k2i_node_rename(table, make(table, a, "f", &file), a, "i", true), 0);
	assert_links(table, f, 1);
	assert_path(table, f, "h");
	k2i_node_opened(table, f);
	assert_int_equal(k2i_node_remove(table, k2i_node_find(table, K2I_NODE_ROOT, "h")), 0);
	assert_links(table, f, 0);
	assert_int_equal(k2i_node_link(table, f, a, "again"), -ENOENT);
	k2i_node_closed(table, f);
	assert_null(k2i_node_at(table, f));
	assert_int_equal(k2i_nodes_used(table), 3);
}

/* The others stay where they were: who lists them meanwhile sees each once, and their directory has not changed. */
CASE(a_name_that_goes_moves_no_other)
{
	uint32_t a = make(table, K2I_NODE_ROOT, "a", &directory), f = make(table, K2I_NODE_ROOT, "f", &file), child;
	const struct timespec none = {0};
	uint64_t order;

	make(table, a, "first", &file);
	assert_int_equal(k2i_node_link(table, f, a, "g"), 0);
	make(table, a, "last", &file);
	child = k2i_node_find(table, a, "g");
	order = k2i_node_at(table, child)->order;
	k2i_node_at(table, a)->modified = none;
	assert_int_equal(k2i_node_remove(table, f), 0);
	assert_int_equal(k2i_node_at(table, a)->modified.tv_sec, 0);
	assert_int_equal(k2i_node_find(table, a, "g"), f);
	assert_path(table, f, "a/g");
	assert_links(table, f, 1);
	assert_null(k2i_node_at(table, child));
	assert_int_equal(k2i_node_at(table, f)->order, order);
	child = k2i_node_child_after(table, a, 0);
	assert_int_equal(k2i_node_child_after(table, a, k2i_node_at(table, child)->order), f);
	assert_int_equal(k2i_node_child_after(table, a, order), k2i_node_find(table, a, "last"));
	assert_int_equal(k2i_node_remove(table, f), 0);
	assert_int_equal(k2i_node_find(table, a, "g"), K2I_NODE_NONE);
	assert_int_equal(k2i_node_child_after(table, a, k2i_node_at(table, child)->order),
			 k2i_node_find(table, a, "last"));
}

/* A user who may make files must not make one that takes long to be rid of. */
CASE(a_file_has_not_too_many_names)
{
	uint32_t f = make(table, K2I_NODE_ROOT, "f", &file);
	char name[16];

	for (unsigned number = 0; number < K2I_NODE_LINKS_MAX; number++) {
		(void)snprintf(name, sizeof(name), "%u", number);
		assert_int_equal(k2i_node_link(table, f, K2I_NODE_ROOT, name), 0);
	}
	assert_int_equal(k2i_node_link(table, f, K2I_NODE_ROOT, "more"), -EMLINK);
	assert_int_equal(k2i_node_remove(table, k2i_node_find(table, K2I_NODE_ROOT, "0")), 0);
	assert_int_equal(k2i_node_link(table, f, K2I_NODE_ROOT, "more"), 0);
}

CASE(listing_goes_on_whatever_changes)
{
	uint32_t nodes[1000], child, count = 0;
	uint64_t order = 0;

	for (unsigned at = 0; at < 1000; at++) {
		char name[16];

		snprintf(name, sizeof(name), "%u", at);
		nodes[at] = make(table, K2I_NODE_ROOT, name, &file);
	}
	while ((child = k2i_node_child_after(table, K2I_NODE_ROOT, order)) != K2I_NODE_NONE) {
		assert_int_equal(child, nodes[count]);
		order = k2i_node_at(table, child)->order;
		/* The one that was listed last goes, and so does one that comes: 0, 2, 4 ... are seen. */
		assert_int_equal(k2i_node_remove(table, child), 0);
		if (count + 1 < 1000)
			assert_int_equal(k2i_node_remove(table, nodes[count + 1]), 0);
		count += 2;
	}
	assert_int_equal(count, 1000);
	assert_int_equal(k2i_nodes_used(table), 1);
	assert_int_equal(k2i_node_child_after(table, K2I_NODE_ROOT, 0), K2I_NODE_NONE);
}

/* Renamed where it stands, so each is met once; the directory has changed, and what is replaced is gone. */
CASE(who_renames_what_he_lists_ends)
{
	uint32_t nodes[10], child, count = 0;
	uint64_t order = 0;

	for (unsigned at = 0; at < 10; at++)
		nodes[at] = make(table, K2I_NODE_ROOT, (char[]){(char)('a' + at), '\0'}, &file);
	while (count < 10) {
		char name[] = {'x', (char)('a' + count), '\0'};

		child = k2i_node_child_after(table, K2I_NODE_ROOT, order);
		assert_int_equal(child, nodes[count++]);
		order = k2i_node_at(table, child)->order;
		k2i_node_at(table, K2I_NODE_ROOT)->modified = (struct timespec){0};
		assert_int_equal(k2i_node_rename(table, child, K2I_NODE_ROOT, name, true), 0);
		assert_int_not_equal(k2i_node_at(table, K2I_NODE_ROOT)->modified.tv_sec, 0);
		assert_path(table, child, name);
		assert_int_equal(k2i_node_find(table, K2I_NODE_ROOT, name), child);
		assert_int_equal(k2i_node_find(table, K2I_NODE_ROOT, name + 1), K2I_NODE_NONE);
	}
	assert_int_equal(k2i_node_child_after(table, K2I_NODE_ROOT, order), K2I_NODE_NONE);
	assert_int_equal(k2i_node_rename(table, nodes[0], K2I_NODE_ROOT, "xb", true), 0);
	assert_null(k2i_node_at(table, nodes[1]));
	assert_int_equal(k2i_node_child_after(table, K2I_NODE_ROOT, k2i_node_at(table, nodes[0])->order), nodes[2]);
}

/* As seekdir(3) does, in two directories by turns, where every third name has gone. */
CASE(listing_begins_anywhere)
{
	uint32_t above[2] = {make(table, K2I_NODE_ROOT, "a", &directory), make(table, K2I_NODE_ROOT, "b", &directory)};
	uint32_t nodes[2][100];
	uint64_t orders[2][100], seed = 1;

	for (unsigned at = 0; at < 200; at++) {
		char name[16];

		snprintf(name, sizeof(name), "%u", at);
		nodes[at % 2][at / 2] = make(table, above[at % 2], name, &file);
		orders[at % 2][at / 2] = k2i_node_at(table, nodes[at % 2][at / 2])->order;
	}
	for (unsigned at = 0; at < 99; at += 3)
		assert_int_equal(k2i_node_remove(table, nodes[0][at]), 0);
	for (unsigned tries = 0; tries < 10000; tries++) {
		unsigned which = (unsigned)(random_next(&seed) % 2), at = (unsigned)(random_next(&seed) % 99),
			 next = at + 1;

		if (which == 0 && next % 3 == 0 && next < 99)
			next++;
		assert_int_equal(k2i_node_child_after(table, above[which], orders[which][at]), nodes[which][next]);
		if (tries % 5 == 0)
			assert_int_equal(k2i_node_child_after(table, above[which], orders[which][99]), K2I_NODE_NONE);
		if (tries % 7 == 0)
			assert_int_equal(k2i_node_child_after(table, above[which], 0), nodes[which][which ? 0 : 1]);
	}
}

CASE(a_full_table_says_so)
{
	uint32_t node;
	int status = 0;
	char name[16];

	for (unsigned at = 0; status == 0; at++) {
		snprintf(name, sizeof(name), "%u", at);
		status = k2i_node_make(table, K2I_NODE_ROOT, name, &file, &node);
	}
	assert_int_equal(status, -ENOSPC);
	assert_int_equal(k2i_nodes_used(table), K2I_NODE_COUNT_MAX - 1);
	assert_int_equal(k2i_node_remove(table, k2i_node_find(table, K2I_NODE_ROOT, "77")), 0);
	assert_int_equal(k2i_node_make(table, K2I_NODE_ROOT, "new", &file, &node), 0);
}
