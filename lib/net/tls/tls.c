/* SPDX-License-Identifier: MIT */
#include "net/tls/tls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "base/address.h"
#include "net/tls/state.h"

/* Taken by one write, so that many records go by one send(2). */
#define WRITE_BYTES_MAX ((size_t)256 * 1024)

/*
 * Bytes that one call takes from the socket beyond those that it brings: OpenSSL goes on for as long as there are
 * records, and a peer can send without end such as bring none (new keys, a renegotiation that is refused) while others
 * wait.
 */
#define READ_EXTRA_BYTES_MAX ((size_t)32 * 1024)

#define RECORD_BYTES_MAX 16384u

/* The client's wanted host: a name is told to the peer (SNI), and name or address must stand in its certificate. */
static bool host_set(SSL *ssl, const char *host)
{
	size_t bytes = strlen(host);
	char *name;
	bool set;

	if (k2i_address_valid(host))
		return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
	/* The dot of a name that is not to be looked for in other domains is in no certificate. */
	name = strndup(host, bytes - (bytes > 1 && host[bytes - 1] == '.'));
	SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	set = name && SSL_set1_host(ssl, name) == 1 && SSL_set_tlsext_host_name(ssl, name) == 1;
	free(name);
	return set;
}

int k2i_tls_open(struct k2i_tls_context *context, int descriptor, const char *host, struct k2i_tls **tls)
{
	struct k2i_tls *opened = calloc(1, sizeof(*opened));
	BIO *socket;

	if (!opened)
		return -ENOMEM;
	opened->context = k2i_tls_context_hold(context);
	opened->descriptor = descriptor;
	opened->ssl = SSL_new(context->ssl);
	socket = opened->ssl ? k2i_tls_socket(opened) : NULL;
	if (socket)
		SSL_set_bio(opened->ssl, socket, socket);
	if (!socket || (host && !host_set(opened->ssl, host))) {
		ERR_clear_error();
		k2i_tls_free(opened);
		return -ENOMEM;
	}
	if (context->server)
		SSL_set_accept_state(opened->ssl);
	else
		SSL_set_connect_state(opened->ssl);
	*tls = opened;
	return 0;
}

void k2i_tls_free(struct k2i_tls *tls)
{
	if (!tls)
		return;
	SSL_free(tls->ssl);
	k2i_tls_context_release(tls->context);
	free(tls->output);
	free(tls);
}

/* The meaning of a call of OpenSSL that did not succeed: -EAGAIN, 0 the peer has ended, or for ever an error. */
static int outcome(struct k2i_tls *tls, int result)
{
	switch (SSL_get_error(tls->ssl, result)) {
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE:
		return -EAGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	default:
		k2i_tls_reason_find(tls);
		if (!tls->error)
			tls->error = tls->peer_closed && !tls->reason[0] ? -ECONNRESET : -EPROTO;
		return tls->error;
	}
}

int k2i_tls_handshake(struct k2i_tls *tls)
{
	int result, error = 0, flushed;

	if (tls->error)
		return tls->error;
	ERR_clear_error();
	tls->read_left = READ_EXTRA_BYTES_MAX;
	result = SSL_do_handshake(tls->ssl);
	if (result != 1)
		error = outcome(tls, result);
	if (result != 1 && error == 0) {
		k2i_tls_reason_find(tls);
		error = tls->error = -ECONNRESET;
	}
	/* Also when it failed: the peer is to know why. */
	flushed = k2i_tls_flush(tls);
	if (error == 0 && flushed < 0)
		error = tls->error = flushed;
	if (error == 0 && tls->context->shared.key_bytes && !SSL_session_reused(tls->ssl)) {
		(void)snprintf(tls->reason, sizeof(tls->reason), "the peer did not use the shared key");
		error = tls->error = -EPROTO;
	}
	if (error == 0) {
		tls->established = true;
		tls->more = true; /* the first bytes may have come together with the end of the handshake */
	}
	return error;
}

ssize_t k2i_tls_read(struct k2i_tls *tls, void *bytes, size_t room)
{
	size_t count = 0, got;
	int result, error = 0;

	tls->more = false;
	if (tls->error)
		return tls->error;
	ERR_clear_error();
	tls->read_left = READ_EXTRA_BYTES_MAX;
	while (count < room && error == 0) {
		result = SSL_read_ex(tls->ssl, (char *)bytes + count, room - count, &got);
		if (result == 1) {
			count += got;
			tls->read_left += got;
			continue;
		}
		error = outcome(tls, result);
		if (error == 0)
			break;
	}
	/* The rest behind those bytes, an end or an error too, is for the next call. */
	tls->more = count > 0 && (error != -EAGAIN || tls->read_left == 0);
	return count > 0 ? (ssize_t)count : error;
}

bool k2i_tls_more(const struct k2i_tls *tls)
{
	return tls->more;
}

/*
 * AES-GCM is sound for about 2^24 full records with one key, and another is made long before. TLS 1.2 can't, so that only a
 * new connection brings one.
 */
static int key_renew(struct k2i_tls *tls)
{
	if (SSL_version(tls->ssl) >= TLS1_3_VERSION) {
		(void)SSL_key_update(tls->ssl, SSL_KEY_UPDATE_NOT_REQUESTED);
		tls->key_records = 0;
		return 0;
	}
	if (tls->key_records < K2I_TLS_CONNECTION_RECORDS_MAX)
		return 0;
	(void)snprintf(tls->reason, sizeof(tls->reason),
		       "TLS 1.2 can't renew its key, which has been used enough: the next connection has another");
	return tls->error = -EPROTO;
}

/* Into the memory of socket.c, so that nothing but a lack of that can be in the way. */
static int piece_write(struct k2i_tls *tls, const struct iovec *piece, size_t limit, size_t *count)
{
	size_t bytes = piece->iov_len < limit ? piece->iov_len : limit, written;
	int result;

	if (bytes == 0)
		return 0;
	if (tls->key_records >= K2I_TLS_KEY_RECORDS_MAX && key_renew(tls))
		return tls->error;
	result = SSL_write_ex(tls->ssl, piece->iov_base, bytes, &written);
	if (result != 1) {
		result = outcome(tls, result);
		return result < 0 ? result : -EPIPE;
	}
	tls->key_records += written / RECORD_BYTES_MAX + 1;
	*count += written;
	return 0;
}

ssize_t k2i_tls_write(struct k2i_tls *tls, const struct iovec *pieces, int piece_count)
{
	size_t count = 0;
	int index, error = tls->error, flushed;

	if (error)
		return error;
	flushed = k2i_tls_flush(tls);
	if (flushed <= 0)
		return flushed < 0 ? flushed : -EAGAIN;
	ERR_clear_error();
	for (index = 0; index < piece_count && error == 0 && count < WRITE_BYTES_MAX; index++)
		error = piece_write(tls, &pieces[index], WRITE_BYTES_MAX - count, &count);
	if (error == 0)
		error = k2i_tls_flush(tls);
	/*
	 * Bytes that OpenSSL has taken can still reach the peer, if only when all ends: they count. The next call says
	 * what is wrong.
	 */
	return count > 0 || error >= 0 ? (ssize_t)count : error;
}

void k2i_tls_end(struct k2i_tls *tls)
{
	if (tls->established && !tls->error && !tls->ended) {
		ERR_clear_error();
		(void)SSL_shutdown(tls->ssl);
		ERR_clear_error();
	}
	tls->ended = true;
	(void)k2i_tls_flush(tls);
}

const char *k2i_tls_reason(const struct k2i_tls *tls)
{
	return tls->reason;
}

bool k2i_tls_begins(const void *bytes, size_t byte_count)
{
	static const unsigned char begin[] = {0x16, 0x03}; /* a handshake record, of SSL 3 or later */
	size_t compared = byte_count < sizeof(begin) ? byte_count : sizeof(begin);

	return compared > 0 && memcmp(bytes, begin, compared) == 0;
}
