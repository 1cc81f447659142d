#!/bin/sh
# SPDX-License-Identifier: MIT
# PLUGIN of a receiver: for each file a process, which gets what FORMAT makes of the records and writes the file; it has
# the variables of the command and no others, its words are those in quotes, and what it says is in the log.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
cat >"$dir/filter" <<'END'
#!/bin/sh
echo "begins with $# words: $2" >&2
/usr/bin/env >>"$1"
exec /usr/bin/tr a-z A-Z
END
chmod +x "$dir/filter"
receiver_control
receiver_config "PLUGIN = KEY=1 'OTHER=x y' $dir/filter $dir/environment \"two words\"" 'FORMAT = %F: %L' \
	'[SVRNODE]' 'NAME = localhost' "CTLPORT = $control"
receiver_start
sends 'one 1 0' a/f one two
sends 'two 1 0' g three
wait_until is plugins_running 2
# A reload with another one: those that run have the end of their input, and the next ones its command.
reloads() { "${B:-build}/bin/k2hft" reload "$dir/out/.k2hft" >"$dir/said" 2>&1; }
cp "$dir/conf" "$dir/conf.former"
sed -i 's|^PLUGIN = .*|PLUGIN = /nowhere/x|' "$dir/conf"
reloads && fail "a PLUGIN that is not there"
grep -q "$dir/conf:8: PLUGIN = /nowhere/x" "$dir/said" || fail "not said: $(cat "$dir/said")"
sed 's|^PLUGIN = .*|PLUGIN = /usr/bin/tr a-z b-za|' "$dir/conf.former" >"$dir/conf"
reloads || fail "another PLUGIN: $(cat "$dir/said")"
sends 'three 1 0' h hal
wait_until is plugins_running 1
cp "$dir/conf.former" "$dir/conf"
reloads || fail "the former PLUGIN: $(cat "$dir/said")"
wait_until is plugins_running 0
printf 'i: ibm\n' | cmp - "$dir/out/h" || fail "h"
receiver_stop TERM
printf 'A/F: ONE\nA/F: TWO\n' | cmp - "$dir/out/a/f" || fail "a/f"
printf 'G: THREE\n' | cmp - "$dir/out/g" || fail "g"
logged 'plug-in of g: begins with 2 words: two words' || fail "its messages"
grep -vE '^(PWD|SHLVL|_)=' "$dir/environment" | sort -u >"$dir/seen"
printf 'KEY=1\nOTHER=x y\n' | cmp - "$dir/seen" || fail "environment: $(cat "$dir/seen")"

# One that can't be run is an error of the start, which says where.
sed -i 's|^PLUGIN = .*|PLUGIN = /nowhere/x|' "$dir/conf"
"$server" -conf "$dir/conf" 2>"$dir/log" && fail "it started"
logged "$dir/conf:8: PLUGIN = /nowhere/x: /nowhere/x can't be run: No such file" || fail "the message"
exit 0
