# SPDX-License-Identifier: MIT
"""A machine of its own, whose first process is systemd, with the units of packaging/systemd."""
import contextlib
import glob
import os
import re
import shutil
import subprocess

from parts.process import Trouble, quiet, wait_until

RECEIVER = "k2hftfusesvr.service"
SOCKET = "k2hftfusesvr.socket"
SERVER = """[GLOBAL]
PORT = 8020
[K2HFTFUSESVR]
FILE_BASEDIR = /var/log/k2hft
"""
POINT = "/var/log/my-app log"
MOUNT = r"k2hftfuse@var-log-my\x2dapp\x20log.service"
SENDER = """[SVRNODE]
NAME = 127.0.0.1
PORT = 8020
[K2HFTFUSE]
K2HTYPE = mem
[K2HFTFUSE_RULE_DIR]
TARGET = /
TRUNS = yes
DEFAULTALL = ALLOW
"""
UP_S = 30
CONTROL_S = 100
ARRIVES_S = 60
UNITS = "/run/systemd/system"
SAID = "/run/said.log"
TARGETS = ("basic", "machine", "network-online", "shutdown", "sockets", "sysinit")

# $1: the cgroup, $2: a folder of what the machine has in /etc, /run and /var, $3: the build, $4: systemd. Who started this has the
# other end of standard input, and nothing of the machine is there any more soon after that is closed.
HOLDER = r"""
trap '' HUP INT QUIT TERM
mkdir "$1" || {
	echo ended
	exit
}
sh -c '[ -e "$0/cgroup.kill" ] && echo $$ >"$0/cgroup.procs" && exec "$@"' "$1" \
	unshare --cgroup --fork --ipc --mount --mount-proc --net --pid --uts sh -c "$MACHINE" sh "$2" "$3" "$4" </dev/null ||
	echo ended &
read -r _
for try in $(seq 1000); do
	[ ! -e "$1/cgroup.kill" ] || echo 1 >"$1/cgroup.kill"
	find "$1" -depth -type d -exec rmdir {} + && exit
	sleep 0.02
done 2>/dev/null
"""

# What is written below /etc, /tmp and /var stays in the machine, and so do its devices and sysctls.
MACHINE = r"""
set -e
mount -t tmpfs -o mode=755 tmpfs /run
for folder in etc tmp var; do
	mkdir -p "/run/own/$folder" "/run/own/$folder.work"
	chmod --reference="/$folder" "/run/own/$folder"
	mount -t overlay -o "lowerdir=/$folder,upperdir=/run/own/$folder,workdir=/run/own/$folder.work" overlay "/$folder"
done
mkdir /run/own/dev /run/build
mount -t tmpfs -o mode=755 tmpfs /run/own/dev
cp -a /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty /dev/fuse /run/own/dev
mkdir /run/own/dev/mqueue /run/own/dev/pts /run/own/dev/shm
ln -s pts/ptmx /run/own/dev/ptmx
mount --move /run/own/dev /dev
mount --bind /proc/sys /proc/sys
mount -o remount,bind,ro /proc/sys
umount -l /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount --bind "$2" /run/build
cp -r "$1/." /
systemd-sysusers k2hft.conf
exec env -i PATH="$PATH" container=other SYSTEMD_UNIT_PATH=/run/systemd/system \
	"$3" --system --unit=machine.target --log-target=null
"""


def text_of(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def own_cgroup():
    """Where a cgroup of version 2 can be made, if one can."""
    point = re.search(r"^\S+ \S+ \S+ / (\S+) .* - cgroup2 ", text_of("/proc/self/mountinfo"), re.M)
    own = re.search(r"^0::(/.*)", text_of("/proc/self/cgroup"), re.M)
    return point[1] + own[1].rstrip("/") if point and own else "/sys/fs/cgroup"


class Systemd:
    """RECEIVER can be started, and MOUNT at POINT, where the directory below has the file "below". `problem`: why there is
    no systemd."""

    def __init__(self, programs, folder):
        self.log = f"{folder}/systemd.log"
        self.cgroup = f"{own_cgroup()}/k2hft-test.{os.getpid()}"
        self.first = 0
        self.problem = None
        self.files_make(f"{folder}/systemd")
        program = shutil.which("systemd", path="/lib/systemd:/usr/lib/systemd") or "no-systemd"
        with open(self.log, "wb") as log:
            # pylint: disable-next=consider-using-with
            self.holder = subprocess.Popen(
                ["sh", "-c", HOLDER, "sh", self.cgroup, f"{folder}/systemd", os.path.dirname(programs), program],
                stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True,
                env={"PATH": os.environ["PATH"], "MACHINE": MACHINE})

    def start(self):
        """Nothing of k2hft is there before it is up: a systemd that does not come up is none to test with."""
        try:
            wait_until(self.is_up, UP_S, "systemd starts")
        except Trouble as trouble:
            self.problem = str(trouble)

    @staticmethod
    def files_make(folder):
        files = {"/etc/k2hft/server.ini": SERVER, r"/etc/k2hft/var-log-my\x2dapp\x20log.ini": SENDER, f"{POINT}/below": ""}
        files |= {f"{UNITS}/{name}.target": "[Unit]\nDefaultDependencies=no\n" for name in TARGETS}
        files[f"{UNITS}/service.d/said.conf"] = f"[Service]\nStandardError=append:{SAID}\n"
        for path in glob.glob("packaging/systemd/*.in"):
            files[f"{UNITS}/{os.path.basename(path)[:-3]}"] = text_of(path).replace("@bindir@", "/run/build/bin")
        files["/etc/sysusers.d/k2hft.conf"] = text_of("packaging/systemd/k2hftfusesvr.sysusers")
        for name, text in files.items():
            os.makedirs(os.path.dirname(folder + name), exist_ok=True)
            write(folder + name, text)

    def is_up(self):
        said = text_of(self.log).splitlines()
        if "ended" in said:
            self.problem = f"no systemd: {' | '.join(said[-4:])}"
            return True
        with contextlib.suppress(OSError):
            self.first = int("0" + text_of(f"{self.cgroup}/init.scope/cgroup.procs").split("\n", maxsplit=1)[0])
        return self.first and quiet(*self.prefix(), "systemctl", "is-active", "machine.target")

    def prefix(self):
        return ["nsenter", f"--target={self.first}", "--all"]

    def path(self, name):
        """Of a file of the machine, from outside."""
        return f"/proc/{self.first}/root{name}"

    def control(self, *words):
        """What systemctl says, which has to go well."""
        done = subprocess.run([*self.prefix(), "systemctl", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=CONTROL_S, check=False)
        if done.returncode:
            raise Trouble(f"systemctl {' '.join(words)}: {done.stdout}{self.said()}")
        return done.stdout.rstrip("\n")

    def show(self, unit, name):
        return self.control("show", "--value", "--property", name, "--", unit)

    def reload(self, unit, config, text):
        """With another text of this file in /etc/k2hft."""
        write(self.path(f"/etc/k2hft/{config}"), text)
        self.control("reload", unit)

    def arrives(self, name, wanted):
        """A file at the receiver, which has these bytes then."""
        arrived = self.path(f"/var/log/k2hft/{name}")
        wait_until(lambda: os.path.exists(arrived) and os.path.getsize(arrived) >= len(wanted), ARRIVES_S, f"{name} arrives")
        done = subprocess.run(["cmp", arrived, "-"], input=wanted, capture_output=True, check=False)
        if done.returncode:
            raise Trouble(f"{name}: {(done.stdout + done.stderr).decode()}")

    def below(self):
        """POINT is not mounted."""
        return os.listdir(self.path(POINT)) == ["below"]

    def said(self):
        """By the units."""
        with contextlib.suppress(OSError):
            return text_of(self.path(SAID))
        return ""

    def close(self):
        with open(self.log, "a", encoding="utf-8") as log:
            log.write(self.said())
        self.holder.communicate()
