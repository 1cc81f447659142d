/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "net/tls/state.h"

/* With forward secrecy, and ciphers that modern processors are fast at, the fastest first. */
#define CIPHERS_1_2 "ECDHE+AESGCM:ECDHE+CHACHA20"
#define CIPHERS_1_3 "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
#define CIPHERS_SHARED_KEY "TLS_AES_128_GCM_SHA256" /* as key.c has it */

/*
 * Several records by one recv(2). Such a buffer is there only while it holds something: one that malloc gives back to the
 * system each time, from 64 KiB on, costs more than the calls that it saves.
 */
#define READ_BUFFER_BYTES ((size_t)32 * 1024)

/* The limit of a client's certificates: a server makes room for them when it hears how long they are. */
#define CERTIFICATES_BYTES_MAX (32 * 1024)

/* The first error is the cause; the last is often only "PEM lib". */
static const char *library_reason(void)
{
	const char *text = ERR_reason_error_string(ERR_peek_error());

	return text ? text : "it can't be used";
}

/* The message has the system's own text of an error; OpenSSL words it otherwise. */
static int readable(struct k2i_tls_problem *problem, enum k2i_tls_part part, const char *file)
{
	int descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat about = {0};

	if (descriptor < 0)
		return k2i_tls_wrong(problem, part, "%s: %s", file, strerror(errno));
	(void)fstat(descriptor, &about);
	(void)close(descriptor);
	return S_ISDIR(about.st_mode) ? k2i_tls_wrong(problem, part, "%s: %s", file, strerror(EISDIR)) : 0;
}

/* A daemon has nobody to ask for a passphrase. */
static int no_passphrase(char *buffer, int room, int writing, void *argument)
{
	(void)buffer;
	(void)room;
	(void)writing;
	(void)argument;
	return -1;
}

/*
 * OpenSSL opens files without O_CLOEXEC: a program that another thread executes meanwhile would have the key file open.
 */
static EVP_PKEY *private_key_read(const char *file)
{
	FILE *stream = fopen(file, "re");
	EVP_PKEY *key = stream ? PEM_read_PrivateKey(stream, NULL, no_passphrase, NULL) : NULL;

	if (stream)
		(void)fclose(stream);
	return key;
}

static bool private_key_use(struct k2i_tls_context *context, const char *file)
{
	EVP_PKEY *key = private_key_read(file);
	bool used = key && SSL_CTX_use_PrivateKey(context->ssl, key) == 1;

	EVP_PKEY_free(key);
	return used;
}

static int certificate_use(struct k2i_tls_context *context, const struct k2i_tls_settings *settings,
			   struct k2i_tls_problem *problem)
{
	const char *certificate = settings->certificate, *private_key = settings->private_key;
	int error = readable(problem, K2I_TLS_CERTIFICATE, certificate);

	if (error == 0)
		error = readable(problem, K2I_TLS_PRIVATE_KEY, private_key);
	if (error)
		return error;
	if (SSL_CTX_use_certificate_chain_file(context->ssl, certificate) != 1)
		return k2i_tls_wrong(problem, K2I_TLS_CERTIFICATE, "%s is not a certificate in PEM form: %s",
				     certificate, library_reason());
	if (private_key_use(context, private_key))
		return 0;
	if (ERR_GET_LIB(ERR_peek_last_error()) == ERR_LIB_X509 &&
	    ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_VALUES_MISMATCH)
		return k2i_tls_wrong(problem, K2I_TLS_PRIVATE_KEY, "%s is not the private key of %s", private_key,
				     certificate);
	return k2i_tls_wrong(problem, K2I_TLS_PRIVATE_KEY, "%s is not a private key in PEM form without passphrase",
			     private_key);
}

/*
 * OpenSSL finds a certificate by the name that its hash makes, and says nothing when a directory has no such names, or can't
 * be read. 1 it has one, 0 it has none; -errno.
 */
static int has_hashed_names(const char *directory)
{
	DIR *opened = opendir(directory);
	const struct dirent *entry;
	bool found = false;
	size_t at;

	if (!opened)
		return -errno;
	while (!found && (entry = readdir(opened)) != NULL) {
		for (at = 0; at < 8 && isxdigit((unsigned char)entry->d_name[at]); at++)
			;
		found = at == 8 && entry->d_name[at] == '.';
	}
	(void)closedir(opened);
	return found;
}

static int directory_use(struct k2i_tls_context *context, const char *directory, struct k2i_tls_problem *problem)
{
	int found = has_hashed_names(directory);

	if (found < 0)
		return k2i_tls_wrong(problem, K2I_TLS_AUTHORITY, "%s: %s", directory, strerror(-found));
	if (!found)
		return k2i_tls_wrong(problem, K2I_TLS_AUTHORITY,
				     "%s has no certificate under the name of its hash; run openssl rehash %s",
				     directory, directory);
	return SSL_CTX_load_verify_dir(context->ssl, directory) == 1 ? 0 : -ENOMEM;
}

static bool readable_as(const char *environment, const char *otherwise)
{
	const char *path = getenv(environment);

	/* A list of directories is not looked through. */
	return access(path ? path : otherwise, R_OK) == 0 || (path && strchr(path, ':'));
}

bool k2i_tls_system_trusts(void)
{
	return readable_as(X509_get_default_cert_file_env(), X509_get_default_cert_file()) ||
	       readable_as(X509_get_default_cert_dir_env(), X509_get_default_cert_dir());
}

static int authority_use(struct k2i_tls_context *context, const char *authority, struct k2i_tls_problem *problem)
{
	struct stat about;

	if (!authority)
		return SSL_CTX_set_default_verify_paths(context->ssl) == 1 ? 0 : -ENOMEM;
	if (stat(authority, &about) < 0)
		return k2i_tls_wrong(problem, K2I_TLS_AUTHORITY, "%s: %s", authority, strerror(errno));
	if (S_ISDIR(about.st_mode))
		return directory_use(context, authority, problem);
	if (readable(problem, K2I_TLS_AUTHORITY, authority))
		return -EINVAL;
	if (SSL_CTX_load_verify_file(context->ssl, authority) == 1)
		return 0;
	return k2i_tls_wrong(problem, K2I_TLS_AUTHORITY, "%s has no certificate in PEM form: %s", authority,
			     library_reason());
}

static int shared_key_offer(SSL *ssl, const EVP_MD *digest, const unsigned char **identity, size_t *identity_bytes,
			    SSL_SESSION **session)
{
	const struct k2i_tls_context *context = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));

	(void)digest; /* the only suite that is offered has the key's */
	*session = k2i_tls_shared_key_session(ssl, &context->shared);
	if (!*session)
		return 0;
	*identity = (const unsigned char *)context->shared.identity;
	*identity_bytes = strlen(context->shared.identity);
	return 1;
}

static int shared_key_find(SSL *ssl, const unsigned char *identity, size_t identity_bytes, SSL_SESSION **session)
{
	const struct k2i_tls_context *context = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));

	*session = NULL;
	if (identity_bytes != strlen(context->shared.identity) ||
	    memcmp(identity, context->shared.identity, identity_bytes) != 0)
		return 1; /* there is no certificate to go on with, so that the handshake fails */
	*session = k2i_tls_shared_key_session(ssl, &context->shared);
	return *session != NULL;
}

/*
 * Both sides prove that they have it. A client trusts no certificate then, and a server has none, so that nothing but
 * the key makes a connection.
 */
static int shared_key_use(struct k2i_tls_context *context, const char *file, struct k2i_tls_problem *problem)
{
	int error = k2i_tls_shared_key_read(file, &context->shared, problem);

	if (error)
		return error;
	if (SSL_CTX_set_min_proto_version(context->ssl, TLS1_3_VERSION) != 1 ||
	    SSL_CTX_set_ciphersuites(context->ssl, CIPHERS_SHARED_KEY) != 1)
		return -ENOMEM;
	if (context->server)
		SSL_CTX_set_psk_find_session_callback(context->ssl, shared_key_find);
	else
		SSL_CTX_set_psk_use_session_callback(context->ssl, shared_key_offer);
	SSL_CTX_set_verify(context->ssl, context->server ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
	return 0;
}

static int certificates_use(struct k2i_tls_context *context, const struct k2i_tls_settings *settings,
			    struct k2i_tls_problem *problem)
{
	bool verify = settings->verify_peer || !settings->server;
	int error = 0;

	if (settings->certificate)
		error = certificate_use(context, settings, problem);
	if (error == 0 && verify)
		error = authority_use(context, settings->authority, problem);
	if (verify)
		SSL_CTX_set_verify(context->ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	return error;
}

static int context_prepare(struct k2i_tls_context *context, const struct k2i_tls_settings *settings)
{
	SSL_CTX *ssl = context->ssl;
	int version = settings->version_min == K2HFT_TLS_1_3 ? TLS1_3_VERSION : TLS1_2_VERSION;

	(void)SSL_CTX_set_app_data(ssl, context);
	/* Each connection is verified anew: nothing is remembered of earlier ones. */
	(void)SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
	(void)SSL_CTX_set_num_tickets(ssl, 0);
	/* k2hft-protocol(7) says itself where it ends. */
	(void)SSL_CTX_set_options(ssl, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
	(void)SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS);
	(void)SSL_CTX_set_read_ahead(ssl, 1);
	SSL_CTX_set_default_read_buffer_len(ssl, READ_BUFFER_BYTES);
	if (settings->server)
		(void)SSL_CTX_set_max_cert_list(ssl, CERTIFICATES_BYTES_MAX);
	SSL_CTX_set_default_passwd_cb(ssl, no_passphrase);
	return SSL_CTX_set_min_proto_version(ssl, version) == 1 && SSL_CTX_set_cipher_list(ssl, CIPHERS_1_2) == 1 &&
			       SSL_CTX_set_ciphersuites(ssl, CIPHERS_1_3) == 1
		       ? 0
		       : -ENOMEM;
}

int k2i_tls_context_open(const struct k2i_tls_settings *settings, struct k2i_tls_context **context,
			 struct k2i_tls_problem *problem)
{
	struct k2i_tls_context *made = calloc(1, sizeof(*made));
	int error = -ENOMEM;

	problem->text[0] = '\0';

	/* A program may end while the client's thread is at work, which OpenSSL's own tidying at exit would disturb. */
	if (!made || OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL) != 1) {
		free(made);
		return -ENOMEM;
	}
	ERR_clear_error();
	atomic_init(&made->holders, 1);
	made->server = settings->server;
	made->ssl = SSL_CTX_new(settings->server ? TLS_server_method() : TLS_client_method());
	if (made->ssl)
		error = context_prepare(made, settings);
	if (error == 0)
		error = settings->shared_key ? shared_key_use(made, settings->shared_key, problem)
					     : certificates_use(made, settings, problem);
	ERR_clear_error();
	if (error) {
		k2i_tls_context_release(made);
		return error;
	}
	*context = made;
	return 0;
}

struct k2i_tls_context *k2i_tls_context_hold(struct k2i_tls_context *context)
{
	/* relaxed: the caller holds the context already, so it sees all of it. */
	atomic_fetch_add_explicit(&context->holders, 1, memory_order_relaxed);
	return context;
}

void k2i_tls_context_release(struct k2i_tls_context *context)
{
	/* acq_rel: all that the other holders did is before the last one's free. */
	if (!context || atomic_fetch_sub_explicit(&context->holders, 1, memory_order_acq_rel) != 1)
		return;
	SSL_CTX_free(context->ssl);
	OPENSSL_cleanse(&context->shared, sizeof(context->shared));
	free(context);
}

void k2i_tls_at_end(void (*end)(void))
{
	(void)OPENSSL_atexit(end);
}

bool k2i_tls_private_key_exposed(const char *file)
{
	struct stat about;

	return stat(file, &about) == 0 && about.st_mode & (S_IRGRP | S_IWGRP | S_IRWXO);
}

const char *k2i_tls_certificate_untimely(const struct k2i_tls_context *context)
{
	const X509 *certificate = SSL_CTX_get0_certificate(context->ssl);

	if (!certificate)
		return NULL;
	/* 0: the time can't be read, which OpenSSL's verification refuses, too, but says otherwise. */
	if (X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0)
		return "has expired";
	return X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0 ? "is not valid yet" : NULL;
}

static uint64_t expires_s(const X509 *certificate)
{
	ASN1_TIME *begin = certificate ? ASN1_TIME_set(NULL, 0) : NULL;
	int days = 0, seconds = 0;

	/* ASN1_TIME_diff instead of timegm(3): a time_t can end in 2038. */
	if (begin && ASN1_TIME_diff(&days, &seconds, begin, X509_get0_notAfter(certificate)) != 1)
		days = seconds = 0;
	ASN1_TIME_free(begin);
	return days > 0 ? (uint64_t)days * 86400 + (uint64_t)seconds : 0;
}

uint64_t k2i_tls_certificate_expires_s(const struct k2i_tls_context *context)
{
	return expires_s(SSL_CTX_get0_certificate(context->ssl));
}

uint64_t k2i_tls_certificate_file_expires_s(const char *file)
{
	BIO *bio = BIO_new_file(file, "re");
	X509 *certificate = bio ? PEM_read_bio_X509_AUX(bio, NULL, no_passphrase, NULL) : NULL;
	uint64_t expires = expires_s(certificate);

	X509_free(certificate);
	(void)BIO_free(bio);
	ERR_clear_error();
	return expires;
}
