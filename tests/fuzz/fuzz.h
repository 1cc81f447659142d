/* SPDX-License-Identifier: MIT */
#ifndef K2I_TESTS_FUZZ_FUZZ_H
#define K2I_TESTS_FUZZ_FUZZ_H

#include <ftw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <k2hft/log.h>

/*
 * Parts that the fuzz targets share. A target is one LLVMFuzzerTestOneInput; what must hold whatever the input is said
 * with fuzz_check, and what the sanitizers see comes on top of that.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* libFuzzer's mutator; replay.c has one that changes nothing. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

#define fuzz_check(condition)                                                                                          \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			fuzz_failed(#condition, __FILE__, __LINE__);                                                   \
	} while (0)

static inline void fuzz_failed(const char *condition, const char *file, int line)
{
	(void)fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
	abort();
}

/* A message is one line for people, whatever a peer has put into the texts that it quotes. */
static inline void fuzz_log_check(void *argument, enum k2hft_log_level level, const char *text)
{
	(void)argument;
	(void)level;
	for (; *text; text++)
		fuzz_check((unsigned char)*text >= 32 && *text != 127);
}

static inline void fuzz_log_open(void)
{
	k2hft_log_callback_set(fuzz_log_check, NULL, K2HFT_LOG_DEBUG);
}

/* Takes numbers off the front of an input; zeros when it has come to its end. */
struct fuzz_input {
	const uint8_t *bytes;
	size_t left;
};

static inline void fuzz_take(struct fuzz_input *input, void *to, size_t bytes)
{
	size_t there = bytes < input->left ? bytes : input->left;

	memset(to, 0, bytes);
	if (there)
		memcpy(to, input->bytes, there);
	input->bytes += there;
	input->left -= there;
}

static inline uint8_t fuzz_u8(struct fuzz_input *input)
{
	uint8_t value;

	fuzz_take(input, &value, sizeof(value));
	return value;
}

static inline uint16_t fuzz_u16(struct fuzz_input *input)
{
	uint8_t bytes[2];

	fuzz_take(input, bytes, sizeof(bytes));
	return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static inline uint64_t fuzz_u64(struct fuzz_input *input)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 8)
		value |= (uint64_t)fuzz_u8(input) << shift;
	return value;
}

/* xorshift64; the state is never 0. */
static inline uint64_t fuzz_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* A copy of exactly that size, so that the address sanitizer sees a byte that is read too many. */
static inline uint8_t *fuzz_copy(const void *bytes, size_t byte_count)
{
	uint8_t *copy = malloc(byte_count ? byte_count : 1);

	fuzz_check(copy);
	if (byte_count)
		memcpy(copy, bytes, byte_count);
	return copy;
}

static inline char *fuzz_text(const void *bytes, size_t byte_count)
{
	char *text = malloc(byte_count + 1);

	fuzz_check(text);
	if (byte_count)
		memcpy(text, bytes, byte_count);
	text[byte_count] = '\0';
	return text;
}

static inline int fuzz_remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

static inline void fuzz_remove(const char *path)
{
	(void)nftw(path, fuzz_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static char fuzz_folder_path[256];

static inline void fuzz_folder_remove(void)
{
	fuzz_remove(fuzz_folder_path);
}

/* This process's own folder below TMPDIR; gone when it ends in order. */
static inline const char *fuzz_folder(void)
{
	const char *parent = getenv("TMPDIR");

	if (fuzz_folder_path[0])
		return fuzz_folder_path;
	(void)snprintf(fuzz_folder_path, sizeof(fuzz_folder_path), "%s/k2hft-fuzz.XXXXXX", parent ? parent : "/tmp");
	fuzz_check(mkdtemp(fuzz_folder_path));
	fuzz_check(atexit(fuzz_folder_remove) == 0);
	return fuzz_folder_path;
}

#endif
