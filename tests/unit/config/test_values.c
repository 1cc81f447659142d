/* SPDX-License-Identifier: MIT */
/* Values that a key takes, up to its limits. */
#include "unit.h"
#include "settings_help.h"

#include <k2hft/frame.h>

static char message[2048];

static int parse(enum k2i_section section, const char *key, const char *text, void *object)
{
	const struct k2i_setting *setting = k2i_setting_find(section, key);

	assert_non_null(setting);
	message[0] = '\0';
	return k2i_value_parse(setting, text, object, message, sizeof(message));
}

static void refused(enum k2i_section section, const char *key, const char *text, const char *part)
{
	struct k2i_settings settings = {.port = 0};

	assert_int_equal(parse(section, key, text, &settings), -EINVAL);
	if (!strstr(message, part))
		fail_msg("%s = %s: %s", key, text, message);
	k2i_values_clear(section, &settings);
}

TEST(test_limits)
{
	struct k2i_settings settings = {.port = 0};

	assert_int_equal(parse(K2I_SECTION_GLOBAL, "PORT", "1", &settings), 0);
	assert_int_equal(parse(K2I_SECTION_GLOBAL, "PORT", "65535", &settings), 0);
	assert_int_equal(settings.port, 65535);
	refused(K2I_SECTION_GLOBAL, "PORT", "0", "use 1 to 65535");
	refused(K2I_SECTION_GLOBAL, "PORT", "65536", "use 1 to 65535");
	assert_int_equal(parse(K2I_SECTION_K2HFTFUSE, "RINGSIZE", "1T", &settings), 0);
	assert_int_equal(settings.ring_bytes, UINT64_C(1) << 40);
	assert_int_equal(parse(K2I_SECTION_K2HFTFUSE, "RINGSIZE", "64k", &settings), 0);
	assert_int_equal(settings.ring_bytes, 65536);
	/* As many bytes as a number of 64 bits has not: what is left of it is within the range. */
	refused(K2I_SECTION_K2HFTFUSE, "RINGSIZE", "16777217T", "is out of range; use 64K to 1T bytes");
	refused(K2I_SECTION_K2HFTFUSE, "RINGSIZE", "18446744073709617152", "is out of range");
	refused(K2I_SECTION_K2HFTFUSE, "RINGSIZE", "-64K", "is out of range");
	refused(K2I_SECTION_K2HFTFUSE, "RINGSIZE", "--64K", "is not a size");
}

TEST(test_modes)
{
	static const char *const refusals[] = {"",     "0",    "0400",  "0200", "0500", "0700",
					       "0610", "0601", "0602",  "0666", "1600", "2640",
					       "4600", "640x", "0o640", "-640", "+640", "0648",
					       "rw",   "416",  "420",   "432",  "436",  "40000000000000000000000600"};
	static const char *const modes[] = {"0600", "0604", "0640", "0644", "0660", "0664"};
	struct k2i_settings settings = {.file_mode = 0};
	size_t i;

	for (i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
		refused(K2I_SECTION_K2HFTFUSESVR, "FILE_MODE", refusals[i], "is not possible; use 0600, 0640, 0644, ");
	assert_int_equal(k2i_values_default(K2I_SECTION_K2HFTFUSESVR, &settings), 0);
	assert_int_equal(settings.file_mode, 0600);
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		assert_int_equal(parse(K2I_SECTION_K2HFTFUSESVR, "FILE_MODE", modes[i] + i % 2, &settings), 0);
		assert_int_equal(settings.file_mode, strtoul(modes[i], NULL, 8));
	}
	k2i_values_clear(K2I_SECTION_K2HFTFUSESVR, &settings);
}

/* Those that are refused are not proposed. */
TEST(test_words)
{
	refused(K2I_SECTION_GLOBAL, "SSL_MIN_VER", "x", "use one of TLSV1.2, TLSV1.3, DEFAULT");
	assert_null(strstr(message, "SSLV3"));
}

TEST(test_word_list)
{
	struct k2i_settings settings = {.outputs = 0};

	assert_int_equal(parse(K2I_SECTION_K2HFTFUSESVR, "TYPE", " otlp,FILE , kafka", &settings), 0);
	assert_int_equal(settings.outputs, K2I_OUTPUT_FILE | K2I_OUTPUT_KAFKA | K2I_OUTPUT_OTLP);
	assert_int_equal(parse(K2I_SECTION_K2HFTFUSESVR, "TYPE", "forward", &settings), 0);
	assert_int_equal(settings.outputs, K2I_OUTPUT_FORWARD);
	refused(K2I_SECTION_K2HFTFUSESVR, "TYPE", "x", "use one of file, ");
	refused(K2I_SECTION_K2HFTFUSESVR, "TYPE", "file, x", "TYPE = x is not known");
	refused(K2I_SECTION_K2HFTFUSESVR, "TYPE", ",", "is not known");
}

/* So many bytes, in parts of 100. */
static void path_make(char *text, size_t bytes)
{
	memset(text, 'p', bytes);
	for (size_t at = 100; at < bytes; at += 101)
		text[at] = '/';
	text[bytes] = '\0';
}

TEST(test_paths)
{
	struct k2i_rule rule = {.directory = false};
	char text[K2HFT_STREAM_PATH_BYTES_MAX + 2];

	assert_int_equal(parse(K2I_SECTION_K2HFTFUSE_RULE, "TARGET", "..a/...//.b/./c.", &rule), 0);
	assert_string_equal(rule.target, "..a/.../.b/c.");
	path_make(text, K2HFT_STREAM_PATH_BYTES_MAX);
	assert_int_equal(parse(K2I_SECTION_K2HFTFUSE_RULE, "TARGET", text, &rule), 0);
	assert_string_equal(rule.target, text);
	path_make(text, K2HFT_STREAM_PATH_BYTES_MAX + 1);
	assert_int_equal(parse(K2I_SECTION_K2HFTFUSE_RULE, "TARGET", text, &rule), -EINVAL);
	assert_non_null(strstr(message, "TARGET is longer than 1023 bytes"));
	assert_int_equal(parse(K2I_SECTION_K2HFTFUSE_RULE, "OUTPUTFILE", "/dev/null", &rule), 0);
	assert_null(rule.output_file);
	k2i_values_clear(K2I_SECTION_K2HFTFUSE_RULE, &rule);
}

/* It is no output, and elsewhere a path as any other. */
TEST(test_null_device)
{
	struct k2i_settings settings = {.port = 0};

	assert_int_equal(parse(K2I_SECTION_K2HFTFUSE, "K2HFILE", "/dev/null", &settings), 0);
	assert_string_equal(settings.queue_file, "/dev/null");
	k2i_values_clear(K2I_SECTION_K2HFTFUSE, &settings);
}

/* The text that a % stands for can be shorter than its directive. */
TEST(test_names_to_be)
{
	struct k2i_settings settings = {.port = 0};
	char text[300];

	memset(text, 'n', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(parse(K2I_SECTION_K2HFTFUSESVR, "FILE_UNIFY", text, &settings), 0);
	assert_string_equal(settings.unify_file, text);
	k2i_values_clear(K2I_SECTION_K2HFTFUSESVR, &settings);
}

/* Saying nothing, in any of its words, asks for nothing that is not there. */
TEST(test_refused_and_unused)
{
	struct k2i_settings settings = {.port = 0};

	assert_int_equal(parse(K2I_SECTION_SVRNODE, "ENDPOINTS", "", &settings), 0);
	refused(K2I_SECTION_SVRNODE, "ENDPOINTS", "a:1", "ENDPOINTS is not available");
}

TEST(test_hosts)
{
	static const struct {
		const char *text, *stored;
	} hosts[] = {{"a.example", "a.example"},
		     {"192.0.2.1", "192.0.2.1"},
		     {"::1", "::1"},
		     {"[::1]", "::1"},
		     {"fe80::1%eth0", "fe80::1%eth0"},
		     {"[fe80::1%eth0]", "fe80::1%eth0"},
		     {"h[1-3]", "h[1-3]"},
		     {"::", "::"},
		     {"a_b", "a_b"}};
	static const char *const ports[] = {"a:1", "[::1]:1", "192.0.2.1:80", "[::1", "::1]", "::g"};
	static const char *const paths[] = {"tcp://a", "192.0.2.0/24", "::/0"};
	struct k2i_settings settings = {.port = 0};

	for (size_t at = 0; at < sizeof(hosts) / sizeof(hosts[0]); at++) {
		assert_int_equal(parse(K2I_SECTION_K2HFTFUSESVR, "LISTEN", hosts[at].text, &settings), 0);
		assert_string_equal(settings.listen_address, hosts[at].stored);
	}
	k2i_values_clear(K2I_SECTION_K2HFTFUSESVR, &settings);
	for (size_t at = 0; at < sizeof(ports) / sizeof(ports[0]); at++)
		refused(K2I_SECTION_K2HFTFUSESVR, "LISTEN", ports[at], "; PORT has the port");
	for (size_t at = 0; at < sizeof(paths) / sizeof(paths[0]); at++)
		refused(K2I_SECTION_K2HFTFUSESVR, "LISTEN", paths[at], " is a network or a URL");
	refused(K2I_SECTION_K2HFTFUSESVR, "CTLADDRESS", "a:1", "; CTLPORT has the port");
}

TEST(test_servers)
{
	static const char *const right[] = {"a.example", "a:1", "a:65535, b ,[::1]:24224\t[fe80::1%eth0]", ""};
	static const char *const wrong[] = {":1",   "a:",  "a:0",       "a:65536", "a:1x",
					    "a:+1", "::1", "[::1",      "[]:1",    "[::1]24224",
					    "a/b",  ",",   "tcp://a:1", "a, b:c",  "u@a:1"};
	struct k2i_settings settings = {.port = 0};

	for (size_t at = 0; at < sizeof(right) / sizeof(right[0]); at++)
		assert_int_equal(parse(K2I_SECTION_K2HFTFUSESVR, "FORWARD_SERVER", right[at], &settings), 0);
	k2i_values_clear(K2I_SECTION_K2HFTFUSESVR, &settings);
	for (size_t at = 0; at < sizeof(wrong) / sizeof(wrong[0]); at++)
		refused(K2I_SECTION_K2HFTFUSESVR, "FORWARD_SERVER", wrong[at], "it wants HOST:PORT");
}

TEST(test_urls)
{
	static const char *const right[] = {"http://a", "https://a:4318/", "http://[::1]:4318/v1/logs",
					    "HTTP://192.0.2.1/x"};
	static const char *const wrong[] = {"a:4318",     "ftp://a",        "http://",       "http:///v1",
					    "http://a:",  "http://a:65536", "http://a:x/v1", "http://u:p@a:1",
					    "http://a?b", "http://::1"};
	struct k2i_settings settings = {.port = 0};

	for (size_t at = 0; at < sizeof(right) / sizeof(right[0]); at++)
		assert_int_equal(parse(K2I_SECTION_K2HFTFUSESVR, "OTLP_ENDPOINT", right[at], &settings), 0);
	k2i_values_clear(K2I_SECTION_K2HFTFUSESVR, &settings);
	for (size_t at = 0; at < sizeof(wrong) / sizeof(wrong[0]); at++)
		refused(K2I_SECTION_K2HFTFUSESVR, "OTLP_ENDPOINT", wrong[at], "is no address as http://HOST:PORT");
}

/* A value may be a secret: a message does not have it. */
TEST(test_headers)
{
	static const struct {
		const char *text, *why;
	} wrong[] = {{"secret", "OTLP_HEADERS has a header without ="},
		     {"a=b, secret", "a header without ="},
		     {"a b=secret", "a name that no header can have"},
		     {"=secret", "a name that no header can have"},
		     {"x=secret\x01", "a value with a control character"},
		     {"host=secret", "a header that belongs to the request itself"},
		     {"x=1,content-length = secret", "a header that belongs to the request itself"}};
	struct k2i_settings settings = {.port = 0};

	assert_int_equal(parse(K2I_SECTION_K2HFTFUSESVR, "OTLP_HEADERS",
			       "X-Scope = a b ,, Authorization=Bearer a=b, X=", &settings),
			 0);
	k2i_values_clear(K2I_SECTION_K2HFTFUSESVR, &settings);
	for (size_t at = 0; at < sizeof(wrong) / sizeof(wrong[0]); at++) {
		refused(K2I_SECTION_K2HFTFUSESVR, "OTLP_HEADERS", wrong[at].text, wrong[at].why);
		assert_null(strstr(message, "secret"));
	}
}

/* A key that has a default always has a value, and may be 0. */
TEST(test_set)
{
	const struct k2i_settings settings = {.port = 0};

	assert_true(k2i_value_set(k2i_setting_find(K2I_SECTION_K2HFTFUSE, "TRANSLINECNT"), &settings));
	assert_false(k2i_value_set(k2i_setting_find(K2I_SECTION_GLOBAL, "PORT"), &settings));
	assert_false(k2i_value_set(k2i_setting_find(K2I_SECTION_K2HFTFUSE, "K2HFILE"), &settings));
}
