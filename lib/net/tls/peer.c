/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "net/tls/state.h"

#define NAME_ROOM 256u /* a name of the DNS has 253 bytes at most */

bool k2i_tls_peer_certified(const struct k2i_tls *tls)
{
	/* With a shared key, or where no certificate is asked for, there is none to look at. */
	return tls->established && SSL_get0_peer_certificate(tls->ssl) &&
	       SSL_get_verify_result(tls->ssl) == X509_V_OK && (SSL_get_verify_mode(tls->ssl) & SSL_VERIFY_PEER);
}

/* A text with a NUL in it is a trick. */
static bool text_take(const ASN1_STRING *text, char name[NAME_ROOM])
{
	const char *bytes = text ? (const char *)ASN1_STRING_get0_data(text) : NULL;
	size_t length = text ? (size_t)ASN1_STRING_length(text) : 0;

	if (!bytes || length == 0 || length >= NAME_ROOM || memchr(bytes, '\0', length))
		return false;
	memcpy(name, bytes, length);
	name[length] = '\0';
	return true;
}

static bool alternative_take(const GENERAL_NAME *alternative, char name[NAME_ROOM])
{
	const ASN1_OCTET_STRING *address;
	int family;

	if (alternative->type == GEN_DNS)
		return text_take(alternative->d.dNSName, name);
	if (alternative->type != GEN_IPADD)
		return false;
	address = alternative->d.iPAddress;
	family = ASN1_STRING_length(address) == (int)sizeof(struct in_addr) ? AF_INET : AF_INET6;
	if (family == AF_INET6 && ASN1_STRING_length(address) != (int)sizeof(struct in6_addr))
		return false;
	return inet_ntop(family, ASN1_STRING_get0_data(address), name, NAME_ROOM);
}

/* As for servers: the subject's common name counts only where there is no alternative at all. */
static bool subject_take(X509 *certificate, char name[NAME_ROOM])
{
	const X509_NAME *subject = X509_get_subject_name(certificate);
	int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);

	return at >= 0 && text_take(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)), name);
}

/* In one pass: a certificate can have thousands of names. */
bool k2i_tls_peer_is(const struct k2i_tls *tls, bool (*is)(void *argument, const char *name), void *argument)
{
	X509 *certificate = SSL_get0_peer_certificate(tls->ssl);
	GENERAL_NAMES *alternatives;
	char name[NAME_ROOM];
	bool found = false;
	int index;

	if (!certificate)
		return false;
	alternatives = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
	for (index = 0; !found && index < sk_GENERAL_NAME_num(alternatives); index++)
		found = alternative_take(sk_GENERAL_NAME_value(alternatives, index), name) && is(argument, name);
	if (!alternatives)
		found = subject_take(certificate, name) && is(argument, name);
	GENERAL_NAMES_free(alternatives);
	ERR_clear_error();
	return found;
}
