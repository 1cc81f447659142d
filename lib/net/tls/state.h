/* SPDX-License-Identifier: MIT */
#ifndef K2I_NET_TLS_STATE_H
#define K2I_NET_TLS_STATE_H

#include <stdatomic.h>

#include <openssl/ssl.h>

#include "net/tls/tls.h"

/* Declarations that the files of lib/net/tls share. */

#define K2I_TLS_KEY_RECORDS_MAX (UINT64_C(1) << 22)
#define K2I_TLS_CONNECTION_RECORDS_MAX (UINT64_C(1) << 24) /* TLS 1.2: its keys last for the connection */
#define K2I_TLS_IDENTITY_BYTES_MAX 128u
#define K2I_TLS_SHARED_KEY_BYTES_MIN 16u
#define K2I_TLS_SHARED_KEY_BYTES_MAX 64u
#define K2I_TLS_HELLO_HEADER_BYTES 9u /* of a record, and of the message in it */

struct k2i_tls_shared_key {
	char identity[K2I_TLS_IDENTITY_BYTES_MAX + 1];
	unsigned char key[K2I_TLS_SHARED_KEY_BYTES_MAX];
	size_t key_bytes; /* 0: none */
};

struct k2i_tls_context {
	atomic_uint holders;
	SSL_CTX *ssl;
	bool server;
	struct k2i_tls_shared_key shared;
};

struct k2i_tls {
	struct k2i_tls_context *context;
	SSL *ssl;
	int descriptor;
	bool established, ended;
	bool more;             /* the last read left bytes */
	bool peer_closed;      /* the socket's end was read */
	size_t read_left;      /* that this call may take from the socket */
	int error;             /* -errno of the socket, or of TLS; 0: none. It stays */
	unsigned char *output; /* records that wait for the socket */
	size_t output_sent, output_bytes, output_room;
	uint64_t key_records;                            /* written with the key of now */
	unsigned char hello[K2I_TLS_HELLO_HEADER_BYTES]; /* of a client, its first bytes */
	size_t hello_bytes;
	char reason[256];
};

/* key.c: says so in the problem. Returns -EINVAL. */
int k2i_tls_wrong(struct k2i_tls_problem *problem, enum k2i_tls_part part, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The file of a shared key. -EINVAL with the problem's text. */
int k2i_tls_shared_key_read(const char *file, struct k2i_tls_shared_key *shared, struct k2i_tls_problem *problem);
/* A session that stands for the key, for OpenSSL; NULL: no memory. */
SSL_SESSION *k2i_tls_shared_key_session(SSL *ssl, const struct k2i_tls_shared_key *shared);

/* reason.c: fills `reason` from what OpenSSL says about a failure now. */
void k2i_tls_reason_find(struct k2i_tls *tls);

/* socket.c: the socket as OpenSSL's source and drain. NULL: no memory. */
BIO *k2i_tls_socket(struct k2i_tls *tls);

#endif
