/* SPDX-License-Identifier: MIT */
#ifndef K2I_APP_PROGRAM_DAEMON_H
#define K2I_APP_PROGRAM_DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"

/*
 * Start, log and end of a program. Messages (k2i_log) go to standard error in the foreground ("k2hftfuse: text", with
 * "<4>" or another level in front if that is systemd's journal) and to syslog (facility daemon) in the background,
 * without waiting for it; to a file if one is set. -errno as open(2), which standard error has been told.
 */
int k2i_daemon_log_open(const char *program, enum k2hft_log_level level, const char *file);
/*
 * err, wan, msg, dump, silent as K2HFTFUSE names them, and error, warning, info, debug. silent is for what need not be
 * known: why a program can't start has to be, so it is err. -EINVAL
 */
int k2i_daemon_level_parse(const char *text, enum k2hft_log_level *level);

struct sockaddr_un;

/*
 * Goes to the background: the caller returns in the child; the parent waits until the child says ready (exit 0) or
 * failed (its message is on standard error already, exit with that status), or dies (exit 1). Before any thread. 0 or
 * -errno (in the caller's own process, still in the foreground).
 */
int k2i_daemon_detach(void);
/* In the background: leaves the session and the process group of whoever has started it. */
void k2i_daemon_leave(void);
/*
 * Only the first call counts. In the background: messages go to syslog (or stay in their file) from then on, standard
 * error is closed and the working directory is /, so that relative paths must be resolved before. In the foreground
 * nothing of that. In both, systemd is told READY=1 if NOTIFY_SOCKET is set, which is for this program only.
 */
void k2i_daemon_ready(void);
/*
 * More for systemd, see sd_notify(3). Without it, or before k2i_daemon_ready, nothing happens. None of them waits or takes
 * memory. A reload is told when it begins and when it is done, by any thread, the others by one.
 */
void k2i_daemon_reloading(bool done);
void k2i_daemon_stopping(void);
/* A line for people. The same as before is not told again. */
void k2i_daemon_status(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* So long systemd waits for a k2i_daemon_alive before it ends the program; 0: for ever. */
uint64_t k2i_daemon_watchdog_ns(void);
/* The program makes progress: to be called as long as that is so, at least three times in k2i_daemon_watchdog_ns. */
void k2i_daemon_alive(void);

/*
 * The number of descriptors that systemd has for this very process, see sd_listen_fds(3): from K2I_DAEMON_DESCRIPTORS_FIRST
 * on. Their names, in that order and with a colon between two, are in `names`. To be called before other threads are
 * there; a second call finds none. -EINVAL, or -errno: they are not there.
 */
int k2i_daemon_descriptors(char *names, size_t names_room);
#define K2I_DAEMON_DESCRIPTORS_FIRST 3
/* Sends `text`, which is not empty, with a copy of `fd`; -1: without. `address`: NULL, the socket is connected. 0 or -errno. */
int k2i_daemon_descriptor_send(int to, const struct sockaddr_un *address, unsigned address_bytes, const char *text,
			       int fd);
/*
 * systemd keeps a copy of `fd`, and hands it to the process that it starts in place of this one, see FDSTORE=1 in
 * sd_notify(3), from k2i_daemon_ready on; or it keeps none of this name any more. 0, -ENOTCONN: there is no systemd, or
 * -errno.
 */
int k2i_daemon_descriptor_keep(const char *name, int fd);
int k2i_daemon_descriptor_drop(const char *name);
/*
 * For a process that the daemon has started by fork: its messages go where the daemon's do, and it leaves the terminal
 * too, but it speaks to neither parent nor systemd.
 */
void k2i_daemon_follow(void);
/* Gives the waiting parent its exit status; the caller then ends by itself. Without detach nothing happens. */
void k2i_daemon_failed(int status);

#endif
