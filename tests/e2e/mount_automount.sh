#!/bin/sh
# SPDX-License-Identifier: MIT
# x-systemd.automount: whoever comes to the directory waits until mount(8), as systemd(1) runs it in its own process group,
# has mounted it; what he writes arrives. A signal ends the mount, and the next one who comes has it mounted again. umount(8)
# ends that, and nobody who looks what became of the mount has it mounted once more.
if [ -z "${IN_NAMESPACE:-}" ]; then
	[ "$(id -u)" = 0 ] || { echo "SKIP: mount(8) is for root"; exit 77; }
	[ -x /sbin/mount.fuse3 ] || [ -x /usr/sbin/mount.fuse3 ] || { echo "SKIP: no mount.fuse3"; exit 77; }
	grep -qw autofs /proc/filesystems || { echo "SKIP: no autofs"; exit 77; }
	unshare -m true || { echo "SKIP: no mount namespaces"; exit 77; }
	IN_NAMESPACE=yes exec tests/tools/own_mounts.sh "$0"
fi
mount --bind "${B:-build}/bin" /usr/local/bin && mount --bind "${B:-build}/lib" /usr/local/lib || exit 1
. tests/tools/mount.sh
start_receiver
sender_config
cat >"$work/automount.py" <<'END'
import ctypes, fcntl, os, re, select, signal, struct, subprocess, sys
place, options, file = sys.argv[1:]
ready, fail = 0x9360, 0x9361  # AUTOFS_IOC_READY, AUTOFS_IOC_FAIL
requests, end = os.pipe()
data = f"fd={end},pgrp={os.getpgrp()},minproto=5,maxproto=5,direct".encode()
if ctypes.CDLL(None, use_errno=True).mount(b"test", place.encode(), b"autofs", 0, data):
    sys.exit(os.strerror(ctypes.get_errno()))
os.close(end)
root = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
for number in range(2):
    # In another session, as programs are.
    comes = subprocess.Popen(["sh", "-c", f"echo {number} >>'{file}'"], start_new_session=True)
    token = struct.unpack_from("I", os.read(requests, 304), 8)[0]
    mounts = subprocess.Popen(["mount", "-t", "fuse.k2hftfuse", "k2hftfuse", place, "-o", options])
    try:
        status = mounts.wait(30)
    except subprocess.TimeoutExpired:
        status = "it waits for itself"
    fcntl.ioctl(root, fail if status else ready, token)
    if status or comes.wait(30):
        sys.exit(f"mount(8): {status}; who came: {comes.wait(30)}")
    with open(place + "/.k2hft-stat", encoding="utf-8") as status:
        worker = re.search(r'"pid": (\d+)', status.read())[1]
    with open(f"/proc/{worker}/stat", encoding="utf-8") as stat:
        keeper = os.pidfd_open(int(stat.read().rsplit(")", 1)[1].split()[1]))
    if number == 0:
        signal.pidfd_send_signal(keeper, signal.SIGTERM)
    else:
        subprocess.run(["umount", place], check=True)
    if not select.select([keeper], [], [], 10)[0]:
        sys.exit("it does not end")
    if select.select([requests], [], [], 0)[0]:
        sys.exit("it comes to its own directory")
    os.close(keeper)
END
timeout -k 5 100 setsid python3 "$work/automount.py" "$mnt" "conf=$work/slave.ini,x-systemd.automount,_netdev" "$sent/a" ||
	fail "not mounted"
! mounted || fail "still mounted"
printf '0\n1\n' >"$work/expected"
arrives "$work/expected" senddir/a
