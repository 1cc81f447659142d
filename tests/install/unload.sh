#!/bin/sh
# SPDX-License-Identifier: MIT
# A plug-in that uses the library can be unloaded while a name is looked up: that thread is not waited for, and goes on.
set -eu
build=${B:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/host.c" <<'END'
#include <dirent.h>
#include <dlfcn.h>
#include <netdb.h>
#include <sched.h>
#include <semaphore.h>

#include <k2hft/sender.h>

static sem_t looked_up, unloaded;

/* In place of the C library's: takes as long as a name server that does not answer. */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **addresses)
{
	(void)node;
	(void)service;
	(void)addresses;
	if (!(hints->ai_flags & AI_NUMERICHOST)) {
		sem_post(&looked_up);
		sem_wait(&unloaded);
	}
	return EAI_NONAME;
}

static int threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	int count = -2; /* . and .. */

	while (readdir(tasks))
		count++;
	closedir(tasks);
	return count;
}

int main(int argc, char **argv)
{
	struct k2hft_sender_options options = {.size = sizeof(options), .host = "none.example", .port = "1"};
	void *library = dlopen(argv[argc - 1], RTLD_NOW);
	int (*sender_open)(const struct k2hft_sender_options *, struct k2hft_sender **);
	int (*sender_close)(struct k2hft_sender *, int);
	struct k2hft_sender *sender;

	if (!library || sem_init(&looked_up, 0, 0) || sem_init(&unloaded, 0, 0))
		return 1;
	*(void **)&sender_open = dlsym(library, "k2hft_sender_open");
	*(void **)&sender_close = dlsym(library, "k2hft_sender_close");
	if (sender_open(&options, &sender))
		return 2;
	sem_wait(&looked_up);
	if (sender_close(sender, 0) || dlclose(library))
		return 3;
	sem_post(&unloaded);
	while (threads() > 1)
		sched_yield();
	return 0;
}
END
"${CC:-cc}" -Wall -Wextra -Werror -Iinclude -rdynamic -pthread -o "$work/host" "$work/host.c" -ldl
"$work/host" "$build/lib/libk2hft.so"
