/* SPDX-License-Identifier: MIT */
#ifndef K2I_NET_TLS_TLS_H
#define K2I_NET_TLS_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <k2hft/tls.h>

/*
 * TLS between the bytes of k2hft-protocol(7) and a socket, for the client and the receiver; the files of
 * this folder alone know OpenSSL. Key material never gets into a message.
 */
struct k2i_tls_settings { /* paths of PEM files; NULL: none */
	bool server;
	bool verify_peer;      /* server: a client must show a certificate; a client verifies its server always */
	uint32_t version_min;  /* K2HFT_TLS_* */
	const char *authority; /* file, or directory of hashed names; NULL: a client trusts what the system trusts */
	const char *certificate, *private_key; /* the certificate can have its chain behind it */
	const char *shared_key;                /* instead of all three */
};

/* The fault of the files of one side. */
enum k2i_tls_part { K2I_TLS_AUTHORITY, K2I_TLS_CERTIFICATE, K2I_TLS_PRIVATE_KEY, K2I_TLS_SHARED_KEY };
struct k2i_tls_problem {
	enum k2i_tls_part part;
	char text[512]; /* names the file and says what to do */
};

/*
 * The files as they are now, for any number of connections of any threads. -EINVAL, with the problem, or -ENOMEM.
 * `settings` are not needed any more afterwards.
 */
struct k2i_tls_context;
int k2i_tls_context_open(const struct k2i_tls_settings *settings, struct k2i_tls_context **context,
			 struct k2i_tls_problem *problem);
/* The system has certificates that it trusts, or a list of directories that may hold some. */
bool k2i_tls_system_trusts(void);
struct k2i_tls_context *k2i_tls_context_hold(struct k2i_tls_context *context);
/* NULL is allowed. */
void k2i_tls_context_release(struct k2i_tls_context *context);
/* Has `end` called before OpenSSL takes itself apart, which it does in exit(3) if the program uses it, too. */
void k2i_tls_at_end(void (*end)(void));
/*
 * "has expired" or "is not valid yet", by this host's clock: the other side refuses the certificate then; NULL: valid.
 */
const char *k2i_tls_certificate_untimely(const struct k2i_tls_context *context);
/* When the certificate expires, in seconds since 1970; 0: there is none. */
uint64_t k2i_tls_certificate_expires_s(const struct k2i_tls_context *context);
/* The same of the certificate in that file, as it is now; 0: it can't be read. */
uint64_t k2i_tls_certificate_file_expires_s(const char *file);
/* Other users than the owner have access to that private key, which is worth a warning. */
bool k2i_tls_private_key_exposed(const char *file);

/*
 * A connection over a socket that stays the caller's. `host`: the name or address that a client's peer must have in
 * its certificate; NULL for a server. All calls return at once. -ENOMEM
 */
struct k2i_tls;
int k2i_tls_open(struct k2i_tls_context *context, int descriptor, const char *host, struct k2i_tls **tls);
void k2i_tls_free(struct k2i_tls *tls);

/* 0 done; -EAGAIN wait for the socket; others failed: k2i_tls_reason says why. */
int k2i_tls_handshake(struct k2i_tls *tls);

/*
 * certified: the peer has shown a certificate that was verified. peer_is: `is` returns true for a name or an address of
 * that certificate; it is asked for each in turn. An honest authority puts nobody else's names into it.
 */
bool k2i_tls_peer_certified(const struct k2i_tls *tls);
bool k2i_tls_peer_is(const struct k2i_tls *tls, bool (*is)(void *argument, const char *name), void *argument);

/* As k2i_transport_read and k2i_transport_write; bytes that were taken can wait for the socket. */
ssize_t k2i_tls_read(struct k2i_tls *tls, void *bytes, size_t room);
ssize_t k2i_tls_write(struct k2i_tls *tls, const struct iovec *pieces, int piece_count);
/* read has something although the socket may be quiet. */
bool k2i_tls_more(const struct k2i_tls *tls);
/* Bytes that wait for the socket; tries to send them: 1 none are left, 0 the socket is full, -errno. */
size_t k2i_tls_waiting(const struct k2i_tls *tls);
int k2i_tls_flush(struct k2i_tls *tls);
/* Tells the peer that nothing more comes, as far as the socket takes it. */
void k2i_tls_end(struct k2i_tls *tls);

/* Why it failed, and what to do; "" if it did not, or for a reason that errno tells. */
const char *k2i_tls_reason(const struct k2i_tls *tls);

/* A peer that begins with these bytes is a TLS client. */
bool k2i_tls_begins(const void *bytes, size_t byte_count);

#endif
