/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzz target once for each file, and for each file of each folder: corpora and inputs that once failed are
 * tests that any compiler can build.
 */
#include <dirent.h>

#include "fuzz.h"

static unsigned run_count;

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size)
{
	(void)data;
	return size < max_size ? size : max_size;
}

static void file_run(const char *path)
{
	FILE *file = fopen(path, "re");
	uint8_t *bytes = NULL;
	size_t used = 0, room = 0;

	if (!file) {
		perror(path);
		exit(2);
	}
	while (used == room) {
		room = room ? room * 2 : 4096;
		bytes = realloc(bytes, room);
		fuzz_check(bytes);
		used += fread(bytes + used, 1, room - used, file);
	}
	(void)fclose(file);
	(void)fprintf(stderr, "%s\n", path);
	uint8_t *input = fuzz_copy(bytes, used);
	free(bytes);
	(void)LLVMFuzzerTestOneInput(input, used);
	free(input);
	run_count++;
}

static void path_run(const char *path)
{
	struct dirent **names;
	int count = scandir(path, &names, NULL, alphasort);

	if (count < 0) {
		file_run(path);
		return;
	}
	for (int index = 0; index < count; index++) {
		char *inside;

		if (names[index]->d_name[0] != '.') {
			fuzz_check(asprintf(&inside, "%s/%s", path, names[index]->d_name) > 0);
			path_run(inside);
			free(inside);
		}
		free(names[index]);
	}
	free(names);
}

int main(int argument_count, char **arguments)
{
	for (int index = 1; index < argument_count; index++)
		path_run(arguments[index]);
	if (run_count == 0) {
		(void)fprintf(stderr, "usage: %s FILE|FOLDER...\n", arguments[0]);
		return 2;
	}
	(void)printf("%u inputs\n", run_count);
	return 0;
}
