/* SPDX-License-Identifier: MIT */
#ifndef K2HFT_LOG_H
#define K2HFT_LOG_H

#include <k2hft/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

enum k2hft_log_level {
	K2HFT_LOG_ERROR = 0,   /* something was lost, or somebody has to act */
	K2HFT_LOG_WARNING = 1, /* it works, but not as it should */
	K2HFT_LOG_INFO = 2,    /* the state changed: connected, disconnected */
	K2HFT_LOG_DEBUG = 3,   /* everything else */
};

/*
 * `text` is one line without a line end. It begins with the part of the library that it comes from ("client: ") and is
 * valid during the call only.
 */
typedef void k2hft_log_callback(void *argument, enum k2hft_log_level level, const char *text);

/*
 * Sends the library's messages up to `level` to `callback`; NULL, the default, discards them. There is one callback in
 * a process. It is called on any thread that uses the library and on the threads that the library starts, on several
 * at once; it must not call the library, and must return, not leave by longjmp or an exception. Call this function
 * before other threads use the library. Since 0.1.0.
 */
K2HFT_API void k2hft_log_callback_set(k2hft_log_callback *callback, void *argument, enum k2hft_log_level level);

/*
 * Hands a message to the callback, if there is one that wants `level`: code built on the library has its messages in
 * the same log. `text` is passed on as it is. errno stays as it was, and the thread is not cancelled in the callback.
 * Any thread, but not the callback itself. Since 0.1.0.
 */
K2HFT_API void k2hft_log_write(enum k2hft_log_level level, const char *text);

#ifdef __cplusplus
}
#endif

#endif
