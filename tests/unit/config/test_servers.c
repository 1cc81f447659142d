/* SPDX-License-Identifier: MIT */
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

static void test_own_server(void **state)
{
	(void)state;
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

static void test_own_server_unknown(void **state)
{
	(void)state;
	doubts(RECEIVER ELSEWHERE ELSEWHERE, "5: note: NAME of no [SVRNODE] is this host");
	doubts("[GLOBAL]\nSELFCTLPORT=7\n" RECEIVER ELSEWHERE HERE, "no [SVRNODE] has CTLPORT = SELFCTLPORT");
	doubts(SENDER HERE, "5: note: [SVRNODE] has no effect: this version sends to the first one only");
}

/* A sender's certificate where CHMPX has it; the receiver does without. */
static void test_sender_tls(void **state)
{
	static const char keys[] = "[SLVNODE]\nNAME=.*\nCAPATH=/own\nSLAVE_CERT=/c\nSLAVE_PRIKEY=/k\n";
	struct k2i_tls_settings tls;
	struct k2i_settings *settings;
	struct findings findings;
	char text[1024];

	(void)state;
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

static void test_other_programs(void **state)
{
	static const char *const names[] = {"K2HTPDTORSVR", "K2HDKC", "K2HR3"};
	struct findings findings;
	char text[256], wanted[128];

	(void)state;
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
static void test_split(void **state)
{
	char nodes[sizeof(path)], text[1024];
	struct findings findings;
	struct k2i_settings *settings;

	(void)state;
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

static void test_nodes_only(void **state)
{
	struct findings findings;

	(void)state;
	k2i_settings_free(check("[GLOBAL]\nPORT=1\n[SVRNODE]\nNAME=a\n", &findings));
	assert_string_equal(findings.text, "0: note: neither [K2HFTFUSE] nor [K2HFTFUSESVR]: only k2hft push and "
					   "programs can use the file\n");
	expect_error("[SVRNODE]\nNAME=a\n", 1, "needs PORT");
}

static void test_init_in_vain(void **state)
{
	struct findings findings;
	struct k2i_settings *settings = check(SENDER "K2HTYPE=temp\nK2HFILE=/q\nK2HINIT=no\n", &findings);

	(void)state;
	assert_int_equal(findings.errors, 0);
	assert_non_null(strstr(findings.text, "7: note: K2HINIT = no has no effect without K2HTYPE = file"));
	k2i_settings_free(settings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_server),   cmocka_unit_test(test_own_server_unknown),
		cmocka_unit_test(test_sender_tls),   cmocka_unit_test(test_other_programs),
		cmocka_unit_test(test_split),        cmocka_unit_test(test_nodes_only),
		cmocka_unit_test(test_init_in_vain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
