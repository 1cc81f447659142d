/* SPDX-License-Identifier: MIT */
#ifndef K2HFT_LOG_H
#define K2HFT_LOG_H

#include <k2hft/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

enum k2hft_log_level {
	K2HFT_LOG_ERROR = 0,   /* something was lost, or needs somebody */
	K2HFT_LOG_WARNING = 1, /* works, but not as it should */
	K2HFT_LOG_INFO = 2,    /* a state changed: connected, disconnected */
	K2HFT_LOG_DEBUG = 3,
};

/* `text` is one line without line end that begins with its subsystem ("client: "); valid during the call only. */
typedef void k2hft_log_callback(void *argument, enum k2hft_log_level level, const char *text);

/*
 * Where the library's messages go, and up to which level; without a callback (the default) nowhere. One per process.
 * The callback can be called from any thread that uses the library and from the threads that the library starts, by
 * several at once; it must not call the library. Call this before other threads use the library. Since 0.1.0.
 */
K2HFT_API void k2hft_log_callback_set(k2hft_log_callback *callback, void *argument, enum k2hft_log_level level);

#ifdef __cplusplus
}
#endif

#endif
