/* SPDX-License-Identifier: MIT */
/*
 * A link of a given rate, without rights and without another machine: a process on the loopback interface passes on what
 * senders send, and no more of it than such a link would carry. Answers are let through.
 */
#include "tools/bench/bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define PIECE_BYTES 16384u
/* A switch has little memory: what waits is to wait at the sender, where it can be seen and compressed. */
#define SOCKET_BYTES (256 * 1024)
/* TCP's payload in the 1,538 bytes of an Ethernet frame. */
#define PAYLOAD_SHARE (1448.0 / 1538.0)
/* How much may go at once after a pause. */
#define BURST_NS 1000000.0
#define WAIT_NS 100000

struct flow {
	char bytes[PIECE_BYTES];
	size_t begin, end;
};

struct link {
	int listener;
	struct sockaddr_in receiver;
	double bytes_per_ns, credit, credit_max;
	uint64_t paid_ns;
	unsigned count;
	struct pollfd polled[1 + 2 * BENCH_SENDERS_MAX]; /* the listener, then each pair: sender, receiver */
	struct flow *up, *down;
};

static void credit_take(struct link *link)
{
	uint64_t now = k2i_clock_ns(CLOCK_MONOTONIC);

	link->credit += (double)(now - link->paid_ns) * link->bytes_per_ns;
	if (link->credit > link->credit_max)
		link->credit = link->credit_max;
	link->paid_ns = now;
}

static void pair_accept(struct link *link)
{
	int sender = accept4(link->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), receiver, on = 1;

	if (sender < 0)
		return;
	receiver = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (link->count == BENCH_SENDERS_MAX || receiver < 0 ||
	    connect(receiver, (const struct sockaddr *)&link->receiver, sizeof(link->receiver)) ||
	    setsockopt(receiver, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) ||
	    setsockopt(sender, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on))) {
		(void)close(sender);
		if (receiver >= 0)
			(void)close(receiver);
		return;
	}
	link->polled[1 + 2 * link->count].fd = sender;
	link->polled[2 + 2 * link->count].fd = receiver;
	link->up[link->count].begin = link->up[link->count].end = 0;
	link->down[link->count].begin = link->down[link->count].end = 0;
	link->count++;
}

static void pair_close(struct link *link, unsigned number)
{
	(void)close(link->polled[1 + 2 * number].fd);
	(void)close(link->polled[2 + 2 * number].fd);
	link->count--;
	link->polled[1 + 2 * number] = link->polled[1 + 2 * link->count];
	link->polled[2 + 2 * number] = link->polled[2 + 2 * link->count];
	link->up[number] = link->up[link->count];
	link->down[number] = link->down[link->count];
}

/* Takes `most` bytes at most, and passes on what it has. -1: one side has ended. */
static ssize_t flow_move(struct flow *flow, int from, int to, size_t most)
{
	ssize_t got = 0, put;

	if (flow->begin == flow->end && most) {
		got = recv(from, flow->bytes, most < PIECE_BYTES ? most : PIECE_BYTES, MSG_DONTWAIT);
		if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
			return -1;
		got = got < 0 ? 0 : got;
		flow->begin = 0;
		flow->end = (size_t)got;
	}
	if (flow->begin < flow->end) {
		put = send(to, flow->bytes + flow->begin, flow->end - flow->begin, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (put < 0 && errno != EAGAIN && errno != EINTR)
			return -1;
		flow->begin += put > 0 ? (size_t)put : 0;
	}
	return got;
}

static void pairs_move(struct link *link)
{
	unsigned number;

	for (number = link->count; number-- > 0;) {
		int sender = link->polled[1 + 2 * number].fd, receiver = link->polled[2 + 2 * number].fd;
		ssize_t up =
			flow_move(&link->up[number], sender, receiver, link->credit >= PIECE_BYTES ? PIECE_BYTES : 0);

		if (up > 0)
			link->credit -= (double)up;
		if (up < 0 || flow_move(&link->down[number], receiver, sender, PIECE_BYTES) < 0)
			pair_close(link, number);
	}
}

/* Sets the events that each side is waited for. Senders are not read from while there is no credit. */
static void events_set(struct link *link)
{
	unsigned number;

	link->polled[0] = (struct pollfd){.fd = link->listener, .events = POLLIN};
	for (number = 0; number < link->count; number++) {
		bool up_full = link->up[number].begin < link->up[number].end;
		bool down_full = link->down[number].begin < link->down[number].end;
		int from_sender = !up_full && link->credit >= PIECE_BYTES ? POLLIN : 0;

		link->polled[1 + 2 * number].events = (short)(from_sender | (down_full ? POLLOUT : 0));
		link->polled[2 + 2 * number].events = (short)((down_full ? 0 : POLLIN) | (up_full ? POLLOUT : 0));
	}
}

static _Noreturn void link_serve(struct link *link)
{
	const struct timespec wait = {.tv_nsec = WAIT_NS};

	link->up = calloc(BENCH_SENDERS_MAX, sizeof(*link->up));
	link->down = calloc(BENCH_SENDERS_MAX, sizeof(*link->down));
	if (!link->up || !link->down)
		_exit(1);
	link->paid_ns = k2i_clock_ns(CLOCK_MONOTONIC);
	/* A slow link has credit for one piece all the same. */
	link->credit_max = BURST_NS * link->bytes_per_ns > PIECE_BYTES ? BURST_NS * link->bytes_per_ns : PIECE_BYTES;
	for (;;) {
		credit_take(link);
		events_set(link);
		/* Without credit the time is what is waited for. */
		(void)ppoll(link->polled, 1 + 2 * link->count, link->credit < PIECE_BYTES ? &wait : NULL, NULL);
		credit_take(link);
		pairs_move(link);
		if (link->polled[0].revents)
			pair_accept(link);
	}
}

static int listener_open(struct sockaddr_in *address)
{
	socklen_t address_bytes = sizeof(*address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), bytes = SOCKET_BYTES;

	*address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (listener >= 0 && setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)) == 0 &&
	    bind(listener, (struct sockaddr *)address, sizeof(*address)) == 0 &&
	    listen(listener, (int)BENCH_SENDERS_MAX) == 0 &&
	    getsockname(listener, (struct sockaddr *)address, &address_bytes) == 0)
		return listener;
	bench_error("link: %s", strerror(errno));
	if (listener >= 0)
		(void)close(listener);
	return -1;
}

int bench_link_start(struct bench_run *run)
{
	struct link link = {.bytes_per_ns = (double)run->point.link_mbit * PAYLOAD_SHARE / 8e3};
	struct sockaddr_in own;

	link.receiver = (struct sockaddr_in){.sin_family = AF_INET,
					     .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
					     .sin_port = htons((uint16_t)strtoul(run->ports[0], NULL, 10))};
	link.listener = listener_open(&own);
	if (link.listener < 0)
		return -1;
	run->link.pid = fork();
	if (run->link.pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)signal(SIGINT, SIG_IGN);
		(void)signal(SIGTERM, SIG_DFL);
		link_serve(&link);
	}
	(void)close(link.listener);
	if (run->link.pid < 0) {
		run->link.pid = 0;
		return bench_failed(-1, "fork: %s", strerror(errno));
	}
	(void)snprintf(run->ports[0], sizeof(run->ports[0]), "%u", (unsigned)ntohs(own.sin_port));
	return 0;
}
