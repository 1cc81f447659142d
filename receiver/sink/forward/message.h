/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SINK_FORWARD_MESSAGE_H
#define K2I_RECEIVER_SINK_FORWARD_MESSAGE_H

#include "app/format/format.h"
#include "receiver/sink/forward/msgpack.h"
#include "receiver/sink/remote/remote.h"

/* Messages of Forward v1: PackedForward, and CompressedPackedForward. */

/* Entries of this many bytes make a message, so that no server's limit is reached, however short the records are. */
#define K2I_FORWARD_ENTRIES_BYTES (1000u * 1000)
#define K2I_FORWARD_ID_BYTES 25u /* base64 of 16 bytes, terminated */

struct k2i_message_maker { /* with its memory */
	const struct k2i_format *tag;
	bool compress;
	struct k2i_format_buffer tag_text;
	struct k2i_packed entries, compressed, message;
};

/*
 * Makes the message number `number` of a piece, of its records from `*from` on, which moves behind them. Its id and its
 * contents follow from the piece alone. The message is in maker->message. -ENOMEM
 */
int k2i_message_make(struct k2i_message_maker *maker, const struct k2i_remote_piece *piece, unsigned number,
		     size_t *from, char id[K2I_FORWARD_ID_BYTES]);
/* Moves `*from` behind the records of a message as k2i_message_make does. -ENOMEM */
int k2i_message_skip(struct k2i_message_maker *maker, const struct k2i_remote_piece *piece, size_t *from);
void k2i_message_maker_end(struct k2i_message_maker *maker);

#endif
