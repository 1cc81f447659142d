/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"
#include "folder_help.h"
#include "config/ini_read.h"

/* Lines that were read, one each: "2 [A]", "3 A.KEY=value", "4 ! fault"; lines of an included file with its name. */
struct record {
	char *text;
	size_t bytes, room;
};

static void file_path(char *path, size_t room, const char *name)
{
	(void)snprintf(path, room, "%s/%s", folder, name);
}

static void write_bytes(const char *name, const char *text, size_t bytes)
{
	char path[512];
	FILE *file;

	file_path(path, sizeof(path), name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, bytes, file), bytes);
	assert_int_equal(fclose(file), 0);
}

static void write_text(const char *name, const char *text)
{
	write_bytes(name, text, strlen(text));
}

__attribute__((format(printf, 2, 3))) static void append(struct record *record, const char *format, ...)
{
	va_list arguments;
	int bytes;

	va_start(arguments, format);
	bytes = vsnprintf(record->text + record->bytes, record->room - record->bytes, format, arguments);
	va_end(arguments);
	record->bytes += (size_t)bytes;
	assert_true(record->bytes < record->room);
}

static void append_place(struct record *record, const char *file, unsigned line)
{
	const char *name = strrchr(file, '/') + 1;

	if (strcmp(name, "main") != 0)
		append(record, "%s:", name);
	append(record, "%u ", line);
}

static void on_entry(void *argument, const struct k2i_ini_entry *entry)
{
	append_place(argument, entry->file, entry->line);
	if (entry->name)
		append(argument, "%s.%s=%s\n", entry->section, entry->name, entry->value);
	else
		append(argument, "[%s]\n", entry->section);
}

static void on_fault(void *argument, const char *file, unsigned line, const char *text)
{
	append_place(argument, file, line);
	append(argument, "! %s\n", text);
}

static int read_main(struct record *record)
{
	const struct k2i_ini_calls calls = {on_entry, on_fault, record};
	char path[512];

	record->room = 1 << 20;
	record->bytes = 0;
	record->text = calloc(1, record->room);
	assert_non_null(record->text);
	file_path(path, sizeof(path), "main");
	return k2i_ini_read(path, &calls);
}

static void expect(const char *text, const char *wanted)
{
	struct record record;

	write_text("main", text);
	assert_int_equal(read_main(&record), 0);
	assert_string_equal(record.text, wanted);
	free(record.text);
}

TEST(test_structure)
{
	expect("", "");
	expect("A=1\n", "1 .A=1\n");
	expect("[X]\nA=1", "1 [X]\n2 X.A=1\n");
	expect("# c\n; c\n\n[X]\r\n A =  1 2 \t\r\n\tB=\r\n", "4 [X]\n5 X.A=1 2\n6 X.B=\n");
	expect("\xef\xbb\xbf[X]\nA=1\n", "1 [X]\n2 X.A=1\n");
	expect("[X]\n[X] # again\n[ Y ]\nA=1\n", "1 [X]\n2 [X]\n3 [Y]\n4 Y.A=1\n");
}

TEST(test_values_stay_whole)
{
	expect("[X]\nA=b=c:d\n", "1 [X]\n2 X.A=b=c:d\n");
	expect("[X]\nA:b=c\n", "1 [X]\n2 X.A:b=c\n");
	expect("[X]\nA=b ; c\n", "1 [X]\n2 X.A=b ; c\n");
	expect("[X]\nA=1\n  B=2\n    C=3\n", "1 [X]\n2 X.A=1\n3 X.B=2\n4 X.C=3\n");
	expect("[X]\nA=[b]\n", "1 [X]\n2 X.A=[b]\n");
	expect("[X]\nA=b\\ \nB=\\ \t\r\nC=b\\\\ \nD=b\\\r\nE=b\\  # c\n",
	       "1 [X]\n2 X.A=b\\ \n3 X.B=\\ \n4 X.C=b\\\\\n5 X.D=b\\\n6 X.E=b\\ \n");
}

TEST(test_comments)
{
	expect("[X]\nA=b # c\nB=b#c\nC=\"b # c\" # d\nD='b # c'#d\nE= # c\nF=#c\nG=\"\\\" # c\"\n",
	       "1 [X]\n2 X.A=b\n3 X.B=b#c\n4 X.C=\"b # c\"\n5 X.D='b # c'#d\n6 X.E=# c\n7 X.F=#c\n8 X.G=\"\\\" # "
	       "c\"\n");
	expect("[X] ; c\n[Y] # c\nA='b\\' # c\n", "1 [X]\n2 [Y]\n3 Y.A='b\\'\n");
}

TEST(test_long_lines)
{
	static const size_t sizes[] = {40, 49, 50, 190, 198, 199, 200, 201, 231, 400, 4096, 65000};
	struct record record;
	char *text, *wanted, *word;
	size_t number;

	for (number = 0; number < sizeof(sizes) / sizeof(sizes[0]); number++) {
		word = calloc(1, sizes[number] + 1);
		assert_non_null(word);
		memset(word, 'v', sizes[number]);
		assert_true(asprintf(&text, "[%1$s]\nA=%1$s port=9\n%1$s=1\n", word) > 0);
		assert_true(asprintf(&wanted, "1 [%1$s]\n2 %1$s.A=%1$s port=9\n3 %1$s.%1$s=1\n", word) > 0);
		write_text("main", text);
		assert_int_equal(read_main(&record), 0);
		assert_string_equal(record.text, wanted);
		free(record.text);
		free(text);
		free(wanted);
		free(word);
	}
}

TEST(test_overlong_line)
{
	struct record record;
	char *text = calloc(1, 300001);

	assert_non_null(text);
	memset(text, 'v', 300000);
	memcpy(text, "[X]\nA=", 6);
	memcpy(text + 299990, "\nB=2\n", 5);
	text[299995] = '\0';
	write_text("main", text);
	assert_int_equal(read_main(&record), 0);
	assert_string_equal(record.text, "1 [X]\n2 ! line of more than 65535 bytes\n3 X.B=2\n");
	free(record.text);
	free(text);
}

TEST(test_faults)
{
	expect("[X]\nhello\nA=1\n", "1 [X]\n2 ! neither [SECTION], nor KEY = value, nor INCLUDE path\n3 X.A=1\n");
	expect("[X]\n=1\n", "1 [X]\n2 ! no key before =\n");
	expect("[X\nA=1\n", "1 ! a section's name is not closed with ]\n2 .A=1\n");
	expect("[X] A=1\n", "1 ! text behind a section's name\n");
	expect("[X]\nA=\"b\nB='c\nC=d\\\n", "1 [X]\n2 ! a quote is not closed\n3 ! a quote is not closed\n4 X.C=d\\\n");
	/* Nothing behind the end of a line is looked at, which is what was in the one before. */
	expect("[X]\n# it's\nA=\\\n", "1 [X]\n3 X.A=\\\n");
	/* An editor's mark is one at the begin of the file only. */
	expect("\xef\xbb\xbf[X]\n\xef\xbb\xbfK=1\n", "1 [X]\n2 X.\xef\xbb\xbfK=1\n");
	expect("INCLUDE \"a\n", "1 ! a quote is not closed\n");
	expect("INCLUDE\nINCLUDE \"\"\n",
	       "1 ! INCLUDE needs the path of a file\n2 ! INCLUDE needs the path of a file\n");
}

TEST(test_nul)
{
	struct record record;

	write_bytes("main", "[X]\nA=b\0c\nB=1\n", 14);
	assert_int_equal(read_main(&record), 0);
	assert_string_equal(record.text, "1 [X]\n2 ! NUL byte in the line: this is not a text file\n3 X.B=1\n");
	free(record.text);
}

TEST(test_include)
{
	char path[512];

	file_path(path, sizeof(path), "sub");
	(void)mkdir(path, 0755);
	write_text("sub/rule", "B=2\n[Y]\nC=3\nINCLUDE more # deeper\n");
	write_text("sub/more", "D=4\nbad\n");
	expect("[X]\nA=1\nINCLUDE sub/rule\nE=5\n",
	       "1 [X]\n2 X.A=1\nrule:1 X.B=2\nrule:2 [Y]\nrule:3 Y.C=3\nmore:1 Y.D=4\n"
	       "more:2 ! neither [SECTION], nor KEY = value, nor INCLUDE path\n4 Y.E=5\n");
	expect("include = 'sub/more'\n",
	       "more:1 .D=4\nmore:2 ! neither [SECTION], nor KEY = value, nor INCLUDE path\n");
	expect("[X]\nINCLUDED=1\n", "1 [X]\n2 X.INCLUDED=1\n");
}

TEST(test_include_absolute)
{
	char text[512];

	write_text("other", "A=1\n");
	(void)snprintf(text, sizeof(text), "[X]\nINCLUDE \"%s/other\"\n", folder);
	expect(text, "1 [X]\nother:1 X.A=1\n");
}

TEST(test_include_failures)
{
	char wanted[1024];

	(void)snprintf(wanted, sizeof(wanted), "1 ! can't include %s/none: No such file or directory\n2 .A=1\n",
		       folder);
	expect("INCLUDE none\nA=1\n", wanted);
	(void)snprintf(wanted, sizeof(wanted), "1 ! can't include %s/.: it is not a regular file\n2 .A=1\n", folder);
	expect("INCLUDE .\nA=1\n", wanted);
}

/* The name that it would be cut to is not looked for. */
TEST(test_include_path_too_long)
{
	struct record record;
	char text[8192];
	size_t bytes = (size_t)snprintf(text, sizeof(text), "INCLUDE ");

	while (bytes < 6000)
		bytes += (size_t)snprintf(text + bytes, sizeof(text) - bytes, "none/");
	write_text("main", text);
	assert_int_equal(read_main(&record), 0);
	assert_non_null(strstr(record.text, ": File name too long"));
	free(record.text);
}

#define LONGEST 65535u

/* So many of the longest lines; `more` bytes behind them. */
static void long_lines_write(const char *name, unsigned lines, size_t more)
{
	char *text = malloc((LONGEST + 1) * lines + more);

	assert_non_null(text);
	memset(text, '#', (LONGEST + 1) * lines + more);
	for (unsigned line = 1; line <= lines; line++)
		text[(LONGEST + 1) * line - 1] = '\n';
	write_bytes(name, text, (LONGEST + 1) * lines + more);
	free(text);
}

/* 1 MiB each, with lines of 64 KiB. */
TEST(test_largest_file)
{
	long_lines_write("large", 16, 0);
	expect("INCLUDE large\nINCLUDE large\nA=1\n", "3 .A=1\n");
	expect("INCLUDE large\nINCLUDE large\nINCLUDE large\nINCLUDE large\nINCLUDE large\nINCLUDE large\n"
	       "INCLUDE large\nINCLUDE large\nINCLUDE large\nINCLUDE large\nINCLUDE large\nINCLUDE large\n"
	       "INCLUDE large\nINCLUDE large\nINCLUDE large\nINCLUDE large\nINCLUDE large\nA=1\n",
	       "17 ! INCLUDE goes beyond 16777216 bytes in all: this is no configuration\n18 .A=1\n");
	expect("INCLUDE /dev/zero\nA=1\n", "1 ! can't include /dev/zero: it is not a regular file\n2 .A=1\n");
	long_lines_write("large", 16, 1);
	expect("INCLUDE large\nA=1\n", "large:17 ! more than 1048576 bytes: this is no configuration\n2 .A=1\n");
}

TEST(test_largest_file_without_line_end)
{
	const size_t bytes = 1 << 20;
	char *text = malloc(bytes);

	assert_non_null(text);
	memset(text, '\n', bytes);
	text[bytes - 1] = '#';
	write_bytes("large", text, bytes);
	free(text);
	expect("INCLUDE large\nA=1\n", "2 .A=1\n");
}

/* Every line of it is read once, however often the file would include itself, directly or through others. */
TEST(test_include_loop)
{
	char wanted[1024], name[8], text[64];

	write_text("loop", "INCLUDE back\nINCLUDE loop\nINCLUDE back\nA=1\n");
	write_text("back", "INCLUDE loop\nC=1\n");
	(void)snprintf(wanted, sizeof(wanted),
		       "back:1 ! can't include %s/loop: the file would include itself\nback:2 .C=1\n"
		       "loop:2 ! can't include %s/loop: the file would include itself\n"
		       "back:1 ! can't include %s/loop: the file would include itself\nback:2 .C=1\n"
		       "loop:4 .A=1\n2 .B=1\n",
		       folder, folder, folder);
	expect("INCLUDE loop\nB=1\n", wanted);
	for (unsigned number = 1; number <= 8; number++) {
		(void)snprintf(name, sizeof(name), "deep%u", number);
		(void)snprintf(text, sizeof(text), "INCLUDE deep%u\n", number + 1);
		write_text(name, text);
	}
	expect("INCLUDE deep1\nA=1\n", "deep7:1 ! INCLUDE goes deeper than 8 files\n2 .A=1\n");
}

TEST(test_unreadable)
{
	const struct k2i_ini_calls calls = {on_entry, on_fault, NULL};

	assert_int_equal(k2i_ini_read("/nonexistent/file", &calls), -ENOENT);
	assert_int_equal(k2i_ini_read(folder, &calls), -EISDIR);
}

TEST(test_unquote)
{
	static const char *const cases[][2] = {
		{"", ""},
		{"plain text", "plain text"},
		{"\"%F %T.%-\"", "%F %T.%-"},
		{"'a\\nb'", "a\\nb"},
		{"\"a\\nb\"", "a\\nb"},
		{"a\\nb", "a\\nb"},
		{"\"a\\\"b\\\\c\"", "a\"b\\c"},
		{"'\"re\",\"repl\"'", "\"re\",\"repl\""},
		{"a\\ b\\#\\'\\\"\\\\", "a b#'\"\\"},
		{"\"a'b\"'c\"d'", "a'bc\"d"},
		{"x\"y\"z", "xyz"},
		{"end\\", "end\\"},
		{"'a\\\"b\\\\c'", "a\\\"b\\\\c"},
		{"\"a\\ b\\#c\\'d\"", "a\\ b\\#c\\'d"},
	};
	char value[64];
	size_t number;

	for (number = 0; number < sizeof(cases) / sizeof(cases[0]); number++) {
		(void)snprintf(value, sizeof(value), "%s", cases[number][0]);
		k2i_ini_unquote(value);
		assert_string_equal(value, cases[number][1]);
	}
}

UNIT_GROUP(folder_begin, folder_end)
