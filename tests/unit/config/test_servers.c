/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include "settings_help.h"

#include "net/tls/tls.h"

/* SVRNODE, SLVNODE, and sections that are nobody's. */

static void listens(const char *text, unsigned port, unsigned control_port, const char *name)
{
	struct findings findings;
	struct k2i_settings *settings = check(text, &findings);

	if (findings.errors)
		print_error("%s", findings.text);
	assert_int_equal(findings.errors, 0);
	assert_int_equal(k2i_settings_port(settings, true), port);
	assert_int_equal(k2i_settings_control_port(settings), control_port);
	assert_string_equal(k2i_settings_node(settings, true)->name, name);
	k2i_settings_free(settings);
}

#define ELSEWHERE "[SVRNODE]\nNAME=192.0.2.10\nPORT=1\nCTLPORT=2\n"
#define HERE "[SVRNODE]\nNAME=127.0.0.1\nPORT=3\nCTLPORT=4\nCUK=a\n"
#define HERE_TOO "[SVRNODE]\nNAME=localhost\nPORT=5\nCTLPORT=6\nCUK=b\n"

TEST(test_own_server)
{
	listens(RECEIVER ELSEWHERE, 1, 2, "192.0.2.10");
	listens(RECEIVER ELSEWHERE HERE, 3, 4, "127.0.0.1");
	listens(RECEIVER ELSEWHERE HERE HERE_TOO, 3, 4, "127.0.0.1");
	listens("[GLOBAL]\nSELFCTLPORT=6\n" RECEIVER ELSEWHERE HERE HERE_TOO, 5, 6, "localhost");
	listens("[GLOBAL]\nSELFCTLPORT=2\n" RECEIVER ELSEWHERE HERE HERE_TOO, 1, 2, "192.0.2.10");
	listens("[GLOBAL]\nSELFCUK=b\n" RECEIVER ELSEWHERE HERE HERE_TOO, 5, 6, "localhost");
	listens("[GLOBAL]\nSELFCTLPORT=9\nCTLPORT=9\n" RECEIVER ELSEWHERE "[SVRNODE]\nNAME=b\n" HERE, 8020, 9, "b");
	/* CTLPORT is one for all hosts of a cluster: then NAME tells. */
	listens("[GLOBAL]\nSELFCTLPORT=2\nCTLPORT=2\n" RECEIVER ELSEWHERE "[SVRNODE]\nNAME=127.0.0.1\n", 8020, 2,
		"127.0.0.1");
}

static void doubts(const char *text, const char *part)
{
	struct findings findings;
	struct k2i_settings *settings = check(text, &findings);

	if (findings.errors || !strstr(findings.text, part))
		print_error("for\n%s\ngot\n%swanted %s\n", text, findings.text, part);
	assert_int_equal(findings.errors, 0);
	assert_non_null(strstr(findings.text, part));
	assert_int_equal(settings->own_server, 0);
	k2i_settings_free(settings);
}

TEST(test_own_server_unknown)
{
	doubts(RECEIVER ELSEWHERE ELSEWHERE, "5: note: NAME of no [SVRNODE] is this host");
	doubts("[GLOBAL]\nSELFCTLPORT=7\n" RECEIVER ELSEWHERE HERE, "no [SVRNODE] has CTLPORT = SELFCTLPORT");
}

/* A sender's certificate where CHMPX has it; the receiver does without. */
TEST(test_sender_tls)
{
	static const char keys[] = "[SLVNODE]\nNAME=.*\nCAPATH=/own\nSLAVE_CERT=/c\nSLAVE_PRIKEY=/k\n";
	struct k2i_tls_settings tls;
	struct k2i_settings *settings;
	struct findings findings;
	char text[1024];

	(void)snprintf(text, sizeof(text), "[GLOBAL]\nSSL=yes\nCAPATH=/all\nSLAVE_CERT=/d\n" SENDER "%s", keys);
	settings = check(text, &findings);
	assert_true(k2i_settings_tls(settings, false, &tls));
	assert_string_equal(tls.authority, "/own");
	assert_string_equal(tls.certificate, "/c");
	assert_string_equal(tls.private_key, "/k");
	assert_true(k2i_settings_tls(settings, true, &tls));
	assert_string_equal(tls.authority, "/all");
	k2i_settings_free(settings);
	(void)snprintf(text, sizeof(text), RECEIVER "%s", keys);
	settings = check(text, &findings);
	assert_non_null(strstr(findings.text, "5: note: CAPATH, SLAVE_CERT and SLAVE_PRIKEY of [SLVNODE] have no"));
	k2i_settings_free(settings);
	(void)snprintf(text, sizeof(text), SENDER "[SLVNODE]\nCAPATH=/a\n[SLVNODE]\nCAPATH=/b\n");
	settings = check(text, &findings);
	assert_non_null(strstr(findings.text, "7: error: a second [SLVNODE] with CAPATH"));
	k2i_settings_free(settings);
}

TEST(test_other_programs)
{
	static const char *const names[] = {"K2HTPDTORSVR", "K2HDKC", "K2HR3"};
	struct findings findings;
	char text[256], wanted[128];

	for (size_t at = 0; at < sizeof(names) / sizeof(names[0]); at++) {
		(void)snprintf(text, sizeof(text), RECEIVER "[%s]\nMAXTDTOR = 1\nTYPE = x\n", names[at]);
		k2i_settings_free(check(text, &findings));
		(void)snprintf(wanted, sizeof(wanted),
			       "5: note: [%s] has no effect: it is a section of another program\n", names[at]);
		assert_string_equal(findings.text, wanted);
	}
	expect_error(RECEIVER "[K2HFTFUSE_RUEL]\n", 5,
		     "unknown section [K2HFTFUSE_RUEL]; did you mean [K2HFTFUSE_RULE]?");
}

/* The nodes of another file, by its name beside this one, or as JSON. */
TEST(test_split)
{
	char nodes[sizeof(path)], text[1024];
	struct findings findings;
	struct k2i_settings *settings;

	write_file("[GLOBAL]\nPORT=7\nSSL=no\n[SVRNODE]\nNAME=b\n[K2HFTFUSE]\nnonsense = 1\n[K2HDKC]\nx=1\n");
	(void)snprintf(nodes, sizeof(nodes), "%s", path);
	for (unsigned form = 0; form < 3; form++) {
		(void)snprintf(text, sizeof(text),
			       "[GLOBAL]\nPORT=8020\nSSL=yes\n[SVRNODE]\nNAME=a\n[K2HTPDTOR]\nK2HTPDTOR_CHMPXCONF=%s\n"
			       "[K2HFTFUSE]\nLINEMAX=4K\n[K2HFTFUSE_RULE]\nTARGET=a\nDEFAULTALL=ALLOW\nTRUNS=on\n",
			       form == 0   ? nodes
			       : form == 1 ? strrchr(nodes, '/') + 1
					   : "{GLOBAL: {PORT: 7, SSL: no}, SVRNODE: {NAME: b}}");
		settings = check(text, &findings);
		if (findings.errors)
			print_error("%s", findings.text);
		assert_int_equal(findings.errors, 0);
		assert_non_null(strstr(findings.text, "7: note: [GLOBAL], [SVRNODE] and [SLVNODE] of this file have"));
		assert_int_equal(settings->server_count, 1);
		assert_string_equal(settings->servers[0].name, "b");
		assert_int_equal(k2i_settings_port(settings, false), 7);
		assert_int_equal(settings->ssl, K2I_SSL_NO);
		assert_int_equal(settings->record_bytes_max, 4096);
		k2i_settings_free(settings);
	}
	(void)unlink(nodes);
	k2i_settings_free(check("[K2HTPDTOR]\nK2HTPDTOR_CHMPXCONF=/none\n[K2HFTFUSE]\n", &findings));
	assert_non_null(strstr(findings.text, "2: error: K2HTPDTOR_CHMPXCONF: /none: No such file"));
	expect_error(RECEIVER SENDER "[K2HTPDTOR]\nK2HTPDTOR_CHMPXCONF=/none\n", 10, "is for a sender's file");
	k2i_settings_free(check(RECEIVER "[K2HTPDTOR]\nK2HTPDTOR_CHMPXCONF=/none\n", &findings));
	assert_string_equal(findings.text, "6: note: K2HTPDTOR_CHMPXCONF has no effect: a receiver sends nothing\n");
}

TEST(test_nodes_only)
{
	struct findings findings;

	k2i_settings_free(check("[GLOBAL]\nPORT=1\n[SVRNODE]\nNAME=a\n", &findings));
	assert_string_equal(findings.text, "");
	expect_error("[SVRNODE]\nNAME=a\n", 1, "needs PORT");
}

TEST(test_init_in_vain)
{
	struct findings findings;
	struct k2i_settings *settings = check(SENDER "K2HTYPE=temp\nK2HFILE=/q\nK2HINIT=no\n", &findings);

	assert_int_equal(findings.errors, 0);
	assert_non_null(strstr(findings.text, "7: note: K2HINIT = no has no effect without K2HTYPE = file"));
	k2i_settings_free(settings);
}

static void lists(const char *name, const char *wanted)
{
	char text[512], made[2048] = "";
	struct k2i_settings *settings;

	(void)snprintf(text, sizeof(text), "[SVRNODE]\nNAME=%s\nPORT=7\nCUK=x\n[K2HFTFUSE]\n", name);
	settings = load(text);
	for (size_t number = 0; number < settings->server_count; number++) {
		assert_int_equal(settings->servers[number].port, 7);
		assert_string_equal(settings->servers[number].key, "x");
		(void)snprintf(made + strlen(made), sizeof(made) - strlen(made), "%s%s", number ? " " : "",
			       settings->servers[number].name);
	}
	assert_string_equal(made, wanted);
	k2i_settings_free(settings);
}

TEST(test_lists)
{
	lists("h[1-3]", "h1 h2 h3");
	lists("h[9-11]", "h9 h10 h11");
	lists("h[09-11].x", "h09.x h10.x h11.x");
	lists("[a,c][1-2].example", "a1.example a2.example c1.example c2.example");
	lists("h[1-2,a-c,X-Z,web1]", "h1 h2 ha hb hc hX hY hZ hweb1");
	lists("h[7]", "h7");
	lists("h[5-5]x", "h5x");
	lists("[::1]", "::1");
}

static void list_wrong(const char *name, const char *part)
{
	char text[512];

	(void)snprintf(text, sizeof(text), "[GLOBAL]\nPORT=1\n[SVRNODE]\nNAME=%s\n[K2HFTFUSE]\n", name);
	expect_error(text, 3, part);
}

TEST(test_lists_wrong)
{
	static const char brackets[] = "has brackets without a list: use [1-5]";

	list_wrong("h[]", brackets);
	list_wrong("h[5-1]", brackets);
	list_wrong("h[a-Z]", brackets);
	list_wrong("h[c-a]", brackets);
	list_wrong("h[1-]", brackets);
	list_wrong("h[1,]", brackets);
	list_wrong("h[a b]", brackets);
	list_wrong("h[1-1234567890]", brackets);
	list_wrong("h[1-2", "a bracket that is not closed, or not opened");
	list_wrong("h1-2]", "a bracket that is not closed, or not opened");
	list_wrong("h[1-257]", "makes more than 256 receivers");
	list_wrong("h[1-99][1-99][1-99]", "makes more than 256 receivers");
	list_wrong("h*", "NAME of [SVRNODE] must be one host, or a list");
	list_wrong("h[1-2,1]", "a second [SVRNODE] for h1:1, after that of line 3");
}

TEST(test_except)
{
	struct k2i_settings *settings;

	settings = load("[K2HTPDTOR]\nK2HTPDTOR_EXCEPT_KEY=/tmp/"
			"\nK2HTPDTOR_EXCEPT_KEY=\nK2HTPDTOR_EXCEPT_KEY=a\\0x2eb\\056c\n" SENDER);
	assert_int_equal(settings->except_count, 2);
	assert_string_equal(settings->except[0], "tmp/");
	assert_string_equal(settings->except[1], "a.b.c");
	k2i_settings_free(settings);
	expect_error("[K2HTPDTOR]\nK2HTPDTOR_EXCEPT_KEY=a\\0\n" SENDER, 2, "use the beginning of a path");
	expect_error("[K2HTPDTOR]\nK2HTPDTOR_EXCEPT_KEY=a\\n\n" SENDER, 2, "use the beginning of a path");
	expect_error("[K2HTPDTOR]\nK2HTPDTOR_EXCEPT_KEY=a\\0x00\n" SENDER, 2, "use the beginning of a path");
}

#define TWO "[GLOBAL]\nPORT=1\n[SVRNODE]\nNAME=a\n[SVRNODE]\nNAME=b\n"

TEST(test_several_receivers)
{
	expect_error(TWO "[SVRNODE]\nNAME=A\n[K2HFTFUSE]\n", 7, "a second [SVRNODE] for A:1, after that of line 3");
	k2i_settings_free(load(TWO "[SVRNODE]\nNAME=a\nPORT=2\n[K2HFTFUSE]\n"));
	expect_error("[SVRNODE]\nNAME=a\nPORT=1\n[SVRNODE]\nNAME=b\n[K2HFTFUSE]\n", 4, "[SVRNODE] needs PORT");
	expect_error(TWO "[SVRNODE]\n[K2HFTFUSE]\n", 7, "[SVRNODE] needs NAME");
	expect_error(TWO "[K2HFTFUSE]\nCOPIES=3\n", 8, "COPIES must be at most the number of receivers, which is 2");
	expect_error(TWO "[K2HFTFUSE]\nCOPIES=0\n", 8, "COPIES = 0 is out of range; use 1 to 256 receivers");
	expect_error(TWO "[GLOBAL]\nDELIVERMODE=random\n[K2HFTFUSE]\nCOPIES=2\n", 10,
		     "COPIES needs DELIVERMODE = hash");
	expect_error(TWO "[K2HTPDTOR]\nK2HTPDTOR_BROADCAST=yes\n[K2HFTFUSE]\nCOPIES=2\n", 10,
		     "COPIES can't be used together with K2HTPDTOR_BROADCAST");
	expect_error(TWO "[GLOBAL]\nDELIVERMODE=robin\n[K2HFTFUSE]\n", 8,
		     "DELIVERMODE = robin is not known; use one of hash, random");
	expect_error(TWO "[K2HFTFUSE]\nFAILOVERTIME=0\n", 8, "FAILOVERTIME = 0 is out of range; use 1 to 3600 seconds");
	/* TLS of one that is not the first. */
	expect_error(TWO "PSKFILE=/none\n[K2HFTFUSE]\n", 5, "PSKFILE needs SSL = yes");
	expect_error(TWO "SSL=yes\nCAPATH=/none\n[K2HFTFUSE]\n", 5, "CAPATH: /none");
}
