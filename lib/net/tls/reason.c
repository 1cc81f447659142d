/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include <openssl/err.h>
#include <openssl/x509.h>

#include "net/tls/state.h"

#define SHARED_KEY_DIFFERS "the shared keys differ: PSKFILE must hold the same line on both sides"

/* Handshakes that fail in practice: the text tells each side what to do. */
static const struct explanation {
	int reason;
	bool key_differs; /* with a shared key it means that */
	const char *client, *server;
} explanations[] = {
	{SSL_R_WRONG_VERSION_NUMBER, false,
	 "the receiver answers without TLS: it needs SSL = yes, or this side SSL = no", "it speaks no TLS"},
	{SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE, false, NULL,
	 "it shows no certificate: SSL_VERIFY_PEER = yes here wants SLAVE_CERT and SLAVE_PRIKEY there"},
	{SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED, false,
	 "the receiver wants a certificate of this host: set SLAVE_CERT and SLAVE_PRIKEY", NULL},
	{SSL_R_TLSV1_ALERT_UNKNOWN_CA, true,
	 "the receiver does not know the authority of this host's certificate: its CAPATH must have it",
	 "it does not know the authority of this receiver's certificate: its CAPATH must have it, or both need one "
	 "PSKFILE"},
	{SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED, false,
	 "the receiver refuses this host's certificate, which has expired: renew SLAVE_CERT",
	 "it refuses this receiver's certificate, which has expired: renew SERVER_CERT"},
	{SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, true, "the receiver refuses this host's certificate: see its log",
	 "it refuses this receiver's certificate: SERVER_CERT must be for the name that the sender connects to, and "
	 "valid by the clock of the sender"},
	{SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN, true, "the receiver refuses this host's certificate: see its log",
	 "it refuses this receiver's certificate: see its log"},
	{SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE, false, "the receiver refuses this host's certificate: see its log",
	 "it refuses this receiver's certificate: see its log"},
	{SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE, true,
	 "the receiver refuses the handshake: it may want a certificate (SLAVE_CERT), or a shared key (PSKFILE)",
	 "it refuses the handshake: see its log"},
	{SSL_R_NO_SHARED_CIPHER, true, NULL, "it has no cipher in common with this receiver"},
	{SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM, true, NULL,
	 "it has no kind of signature in common with this receiver's certificate"},
	{SSL_R_UNSUPPORTED_PROTOCOL, false, "the receiver's TLS is older than SSL_MIN_VER of this side",
	 "its TLS is older than SSL_MIN_VER"},
	{SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, false, "the receiver wants a later TLS: see its SSL_MIN_VER",
	 "it wants a later TLS: see its SSL_MIN_VER"},
	{SSL_R_BINDER_DOES_NOT_VERIFY, true, NULL, NULL},
	{SSL_R_EXCESSIVE_MESSAGE_SIZE, false, "the receiver's certificates are too long: SERVER_CERT has too many",
	 "its certificates have more than 32 KiB: SLAVE_CERT has too many"},
	{SSL_R_SSLV3_ALERT_ILLEGAL_PARAMETER, true,
	 "the receiver refuses the handshake: SLAVE_CERT may have more than 32 KiB, see its log", NULL},
	{SSL_R_TLSV1_ALERT_DECRYPT_ERROR, true, NULL, NULL},
	{SSL_R_CERTIFICATE_VERIFY_FAILED, true, NULL, NULL},
};

static const char *advice(long verified, bool server)
{
	switch (verified) {
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		return "it must be for the name or address that this side connects to";
	case X509_V_ERR_CERT_HAS_EXPIRED:
		return server ? "renew SLAVE_CERT of the sender" : "renew SERVER_CERT of the receiver";
	case X509_V_ERR_CERT_NOT_YET_VALID:
		return "compare the clocks of both hosts";
	default:
		return "CAPATH must have the certificate of its authority";
	}
}

static void verify_explain(struct k2i_tls *tls, long verified)
{
	bool server = tls->context->server;

	(void)snprintf(tls->reason, sizeof(tls->reason), "the %s's certificate is refused: %s; %s",
		       server ? "sender" : "receiver", X509_verify_cert_error_string(verified),
		       advice(verified, server));
}

static void code_explain(struct k2i_tls *tls, unsigned long code)
{
	const struct explanation *found = explanations, *end = found + sizeof(explanations) / sizeof(explanations[0]);
	const char *text = NULL, *library_text = ERR_reason_error_string(code);

	while (found < end && (ERR_GET_LIB(code) != ERR_LIB_SSL || found->reason != ERR_GET_REASON(code)))
		found++;
	if (found < end && found->key_differs && tls->context->shared.key_bytes)
		text = SHARED_KEY_DIFFERS;
	else if (found < end)
		text = tls->context->server ? found->server : found->client;
	if (text)
		(void)snprintf(tls->reason, sizeof(tls->reason), "%s", text);
	else
		(void)snprintf(tls->reason, sizeof(tls->reason), "TLS: %s",
			       library_text ? library_text : "it failed without a reason");
}

void k2i_tls_reason_find(struct k2i_tls *tls)
{
	/* The first is the cause, those behind it are what it led to. */
	unsigned long code = ERR_peek_error();
	long verified = SSL_get_verify_result(tls->ssl);

	if (ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) == SSL_R_CERTIFICATE_VERIFY_FAILED &&
	    !tls->context->shared.key_bytes && verified != X509_V_OK)
		verify_explain(tls, verified);
	else if (code)
		code_explain(tls, code);
	else if (tls->peer_closed && !tls->established)
		(void)snprintf(tls->reason, sizeof(tls->reason), "%s",
			       tls->context->server
				       ? "it ended the TLS handshake: see its log"
				       : "the receiver ended the TLS handshake: it may have SSL = no, see its log");
	ERR_clear_error();
}
