#!/bin/sh
# SPDX-License-Identifier: MIT
# An error that prevents a start is one clear line, with the right status.
# shellcheck source=tests/tools/receiver.inc
. tests/tools/receiver.inc
receiver_config ""
receiver_start

# STATUS PATTERN ARGUMENT...
refused() {
	wanted=$1 pattern=$2
	shift 2
	"$server" "$@" >"$dir/said" 2>&1
	got=$?
	[ $got = "$wanted" ] || fail "status $got, not $wanted: $* ($(cat "$dir/said"))"
	grep -qe "$pattern" "$dir/said" || fail "no \"$pattern\": $(cat "$dir/said")"
}

mkdir "$dir/base2"
sed "s|^FILE_BASEDIR.*|FILE_BASEDIR = $dir/base2|" "$dir/conf" >"$dir/conf2"
{
	cat "$dir/conf2"
	echo 'FORMAT = "%Q"'
} >"$dir/conf3"
refused 1 "can't listen on 127.0.0.1 port $port: Address already in use" -conf "$dir/conf2" --listen "127.0.0.1:$port"
refused 1 'conf:[1-9][0-9]*: another receiver uses .*/out/.k2hft' -conf "$dir/conf" --listen 127.0.0.1:0
# STATUS PATTERN LINES, which take the place of FILE_BASEDIR's
changed() {
	sed "s|^FILE_BASEDIR.*|$3|" "$dir/conf" >"$dir/changed"
	refused "$1" "changed:[1-9][0-9]*: $2" -conf "$dir/changed" --listen 127.0.0.1:0
}
changed 1 '.*FILE_BASEDIR .*/out: another receiver writes there' "FILE_BASEDIR = $dir/out\nSTATEDIR = $dir/base2"
# A file is in the way of a directory.
changed 1 '.*FILE_BASEDIR .*/conf/base: Not a directory' "FILE_BASEDIR = $dir/conf/base"
changed 1 '.*STATEDIR .*/conf/state: Not a directory; give' "FILE_BASEDIR = $dir/base2\nSTATEDIR = $dir/conf/state"
changed 2 'FILE_UNIFY ' "FILE_BASEDIR = $dir/base2\nFILE_UNIFY = ../up"
changed 1 'STATEDIR must not be FILE_BASEDIR' "FILE_BASEDIR = $dir/base2\nSTATEDIR = $dir/base2"
for made in mkfifo mkdir; do
	mkdir "$dir/state"
	"$made" "$dir/state/ledger"
	changed 1 '.*/state/ledger is no regular file' "FILE_BASEDIR = $dir/base2\\nSTATEDIR = $dir/state"
	rm -r "$dir/state"
done
# Each thread has descriptors of its own, whatever the limit leaves for senders.
sed "s|^SOCKTHREADCNT.*|SOCKTHREADCNT = 256|; s|^FILE_BASEDIR.*|FILE_BASEDIR = $dir/base2|" "$dir/conf" >"$dir/conf4"
printf '#!/bin/sh\nexec prlimit --nofile=1024:1024 %s "$@"\n' "$server" >"$dir/limited"
chmod +x "$dir/limited"
whole=$server
server=$dir/limited
refused 1 'SOCKTHREADCNT = 256 needs 1152 open files, the limit is 1024: raise' -conf "$dir/conf4" --listen 127.0.0.1:0
# Where a unit hides all of /proc but processes.
cat >"$dir/limited" <<END
#!/bin/sh
exec unshare -m sh -c 'mount -t proc -o subset=pid proc /proc && exec $whole "\$@"' sh "\$@"
END
if "$dir/limited" --version >"$dir/said" 2>&1; then
	refused 1 'boot_id can.t be read: the receiver needs /proc, and all of it' -conf "$dir/conf2" --listen 127.0.0.1:0
fi
# Root is refused, too, if it may not.
if setpriv --bounding-set=-net_bind_service true 2>/dev/null && [ "$(cat /proc/sys/net/ipv4/ip_unprivileged_port_start)" -gt 1 ]; then
	printf '#!/bin/sh\nexec setpriv --bounding-set=-net_bind_service %s "$@"\n' "$whole" >"$dir/limited"
	refused 1 'port 1: Permission denied; a port below 1024 is for root' -conf "$dir/conf2" --listen 127.0.0.1:1
fi
server=$whole
refused 2 'there is one configuration' -conf "$dir/conf" -json '{}'
refused 2 'conf3:9: ' -conf "$dir/conf3" -d err
refused 2 '-conf FILE is missing'
refused 2 'unknown option "-x"' -x
refused 2 'wants a value' -conf
refused 2 'no message level "loud"' -conf "$dir/conf" -d loud
refused 1 "can't find the address of LISTEN = none.invalid: " -conf "$dir/conf2" --listen none.invalid:0
refused 2 'ADDRESS:PORT' -conf "$dir/conf2" --listen here
refused 2 'a port of 65535 at most' -conf "$dir/conf2" --listen 127.0.0.1:65536
refused 2 'No such file' -conf "$dir/none"
# An empty file says nothing.
export K2HFTSVRCONFFILE='' K2HFTSVRJSONCONF='' K2HFTDBGFILE='' K2HFTDBGMODE=''
refused 2 '-conf FILE is missing'
refused 1 'another receiver uses' -conf "$dir/conf" --listen 127.0.0.1:0
