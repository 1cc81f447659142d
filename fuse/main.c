/* SPDX-License-Identifier: MIT */
/* k2hftfuse(8): mounts a directory; what is written to the files below it is sent. */
#include <stdio.h>
#include <stdlib.h>

#include <k2hft/version.h>

#include "app/program/daemon.h"
#include "fuse/keeper/keeper.h"
#include "fuse/base/options.h"
#include "app/program/standard.h"
#include "fuse/keeper/start.h"
#include "fuse/keeper/takeover.h"

static int print(const struct k2i_mount_options *options)
{
	if (options->help)
		k2i_mount_options_help();
	else
		printf("k2hftfuse %s, libfuse %s\n", K2HFT_VERSION_STRING, fuse_pkgversion());
	return k2i_standard_flush(stdout, "k2hftfuse") ? K2I_STATUS_FAILED : EXIT_SUCCESS;
}

static int run(struct k2i_mount *mount)
{
	int status = k2i_start_background(mount);

	if (status == 0)
		status = k2i_start_mount(mount);
	if (status) {
		status = status == K2I_STATUS_USAGE ? K2I_STATUS_USAGE : K2I_STATUS_FAILED;
		k2i_daemon_failed(status);
		return status;
	}
	return k2i_keeper_run(mount);
}

int main(int argc, char **argv)
{
	struct k2i_mount_options options;
	struct k2i_mount *mount = NULL;
	int status;

	if (k2i_standard_keep())
		return K2I_STATUS_FAILED;
	status = k2i_mount_options_parse(argc, argv, &options) ? K2I_STATUS_USAGE : EXIT_SUCCESS;
	if (status == EXIT_SUCCESS && (options.help || options.version))
		status = print(&options);
	else if (status == EXIT_SUCCESS && options.leave)
		status = k2i_takeover_ask((pid_t)options.leave);
	else if (status == EXIT_SUCCESS) {
		status = k2i_start_check(&options, &mount);
		if (status == EXIT_SUCCESS)
			status = run(mount);
	}
	/* systemd tries that again, by when somebody may have mended it. */
	if (status == K2I_STATUS_USAGE && k2i_takeover_waits(mount))
		status = K2I_STATUS_FAILED;
	k2i_start_undo(mount);
	k2i_mount_options_free(&options);
	return status;
}
