/* SPDX-License-Identifier: MIT */
#include "tools/verify/retracted.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "tools/verify/verify.h"

#define STATE_NAME ".k2hft"
#define FIELDS 9u

enum { BASE, PATH, OFFSET, BYTES, RING, FROM, TO, RECORDS, CHECKSUM };

struct verify_retraction {
	char *path; /* the file's, as a whole */
	struct verify_skip skip;
	uint64_t checksum;
};

/* The directory that a list is about: where it lies, if it lies below one, as a copy of all of it does too; or NULL. */
static char *base_find(const char *list)
{
	char *path = realpath(list, NULL), *slash = path ? strrchr(path, '/') : NULL;

	if (slash)
		*slash = '\0';
	slash = slash ? strrchr(path, '/') : NULL;
	if (slash && strcmp(slash + 1, STATE_NAME) == 0) {
		*slash = '\0';
		return path;
	}
	free(path);
	return NULL;
}

static bool fields_split(char *line, char *fields[FIELDS])
{
	size_t count = 0;

	line[strcspn(line, "\n")] = '\0';
	for (char *field; count < FIELDS && (field = strsep(&line, "\t")) != NULL; count++)
		fields[count] = field;
	return count == FIELDS && !line;
}

static bool number_take(const char *text, int base, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(text, &end, base);
	return *text && *end == '\0' && errno == 0;
}

static bool is_unknown(const char *field)
{
	return strcmp(field, "-") == 0;
}

/* 1: the line names no bytes that can be told; -EINVAL it is none of a list. */
static int line_take(char *line, const char *base, struct verify_retraction *retraction)
{
	char *fields[FIELDS], real[PATH_MAX];
	int length;

	if (!fields_split(line, fields))
		return -EINVAL;
	if (is_unknown(fields[PATH]) || is_unknown(fields[OFFSET]) || is_unknown(fields[CHECKSUM]))
		return 1;
	if (!number_take(fields[OFFSET], 10, &retraction->skip.offset) ||
	    !number_take(fields[BYTES], 10, &retraction->skip.bytes) ||
	    !number_take(fields[CHECKSUM], 16, &retraction->checksum) ||
	    retraction->skip.offset > INT64_MAX - retraction->skip.bytes)
		return -EINVAL;
	if (!base)
		base = realpath(fields[BASE], real) ? real : fields[BASE];
	length = asprintf(&retraction->path, "%s/%s", base, fields[PATH]);
	return length < 0 ? -ENOMEM : 0;
}

static int lines_take(struct verify_retracted *retracted, FILE *file, const char *base)
{
	struct verify_retraction *list;
	char *line = NULL;
	size_t room = 0;
	int result = 0;

	while (result >= 0 && getline(&line, &room, file) > 0) {
		list = reallocarray(retracted->list, retracted->count + 1, sizeof(*list));
		if (!list) {
			result = -ENOMEM;
			break;
		}
		retracted->list = list;
		result = line_take(line, base, &list[retracted->count]);
		retracted->count += result == 0;
	}
	free(line);
	return result < 0 ? result : 0;
}

int verify_retracted_read(struct verify_retracted *retracted, char **paths)
{
	for (; paths && *paths; paths++) {
		FILE *file = fopen(*paths, "re");
		char *base = base_find(*paths);
		int error = file ? lines_take(retracted, file, base) : -errno;

		free(base);
		if (file)
			(void)fclose(file);
		if (error == -EINVAL)
			return verify_failed(STATUS_WRONG, "%s: a line is not one of a list of retracted ranges",
					     *paths);
		if (error)
			return verify_failed(STATUS_FAILED, "%s: %s", *paths, strerror(-error));
	}
	return STATUS_OK;
}

void verify_retracted_free(struct verify_retracted *retracted)
{
	while (retracted->count)
		free(retracted->list[--retracted->count].path);
	free(retracted->list);
}

/* Whether it is the named file, or has a name that rotation gives: behind the name comes . or -. */
static bool name_fits(const char *path, const char *named)
{
	size_t bytes = strlen(named);

	return strncmp(path, named, bytes) == 0 &&
	       (path[bytes] == '\0' || ((path[bytes] == '.' || path[bytes] == '-') && !strchr(path + bytes, '/')));
}

static bool bytes_fit(int descriptor, const struct verify_retraction *retraction, bool *no_memory)
{
	char *bytes = malloc(retraction->skip.bytes + 1);
	bool fit = bytes && pread(descriptor, bytes, retraction->skip.bytes, (off_t)retraction->skip.offset) ==
				    (ssize_t)retraction->skip.bytes;

	*no_memory |= !bytes;
	fit = fit && k2i_hash(bytes, retraction->skip.bytes) == retraction->checksum;
	free(bytes);
	return fit;
}

static int skip_compare(const void *first, const void *second)
{
	const struct verify_skip *one = first, *other = second;

	return (one->offset > other->offset) - (one->offset < other->offset);
}

/* Two lists can name the same. */
static size_t skips_part(struct verify_skip *skips, size_t count)
{
	size_t kept = 0;

	qsort(skips, count, sizeof(*skips), skip_compare);
	for (size_t at = 0; at < count; at++)
		if (kept == 0 || skips[at].offset >= skips[kept - 1].offset + skips[kept - 1].bytes)
			skips[kept++] = skips[at];
	return kept;
}

int64_t verify_retracted_find(const struct verify_retracted *retracted, const char *path, int descriptor,
			      struct verify_skip **skips)
{
	char *real = retracted->count ? realpath(path, NULL) : NULL;
	bool no_memory = false;
	size_t count = 0;

	*skips = malloc((retracted->count + 1) * sizeof(**skips));
	for (size_t at = 0; *skips && real && at < retracted->count; at++) {
		const struct verify_retraction *retraction = &retracted->list[at];

		if (name_fits(real, retraction->path) && bytes_fit(descriptor, retraction, &no_memory))
			(*skips)[count++] = retraction->skip;
	}
	free(real);
	if (!*skips || no_memory)
		return -ENOMEM;
	return (int64_t)skips_part(*skips, count);
}
