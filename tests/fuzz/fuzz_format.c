/* SPDX-License-Identifier: MIT */
/*
 * FORMAT and FILE_TIMEFORM: compiled, then applied. The input: a byte of flags, then format, time format, path, host and
 * the payload, with NULs between them.
 */
#include <ctype.h>

#include "app/format/format.h"
#include "fuzz.h"

#define BINARY 1u

static char *field_take(const uint8_t **data, size_t *size)
{
	const uint8_t *end = *size ? memchr(*data, '\0', *size) : NULL;
	size_t bytes = end ? (size_t)(end - *data) : *size;
	char *text = fuzz_text(*data, bytes);

	*data += bytes + (end != NULL);
	*size -= bytes + (end != NULL);
	return text;
}

/* For any record, %J is the inside of a JSON string: no control character, no quote that ends it, UTF-8. */
static void json_check(const struct k2i_format_origin *origin, bool binary, const char *payload, size_t payload_bytes)
{
	struct k2i_format_buffer output = {0};
	struct k2i_format *format;
	char message[256];

	fuzz_check(k2i_format_compile("%J", NULL, &format, message, sizeof(message)) == 0);
	fuzz_check(k2i_format_records(format, origin, binary, payload, payload_bytes, NULL, &output) == 0);
	for (size_t at = 0; at < output.bytes; at++) {
		unsigned char byte = (unsigned char)output.data[at];

		fuzz_check(byte >= 32 && byte != '"');
		if (byte != '\\')
			continue;
		fuzz_check(at + 1 < output.bytes && strchr("\"\\bfnrtu", output.data[at + 1]));
		if (output.data[++at] != 'u')
			continue;
		fuzz_check(output.bytes - at > 4);
		for (unsigned digit = 1; digit <= 4; digit++)
			fuzz_check(isxdigit((unsigned char)output.data[at + digit]));
	}
	free(output.data);
	k2i_format_free(format);
}

static void records_run(const struct k2i_format *format, const struct k2i_format_origin *origin, bool binary,
			const char *payload, size_t payload_bytes)
{
	struct k2i_format_buffer output = {0};
	size_t once;

	fuzz_check(k2i_format_records(format, origin, binary, payload, payload_bytes, NULL, &output) == 0);
	once = output.bytes;
	fuzz_check(!k2i_format_plain(format) || once == payload_bytes);
	fuzz_check(k2i_format_records(format, origin, binary, payload, payload_bytes, NULL, &output) == 0);
	fuzz_check(output.bytes == 2 * once);
	fuzz_check(once == 0 || memcmp(output.data, output.data + once, once) == 0);
	free(output.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t times_ns[] = {0, UINT64_C(1700000000123456789), UINT64_MAX};
	struct k2i_format_origin origin = {.writer_pid = UINT32_MAX};
	struct k2i_format *format;
	char message[128] = "", *texts[4], name[64], *payload;
	bool binary;

	if (size == 0)
		return 0;
	fuzz_log_open();
	binary = *data & BINARY;
	origin.time_ns = times_ns[*data / 2 % 3];
	data++;
	size--;
	for (unsigned index = 0; index < 4; index++)
		texts[index] = field_take(&data, &size);
	origin.path = texts[2];
	origin.host = texts[3];
	payload = (char *)fuzz_copy(data, size);
	(void)k2i_format_time(texts[1], origin.time_ns, name, sizeof(name));
	if (k2i_format_compile(texts[0], texts[1], &format, message, sizeof(message)) == 0) {
		records_run(format, &origin, binary, payload, size);
		k2i_format_free(format);
	} else {
		fuzz_check(*message);
	}
	json_check(&origin, binary, payload, size);
	for (unsigned index = 0; index < 4; index++)
		free(texts[index]);
	free(payload);
	return 0;
}
