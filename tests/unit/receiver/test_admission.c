/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <time.h>

#include "unit.h"
#include "base/clock.h"
#include "receiver/listen/admission.h"

/*
 * A world of names in which an address 192.0.2.N has the name that N stands for; 198.51.100.N never gets an answer, and
 * 203.0.113.N none to where its name leads.
 */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned told, asked, stuck;
static bool released;

static void report(void *argument, enum k2i_finding finding, const char *file, unsigned line, const char *text)
{
	(void)argument;
	(void)finding;
	(void)file;
	(void)line;
	(void)text;
}

static void tell(struct k2i_owner owner)
{
	(void)pthread_mutex_lock(&mutex);
	told += owner.id == 7;
	(void)pthread_cond_broadcast(&changed);
	(void)pthread_mutex_unlock(&mutex);
}

static void wait_told(unsigned wanted)
{
	(void)pthread_mutex_lock(&mutex);
	while (told < wanted)
		(void)pthread_cond_wait(&changed, &mutex);
	(void)pthread_mutex_unlock(&mutex);
}

static uint32_t number_of(const struct sockaddr_storage *address)
{
	return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr);
}

/* Until it is released. */
static void no_answer(void)
{
	(void)pthread_mutex_lock(&mutex);
	stuck++;
	(void)pthread_cond_broadcast(&changed);
	while (!released)
		(void)pthread_cond_wait(&changed, &mutex);
	stuck--;
	(void)pthread_cond_broadcast(&changed);
	(void)pthread_mutex_unlock(&mutex);
}

static void wait_stuck(unsigned wanted)
{
	(void)pthread_mutex_lock(&mutex);
	while (stuck < wanted)
		(void)pthread_cond_wait(&changed, &mutex);
	(void)pthread_mutex_unlock(&mutex);
}

static void release(void)
{
	(void)pthread_mutex_lock(&mutex);
	released = true;
	(void)pthread_cond_broadcast(&changed);
	(void)pthread_mutex_unlock(&mutex);
}

static int name_of(const struct sockaddr_storage *address, char name[K2I_LOOKUP_NAME_ROOM])
{
	uint32_t number = number_of(address);

	(void)pthread_mutex_lock(&mutex);
	asked++;
	(void)pthread_mutex_unlock(&mutex);
	if (number >> 24 == 198)
		no_answer();
	if ((number & 255) == 1)
		return -ENOENT;
	if ((number & 255) == 2)
		return -EAGAIN;
	(void)snprintf(name, K2I_LOOKUP_NAME_ROOM, "h%u.example", number & 255);
	return 0;
}

/* 4 claims a name that is another's; of 5 it can't be said. */
static int leads_to(const char *name, const struct sockaddr_storage *address)
{
	(void)name;
	if (number_of(address) >> 24 == 203)
		no_answer();
	switch (number_of(address) & 255) {
	case 4:
		return -ENOENT;
	case 5:
		return -EAGAIN;
	default:
		return 0;
	}
}

static const struct k2i_lookup lookup = {name_of, leads_to};

static struct k2i_hosts *hosts_of(const char *name)
{
	struct k2i_sender_node node = {.name = (char *)(uintptr_t)name, .place = {"f.ini", 3}};
	const struct k2i_settings settings = {.senders = &node, .sender_count = name ? 1 : 0};
	struct k2i_hosts *hosts;

	assert_int_equal(k2i_hosts_compile(&settings, report, NULL, &hosts), 0);
	return hosts;
}

static struct k2i_admission *opened(const char *name)
{
	struct k2i_admission *admission;

	told = asked = 0;
	assert_int_equal(k2i_admission_open(hosts_of(name), &lookup, tell, &admission), 0);
	assert_non_null(admission);
	return admission;
}

static void closed(struct k2i_admission *admission)
{
	k2i_admission_stop(admission);
	k2i_admission_free(admission);
}

static char reason[K2I_ADMISSION_REASON_ROOM];

static enum k2i_verdict ask(struct k2i_admission *admission, const char *text, uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = port};
	struct k2i_owner owner = {NULL, 7};

	assert_int_equal(inet_pton(AF_INET, text, &address.sin_addr), 1);
	return k2i_admission_ask(admission, (const struct sockaddr *)&address, NULL, owner, reason);
}

static enum k2i_verdict ask_to_the_end(struct k2i_admission *admission, const char *text)
{
	unsigned before = told;

	assert_int_equal(ask(admission, text, 1), K2I_VERDICT_LATER);
	wait_told(before + 1);
	return ask(admission, text, 2);
}

TEST(test_addresses)
{
	struct k2i_admission *admission = opened("192.0.2.[8-9]");

	assert_int_equal(ask(admission, "192.0.2.8", 1), K2I_VERDICT_ADMITTED);
	assert_int_equal(asked, 0);
	assert_int_equal(ask_to_the_end(admission, "192.0.2.3"), K2I_VERDICT_REFUSED);
	assert_string_equal(reason, "its name is h3.example");
	closed(admission);
}

TEST(test_names)
{
	struct k2i_admission *admission = opened("h[3-5].example");

	assert_int_equal(ask_to_the_end(admission, "192.0.2.3"), K2I_VERDICT_ADMITTED);
	assert_int_equal(ask_to_the_end(admission, "192.0.2.1"), K2I_VERDICT_REFUSED);
	assert_string_equal(reason, "its address has no name");
	assert_int_equal(ask_to_the_end(admission, "192.0.2.2"), K2I_VERDICT_REFUSED);
	assert_string_equal(reason, "the name of its address can't be looked up now");
	assert_int_equal(ask_to_the_end(admission, "192.0.2.4"), K2I_VERDICT_REFUSED);
	assert_string_equal(reason, "its address has the name h4.example, which has other addresses");
	assert_int_equal(ask_to_the_end(admission, "192.0.2.5"), K2I_VERDICT_REFUSED);
	assert_string_equal(reason, "its address has the name h5.example, which can't be looked up now");
	/* It is remembered, whatever the port. */
	assert_int_equal(asked, 5);
	assert_int_equal(ask(admission, "192.0.2.3", 99), K2I_VERDICT_ADMITTED);
	assert_int_equal(asked, 5);
	closed(admission);
}

/* Answers for names that are not those of now count no more. */
TEST(test_change)
{
	struct k2i_admission *admission = opened(NULL);
	unsigned number;

	assert_int_equal(ask(admission, "192.0.2.3", 1), K2I_VERDICT_ADMITTED);
	assert_int_equal(asked, 0);
	k2i_admission_change(admission, hosts_of("h3.example"));
	assert_int_equal(ask_to_the_end(admission, "192.0.2.3"), K2I_VERDICT_ADMITTED);
	k2i_admission_change(admission, hosts_of("h9.example"));
	assert_int_equal(ask_to_the_end(admission, "192.0.2.3"), K2I_VERDICT_REFUSED);
	k2i_admission_change(admission, hosts_of("192.0.2.3"));
	assert_int_equal(ask(admission, "192.0.2.3", 1), K2I_VERDICT_ADMITTED);

	/* Looked up by the former names, and told of when it was looked up by the new ones. */
	for (number = 0; number < 2; number++) {
		const char *address = number ? "203.0.113.3" : "198.51.100.3";

		k2i_admission_change(admission, hosts_of("h3.example"));
		assert_int_equal(ask(admission, address, 1), K2I_VERDICT_LATER);
		wait_stuck(1);
		k2i_admission_change(admission, hosts_of("h9.example"));
		release();
		wait_told(3 + number);
		assert_int_equal(ask(admission, address, 1), K2I_VERDICT_REFUSED);
		assert_string_equal(reason, "its name is h3.example");
		assert_int_equal(told, 3 + number);
		released = false;
	}
	k2i_admission_change(admission, NULL);
	assert_int_equal(ask(admission, "198.51.100.3", 1), K2I_VERDICT_ADMITTED);
	closed(admission);
}

static uint64_t later_ns;

/* Named by the linker. */
int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	int error = __real_clock_gettime(clock, now);

	now->tv_sec += (time_t)(later_ns / K2I_SECOND_NS);
	return error;
}

/* A minute; what the name server did not know, ten seconds. */
TEST(test_remembered)
{
	static const char *const addresses[] = {"192.0.2.3", "192.0.2.1", "192.0.2.4", "192.0.2.2", "192.0.2.5"};
	static const unsigned seconds[] = {50, 50, 50, 5, 5};
	struct k2i_admission *admission = opened("h[3-5].example");
	unsigned number;

	for (number = 0; number < 5; number++) {
		(void)ask_to_the_end(admission, addresses[number]);
		later_ns += seconds[number] * UINT64_C(1000000000);
		assert_int_not_equal(ask(admission, addresses[number], 1), K2I_VERDICT_LATER);
		later_ns += seconds[number] * UINT64_C(1000000000);
		assert_int_equal(ask(admission, addresses[number], 1), K2I_VERDICT_LATER);
		wait_told(2 * number + 2);
	}
	closed(admission);
}

/* However many there are, they take nobody's place. */
TEST(test_many_refused)
{
	struct k2i_admission *admission = opened("h3.example");
	char text[32];
	unsigned number;

	assert_int_equal(ask_to_the_end(admission, "192.0.2.3"), K2I_VERDICT_ADMITTED);
	for (number = 0; number < 600; number++) {
		(void)snprintf(text, sizeof(text), "10.0.%u.%u", number / 100, 100 + number % 100);
		assert_int_equal(ask_to_the_end(admission, text), K2I_VERDICT_REFUSED);
	}
	assert_int_equal(asked, 601);
	assert_int_equal(ask(admission, "192.0.2.3", 1), K2I_VERDICT_ADMITTED);
	closed(admission);
}

static bool threads_refused;

int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
	return threads_refused ? EAGAIN : __real_pthread_create(thread, attributes, run, argument);
}

/* A peer that was not looked up for lack of a thread is when it comes again. */
TEST(test_no_thread)
{
	struct k2i_admission *admission = opened("h3.example");

	threads_refused = true;
	assert_int_equal(ask(admission, "192.0.2.3", 1), K2I_VERDICT_LATER);
	threads_refused = false;
	assert_int_equal(ask(admission, "192.0.2.3", 2), K2I_VERDICT_LATER);
	wait_told(2);
	assert_int_equal(ask(admission, "192.0.2.3", 3), K2I_VERDICT_ADMITTED);
	closed(admission);
}

TEST(test_stuck)
{
	struct k2i_admission *admission = opened("h[3-5].example");
	char text[32];
	unsigned number, busy = 0, later = 0;

	assert_int_equal(ask_to_the_end(admission, "192.0.2.3"), K2I_VERDICT_ADMITTED);
	for (number = 0; number < 1000; number++) {
		(void)snprintf(text, sizeof(text), "198.51.%u.%u", 100 + number / 250, 3 + number % 250);
		switch (ask(admission, text, 1)) {
		case K2I_VERDICT_LATER:
			later++;
			break;
		case K2I_VERDICT_BUSY:
			busy++;
			break;
		default:
			fail();
		}
	}
	/* However many are asked about, few are looked up and not many wait; who is known is not forgotten. */
	assert_int_equal(later, 511);
	assert_int_equal(busy, 489);
	wait_stuck(8);
	assert_int_equal(ask(admission, "192.0.2.3", 1), K2I_VERDICT_ADMITTED);
	/* The end does not wait for those that never come back, and those do no harm when they do. */
	closed(admission);
	(void)pthread_mutex_lock(&mutex);
	assert_int_equal(stuck, 8);
	released = true;
	(void)pthread_cond_broadcast(&changed);
	while (stuck > 0)
		(void)pthread_cond_wait(&changed, &mutex);
	(void)pthread_mutex_unlock(&mutex);
	assert_int_equal(told, 1);
}

/* The owner of an address gives it any name; only the name's owner says that it leads there. */
TEST(test_the_systems_names)
{
	struct sockaddr_in own = {.sin_family = AF_INET}, other = {.sin_family = AF_INET};
	struct sockaddr_in6 local = {.sin6_family = AF_INET6, .sin6_scope_id = 1};
	struct sockaddr_storage address;
	char text[K2I_LOOKUP_NAME_ROOM];

	assert_int_equal(inet_pton(AF_INET, "127.0.0.1", &own.sin_addr), 1);
	assert_int_equal(inet_pton(AF_INET, "192.0.2.1", &other.sin_addr), 1);
	assert_int_equal(inet_pton(AF_INET6, "fe80::1", &local.sin6_addr), 1);
	assert_true(k2i_lookup_address((struct sockaddr *)&own, &address));
	assert_int_equal(k2i_lookup_system.leads_to("127.0.0.1", &address), 0);
	assert_true(k2i_lookup_address((struct sockaddr *)&other, &address));
	assert_int_equal(k2i_lookup_system.leads_to("127.0.0.1", &address), -ENOENT);
	/* A name knows no interface, and NAME has none either. */
	assert_true(k2i_lookup_address((struct sockaddr *)&local, &address));
	assert_int_equal(k2i_lookup_system.leads_to("fe80::1", &address), 0);
	k2i_lookup_text(&address, text);
	assert_string_equal(text, "fe80::1");
}
