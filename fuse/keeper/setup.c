/* SPDX-License-Identifier: MIT */
#include "fuse/keeper/setup.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/program/findings.h"
#include "app/program/reload.h"
#include "app/rules/rules.h"
#include "base/hash.h"
#include "fuse/base/mount.h"
#include "fuse/base/options.h"
#include "fuse/copy/outputfile.h"
#include "fuse/keeper/lanes.h"

struct k2i_setup k2i_setup_of(const struct k2i_mount *mount)
{
	return (struct k2i_setup){.config = mount->config, .rules = mount->rules, .outputfiles = mount->outputfiles};
}

void k2i_setup_use(struct k2i_mount *mount, const struct k2i_setup *setup)
{
	mount->config = setup->config;
	mount->settings = setup->config.settings;
	mount->rules = setup->rules;
	mount->outputfiles = setup->outputfiles;
	k2i_lanes_aim(mount);
}

/* Another one when a file has been written, or put in the place of another. */
static uint64_t file_sign(uint64_t signature, const char *path)
{
	struct stat info;
	uint64_t parts[6] = {signature};

	if (stat(path, &info) == 0) {
		parts[1] = (uint64_t)info.st_dev;
		parts[2] = (uint64_t)info.st_ino;
		parts[3] = (uint64_t)info.st_size;
		parts[4] = (uint64_t)info.st_mtim.tv_sec;
		parts[5] = (uint64_t)info.st_mtim.tv_nsec;
	}
	return k2i_hash(parts, sizeof(parts));
}

void k2i_setup_name(const char *config, char *file, size_t room)
{
	char directory[PATH_MAX];
	bool relative = config[0] != '/';

	*file = '\0';
	if (config[strspn(config, " \t\r\n\\")] == '{')
		return;
	if (!relative || !getcwd(directory, sizeof(directory)))
		directory[0] = '\0';
	if (snprintf(file, room, "%s%s%s", directory, relative ? "/" : "", config) >= (int)room)
		*file = '\0';
}

uint64_t k2i_setup_sign(const struct k2i_settings *settings, const char *file)
{
	uint64_t signature = file_sign(0, file);

	for (size_t number = 0; number < settings->included_count; number++)
		signature = file_sign(signature, settings->included[number]);
	return signature;
}

static int settings_take(const struct k2i_mount *mount, const struct k2i_settings *before,
			 const struct k2i_settings *settings, struct k2i_reload *told)
{
	const char *below = k2i_settings_below(settings, mount->options->mount_point);
	char place[480];

	if (!settings->fuse_present || settings->rule_count == 0)
		(void)snprintf(told->error, sizeof(told->error), "%s: no K2HFTFUSE_RULE and no K2HFTFUSE_RULE_DIR",
			       settings->file);
	else if (below)
		(void)snprintf(told->error, sizeof(told->error), "%s: " K2I_BELOW_TEXT, settings->file, below);
	else if (k2i_settings_restart(before, settings, K2I_RELOADS_MOUNT, told->restart, sizeof(told->restart), place,
				      sizeof(place)))
		(void)snprintf(told->error, sizeof(told->error), "%s: %s changed, which needs a restart", place,
			       told->restart);
	return told->error[0] ? -EINVAL : 0;
}

static int settings_read(const struct k2i_mount *mount, const struct k2i_settings *before,
			 struct k2i_settings **settings, struct k2i_reload *told)
{
	int status;

	if (told->file[0] != '/') {
		(void)snprintf(told->error, sizeof(told->error),
			       "the configuration is no file: another needs another mount");
		return -EINVAL;
	}
	status = k2i_findings_log(told->file, settings, told->error, sizeof(told->error));
	if (status == 0)
		status = settings_take(mount, before, *settings, told);
	if (status && *settings)
		k2i_settings_free(*settings);
	return status;
}

int k2i_setup_load(const struct k2i_mount *mount, const struct k2i_settings *before, struct k2i_setup *setup,
		   struct k2i_reload *told)
{
	struct k2i_mount trial = *mount;
	struct k2i_settings *settings = NULL;
	int status = settings_read(mount, before, &settings, told);

	memset(setup, 0, sizeof(*setup));
	if (status == 0)
		status = k2i_sender_config_make(settings, &setup->config, told->error, sizeof(told->error));
	if (status)
		return status;
	setup->signature = k2i_setup_sign(settings, told->file);
	trial.settings = settings;
	trial.outputfiles = NULL;
	status = k2i_rules_compile(settings, &setup->rules, told->error, sizeof(told->error));
	trial.rules = setup->rules;
	if (status == 0)
		status = k2i_outputfiles_open(&trial, told->error, sizeof(told->error));
	setup->outputfiles = trial.outputfiles;
	if (status == 0)
		return 0;
	if (!told->error[0])
		(void)snprintf(told->error, sizeof(told->error), "%s: %s", settings->file, strerror(-status));
	k2i_setup_free(setup);
	return status;
}

bool k2i_setup_connects_alike(const struct k2i_setup *one, const struct k2i_setup *other)
{
	const struct k2hft_sender_options *first = &one->config.options, *second = &other->config.options;

	return first->compress == second->compress && first->expire_s == second->expire_s &&
	       first->batch_records_max == second->batch_records_max;
}

static const struct k2hft_target *target_of(const struct k2i_setup *setup, const struct k2hft_target *home)
{
	uint32_t at = 0;

	while (at < setup->config.target_count && (strcasecmp(setup->config.targets[at].host, home->host) != 0 ||
						   strcmp(setup->config.targets[at].port, home->port) != 0))
		at++;
	return at < setup->config.target_count ? &setup->config.targets[at] : NULL;
}

bool k2i_setup_secures_alike(const struct k2i_setup *one, const struct k2i_setup *other,
			     const struct k2hft_target *home)
{
	const struct k2hft_target *first = target_of(one, home), *second = target_of(other, home);

	return !first || !second || k2i_sender_tls_same(first->tls, second->tls);
}

void k2i_setup_free(struct k2i_setup *setup)
{
	k2i_outputfiles_close(setup->outputfiles);
	k2i_rules_free(setup->rules);
	k2i_sender_config_free(&setup->config);
}
