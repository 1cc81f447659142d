#!/bin/sh
# SPDX-License-Identifier: MIT
# The page of k2hft serve in a browser: it draws, and shows a receiver that has stopped, and one that is back.
. tests/tools/mount.sh
k2hft=$bin/k2hft
serving=
trap 'code=$?; [ -z "$serving" ] || kill "$serving" 2>/dev/null; clean' EXIT

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip "no Chromium"
# page: what a reader sees of it, after its scripts have asked at least once
page() {
	HOME=$work timeout -k 5 60 "$browser" --headless --no-sandbox --disable-gpu --window-size=1280,800 --timeout=3000 \
		--user-data-dir="$work/browser" "$@" "http://127.0.0.1:$page_port/" 2>>"$work/browser.err"
}
# shows PATTERN
# shellcheck disable=SC2317
shows() { page --dump-dom >"$work/dom" && grep -q "$1" "$work/dom"; }

fixed_port=yes
start_receiver
start_mount
"$k2hft" serve --listen 127.0.0.1:0 --interval 200 "$mnt" 2>"$work/serve.err" &
serving=$!
# shellcheck disable=SC2317
port_said() {
	page_port=$(sed -n 's/.*answering HTTP on 127.0.0.1 port //p' "$work/serve.err")
	[ -n "$page_port" ]
}
until_true 20 port_said || fail "nobody listens"
echo '<b>&amp;' >"$sent/<i>log"
page --dump-dom >"$work/dom" || skip "Chromium does not start here"
until_true 5 shows 'class="target fine"' || fail "$(cat "$work/dom")"
stop_receiver
seq 1 500 >"$sent/<i>log"
until_true 5 shows '1 of 1 stuck' || fail "$(cat "$work/dom")"
# A name is text and no markup.
grep -q '<td[^>]*>senddir/&lt;i&gt;log</td><td[^>]*>500</td>' "$work/dom" || fail "the stream: $(cat "$work/dom")"
# Its lane has an age, and a last acknowledgement.
grep -qE '<td[^>]*>500</td><td[^>]*>[0-9.]+ s</td><td[^>]*>[0-9.]+ s</td>' "$work/dom" || fail "the lane: $(cat "$work/dom")"
page --screenshot="${B:-build}/serve_page.png" >/dev/null
# The last window-size counts: a telephone, in the dark.
page --window-size=500,900 --blink-settings=preferredColorScheme=0 --screenshot="${B:-build}/serve_page_telephone.png" >/dev/null
for picture in serve_page serve_page_telephone; do
	[ -s "${B:-build}/$picture.png" ] || fail "no picture: $picture"
done
start_receiver
until_true 5 shows 'class="target fine"' || fail "$(cat "$work/dom")"
kill "$serving"
wait "$serving" || fail "status $? of k2hft serve"
serving=
stop_mount || fail "status $? of k2hftfuse"
exit 0
