/* SPDX-License-Identifier: MIT */
#ifndef K2HFT_TLS_H
#define K2HFT_TLS_H

#include <stddef.h>
#include <stdint.h>

/*
 * TLS to the receiver. Its certificate is always verified, and that it is for k2hft_client_options.host. The files are
 * in PEM format and are read again for each connection; if one of them can't be used then, that is logged, and what
 * was read before is used.
 */
struct k2hft_tls_options {
	size_t size; /* sizeof(struct k2hft_tls_options) */
	/* Certificates to trust: a file, or a directory that openssl rehash has prepared; NULL: those of the system. */
	const char *authority_path;
	/* This host's certificate, followed by any intermediate ones; NULL: none. */
	const char *certificate_path;
	const char *private_key_path; /* of that certificate, without a passphrase */
	/* Instead of the three above: a file with a line IDENTITY:KEY, or KEY, that both sides have. */
	const char *shared_key_path;
	uint32_t version_min; /* K2HFT_TLS_* */
	uint32_t reserved;    /* 0 */
};
#define K2HFT_TLS_OPTIONS_INIT                                                                                         \
	{                                                                                                              \
		sizeof(struct k2hft_tls_options), NULL, NULL, NULL, NULL, 0, 0                                         \
	}
#define K2HFT_TLS_1_2 0u
#define K2HFT_TLS_1_3 1u

#endif
