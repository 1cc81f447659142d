/* SPDX-License-Identifier: MIT */
#include "net/transport.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/thread.h"

/*
 * Shared by the client and the thread that looks the name up. The thread that leaves second frees it: getaddrinfo can't
 * be interrupted, and nobody shall wait for it.
 */
enum resolve_state { RESOLVE_RUNS, RESOLVE_DONE, RESOLVE_DROPPED };

struct k2i_resolve {
	_Atomic int state;
	struct addrinfo *addresses;
	int error;        /* of getaddrinfo */
	int system_error; /* errno, which EAI_SYSTEM leaves it to */
	int wake_descriptor;
	char *port;
	char host[];
};

static void resolve_free(struct k2i_resolve *resolve)
{
	if (resolve->addresses)
		freeaddrinfo(resolve->addresses);
	if (resolve->wake_descriptor >= 0)
		(void)close(resolve->wake_descriptor);
	free(resolve);
}

static void look_up(struct k2i_resolve *resolve, int flags)
{
	struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags};

	resolve->error = getaddrinfo(resolve->host, resolve->port, &hints, &resolve->addresses);
	resolve->system_error = errno;
	if (resolve->error)
		resolve->addresses = NULL;
}

static void *resolve_main(void *argument)
{
	struct k2i_resolve *resolve = argument;
	uint64_t one = 1;
	int wake_descriptor = resolve->wake_descriptor;

	look_up(resolve, 0);
	resolve->wake_descriptor = -1;
	/*
	 * The release half shows the addresses to the thread that takes them; from then on they may be gone at any
	 * time. The acquire half orders the free behind all that k2i_resolve_drop's thread did.
	 */
	if (atomic_exchange_explicit(&resolve->state, RESOLVE_DONE, memory_order_acq_rel) == RESOLVE_DROPPED)
		resolve_free(resolve);
	else
		(void)!write(wake_descriptor, &one, sizeof(one));
	(void)close(wake_descriptor);
	return NULL;
}

static int thread_start(struct k2i_resolve *resolve)
{
	pthread_t thread;
	int error = k2i_thread_start(&thread, resolve_main, resolve);

	if (error == 0)
		(void)pthread_detach(thread);
	return error;
}

static struct k2i_resolve *resolve_make(const char *host, const char *port)
{
	size_t host_bytes = strlen(host) + 1, port_bytes = strlen(port) + 1;
	struct k2i_resolve *resolve = malloc(sizeof(*resolve) + host_bytes + port_bytes);

	if (!resolve)
		return NULL;
	*resolve = (struct k2i_resolve){.port = resolve->host + host_bytes, .wake_descriptor = -1};
	atomic_init(&resolve->state, RESOLVE_RUNS);
	memcpy(resolve->host, host, host_bytes);
	memcpy(resolve->port, port, port_bytes);
	return resolve;
}

int k2i_resolve_start(const char *host, const char *port, int wake_descriptor, struct k2i_resolve **resolve)
{
	struct k2i_resolve *made = resolve_make(host, port);

	if (!made)
		return -ENOMEM;
	*resolve = made;
	look_up(made, AI_NUMERICHOST);
	if (made->error) {
		made->wake_descriptor = fcntl(wake_descriptor, F_DUPFD_CLOEXEC, 0);
		if (made->wake_descriptor >= 0 && thread_start(made) == 0)
			return 0;
		look_up(made, 0);
	}
	/* relaxed: no other thread knows of it. */
	atomic_store_explicit(&made->state, RESOLVE_DONE, memory_order_relaxed);
	return 0;
}

int k2i_resolve_take(struct k2i_resolve *resolve, struct addrinfo **addresses, const char **reason)
{
	/* Acquire: pairs with the exchange of resolve_main. */
	if (atomic_load_explicit(&resolve->state, memory_order_acquire) != RESOLVE_DONE)
		return -EINPROGRESS;
	if (resolve->error) {
		*reason = resolve->error == EAI_SYSTEM ? strerror(resolve->system_error) : gai_strerror(resolve->error);
		return -ENOENT;
	}
	*addresses = resolve->addresses;
	resolve->addresses = NULL;
	return 0;
}

void k2i_resolve_drop(struct k2i_resolve *resolve)
{
	/*
	 * The acquire half pairs with the exchange of resolve_main: the addresses that are freed here are its last
	 * write.
	 */
	if (resolve && atomic_exchange_explicit(&resolve->state, RESOLVE_DROPPED, memory_order_acq_rel) == RESOLVE_DONE)
		resolve_free(resolve);
}
