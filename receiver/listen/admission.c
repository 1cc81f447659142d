/* SPDX-License-Identifier: MIT */
#include "receiver/listen/admission.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "net/tls/tls.h"

#define HOSTS_MAX 512u /* remembered, or waited for */
#define THREADS_MAX 8u /* a name server that does not answer holds one for some ten seconds */
#define KNOWN_NS UINT64_C(60000000000)
#define UNCLEAR_NS UINT64_C(10000000000) /* for an address that the name server could not tell */

struct waiter {
	struct waiter *next;
	struct k2i_owner owner;
};

enum entry_state { ENTRY_FREE, ENTRY_WAITING, ENTRY_RUNNING, ENTRY_KNOWN };

struct entry {
	enum entry_state state;
	struct sockaddr_storage address;
	bool admitted;
	uint64_t number;   /* WAITING: the lowest is next */
	uint64_t until_ns; /* KNOWN */
	struct waiter *waiters;
	char reason[K2I_LOOKUP_NAME_ROOM + 64];
};

struct k2i_admission {
	const struct k2i_lookup *lookup;
	pthread_mutex_t mutex;    /* guards all else, and the matching */
	struct k2i_hosts *hosts;  /* NULL: anybody may connect */
	uint64_t changes;         /* counts changes of hosts: an older verdict is void */
	k2i_admission_tell *tell; /* NULL: stopped */
	unsigned holders;         /* threads, and the opener */
	unsigned thread_count;
	uint64_t next_number;
	struct entry entries[HOSTS_MAX];
};

/* Names ---------------------------------------------------------------------------------------------------------- */

static bool hosts_named(struct k2i_admission *admission, const char *name)
{
	bool found;

	(void)pthread_mutex_lock(&admission->mutex);
	found = !admission->hosts || k2i_hosts_match(admission->hosts, name);
	(void)pthread_mutex_unlock(&admission->mutex);
	return found;
}

/* Finds out whether an address is admitted, or why not. False: the name server could not tell. */
static bool entry_find(struct k2i_admission *admission, struct entry *entry)
{
	char name[K2I_LOOKUP_NAME_ROOM];
	int error = admission->lookup->name_of(&entry->address, name);

	entry->admitted = false;
	if (error) {
		(void)snprintf(entry->reason, sizeof(entry->reason),
			       error == -EAGAIN ? "the name of its address can't be looked up now"
						: "its address has no name");
		return error != -EAGAIN;
	}
	if (!hosts_named(admission, name)) {
		(void)snprintf(entry->reason, sizeof(entry->reason), "its name is %s", name);
		return true;
	}
	error = admission->lookup->leads_to(name, &entry->address);
	entry->admitted = error == 0;
	if (error)
		(void)snprintf(entry->reason, sizeof(entry->reason), "its address has the name %s, which %s", name,
			       error == -EAGAIN ? "can't be looked up now" : "has other addresses");
	return error != -EAGAIN;
}

/* Threads -------------------------------------------------------------------------------------------------------- */

static struct entry *entry_next(struct k2i_admission *admission)
{
	struct entry *entry, *next = NULL;

	for (entry = admission->entries; entry < admission->entries + HOSTS_MAX; entry++)
		if (entry->state == ENTRY_WAITING && (!next || entry->number < next->number))
			next = entry;
	return next;
}

static void waiters_free(struct entry *entry)
{
	struct waiter *waiter;

	while ((waiter = entry->waiters) != NULL) {
		entry->waiters = waiter->next;
		free(waiter);
	}
}

static void admission_release(struct k2i_admission *admission)
{
	unsigned left, number;

	(void)pthread_mutex_lock(&admission->mutex);
	left = --admission->holders;
	(void)pthread_mutex_unlock(&admission->mutex);
	if (left > 0)
		return;
	for (number = 0; number < HOSTS_MAX; number++)
		waiters_free(&admission->entries[number]);
	k2i_hosts_free(admission->hosts);
	(void)pthread_mutex_destroy(&admission->mutex);
	free(admission);
}

/* Called with the mutex held, and releases it during the look-up. */
static void entry_run(struct k2i_admission *admission, struct entry *entry)
{
	struct entry found = {.address = entry->address};
	const struct waiter *waiter;
	uint64_t changes = admission->changes;
	bool clear;

	entry->state = ENTRY_RUNNING;
	(void)pthread_mutex_unlock(&admission->mutex);
	clear = entry_find(admission, &found);
	(void)pthread_mutex_lock(&admission->mutex);
	if (changes != admission->changes) {
		entry->state = ENTRY_WAITING;
		return;
	}
	entry->state = ENTRY_KNOWN;
	entry->admitted = found.admitted;
	memcpy(entry->reason, found.reason, sizeof(entry->reason));
	entry->until_ns = k2i_clock_now_ns() + (clear ? KNOWN_NS : UNCLEAR_NS);
	for (waiter = entry->waiters; waiter && admission->tell; waiter = waiter->next)
		admission->tell(waiter->owner);
	waiters_free(entry);
}

static void *lookup_run(void *argument)
{
	struct k2i_admission *admission = argument;
	struct entry *entry;

	(void)pthread_mutex_lock(&admission->mutex);
	while (admission->tell && (entry = entry_next(admission)) != NULL)
		entry_run(admission, entry);
	admission->thread_count--;
	(void)pthread_mutex_unlock(&admission->mutex);
	admission_release(admission);
	return NULL;
}

/*
 * Starts one more thread up to THREADS_MAX. Without any thread an address stays queued until the next connection asks.
 */
static void lookup_thread_start(struct k2i_admission *admission)
{
	pthread_t thread;

	if (admission->thread_count == THREADS_MAX || k2i_thread_start(&thread, lookup_run, admission))
		return;
	(void)pthread_detach(thread);
	admission->thread_count++;
	admission->holders++;
}

/* Asking --------------------------------------------------------------------------------------------------------- */

/*
 * The entry of this address, or one that can be given to it, which never is of an admitted host; NULL: all are in use.
 */
static struct entry *entry_of(struct k2i_admission *admission, const struct sockaddr_storage *address, uint64_t now_ns)
{
	struct entry *entry, *spare = NULL;

	for (entry = admission->entries; entry < admission->entries + HOSTS_MAX; entry++) {
		if (entry->state == ENTRY_KNOWN && now_ns >= entry->until_ns)
			entry->state = ENTRY_FREE;
		if (entry->state != ENTRY_FREE && memcmp(&entry->address, address, sizeof(*address)) == 0)
			return entry;
		if (entry->state == ENTRY_FREE && (!spare || spare->state != ENTRY_FREE))
			spare = entry;
		else if (entry->state == ENTRY_KNOWN && !entry->admitted &&
			 (!spare || (spare->state == ENTRY_KNOWN && entry->until_ns < spare->until_ns)))
			spare = entry;
	}
	if (!spare)
		return NULL;
	*spare = (struct entry){.state = ENTRY_FREE, .address = *address};
	return spare;
}

static enum k2i_verdict entry_wait(struct k2i_admission *admission, struct entry *entry, struct k2i_owner owner)
{
	struct waiter *waiter = malloc(sizeof(*waiter));

	if (!waiter)
		return K2I_VERDICT_BUSY;
	*waiter = (struct waiter){entry->waiters, owner};
	entry->waiters = waiter;
	if (entry->state == ENTRY_FREE) {
		entry->state = ENTRY_WAITING;
		entry->number = admission->next_number++;
	}
	if (entry->state == ENTRY_WAITING)
		lookup_thread_start(admission);
	return K2I_VERDICT_LATER;
}

static enum k2i_verdict verdict_by_name(struct k2i_admission *admission, const struct sockaddr_storage *address,
					struct k2i_owner owner, char reason[K2I_ADMISSION_REASON_ROOM])
{
	enum k2i_verdict verdict = K2I_VERDICT_BUSY;
	struct entry *entry;

	(void)pthread_mutex_lock(&admission->mutex);
	entry = entry_of(admission, address, k2i_clock_now_ns());
	if (entry && entry->state == ENTRY_KNOWN)
		verdict = entry->admitted ? K2I_VERDICT_ADMITTED : K2I_VERDICT_REFUSED;
	else if (entry)
		verdict = entry_wait(admission, entry, owner);
	(void)snprintf(reason, K2I_ADMISSION_REASON_ROOM, "%s",
		       verdict == K2I_VERDICT_BUSY ? "too many names are being looked up" : entry->reason);
	(void)pthread_mutex_unlock(&admission->mutex);
	return verdict;
}

struct certificate_look {
	struct k2i_admission *admission;
	char *reason; /* K2I_ADMISSION_REASON_ROOM */
	bool named;   /* the first name is in `reason` */
};

static bool certificate_name_look(void *argument, const char *name)
{
	struct certificate_look *look = argument;

	if (hosts_named(look->admission, name))
		return true;
	if (!look->named)
		(void)snprintf(look->reason, K2I_ADMISSION_REASON_ROOM, "its certificate is for %s", name);
	look->named = true;
	return false;
}

/* -ENOENT: the peer has no verified certificate. */
static int verdict_by_certificate(struct k2i_admission *admission, const struct k2i_tls *tls, enum k2i_verdict *verdict,
				  char reason[K2I_ADMISSION_REASON_ROOM])
{
	struct certificate_look look = {.admission = admission, .reason = reason};

	*verdict = K2I_VERDICT_REFUSED;
	if (!k2i_tls_peer_certified(tls))
		return -ENOENT;
	(void)snprintf(reason, K2I_ADMISSION_REASON_ROOM, "its certificate has no name");
	if (k2i_tls_peer_is(tls, certificate_name_look, &look))
		*verdict = K2I_VERDICT_ADMITTED;
	return 0;
}

enum k2i_verdict k2i_admission_ask(struct k2i_admission *admission, const struct sockaddr *peer,
				   const struct k2i_tls *tls, struct k2i_owner owner,
				   char reason[K2I_ADMISSION_REASON_ROOM])
{
	struct sockaddr_storage address;
	char text[K2I_LOOKUP_NAME_ROOM];
	enum k2i_verdict verdict;

	(void)snprintf(reason, K2I_ADMISSION_REASON_ROOM, "it has no address");
	if (!k2i_lookup_address(peer, &address))
		return K2I_VERDICT_REFUSED;
	k2i_lookup_text(&address, text);
	if (hosts_named(admission, text))
		return K2I_VERDICT_ADMITTED;
	if (tls && verdict_by_certificate(admission, tls, &verdict, reason) == 0)
		return verdict;
	return verdict_by_name(admission, &address, owner, reason);
}

/* Contract ------------------------------------------------------------------------------------------------------- */

int k2i_admission_open(struct k2i_hosts *hosts, const struct k2i_lookup *lookup, k2i_admission_tell *tell,
		       struct k2i_admission **admission)
{
	struct k2i_admission *opened = calloc(1, sizeof(*opened));

	*admission = opened;
	if (!opened) {
		k2i_hosts_free(hosts);
		return -ENOMEM;
	}
	(void)pthread_mutex_init(&opened->mutex, NULL);
	opened->hosts = hosts;
	opened->lookup = lookup;
	opened->tell = tell;
	opened->holders = 1;
	return 0;
}

void k2i_admission_change(struct k2i_admission *admission, struct k2i_hosts *hosts)
{
	struct k2i_hosts *former;
	struct entry *entry;

	(void)pthread_mutex_lock(&admission->mutex);
	former = admission->hosts;
	admission->hosts = hosts;
	admission->changes++;
	for (entry = admission->entries; entry < admission->entries + HOSTS_MAX; entry++)
		if (entry->state == ENTRY_KNOWN)
			entry->state = ENTRY_FREE;
	(void)pthread_mutex_unlock(&admission->mutex);
	k2i_hosts_free(former);
}

void k2i_admission_stop(struct k2i_admission *admission)
{
	if (!admission)
		return;
	(void)pthread_mutex_lock(&admission->mutex);
	admission->tell = NULL;
	(void)pthread_mutex_unlock(&admission->mutex);
}

void k2i_admission_free(struct k2i_admission *admission)
{
	if (admission)
		admission_release(admission);
}
