/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "unit.h"
#include "folder_help.h"
#include "net/tls/state.h"
#include "net/transport.h"

/* Two ends of a socket pair, a sender's and a receiver's, by shared keys: certificates are tested end to end. */
#define KEY "me:00112233445566778899aabbccddeeff"
#define OTHER_KEY "me:00112233445566778899aabbccddee00"
#define OTHER_NAME "you:00112233445566778899aabbccddeeff"

struct pair {
	struct k2i_tls_context *contexts[2];
	struct k2i_transport ends[2]; /* client, server */
	int results[2];
};

/* The next one takes its place. */
static const char *key_file_make(const void *bytes, size_t byte_count)
{
	static char path[300];
	int file;

	(void)snprintf(path, sizeof(path), "%s/key", folder);
	file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_int_equal(write(file, bytes, byte_count), byte_count);
	assert_int_equal(close(file), 0);
	return path;
}

static struct k2i_tls_context *context_open(const char *line, bool server)
{
	struct k2i_tls_settings settings = {.server = server, .shared_key = key_file_make(line, strlen(line))};
	struct k2i_tls_context *context;
	struct k2i_tls_problem problem;

	assert_int_equal(k2i_tls_context_open(&settings, &context, &problem), 0);
	return context;
}

/* The fault of a file of these bytes; "": it is good. */
static void key_file_try(const char *bytes, size_t byte_count, const char *said)
{
	struct k2i_tls_shared_key shared;
	struct k2i_tls_problem problem = {.text = ""};

	assert_int_equal(k2i_tls_shared_key_read(key_file_make(bytes, byte_count), &shared, &problem),
			 *said ? -EINVAL : 0);
	assert_non_null(strstr(problem.text, said));
}

/* A line of a name and a key of so many characters, with its end. */
static void key_line_try(int name_bytes, int key_digits, const char *said)
{
	char line[512];
	int bytes = snprintf(line, sizeof(line), "%0*d:%0*d\r\n", name_bytes, 0, key_digits, 0);

	key_file_try(line, (size_t)bytes, said);
}

TEST(test_key_files)
{
	key_line_try(1, 32, "");
	key_line_try(128, 128, "");
	key_line_try(129, 128, "must be 1 to 128 characters");
	key_line_try(1, 31, "must be 32 to 128 hexadecimal digits");
	key_line_try(1, 130, "must be 32 to 128 hexadecimal digits");
	key_line_try(200, 128, "is too long for a key");
	key_file_try("", 0, "must be 32 to 128 hexadecimal digits");
	key_file_try("a\nb\n", 4, "has more than one line");
	/* Bytes without a text around them, as of /dev/urandom. */
	key_file_try("0123456789\0abcde", 16, "is no text");
}

static void pair_open(struct pair *pair, const char *client_line, const char *server_line)
{
	int sockets[2];

	memset(pair, 0, sizeof(*pair));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets), 0);
	for (int end = 0; end < 2; end++) {
		pair->contexts[end] = context_open(end ? server_line : client_line, end == 1);
		pair->ends[end].descriptor = sockets[end];
		assert_int_equal(
			k2i_transport_secure(&pair->ends[end], pair->contexts[end], end ? NULL : "host.example"), 0);
		/* The connections hold what they need. */
		k2i_tls_context_release(pair->contexts[end]);
	}
}

static void pair_handshake(struct pair *pair)
{
	pair->results[0] = pair->results[1] = -EAGAIN;
	for (int round = 0; round < 20; round++) {
		for (int end = 0; end < 2; end++) {
			if (pair->results[end] == -EAGAIN)
				pair->results[end] = k2i_transport_handshake(&pair->ends[end]);
		}
	}
}

static void pair_close(struct pair *pair)
{
	k2i_transport_close(&pair->ends[0]);
	k2i_transport_close(&pair->ends[1]);
}

/* A handshake of two that agree. */
static int pair_make(void **state)
{
	struct pair *pair = malloc(sizeof(*pair));

	assert_non_null(pair);
	*state = pair;
	pair_open(pair, KEY, KEY);
	pair_handshake(pair);
	assert_int_equal(pair->results[0], 0);
	assert_int_equal(pair->results[1], 0);
	return 0;
}

static int pair_end(void **state)
{
	pair_close(*state);
	free(*state);
	return 0;
}

static void refused(const char *client_line, const char *server_line)
{
	struct pair pair;

	pair_open(&pair, client_line, server_line);
	pair_handshake(&pair);
	assert_int_equal(pair.results[0], -EPROTO);
	assert_int_equal(pair.results[1], -EPROTO);
	for (int end = 0; end < 2; end++) {
		assert_non_null(strstr(k2i_transport_reason(&pair.ends[end], -EPROTO), "the shared keys differ"));
		/* For ever. */
		assert_int_equal(k2i_transport_handshake(&pair.ends[end]), -EPROTO);
		assert_int_equal(k2i_transport_read(&pair.ends[end], &pair, 1), -EPROTO);
	}
	pair_close(&pair);
}

TEST(test_keys_differ)
{
	refused(KEY, OTHER_KEY);
	refused(KEY, OTHER_NAME);
}

/* Reads what is there in pieces of `room`; compares with what must come. */
static size_t drain(struct k2i_transport *end, size_t at, size_t room)
{
	static unsigned char bytes[100000];
	ssize_t count;

	while ((count = k2i_transport_read(end, bytes, room)) > 0) {
		for (ssize_t index = 0; index < count; index++, at++)
			assert_int_equal(bytes[index], (unsigned char)(at * 7 + at / 251));
	}
	assert_int_equal(count, -EAGAIN);
	/* A reader that saw nothing more can wait for the socket. */
	assert_false(k2i_transport_more(end));
	return at;
}

static void transfer(struct pair *pair, size_t total, size_t piece, size_t room)
{
	unsigned char *source = malloc(total);
	size_t written = 0, got = 0;

	assert_non_null(source);
	for (size_t at = 0; at < total; at++)
		source[at] = (unsigned char)(at * 7 + at / 251);
	while (got < total) {
		size_t left = total - written, first = left < piece ? left : piece;
		struct iovec pieces[2] = {{source + written, first}, {source + written + first, left - first}};
		ssize_t count =
			left ? k2i_transport_write(&pair->ends[0], pieces, 2) : k2i_transport_flush(&pair->ends[0]);

		if (left && count > 0)
			written += (size_t)count;
		else if (count < 0)
			assert_int_equal(count, -EAGAIN);
		got = drain(&pair->ends[1], got, room);
	}
	assert_int_equal(got, total);
	assert_false(k2i_transport_waiting(&pair->ends[0]));
	free(source);
}

#define PAIR_TEST(name) FIXTURE_TEST(name, struct pair *pair, pair_make, pair_end)

PAIR_TEST(test_bytes_arrive_as_they_were)
{
	transfer(pair, 3000000, 40, 65536);
	transfer(pair, 100000, 1, 1);
	transfer(pair, 1000000, 700000, 16385);
	/* New keys on the way. */
	pair->ends[0].tls->key_records = K2I_TLS_KEY_RECORDS_MAX;
	transfer(pair, 1000000, 40, 4096);
	assert_true(pair->ends[0].tls->key_records < 1000);
}

static int version;

int __real_SSL_version(const SSL *ssl);
int __wrap_SSL_version(const SSL *ssl);
int __wrap_SSL_version(const SSL *ssl)
{
	return version ? version : __real_SSL_version(ssl);
}

/* TLS 1.2 makes no new keys: the connection ends before the one that it has was used too often. */
PAIR_TEST(test_old_keys_end)
{
	unsigned char byte = 1;
	struct iovec piece = {&byte, 1};

	version = TLS1_2_VERSION;
	pair->ends[0].tls->key_records = (UINT64_C(1) << 24) - 1;
	assert_int_equal(k2i_transport_write(&pair->ends[0], &piece, 1), 1);
	for (int again = 0; again < 2; again++)
		assert_int_equal(k2i_transport_write(&pair->ends[0], &piece, 1), -EPROTO);
	version = 0;
	assert_non_null(strstr(k2i_transport_reason(&pair->ends[0], -EPROTO), "the next connection has another"));
}

/* A full socket takes nothing, and nothing of what was taken before is lost. */
PAIR_TEST(test_a_full_socket_loses_nothing)
{
	static unsigned char bytes[300000];
	struct iovec piece = {bytes, sizeof(bytes)};
	size_t taken = 0, got = 0;
	ssize_t count;

	while ((count = k2i_transport_write(&pair->ends[0], &piece, 1)) > 0)
		taken += (size_t)count;
	assert_int_equal(count, -EAGAIN);
	assert_true(k2i_transport_waiting(&pair->ends[0]));
	assert_int_equal(k2i_transport_flush(&pair->ends[0]), 0);
	for (int round = 0; round < 1000 && got < taken; round++) {
		while ((count = k2i_transport_read(&pair->ends[1], bytes, sizeof(bytes))) > 0)
			got += (size_t)count;
		assert_int_equal(count, -EAGAIN);
		assert_true(k2i_transport_flush(&pair->ends[0]) >= 0);
	}
	assert_int_equal(got, taken);
}

/* Named by the linker. */
static bool no_buffers;
ssize_t __real_send(int descriptor, const void *bytes, size_t byte_count, int flags);
ssize_t __wrap_send(int descriptor, const void *bytes, size_t byte_count, int flags);
ssize_t __wrap_send(int descriptor, const void *bytes, size_t byte_count, int flags)
{
	errno = ENOBUFS;
	return no_buffers ? -1 : __real_send(descriptor, bytes, byte_count, flags);
}

/* They go with the end of the connection, if not before: who takes them for not written sends them again. */
PAIR_TEST(test_what_was_not_sent_counts)
{
	unsigned char bytes[1000];
	struct iovec piece = {bytes, sizeof(bytes)};

	for (size_t at = 0; at < sizeof(bytes); at++)
		bytes[at] = (unsigned char)(at * 7 + at / 251);
	no_buffers = true;
	assert_int_equal(k2i_transport_write(&pair->ends[0], &piece, 1), sizeof(bytes));
	assert_int_equal(k2i_transport_flush(&pair->ends[0]), -ENOBUFS);
	assert_int_equal(k2i_transport_write(&pair->ends[0], &piece, 1), -ENOBUFS);
	no_buffers = false;
	k2i_transport_end(&pair->ends[0]);
	assert_int_equal(k2i_transport_read(&pair->ends[1], bytes, sizeof(bytes)), sizeof(bytes));
	assert_int_equal(k2i_transport_read(&pair->ends[1], bytes, sizeof(bytes)), 0);
}

PAIR_TEST(test_one_way_ends)
{
	unsigned char bytes[16] = "end";
	struct iovec piece = {bytes, 4};

	assert_int_equal(k2i_transport_write(&pair->ends[0], &piece, 1), 4);
	k2i_transport_end(&pair->ends[0]);
	/* The last bytes come before the end, which comes again and again; and the other way stays open. */
	assert_int_equal(k2i_transport_read(&pair->ends[1], bytes, sizeof(bytes)), 4);
	assert_true(k2i_transport_more(&pair->ends[1]));
	assert_int_equal(k2i_transport_read(&pair->ends[1], bytes, sizeof(bytes)), 0);
	assert_int_equal(k2i_transport_read(&pair->ends[1], bytes, sizeof(bytes)), 0);
	assert_int_equal(k2i_transport_write(&pair->ends[1], &piece, 1), 4);
	assert_int_equal(k2i_transport_read(&pair->ends[0], bytes, sizeof(bytes)), 4);
}

/* That somebody changed, or put there. */
PAIR_TEST(test_changed_bytes_end_it)
{
	unsigned char byte;

	assert_int_equal(send(pair->ends[0].descriptor, "\x17\x03\x03\x00\x20 not encrypted by this key at all", 37, 0),
			 37);
	assert_int_equal(k2i_transport_read(&pair->ends[1], &byte, 1), -EPROTO);
	assert_true(strlen(k2i_transport_reason(&pair->ends[1], -EPROTO)) > 0);
}

/* The client sends records that bring no bytes, and each wants an answer. */
static void keys_renew(struct pair *pair, unsigned count)
{
	while (count-- > 0) {
		assert_int_equal(SSL_key_update(pair->ends[0].tls->ssl, SSL_KEY_UPDATE_REQUESTED), 1);
		assert_int_equal(SSL_do_handshake(pair->ends[0].tls->ssl), 1);
	}
	assert_true(k2i_transport_flush(&pair->ends[0]) >= 0);
}

static int unread_bytes(const struct k2i_transport *end)
{
	int bytes = -1;

	assert_int_equal(ioctl(end->descriptor, FIONREAD, &bytes), 0);
	return bytes;
}

/* A peer that sends nothing but such holds the reader no longer than others, and takes no more memory than others. */
PAIR_TEST(test_new_keys_only)
{
	unsigned char byte;
	ssize_t got = -EAGAIN;
	int before;

	assert_int_equal(k2i_transport_read(&pair->ends[1], &byte, 1), -EAGAIN);
	keys_renew(pair, 3000);
	before = unread_bytes(&pair->ends[1]);
	assert_int_equal(k2i_transport_read(&pair->ends[1], &byte, 1), -EAGAIN);
	assert_in_range(unread_bytes(&pair->ends[1]), 1, before - 1);
	while (unread_bytes(&pair->ends[1]) > 0)
		assert_int_equal(k2i_transport_read(&pair->ends[1], &byte, 1), -EAGAIN);
	assert_int_equal(k2i_transport_flush(&pair->ends[1]), 1);
	transfer(pair, 100000, 1, 1000);

	for (int round = 0; round < 100 && got == -EAGAIN; round++) {
		keys_renew(pair, 1000);
		while (got == -EAGAIN && unread_bytes(&pair->ends[1]) > 0)
			got = k2i_transport_read(&pair->ends[1], &byte, 1);
	}
	assert_int_equal(got, -EPROTO);
	assert_in_range(pair->ends[1].tls->output_room, 1, 512 * 1024);
	assert_non_null(strstr(k2i_transport_reason(&pair->ends[1], -EPROTO), "does not read the answers"));
}

TEST(test_begins)
{
	assert_true(k2i_tls_begins("\x16", 1));
	assert_true(k2i_tls_begins("\x16\x03\x01", 3));
	assert_false(k2i_tls_begins("\x16\x02\x01", 3));
	assert_false(k2i_tls_begins("K2HF", 4));
	assert_false(k2i_tls_begins("", 0));
}

/* The error of a server whose client begins with these bytes, which are sent one by one. */
static int hello_begin(const unsigned char *bytes, size_t byte_count)
{
	struct pair pair;
	int result = -EAGAIN;

	pair_open(&pair, KEY, KEY);
	for (size_t at = 0; at < byte_count && result == -EAGAIN; at++) {
		assert_int_equal(send(pair.ends[0].descriptor, bytes + at, 1, 0), 1);
		result = k2i_transport_handshake(&pair.ends[1]);
		assert_true(result == -EAGAIN || at == K2I_TLS_HELLO_HEADER_BYTES - 1);
	}
	if (result != -EAGAIN)
		assert_non_null(strstr(k2i_transport_reason(&pair.ends[1], result), "its ClientHello is longer"));
	pair_close(&pair);
	return result;
}

/* Room for a message is not made before its length is known to be sensible. */
TEST(test_long_hello)
{
	static const unsigned char longest[] = {0x16, 3, 1, 0x40, 0, 1, 0, 0x40, 0};
	static const unsigned char too_long[] = {0x16, 3, 1, 0x40, 0, 1, 0, 0x40, 1};
	static const unsigned char much_too_long[] = {0x16, 3, 1, 0x40, 0, 1, 2, 0, 0};
	/* The length's middle byte is in another record, and these are that record's header. */
	static const unsigned char crumbs[] = {0x16, 3, 1, 0, 2, 1, 0, 0x16, 3};

	assert_int_equal(hello_begin(longest, sizeof(longest)), -EAGAIN);
	assert_int_equal(hello_begin(too_long, sizeof(too_long)), -EPROTO);
	assert_int_equal(hello_begin(much_too_long, sizeof(much_too_long)), -EPROTO);
	assert_int_equal(hello_begin(crumbs, sizeof(crumbs)), -EPROTO);
}

/* The linker has the library call this. */
DIR *__real_opendir(const char *name);
DIR *__wrap_opendir(const char *name);
DIR *__wrap_opendir(const char *name)
{
	if (strcmp(name, "/proc/self/fd") == 0)
		return __real_opendir(name);
	errno = EACCES;
	return NULL;
}

/* Only one of them is to be mended by openssl rehash. */
TEST(test_authority_directory)
{
	struct k2i_tls_settings settings = {.authority = "/proc/self/fd"};
	struct k2i_tls_context *context;
	struct k2i_tls_problem problem;

	assert_int_equal(k2i_tls_context_open(&settings, &context, &problem), -EINVAL);
	assert_int_equal(problem.part, K2I_TLS_AUTHORITY);
	assert_string_equal(problem.text, "/proc/self/fd has no certificate under the name of its hash; "
					  "run openssl rehash /proc/self/fd");
	settings.authority = "/";
	assert_int_equal(k2i_tls_context_open(&settings, &context, &problem), -EINVAL);
	assert_int_equal(problem.part, K2I_TLS_AUTHORITY);
	assert_string_equal(problem.text, "/: Permission denied");
}

/* `said`: "" whatever is. */
static void certificate_try(const char *certificate, const char *private_key, enum k2i_tls_part part, const char *said)
{
	struct k2i_tls_settings settings = {.certificate = certificate, .private_key = private_key};
	struct k2i_tls_context *context;
	struct k2i_tls_problem problem;

	assert_int_equal(k2i_tls_context_open(&settings, &context, &problem), -EINVAL);
	assert_int_equal(problem.part, part);
	if (*said)
		assert_string_equal(problem.text, said);
}

/* The cause is said, not that a part of OpenSSL has failed because of it. */
TEST(test_files_that_are_no_certificates)
{
	certificate_try("/dev/null", "/dev/null", K2I_TLS_CERTIFICATE,
			"/dev/null is not a certificate in PEM form: no start line");
	certificate_try("/", "/dev/null", K2I_TLS_CERTIFICATE, "/: Is a directory");
	certificate_try("/dev/null", "/", K2I_TLS_PRIVATE_KEY, "/: Is a directory");
}

/* "logs.example." is looked up as it is, in no other domain; a certificate is for "logs.example". */
TEST(test_name_with_a_dot_behind_it)
{
	struct k2i_tls_context *context = context_open(KEY, false);
	struct k2i_tls *tls;

	assert_int_equal(k2i_tls_open(context, -1, "logs.example.", &tls), 0);
	assert_string_equal(X509_VERIFY_PARAM_get0_host(SSL_get0_param(tls->ssl), 0), "logs.example");
	assert_string_equal(SSL_get_servername(tls->ssl, TLSEXT_NAMETYPE_host_name), "logs.example");
	k2i_tls_free(tls);
	k2i_tls_context_release(context);
}

static void certificate_make(const char *path)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *certificate = X509_new();
	FILE *file = fopen(path, "we");

	assert_non_null(X509_gmtime_adj(X509_getm_notBefore(certificate), 0));
	assert_non_null(X509_gmtime_adj(X509_getm_notAfter(certificate), 3600));
	assert_int_equal(X509_set_pubkey(certificate, key), 1);
	assert_true(X509_sign(certificate, key, EVP_sha256()) > 0);
	assert_int_equal(PEM_write_X509(file, certificate), 1);
	assert_int_equal(fclose(file), 0);
	X509_free(certificate);
	EVP_PKEY_free(key);
}

/* The descriptor, other than `own`, that waits to read from the named pipe. */
static int reader_await(const char *path, int own)
{
	char link[64], target[512];

	for (int descriptor = 0;; descriptor = (descriptor + 1) % 64) {
		ssize_t bytes;

		(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
		bytes = readlink(link, target, sizeof(target));
		if (descriptor != own && bytes == (ssize_t)strlen(path) && memcmp(target, path, (size_t)bytes) == 0 &&
		    !(fcntl(descriptor, F_GETFL) & O_NONBLOCK))
			return descriptor;
	}
}

struct pipe_writer {
	const char *path;
	int own, flags;
};

static void *pipe_writer_run(void *argument)
{
	struct pipe_writer *writer = argument;

	writer->flags = fcntl(reader_await(writer->path, writer->own), F_GETFD);
	assert_int_equal(close(writer->own), 0);
	return NULL;
}

/* A program that another thread executes at that moment, as another user perhaps, must not have it. */
TEST(test_private_key_is_closed_on_exec)
{
	char certificate[300], private_key[300];
	struct pipe_writer writer = {.path = private_key};
	pthread_t thread;

	(void)snprintf(certificate, sizeof(certificate), "%s/certificate", folder);
	(void)snprintf(private_key, sizeof(private_key), "%s/pipe", folder);
	certificate_make(certificate);
	assert_int_equal(mkfifo(private_key, 0600), 0);
	writer.own = open(private_key, O_RDWR | O_CLOEXEC);
	assert_int_equal(pthread_create(&thread, NULL, pipe_writer_run, &writer), 0);
	certificate_try(certificate, private_key, K2I_TLS_PRIVATE_KEY, "");
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(writer.flags, FD_CLOEXEC);
	assert_int_equal(unlink(certificate), 0);
	assert_int_equal(unlink(private_key), 0);
}

/* ---- names of a peer */

static X509 *peer_certificate;
static unsigned lists_made;

X509 *__wrap_SSL_get0_peer_certificate(const SSL *ssl);
X509 *__wrap_SSL_get0_peer_certificate(const SSL *ssl)
{
	(void)ssl;
	return peer_certificate;
}

void *__real_X509_get_ext_d2i(const X509 *certificate, int kind, int *critical, int *at);
void *__wrap_X509_get_ext_d2i(const X509 *certificate, int kind, int *critical, int *at);
void *__wrap_X509_get_ext_d2i(const X509 *certificate, int kind, int *critical, int *at)
{
	lists_made++;
	return __real_X509_get_ext_d2i(certificate, kind, critical, at);
}

static void alternatives_set(const char *names)
{
	X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, names);

	assert_non_null(extension);
	assert_int_equal(X509_add_ext(peer_certificate, extension, -1), 1);
	X509_EXTENSION_free(extension);
}

static char names_asked[256];

static bool name_is_last(void *argument, const char *name)
{
	size_t used = strlen(names_asked);

	++*(unsigned *)argument;
	(void)snprintf(names_asked + used, sizeof(names_asked) - used, "%s ", name);
	return strcmp(name, "last.example") == 0;
}

/* How many of its names were asked about; `found`: whether one was the last. */
static unsigned names_ask(bool found)
{
	const struct k2i_tls tls = {.established = true};
	unsigned asked = 0;

	names_asked[0] = '\0';
	assert_int_equal(k2i_tls_peer_is(&tls, name_is_last, &asked), found);
	return asked;
}

TEST(test_peer_names)
{
	static char names[32 * 1024];

	assert_int_equal(names_ask(false), 0);
	peer_certificate = X509_new();
	assert_int_equal(names_ask(false), 0);
	assert_int_equal(X509_NAME_add_entry_by_txt(X509_get_subject_name(peer_certificate), "CN", MBSTRING_ASC,
						    (const unsigned char *)"last.example", -1, -1, 0),
			 1);
	assert_int_equal(names_ask(true), 1);
	alternatives_set("email:a@last.example,DNS:one.example,IP:127.0.0.1,IP:::1");
	assert_int_equal(names_ask(false), 3);
	assert_string_equal(names_asked, "one.example 127.0.0.1 ::1 ");
	X509_free(peer_certificate);

	/* It costs no more to look at many: they are taken out of the certificate once. */
	peer_certificate = X509_new();
	for (unsigned number = 0; number < 1000; number++)
		(void)snprintf(names + strlen(names), sizeof(names) - strlen(names), "DNS:%u.example,", number);
	(void)snprintf(names + strlen(names), sizeof(names) - strlen(names), "DNS:last.example,DNS:more.example");
	alternatives_set(names);
	lists_made = 0;
	assert_int_equal(names_ask(true), 1001);
	assert_int_equal(lists_made, 1);
	X509_free(peer_certificate);
	peer_certificate = NULL;
}

UNIT_GROUP(folder_begin, folder_end)
