/* SPDX-License-Identifier: MIT */
/* Whether the network is slower than LZ4 would be. */
#include "batch/batch.h"

#include <k2hft/frame.h>

/*
 * LZ4 makes more than 150 MB/s of log lines smaller on any processor; a link on which 256 KiB wait longer than 1.75 ms
 * gains by it. At 1 Gbit/s they wait 2.2 ms: the border keeps clear of that, since measurements scatter by a tenth.
 */
#define LINK_SLOW_NS 1750000.0
#define LINK_SLOW_BYTES (256u * 1024)
/* A socket wakes its writer for some 500 KB at a time: a measurement is several of that. */
#define LINK_MEASURE_BYTES (2u * 1024 * 1024)
#define LINK_MEASURE_NS UINT64_C(100000000)
/*
 * So many more slow measurements than others: once, it can be a receiver that the scheduler kept waiting; and one that
 * seems fast on a slow link, because the socket's buffer grew, is no reason to begin anew. No more are remembered, so that
 * a link that has become fast is soon known to be.
 */
#define LINK_SLOW_COUNT 3u
#define LINK_SLOW_COUNT_MAX 5u
#define LINK_VERDICT_NS UINT64_C(1000000000)
#define LINK_TRIAL_NS UINT64_C(1000000000)
/* A frame of a few records does not shrink much whatever they are: it says nothing of others. */
#define LINK_TRIAL_BYTES (16u * 1024)

void k2i_link_sent(struct k2i_link *link, size_t bytes)
{
	if (link->busy_since_ns)
		link->busy_bytes += bytes;
}

void k2i_link_full(struct k2i_link *link, uint64_t now_ns)
{
	if (link->busy_since_ns)
		return;
	link->busy_since_ns = now_ns;
	link->busy_bytes = 0;
}

void k2i_link_idle(struct k2i_link *link)
{
	link->busy_since_ns = 0;
}

bool k2i_link_measured(const struct k2i_link *link, uint64_t now_ns)
{
	return link->busy_since_ns &&
	       (link->busy_bytes >= LINK_MEASURE_BYTES || now_ns - link->busy_since_ns >= LINK_MEASURE_NS);
}

void k2i_link_judge(struct k2i_link *link, uint64_t peer_limited_ns, uint64_t now_ns)
{
	uint64_t elapsed_ns = now_ns - link->busy_since_ns;
	uint64_t limited_ns = peer_limited_ns - link->peer_limited_ns;
	double per_block_ns = (double)elapsed_ns * LINK_SLOW_BYTES / (double)(link->busy_bytes + 1);

	/* A receiver that does not read is no matter of the network: compressing would only give it more to do. */
	if (per_block_ns <= LINK_SLOW_NS || limited_ns >= elapsed_ns / 2)
		link->slow_count -= link->slow_count > 0;
	else if (link->slow_count < LINK_SLOW_COUNT_MAX)
		link->slow_count++;
	if (link->slow_count >= LINK_SLOW_COUNT)
		link->slow_until_ns = now_ns + LINK_VERDICT_NS;
	link->busy_since_ns = now_ns;
	link->busy_bytes = 0;
	link->peer_limited_ns = peer_limited_ns;
}

bool k2i_link_compress(const struct k2i_link *link, uint32_t mode, uint64_t now_ns)
{
	if (mode != K2HFT_COMPRESS_AUTO)
		return mode == K2HFT_COMPRESS_ALWAYS;
	return now_ns < link->slow_until_ns && now_ns >= link->trial_at_ns;
}

void k2i_link_compressed(struct k2i_link *link, size_t raw_bytes, size_t compressed_bytes, uint64_t now_ns)
{
	if (raw_bytes >= LINK_TRIAL_BYTES && (compressed_bytes == 0 || compressed_bytes >= raw_bytes - raw_bytes / 10))
		link->trial_at_ns = now_ns + LINK_TRIAL_NS;
}
