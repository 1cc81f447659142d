#!/bin/sh
# SPDX-License-Identifier: MIT
# The examples in the pages of frames, HELLO and chunks make a receiver that k2hft push can send to.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
library=$(cd "${B:-build}/lib" && pwd)
{
	for page in k2hft_frame_header_encode k2hft_hello_encode k2hft_chunk_next; do
		sed '1,/^\.SH EXAMPLES/d' "man/man3/$page.3" | sed '1,/^\.EX/d; /^\.EE/,$d; s/\\e/\\/g; s/\\-/-/g'
	done
	cat <<'END'
#include <arpa/inet.h>

static uint8_t body[K2HFT_FRAME_BODY_BYTES_MIN], raw[K2HFT_FRAME_BODY_BYTES_MIN];
static uint8_t answer[K2HFT_FRAME_HEADER_BYTES + K2HFT_MESSAGE_BYTES_MAX];

static int data_take(int peer, const struct k2hft_frame *frame, FILE *output, uint64_t *committed)
{
	struct k2hft_ack ack = {.level = K2HFT_LEVEL_WRITTEN};
	const void *chunks = body;
	int bytes;

	if (frame->flags & K2HFT_FRAME_LZ4) {
		if (k2hft_frame_decompress(body, frame->body_bytes, raw, frame->raw_bytes))
			return -1;
		chunks = raw;
	}
	if (chunks_take(frame, chunks, output, committed) || fflush(output))
		return -1;
	ack.position = *committed;
	ack.window_end = *committed + (16u << 20);
	bytes = k2hft_ack_encode(&ack, answer, sizeof(answer));
	return bytes > 0 && write(peer, answer, (size_t)bytes) == bytes ? 0 : -1;
}

/* One connection, until the sender says that it ends. */
int main(int argc, char **argv)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), peer, error = 0;
	FILE *output = argc == 2 ? fopen(argv[1], "w") : NULL;
	struct k2hft_frame frame = {.type = 0};
	uint64_t committed = 0;

	if (!output || bind(listener, (struct sockaddr *)&address, sizeof(address)) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&address, &length))
		return 2;
	printf("%u\n", (unsigned)ntohs(address.sin_port));
	fflush(stdout);
	peer = accept(listener, NULL, NULL);
	while (error == 0 && frame.type != K2HFT_FRAME_BYE) {
		error = frame_receive(peer, &frame, body, sizeof(body));
		if (error == 0 && frame.type == K2HFT_FRAME_HELLO)
			error = hello_answer(peer, &frame, body, committed);
		else if (error == 0 && frame.type == K2HFT_FRAME_DATA)
			error = data_take(peer, &frame, output, &committed);
	}
	return error ? 1 : 0;
}
END
} >"$dir/receiver.c"
# The flags are words.
# shellcheck disable=SC2086
"${CC:-cc}" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror ${SANITIZER-} -Iinclude -o "$dir/receiver" "$dir/receiver.c" \
	-L"$library" -lk2hft -Wl,-rpath,"$library" || fail "it does not compile"
seq 1 200000 >"$dir/in"
printf 'CR LF\r\nno line end' >>"$dir/in"
for compress in never always; do
	rm -f "$dir/port"
	"$dir/receiver" "$dir/received" >"$dir/port" &
	pid=$!
	wait_until [ -s "$dir/port" ]
	"${B:-build}/bin/k2hft" push -q --compress "$compress" -r "127.0.0.1:$(cat "$dir/port")" "$dir/in" || fail "push"
	wait $pid || fail "the receiver ended with $?"
	pid=
	cmp "$dir/in" "$dir/received" || fail "with compress $compress"
done
exit 0
