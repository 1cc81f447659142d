#!/bin/sh
# SPDX-License-Identifier: MIT
# Started by root with USER the receiver becomes that user for good, with directories of its own, and goes on writing after
# SIGHUP and after a file was removed. USER that is nobody, can't write, or is somebody else's is an error. A directory's
# set-group-ID bit counts.
# That user has to come as far as the folder of this test.
TMPDIR=/tmp
export TMPDIR
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
[ "$(id -u)" = 0 ] || skip "only root can become somebody else"
id nobody >/dev/null 2>&1 || skip "no user nobody"
user=$(id -u nobody)
group=$(id -g nobody)
chmod 711 "$dir"

# RECORD to the file log/a
record() { sends "ring$1 1 0" log/a "$1"; }
# PATTERN in the message, with status STATUS
refused() {
	"$server" -conf "$dir/conf" --listen 127.0.0.1:0 >"$dir/said" 2>&1
	got=$?
	[ $got = "$2" ] || fail "status $got, not $2: $(cat "$dir/said")"
	grep -qe "$1" "$dir/said" || fail "no \"$1\": $(cat "$dir/said")"
}

# The user who starts it may be in groups that are nobody's.
program=$server
cat >"$dir/in_groups" <<END
#!/bin/sh
exec python3 -c 'import os, sys; os.setgroups([0, 4000002]); os.execv(sys.argv[1], sys.argv[1:])' "$program" "\$@"
END
chmod 700 "$dir/in_groups"
server=$dir/in_groups
receiver_config 'USER = nobody' "STATEDIR = $dir/deep/state"
receiver_start
server=$program
for word in Uid Gid; do
	wanted=$user
	[ $word = Uid ] || wanted=$group
	[ "$(sed -n "s/^$word:\t//p" "/proc/$pid/status" | tr '\t' '\n' | sort -u)" = "$wanted" ] || fail "$word"
done
for task in "/proc/$pid/task/"*; do
	grep -q '^CapPrm:.0*$' "$task/status" || fail "privileges are left in $task"
	grep -q '^CapEff:.0*$' "$task/status" || fail "privileges are left in $task"
	grep -q '^NoNewPrivs:.1' "$task/status" || fail "new privileges can be had in $task"
	[ "$(sed -n 's/^Uid:\t//p' "$task/status" | tr '\t' '\n' | sort -u)" = "$user" ] || fail "$task"
done
! sed -n 's/^Groups:\t//p' "/proc/$pid/status" | tr ' ' '\n' | grep -qx '0\|4000002' || fail "root's group is left"
record one
kill -HUP "$pid"
wait_until logged 'SIGHUP'
record two
[ "$(cat "$dir/out/log/a")" = "$(printf 'one\ntwo')" ] || fail "records after SIGHUP"
mv "$dir/out/log/a" "$dir/out/log/b"
record three
[ "$(cat "$dir/out/log/a")" = three ] || fail "a file that was renamed is made again"
[ "$(stat -c %u:%a "$dir/out" "$dir/out/log/a" "$dir/deep" "$dir/deep/state" | sort -u)" = "$(printf '%s:600\n%s:700' "$user" "$user")" ] ||
	fail "owners: $(stat -c '%n %u %a' "$dir/out" "$dir/out/log/a" "$dir/deep" "$dir/deep/state")"
receiver_stop TERM

# A directory that passes its group on passes it to what is made below it, and FILE_MODE lets that group read it.
rm -rf "$dir/out" "$dir/deep"
echo 'FILE_MODE = 0640' >>"$dir/conf"
chgrp 4000001 "$dir"
chmod g+s "$dir"
receiver_start
record four
receiver_stop TERM
[ "$(stat -c %u:%g "$dir/deep" "$dir/deep/state" "$dir/out" "$dir/out/log" "$dir/out/log/a" | sort -u)" = "$user:4000001" ] ||
	fail "groups: $(stat -c '%n %u %g' "$dir/deep" "$dir/deep/state" "$dir/out" "$dir/out/log" "$dir/out/log/a")"
[ "$(stat -c %a "$dir/deep" "$dir/deep/state" "$dir/out" "$dir/out/log" "$dir/out/log/a" | paste -s)" = "$(printf '2700\t2700\t2750\t2750\t640')" ] ||
	fail "modes: $(stat -c '%n %a' "$dir/deep" "$dir/deep/state" "$dir/out" "$dir/out/log" "$dir/out/log/a")"
chmod g-s "$dir"

# A link that the user himself can have made does not lead root to where he may make nothing; one to what he has is fine.
mkdir "$dir/home" "$dir/roots"
ln -s ../roots "$dir/home/link"
chown -h "$user" "$dir/home" "$dir/home/link"
receiver_config 'USER = nobody' "STATEDIR = $dir/home/link/state"
refused "USER = nobody can't write in STATEDIR .*No such file" 1
[ ! -e "$dir/roots/state" ] || fail "root made what the user asked for"
mkdir "$dir/roots/state"
chown "$user" "$dir/roots/state"
receiver_start
receiver_stop TERM

receiver_config "USER = $user" "GROUP = $group"
chown -R 0:0 "$dir/out"
refused "USER = $user can't write in FILE_BASEDIR .*Permission denied" 1
[ "$(stat -c %u "$dir/out")" = 0 ] || fail "a directory that exists was given away"
receiver_config 'USER = nobody-at-all'
refused 'conf:[0-9]*: USER = nobody-at-all: there is no such user' 2
receiver_config 'USER = nobody' 'GROUP = nobody-at-all'
refused 'conf:[0-9]*: GROUP = nobody-at-all: there is no such group' 2
receiver_config 'GROUP = 0'
refused 'conf:8: GROUP goes with USER' 2
receiver_config 'USER = 4000000'
refused 'conf:[0-9]*: USER = 4000000 .* so it needs GROUP' 2

command -v setpriv >/dev/null || exit 0
chmod 644 "$dir/conf"
cp "$server" "$dir/server" && chmod 755 "$dir/server"
"$dir/server" --version >/dev/null || exit 0
receiver_config 'USER = root'
chmod 644 "$dir/conf"
setpriv --reuid "$user" --regid "$group" --clear-groups "$dir/server" -conf "$dir/conf" --listen 127.0.0.1:0 >"$dir/said" 2>&1
[ $? = 2 ] || fail "a user becomes root: $(cat "$dir/said")"
grep -q 'conf:[0-9]*: only root can become USER = root' "$dir/said" || fail "$(cat "$dir/said")"
