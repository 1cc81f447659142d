/* SPDX-License-Identifier: MIT */
/* The machine and the program of a report, which its figures depend on. */
#include "tools/bench/bench.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <time.h>

#include <k2hft/version.h>

/* "model name" of the first processor; "" where the kernel has none. */
static void processor_name(char *name, size_t room)
{
	FILE *processors = fopen("/proc/cpuinfo", "re");
	char line[256], *value;

	while (processors && !name[0] && fgets(line, sizeof(line), processors)) {
		value = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
		if (value)
			(void)snprintf(name, room, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
	}
	if (processors)
		(void)fclose(processors);
}

static void file_system_name(char *name, size_t room)
{
	static const struct {
		uint32_t type;
		const char *name;
	} known[] = {{0xef53, "ext4"}, {0x58465342, "xfs"},       {0x9123683e, "btrfs"}, {0x01021994, "tmpfs"},
		     {0x6969, "nfs"},  {0x794c7630, "overlayfs"}, {0x2fc12fc1, "zfs"},   {0xf2f52010, "f2fs"}};
	const char *temporary = getenv("TMPDIR");
	struct statfs status;
	size_t number;

	if (statfs(temporary && *temporary ? temporary : "/tmp", &status))
		return;
	(void)snprintf(name, room, "type %lx", (unsigned long)status.f_type);
	for (number = 0; number < sizeof(known) / sizeof(known[0]); number++)
		if ((uint32_t)status.f_type == known[number].type)
			(void)snprintf(name, room, "%s", known[number].name);
}

void bench_machine_take(struct bench_report *report, const struct bench_options *options, int argc, char **argv)
{
	struct utsname system_name = {0};
	struct sysinfo information = {0};
	time_t now = time(NULL);
	struct tm parts;
	int number;

	(void)uname(&system_name);
	(void)sysinfo(&information);
	(void)snprintf(report->program, sizeof(report->program), "k2hft %s", K2HFT_VERSION_STRING);
	if (gmtime_r(&now, &parts))
		(void)strftime(report->date, sizeof(report->date), "%Y-%m-%dT%H:%M:%SZ", &parts);
	for (number = 0; number < argc; number++)
		bench_text_add(report->command, sizeof(report->command), "%s%s", number ? " " : "", argv[number]);
	(void)snprintf(report->note, sizeof(report->note), "%s", options->note ? options->note : "");
	if (options->receiver)
		(void)snprintf(report->receiver, sizeof(report->receiver),
			       strchr(options->host, ':') ? "[%s]:%s" : "%s:%s", options->host, options->port);
	(void)snprintf(report->host, sizeof(report->host), "%s", system_name.nodename);
	(void)snprintf(report->kernel, sizeof(report->kernel), "%s", system_name.release);
	(void)snprintf(report->architecture, sizeof(report->architecture), "%s", system_name.machine);
	processor_name(report->processor, sizeof(report->processor));
	file_system_name(report->file_system, sizeof(report->file_system));
	(void)snprintf(report->input, sizeof(report->input), "%s", options->input_file ? options->input_file : "");
	report->processors = (uint64_t)get_nprocs();
	report->memory_mib = (uint64_t)information.totalram * information.mem_unit / (1024 * 1024);
}

void bench_facts_write(FILE *output, const struct bench_report *report,
		       void (*write)(FILE *output, const char *name, const char *text))
{
	char machine[3 * BENCH_TEXT_ROOM];
	const char *const facts[][2] = {
		{"program", report->program},   {"note", report->note},
		{"remark", report->remark},     {"date", report->date},
		{"machine", machine},           {"host", report->host},
		{"Linux", report->kernel},      {"files on", report->file_system},
		{"receiver", report->receiver}, {"lines of a log", report->input},
		{"command", report->command},
	};
	size_t number;

	(void)snprintf(machine, sizeof(machine), "%" PRIu64 " x %s, %" PRIu64 " MiB, %s", report->processors,
		       report->processor, report->memory_mib, report->architecture);
	for (number = 0; number < sizeof(facts) / sizeof(facts[0]); number++)
		if (*facts[number][1])
			write(output, facts[number][0], facts[number][1]);
}
