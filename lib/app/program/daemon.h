/* SPDX-License-Identifier: MIT */
#ifndef K2I_APP_PROGRAM_DAEMON_H
#define K2I_APP_PROGRAM_DAEMON_H

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
 * nothing of that. In both, systemd is told READY=1 if NOTIFY_SOCKET is set.
 */
void k2i_daemon_ready(void);
/*
 * For a process that the daemon has started by fork: its messages go where the daemon's do, and it leaves the terminal
 * too, but it speaks to neither parent nor systemd.
 */
void k2i_daemon_follow(void);
/* Gives the waiting parent its exit status; the caller then ends by itself. Without detach nothing happens. */
void k2i_daemon_failed(int status);

#endif
