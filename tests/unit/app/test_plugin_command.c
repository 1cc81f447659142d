/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "unit.h"
#include "app/plugin/command.h"

static void words_print(char *said, size_t room, char **words)
{
	for (; *words; words++) {
		size_t used = strlen(said);

		(void)snprintf(said + used, room - used, "%s|", *words);
	}
}

/* "VARIABLE|VARIABLE||PATH||WORD|WORD|", or the message. */
static const char *parsed(const char *text)
{
	static char said[1024];
	struct k2i_plugin_command *command;
	size_t used;

	said[0] = '\0';
	if (k2i_plugin_command_parse(text, &command, said, sizeof(said)))
		return said;
	words_print(said, sizeof(said), command->environment);
	used = strlen(said);
	(void)snprintf(said + used, sizeof(said) - used, "|%s||", command->path);
	words_print(said, sizeof(said), command->arguments);
	k2i_plugin_command_free(command);
	return said;
}

TEST(test_words)
{
	assert_string_equal(parsed("/bin/cat"), "|/bin/cat||/bin/cat|");
	assert_string_equal(parsed(" \t/bin/cat  -u\r\n x "), "|/bin/cat||/bin/cat|-u|x|");
	assert_string_equal(parsed("A=1 B= /bin/cat C=3"), "A=1|B=||/bin/cat||/bin/cat|C=3|");
	assert_string_equal(parsed("A=1 A=2 /bin/cat"), "A=1|A=2||/bin/cat||/bin/cat|");
	assert_string_equal(parsed("/bin/cat 'a b' \"c d\" e' 'f"), "|/bin/cat||/bin/cat|a b|c d|e f|");
	assert_string_equal(parsed("/bin/cat '' \"\""), "|/bin/cat||/bin/cat|||");
	assert_string_equal(parsed("'A=x y' '/bin/cat'"), "A=x y||/bin/cat||/bin/cat|");
	assert_string_equal(parsed("/bin/cat \"a\\\"b\\\\c\\d\" 'e\\' \\n"), "|/bin/cat||/bin/cat|a\"b\\c\\d|e\\|\\n|");
	assert_string_equal(parsed("/bin/cat $HOME * ; | > &"), "|/bin/cat||/bin/cat|$HOME|*|;|||>|&|");
}

TEST(test_search)
{
	assert_int_equal(setenv("PATH", "/nowhere:/etc:/bin", 1), 0);
	assert_string_equal(parsed("cat"), "|/bin/cat||cat|");
	assert_int_equal(setenv("PATH", "/nowhere", 1), 0);
	assert_string_equal(parsed("cat"), "there is no program cat in PATH; name it by its path");
	/* The plug-in's own PATH is its own. */
	assert_string_equal(parsed("PATH=/bin cat"), "there is no program cat in PATH; name it by its path");
	assert_int_equal(unsetenv("PATH"), 0);
	assert_string_equal(parsed("PATH=/x cat") + 8, "|/usr/bin/cat||cat|");
}

TEST(test_refused)
{
	assert_string_equal(parsed(""), "it names no program: [NAME=value ...] program [arguments]");
	assert_string_equal(parsed(" \t"), "it names no program: [NAME=value ...] program [arguments]");
	assert_string_equal(parsed("A=1"), "it names no program: [NAME=value ...] program [arguments]");
	assert_string_equal(parsed("=1 /bin/cat"), "=1 has no name in front of its =");
	assert_string_equal(parsed("/bin/cat 'a"), "a quote is not closed");
	assert_string_equal(parsed("/bin/cat \"a\\\""), "a quote is not closed");
	assert_string_equal(parsed("/nowhere/x"), "/nowhere/x can't be run: No such file or directory");
	assert_string_equal(parsed("/etc/passwd"),
			    "/etc/passwd can't be run: it is no executable file for the user who asks");
	assert_string_equal(parsed("/etc"), "/etc can't be run: Is a directory");
	assert_string_equal(parsed("/dev/null"),
			    "/dev/null can't be run: it is no executable file for the user who asks");
}
