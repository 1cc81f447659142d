/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <k2hft/ring.h>

#include "base/clock.h"
#include "tools/base/arguments.h"
#include "tools/base/commands.h"
#include "tools/base/errors.h"
#include "tools/base/terminal.h"
#include "tools/stat/stat.h"

#define TIMEOUT_MS 5000
/* The pause after a look that found nothing, doubled each time; and after one that was too late. */
#define PAUSE_FIRST_NS K2I_MILLISECOND_NS
#define PAUSE_MAX_NS (20 * K2I_MILLISECOND_NS)
#define PAUSE_MISSED_NS (K2I_MILLISECOND_NS / 10)

static const char usage[] =
	"usage: k2hft tap [OPTION...] TARGET\n\n"
	"Shows records as they pass, with their time and stream: of a mount (its directory) or of a ring (its\n"
	"file). It reads the ring beside its programs, which do not wait for it and do not know of it; so it\n"
	"shows a sample, all if few pass. Only root and the owner of the ring may.\n\n"
	"      --stream GLOB  only streams whose path matches, as app/*.log; * matches / too\n"
	"      --rate N       at most so many records a second (10)\n"
	"  -n, --count N      ends after so many records\n"
	"  -h, --help         prints this\n\n"
	"Exit status: 0 it was ended by a signal, or showed N; 1 the target has no ring to be read; 2 wrong "
	"arguments.\n";

struct options {
	const char *stream;
	uint64_t rate, count;
	bool help;
};

#define AT(field) .at = offsetof(struct options, field)
static const struct command_option settings[] = {
	COMMAND_OPTION("stream", 0, TEXT, 0, AT(stream), .needed = "a pattern of paths is needed"),
	COMMAND_OPTION("rate", 0, NUMBER, 0, AT(rate), OPTION_RANGE(1, 1000000)),
	COMMAND_OPTION("count", 'n', NUMBER, 0, AT(count), OPTION_RANGE(1, UINT64_MAX)),
	COMMAND_OPTION("help", 'h', HELP, 0, AT(help)),
};
#undef AT

struct tap {
	struct options options;
	bool terminal;
	uint64_t shown;
	double allowed; /* records that may be shown now */
	uint64_t filled_ns;
};

static atomic_bool ended;

static void on_signal(int number)
{
	(void)number;
	/* relaxed: the flag stands alone. */
	atomic_store_explicit(&ended, true, memory_order_relaxed);
}

/* Bytes of a record; for a terminal without what it would obey. */
static void bytes_show(const struct tap *tap, const char *bytes, size_t count)
{
	char *text = tap->terminal ? malloc(count + 1) : NULL;

	if (!text) {
		(void)fwrite(bytes, 1, count, stdout);
		return;
	}
	for (size_t at = 0; at < count; at++)
		text[at] = bytes[at] ? bytes[at] : '?';
	text[count] = '\0';
	text_show(stdout, text, false);
	free(text);
}

static void record_show(const struct tap *tap, const struct k2hft_tapped *tapped, const char *bytes, size_t count)
{
	time_t second = (time_t)(tapped->chunk.time_ns / K2I_SECOND_NS);
	char text[32] = "?";
	struct tm local;

	if (localtime_r(&second, &local))
		(void)strftime(text, sizeof(text), "%H:%M:%S", &local);
	(void)printf("%s.%03u ", text, (unsigned)(tapped->chunk.time_ns / K2I_MILLISECOND_NS % 1000));
	if (*tapped->host) {
		text_show(stdout, tapped->host, false);
		(void)putchar(' ');
	}
	text_show(stdout, *tapped->path ? tapped->path : "?", false);
	(void)fputs(": ", stdout);
	if (tapped->mode == K2HFT_STREAM_BINARY)
		(void)printf("a block of %zu bytes", count);
	else
		bytes_show(tap, bytes, count);
	(void)putchar('\n');
}

static bool over(const struct tap *tap)
{
	/* relaxed: as above. */
	return atomic_load_explicit(&ended, memory_order_relaxed) || ferror(stdout) ||
	       (tap->options.count && tap->shown >= tap->options.count);
}

/* The records of a chunk, as many as may be shown now. A piece of a long one is shown as it is. */
static void chunk_show(struct tap *tap, const struct k2hft_tapped *tapped)
{
	const char *at = tapped->payload, *end = at + tapped->payload_bytes, *line_end;

	if (tap->options.stream && (!*tapped->path || fnmatch(tap->options.stream, tapped->path, 0) != 0))
		return;
	for (; at < end && tap->allowed >= 1 && !over(tap); at = line_end + 1) {
		line_end = tapped->mode == K2HFT_STREAM_TEXT ? memchr(at, '\n', (size_t)(end - at)) : NULL;
		if (!line_end)
			line_end = end;
		record_show(tap, tapped, at, (size_t)(line_end - at));
		tap->shown++;
		tap->allowed -= 1;
	}
}

/* A second's worth at most comes together. */
static void allowance_fill(struct tap *tap)
{
	uint64_t now_ns = k2i_clock_now_ns();
	double rate = (double)tap->options.rate;

	tap->allowed += (double)(now_ns - tap->filled_ns) / 1e9 * rate;
	tap->allowed = tap->allowed > rate ? rate : tap->allowed;
	tap->filled_ns = now_ns;
}

/* 1: there was a chunk; 0; -errno. `*missed`: it came too late for some. */
static int rings_look(struct tap *tap, struct k2hft_tap *const *taps, size_t count, bool *missed)
{
	struct k2hft_tapped tapped;
	int found = 0;

	for (size_t at = 0; at < count && !over(tap) && tap->allowed >= 1; at++) {
		int status = k2hft_tap_next(taps[at], &tapped);

		if (status < 0)
			return status;
		*missed |= tapped.missed;
		found |= status;
		if (status)
			chunk_show(tap, &tapped);
	}
	return found;
}

static int run(struct tap *tap, struct k2hft_tap *const *taps, size_t count)
{
	uint64_t pause_ns = PAUSE_FIRST_NS;
	struct timespec pause;
	int status = 0;

	tap->filled_ns = k2i_clock_now_ns();
	while (!over(tap) && status >= 0) {
		bool missed = false;

		allowance_fill(tap);
		status = rings_look(tap, taps, count, &missed);
		if (status > 0 && tap->allowed >= 1) {
			pause_ns = PAUSE_FIRST_NS;
			continue;
		}
		(void)fflush(stdout);
		pause_ns = missed ? PAUSE_MISSED_NS : pause_ns;
		pause = k2i_timespec(tap->allowed < 1 ? PAUSE_MAX_NS : pause_ns);
		if (!over(tap))
			(void)nanosleep(&pause, NULL);
		pause_ns = pause_ns * 2 < PAUSE_MAX_NS ? pause_ns * 2 : PAUSE_MAX_NS;
	}
	return status < 0 ? status : 0;
}

static int taps_open(const struct stat_targets *rings, struct k2hft_tap **taps)
{
	for (size_t at = 0; at < rings->count; at++) {
		int error = k2hft_tap_open(rings->names[at], &taps[at]);

		if (error)
			return command_failed(STATUS_FAILED, "tap", "%s: %s", rings->names[at],
					      error == -EPROTO  ? "it is not a ring that this version knows"
					      : error == -EPERM ? "the ring is another user's"
								: strerror(-error));
	}
	return 0;
}

/* A receiver has no ring; its records are in its files. */
static int target_open(const char *target, struct stat_targets *rings, struct k2hft_tap **taps)
{
	char reason[STAT_REASON_ROOM];

	if (!strchr(target, '/') && strchr(target, ':') && access(target, F_OK) < 0)
		return command_failed(STATUS_FAILED, "tap",
				      "%s: a receiver has no ring; tail -F shows the files that it writes", target);
	if (stat_rings_find(target, TIMEOUT_MS, rings, reason, sizeof(reason)))
		return command_failed(STATUS_FAILED, "tap", "%s: %s", target, reason);
	return taps_open(rings, taps);
}

static int tap_run(struct tap *tap, const char *target)
{
	struct k2hft_tap *taps[STAT_LANES_MAX] = {NULL};
	struct stat_targets rings = {0};
	int status = target_open(target, &rings, taps);

	if (!status) {
		status = run(tap, taps, rings.count);
		if (status)
			status = command_failed(STATUS_FAILED, "tap", "%s: the ring was cut", target);
	}
	for (size_t at = 0; at < rings.count; at++)
		k2hft_tap_close(taps[at]);
	stat_targets_free(&rings);
	return status;
}

int k2i_command_tap(int argc, char **argv)
{
	static const struct command_options known = {"tap", usage, settings, sizeof(settings) / sizeof(settings[0])};
	struct tap tap = {.options = {.rate = 10}, .terminal = isatty(STDOUT_FILENO)};
	struct sigaction action = {.sa_handler = on_signal};
	uint64_t given;
	int status = command_options_take(&known, &tap.options, argc, argv, &given);

	if (status || tap.options.help)
		return status;
	if (optind + 1 != argc) {
		command_error("tap", optind < argc ? "one target at a time" : "a mount or a ring is needed");
		command_help_hint("tap");
		return STATUS_WRONG;
	}
	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
	return tap_run(&tap, argv[optind]);
}
