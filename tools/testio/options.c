/* SPDX-License-Identifier: MIT */
#include "tools/testio/testio.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/base/output.h"

#define FILE_MB_MAX UINT64_C(100000000)
#define LIMIT_S_MAX UINT64_C(86400)
#define BUFFER_KB_MIN (K2I_STORE_WRITE_BYTES_MIN / 1024)
#define BUFFER_KB_MAX (K2I_STORE_WRITE_BYTES_MAX / 1024)
#define VALUE_ROOM 128u

static const char help[] =
	"usage: k2hft testio [OPTION]... [DIRECTORY]\n"
	"Measures how fast files are written and read there, as the receiver does it.\n"
	"Without arguments, on a terminal, it asks for what FileCatalyst's test asks for.\n\n"
	"  -i, --interactive         asks; other options are the defaults\n"
	"      --ask-all             the same, also for --cache and --mode\n"
	"  -s, --size MB             of a file, in 1,000,000 bytes (500)\n"
	"  -t, --seconds SECONDS     that one run may take (60)\n"
	"  -n, --runs NUMBER         of each cell; the table has their means (5)\n"
	"  -b, --buffers KB,...      bytes in one write, in 1,024 bytes (64,128,256,512,1024,2048,4096)\n"
	"  -w, --threads NUMBER,...  that write or read at the same time (1,2,4,6,8)\n"
	"  -f, --files NUMBER        that they share; never more than threads (1)\n"
	"      --direct              past the page cache, with O_DIRECT\n"
	"  -o, --open-mode MODE      buffered, dsync or sync; rw, rwd and rws are the same (buffered)\n"
	"      --cache MODE          drop or keep, as CACHE of the receiver (drop)\n"
	"  -m, --mode MODE           write, read or both (write)\n"
	"      --tsv FILE            the results, as a table\n"
	"      --json FILE           the results, with the parameters; one of both can be -, standard\n"
	"                            output; all else is on standard error then\n"
	"  -q, --quiet               no progress\n"
	"  -h, --help                this text\n";

static const char *const direct_words[] = {"no", "yes", "false", "true", "n", "y", NULL};
static const char *const mode_words[] = {"buffered", "dsync", "sync", "rw", "rwd", "rws", NULL};
static const char *const cache_words[] = {"drop", "keep", NULL};
static const char *const ways_words[] = {"write", "read", "both", NULL};

#define AT(field) .at = offsetof(struct testio_options, field)
/* The first ones can be asked for, in this order. */
static const struct command_option settings[] = {
	COMMAND_OPTION("size", 's', NUMBER, 0, AT(file_mb), OPTION_RANGE(1, FILE_MB_MAX)),
	COMMAND_OPTION("seconds", 't', NUMBER, 0, AT(limit_s), OPTION_RANGE(1, LIMIT_S_MAX)),
	COMMAND_OPTION("runs", 'n', NUMBER, 0, AT(runs), OPTION_RANGE(1, TESTIO_RUNS_MAX)),
	COMMAND_OPTION("buffers", 'b', LIST, 0, AT(buffers_kb), OPTION_RANGE(BUFFER_KB_MIN, BUFFER_KB_MAX),
		       .multiple = BUFFER_KB_MIN, .needed = "multiples of 4 are needed, from 4 to 16384"),
	COMMAND_OPTION("threads", 'w', LIST, 0, AT(threads), OPTION_RANGE(1, TESTIO_THREADS_MAX)),
	COMMAND_OPTION("files", 'f', NUMBER, 0, AT(files), OPTION_RANGE(1, TESTIO_THREADS_MAX)),
	COMMAND_OPTION("direct", 0, ONE, 0, AT(direct)),
	COMMAND_OPTION("open-mode", 'o', WORD, 0, AT(mode),
		       OPTION_WORDS(mode_words, "buffered, dsync and sync are the modes, or rw, rwd and rws")),
	COMMAND_OPTION("cache", 0, WORD, 0, AT(cache), OPTION_WORDS(cache_words, "drop or keep is needed")),
	COMMAND_OPTION("mode", 'm', WORD, 0, AT(way), OPTION_WORDS(ways_words, "write, read or both is needed")),
	COMMAND_OPTION("interactive", 'i', FLAG, 0, AT(ask)),
	COMMAND_OPTION("ask-all", 0, FLAG, 0, AT(ask_all)),
	COMMAND_OPTION("tsv", 0, TEXT, 0, AT(tsv)),
	COMMAND_OPTION("json", 0, TEXT, 0, AT(json)),
	COMMAND_OPTION("quiet", 'q', FLAG, 0, AT(quiet)),
	COMMAND_OPTION("help", 'h', HELP, 0, AT(help)),
};
#define SETTINGS (sizeof(settings) / sizeof(settings[0]))
static const struct command_option direct_answer =
	COMMAND_OPTION("", 0, WORD, 0, AT(direct), OPTION_WORDS(direct_words, "yes or no is needed"));
#undef AT

/* FileCatalyst's, but the last two. */
static const struct question {
	const char *text, *echo;
} questions[] = {
	{"File size in MB", "File size in MB"},
	{"Time limit of a run in seconds", "Time limit in seconds"},
	{"Runs of each setting", "Runs"},
	{"Buffer sizes in KB", "Buffer sizes in KB"},
	{"Threads", "Numbers of threads"},
	{"Files at once, never more than threads", "Files"},
	{"Direct, past the page cache", "Direct"},
	{"Open mode: buffered, dsync or sync", "Open mode"},
	{"What is on the disk in the page cache: drop or keep", "Page cache"},
	{"What to measure: write, read or both", "Measured"},
};
#define QUESTIONS (sizeof(questions) / sizeof(questions[0]))
#define QUESTIONS_PUBLISHED (QUESTIONS - 2)

/* The value that an option has, as an argument would be. */
static void value_text(const struct command_option *option, const struct testio_options *options, char text[VALUE_ROOM])
{
	const void *field = (const char *)options + option->at;
	const struct number_list *list = field;
	size_t used = 0;

	if (option->type == OPTION_WORD)
		(void)snprintf(text, VALUE_ROOM, "%s", option->words[*(const uint64_t *)field]);
	else if (option->type != OPTION_LIST)
		(void)snprintf(text, VALUE_ROOM, "%" PRIu64, *(const uint64_t *)field);
	for (unsigned at = 0; option->type == OPTION_LIST && at < list->count; at++)
		used += (size_t)snprintf(text + used, VALUE_ROOM - used, "%s%" PRIu64, at ? "," : "", list->values[at]);
}

/* Reads an answer; NULL at the end of input, with the message. To be free()d. */
static char *answer_read(FILE *input, FILE *output, const char *question, const char *value)
{
	char *line = NULL;
	size_t room = 0;

	(void)fprintf(output, *value ? "%s [%s]: " : "%s: ", question, value);
	(void)fflush(output);
	if (getline(&line, &room, input) >= 0) {
		line[strcspn(line, "\r\n")] = '\0';
		return line;
	}
	free(line);
	(void)fprintf(output, "\nk2hft testio: no answer: %s is needed, nothing was measured\n", question);
	return NULL;
}

static int question_ask(struct testio_options *options, size_t number, FILE *input, FILE *output)
{
	const struct command_option *option = settings[number].type == OPTION_ONE ? &direct_answer : &settings[number];
	char wrong[OPTION_WRONG_ROOM], value[VALUE_ROOM], *line;
	int error;

	do {
		value_text(option, options, value);
		line = answer_read(input, output, questions[number].text, value);
		if (!line)
			return STATUS_WRONG;
		error = *line ? command_option_set(option, options, line, wrong) : 0;
		if (error)
			(void)fprintf(output, "%s\n", wrong);
		free(line);
	} while (error);
	value_text(option, options, value);
	(void)fprintf(output, "  %s", questions[number].echo);
	if (option->type == OPTION_LIST)
		(void)fprintf(output, ", %u",
			      ((const struct number_list *)((const char *)options + option->at))->count);
	(void)fprintf(output, ": %s\n", value);
	return STATUS_OK;
}

const char *testio_directory_wrong(const char *directory)
{
	char path[TESTIO_PATH_ROOM];
	struct stat status;

	if (!*directory)
		return "a directory is needed";
	if (stat(directory, &status) < 0)
		return strerror(errno);
	if (!S_ISDIR(status.st_mode))
		return "it is no directory";
	if (access(directory, W_OK) < 0)
		return strerror(errno);
	if ((size_t)snprintf(path, sizeof(path), "%s/" TESTIO_FILE_NAME, directory) >= sizeof(path))
		return strerror(ENAMETOOLONG);
	return lstat(path, &status) == 0 ? TESTIO_FILE_NAME ": it is there already, and is not overwritten" : NULL;
}

/* Looks at the directory before the other questions: their answers would be lost with it. */
static int directory_ask(struct testio_options *options, FILE *input, FILE *output)
{
	const char *wrong;

	do {
		char *line = answer_read(input, output, "Directory to test (" TESTIO_FILE_NAME " is made there)",
					 options->directory ? options->directory : "");

		if (!line)
			return STATUS_WRONG;
		if (*line || !options->directory) {
			free(options->answer);
			options->directory = options->answer = line;
		} else {
			free(line);
		}
		wrong = testio_directory_wrong(options->directory);
		if (wrong) {
			(void)fprintf(output, "%s: %s\n", options->directory, wrong);
			options->directory = NULL;
		}
	} while (wrong);
	(void)fprintf(output, "  File to be written: %s/" TESTIO_FILE_NAME "\n", options->directory);
	return STATUS_OK;
}

/* Words that mean the same become one. */
static void options_settle(struct testio_options *options)
{
	options->store.direct = options->direct % 2;
	options->store.mode = (enum k2i_store_mode)(options->mode % 3);
	options->store.cache = (enum k2i_store_cache)options->cache;
	options->ways[TESTIO_WRITE] = options->way != 1;
	options->ways[TESTIO_READ] = options->way != 0;
}

int testio_options_ask(struct testio_options *options, FILE *input, FILE *output)
{
	size_t count = options->ask_all ? QUESTIONS : QUESTIONS_PUBLISHED;
	int status = directory_ask(options, input, output);

	for (size_t number = 0; number < count && status == STATUS_OK; number++)
		status = question_ask(options, number, input, output);
	options_settle(options);
	return status;
}

static int refuse(const char *option, const char *given, const char *needed)
{
	return testio_failed(STATUS_WRONG, "%s%s%s: %s", option, *given ? " " : "", given, needed);
}

int testio_options_parse(int argc, char **argv, struct testio_options *options)
{
	static const struct command_options known = {"testio", help, settings, SETTINGS};
	uint64_t given;
	int status;

	*options = (struct testio_options){
		.ask = argc == 1 && isatty(STDIN_FILENO),
		.file_mb = 500,
		.limit_s = 60,
		.runs = 5,
		.files = 1,
		.buffers_kb = {.values = {64, 128, 256, 512, 1024, 2048, 4096}, .count = 7},
		.threads = {.values = {1, 2, 4, 6, 8}, .count = 5},
	};
	status = command_options_take(&known, options, argc, argv, &given);
	if (status || options->help)
		return status;
	if (options->tsv && options->json && output_is_standard(options->tsv) && output_is_standard(options->json))
		return refuse("--tsv, --json", "-", "standard output takes one of them");
	if (argc - optind > 1)
		return refuse("DIRECTORY", argv[optind + 1], "one is tested at a time");
	options->directory = argv[optind];
	if (options->ask || options->ask_all)
		return testio_options_ask(options, stdin, stderr);
	options_settle(options);
	if (!options->directory || !*options->directory)
		return refuse("DIRECTORY", "", "a directory is needed");
	return STATUS_OK;
}
