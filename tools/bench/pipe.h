/* SPDX-License-Identifier: MIT */
#ifndef K2I_TOOLS_BENCH_PIPE_H
#define K2I_TOOLS_BENCH_PIPE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The plain pipe that everything is measured against: a file is read in pieces of 256 KiB, goes over loopback TCP to
 * another process, and is written there, with nothing in between, or by a program that reads it from a pipe; or that
 * process sends it on to the next one.
 */
struct bench_pipe {
	int input;
	uint64_t bytes;      /* to carry; the input is read again from its start when it ends before */
	const char *output;  /* made, or overwritten */
	const char *through; /* the program; NULL: none */
	unsigned relays;     /* how many processes send it on */
	double seconds, cpu_seconds;
};

/* Fills in the seconds; -errno. The descriptors of the process are inherited by one that ends before this returns. */
int bench_pipe_copy(struct bench_pipe *carried);

struct sockaddr_in;
/* A socket that listens on the loopback interface, or -errno. */
int bench_listener_open(struct sockaddr_in *address);
/* 0 or -errno. */
int bench_write_all(int output, const char *bytes, size_t count);
struct rusage;
double bench_cpu_s(const struct rusage *usage);

#endif
