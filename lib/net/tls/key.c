/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/crypto.h>
#include <openssl/err.h>

#include "net/tls/state.h"

#define IDENTITY_DEFAULT "k2hft"
/* TLS 1.3 ties a shared key to a hash: this suite's is SHA-256. */
static const unsigned char suite[] = {0x13, 0x01}; /* TLS_AES_128_GCM_SHA256 */

#define FILE_BYTES_MAX (K2I_TLS_IDENTITY_BYTES_MAX + 2 * K2I_TLS_SHARED_KEY_BYTES_MAX + 8)

int k2i_tls_wrong(struct k2i_tls_problem *problem, enum k2i_tls_part part, const char *format, ...)
{
	va_list arguments;

	problem->part = part;
	va_start(arguments, format);
	(void)vsnprintf(problem->text, sizeof(problem->text), format, arguments);
	va_end(arguments);
	ERR_clear_error();
	return -EINVAL;
}

/* The whole file, terminated. */
static int file_read(const char *file, char *text, size_t room, struct k2i_tls_problem *problem)
{
	int descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat about;
	ssize_t count = -1;

	if (descriptor < 0)
		return k2i_tls_wrong(problem, K2I_TLS_SHARED_KEY, "%s: %s", file, strerror(errno));
	if (fstat(descriptor, &about) < 0 || !S_ISREG(about.st_mode)) {
		(void)k2i_tls_wrong(problem, K2I_TLS_SHARED_KEY, "%s is not a file", file);
	} else if (about.st_mode & (S_IRWXG | S_IRWXO)) {
		(void)k2i_tls_wrong(problem, K2I_TLS_SHARED_KEY,
				    "%s: other users have access to the key; run chmod 600 %s", file, file);
	} else {
		count = read(descriptor, text, room - 1);
		if (count < 0)
			(void)k2i_tls_wrong(problem, K2I_TLS_SHARED_KEY, "%s: %s", file, strerror(errno));
	}
	(void)close(descriptor);
	if (count < 0)
		return -EINVAL;
	text[count] = '\0';
	if ((size_t)count == room - 1)
		return k2i_tls_wrong(problem, K2I_TLS_SHARED_KEY,
				     "%s is too long for a key; it has one line, IDENTITY:KEY or KEY", file);
	if (strlen(text) != (size_t)count)
		return k2i_tls_wrong(problem, K2I_TLS_SHARED_KEY, "%s is no text; it has one line, IDENTITY:KEY or KEY",
				     file);
	return 0;
}

/* False: not hexadecimal, or too short or long. */
static bool key_parse(const char *text, struct k2i_tls_shared_key *shared)
{
	size_t digits = strlen(text), at;
	int high, low;

	if (digits % 2 || digits / 2 < K2I_TLS_SHARED_KEY_BYTES_MIN || digits / 2 > K2I_TLS_SHARED_KEY_BYTES_MAX)
		return false;
	for (at = 0; at < digits / 2; at++) {
		high = OPENSSL_hexchar2int((unsigned char)text[2 * at]);
		low = OPENSSL_hexchar2int((unsigned char)text[2 * at + 1]);
		if (high < 0 || low < 0)
			return false;
		shared->key[at] = (unsigned char)(high << 4 | low);
	}
	shared->key_bytes = digits / 2;
	return true;
}

static bool identity_parse(const char *text, size_t bytes, struct k2i_tls_shared_key *shared)
{
	size_t at;

	if (bytes == 0 || bytes > K2I_TLS_IDENTITY_BYTES_MAX)
		return false;
	for (at = 0; at < bytes; at++) {
		if (text[at] <= ' ' || text[at] > '~')
			return false;
	}
	memcpy(shared->identity, text, bytes);
	shared->identity[bytes] = '\0';
	return true;
}

static int line_parse(const char *file, char *text, struct k2i_tls_shared_key *shared, struct k2i_tls_problem *problem)
{
	char *colon, *end = text + strcspn(text, "\r\n");

	if (end[strspn(end, "\r\n")])
		return k2i_tls_wrong(problem, K2I_TLS_SHARED_KEY,
				     "%s has more than one line; it has one, IDENTITY:KEY or KEY", file);
	*end = '\0';
	colon = strrchr(text, ':');
	if (colon ? !identity_parse(text, (size_t)(colon - text), shared)
		  : !identity_parse(IDENTITY_DEFAULT, strlen(IDENTITY_DEFAULT), shared))
		return k2i_tls_wrong(problem, K2I_TLS_SHARED_KEY,
				     "%s: the identity in front of : must be 1 to %u characters without blanks", file,
				     K2I_TLS_IDENTITY_BYTES_MAX);
	if (!key_parse(colon ? colon + 1 : text, shared))
		return k2i_tls_wrong(
			problem, K2I_TLS_SHARED_KEY,
			"%s: the key must be %u to %u hexadecimal digits; openssl rand -hex 32 makes a good one", file,
			2 * K2I_TLS_SHARED_KEY_BYTES_MIN, 2 * K2I_TLS_SHARED_KEY_BYTES_MAX);
	return 0;
}

int k2i_tls_shared_key_read(const char *file, struct k2i_tls_shared_key *shared, struct k2i_tls_problem *problem)
{
	char text[FILE_BYTES_MAX];
	int error = file_read(file, text, sizeof(text), problem);

	if (error == 0)
		error = line_parse(file, text, shared, problem);
	OPENSSL_cleanse(text, sizeof(text));
	return error;
}

SSL_SESSION *k2i_tls_shared_key_session(SSL *ssl, const struct k2i_tls_shared_key *shared)
{
	const SSL_CIPHER *cipher = SSL_CIPHER_find(ssl, suite);
	SSL_SESSION *session = cipher ? SSL_SESSION_new() : NULL;

	if (session && SSL_SESSION_set1_master_key(session, shared->key, shared->key_bytes) &&
	    SSL_SESSION_set_cipher(session, cipher) && SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION))
		return session;
	SSL_SESSION_free(session);
	return NULL;
}
