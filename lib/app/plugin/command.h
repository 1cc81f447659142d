/* SPDX-License-Identifier: MIT */
#ifndef K2I_APP_PLUGIN_COMMAND_H
#define K2I_APP_PLUGIN_COMMAND_H

#include <stddef.h>

/* PLUGIN: [NAME=value ...] program [arguments], split at blanks, in quotes of either kind as it stands; no shell. */
struct k2i_plugin_command {
	char *path;         /* of the program, which is there */
	char **arguments;   /* as execve(2) has them */
	char **environment; /* all that the program gets */
};

/*
 * A program without a slash is looked for in PATH. -EINVAL the text is wrong, or -ENOENT, -EACCES and others the
 * program can't be run, with what is wrong in `message`; -ENOMEM.
 */
int k2i_plugin_command_parse(const char *text, struct k2i_plugin_command **command, char *message, size_t message_room);
void k2i_plugin_command_free(struct k2i_plugin_command *command);

#endif
