/* SPDX-License-Identifier: MIT */
#ifndef K2I_APP_FORMAT_FORMAT_H
#define K2I_APP_FORMAT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <k2hft/frame.h>

/*
 * FORMAT and FILE_TIMEFORM of the receiver, compiled once, applied to each record.
 *
 *	%L	the record as it came, line end included
 *	%l	without white space around it
 *	%J	without its LF, as the inside of a JSON string; bytes that are not UTF-8 become \ufffd each
 *	%T %t	its time by FILE_TIMEFORM	%H %h	host	%P %p	pid of the writer
 *	%F	path of the stream		%f	its last part	%%	a percent sign
 *
 * and \a \b \f \n \r \t \\ \" \' \? \xH \xHH, and \0 to \8 as the byte of that number. A control character in a host
 * or path comes out as '?'; but in a format with %J, host, path and time are escaped for a JSON string as the record is.
 */
struct k2i_format;

/*
 * -EINVAL with the reason in message: an unknown directive or escape, or a time format that strftime(3) does not know;
 * -ENOMEM. NULL or "" for `format` is %L; for `time_format`: %T is empty.
 */
int k2i_format_compile(const char *format, const char *time_format, struct k2i_format **compiled, char *message,
		       size_t message_room);
/* The same for a name, which is made of where a record comes from: also -EINVAL with a directive of the record itself. */
int k2i_format_compile_name(const char *format, const char *time_format, struct k2i_format **compiled, char *message,
			    size_t message_room);
void k2i_format_free(struct k2i_format *format);

/* Plain %L: records go out as they came. */
bool k2i_format_plain(const struct k2i_format *format);
/* %T is in it. */
bool k2i_format_has_time(const struct k2i_format *format);

struct k2i_format_origin {   /* what a chunk's records have in common */
	const char *path;    /* %F; %f is its last part */
	const char *host;    /* %H */
	uint32_t writer_pid; /* %P */
	uint64_t time_ns;    /* %T, CLOCK_REALTIME */
};

/* Growing output of one thread; zero-initialised; the caller resets `bytes` to 0 between uses and frees `data`. */
struct k2i_format_buffer {
	char *data;
	size_t bytes, room;
	/* the last formatted second and whose format it was, so that strftime runs once a second */
	uint64_t second_format;
	int64_t second;
	char second_text[256];
	size_t second_bytes;
};

/*
 * Appends the records of a chunk's payload (text: split at LF; binary: one record). 0 or -ENOMEM (nothing appended). With
 * `taken` it stops behind the record with which `output` has more than K2I_FORMAT_ENOUGH_BYTES, and tells how many bytes of
 * the payload it has taken: a million empty records can become a gigabyte.
 */
#define K2I_FORMAT_ENOUGH_BYTES (1024u * 1024)
int k2i_format_records(const struct k2i_format *format, const struct k2i_format_origin *origin, bool binary,
		       const char *payload, size_t payload_bytes, size_t *taken, struct k2i_format_buffer *output);

/* The name of a format that k2i_format_compile_name has compiled, in place of what `output` has; not terminated. -ENOMEM */
int k2i_format_name(const struct k2i_format *format, const struct k2i_format_origin *origin,
		    struct k2i_format_buffer *output);

/*
 * strftime with `%-` as nine digits of nanoseconds, in local time; `output` is terminated. Returns the length, -EINVAL
 * if it does not fit or is not a time format. For FILE_TIMEFORM, and for the name of FILE_UNIFY. `%-` before a letter of
 * a number that strftime pads, as in %-d, is its flag "do not pad".
 */
int k2i_format_time(const char *time_format, uint64_t time_ns, char *output, size_t room);
/* The file of FILE_UNIFY at that time. As k2i_path_refused. */
const char *k2i_format_unify(const char *unify_file, uint64_t time_ns, char path[K2HFT_STREAM_PATH_BYTES_MAX + 1]);
/* The same of any time in the year that begins then. */
const char *k2i_format_unify_check(const char *unify_file, uint64_t time_ns);

#endif
