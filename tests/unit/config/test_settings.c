/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include "settings_help.h"

#include <sys/stat.h>

#include "net/tls/tls.h"

TEST(test_sender_defaults)
{
	struct k2i_settings *settings = load(SENDER);

	assert_true(settings->fuse_present);
	assert_false(settings->receiver_present);
	assert_int_equal(settings->server_count, 1);
	assert_string_equal(settings->servers[0].name, "a.example");
	assert_int_equal(settings->servers[0].port, 8020);
	assert_int_equal(settings->servers[0].ssl, K2I_SSL_UNSET);
	assert_int_equal(settings->ssl, K2I_SSL_UNSET);
	assert_int_equal(settings->queue_type, K2I_QUEUE_MEMORY);
	assert_true(settings->queue_fresh);
	assert_int_equal(settings->ring_bytes, 64 << 20);
	assert_int_equal(settings->full, K2HFT_FULL_BLOCK);
	assert_false(settings->binary);
	assert_int_equal(settings->write_mode, K2I_WRITE_MODE_AUTO);
	assert_int_equal(settings->flush_ms, 5);
	assert_int_equal(settings->record_bytes_max, 1 << 20);
	assert_int_equal(settings->held_bytes_max, 64 << 20);
	assert_int_equal(settings->batch_records_max, 0);
	assert_int_equal(settings->expire_s, 0);
	assert_int_equal(settings->compress, K2HFT_COMPRESS_AUTO);
	assert_int_equal(settings->drain_timeout_s, 30);
	k2i_settings_free(settings);
}

TEST(test_receiver_defaults)
{
	struct k2i_settings *settings = load(RECEIVER);

	assert_true(settings->receiver_present);
	assert_int_equal(settings->port, 8020);
	assert_int_equal(settings->loop_count, 0);
	assert_string_equal(settings->base_directory, "/tmp/x");
	assert_string_equal(settings->format, "%L");
	assert_null(settings->unify_file);
	assert_null(settings->time_format);
	assert_null(settings->state_directory);
	assert_null(settings->listen_address);
	assert_int_equal(settings->window_bytes, 16 << 20);
	assert_int_equal(settings->frame_bytes_max, 4 << 20);
	k2i_settings_free(settings);
	settings = load(RECEIVER "FILE_UNIFY=\n");
	assert_null(settings->unify_file);
	k2i_settings_free(settings);
}

TEST(test_rules)
{
	struct k2i_settings *settings = load(SENDER "[K2HFTFUSE_RULE]\nTARGET=/log//./a.log\nTRUNS=ON\n"
						    "ALLOW = \"a, b\", \"$0\" # comment\nallow =plain text\n"
						    "OUTPUTFILE=/dev/null\n"
						    "[K2HFTFUSE_RULE_DIR]\nTARGET=/\nDEFAULTALL=allow\nDENY=x\nDENY=\n"
						    "OUTPUTFILE=/var/log/\n"
						    "[K2HFTFUSE_RULE_DIR]\nTARGET=b/c/\n");
	const struct k2i_rule *rule = settings->rules;

	assert_int_equal(settings->rule_count, 3);
	assert_false(rule[0].directory);
	assert_string_equal(rule[0].target, "log/a.log");
	assert_true(rule[0].transfer);
	assert_false(rule[0].default_allow);
	assert_null(rule[0].output_file);
	assert_int_equal(rule[0].place.line, 5);
	assert_string_equal(rule[0].place.file, settings->file);
	assert_int_equal(rule[0].allow_count, 2);
	assert_string_equal(rule[0].allow[0].text, "\"a, b\", \"$0\"");
	assert_int_equal(rule[0].allow[0].place.line, 8);
	assert_string_equal(rule[0].allow[1].text, "plain text");
	assert_true(rule[1].directory);
	assert_string_equal(rule[1].target, "");
	assert_true(rule[1].default_allow);
	assert_string_equal(rule[1].output_file, "/var/log/");
	assert_int_equal(rule[1].deny_count, 2);
	assert_string_equal(rule[1].deny[1].text, "");
	assert_string_equal(rule[2].target, "b/c");
	assert_false(rule[2].transfer);
	k2i_settings_free(settings);
	/* A directory's TARGET may be left out, as K2HFTFUSE's documentation has it. */
	settings = load(SENDER "[K2HFTFUSE_RULE_DIR]\nDEFAULTALL=ALLOW\nTRUNS=on\n");
	assert_string_equal(settings->rules[0].target, "");
	k2i_settings_free(settings);
}

TEST(test_every_setting)
{
	struct k2i_settings *settings =
		load("[GLOBAL]\nPORT=1\nSSL=off\nSOCKTHREADCNT=8\n[SVRNODE]\nNAME=b\nssl=NO\n"
		     "[K2HFTFUSE]\nk2htype=FILE\nK2HFILE=/var/q\nK2HINIT=n\nRINGSIZE=1g\nRINGFULL=drop\nLINEMAX=64K\n"
		     "TRANSLINECNT=10000\nBYTELIMIT=5\nEXPIRE=9\nCOMPRESS=Never\nDRAINTIMEOUT=0\nWRITEMODE="
		     "Cached\nFLUSHMS=1\n"
		     "[K2HFTFUSE_RULE]\nTARGET=a\nWRITEMODE=direct\n[K2HFTFUSE_RULE]\nTARGET=b\n"
		     "[K2HFTFUSESVR]\nTYPE=F\nFILE_BASEDIR='/srv/a b'\nFILE_UNIFY=log/%Y.log\n"
		     "FORMAT=\"%T {'m':'%l'}\\n\" # text\nFILE_TIMEFORM=\"%F %T.%-\"\nSTATEDIR=/s\nLISTEN=::1\n"
		     "WINDOW=4M\nFRAMEMAX=2M\n");

	assert_int_equal(settings->port, 1);
	assert_int_equal(settings->ssl, K2I_SSL_NO);
	assert_int_equal(settings->loop_count, 8);
	assert_int_equal(settings->servers[0].port, 0);
	assert_int_equal(settings->servers[0].ssl, K2I_SSL_NO);
	assert_int_equal(settings->queue_type, K2I_QUEUE_FILE);
	assert_string_equal(settings->queue_file, "/var/q");
	assert_true(k2i_settings_key_place(settings, K2I_SECTION_K2HFTFUSE, "K2HFILE").line > 0);
	assert_string_equal(k2i_settings_key_place(settings, K2I_SECTION_K2HFTFUSE, "K2HFILE").file, settings->file);
	assert_false(settings->queue_fresh);
	assert_int_equal(settings->ring_bytes, 1 << 30);
	assert_int_equal(settings->full, K2HFT_FULL_DROP);
	assert_int_equal(settings->record_bytes_max, 65536);
	assert_int_equal(settings->batch_records_max, 10000);
	assert_int_equal(settings->record_bytes_limit, 5);
	assert_int_equal(settings->expire_s, 9);
	assert_int_equal(settings->compress, K2HFT_COMPRESS_NEVER);
	assert_int_equal(settings->drain_timeout_s, 0);
	assert_int_equal(settings->write_mode, K2I_WRITE_MODE_CACHED);
	assert_int_equal(settings->flush_ms, 1);
	assert_int_equal(settings->rules[0].write_mode, K2I_WRITE_MODE_DIRECT);
	assert_int_equal(settings->rules[1].write_mode, K2I_WRITE_MODE_UNSET);
	assert_string_equal(settings->base_directory, "/srv/a b");
	assert_string_equal(settings->unify_file, "log/%Y.log");
	assert_string_equal(settings->format, "%T {'m':'%l'}\\n");
	assert_int_equal(k2i_settings_key_place(settings, K2I_SECTION_K2HFTFUSESVR, "FORMAT").line, 31);
	assert_string_equal(k2i_settings_key_place(settings, K2I_SECTION_K2HFTFUSESVR, "FORMAT").file, settings->file);
	assert_string_equal(settings->time_format, "%F %T.%-");
	assert_string_equal(settings->state_directory, "/s");
	assert_string_equal(settings->listen_address, "::1");
	assert_int_equal(settings->window_bytes, 4 << 20);
	assert_int_equal(settings->frame_bytes_max, 2 << 20);
	k2i_settings_free(settings);
}

TEST(test_values_refused)
{
	static const struct {
		const char *line, *part;
	} cases[] = {
		{"RINGSIZE=1K", "RINGSIZE = 1K is out of range; use 64K to 1T bytes"},
		{"RINGSIZE=99999999999999999999", "out of range"},
		{"RINGSIZE=20000000T", "out of range"},
		{"RINGSIZE=64X", "RINGSIZE = 64X is not a size"},
		{"RINGSIZE=64MB", "is not a size"},
		{"RINGSIZE=", "RINGSIZE = (nothing) is not a size"},
		{"LINEMAX=2M", "use 64 to 1M bytes"},
		{"EXPIRE=-1", "EXPIRE = -1 is out of range; use 0 to 3153600000 seconds"},
		{"EXPIRE=1.5", "not a whole number; use 0 to 3153600000 seconds"},
		{"EXPIRE= +1", "not a whole number"},
		{"TRANSLINECNT=x", "TRANSLINECNT = x is not a whole number"},
		{"DRAINTIMEOUT=86401", "use 0 to 86400 seconds"},
		{"WRITEMODE=fast", "WRITEMODE = fast is not known; use one of auto, cached, direct"},
		{"FLUSHMS=0", "FLUSHMS = 0 is out of range; use 1 to 10000 milliseconds"},
		{"K2HINIT=maybe", "K2HINIT = maybe is not known; use one of yes, no, on, off, y, n, true, false"},
		{"K2HTYPE=disk", "use one of mem, temp, file"},
		{"K2HTYPE=file", "K2HTYPE = file needs K2HFILE"},
		{"K2HFILE=/q", "K2HFILE is for K2HTYPE = file or temp"},
		{"DTORCTP=x.so", "DTORCTP is not available"},
		{"TRANSLINCNT=1", "unknown key TRANSLINCNT in [K2HFTFUSE]; did you mean TRANSLINECNT?"},
		{"FORMAT=%L", "[K2HFTFUSE] has no key FORMAT; it belongs in [K2HFTFUSESVR]"},
		{"QUITEOTHER=1", "unknown key QUITEOTHER in [K2HFTFUSE]"},
		{"[K2HFTFUSE]", "a second [K2HFTFUSE]"},
		{"[K2HFTFUSE_RULES]", "did you mean [K2HFTFUSE_RULE]?"},
	};
	char text[512];
	size_t number;

	for (number = 0; number < sizeof(cases) / sizeof(cases[0]); number++) {
		(void)snprintf(text, sizeof(text), SENDER "%s\n", cases[number].line);
		expect_error(text, 5, cases[number].part);
	}
}

static void key_file(char key_path[256], const char *line, mode_t mode)
{
	FILE *file;

	(void)snprintf(key_path, 256, "%.200s/k2hft-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	file = fdopen(mkstemp(key_path), "w");
	assert_non_null(file);
	assert_true(fputs(line, file) >= 0);
	assert_int_equal(fchmod(fileno(file), mode), 0);
	assert_int_equal(fclose(file), 0);
}

#define GOOD_KEY "me:00112233445566778899aabbccddeeff\n"

TEST(test_tls_keys)
{
	char text[1024], key_path[256];
	struct k2i_settings *settings;
	struct k2i_tls_settings tls;

	key_file(key_path, GOOD_KEY, 0600);
	(void)snprintf(text, sizeof(text),
		       "[GLOBAL]\nPORT=1\nSSL=no\nPSKFILE=/none\nSSL_MIN_VER=tlsv1.3\n"
		       "[SVRNODE]\nNAME=b\nSSL=on\nPSKFILE=%s\n[K2HFTFUSE]\n[K2HFTFUSESVR]\nFILE_BASEDIR=/tmp/x\n",
		       key_path);
	settings = load(text);
	assert_true(k2i_settings_tls(settings, true, &tls));
	assert_true(tls.server);
	assert_true(k2i_settings_tls(settings, false, &tls));
	assert_string_equal(tls.shared_key, key_path);
	assert_int_equal(tls.version_min, K2HFT_TLS_1_3);
	assert_null(tls.certificate);
	k2i_settings_free(settings);
	(void)unlink(key_path);

	/* null hides what GLOBAL says. */
	settings = load("[GLOBAL]\nPORT=1\nSSL=yes\nCAPATH=/none\nSSL_VERIFY_PEER=no\n[SVRNODE]\nNAME=b\nCAPATH=NULL\n"
			"[K2HFTFUSE]\n");
	assert_true(k2i_settings_tls(settings, false, &tls));
	assert_null(tls.authority);
	assert_false(tls.verify_peer);
	k2i_settings_free(settings);
	settings = load("[SVRNODE]\nNAME=b\nPORT=1\nSSL_VERIFY_PEER=no\n[K2HFTFUSE]\n[GLOBAL]\nSSL=yes\n"
			"SSL_VERIFY_PEER=yes\n");
	assert_true(k2i_settings_tls(settings, false, &tls));
	assert_false(tls.verify_peer);
	k2i_settings_free(settings);
}

/* Somebody may count on it. */
TEST(test_tls_in_vain)
{
	struct findings findings;
	char text[1024], key_path[256];

	k2i_settings_free(check("[GLOBAL]\nSSL_MIN_VER=TLSV1.3\n" RECEIVER, &findings));
	assert_string_equal(findings.text, "2: note: SSL_MIN_VER has no effect without SSL = yes\n");
	key_file(key_path, GOOD_KEY, 0600);
	(void)snprintf(text, sizeof(text), "[GLOBAL]\nSSL=yes\nSSL_MIN_VER=TLSV1.3\nPSKFILE=%s\n" RECEIVER, key_path);
	k2i_settings_free(check(text, &findings));
	assert_string_equal(findings.text, "");
	(void)unlink(key_path);
	k2i_settings_free(
		check("[GLOBAL]\nSSL=yes\nSERVER_CERT=/none\nSERVER_PRIKEY=/none\nCAPATH=/\n" RECEIVER, &findings));
	assert_non_null(strstr(findings.text, "5: note: CAPATH has no effect: without SSL_VERIFY_PEER"));
	/* Where there is a sender, too, that looks at it. */
	k2i_settings_free(check("[GLOBAL]\nSSL=yes\nSERVER_CERT=/none\nSERVER_PRIKEY=/none\nCAPATH=/\n"
				"[SVRNODE]\nNAME=a\n[K2HFTFUSE]\n" RECEIVER,
				&findings));
	assert_null(strstr(findings.text, "CAPATH has no effect"));
}

TEST(test_tls_wrong)
{
	static const struct {
		const char *keys;
		unsigned line;
		const char *part;
	} cases[] = {
		{"SSL_MIN_VER=TLSV1.1\n", 2, "TLSV1.1 is not safe any more; use TLSV1.2 or TLSV1.3"},
		{"SSL_MIN_VER=SSLV3\n", 2, "is not safe any more"},
		{"CAPATH=relative\n", 2, "must be an absolute path"},
		{"SSL=yes\nPSKFILE=relative\n", 3, "must be an absolute path"},
		{"CAPATH=/none\n", 2, "CAPATH needs SSL = yes"},
		{"SSL=no\nSERVER_CERT=/none\n", 3, "SERVER_CERT needs SSL = yes"},
		{"SLAVE_PRIKEY=/none\n", 2, "SLAVE_PRIKEY needs SSL = yes"},
		{"PSKFILE=/none\n", 2, "PSKFILE needs SSL = yes"},
		{"SSL=yes\nPSKFILE=/none\nSLAVE_CERT=/none\n", 4, "SLAVE_CERT can't be used together with PSKFILE"},
		{"SSL_VERIFY_PEER=yes\n", 2, "SSL_VERIFY_PEER = yes needs SSL = yes"},
		{"SSL=yes\nCAPATH=/none/ca.pem\n", 3, "CAPATH: /none/ca.pem: No such file or directory"},
		{"SSL=yes\nSLAVE_CERT=/none\n", 3, "SLAVE_CERT needs SLAVE_PRIKEY"},
		{"SSL=yes\nSLAVE_PRIKEY=/none\n", 3, "SLAVE_PRIKEY needs SLAVE_CERT"},
		{"SSL=yes\nSSL_VERIFY_PEER=yes\n", 3, "SLAVE_CERT and SLAVE_PRIKEY are needed"},
		{"SSL=yes\nPSKFILE=/none\n", 3, "PSKFILE: /none: No such file or directory"},
	};
	char text[512];
	size_t number;

	for (number = 0; number < sizeof(cases) / sizeof(cases[0]); number++) {
		(void)snprintf(text, sizeof(text), "[GLOBAL]\n%s" SENDER, cases[number].keys);
		expect_error(text, cases[number].line, cases[number].part);
	}
	expect_error("[GLOBAL]\nSSL=yes\n" RECEIVER, 2, "needs SERVER_CERT and SERVER_PRIKEY, or PSKFILE");
	expect_error("[GLOBAL]\nSSL=yes\nSERVER_CERT=/none\nSERVER_PRIKEY=/none\nSSL_VERIFY_PEER=yes\n" RECEIVER, 5,
		     "SSL_VERIFY_PEER = yes needs CAPATH");
	expect_error("[GLOBAL]\nSSL=yes\nSERVER_CERT=/none\nSERVER_PRIKEY=/none\n" RECEIVER, 3,
		     "SERVER_CERT: /none: No such file");
	/* The keys of the first receiver, wherever others have theirs. */
	expect_error("[GLOBAL]\nPORT=1\nSSL_MIN_VER=TLSV1.3\n[SVRNODE]\nNAME=a\nSSL=yes\nPSKFILE=/none\n[SVRNODE]\n"
		     "NAME=b\n[K2HFTFUSE]\n",
		     7, "PSKFILE: /none: No such file");
}

/* The file of a shared key: what it may hold, and who may read it. */
TEST(test_tls_shared_key)
{
	static const struct {
		const char *line, *part;
		mode_t mode;
	} cases[] = {
		{GOOD_KEY, "run chmod 600", 0640},
		{GOOD_KEY, "run chmod 600", 0604},
		{"", "32 to 128 hexadecimal digits", 0600},
		{"me:0011223344556677\n", "32 to 128 hexadecimal digits", 0600},
		{"me:00112233445566778899aabbccddeefg\n", "32 to 128 hexadecimal digits", 0600},
		{"me:00112233445566778899aabbccddeeff0\n", "32 to 128 hexadecimal digits", 0600},
		{":00112233445566778899aabbccddeeff\n", "the identity in front of :", 0600},
		{GOOD_KEY GOOD_KEY, "more than one line", 0600},
	};
	char text[512], key_path[256];
	struct findings findings;
	size_t number;

	for (number = 0; number < sizeof(cases) / sizeof(cases[0]); number++) {
		key_file(key_path, cases[number].line, cases[number].mode);
		(void)snprintf(text, sizeof(text), "[GLOBAL]\nSSL=yes\nPSKFILE=%s\n" SENDER, key_path);
		expect_error(text, 3, cases[number].part);
		(void)unlink(key_path);
	}
	key_file(key_path, "00112233445566778899AABBCCDDEEFF", 0400);
	(void)snprintf(text, sizeof(text), "[GLOBAL]\nSSL=yes\nSSL_VERIFY_PEER=on\nPSKFILE=%s\n" SENDER, key_path);
	k2i_settings_free(check(text, &findings));
	assert_int_equal(findings.errors, 0);
	assert_non_null(strstr(findings.text, "3: note: SSL_VERIFY_PEER has no effect: with PSKFILE"));
	(void)snprintf(text, sizeof(text), "[GLOBAL]\nSSL=yes\nCAPATH=/etc\nPSKFILE=%s\n" SENDER, key_path);
	expect_error(text, 3, "CAPATH can't be used together with PSKFILE");
	(void)unlink(key_path);
}

TEST(test_not_available)
{
	expect_error("[SVRNODE]\nENDPOINTS=a:1\nNAME=a\nPORT=1\n[K2HFTFUSE]\n", 2, "ENDPOINTS is not available");
	expect_error("[K2HTPDTOR]\nK2HTPDTOR_FILE=a\n" SENDER, 2, "absolute");
	expect_error("[K2HTPDTOR]\nK2HTPDTOR_FILTER_TYPE=DELKEY,setall\n" SENDER, 2, "not available");
	expect_error("[GLOBAL]\nPORT=1\n[K2HFTFUSESVR]\nTYPE=trans\nK2HTYPE=file\nK2HFILE=/x\nK2HINIT=no\n", 3,
		     "needs STATEDIR");
	expect_error(SENDER "[K2HFTFUSE_RULE]\nTARGET=a\nPLUGIN=x\nPLUGINTRANS=yes\n", 5,
		     "PLUGINTRANS = yes needs PLUGIN and TRUNS = yes");
}

TEST(test_whole_refused)
{
	expect_error("", 0, "nothing to run");
	expect_error("[K2HFTFUSE]\n", 1, "needs an [SVRNODE]");
	expect_error("[K2HFTFUSE]\n[SVRNODE]\nPORT=1\n", 2, "[SVRNODE] needs NAME");
	expect_error("[K2HFTFUSE]\n[SVRNODE]\nNAME=a\n", 2, "needs PORT");
	expect_error("[K2HFTFUSE]\n[SVRNODE]\nNAME=a*\nPORT=1\n", 2, "must be one host");
	expect_error("[K2HFTFUSE]\n[SVRNODE]\nNAME=a*\nPORT=1\n", 2, "must be one host");
	expect_error("[K2HFTFUSE]\n[SVRNODE]\nNAME=a,b\nPORT=1\n", 2, "must be one host");
	expect_error("[K2HFTFUSE]\n[SVRNODE]\nNAME=a b\nPORT=1\n", 2, "must be one host");
	expect_error("PORT=1\n" SENDER, 1, "PORT comes before the first [SECTION]");
	expect_error("[K2HFTFUSE_RULE]\nTARGET=a\nDEFAULTALL=ALLOW\n", 1, "a rule needs a [K2HFTFUSE] section");
	expect_error("[K2HFTFUSESVR]\nFILE_BASEDIR=/x\n", 1, "needs PORT");
	expect_error("[GLOBAL]\nPORT=1\n[K2HFTFUSESVR]\n", 3, "needs FILE_BASEDIR");
	expect_error("[GLOBAL]\nCTLPORT=8020\n" RECEIVER, 2, "CTLPORT must be another port than PORT");
	expect_error("[GLOBAL]\nPORT=1\n[K2HFTFUSESVR]\nFILE_BASEDIR=\n", 4, "needs FILE_BASEDIR");
	expect_error("[GLOBAL]\nPORT=99999\n[K2HFTFUSESVR]\nFILE_BASEDIR=/x\n", 2, "use 1 to 65535");
	expect_error("[GLOBAL]\nPORT=1\n[K2HFTFUSESVR]\nFILE_BASEDIR=x\n", 4, "must be an absolute path");
	expect_error(RECEIVER "FILE_UNIFY=/a\n", 5, "without / in front");
	expect_error(RECEIVER "FILE_UNIFY=a/../b\n", 5, ".. is not allowed");
	expect_error(RECEIVER "FILE_UNIFY=a/\n", 5, "must name a file");
	expect_error(RECEIVER "STATEDIR=a\n", 5, "absolute path");
	expect_error(RECEIVER "WINDOW=4M\nFRAMEMAX=8M\n", 6, "FRAMEMAX must be at most WINDOW");
	k2i_settings_free(load(RECEIVER "WINDOW=4M\nFRAMEMAX=4M\n"));
	expect_error(SENDER "RINGSIZE=64K\nLINEMAX=40K\n", 6, "at most half of RINGSIZE");
	k2i_settings_free(load(SENDER "RINGSIZE=64K\nLINEMAX=32K\n"));
	expect_error(RECEIVER "GROUP=g\n", 5, "GROUP goes with USER");
	expect_error(RECEIVER "[SLVNODE]\nCUK=x\n", 5, "[SLVNODE] needs NAME");
	expect_error(RECEIVER "[SLVNODE]\nNAME=\n", 5, "[SLVNODE] needs NAME");
	/* The ports of the first receiver go before those of all. */
	expect_error("[SVRNODE]\nCTLPORT=8020\n" RECEIVER, 2, "CTLPORT must be another port than PORT");
	expect_error("[GLOBAL]\nCTLPORT=1\n[SVRNODE]\nPORT=1\n" RECEIVER, 2, "CTLPORT must be another port than PORT");
	k2i_settings_free(load("[SVRNODE]\nCTLPORT=1\n[GLOBAL]\nCTLPORT=8020\n" RECEIVER));
	k2i_settings_free(load("[SVRNODE]\nPORT=1\n[GLOBAL]\nCTLPORT=8020\n" RECEIVER));
}

TEST(test_rules_refused)
{
	char long_name[400];

#define RULE SENDER "[K2HFTFUSE_RULE]\nDEFAULTALL=ALLOW\n"
#define RULE_DIR SENDER "[K2HFTFUSE_RULE_DIR]\nDEFAULTALL=ALLOW\n"
	expect_error(RULE, 5, "needs TARGET");
	expect_error(RULE "TARGET=/\n", 5, "needs TARGET");
	expect_error(RULE_DIR "[K2HFTFUSE_RULE_DIR]\nTARGET=/\n", 7,
		     "TARGET = / clashes with the rule of line 5 for /");
	expect_error(RULE "TARGET=a/../b\n", 7, "TARGET = a/../b: .. is not allowed");
	expect_error(RULE "TARGET=..\n", 7, ".. is not allowed");
	expect_error(RULE "TARGET=a\nOUTPUTFILE=/log/\n", 5, "must name a file");
	expect_error(RULE "TARGET=a\n[K2HFTFUSE_RULE]\nTARGET=/a\nDEFAULTALL=ALLOW\n", 8,
		     "TARGET = a clashes with the rule of line 5 for a");
	expect_error(RULE "TARGET=a\n[K2HFTFUSE_RULE_DIR]\nTARGET=a/b\nDEFAULTALL=ALLOW\n", 8, "clashes");
	expect_error(RULE_DIR "TARGET=a/b\n[K2HFTFUSE_RULE]\nTARGET=a\nDEFAULTALL=ALLOW\n", 8, "clashes");
	/* A name that most orders have between another and those below that. */
	expect_error(RULE "TARGET=a\nDEFAULTALL=ALLOW\n[K2HFTFUSE_RULE]\nTARGET=a.b\nDEFAULTALL=ALLOW\n"
			  "[K2HFTFUSE_RULE_DIR]\nTARGET=a/b\nDEFAULTALL=ALLOW\n",
		     12, "TARGET = a/b clashes with the rule of line 5 for a");
	expect_error(RULE "TARGET=.k2hft-stat\n", 5, "TARGET = .k2hft-stat is a name that k2hftfuse has for itself");
	expect_error(RULE_DIR "TARGET=/.k2hft-ring/a\n", 5, "has for itself");
	expect_error(RULE "TRUNS=on\nTARGET=.k2hft/ledger\n", 5, "in .k2hft, which the receiver keeps for itself");
	expect_error(RULE_DIR "TRUNS=on\nTARGET=.k2hft\n", 5, "in .k2hft, which the receiver keeps for itself");
#define PARTS_10 "a/b/c/d/e/f/g/h/i/j/"
	expect_error(RULE "TRUNS=on\nTARGET=" PARTS_10 PARTS_10 PARTS_10 "1/2/3\n", 5, "more than 32 parts");
	expect_error(RULE_DIR "TRUNS=on\nTARGET=" PARTS_10 PARTS_10 PARTS_10 "1/2\n", 5, "more than 32 parts");
	(void)snprintf(long_name, sizeof(long_name), RULE "TARGET=a/%0256d\n", 1);
	expect_error(long_name, 7, "a name of more than 255 bytes");
	k2i_settings_free(load(RULE "TRUNS=on\nTARGET=" PARTS_10 PARTS_10 PARTS_10 "1/2\n"));
	k2i_settings_free(load(RULE "TARGET=.k2hft/" PARTS_10 PARTS_10 PARTS_10 "1/2\n"));
	k2i_settings_free(load(RULE_DIR "TRUNS=on\nTARGET=.k2hft-stats\n"));
	expect_error("[SVRNODE]\nNAME=a\nPORT=1\n[K2HFTFUSE]\nBINTRANS=yes\n[K2HFTFUSE_RULE]\nTARGET=a\n"
		     "DEFAULTALL=ALLOW\nDENY=x\n",
		     9, "can't be used with BINTRANS");
	expect_error(
		"[SVRNODE]\nNAME=a\nPORT=1\n[K2HFTFUSE]\nBINTRANS=yes\nWRITEMODE=cached\n[K2HFTFUSE_RULE]\nTARGET=a\n"
		"DEFAULTALL=ALLOW\n",
		6, "WRITEMODE = cached is not possible with BINTRANS");
	expect_error("[SVRNODE]\nNAME=a\nPORT=1\n[K2HFTFUSE]\nBINTRANS=yes\n[K2HFTFUSE_RULE]\nTARGET=a\n"
		     "DEFAULTALL=ALLOW\nWRITEMODE=cached\n",
		     6, "WRITEMODE = cached is not possible with BINTRANS");
	expect_error("[SVRNODE]\nNAME=a\nPORT=1\n[K2HFTFUSE]\nBINTRANS=yes\n[K2HFTFUSE_RULE]\nTARGET=a\n", 6,
		     "with BINTRANS = yes the rule needs DEFAULTALL = ALLOW");
#undef RULE
#undef RULE_DIR
}

TEST(test_rules_nested)
{
	k2i_settings_free(load(SENDER "[K2HFTFUSE_RULE_DIR]\nTARGET=/\n[K2HFTFUSE_RULE_DIR]\nTARGET=a\n"
				      "[K2HFTFUSE_RULE_DIR]\nTARGET=a/b\n[K2HFTFUSE_RULE]\nTARGET=a/b/c\n"
				      "[K2HFTFUSE_RULE]\nTARGET=a/bb\n[K2HFTFUSE_RULE]\nTARGET=ab\n"
				      "[K2HFTFUSE_RULE]\nTARGET=abc\n"));
}

TEST(test_all_errors_come)
{
	struct findings findings;

	k2i_settings_free(check("[K2HFTFUSE]\nRINGSIZ=1\nK2HTYPE=x\n[X]\nA=1\n", &findings));
	assert_string_equal(
		findings.text,
		"2: error: unknown key RINGSIZ in [K2HFTFUSE]; did you mean RINGSIZE?\n"
		"3: error: K2HTYPE = x is not known; use one of mem, temp, file, memory, m, temporary, t, f\n"
		"4: note: [X] has no effect: it is a section of another program\n"
		"1: error: [K2HFTFUSE] needs an [SVRNODE] with NAME: the receiver\n");
}

TEST(test_without_effect)
{
	struct findings findings;

	k2i_settings_free(check(SENDER "RINGSIZE=1M\nRINGSIZE=2M\nK2HMAXELE=x\n[K2HFTFUSE_RULE]\nTARGET=a\nDENY=x\n"
				       "[SVRNODE]\nNAME=b\nPORT=1\n[K2HFTFUSE_RULE]\nTARGET=b\nALLOW=x\n",
				&findings));
	assert_int_equal(findings.errors, 0);
	assert_string_equal(findings.text,
			    "5: note: RINGSIZE has no effect: line 6 says it again\n"
			    "7: note: K2HMAXELE has no effect: there is no K2HASH: RINGSIZE sizes the queue\n"
			    "10: note: DENY has no effect: DEFAULTALL = DENY uses ALLOW only\n"
			    "8: note: the rule lets no record pass: DEFAULTALL = DENY and no ALLOW\n"
			    "14: note: what the rule lets pass goes nowhere: TRUNS = no and no OUTPUTFILE\n");
	k2i_settings_free(
		check(SENDER "[K2HFTFUSE_RULE]\nTARGET=a\nTRUNS=on\nDEFAULTALL=ALLOW\nDENY=x\nDENY=\n", &findings));
	assert_string_equal(findings.text, "10: note: the rule lets no record pass: an empty DENY matches every one\n");
	k2i_settings_free(check(SENDER
				"[K2HFTFUSE_RULE]\nTARGET=a\nTRUNS=on\nALLOW=a.*b\nALLOW=\"a.*b\"\nALLOW='\"a.*\"'\n",
				&findings));
	assert_string_equal(findings.text, "8: note: a.*b is a text here, not a regular expression: that needs double "
					   "quotes\n");
	k2i_settings_free(check(RECEIVER "TRANSCONF=/x\n", &findings));
	assert_string_equal(findings.text, "5: note: TRANSCONF has no effect: TYPE has no trans\n");
	k2i_settings_free(check(RECEIVER "FORWARD_TAG=x\nRINGSIZE=64M\n", &findings));
	assert_string_equal(findings.text, "5: note: FORWARD_TAG has no effect: TYPE has no forward\n"
					   "6: note: RINGSIZE has no effect: TYPE has no trans\n");
	k2i_settings_free(check(RECEIVER "TYPE=t\nFORMAT=%L\n", &findings));
	assert_string_equal(findings.text, "6: note: FORMAT has no effect: TYPE has no file\n");
}

/* By default, which is K2HFTFUSE's, a file that was to keep records is started afresh. */
TEST(test_queue_started_afresh)
{
	struct findings findings;

#define QUEUE SENDER "K2HTYPE=file\nK2HFILE=/q\n"
#define RULE "[K2HFTFUSE_RULE]\nTARGET=a\nTRUNS=on\nALLOW=\n"
	k2i_settings_free(check(QUEUE RULE, &findings));
	assert_string_equal(findings.text, "5: note: each start discards what waits in K2HFILE; set K2HINIT = no to "
					   "have it sent, or yes if that is meant\n");
	k2i_settings_free(check(QUEUE "K2HINIT=yes\n" RULE, &findings));
	assert_string_equal(findings.text, "");
#undef QUEUE
#undef RULE
}

/* Sections that are read as one, though they stand apart. */
TEST(test_said_again)
{
	struct findings findings;

	k2i_settings_free(check("[GLOBAL]\nPORT=1\nCTLPORT=2\n" SENDER "[K2HFTFUSE_RULE]\nTARGET=a\nTRUNS=on\nALLOW=\n"
				"[K2HFTFUSE_RULE]\nTARGET=b\nTRUNS=on\nALLOW=\n[GLOBAL]\nPORT=3\n",
				&findings));
	assert_int_equal(findings.errors, 0);
	assert_string_equal(findings.text, "2: note: PORT has no effect: line 17 says it again\n");
}

/* Nor is it told of keys that do nothing. A key that an included file repeats is reported in that file. */
TEST(test_said_in_vain)
{
	struct findings findings;
	char text[1024], included[256];

#define RULE "[K2HFTFUSE_RULE]\nTARGET=a\nTRUNS=on\nALLOW=\n"
	k2i_settings_free(check("[K2HTPDTOR]\nK2HTPDTOR_FILTER_TYPE=\n"
				"K2HTPDTOR_FILTER_TYPE=\n" SENDER RULE,
				&findings));
	assert_string_equal(findings.text, "");
	write_file(SENDER "RINGSIZE=1M\nRINGSIZE=2M\n" RULE);
	(void)snprintf(included, sizeof(included), "%s", path);
	(void)snprintf(text, sizeof(text), "INCLUDE %s\n", included);
	k2i_settings_free(check(text, &findings));
	assert_int_equal(unlink(included), 0);
	assert_string_equal(findings.text, "5: note: RINGSIZE has no effect: line 6 says it again\n");
#undef RULE
}

TEST(test_json)
{
	struct findings findings = {.bytes = 0};
	struct k2i_settings *settings;

	/* A shell or fstab can have left the backslash. */
	assert_int_equal(k2i_settings_check(" \\{\"GLOBAL\": {\"PORT\": 0}}", keep, &findings, &settings), 2);
	assert_string_equal(settings->file, "(JSON)");
	assert_non_null(strstr(findings.text, "1: error: PORT = 0 is out of range"));
	k2i_settings_free(settings);
}

TEST(test_load_gives_the_first)
{
	struct k2i_settings *settings = NULL;
	char message[512], wanted[512];

	write_file("[K2HFTFUSE]\nA=1\nB=1\n");
	assert_int_equal(k2i_settings_load(path, &settings, message, sizeof(message)), -EINVAL);
	assert_null(settings);
	(void)snprintf(wanted, sizeof(wanted), "%s:2: unknown key A in [K2HFTFUSE]", path);
	assert_string_equal(message, wanted);
	(void)unlink(path);
	/* A warning is not it; a fault of the whole file has no line. */
	write_file("[GLOBAL]\nK2HMAXELE=1\nB=1\n" RECEIVER);
	assert_int_equal(k2i_settings_load(path, &settings, message, sizeof(message)), -EINVAL);
	(void)snprintf(wanted, sizeof(wanted), "%s:3: unknown key B in [GLOBAL]", path);
	assert_string_equal(message, wanted);
	(void)unlink(path);
	write_file("");
	assert_int_equal(k2i_settings_load(path, &settings, message, sizeof(message)), -EINVAL);
	(void)snprintf(wanted, sizeof(wanted), "%s: neither [K2HFTFUSE] nor", path);
	assert_memory_equal(message, wanted, strlen(wanted));
	(void)unlink(path);
	assert_int_equal(k2i_settings_load("/nonexistent/x", &settings, message, sizeof(message)), -ENOENT);
	assert_string_equal(message, "/nonexistent/x: No such file or directory");
	assert_int_equal(k2i_settings_load("/nonexistent/x.yaml", &settings, message, sizeof(message)), -ENOENT);
	assert_string_equal(message, "/nonexistent/x.yaml: No such file or directory");
	assert_null(settings);
}

static char *print(const struct k2i_settings *settings)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *output = open_memstream(&text, &bytes);

	assert_non_null(output);
	assert_int_equal(k2i_settings_print(settings, output), 0);
	assert_int_equal(fclose(output), 0);
	return text;
}

TEST(test_print_reads_back)
{
	struct k2i_settings *settings =
		load("[GLOBAL]\nPORT=1\n[SVRNODE]\nNAME=b\n[K2HFTFUSE]\nRINGSIZE=3000000\nLINEMAX=1000\n"
		     "[K2HFTFUSE_RULE]\nTARGET='a # b'\nTRUNS=on\nALLOW= \"x\\\"\", \"$1\"\nALLOW=a\\\\b\nALLOW=c\\ \n"
		     "[K2HFTFUSE_RULE_DIR]\nTARGET=/\nDEFAULTALL=allow\nOUTPUTFILE=/a/\n"
		     "[K2HFTFUSESVR]\nFILE_BASEDIR=\"/a\\\"'#b\"\nFORMAT=\"\\\"%L\\\\\\n # \"\nFILE_UNIFY=x\n");
	char *first = print(settings), *second;
	struct k2i_settings *again = load(first);

	second = print(again);
	assert_string_equal(first, second);
	assert_string_equal(settings->format, again->format);
	assert_string_equal(settings->format, "\"%L\\\\n # ");
	assert_string_equal(settings->base_directory, again->base_directory);
	assert_string_equal(settings->rules[0].target, again->rules[0].target);
	assert_string_equal(settings->rules[0].allow[0].text, again->rules[0].allow[0].text);
	assert_string_equal(settings->rules[0].allow[2].text, "c\\ ");
	assert_non_null(strstr(first, "LINEMAX = 1000  # bytes; default 1M\n"));
	assert_non_null(strstr(first, "# K2HFILE is not set\n"));
	free(first);
	free(second);
	k2i_settings_free(settings);
	k2i_settings_free(again);
}

/* Each line of the table: nine fields, the default within the range. */
TEST(test_table)
{
	char *text = NULL, *line, *rest;
	size_t bytes = 0, fields, lines = 0;
	FILE *output = open_memstream(&text, &bytes);

	assert_non_null(output);
	assert_int_equal(k2i_settings_table_print(output), 0);
	assert_int_equal(fclose(output), 0);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		for (fields = 1; (line = strchr(line, '\t')); line++)
			fields++;
		assert_int_equal(fields, 9);
		lines++;
	}
	assert_int_equal(lines, k2i_settings_table_count);
	free(text);
}

TEST(test_table_names_once)
{
	size_t number;
	const struct k2i_setting *setting;

	for (number = 0; number < k2i_settings_table_count; number++) {
		setting = &k2i_settings_table[number];
		assert_ptr_equal(k2i_setting_find(setting->section, setting->name), setting);
		assert_true(strlen(setting->help) > 10);
	}
}

TEST(test_line_limit_follows_ring)
{
	struct k2i_settings *settings = load(SENDER "RINGSIZE=64K\n");

	assert_int_equal(settings->record_bytes_max, 32768);
	k2i_settings_free(settings);
}
