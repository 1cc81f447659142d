/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <zlib.h>
#include <zstd.h>

#include "receiver/sink/rotation/internal.h"

#define BLOCK_BYTES ((size_t)256 * 1024)
#define GZIP_WINDOW (MAX_WBITS + 16) /* with gzip's header and check sum */
#define GZIP_MEMORY 8

struct packer {
	int to;
	uint64_t packed;
	z_stream gzip;
	ZSTD_CCtx *zstd; /* NULL: it is gzip */
	unsigned char *input, *output;
};

static int output_write(struct packer *packer, size_t bytes)
{
	const unsigned char *from = packer->output;
	ssize_t put;

	packer->packed += bytes;
	for (; bytes; from += put, bytes -= (size_t)put) {
		put = write(packer->to, from, bytes);
		if (put < 0 && errno != EINTR)
			return -errno;
		if (put < 0)
			put = 0;
	}
	return 0;
}

static int gzip_put(struct packer *packer, size_t bytes, bool last)
{
	int error = 0;

	packer->gzip.next_in = packer->input;
	packer->gzip.avail_in = (uInt)bytes;
	do {
		packer->gzip.next_out = packer->output;
		packer->gzip.avail_out = (uInt)BLOCK_BYTES;
		if (deflate(&packer->gzip, last ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_ERROR)
			return -EIO;
		error = output_write(packer, BLOCK_BYTES - packer->gzip.avail_out);
	} while (!error && packer->gzip.avail_out == 0);
	return error;
}

static int zstd_put(struct packer *packer, size_t bytes, bool last)
{
	ZSTD_inBuffer input = {packer->input, bytes, 0};
	size_t left;
	int error;

	do {
		ZSTD_outBuffer output = {packer->output, BLOCK_BYTES, 0};

		left = ZSTD_compressStream2(packer->zstd, &output, &input, last ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(left))
			return -EIO;
		error = output_write(packer, output.pos);
	} while (!error && (last ? left != 0 : input.pos < input.size));
	return error;
}

static int packer_start(struct packer *packer, enum k2i_rotate_compress packing)
{
	packer->input = malloc(2 * BLOCK_BYTES);
	if (!packer->input)
		return -ENOMEM;
	packer->output = packer->input + BLOCK_BYTES;
	if (packing == K2I_ROTATE_COMPRESS_GZIP)
		return deflateInit2(&packer->gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
				    Z_DEFAULT_STRATEGY) == Z_OK
			       ? 0
			       : -ENOMEM;
	packer->zstd = ZSTD_createCCtx();
	if (!packer->zstd || ZSTD_isError(ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_checksumFlag, 1)))
		return -ENOMEM;
	return 0;
}

int k2i_pack(int from, int to, enum k2i_rotate_compress packing, const atomic_bool *stop, uint64_t *taken,
	     uint64_t *packed)
{
	struct packer packer = {.to = to};
	int error = packer_start(&packer, packing);
	ssize_t got = 1;

	*taken = 0;
	while (!error && got > 0) {
		got = read(from, packer.input, BLOCK_BYTES);
		if (got < 0 || atomic_load(stop))
			error = got < 0 ? -errno : -ECANCELED;
		else if (packer.zstd)
			error = zstd_put(&packer, (size_t)got, got == 0);
		else
			error = gzip_put(&packer, (size_t)got, got == 0);
		*taken += got > 0 ? (uint64_t)got : 0;
	}
	if (!error && fdatasync(to) < 0)
		error = -errno;
	/* Others read neither of them soon. */
	(void)posix_fadvise(from, 0, 0, POSIX_FADV_DONTNEED);
	(void)posix_fadvise(to, 0, 0, POSIX_FADV_DONTNEED);
	*packed = packer.packed;
	(void)deflateEnd(&packer.gzip);
	(void)ZSTD_freeCCtx(packer.zstd);
	free(packer.input);
	return error;
}
