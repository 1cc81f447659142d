/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <getopt.h>

#include "unit.h"
#include "tools/testio/testio.h"

/* The command line behind "k2hft testio", words separated by blanks. */
static int parsed(const char *line, struct testio_options *options)
{
	static char text[512];
	char *arguments[32] = {"k2hft testio"}, *rest = text, *word;
	int count = 1;

	(void)snprintf(text, sizeof(text), "%s", line);
	while ((word = strsep(&rest, " ")) != NULL)
		arguments[count++] = word;
	optind = 0;
	return testio_options_parse(count, arguments, options);
}

static int list_parse(const char *text, uint64_t minimum, uint64_t maximum, struct number_list *list)
{
	const struct command_option option = {.type = OPTION_LIST, .minimum = minimum, .maximum = maximum};
	char wrong[OPTION_WRONG_ROOM];

	return command_option_set(&option, list, text, wrong);
}

TEST(lists_are_numbers_with_commas)
{
	struct number_list list;

	assert_int_equal(list_parse("4", 1, 9, &list), 0);
	assert_int_equal(list.count, 1);
	assert_int_equal(list_parse("1,2, 9", 1, 9, &list), 0);
	assert_int_equal(list.count, 3);
	assert_int_equal(list.values[2], 9);
	assert_int_equal(list_parse("", 1, 9, &list), -EINVAL);
	assert_int_equal(list_parse("1,", 1, 9, &list), -EINVAL);
	assert_int_equal(list_parse("1,10", 1, 9, &list), -EINVAL);
	assert_int_equal(list_parse("1,x", 1, 9, &list), -EINVAL);
	assert_int_equal(list_parse("1 2", 1, 9, &list), -EINVAL);
	assert_int_equal(list_parse("1, 2 x", 1, 9, &list), -EINVAL);
	assert_int_equal(list_parse(" 1 , 2 ", 1, 9, &list), 0);
	assert_int_equal(list.count, 2);
	assert_int_equal(list_parse("1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", 1, 9, &list), -EINVAL);
}

TEST(defaults_are_filecatalysts)
{
	struct testio_options options;

	assert_int_equal(parsed("/somewhere", &options), STATUS_OK);
	assert_string_equal(options.directory, "/somewhere");
	assert_int_equal(options.file_mb, 500);
	assert_int_equal(options.limit_s, 60);
	assert_int_equal(options.runs, 5);
	assert_int_equal(options.files, 1);
	assert_int_equal(options.buffers_kb.count, 7);
	assert_int_equal(options.buffers_kb.values[6], 4096);
	assert_int_equal(options.threads.count, 5);
	assert_int_equal(options.threads.values[4], 8);
	assert_false(options.store.direct);
	assert_int_equal(options.store.mode, K2I_STORE_BUFFERED);
	assert_true(options.ways[TESTIO_WRITE]);
	assert_false(options.ways[TESTIO_READ]);
	free(options.answer);
}

TEST(options_are_taken)
{
	struct testio_options options;

	assert_int_equal(
		parsed("-s 7 -t 3 -n 2 -b 4,16384 -w 1,64 -f 3 --direct -o rws --cache keep -m both dir", &options),
		STATUS_OK);
	assert_int_equal(options.file_mb, 7);
	assert_int_equal(options.limit_s, 3);
	assert_int_equal(options.runs, 2);
	assert_int_equal(options.files, 3);
	assert_int_equal(options.buffers_kb.values[1], 16384);
	assert_true(options.store.direct);
	assert_int_equal(options.store.mode, K2I_STORE_SYNC);
	assert_int_equal(options.store.cache, K2I_STORE_KEEP);
	assert_true(options.ways[TESTIO_WRITE] && options.ways[TESTIO_READ]);
	free(options.answer);
}

TEST(wrong_options_are_refused)
{
	static const char *const lines[] = {
		"-s 0 d", "-t 0 d",      "-n 0 d",        "-b 2 d",   "-b 6 d",      "-b 16388 d", "-w 0 d", "-w 65 d",
		"-f 0 d", "-o direct d", "--cache all d", "-m all d", "--unknown d", "d e",        "-q",     "-s 1",
	};
	struct testio_options options;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (parsed(lines[i], &options) != STATUS_WRONG)
			fail_msg("%s: not refused", lines[i]);
		free(options.answer);
	}
}

/* Asks: the answer, and the messages; returns the status of asking. */
static int asked(char *answers, struct testio_options *options, char **said)
{
	size_t said_bytes;
	FILE *input = fmemopen(answers, strlen(answers), "r"), *output = open_memstream(said, &said_bytes);
	int status;

	assert_int_equal(parsed("-n 3 .", options), STATUS_OK);
	options->ask_all = true;
	status = testio_options_ask(options, input, output);
	(void)fclose(input);
	(void)fclose(output);
	return status;
}

TEST(answers_are_taken)
{
	char answers[] = "/tmp\n10000\n\nmany\n2\n4,16\n1,2\n\nyes\nrwd\n\nboth\n";
	struct testio_options options;
	char *said;

	assert_int_equal(asked(answers, &options, &said), STATUS_OK);
	assert_string_equal(options.directory, "/tmp");
	assert_int_equal(options.file_mb, 10000);
	assert_int_equal(options.limit_s, 60);
	assert_int_equal(options.runs, 2);
	assert_int_equal(options.buffers_kb.values[1], 16);
	assert_true(options.store.direct);
	assert_int_equal(options.store.mode, K2I_STORE_DSYNC);
	assert_true(options.ways[TESTIO_READ]);
	assert_non_null(strstr(said, "File size in MB [500]: "));
	/* The value of the command line is the default. */
	assert_non_null(strstr(said, "Directory to test (test.io is made there) [.]: "));
	assert_non_null(strstr(said, "a number from 1 to 1000 is needed\nRuns of each setting [3]: "));
	free(said);
	free(options.answer);
}

TEST(no_answer_ends_it)
{
	char answers[] = "/tmp\n10\n";
	struct testio_options options;
	char *said;

	assert_int_equal(asked(answers, &options, &said), STATUS_WRONG);
	assert_non_null(strstr(said, "no answer"));
	free(said);
	free(options.answer);
}

static const char wanted_table[] = "\nwrite, MB/s\n"
				   "# of THREADS |1        |12       \n"
				   "Buffer size  +=========+=========+\n"
				   "64           |100.50   |200.25   \n"
				   "256          |300.00   |50.00    \n";
static const char wanted_advice[] =
	"\nbest write: 256 KB, 1 threads, 300.00 MB/s\n"
	"\nIn the receiver's configuration:\n\n[GLOBAL]\nSOCKTHREADCNT = 1\n[K2HFTFUSESVR]\nWRITEBUF = 262144\n"
	"OPENMODE = dsync\nCACHE = drop\n";

TEST(the_table_is_filecatalysts)
{
	struct testio_results results = {{{{100.5, 200.25}, {300, 50}}}};
	struct testio_options options;
	char *printed;
	size_t bytes;
	FILE *output = open_memstream(&printed, &bytes);

	assert_int_equal(parsed("-b 64,256 -w 1,12 -o dsync .", &options), STATUS_OK);
	testio_table_print(&options, &results, TESTIO_WRITE, output);
	assert_int_equal(fflush(output), 0);
	assert_string_equal(printed, wanted_table);
	rewind(output);
	testio_advice_print(&options, &results, output);
	(void)fclose(output);
	assert_memory_equal(printed, wanted_advice, sizeof(wanted_advice) - 1);
	free(printed);
	free(options.answer);
}

TEST(what_was_not_measured_has_no_rate)
{
	struct testio_results results = {{{{100.5, -1}}}}, none = {{{{-1, -1}}}};
	struct testio_options options;
	char *printed;
	size_t bytes;
	FILE *output = open_memstream(&printed, &bytes);

	assert_int_equal(parsed("-b 64 -w 1,12 .", &options), STATUS_OK);
	assert_true(testio_measured(&options, &results));
	assert_false(testio_measured(&options, &none));
	testio_table_print(&options, &results, TESTIO_WRITE, output);
	(void)fclose(output);
	assert_non_null(strstr(printed, "\n64           |100.50   |-        \n"));
	free(printed);
	free(options.answer);
}
