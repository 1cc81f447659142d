/* SPDX-License-Identifier: MIT */
#ifndef K2I_FRAME_WIRE_H
#define K2I_FRAME_WIRE_H

/* Constants of k2hft-protocol(7), nothing else. All numbers are little-endian. */

#define K2I_FRAME_MAGIC 0x4648324bu /* "K2HF" */

/* Frame header, K2HFT_FRAME_HEADER_BYTES long. */
#define K2I_FRAME_MAGIC_AT 0     /* u32 */
#define K2I_FRAME_VERSION_AT 4   /* u8 */
#define K2I_FRAME_TYPE_AT 5      /* u8 */
#define K2I_FRAME_FLAGS_AT 6     /* u16 */
#define K2I_FRAME_BODY_AT 8      /* u32 */
#define K2I_FRAME_RAW_AT 12      /* u32 */
#define K2I_FRAME_POSITION_AT 16 /* u64 */
#define K2I_FRAME_GAP_AT 24      /* u32 */
#define K2I_FRAME_RESERVED_AT 28 /* u32, 0 */
#define K2I_FRAME_CHECKSUM_AT 32 /* u64, XXH3-64 over bytes 0..31 and the body as it is on the wire */

/*
 * Chunk header, K2HFT_CHUNK_HEADER_BYTES long, at a multiple of 8; the same bytes in the ring and on the wire. The
 * first 8 bytes are the entry's mark, which the ring writes and reads as one atomic word.
 *
 *	size = 32 + lead + payload + pad, a multiple of 8
 */
#define K2I_CHUNK_MARK_AT 0     /* u64: size in bits 0..27, kind in bits 28..31, tag in bits 32..63 */
#define K2I_CHUNK_STREAM_AT 8   /* u32 */
#define K2I_CHUNK_RECORDS_AT 12 /* u32 */
#define K2I_CHUNK_TIME_AT 16    /* u64 */
#define K2I_CHUNK_PID_AT 24     /* u32 */
#define K2I_CHUNK_LEAD_AT 28    /* u8: bytes between header and payload, 0..7 */
#define K2I_CHUNK_PAD_AT 29     /* u8: bytes behind the payload, 0..7 */
#define K2I_CHUNK_FLAGS_AT 30   /* u16 */
#define K2I_CHUNK_FLAGS_KNOWN (K2HFT_CHUNK_CONTINUES | K2HFT_CHUNK_CONTINUED)
#define K2I_CHUNK_BYTES_MIN (K2HFT_CHUNK_HEADER_BYTES + 8u) /* of one byte */

#define K2I_MARK_SIZE_MASK UINT64_C(0x0fffffff)
#define K2I_MARK_KIND_SHIFT 28
#define K2I_MARK_KIND_MASK UINT64_C(0xf)
#define K2I_MARK_TAG_SHIFT 32

/* Kinds of entry. On the wire there are chunks only. */
#define K2I_KIND_CLAIMED 1u   /* a producer is writing it */
#define K2I_KIND_CHUNK 2u     /* committed */
#define K2I_KIND_GAP 3u       /* room given back; may be only the 8 bytes of its mark */
#define K2I_KIND_DISCARDED 4u /* given up by its producer, or for one that died */
#define K2I_KIND_SWITCH 5u    /* and the next two: a gap, behind which area 0, 1, 2 of the ring goes on */

#endif
