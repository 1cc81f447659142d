/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_INTAKE_LINE_BUFFER_H
#define K2I_FUSE_INTAKE_LINE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Cuts what is written to one open file into records, whatever the pieces in which it comes. A record ends with its LF;
 * the beginning of one that has not ended is held, in memory of the journal, which the struct is in too.
 * Zero-initialised; k2i_line_buffer_free, and then no more.
 */
struct k2i_line_buffer {
	char *held;
	size_t held_bytes, held_room;
	bool continued; /* pieces of the current record went before */
	bool skipping;  /* the rest of the current record is not wanted */
};

/* Memory that a longer line needed is given back when the line has ended. */
#define K2I_LINE_ROOM_KEPT (64u * 1024)

struct k2i_line_limits {
	size_t piece_bytes_max;    /* a record goes on in pieces of about this size, of whole characters, if longer */
	uint64_t record_bytes_max; /* LF included; a longer one is not wanted at all; 0: any length */
	uint64_t held_bytes_max;   /* memory of all begins that are held */
};

struct k2i_mount;

/* Those of the mount, by its settings and its rings. */
void k2i_line_limits_set(struct k2i_mount *mount);

enum k2i_line_event {
	K2I_LINE_NOTHING,  /* all was taken, no record ended */
	K2I_LINE_RECORD,   /* a record, or the last piece of one */
	K2I_LINE_PIECE,    /* a piece that is followed by another */
	K2I_LINE_TOO_LONG, /* a record over record_bytes_max: it is skipped */
};

struct k2i_line_part {
	const char *data; /* in what was given or in `held`; until the next call */
	size_t bytes;
	bool continued; /* its record began in an earlier part */
};

/*
 * Takes the next `*taken` bytes of `data`. Returns a k2i_line_event or -ENOMEM, then nothing is taken. A part that is
 * followed by another is never the end of the data: a record's last piece is not empty.
 */
int k2i_line_buffer_take(struct k2i_line_buffer *line, const struct k2i_line_limits *limits, const char *data,
			 size_t bytes, size_t *taken, struct k2i_line_part *part);

/* The held bytes: RECORD, which they end, or PIECE, which another follows; NOTHING. */
enum k2i_line_event k2i_line_buffer_flush(struct k2i_line_buffer *line, bool ended, struct k2i_line_part *part);
/*
 * Bytes of `data` up to its last line end, if neither a record in it nor what is held before it can be over the limits;
 * 0: k2i_line_buffer_take has to look at each.
 */
size_t k2i_line_buffer_run(const struct k2i_line_buffer *line, const struct k2i_line_limits *limits, const char *data,
			   size_t bytes);
/* Whether a part of the next `bytes` can be a piece of a record. */
static inline bool k2i_line_buffer_piece_ahead(const struct k2i_line_buffer *line, const struct k2i_line_limits *limits,
					       size_t bytes)
{
	return line->continued || (!limits->record_bytes_max && line->held_bytes + bytes > limits->piece_bytes_max);
}
/* Ends the holding: what was held is another's now, who has copied it. */
void k2i_line_buffer_let_go(struct k2i_line_buffer *line);
/* Memory for so much more, which is not held yet; -ENOMEM. */
int k2i_line_buffer_room(struct k2i_line_buffer *line, size_t bytes);
/* Holds `bytes` more of the current record; -ENOMEM, but not if there is room. */
int k2i_line_buffer_hold(struct k2i_line_buffer *line, const char *data, size_t bytes);
/* Gives memory back if nothing is held and it is more than this. */
void k2i_line_buffer_trim(struct k2i_line_buffer *line, size_t room_kept);
void k2i_line_buffer_free(struct k2i_line_buffer *line);

/* Bytes of `data` up to its last LF; 0: it has none. */
size_t k2i_lines_whole(const char *data, size_t bytes);
/* Records of a chunk: its LFs, and one more for what follows the last. */
uint32_t k2i_lines_count(const char *data, size_t bytes);
/*
 * How much of `data` goes into a chunk of at most `bytes_max`: all, or whole records, or `piece_bytes_max` of one that
 * is longer (then `*continues`), less the begin of a character that this would cut.
 */
size_t k2i_lines_chunk(const char *data, size_t bytes, size_t bytes_max, size_t piece_bytes_max, bool *continues);

#endif
