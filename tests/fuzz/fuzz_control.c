/* SPDX-License-Identifier: MIT */
/*
 * Input of CTLPORT: requests to the receiver, and answers that `k2hft stat` reads. The input: a byte that
 * says which of the two, then that.
 */
#include "receiver/control/http.h"
#include "tools/stat/stat.h"
#include "tools/base/terminal.h"
#include "fuzz.h"

static void request_run(const uint8_t *data, size_t size)
{
	char *copy = (char *)fuzz_copy(data, size);
	static const char *const names[] = {"here", NULL};
	enum k2i_http_page page = K2I_HTTP_PAGE;
	bool head;
	int status = k2i_http_request(copy, size, &page, &head);

	fuzz_check(status == 0 || status == 200 || (status >= 400 && status <= 431));
	fuzz_check(status != 0 || size < K2I_HTTP_HEADER_BYTES_MAX);
	if (status == 200)
		(void)k2i_http_host_own(copy, size, names);
	free(copy);
}

/* A terminal obeys nothing of it. */
static void shown_check(const char *text, const struct json_value *status)
{
	char *shown = NULL, verdict[256];
	size_t bytes;
	FILE *output = open_memstream(&shown, &bytes);

	fuzz_check(output);
	text_show(output, text, true);
	(void)stat_verdict_make(status, 1, verdict, sizeof(verdict));
	stat_show_table(output, "target", status, NULL, 0, false);
	stat_show_table(output, "target", status, status, 1, true);
	stat_show_line(output, "target", status, true);
	stat_show_metrics(output, status);
	fuzz_check(fclose(output) == 0);
	for (size_t at = 0; at < bytes; at++)
		fuzz_check(shown[at] == '\n' || ((unsigned char)shown[at] >= ' ' && shown[at] != 127));
	free(shown);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json_value *status;
	char *text;
	size_t at;

	if (size < 2)
		return 0;
	if (data[0] & 1) {
		request_run(data + 1, size - 1);
		return 0;
	}
	text = fuzz_text(data + 1, size - 1);
	status = json_parse(text, strlen(text), &at);
	if (status)
		shown_check(text, status);
	json_free(status);
	free(text);
	return 0;
}
