/* SPDX-License-Identifier: MIT */
#include "ring/handle.h"

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/caller.h"

/*
 * Two ways to wake the consumer. Its own process writes to an eventfd. A process that is attached writes a byte into the
 * header through its descriptor of the file, and an inotify watch of the consumer sees that: it works with whatever
 * user, namespace or later consumer there is, where a descriptor of the consumer's would have to be found and opened
 * anew. Without inotify (its instances are limited, and a sender with many receivers has as many rings) the consumer looks
 * every few milliseconds while a process is attached, and else now and then whether one is.
 */
#define POLL_INTERVAL_NS 5000000
#define POLL_ALONE_NS 500000000

static int epoll_add(int epoll, int descriptor)
{
	struct epoll_event event = {.events = EPOLLIN};

	return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) ? -errno : 0;
}

static int timer_open(struct k2hft_ring *ring)
{
	ring->wake_timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	return ring->wake_timer < 0 ? -errno : epoll_add(ring->wake_epoll, ring->wake_timer);
}

int k2i_wake_open(struct k2hft_ring *ring)
{
	int error;

	ring->wake_epoll = epoll_create1(EPOLL_CLOEXEC);
	if (ring->wake_epoll < 0)
		return -errno;
	ring->wake_event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (ring->wake_event < 0)
		return -errno;
	error = epoll_add(ring->wake_epoll, ring->wake_event);
	if (error)
		return error;
	ring->wake_inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	return ring->wake_inotify < 0 ? timer_open(ring) : epoll_add(ring->wake_epoll, ring->wake_inotify);
}

static void descriptor_close(int *descriptor)
{
	if (*descriptor >= 0)
		(void)close(*descriptor);
	*descriptor = -1;
}

int k2i_wake_watch(struct k2hft_ring *ring)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", ring->descriptor);
	if (ring->wake_inotify < 0 || inotify_add_watch(ring->wake_inotify, path, IN_MODIFY) >= 0)
		return 0;
	descriptor_close(&ring->wake_inotify);
	return timer_open(ring);
}

void k2i_wake_close(struct k2hft_ring *ring)
{
	descriptor_close(&ring->wake_epoll);
	descriptor_close(&ring->wake_event);
	descriptor_close(&ring->wake_inotify);
	descriptor_close(&ring->wake_timer);
}

static bool others_attached(const struct k2hft_ring *ring)
{
	unsigned used = k2i_slots_used(ring), at = 0;

	/* relaxed: one that is not seen yet is at the next look. */
	while (at < used && !atomic_load_explicit(&ring->slots[at].attachment, memory_order_relaxed))
		at++;
	return at < used;
}

void k2i_wake_arm(struct k2hft_ring *ring)
{
	struct itimerspec once = {.it_value = {.tv_nsec = POLL_INTERVAL_NS}};

	if (ring->wake_timer < 0)
		return;
	if (!others_attached(ring))
		once.it_value.tv_nsec = POLL_ALONE_NS;
	(void)timerfd_settime(ring->wake_timer, 0, &once, NULL);
}

/*
 * The sleep is ended only after the wake is on its way: a producer that dies in between must not take it along. Several
 * producers may knock for one sleep then, which is harmless; each sleep has a number of its own, so none of them ends a
 * later one.
 */
void k2i_consumer_wake(struct k2hft_ring *ring)
{
	size_t knock_at = offsetof(struct k2i_ring_header, knock);
	/* relaxed: not older than what the caller saw; what it wakes for is published by R1. */
	uint32_t sleep = atomic_load_explicit(&ring->header->sleeping, memory_order_relaxed);
	uint64_t one = 1;
	uint8_t knock = 0;
	ssize_t written;
	/* The commit that wakes is not at its end yet. */
	K2I_CANCEL_DISABLED;
	K2I_ERRNO_KEPT;

	if (sleep == 0)
		return;
	do {
		written = ring->consumer ? write(ring->wake_event, &one, sizeof(one))
					 : pwrite(ring->descriptor, &knock, 1, (off_t)knock_at);
	} while (written < 0 && errno == EINTR);
	/*
	 * relaxed: it saves the next producer the knocking, no more. A producer that may not knock leaves it to the
	 * next.
	 */
	if (written > 0)
		(void)atomic_compare_exchange_strong_explicit(&ring->header->sleeping, &sleep, 0, memory_order_relaxed,
							      memory_order_relaxed);
}

int k2hft_ring_wake_descriptor(const struct k2hft_ring *ring)
{
	return ring->consumer ? ring->wake_epoll : -EINVAL;
}

void k2hft_ring_awake(struct k2hft_ring *ring)
{
	char events[1024];
	K2I_ERRNO_KEPT;

	if (!ring->consumer)
		return;
	/* relaxed: one wake too many is harmless, and the caller reads next. */
	atomic_store_explicit(&ring->header->sleeping, 0, memory_order_relaxed);
	while (read(ring->wake_event, events, sizeof(events)) > 0)
		continue;
	while (ring->wake_inotify >= 0 && read(ring->wake_inotify, events, sizeof(events)) > 0)
		continue;
	while (ring->wake_timer >= 0 && read(ring->wake_timer, events, sizeof(events)) > 0)
		continue;
}

void k2i_consumer_sleep_end(struct k2hft_ring *ring)
{
	/* relaxed: as in k2hft_ring_awake. */
	atomic_store_explicit(&ring->header->sleeping, 0, memory_order_relaxed);
}

void k2i_consumer_wake_asleep(struct k2hft_ring *ring)
{
	/* A6 */
	if (atomic_load_explicit(&ring->header->sleeping, memory_order_seq_cst))
		k2i_consumer_wake(ring);
}
