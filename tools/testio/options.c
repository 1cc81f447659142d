/* SPDX-License-Identifier: MIT */
#include "tools/testio/testio.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/numbers.h"
#include "tools/base/output.h"

#define FILE_MB_MAX UINT64_C(100000000)
#define LIMIT_S_MAX UINT64_C(86400)
#define BUFFER_KB_MIN (K2I_STORE_WRITE_BYTES_MIN / 1024)
#define BUFFER_KB_MAX (K2I_STORE_WRITE_BYTES_MAX / 1024)

static const char help[] =
	"usage: k2hft testio [OPTION]... [DIRECTORY]\n"
	"Measures how fast files are written and read there, as the receiver does it.\n"
	"Without arguments, on a terminal, it asks for everything.\n\n"
	"  -i, --interactive         asks for everything; other options are the defaults\n"
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

enum long_option { OPTION_DIRECT = 256, OPTION_CACHE, OPTION_TSV, OPTION_JSON };

static const struct option long_options[] = {
	{"interactive", no_argument, NULL, 'i'},
	{"size", required_argument, NULL, 's'},
	{"seconds", required_argument, NULL, 't'},
	{"runs", required_argument, NULL, 'n'},
	{"buffers", required_argument, NULL, 'b'},
	{"threads", required_argument, NULL, 'w'},
	{"files", required_argument, NULL, 'f'},
	{"direct", no_argument, NULL, OPTION_DIRECT},
	{"open-mode", required_argument, NULL, 'o'},
	{"cache", required_argument, NULL, OPTION_CACHE},
	{"mode", required_argument, NULL, 'm'},
	{"tsv", required_argument, NULL, OPTION_TSV},
	{"json", required_argument, NULL, OPTION_JSON},
	{"quiet", no_argument, NULL, 'q'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static int refuse(const char *option, const char *given, const char *needed)
{
	return testio_failed(STATUS_WRONG, "%s%s%s: %s", option, *given ? " " : "", given, needed);
}

int testio_list_parse(const char *text, uint64_t minimum, uint64_t maximum, struct testio_list *list)
{
	char copy[256], *rest = copy, *item, *end;

	list->count = 0;
	if (strlen(text) >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, text, strlen(text) + 1);
	while ((item = strsep(&rest, ","))) {
		item += strspn(item, " ");
		end = item + strcspn(item, " ");
		if (end[strspn(end, " ")])
			return -EINVAL;
		*end = '\0';
		if (list->count == TESTIO_LIST_MAX || number_parse(item, minimum, maximum, &list->values[list->count]))
			return -EINVAL;
		list->count++;
	}
	return 0;
}

/* Each reads one answer, from the command line or typed; -EINVAL. */
static int directory_set(struct testio_options *options, const char *given)
{
	if (!*given)
		return options->directory ? 0 : -EINVAL;
	free(options->answer);
	options->answer = strdup(given);
	options->directory = options->answer;
	return options->directory ? 0 : -ENOMEM;
}

static int size_set(struct testio_options *options, const char *given)
{
	return number_parse(given, 1, FILE_MB_MAX, &options->file_mb);
}

static int limit_set(struct testio_options *options, const char *given)
{
	return number_parse(given, 1, LIMIT_S_MAX, &options->limit_s);
}

static int runs_set(struct testio_options *options, const char *given)
{
	return number_parse(given, 1, TESTIO_RUNS_MAX, &options->runs);
}

static int buffers_set(struct testio_options *options, const char *given)
{
	int error = testio_list_parse(given, BUFFER_KB_MIN, BUFFER_KB_MAX, &options->buffers_kb);

	for (size_t i = 0; i < options->buffers_kb.count && !error; i++)
		error = options->buffers_kb.values[i] % BUFFER_KB_MIN ? -EINVAL : 0;
	return error;
}

static int threads_set(struct testio_options *options, const char *given)
{
	return testio_list_parse(given, 1, TESTIO_THREADS_MAX, &options->threads);
}

static int files_set(struct testio_options *options, const char *given)
{
	return number_parse(given, 1, TESTIO_THREADS_MAX, &options->files);
}

static int direct_set(struct testio_options *options, const char *given)
{
	static const char *const words[] = {"no", "yes", "false", "true", "n", "y", NULL};
	uint64_t place;

	if (word_parse(given, words, &place))
		return -EINVAL;
	options->store.direct = place % 2;
	return 0;
}

static int mode_set(struct testio_options *options, const char *given)
{
	static const char *const words[] = {"buffered", "dsync", "sync", "rw", "rwd", "rws", NULL};
	uint64_t place;

	if (word_parse(given, words, &place))
		return -EINVAL;
	options->store.mode = (enum k2i_store_mode)(place % 3);
	return 0;
}

static int cache_set(struct testio_options *options, const char *given)
{
	static const char *const words[] = {"drop", "keep", NULL};
	uint64_t place;

	if (word_parse(given, words, &place))
		return -EINVAL;
	options->store.cache = (enum k2i_store_cache)place;
	return 0;
}

static int ways_set(struct testio_options *options, const char *given)
{
	static const char *const words[] = {"write", "read", "both", NULL};
	uint64_t place;

	if (word_parse(given, words, &place))
		return -EINVAL;
	options->ways[TESTIO_WRITE] = place != 1;
	options->ways[TESTIO_READ] = place != 0;
	return 0;
}

/* In the order in which they are asked. */
static const struct question {
	int option;
	const char *name, *text, *first; /* the default, NULL: none */
	const char *needed;
	int (*set)(struct testio_options *options, const char *given);
} questions[] = {
	{0, "DIRECTORY", "Directory to test (" TESTIO_FILE_NAME " is made there)", NULL, "a directory is needed",
	 directory_set},
	{'s', "--size", "File size in MB", "500", "megabytes are needed, from 1 to 100000000", size_set},
	{'t', "--seconds", "Time limit of a run in seconds", "60", "seconds are needed, from 1 to 86400", limit_set},
	{'n', "--runs", "Runs of each setting", "5", "a number from 1 to 1000 is needed", runs_set},
	{'b', "--buffers", "Buffer sizes in KB", "64,128,256,512,1024,2048,4096",
	 "up to 16 multiples of 4 are needed, from 4 to 16384, with commas between them", buffers_set},
	{'w', "--threads", "Threads", "1,2,4,6,8", "up to 16 numbers from 1 to 64 are needed, with commas between them",
	 threads_set},
	{'f', "--files", "Files at once, never more than threads", "1", "a number from 1 to 64 is needed", files_set},
	{OPTION_DIRECT, "--direct", "Direct, past the page cache", "no", "yes or no is needed", direct_set},
	{'o', "--open-mode", "Open mode: buffered, dsync or sync", "buffered", "buffered, dsync and sync are the modes",
	 mode_set},
	{OPTION_CACHE, "--cache", "What is on the disk in the page cache: drop or keep", "drop",
	 "drop or keep is needed", cache_set},
	{'m', "--mode", "What to measure: write, read or both", "write", "write, read or both is needed", ways_set},
};
#define QUESTION_COUNT (sizeof(questions) / sizeof(questions[0]))
_Static_assert(QUESTION_COUNT == TESTIO_QUESTIONS, "each can have been given");

static int ask_one(struct testio_options *options, const struct question *question, const char *first, FILE *input,
		   FILE *output)
{
	char *line = NULL;
	size_t room = 0;
	int error;

	do {
		ssize_t length;

		(void)fprintf(output, first ? "%s [%s]: " : "%s: ", question->text, first);
		(void)fflush(output);
		length = getline(&line, &room, input);
		if (length < 0) {
			free(line);
			(void)fputs("\nk2hft testio: no answer\n", output);
			return STATUS_WRONG;
		}
		line[strcspn(line, "\r\n")] = '\0';
		error = question->set(options, *line || !first ? line : first);
		if (error)
			(void)fprintf(output, "%s\n", question->needed);
		else
			(void)fprintf(output, "  %s\n", *line || !first ? line : first);
	} while (error);
	free(line);
	return STATUS_OK;
}

int testio_options_ask(struct testio_options *options, FILE *input, FILE *output)
{
	int status = STATUS_OK;

	for (size_t i = 0; i < QUESTION_COUNT && status == STATUS_OK; i++) {
		const char *first = options->given[i] ? options->given[i] : questions[i].first;

		status = ask_one(options, &questions[i], first, input, output);
	}
	return status;
}

static int option_set(struct testio_options *options, int option, const char *given)
{
	if (option == OPTION_DIRECT)
		given = "yes";
	for (size_t i = 1; i < QUESTION_COUNT; i++) {
		if (questions[i].option != option)
			continue;
		/* A second list would take the place of the first, where both were meant. */
		if (options->given[i] && (option == 'b' || option == 'w'))
			return refuse(questions[i].name, given, "it was given before; a list has commas");
		options->given[i] = given;
		return questions[i].set(options, given) ? refuse(questions[i].name, given, questions[i].needed)
							: STATUS_OK;
	}
	switch (option) {
	case OPTION_TSV:
		options->tsv = given;
		return STATUS_OK;
	case OPTION_JSON:
		options->json = given;
		return STATUS_OK;
	case 'q':
		options->quiet = true;
		return STATUS_OK;
	case 'h':
		options->help = true;
		return STATUS_OK;
	default:
		command_help_hint("testio");
		return STATUS_WRONG;
	}
}

int testio_options_parse(int argc, char **argv, struct testio_options *options)
{
	bool ask = argc == 1 && isatty(STDIN_FILENO);
	int option, status;

	memset(options, 0, sizeof(*options));
	for (size_t i = 1; i < QUESTION_COUNT; i++)
		(void)questions[i].set(options, questions[i].first);
	while ((option = getopt_long(argc, argv, "is:t:n:b:w:f:o:m:qh", long_options, NULL)) != -1) {
		ask |= option == 'i';
		status = option == 'i' ? STATUS_OK : option_set(options, option, optarg);
		if (status != STATUS_OK)
			return status;
		if (options->help) {
			(void)fputs(help, stdout);
			return STATUS_OK;
		}
	}
	if (options->tsv && options->json && output_is_standard(options->tsv) && output_is_standard(options->json))
		return refuse("--tsv, --json", "-", "standard output takes one of them");
	if (argc - optind > 1)
		return refuse("DIRECTORY", argv[optind + 1], "one is tested at a time");
	options->given[0] = argv[optind];
	if (optind < argc && directory_set(options, argv[optind]))
		return refuse("DIRECTORY", argv[optind], questions[0].needed);
	if (ask)
		return testio_options_ask(options, stdin, stderr);
	return options->directory ? STATUS_OK : refuse("DIRECTORY", "", questions[0].needed);
}
