/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "unit.h"
#include "app/rules/hosts.h"

static char errors[1024], warnings[1024];

static void report(void *argument, enum k2i_finding finding, const char *file, unsigned line, const char *text)
{
	char *findings = finding == K2I_FINDING_ERROR ? errors : warnings;

	(void)argument;
	assert_true(finding == K2I_FINDING_ERROR || finding == K2I_FINDING_WARNING);
	(void)snprintf(findings + strlen(findings), sizeof(errors) - strlen(findings), "%s:%u: %s\n", file, line, text);
}

static int compile(const char *first, const char *second, struct k2i_hosts **hosts)
{
	struct k2i_sender_node nodes[2] = {{.name = (char *)(uintptr_t)first, .place = {"f.ini", 3}},
					   {.name = (char *)(uintptr_t)second, .place = {"f.ini", 5}}};
	struct k2i_settings settings = {.senders = nodes, .sender_count = second ? 2 : 1};

	errors[0] = warnings[0] = '\0';
	return k2i_hosts_compile(&settings, report, NULL, hosts);
}

static void expect(const char *pattern, const char *name, bool wanted)
{
	struct k2i_hosts *hosts;

	assert_int_equal(compile(pattern, NULL, &hosts), 0);
	if (k2i_hosts_match(hosts, name) != wanted)
		fail_msg("%s %s %s", pattern, wanted ? "does not match" : "matches", name);
	k2i_hosts_free(hosts);
}

TEST(test_names)
{
	expect("web1.example.com", "web1.example.com", true);
	expect("Web1.Example.com", "wEB1.example.COM", true);
	expect("web1.example.com", "web1xexample.com", false);
	expect("web1.example.com", "web1.example.com.elsewhere.net", false);
	expect("web1.example.com", "myweb1.example.com", false);
	expect("web1.example.com", "web1.example.co", false);
	expect("web1.example.com", "", false);
	expect("192.0.2.7", "192.0.2.7", true);
	expect("192.0.2.7", "192.0.2.77", false);
	expect("192.0.2.7", "192.0.2x7", false);
	expect("2001:DB8:0:0::7", "2001:db8::7", true);
	expect("::1", "::1", true);
	expect("::1", "::12", false);
	expect("[2001:db8::7]", "2001:db8::7", true);
	expect("[2001:db8::7]", "2001:db8::8", false);
	expect("[2001:db8::7]", "web2.example.com", false);
	/* As long as one can be. */
	expect("0000:0000:0000:0000:0000:ffff:192.168.100.228", "192.168.100.228", true);
	expect("[0000:0000:0000:0000:0000:ffff:192.168.100.228]", "192.168.100.228", true);
	expect("[0000:0000:0000:0000:0000:ffff:192.168.100.228]", "web2.example.com", false);
}

TEST(test_lists)
{
	expect("h[1-5]", "h1", true);
	expect("h[1-5]", "H5", true);
	expect("h[1-5]", "h6", false);
	expect("h[1-5]", "h", false);
	expect("h[1-5]", "h11", false);
	expect("h[1-5]", "h01", false);
	expect("h[1-12]", "h12", true);
	expect("h[1-12]", "h2", true);
	expect("h[1-12]", "h13", false);
	expect("h[1-20]5", "h15", true);
	expect("h[1-20]5", "h155", true);
	expect("h[1-20]5", "h255", false);
	expect("h[01-12]", "h01", true);
	expect("h[01-12]", "h1", false);
	expect("h[01-12]", "h12", true);
	expect("h[01-12]", "h012", false);
	expect("h[08-120]", "h120", true);
	expect("h[a,b]", "ha", true);
	expect("h[a,b]", "h,", false);
	expect("h[a,b]", "hc", false);
	expect("h[a-c]", "hC", true);
	expect("h[a-c]", "hd", false);
	expect("h[b-d]", "ha", false);
	expect("h[b-d]", "hB", true);
	expect("h[B-D]", "hd", true);
	expect("h[b-d]", "he", false);
	expect("h[b-d]", "h-", false);
	expect("h[b-d]", "hcc", false);
	expect("h[a-cx]", "hx", true);
	expect("h[b-d]x", "hcx", true);
	expect("h[b-d]x", "hccx", false);
	expect("[web,db]1", "db1", true);
	expect("[web,db]1", "DB1", true);
	expect("[web,db]1", "b1", false);
	expect("[web,db]1", "web", false);
	expect("[web,mail][1-3,7].example.com", "mail7.example.com", true);
	expect("[web,mail][1-3,7].example.com", "web5.example.com", false);
	expect("[web,mail][1-3,7].example.com", "web", false);
	expect("192.0.2.[1-9]", "192.0.2.9", true);
	expect("192.0.2.[1-9]", "192.0.2.10", false);
	expect("h[0-999999999]", "h123456789", true);
	expect("h[0-999999999]", "h99999999999999999999", false);
	expect("h[0-5]", "h18446744073709551617", false); /* 1 in 64 bits */
	expect("h[1-5]2026010100", "h32026010100", true); /* more digits than a number of a list has */
	expect("h[1-5]2026010100", "h62026010100", false);
	expect("h[5-5]", "h5", true);
	expect("h[5-5]", "h55", false);
	expect("h[c-c]", "hc", true);
	expect("h[c-c]", "hcc", false);
	expect("h[a]", "ha", true);
	expect("h[a]", "xha", false);
}

TEST(test_networks)
{
	expect("127.0.0.0/8", "127.1.2.3", true);
	expect("127.0.0.0/8", "128.0.0.1", false);
	expect("127.0.0.0/8", "::1", false);
	expect("127.0.0.0/8", "localhost", false);
	expect("10.1.2.3/255.255.0.0", "10.1.9.9", true);
	expect("10.1.2.3/255.255.0.0", "10.2.2.3", false);
	expect("192.0.2.128/25", "192.0.2.127", false);
	expect("192.0.2.128/25", "192.0.2.255", true);
	expect("192.0.2.7/32", "192.0.2.7", true);
	expect("192.0.2.7/32", "192.0.2.6", false);
	expect("0.0.0.0/0", "9.9.9.9", true);
	expect("2001:db8::/33", "2001:db8:7fff::1", true);
	expect("2001:db8::/33", "2001:db8:8000::1", false);
	expect("::1/128", "::1", true);
	expect("::ffff:192.0.2.7", "192.0.2.7", true);
	expect("[::FFFF:c000:207]", "192.0.2.7", true);
	expect("::ffff:192.0.2.0/120", "192.0.2.7", true);
	expect("::ffff:192.0.2.0/120", "192.0.3.7", false);
	expect("10.0.0.1, 127.0.0.0/8,h[1-3,5].example web", "127.0.0.1", true);
	expect("10.0.0.1, 127.0.0.0/8,h[1-3,5].example web", "10.0.0.1", true);
	expect("10.0.0.1, 127.0.0.0/8,h[1-3,5].example web", "h5.example", true);
	expect("10.0.0.1, 127.0.0.0/8,h[1-3,5].example web", "WEB", true);
	expect("10.0.0.1, 127.0.0.0/8,h[1-3,5].example web", "h4.example", false);
	expect("^h[0-9]{1,2}$", "h12", true);
	expect("^h[a,.]+$", "ha.", true);
}

/* A network that is none; a name that no host has. */
TEST(test_networks_wrong)
{
	static const char *const wrong[] = {
		"10.0.0.0/33",  "::/129",    "10.0.0.0/255.0.255.0", "10.0.0/8", "::/ffff::", "a/b",
		"10.0.0.0/8/8", "10.0.0.0/", "10.0.0.1,::/200",      "web*,db1", "db1 ^web",  "web*, 10.0.0.0/8"};
	static const char *const nobody[] = {".example", "127.0.0.", "localhost:8020"};
	struct k2i_hosts *hosts;

	for (size_t at = 0; at < sizeof(wrong) / sizeof(wrong[0]); at++) {
		assert_int_equal(compile(wrong[at], NULL, &hosts), -EINVAL);
		assert_non_null(strstr(errors, "is no name, no address and no network as 192.0.2.0/24"));
	}
	for (size_t at = 0; at < sizeof(nobody) / sizeof(nobody[0]); at++) {
		assert_int_equal(compile(nobody[at], NULL, &hosts), 0);
		assert_non_null(strstr(warnings, "no host is called"));
		k2i_hosts_free(hosts);
	}
}

/* A name that looks like a list and is none is an expression, in which the brackets are a set of characters. */
TEST(test_no_lists)
{
	expect("h[0-]", "h-", true);
	expect("h[00-]", "h-", true);
	expect("h[1-5x]", "hx", true);
	expect("h[+-9]", "xh5y", true);
	expect("h[.-z]", "xh5y", true);
	expect("h[A-_]", "xhby", true);
	expect("h[a,]", "h,", true);
	expect("h[0-9999999999]", "xh5y", true);
}

TEST(test_expressions)
{
	expect("[.]*", "192.0.2.7", true);
	expect("[.]*", "a", true);
	expect("[.]*", "", true);
	expect("^web[0-9]+[.]example[.]com$", "WEB12.example.com", true);
	expect("^web[0-9]+[.]example[.]com$", "web.example.com", false);
	expect("^web[0-9]+[.]example[.]com$", "web1.example.com.elsewhere.net", false);
	expect("example[.]com$|^10[.]", "10.1.2.3", true);
	expect("h[ab]$", "hb", true);
	expect("h[abc]", "hc", true);
	expect("h[0-9a-f]$", "hf", true);
	/* An expression that would take for ever: not found. */
	expect("^(a+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", false);
}

TEST(test_several)
{
	struct k2i_hosts *hosts;

	assert_int_equal(compile("h[1-2]", "^10[.]0[.]", &hosts), 0);
	assert_true(k2i_hosts_match(hosts, "h2"));
	assert_true(k2i_hosts_match(hosts, "10.0.3.4"));
	assert_false(k2i_hosts_match(hosts, "10.10.3.4"));
	k2i_hosts_free(hosts);
}

TEST(test_findings)
{
	struct k2i_hosts *hosts;

	assert_int_equal(compile("h[5-1]", "h(", &hosts), -EINVAL);
	assert_null(hosts);
	assert_non_null(strstr(errors, "f.ini:3: regular expression: range out of order"));
	assert_non_null(strstr(errors, "f.ini:5: regular expression: missing closing parenthesis, at byte 3 of `h('"));
	assert_int_equal(compile("h[d-b]", "h[a,b", &hosts), -EINVAL);
	assert_non_null(strstr(errors, "f.ini:3: regular expression: range out of order"));
	assert_non_null(strstr(errors, "f.ini:5: regular expression: missing terminating ]"));
	/* Nothing behind the end is looked at. */
	assert_int_equal(compile("h[a,b\0c]", "[::1x", &hosts), -EINVAL);
	assert_non_null(strstr(errors, "f.ini:3: regular expression: missing terminating ]"));
	assert_non_null(strstr(errors, "f.ini:5: regular expression: missing terminating ]"));
	assert_int_equal(compile("h(", "web1", &hosts), -EINVAL);
	assert_null(hosts);
	assert_int_equal(compile(NULL, "web1", &hosts), -EINVAL);
	assert_null(hosts);
	assert_string_equal(errors, "");
	assert_int_equal(compile("web.*$", "^web.*", &hosts), 0);
	assert_non_null(strstr(warnings, "f.ini:3: NAME of [SLVNODE] is a regular expression, found anywhere"));
	assert_non_null(strstr(warnings, "f.ini:5: NAME of [SLVNODE] is a regular expression, found anywhere"));
	k2i_hosts_free(hosts);
	assert_int_equal(compile("[.]*", "web.*[.]com$", &hosts), 0);
	assert_string_equal(errors, "");
	assert_non_null(strstr(warnings, "f.ini:3: NAME of [SLVNODE] lets every host connect"));
	assert_non_null(strstr(warnings, "f.ini:5: NAME of [SLVNODE] is a regular expression, found anywhere"));
	k2i_hosts_free(hosts);
	assert_int_equal(compile("^web.*[.]com$", "h[1-5]", &hosts), 0);
	assert_string_equal(warnings, "");
	k2i_hosts_free(hosts);
	/* ^ and $ are those of one alternative. */
	assert_int_equal(compile("^web1|web2$", "^(a|b)$|db$", &hosts), 0);
	assert_non_null(strstr(warnings, "f.ini:3: NAME of [SLVNODE] is a regular expression, found anywhere"));
	assert_non_null(strstr(warnings, "f.ini:5: NAME of [SLVNODE] is a regular expression, found anywhere"));
	k2i_hosts_free(hosts);
	assert_int_equal(compile("^(web|db)[0-9|]$|^mail(1|2)$", "^a\\|b\\[c\\(d$", &hosts), 0);
	assert_string_equal(warnings, "");
	k2i_hosts_free(hosts);
}

TEST(test_none)
{
	const struct k2i_settings settings = {.sender_count = 0};
	struct k2i_hosts *hosts;

	assert_int_equal(k2i_hosts_compile(&settings, report, NULL, &hosts), 0);
	assert_null(hosts);
	k2i_hosts_free(hosts);
}
