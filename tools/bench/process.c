/* SPDX-License-Identifier: MIT */
/* The programs that k2hft bench starts: receivers and mount. */
#include "tools/bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/bench/pipe.h"

#define START_LIMIT_NS UINT64_C(15000000000)
#define LOOK_NS 2000000
/* A receiver that has no room takes back what it wrote of a frame, so that there is a little again. */
#define ROOM_LEAST (UINT64_C(1) << 20)
#define LISTENING "listening on 127.0.0.1:"

void bench_program_find(const char *name, char *path, size_t room)
{
	ssize_t bytes = readlink("/proc/self/exe", path, room - 1);
	char *slash;

	if (bytes > 0) {
		path[bytes] = '\0';
		slash = strrchr(path, '/');
		if (slash && strlen(name) < room - (size_t)(slash + 1 - path)) {
			memcpy(slash + 1, name, strlen(name) + 1);
			if (access(path, X_OK) == 0)
				return;
		}
	}
	(void)snprintf(path, room, "%s", name);
}

/* NAME, and a number behind it except for the first of several. */
static void numbered_path(const struct bench_run *run, const char *name, unsigned number, const char *ending,
			  char path[BENCH_PATH_ROOM])
{
	char behind[16] = "";

	if (number)
		(void)snprintf(behind, sizeof(behind), ".%u", number);
	(void)snprintf(path, BENCH_PATH_ROOM, "%s/%s%s%s", run->work, name, behind, ending);
}

/* Its messages go to NAME.err in the work directory. */
static int process_start(const struct bench_run *run, struct bench_process *process, unsigned number, const char *name,
			 char *const arguments[])
{
	char program[4096], messages[BENCH_PATH_ROOM];
	pid_t parent = getpid();
	sigset_t term, before;
	int descriptor;

	bench_program_find(name, program, sizeof(program));
	numbered_path(run, name, number, ".err", messages);
	/* Opened here: an earlier run's messages must be gone before anybody looks for the port in them. */
	descriptor = open(messages, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	process->messages = open(messages, O_RDONLY | O_CLOEXEC);
	/* The handler, which the child has until it calls exec, would swallow a SIGTERM. */
	(void)sigemptyset(&term);
	(void)sigaddset(&term, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &term, &before);
	process->pid = descriptor < 0 ? -1 : fork();
	if (process->pid == 0)
		(void)signal(SIGTERM, SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	if (process->pid != 0 && descriptor >= 0)
		(void)close(descriptor);
	if (process->pid < 0) {
		bench_error("%s: %s", name, strerror(errno));
		process->pid = 0;
		return -1;
	}
	if (process->pid > 0)
		return 0;
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() == parent && dup2(descriptor, STDERR_FILENO) >= 0) {
		(void)setpgid(0, 0); /* an interrupt is for k2hft bench, which ends the others in order */
		(void)execvp(program, arguments);
		(void)dprintf(STDERR_FILENO, "%s: %s\n", program, strerror(errno));
	}
	_exit(127);
}

/* Those that were not shown yet. */
static void messages_show(const struct bench_process *process)
{
	char text[4096];
	ssize_t got;

	while (process->messages > 0 && (got = read(process->messages, text, sizeof(text))) > 0) {
		progress_clear();
		(void)fwrite(text, 1, (size_t)got, stderr);
	}
}

/* Until `started` is true. */
static int start_await(struct bench_run *run, struct bench_process *process, const char *name,
		       bool (*started)(struct bench_run *run, const struct bench_process *process))
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	uint64_t begin = k2i_clock_ns(CLOCK_MONOTONIC);

	while (!started(run, process)) {
		if (waitpid(process->pid, NULL, WNOHANG) == process->pid) {
			process->pid = 0;
			bench_error("%s does not start:", name);
			messages_show(process);
			return -1;
		}
		if (bench_interrupted())
			return -1;
		if (k2i_clock_ns(CLOCK_MONOTONIC) - begin > START_LIMIT_NS)
			return bench_failed(-1, "%s is not there in time", name);
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

static bool receiver_listens(struct bench_run *run, const struct bench_process *process)
{
	unsigned number = (unsigned)(process - run->receivers);
	char path[BENCH_PATH_ROOM], line[1024], *at;
	bool found = false;
	FILE *messages;

	numbered_path(run, "k2hftfusesvr", number, ".err", path);
	messages = fopen(path, "re");
	while (messages && !found && fgets(line, sizeof(line), messages)) {
		at = strstr(line, LISTENING);
		if (at && strchr(at, '\n')) {
			at += sizeof(LISTENING) - 1;
			(void)snprintf(run->ports[number], sizeof(run->ports[number]), "%.*s", (int)strcspn(at, "\n"),
				       at);
			found = true;
		}
	}
	if (messages)
		(void)fclose(messages);
	return found;
}

static bool mount_is(struct bench_run *run, const struct bench_process *process)
{
	struct statfs status;
	char path[BENCH_PATH_ROOM];

	(void)snprintf(path, sizeof(path), "%s/mnt", run->work);
	(void)process;
	return statfs(path, &status) == 0 && status.f_type == FUSE_SUPER_MAGIC;
}

/* The configuration's name goes to `path`. */
static FILE *config_open(const struct bench_run *run, const char *name, unsigned number, char path[BENCH_PATH_ROOM])
{
	FILE *config;

	numbered_path(run, name, number, ".ini", path);
	config = fopen(path, "we");
	if (!config)
		bench_error("%s: %s", path, strerror(errno));
	return config;
}

static int config_close(const char *path, FILE *config)
{
	bool failed = ferror(config) != 0;

	if (fclose(config) == 0 && !failed)
		return 0;
	return bench_failed(-1, "%s: %s", path, strerror(errno));
}

/* Quotes let any name of a directory through: without them a # would end it, and another directory be written to. */
static void path_write(FILE *config, const char *key, const char *path, const char *below)
{
	(void)fprintf(config, "%s = \"", key);
	for (; *path; path++)
		(void)fprintf(config, "%s%c", *path == '"' || *path == '\\' ? "\\" : "", *path);
	(void)fprintf(config, "%s\"\n", below);
}

static void tls_write(const struct bench_run *run, FILE *config)
{
	if (!run->point.tls)
		return;
	(void)fputs("SSL = yes\n", config);
	path_write(config, "PSKFILE", run->shared_key, "");
}

/* As bench_format_names has them; the last one is of K2HFTFUSE's published measurement, to the letter. */
static const char *const format_lines[] = {"", "FORMAT = '{\"time\":\"%T\",\"file\":\"%F\",\"text\":\"%J\"}\\n'\n",
					   ("FORMAT = \"%T +0900 temotest': {'message':'%l','host':'%H'}\\n\"\n"
					    "FILE_TIMEFORM = \"%F %T.%-\"\n")};

/* By enum bench_sink. */
const struct bench_sink_kind bench_sinks[] = {
	{.lines = "TYPE = file\n"},
	{.lines = "TYPE = file\nPLUGIN = /bin/cat\n", .through = "/bin/cat"},
	{.lines = "TYPE = file\n", .relays = 1},
	{.lines = "TYPE = kafka\nKAFKA_TOPIC = " BENCH_KAFKA_TOPIC "\nKAFKA_POSITIONS_TOPIC = " BENCH_KAFKA_TOPIC
		  "-positions\n",
	 .kafka = true},
	{.lines = "TYPE = forward\n", .peer = "FORWARD_SERVER = 127.0.0.1"},
	{.lines = "TYPE = otlp\n", .peer = "OTLP_ENDPOINT = http://127.0.0.1"},
};

unsigned bench_servers_count(const struct bench_run *run)
{
	return (unsigned)run->point.receivers * (1 + bench_sinks[run->point.sink].relays);
}

/* Files of the receiver whose relay this is have the end of the way; so it has to be acknowledged from there. */
static int relay_write(const struct bench_run *run, FILE *config, const char *port, const char *path)
{
	char next[BENCH_PATH_ROOM + 8];
	FILE *nodes;

	(void)snprintf(next, sizeof(next), "%s.next", path);
	nodes = fopen(next, "we");
	if (!nodes)
		return bench_failed(-1, "%s: %s", next, strerror(errno));
	(void)fputs("[GLOBAL]\n", nodes);
	tls_write(run, nodes);
	(void)fprintf(nodes, "[SVRNODE]\nNAME = %s\nPORT = %s\n", run->host, port);
	path_write(config, "TRANSCONF", next, "");
	(void)fputs("TYPE = trans\nK2HTYPE = mem\nACKEND = yes\n", config);
	return config_close(next, nodes);
}

static void receiver_write(const struct bench_run *run, FILE *config, unsigned number)
{
	char folder[BENCH_PATH_ROOM];

	(void)fputs(bench_sinks[run->point.sink].lines, config);
	bench_received_folder(run, number, folder);
	path_write(config, run->point.sink < BENCH_SINK_KAFKA ? "FILE_BASEDIR" : "STATEDIR", folder, "");
	if (bench_sinks[run->point.sink].kafka)
		(void)fprintf(config, "KAFKA_BROKERS = %s\n", run->options->brokers);
	if (bench_sinks[run->point.sink].peer)
		(void)fprintf(config, "%s:%s\n", bench_sinks[run->point.sink].peer, run->peer_port);
	(void)fprintf(config, "%s%s", format_lines[run->point.format],
		      run->point.unify ? "FILE_UNIFY = unify.log\n" : "");
}

static int receiver_start(struct bench_run *run, unsigned number)
{
	static const char name[] = "k2hftfusesvr";
	unsigned receivers = (unsigned)run->point.receivers;
	char path[BENCH_PATH_ROOM];
	char *arguments[] = {"k2hftfusesvr", "-conf", path, "--listen", "127.0.0.1:0", NULL};
	FILE *config = config_open(run, "server", number, path);
	int status = 0;

	if (!config)
		return -1;
	(void)fputs("[GLOBAL]\nPORT = 8020\n", config);
	tls_write(run, config);
	(void)fputs("[K2HFTFUSESVR]\n", config);
	if (number < receivers)
		receiver_write(run, config, number);
	else
		status = relay_write(run, config, run->ports[number - receivers], path);
	if (config_close(path, config) || status)
		return -1;
	if (process_start(run, &run->receivers[number], number, name, arguments))
		return -1;
	return start_await(run, &run->receivers[number], name, receiver_listens);
}

int bench_receivers_start(struct bench_run *run)
{
	unsigned receivers = (unsigned)run->point.receivers, servers = bench_servers_count(run);
	int status = 0;

	(void)snprintf(run->host, sizeof(run->host), "127.0.0.1");
	for (unsigned number = 0; status == 0 && number < servers; number++)
		status = receiver_start(run, number);
	/* Senders go to the relays. */
	if (servers > receivers)
		memcpy(run->ports, run->ports + receivers, receivers * sizeof(run->ports[0]));
	return status;
}

/* As operators write them. Most lines fit the last only, so that each costs all of them, and each arrives. */
static const char *const allowed[BENCH_RULES_MAX] = {
	"\\b(error|fatal|panic)\\b",
	" 5[0-9][0-9] [0-9]+$",
	"user=[a-z]+ ip=[0-9.]+",
	"segfault at [0-9a-f]+ ip",
	"Out of memory: Killed process [0-9]+",
	"Failed password for (invalid user )?[a-z0-9_]+ from [0-9.]+",
	"session opened for user [a-z]+",
	"[Ll]ink (up|down) at [0-9]+ Mbps",
	"I/O error, dev [a-z0-9]+, sector [0-9]+",
	"[Tt]imed? ?out after [0-9]+ ?m?s",
	"retry [0-9]+ of [0-9]+",
	"(GET|POST|PUT|DELETE) /api/v[0-9]+/",
	"certificate .* expire[sd]? on",
	"queue [a-z]+ (full|overflow)",
	"^[A-Z][a-z]{2} +[0-9]+ [0-9:]{8} audit\\[",
	"^",
};

static void rules_write(const struct bench_run *run, FILE *config)
{
	uint64_t number;

	(void)fprintf(config, "[K2HFTFUSE_RULE_DIR]\nTARGET = bench\nTRUNS = on\nDEFAULTALL = %s\n",
		      run->point.rules ? "DENY" : "ALLOW");
	/* The last of them lets everything pass, however many there are. */
	for (number = BENCH_RULES_MAX - run->point.rules; number < BENCH_RULES_MAX; number++)
		(void)fprintf(config, "ALLOW = \"%s\"\n", allowed[number]);
}

/* In a list of options a comma of a name would begin the next one. */
static void choice_make(char *choice, const char *path)
{
	memcpy(choice, "conf=", 5);
	for (choice += 5; *path; *choice++ = *path++)
		if (*path == ',' || *path == '\\')
			*choice++ = '\\';
	*choice = '\0';
}

int bench_sender_config(const struct bench_run *run, char path[BENCH_PATH_ROOM])
{
	FILE *config = config_open(run, "slave", 0, path);

	if (!config)
		return -1;
	(void)fputs("[GLOBAL]\n", config);
	if (run->point.receivers > 1)
		(void)fputs("DELIVERMODE = random\n", config);
	tls_write(run, config);
	for (unsigned number = 0; number < run->point.receivers; number++)
		(void)fprintf(config, "[SVRNODE]\nNAME = %s\nPORT = %s\n", run->host, run->ports[number]);
	(void)fprintf(config, "[K2HFTFUSE]\nK2HTYPE = mem\nDRAINTIMEOUT = 1\nRINGSIZE = %" PRIu64 "\nCOMPRESS = %s\n",
		      run->point.ring_bytes, compress_names[run->point.compress]);
	rules_write(run, config);
	return config_close(path, config);
}

int bench_mount_start(struct bench_run *run)
{
	static const char name[] = "k2hftfuse", warnings[] = ",dbglevel=wan";
	char path[BENCH_PATH_ROOM], mount[BENCH_PATH_ROOM], choice[2 * BENCH_PATH_ROOM + 32];
	char *arguments[] = {"k2hftfuse", mount, "-o", choice, "-f", NULL};

	if (bench_sender_config(run, path))
		return -1;
	(void)snprintf(mount, sizeof(mount), "%s/mnt", run->work);
	choice_make(choice, path);
	if (run->options->receiver)
		memcpy(choice + strlen(choice), warnings, sizeof(warnings));
	if (mkdir(mount, 0700) && errno != EEXIST)
		return bench_failed(-1, "%s: %s", mount, strerror(errno));
	if (process_start(run, &run->mount, 0, name, arguments))
		return -1;
	return start_await(run, &run->mount, name, mount_is);
}

/* Releases the mount of a keeper that was killed: the kernel has to be told that nobody serves it. */
static void mount_release(const struct bench_run *run)
{
	char mount[BENCH_PATH_ROOM];
	pid_t child;

	(void)snprintf(mount, sizeof(mount), "%s/mnt", run->work);
	if (umount2(mount, MNT_DETACH) == 0)
		return;
	child = fork();
	if (child == 0) {
		(void)execlp("fusermount3", "fusermount3", "-u", "-z", "-q", mount, (char *)NULL);
		_exit(127);
	}
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		continue;
}

bool bench_ended(pid_t process, siginfo_t *how)
{
	how->si_pid = 0;
	return process && waitid(P_PID, (id_t)process, how, WEXITED | WNOHANG | WNOWAIT) == 0 && how->si_pid != 0;
}

bool bench_senders_run(const struct bench_run *run)
{
	unsigned number;
	siginfo_t how;

	for (number = 0; number < run->point.senders; number++)
		if (!bench_ended(run->senders[number], &how))
			return true;
	return false;
}

/* A sender that has ended by itself has said why. */
static bool sender_failed(const struct bench_run *run)
{
	unsigned number;
	siginfo_t how;

	for (number = 0; number < run->point.senders; number++) {
		if (!bench_ended(run->senders[number], &how) || how.si_status == 0)
			continue;
		if (how.si_code != CLD_EXITED)
			bench_error("sender %u: %s", number, strsignal(how.si_status));
		return true;
	}
	return false;
}

static bool program_gone(const struct bench_process *process, const char *name)
{
	siginfo_t how;

	if (!bench_ended(process->pid, &how))
		return false;
	bench_error("%s is gone", name);
	messages_show(process);
	return true;
}

bool bench_trouble(const struct bench_run *run)
{
	struct statvfs system;
	bool gone = program_gone(&run->mount, "k2hftfuse") || program_gone(&run->link, "link") ||
		    program_gone(&run->peer, "the server behind the receiver");

	/* Another's receiver can be away for long, or refuse, and whoever waits wants to know. */
	if (run->options->receiver)
		messages_show(&run->mount);
	for (unsigned number = 0; number < bench_servers_count(run) && !gone; number++)
		gone = program_gone(&run->receivers[number], "k2hftfusesvr");
	if (gone || sender_failed(run))
		return true;
	/* A file system that does not say how large it is, as ramfs, has no blocks. */
	if (statvfs(run->work, &system) || system.f_blocks == 0 ||
	    (geteuid() ? system.f_bavail : system.f_bfree) * system.f_frsize > ROOM_LEAST)
		return false;
	bench_error("%s: %s: TMPDIR names another directory", run->work, strerror(ENOSPC));
	return true;
}

int bench_process_stop(struct bench_run *run, struct bench_process *process, const char *name)
{
	int interrupts = bench_interrupted(), status;
	struct rusage usage;

	if (process->messages > 0)
		(void)close(process->messages);
	process->messages = 0;
	if (process->pid == 0)
		return 0;
	(void)kill(process->pid, SIGTERM);
	while (wait4(process->pid, &status, 0, &usage) < 0) {
		if (errno != EINTR)
			return -1;
		/* The first interrupt leaves it its time; the next one does not. */
		if (bench_interrupted() > (interrupts ? interrupts : 1))
			(void)kill(process->pid, SIGKILL);
	}
	if (WIFSIGNALED(status) && process == &run->mount)
		mount_release(run);
	process->pid = 0;
	process->cpu_s = bench_cpu_s(&usage);
	process->peak_kib = (uint64_t)usage.ru_maxrss;
	/* A program that is interrupted before it catches signals ends by them. */
	if (status && !bench_interrupted())
		bench_error("%s ended with status %d", name,
			    WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	return status ? -1 : 0;
}
