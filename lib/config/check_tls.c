/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/table.h"
#include "net/tls/tls.h"

/* Where the key is said that counts: in the section of a sender, of a receiver, or for all. */
static struct k2i_place place(const struct k2i_checker *checker, const char *key)
{
	static const enum k2i_section sections[] = {K2I_SECTION_SLVNODE, K2I_SECTION_SVRNODE, K2I_SECTION_GLOBAL};
	const struct k2i_setting *setting;
	struct k2i_place at = {0};

	if (checker->node)
		return checker->node->place;
	for (size_t number = 0; number < sizeof(sections) / sizeof(sections[0]) && !at.file; number++) {
		setting = k2i_setting_find(sections[number], key);
		if (setting && setting->effect == K2I_EFFECT_SETTING)
			at = k2i_settings_key_place(checker->settings, sections[number], key);
	}
	return at;
}

static void find(struct k2i_checker *checker, enum k2i_finding kind, const char *key, const char *text)
{
	k2i_checker_find(checker, kind, place(checker, key), "%s", text);
}

static void find_key(struct k2i_checker *checker, enum k2i_finding kind, const char *key, const char *text)
{
	char whole[256];

	(void)snprintf(whole, sizeof(whole), "%s %s", key, text);
	find(checker, kind, key, whole);
}

/* A path that is not absolute has its error already. */
static bool is_wrong(const char *path)
{
	return path && *path != '/';
}

/* A key that was said, so that somebody counts on it. */
static void find_if(struct k2i_checker *checker, const char *path, enum k2i_finding kind, const char *key,
		    const char *text)
{
	if (path && !is_wrong(path))
		find_key(checker, kind, key, text);
}

/* The names of one side's keys. */
struct side {
	const char *certificate, *private_key, *without_section;
	bool present;
};

static void check_off(struct k2i_checker *checker, const struct k2i_tls_settings *tls, const struct side *side)
{
	static const char text[] = "needs SSL = yes: without it nothing is encrypted or verified";

	find_if(checker, tls->certificate, K2I_FINDING_ERROR, side->certificate, text);
	find_if(checker, tls->private_key, K2I_FINDING_ERROR, side->private_key, text);
	if (tls->server != checker->settings->receiver_present)
		return; /* the rest is one for both sides */
	find_if(checker, tls->authority, K2I_FINDING_ERROR, "CAPATH", text);
	find_if(checker, tls->shared_key, K2I_FINDING_ERROR, "PSKFILE", text);
	if (tls->verify_peer)
		find_key(checker, K2I_FINDING_ERROR, "SSL_VERIFY_PEER", "= yes needs SSL = yes");
	if (place(checker, "SSL_MIN_VER").file)
		find_key(checker, K2I_FINDING_WITHOUT_EFFECT, "SSL_MIN_VER", "has no effect without SSL = yes");
}

static void check_pair(struct k2i_checker *checker, const struct k2i_tls_settings *tls, const struct side *side)
{
	char text[128];

	if (tls->shared_key) {
		find_if(checker, tls->certificate, K2I_FINDING_ERROR, side->certificate,
			"can't be used together with PSKFILE: choose one of them");
		return;
	}
	if (!tls->certificate == !tls->private_key)
		return;
	(void)snprintf(text, sizeof(text), "%s needs %s", tls->certificate ? side->certificate : side->private_key,
		       tls->certificate ? side->private_key : side->certificate);
	find(checker, K2I_FINDING_ERROR, tls->certificate ? side->certificate : side->private_key, text);
}

static void check_receiver(struct k2i_checker *checker, const struct k2i_tls_settings *tls)
{
	if (tls->shared_key)
		return;
	if (!tls->certificate && !tls->private_key)
		find(checker, K2I_FINDING_ERROR, "SSL",
		     "SSL = yes needs SERVER_CERT and SERVER_PRIKEY, or PSKFILE, in a receiver's file");
	if (tls->verify_peer && !tls->authority)
		find(checker, K2I_FINDING_ERROR, "SSL_VERIFY_PEER",
		     "SSL_VERIFY_PEER = yes needs CAPATH: the authorities of the senders' certificates");
	if (!tls->verify_peer && !checker->settings->fuse_present)
		find_if(checker, tls->authority, K2I_FINDING_WITHOUT_EFFECT, "CAPATH",
			"has no effect: without SSL_VERIFY_PEER = yes no sender is asked for a certificate");
}

static void check_sender(struct k2i_checker *checker, const struct k2i_tls_settings *tls)
{
	if (!tls->shared_key && tls->verify_peer && !tls->certificate && !tls->private_key)
		find(checker, K2I_FINDING_ERROR, "SSL_VERIFY_PEER",
		     "SSL_VERIFY_PEER = yes: the receiver wants a certificate, so SLAVE_CERT and SLAVE_PRIKEY are "
		     "needed");
}

static void check_time(struct k2i_checker *checker, const struct k2i_tls_context *context, const char *certificate,
		       const char *key)
{
	const char *untimely = k2i_tls_certificate_untimely(context);
	char text[600];

	if (!untimely)
		return;
	(void)snprintf(text, sizeof(text), "%s: %s %s by the clock of this host: the other side refuses it", key,
		       certificate, untimely);
	find(checker, K2I_FINDING_WARNING, key, text);
}

/* Reads them as the program will. */
static void check_files(struct k2i_checker *checker, const struct k2i_tls_settings *tls, const struct side *side)
{
	const char *const keys[] = {
		[K2I_TLS_AUTHORITY] = "CAPATH",
		[K2I_TLS_CERTIFICATE] = side->certificate,
		[K2I_TLS_PRIVATE_KEY] = side->private_key,
		[K2I_TLS_SHARED_KEY] = "PSKFILE",
	};
	struct k2i_tls_context *context = NULL;
	struct k2i_tls_problem problem;
	char text[600];
	int error;

	if (is_wrong(tls->authority) || is_wrong(tls->certificate) || is_wrong(tls->private_key) ||
	    is_wrong(tls->shared_key))
		return;
	error = k2i_tls_context_open(tls, &context, &problem);
	/* Memory that is short is no mistake of the file: who uses it is told. */
	if (error == 0) {
		check_time(checker, context, tls->certificate, side->certificate);
	} else if (error == -EINVAL) {
		(void)snprintf(text, sizeof(text), "%s: %s", keys[problem.part], problem.text);
		find(checker, K2I_FINDING_ERROR, keys[problem.part], text);
	}
	k2i_tls_context_release(context);
	if (!tls->private_key || !k2i_tls_private_key_exposed(tls->private_key))
		return;
	(void)snprintf(text, sizeof(text), "%s: other users have access to %s; run chmod 600 %s", side->private_key,
		       tls->private_key, tls->private_key);
	find(checker, K2I_FINDING_WARNING, side->private_key, text);
}

static void check_side(struct k2i_checker *checker, const struct k2i_tls_settings *tls, const struct side *side)
{
	int errors = checker->errors;

	if (!side->present) {
		find_if(checker, tls->certificate, K2I_FINDING_WITHOUT_EFFECT, side->certificate,
			side->without_section);
		find_if(checker, tls->private_key, K2I_FINDING_WITHOUT_EFFECT, side->private_key,
			side->without_section);
		return;
	}
	check_pair(checker, tls, side);
	if (tls->server)
		check_receiver(checker, tls);
	else
		check_sender(checker, tls);
	if (checker->errors == errors)
		check_files(checker, tls, side);
}

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* A receiver that is reached as the one before it has the same findings. */
static bool node_same(const struct k2i_settings *settings, const struct k2i_node *node)
{
	struct k2i_tls_settings one, other;

	return k2i_node_tls(settings, node, false, &one) == k2i_node_tls(settings, node - 1, false, &other) &&
	       one.verify_peer == other.verify_peer && same(one.authority, other.authority) &&
	       same(one.certificate, other.certificate) && same(one.private_key, other.private_key) &&
	       same(one.shared_key, other.shared_key);
}

static bool any_uses(const struct k2i_settings *settings)
{
	struct k2i_tls_settings tls;
	size_t number = 0;

	while (number < settings->server_count && !k2i_node_tls(settings, &settings->servers[number], false, &tls))
		number++;
	return number < settings->server_count;
}

/* Keys of GLOBAL are for another receiver, which uses them. */
static void check_off_alone(struct k2i_checker *checker, const struct k2i_tls_keys *keys)
{
	static const char text[] = "needs SSL = yes of its [SVRNODE]";

	find_if(checker, keys->sender_certificate, K2I_FINDING_ERROR, "SLAVE_CERT", text);
	find_if(checker, keys->sender_private_key, K2I_FINDING_ERROR, "SLAVE_PRIKEY", text);
	find_if(checker, keys->authority, K2I_FINDING_ERROR, "CAPATH", text);
	find_if(checker, keys->shared_key, K2I_FINDING_ERROR, "PSKFILE", text);
}

static void check_node(struct k2i_checker *checker, const struct k2i_node *node, bool server, const struct side *side)
{
	struct k2i_tls_settings tls;

	if (k2i_node_tls(checker->settings, node, server, &tls))
		check_side(checker, &tls, side);
	else if (!server && side->present && any_uses(checker->settings))
		check_off_alone(checker, &node->tls);
	else
		check_off(checker, &tls, side);
}

/* Off for all: the first one's findings are those of GLOBAL, too. */
static bool node_checked(const struct k2i_settings *settings, const struct k2i_node *node)
{
	const struct k2i_tls_keys *keys = &node->tls;

	return node_same(settings, node) || (!any_uses(settings) && !keys->authority && !keys->sender_certificate &&
					     !keys->sender_private_key && !keys->shared_key);
}

void k2i_settings_tls_check(struct k2i_checker *checker)
{
	const struct k2i_settings *settings = checker->settings;
	const struct side sender = {"SLAVE_CERT", "SLAVE_PRIKEY", "has no effect: the file has no [K2HFTFUSE]",
				    settings->fuse_present || !settings->receiver_present};
	const struct side receiver = {"SERVER_CERT", "SERVER_PRIKEY", "has no effect: the file has no [K2HFTFUSESVR]",
				      settings->receiver_present};
	struct k2i_tls_settings tls;

	check_node(checker, k2i_settings_node(settings, false), false, &sender);
	for (size_t number = 1; sender.present && number < settings->server_count; number++) {
		checker->node = &settings->servers[number];
		if (!node_checked(settings, checker->node))
			check_node(checker, checker->node, false, &sender);
	}
	checker->node = NULL;
	check_node(checker, k2i_settings_node(settings, true), true, &receiver);
	if (!k2i_settings_tls(settings, settings->receiver_present, &tls) || !tls.shared_key)
		return;
	find_if(checker, tls.authority, K2I_FINDING_ERROR, "CAPATH",
		"can't be used together with PSKFILE: choose one of them");
	if (tls.verify_peer)
		find_key(checker, K2I_FINDING_WITHOUT_EFFECT, "SSL_VERIFY_PEER",
			 "has no effect: with PSKFILE both sides are always verified");
}
