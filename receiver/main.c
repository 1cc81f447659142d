/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>

#include <k2hft/version.h>

#include "app/program/daemon.h"
#include "app/program/findings.h"
#include "base/log.h"
#include "receiver/daemon/options.h"
#include "receiver/daemon/receiver.h"
#include "app/program/standard.h"

static int settings_open(const char *file, struct k2i_settings **settings)
{
	char first[1024];
	int error = k2i_findings_log(file, settings, first, sizeof(first));

	/* Memory can be there at the next start, and after the other status systemd does not try it. */
	if (error)
		return error == -ENOMEM ? K2I_EXIT_FAILED : K2I_EXIT_CONFIGURATION;
	if (!(*settings)->receiver_present) {
		k2i_log(K2HFT_LOG_ERROR, "%s: no section [K2HFTFUSESVR]: it is not for a receiver", file);
		return K2I_EXIT_CONFIGURATION;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct k2i_receiver *receiver = NULL;
	struct k2i_settings *settings = NULL;
	struct k2i_options options;
	int status;

	if (k2i_standard_keep())
		return K2I_EXIT_FAILED;
	if (k2i_options_parse(argc, argv, &options))
		return K2I_EXIT_CONFIGURATION;
	if (options.help || options.version) {
		if (options.help)
			k2i_options_usage();
		else
			(void)puts("k2hftfusesvr " K2HFT_VERSION_STRING);
		return k2i_standard_flush(stdout, "k2hftfusesvr") ? K2I_EXIT_FAILED : 0;
	}
	if (k2i_daemon_log_open("k2hftfusesvr", options.level, options.log_file))
		return K2I_EXIT_FAILED;
	status = settings_open(options.config, &settings);
	if (!status)
		status = k2i_receiver_open(settings, &options, &receiver);
	if (!status) {
		k2i_receiver_run(receiver);
		status = k2i_receiver_close(receiver);
	}
	return status;
}
