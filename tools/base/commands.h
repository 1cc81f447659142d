/* SPDX-License-Identifier: MIT */
#ifndef K2I_TOOLS_BASE_COMMANDS_H
#define K2I_TOOLS_BASE_COMMANDS_H

/*
 * The subcommands of k2hft, one a file. argv[0] is the name for messages ("k2hft check"); getopt is at its start. The
 * return value is the exit status: STATUS_OK, STATUS_FAILED, STATUS_WRONG, or what is said behind them.
 */
int k2i_command_bench(int argc, char **argv); /* STATUS_FOUND: something got worse */
int k2i_command_check(int argc, char **argv);
int k2i_command_key(int argc, char **argv);
int k2i_command_push(int argc, char **argv);
int k2i_command_reload(int argc, char **argv);
int k2i_command_serve(int argc, char **argv);
int k2i_command_stat(int argc, char **argv); /* STATUS_FOUND: records were lost */
int k2i_command_tap(int argc, char **argv);
int k2i_command_testio(int argc, char **argv); /* 128 and a signal's number: that ended it */
int k2i_command_verify(int argc, char **argv); /* STATUS_FOUND: records are missing, repeated or damaged */

/* Explains a configuration key, in each section that has it. -ENOENT: there is no such key. */
int k2i_key_explain(const char *name);
/* Explains a counter of `k2hft stat`, by its name or that of its metric. -ENOENT: there is no such counter. */
int k2i_counter_explain(const char *name);
/* All keys, and all counters, as k2i_nearest_consider. */
void k2i_counter_nearest_consider(const char *name, const char **best, unsigned *best_distance);
void k2i_key_nearest_consider(const char *name, const char **best, unsigned *best_distance);

#endif
