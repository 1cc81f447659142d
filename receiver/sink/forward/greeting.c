/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "config/remote.h"
#include "receiver/sink/forward/internal.h"

#define DIGEST_HEX_BYTES 128u /* of SHA-512 */
#define SALT_HEX_BYTES 32u

/* Digests --------------------------------------------------------------------------------------------------------- */

struct part {
	const void *bytes;
	size_t count;
};

/* SHA-512 of four parts, in hexadecimal, terminated. */
static int digest_make(const struct part parts[4], char hex[DIGEST_HEX_BYTES + 1])
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	unsigned char digest[EVP_MAX_MD_SIZE];
	bool made = context && EVP_DigestInit_ex(context, EVP_sha512(), NULL);

	for (unsigned at = 0; at < 4 && made; at++)
		made = EVP_DigestUpdate(context, parts[at].bytes, parts[at].count);
	made = made && EVP_DigestFinal_ex(context, digest, NULL);
	EVP_MD_CTX_free(context);
	for (unsigned at = 0; at < DIGEST_HEX_BYTES / 2 && made; at++)
		(void)snprintf(hex + (size_t)2 * at, 3, "%02x", digest[at]);
	return made ? 0 : -ENOMEM;
}

static void salt_make(char hex[SALT_HEX_BYTES + 1])
{
	unsigned char salt[SALT_HEX_BYTES / 2] = {0};

	/* So few bytes come whole. */
	(void)!getrandom(salt, sizeof(salt), 0);
	for (unsigned at = 0; at < sizeof(salt); at++)
		(void)snprintf(hex + (size_t)2 * at, 3, "%02x", salt[at]);
}

/* Greeting -------------------------------------------------------------------------------------------------------- */

struct greeting {
	char key[K2I_SECRET_BYTES_MAX], password[K2I_SECRET_BYTES_MAX];
	char host[256], salt[SALT_HEX_BYTES + 1];
	/* The server's; they end with its message. */
	uint8_t nonce[256], auth[256];
	size_t nonce_bytes, auth_bytes;
};

static int unexpected(struct k2i_forward_peer *peer, const char *wanted)
{
	return k2i_forward_peer_failed(peer, -EPROTO, "it answers with something else than %s", wanted);
}

static int text_keep(struct k2i_forward_peer *peer, const struct k2i_unpacked *value, uint8_t kept[256], size_t *bytes)
{
	if (value->kind != K2I_UNPACKED_TEXT || value->count > 256)
		return unexpected(peer, "HELO");
	memcpy(kept, value->bytes, value->count);
	*bytes = value->count;
	return 0;
}

/* An option of HELO. */
static int option_take(struct k2i_forward_peer *peer, struct greeting *greeting, const struct k2i_unpacked *key,
		       const struct k2i_unpacked *value)
{
	if (k2i_unpacked_is(key, "nonce"))
		return text_keep(peer, value, greeting->nonce, &greeting->nonce_bytes);
	if (k2i_unpacked_is(key, "auth") && value->kind == K2I_UNPACKED_TEXT)
		return text_keep(peer, value, greeting->auth, &greeting->auth_bytes);
	if (k2i_unpacked_is(key, "keepalive"))
		peer->once = value->kind == K2I_UNPACKED_BOOLEAN && !value->truth;
	return 0;
}

/* The array that comes next, `word` is its first element; `*at` stands behind that. */
static int array_await(struct k2i_forward_peer *peer, const char *word, size_t *bytes, size_t *at, uint32_t count)
{
	struct k2i_unpacked array, first;
	int result = k2i_forward_peer_next(peer, true, bytes);

	*at = 0;
	if (result <= 0)
		return result;
	if (k2i_unpack_next(peer->input, *bytes, at, &array) <= 0 || array.kind != K2I_UNPACKED_ARRAY ||
	    array.count < count || k2i_unpack_next(peer->input, *bytes, at, &first) <= 0 ||
	    !k2i_unpacked_is(&first, word))
		return unexpected(peer, word);
	return 0;
}

/* [HELO, {nonce, auth, keepalive}] */
static int helo_take(struct k2i_forward_peer *peer, struct greeting *greeting)
{
	struct k2i_unpacked map, key, value;
	size_t bytes, at, behind;
	int error = array_await(peer, "HELO", &bytes, &at, 2);

	if (error)
		return error;
	if (k2i_unpack_next(peer->input, bytes, &at, &map) <= 0 || map.kind != K2I_UNPACKED_MAP)
		return unexpected(peer, "HELO");
	while (map.count-- > 0 && !error) {
		error = k2i_unpack_next(peer->input, bytes, &at, &key) > 0 ? 0 : unexpected(peer, "HELO");
		behind = at;
		if (!error && (k2i_unpack_next(peer->input, bytes, &at, &value) <= 0 ||
			       k2i_unpack_skip(peer->input, bytes, &behind) <= 0))
			error = unexpected(peer, "HELO");
		at = behind;
		if (!error)
			error = option_take(peer, greeting, &key, &value);
	}
	k2i_forward_peer_taken(peer, bytes);
	return error;
}

/* [PING, host, salt, digest, user, digest of the password] */
static int ping_send(struct k2i_forward_peer *peer, const struct greeting *greeting)
{
	const char *user = greeting->auth_bytes && peer->options->user ? peer->options->user : "";
	const struct part key_parts[] = {{greeting->salt, SALT_HEX_BYTES},
					 {greeting->host, strlen(greeting->host)},
					 {greeting->nonce, greeting->nonce_bytes},
					 {greeting->key, strlen(greeting->key)}};
	const struct part user_parts[] = {{greeting->auth, greeting->auth_bytes},
					  {user, strlen(user)},
					  {greeting->password, strlen(greeting->password)},
					  {"", 0}};
	char key_hex[DIGEST_HEX_BYTES + 1], user_hex[DIGEST_HEX_BYTES + 1] = "";
	struct k2i_packed ping = {0};
	int error = digest_make(key_parts, key_hex);

	if (!error && *user)
		error = digest_make(user_parts, user_hex);
	k2i_pack_array(&ping, 6);
	k2i_pack_text(&ping, "PING", 4);
	k2i_pack_text(&ping, greeting->host, strlen(greeting->host));
	k2i_pack_text(&ping, greeting->salt, SALT_HEX_BYTES);
	k2i_pack_text(&ping, key_hex, error ? 0 : DIGEST_HEX_BYTES);
	k2i_pack_text(&ping, user, strlen(user));
	k2i_pack_text(&ping, user_hex, strlen(user_hex));
	if (error || ping.failed)
		error = k2i_forward_peer_failed(peer, -ENOMEM, "no memory");
	else
		error = k2i_forward_peer_write(peer, ping.bytes, ping.count);
	free(ping.bytes);
	return error;
}

/* [PONG, whether it is content, why not, host, digest] */
static int pong_take(struct k2i_forward_peer *peer, const struct greeting *greeting)
{
	struct k2i_unpacked content, why, host, digest;
	char wanted[DIGEST_HEX_BYTES + 1];
	size_t bytes, at;
	int error = array_await(peer, "PONG", &bytes, &at, 3);

	if (error)
		return error;
	if (k2i_unpack_next(peer->input, bytes, &at, &content) <= 0 || content.kind != K2I_UNPACKED_BOOLEAN ||
	    k2i_unpack_next(peer->input, bytes, &at, &why) <= 0)
		return unexpected(peer, "PONG");
	if (!content.truth)
		return k2i_forward_peer_failed(peer, -EACCES, "it refuses FORWARD_SHARED_KEY_FILE or the user: %.*s",
					       why.kind == K2I_UNPACKED_TEXT ? (int)(why.count < 100 ? why.count : 100)
									     : 0,
					       (const char *)why.bytes);
	if (k2i_unpack_next(peer->input, bytes, &at, &host) <= 0 || host.kind != K2I_UNPACKED_TEXT ||
	    k2i_unpack_next(peer->input, bytes, &at, &digest) <= 0 || digest.kind != K2I_UNPACKED_TEXT)
		return unexpected(peer, "PONG");
	const struct part parts[] = {{greeting->salt, SALT_HEX_BYTES},
				     {host.bytes, host.count},
				     {greeting->nonce, greeting->nonce_bytes},
				     {greeting->key, strlen(greeting->key)}};

	error = digest_make(parts, wanted);
	if (!error && (digest.count != DIGEST_HEX_BYTES || CRYPTO_memcmp(digest.bytes, wanted, DIGEST_HEX_BYTES) != 0))
		error = k2i_forward_peer_failed(peer, -EACCES, "it does not know the key of FORWARD_SHARED_KEY_FILE");
	k2i_forward_peer_taken(peer, bytes);
	return error;
}

/* The file as it is now. */
static int secret_read(struct k2i_forward_peer *peer, const char *file, char secret[K2I_SECRET_BYTES_MAX])
{
	const char *why = k2i_secret_line_read(file, secret);

	return why ? k2i_forward_peer_failed(peer, -EINVAL, "%s: %s", file, why) : 0;
}

int k2i_forward_greet(struct k2i_forward_peer *peer)
{
	const struct k2i_forward_options *options = peer->options;
	struct greeting greeting = {0};
	int error = secret_read(peer, options->key_file, greeting.key);

	if (!error && options->password_file)
		error = secret_read(peer, options->password_file, greeting.password);
	(void)gethostname(greeting.host, sizeof(greeting.host) - 1);
	salt_make(greeting.salt);
	if (!error)
		error = helo_take(peer, &greeting);
	if (!error)
		error = ping_send(peer, &greeting);
	if (!error)
		error = pong_take(peer, &greeting);
	explicit_bzero(&greeting, sizeof(greeting));
	return error;
}
