/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "unit.h"
#include "config/yaml_read.h"
#include "config/yaml_tree.h"

/* Lines that were read, one each: "2 [A]", "3 A.KEY=value", "4 ! fault". */
struct record {
	char text[8192];
	size_t bytes;
	unsigned sections;
};

__attribute__((format(printf, 2, 3))) static void append(struct record *record, const char *format, ...)
{
	va_list arguments;
	int bytes;

	va_start(arguments, format);
	bytes = vsnprintf(record->text + record->bytes, sizeof(record->text) - record->bytes, format, arguments);
	va_end(arguments);
	record->bytes += (size_t)bytes;
	assert_true(record->bytes < sizeof(record->text));
}

static void on_entry(void *argument, const struct k2i_ini_entry *entry)
{
	struct record *record = argument;

	assert_string_equal(entry->file, "f.yaml");
	assert_true(entry->literal);
	record->sections += !entry->name;
	assert_int_equal(entry->section_number, record->sections);
	if (entry->name)
		append(record, "%u %s.%s=%s\n", entry->line, entry->section, entry->name, entry->value);
	else
		append(record, "%u [%s]\n", entry->line, entry->section);
}

static void on_fault(void *argument, const char *file, unsigned line, const char *text)
{
	assert_string_equal(file, "f.yaml");
	append(argument, "%u ! %s\n", line, text);
}

static void expect(const char *text, const char *wanted)
{
	struct record record = {.bytes = 0};
	const struct k2i_ini_calls calls = {on_entry, on_fault, &record};

	assert_int_equal(k2i_yaml_read("f.yaml", text, &calls), 0);
	assert_string_equal(record.text, wanted);
}

TEST(test_sections)
{
	expect("", "");
	expect("# nothing\n", "");
	expect("~\n", "");
	expect("\"\"\n", "1 ! the file must be a mapping of sections\n");
	expect("GLOBAL:\nSVRNODE: []\n", "1 [GLOBAL]\n");
	expect("GLOBAL: \"\"\n", "1 ! GLOBAL: a section must be a mapping of keys, or a list of such\n");
	expect("GLOBAL: Null\nSVRNODE:\n- NAME: a\n- ~\n- 5\n- NAME: b\n",
	       "1 [GLOBAL]\n3 [SVRNODE]\n3 SVRNODE.NAME=a\n4 [SVRNODE]\n"
	       "5 ! SVRNODE: a section must be a mapping of keys, or a list of such\n"
	       "6 [SVRNODE]\n6 SVRNODE.NAME=b\n");
	/* The name of an unknown section is enough. */
	expect("GLOBL: {PORT: 1, A: [1]}\n", "1 [GLOBL]\n");
}

/* Its own keys come first, wherever its rules stand. Elsewhere the name of a rule is that of a key. */
TEST(test_rules)
{
	expect("K2HFTFUSE:\n  K2HFTFUSE_RULE: [{TARGET: a}, {TARGET: b}]\n  K2HTYPE: mem\n  K2HFTFUSE_RULE_DIR:\n"
	       "    TARGET: c\n  RINGSIZE: 1M\n",
	       "2 [K2HFTFUSE]\n3 K2HFTFUSE.K2HTYPE=mem\n6 K2HFTFUSE.RINGSIZE=1M\n"
	       "2 [K2HFTFUSE_RULE]\n2 K2HFTFUSE_RULE.TARGET=a\n2 [K2HFTFUSE_RULE]\n2 K2HFTFUSE_RULE.TARGET=b\n"
	       "5 [K2HFTFUSE_RULE_DIR]\n5 K2HFTFUSE_RULE_DIR.TARGET=c\n");
	expect("GLOBAL:\n  K2HFTFUSE_RULE: {TARGET: a}\n", "2 [GLOBAL]\n2 GLOBAL.K2HFTFUSE_RULE=\n");
}

TEST(test_values)
{
	expect("SVRNODE: {PORT: 1, NAME: \"a\\tb # 'c' \\\"d\\\\\"}\n",
	       "1 [SVRNODE]\n1 SVRNODE.PORT=1\n1 SVRNODE.NAME=a\tb # 'c' \"d\\\n");
	/* No value; in quotes they are text, and of a file a word of its own. */
	expect("SVRNODE: {NAME: ~, PORT: NULL, CTLPORT: \"~\", CAPATH: null}\n",
	       "1 [SVRNODE]\n1 SVRNODE.NAME=\n1 SVRNODE.PORT=\n1 SVRNODE.CTLPORT=~\n1 SVRNODE.CAPATH=null\n");
	expect("K2HFTFUSESVR: {FORMAT: \"a\\r\\nb\", FILE_UNIFY: \"a\\nb\", STATEDIR: \"a\\x7fb\", LISTEN: "
	       "\"\\x1f\"}\n",
	       "1 [K2HFTFUSESVR]\n1 K2HFTFUSESVR.FORMAT=a\\r\\nb\n"
	       "1 ! K2HFTFUSESVR.FILE_UNIFY: a control character in the value\n1 K2HFTFUSESVR.FILE_UNIFY=\n"
	       "1 ! K2HFTFUSESVR.STATEDIR: a control character in the value\n1 K2HFTFUSESVR.STATEDIR=\n"
	       "1 ! K2HFTFUSESVR.LISTEN: a control character in the value\n1 K2HFTFUSESVR.LISTEN=\n");
	expect("GLOBAL:\n  PORT: [1]\n  SSL:\n    A: 1\n  NOTHING: [1]\n  OTHER: {A: 1}\n",
	       "2 [GLOBAL]\n2 ! GLOBAL.PORT: a list where a value is wanted\n"
	       "4 ! GLOBAL.SSL: a mapping where a value is wanted\n5 GLOBAL.NOTHING=\n6 GLOBAL.OTHER=\n");
}

/* A part that is not looked at can't be wrong, and is known once. */
TEST(test_without_effect)
{
	expect("SLVNODE:\n  CUK: {a: 1}\n  ENDPOINTS: [{a: b}, [c, d, e]]\n  FORWARD_PEERS: []\n",
	       "2 [SLVNODE]\n2 SLVNODE.CUK=\n3 SLVNODE.ENDPOINTS=\n4 SLVNODE.FORWARD_PEERS=\n");
	expect("K2HFTFUSESVR:\n  BINTRANS: |\n    two\n    lines\n", "2 [K2HFTFUSESVR]\n2 K2HFTFUSESVR.BINTRANS=\n");
}

#define RULE "K2HFTFUSE_RULE:\n  ALLOW: "
#define HEADER "2 [K2HFTFUSE_RULE]\n"
#define KEY "2 K2HFTFUSE_RULE.ALLOW="

/* All are expressions; what is none to speak of becomes a text of INI. */
TEST(test_patterns)
{
	expect(RULE "plain\n", HEADER KEY "plain\n");
	expect(RULE "'a b#c\"d''ef'\n", HEADER KEY "a\\ b\\#c\\\"d\\'ef\n");
	expect(RULE "'(.*)[wW] \"x\"\\d#'\n", HEADER KEY "\"(.*)[wW] \\\"x\\\"\\d#\"\n");
	expect(RULE "'a\\'\n", HEADER "2 ! K2HFTFUSE_RULE.ALLOW: a backslash at the end of an expression\n" KEY "\n");
	expect(RULE "\"a\\tb\"\n", HEADER KEY "a\\\tb\n");
	expect(RULE "[null, '', ~]\n", HEADER KEY "null\n" KEY "\n" KEY "~\n");
	expect(RULE "'\"^a\\\"b # \", \"$0\"'\n", HEADER KEY "\"^a\\\"b # \", \"$0\"\n");
#define REFUSED "2 ! K2HFTFUSE_RULE.ALLOW: the quotes of an expression are not closed\n"
	expect(RULE "'\"a'\n", HEADER REFUSED KEY "\n");
	expect(RULE "'\"a\\\"'\n", HEADER REFUSED KEY "\n");
	expect(RULE "'\"a\" # b'\n", HEADER REFUSED KEY "\n");
	expect(RULE "'\"a\" ''b'\n", HEADER REFUSED KEY "\n");
	expect(RULE "{a: b}\n", HEADER "2 ! K2HFTFUSE_RULE.ALLOW: a mapping where a value is wanted\n");
	expect(RULE "[{a: b}, c]\n", HEADER "2 ! K2HFTFUSE_RULE.ALLOW: a mapping where a value is wanted\n" KEY "c\n");
}

TEST(test_pairs)
{
	expect(RULE "[['a']]\n", HEADER KEY "\"a\"\n");
	expect(RULE "[['a\"b\\\"c\\d', '$1 \"x\"']]\n", HEADER KEY "\"a\\\"b\\\"c\\d\", \"$1 \\\"x\\\"\"\n");
	expect(RULE "[[a, '']]\n", HEADER KEY "\"a\", \"\"\n");
#define SHAPE "2 ! K2HFTFUSE_RULE.ALLOW: a list in the list must be [expression] or [expression, replacement]\n"
	expect(RULE "[[]]\n", HEADER SHAPE);
	expect(RULE "[[a, b, c]]\n", HEADER SHAPE);
	expect(RULE "[[[a]]]\n", HEADER SHAPE);
	expect(RULE "[[a, [b]]]\n", HEADER SHAPE);
	expect(RULE "[[a, {b: c}]]\n", HEADER SHAPE);
#define BACKSLASH "2 ! K2HFTFUSE_RULE.ALLOW: a backslash at the end of an expression or replacement\n"
	expect(RULE "[['a\\']]\n", HEADER BACKSLASH);
	expect(RULE "[[a, 'b\\']]\n", HEADER BACKSLASH);
	expect(RULE "[['a\\\\']]\n", HEADER KEY "\"a\\\\\"\n");
}

#define MARKS "aliases, anchors and tags (* & !) are not used here; write the value, in quotes if it begins so\n"

TEST(test_refused)
{
	static const char *const marked[] = {"&a b", "!t b", "&a [b]", "!t [b]", "&a {b: c}", "!t {b: c}", "*a"};
	char text[64];

	for (size_t at = 0; at < sizeof(marked) / sizeof(marked[0]); at++) {
		(void)snprintf(text, sizeof(text), "A:\n  B: %s\n", marked[at]);
		expect(text, "2 ! " MARKS);
	}
	expect("A: 1\na: 2\n", "2 ! a is said twice, here and in line 1\n");
	expect("{[a]: b}\n", "1 ! a key must be a word\n");
	expect("--- {}\n--- {}\n", "2 ! a second document\n");
	expect("A: \"x\\0y\"\n", "1 ! a NUL in a value\n");
	expect("A: {}\nB: [\n",
	       "3 ! this is not YAML or JSON: did not find expected node content while parsing a flow node\n");
	expect("A: {}\n\n# \x01\n", "3 ! this is not YAML or JSON: control characters are not allowed\n");
	/* A mark that an editor puts in front is no line. */
	expect("\xef\xbb\xbf"
	       "A: {}\n# \x01\n",
	       "2 ! this is not YAML or JSON: control characters are not allowed\n");
	/* As text in two bytes each could begin. */
	expect("\xff\xfe"
	       "A",
	       "1 ! this is not YAML or JSON: invalid leading UTF-8 octet\n");
}

static int parse(const char *text, char message[128])
{
	struct k2i_yaml_node *tree;
	unsigned line = 0;
	int status = k2i_yaml_parse(text, strlen(text), &tree, &line, message, 128);

	k2i_yaml_free(tree);
	return status;
}

TEST(test_limits)
{
	char text[16384], message[128];
	size_t bytes = 0;

	assert_int_equal(parse("[[[[[[[[[[[[]]]]]]]]]]]]", message), 0);
	assert_int_equal(parse("[[[[[[[[[[[[[]]]]]]]]]]]]]", message), -EINVAL);
	assert_string_equal(message, "nested more than 12 deep");
	for (unsigned key = 0; key < K2I_YAML_KEYS_MAX; key++)
		bytes += (size_t)snprintf(text + bytes, sizeof(text) - bytes, "k%u: v\n", key);
	assert_int_equal(parse(text, message), 0);
	(void)snprintf(text + bytes, sizeof(text) - bytes, "more: v\n");
	assert_int_equal(parse(text, message), -EINVAL);
	assert_string_equal(message, "more than 512 keys in one place");
}

TEST(test_size)
{
	char *text = malloc(K2I_YAML_BYTES_MAX + 2);

	memset(text, '#', K2I_YAML_BYTES_MAX + 1);
	text[K2I_YAML_BYTES_MAX + 1] = '\0';
	expect(text, "0 ! more than 1048576 bytes\n");
	text[K2I_YAML_BYTES_MAX] = '\0';
	expect(text, "");
	free(text);
}

TEST(test_files)
{
	const struct k2i_ini_calls calls = {on_entry, on_fault, NULL};

	assert_int_equal(k2i_yaml_read("/none/f.yaml", NULL, &calls), -ENOENT);
	assert_int_equal(k2i_yaml_read("/", NULL, &calls), -EISDIR);
}
