/* SPDX-License-Identifier: MIT */
/* When the client's certificate expires, for who shows it: without a new connection, too. */

#include "unit.h"
#include "client/state.h"
#include "base/clock.h"

/* The certificate's expiry; 0: the file can't be read. */
static uint64_t file_expires_s;
static unsigned looks;

/* The linker sends it here. */
uint64_t __wrap_k2i_tls_certificate_file_expires_s(const char *file);
uint64_t __wrap_k2i_tls_certificate_file_expires_s(const char *file)
{
	assert_string_equal(file, "certificate");
	looks++;
	return file_expires_s;
}

/* A client that waits with its next connection; far too large for the stack. */
static struct k2hft_client *client_make(const char *certificate)
{
	static struct k2hft_client client;
	static struct k2i_client_tls tls;
	static struct k2i_target target = {.tls = &tls};

	memset(&client, 0, sizeof(client));
	client.failure.retry_at_ns = UINT64_MAX;
	client.dial.target = &target;
	tls.settings.certificate = certificate;
	looks = 0;
	return &client;
}

TEST(a_renewed_one_is_seen_within_a_minute)
{
	struct k2hft_client *client = client_make("certificate");

	file_expires_s = 1000;
	k2i_client_certificate_look(client, 0);
	assert_int_equal(client->stats.certificate_expires_s, 1000);
	k2i_client_session_step(client, 100 * K2I_SECOND_NS);
	file_expires_s = 2000;
	k2i_client_session_step(client, 159 * K2I_SECOND_NS);
	assert_int_equal(client->stats.certificate_expires_s, 1000);
	assert_int_equal(looks, 2);
	k2i_client_session_step(client, 160 * K2I_SECOND_NS);
	assert_int_equal(client->stats.certificate_expires_s, 2000);
	/* The next connection has the last one then, too. */
	file_expires_s = 0;
	k2i_client_session_step(client, 220 * K2I_SECOND_NS);
	assert_int_equal(looks, 4);
	assert_int_equal(client->stats.certificate_expires_s, 2000);
}

TEST(without_one_nobody_looks)
{
	struct k2hft_client *client = client_make(NULL);

	k2i_client_certificate_look(client, 0);
	k2i_client_session_step(client, K2I_SECOND_NS);
	assert_int_equal(looks, 0);
	assert_int_equal(client->stats.certificate_expires_s, 0);
}
