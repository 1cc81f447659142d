#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Processes do by chance what programs do with files on a mount: they write at any offset, append, cut, rename, link, remove,
sync, fork and share descriptors, while the worker and the receiver are killed. In the end the mount is taken away, ended in
the midst of it, or killed with all its processes. What was written to a file of one process is byte for byte in the stream of
the name by which it was opened; each line of files that all have comes once. mount_random.py NUMBER does the same again."""
import collections
import os
import pickle
import random
import signal
import subprocess
import sys

WRITERS = 3
STEPS = int(os.environ.get("ROUNDS", "600"))
SCRIPT = """
. tests/tools/mount.sh
. tests/tools/kill_worker.sh
settings="RINGSIZE = 1M
K2HTYPE = file
K2HFILE = $work/ring
K2HINIT = no
$more"
rules="$rules
$rule"
receiver_settings=$sync
fixed_port=yes
start_receiver
start_mount
quick mkdir "$sent/$round" || fail mkdir
start_killing $pause
pids=
for writer in $writers; do
    quick "$python" "$script" write "$seed" "$writer" "$sent/$round" "$received/senddir/$round" "$work/model.$writer" &
    pids="$pids $!"
done
# Threads can be left behind the first one.
all_ended() {
    ended "$1" && [ "$(ls "/proc/$1/task" 2>/dev/null | wc -l)" -le 1 ]
}
writing() {
    for pid in $pids; do ! gone "$pid" || return 1; done
}
for second in $seconds; do
    sleep "$second"
    writing || break
    kill -9 "$receiver_pid"
    wait "$receiver_pid" 2>/dev/null
    start_receiver
done
case $ending in
unmount) ;;
term)
    kill "$mount_pid"
    until_true 60 ended "$mount_pid" || fail "k2hftfuse does not end"
    rm -f "$work/killing"
    wait "$killer_pid"
    wait_mount || fail "status $?" ;;
killed)
    rm -f "$work/killing"
    wait "$killer_pid"
    # It may be about to replace one.
    kill -STOP "$mount_pid"
    until_true 20 grep -q '^State:[[:space:]]*T' "/proc/$mount_pid/status" || fail "the keeper does not stop"
    children=$(cat "/proc/$mount_pid/task/$mount_pid/children")
    kill -9 "$mount_pid"
    for child in $children; do kill -9 "$child" 2>/dev/null; done
    wait "$mount_pid" 2>/dev/null
    ! mounted || umount -l "$mnt" ;;
esac
for pid in $pids; do wait "$pid" || fail "a writer: status $?"; done
if [ "$ending" = killed ]; then
    for child in $children; do until_true 20 all_ended "$child" || fail "$child is left"; done
    ! mounted || umount -l "$mnt"
    start_mount
fi
if [ "$ending" != term ]; then
    rm -f "$work/killing"
    wait "$killer_pid"
    stop_mount || fail "status $? of k2hftfuse"
fi
quick "$python" "$script" compare "$ending" "$received/senddir/$round" "$work"/model.* || fail "seed $seed, ending $ending"
"""


class File:
    """An inode."""

    def __init__(self, name):
        self.names, self.opens = [name], []


class Opened:
    """An open file description with its descriptors."""

    def __init__(self, file, stream, descriptor, cached, synced):
        self.file, self.stream, self.descriptors = file, stream, [descriptor]
        self.cached, self.synced, self.number, self.lines = cached, synced, 0, 0


class Writer:
    def __init__(self, seed, me, sent, received):
        self.me, self.sent, self.received = me, sent, received
        self.choose = random.Random(f"{seed} {me}")
        self.streams = collections.defaultdict(bytearray)
        self.names, self.opens = {}, []
        self.holders = {}  # of a stream: who has begun a line
        self.cached = set()  # streams that bytes came to through the page cache
        self.attempt, self.lines, self.common, self.count = None, [], [], 0
        # A rule that looks at records has an fsync(2) leave the begun one alone.
        self.whole = "BYTELIMIT" in os.environ["more"] or "DENY" in os.environ["rule"]

    def path(self, name):
        return f"{self.sent}/{name}"

    def name(self):
        return f"own{self.me}.{self.choose.randrange(3)}"

    # ---- files of its own

    def open(self):
        name = self.name()
        file = self.names.get(name)
        stream = file.names[0] if file else name
        if len(self.opens) > 5 or any(opened.file is not file for opened in self.opens if opened.stream == stream) or \
                file and any(opened.stream != stream for opened in file.opens):
            return
        append = self.choose.random() < 0.6
        flags = self.choose.choice((os.O_WRONLY, os.O_WRONLY, os.O_WRONLY, os.O_RDWR)) | (os.O_APPEND if append else 0)
        flags |= self.choose.choice((0, 0, os.O_TRUNC))
        # A call that a signal interrupts is made again by Python, and then it is there twice.
        flags |= os.O_DSYNC if self.choose.random() < 0.1 and os.environ["alarms"] == "0" else 0
        descriptor = os.open(self.path(name), os.O_CREAT | flags)
        if not file:
            file = self.names[name] = File(name)
        opened = Opened(file, stream, descriptor, append, flags & os.O_DSYNC)
        file.opens.append(opened)
        self.opens.append(opened)

    def pick(self):
        return self.choose.choice(self.opens) if self.opens else None

    def pick_writer(self):
        """None, or one that may write now: not into a line that another one has begun."""
        opened = self.pick()
        return opened if opened and self.holders.get(opened.stream, opened) is opened else None

    def data(self):
        lines = [b"%d-%d" % (self.me, self.count + at) + b"x" * self.choose.choice((0, 1, 50, 3000, 5000, 70000))
                 for at in range(self.choose.choice((1, 1, 2, 30)))]
        self.count += len(lines)
        return b"\n".join(lines) + self.choose.choice((b"\n", b"\n", b"\r\n", b""))

    def put(self, opened, data):
        descriptor = self.choose.choice(opened.descriptors)
        if opened.cached:
            self.cached.add(opened.stream)
        while data:
            self.attempt = (opened.stream, data)
            if self.choose.random() < 0.2:
                written = os.pwrite(descriptor, data, self.choose.choice((0, 5, 100000)))
            else:
                written = os.write(descriptor, data)
            self.streams[opened.stream] += data[:written]
            self.attempt = None
            if data[written - 1:written] == b"\n":
                self.holders.pop(opened.stream, None)
            else:
                self.holders[opened.stream] = opened
            data = data[written:]
        if opened.synced:
            self.check_synced(opened)

    def write(self):
        opened = self.pick_writer()
        if opened:
            self.put(opened, self.data())

    def check_synced(self, opened):
        wanted = self.streams[opened.stream]
        try:
            with open(f"{self.received}/{opened.stream}", "rb") as file:
                got = file.read()
        except FileNotFoundError:
            got = b""
        least = wanted.rfind(b"\n") + 1 if self.whole else len(wanted)
        assert wanted.startswith(got) and len(got) >= least, f"{opened.stream}: synced {len(got)} of {len(wanted)} bytes"

    def sync(self):
        opened = self.pick_writer()
        if opened:
            os.fsync(opened.descriptors[0])
            self.check_synced(opened)

    def close(self, opened=None):
        opened = opened or self.pick()
        if not opened:
            return
        if len(opened.descriptors) > 1:
            os.close(opened.descriptors.pop(self.choose.randrange(len(opened.descriptors))))
            return
        # Others may have the same begin, in the page cache.
        if self.holders.get(opened.stream) is opened:
            if len(opened.file.opens) > 1:
                self.put(opened, b"\n")
            self.holders.pop(opened.stream, None)
        os.close(opened.descriptors.pop())
        opened.file.opens.remove(opened)
        self.opens.remove(opened)

    def share(self):
        opened = self.pick()
        if opened and len(opened.descriptors) < 3:
            opened.descriptors.append(os.dup(opened.descriptors[0]))

    def fork(self):
        opened = self.pick_writer()
        if not opened:
            return
        data = self.data() + b"\n"
        self.attempt = (opened.stream, data)
        child = os.fork()
        if child == 0:
            at = 0
            try:
                while at < len(data):
                    at += os.write(opened.descriptors[0], data[at:])
            except OSError:
                os._exit(1)
            os.kill(os.getpid(), signal.SIGKILL)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != -signal.SIGKILL:
            raise OSError("a child failed")
        if opened.cached:
            self.cached.add(opened.stream)
        self.streams[opened.stream] += data
        self.attempt = None
        self.holders.pop(opened.stream, None)

    def cut(self):
        opened, bytes = self.pick(), self.choose.choice((0, 0, 0, 7, 4096))
        if opened:
            os.ftruncate(opened.descriptors[0], min(bytes, os.fstat(opened.descriptors[0]).st_size))
        elif self.names:
            os.truncate(self.path(self.choose.choice(list(self.names))), 0)

    def drop(self, name):
        file = self.names.pop(name, None)
        if file:
            file.names.remove(name)

    def rename(self):
        name, other = self.name(), self.name()
        file = self.names.get(name)
        if not file or self.names.get(other) is file:
            return
        os.rename(self.path(name), self.path(other))
        self.drop(other)
        del self.names[name]
        file.names[file.names.index(name)] = other
        self.names[other] = file

    def link(self):
        name, other = self.name(), self.name()
        if name in self.names and other not in self.names:
            os.link(self.path(name), self.path(other))
            self.names[other] = self.names[name]
            self.names[other].names.append(other)

    def unlink(self):
        name = self.name()
        if name in self.names:
            os.unlink(self.path(name))
            self.drop(name)

    # ---- files of all

    def common_open(self):
        append = self.choose.random() < 0.5
        if len(self.common) < 3:
            flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if append else 0) | self.choose.choice((0, 0, os.O_TRUNC))
            self.common.append((os.open(self.path(f"all.{self.choose.randrange(2)}"), flags), append))

    def common_write(self):
        if not self.common:
            return
        descriptor, append = self.choose.choice(self.common)
        line = b"%d:%d " % (self.me, len(self.lines)) + b"y" * self.choose.choice((0, 1, 50, 500)) + b"\n"
        cuts = sorted(self.choose.randrange(len(line)) for _ in range(0 if append else self.choose.randrange(3)))
        self.lines.append(None)
        for begin, end in zip([0, *cuts], [*cuts, len(line)]):
            while begin < end:
                begin += os.write(descriptor, line[begin:end])
        self.lines[-1] = (line, append)

    def common_close(self):
        if self.common:
            os.close(self.common.pop(self.choose.randrange(len(self.common)))[0])

    def common_change(self):
        name, other = self.choose.sample(("all.0", "all.1"), 2)
        try:
            self.choose.choice((lambda: os.rename(self.path(name), self.path(other)), lambda: os.unlink(self.path(name)),
                                lambda: os.truncate(self.path(name), 0)))()
        except FileNotFoundError:
            pass

    def run(self):
        steps = [self.open] * 4 + [self.write] * 9 + [self.close] * 3 + [self.sync, self.share, self.fork, self.cut, self.rename,
                 self.link, self.unlink] + [self.common_open] * 2 + [self.common_write] * 6 + [self.common_close,
                 self.common_change]
        for _ in range(STEPS):
            self.choose.choice(steps)()
        while self.opens:
            self.close(self.opens[0])


def write(seed, me, sent, received, model):
    writer, ended = Writer(seed, me, sent, received), False
    # A write that waits for room ends with what was taken.
    if os.environ["alarms"] != "0":
        signal.signal(signal.SIGALRM, lambda *_: None)
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.01)
    try:
        writer.run()
    except OSError as error:
        print(f"writer {me}: {error}")
        ended = True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    with open(model, "wb") as file:
        pickle.dump((dict(writer.streams), writer.cached, writer.lines, writer.attempt, ended), file)


def compare_stream(name, got, wanted, attempt, cached, ending):
    more = attempt[1] if attempt and attempt[0] == name else b""
    assert (wanted + more).startswith(got), f"{name}: {len(got)} bytes of {len(wanted)} are others"
    least = len(wanted)
    # Records that are not in the ring when their process is killed are gone.
    if ending == "killed":
        least = 0 if cached else wanted.rfind(b"\n") + 1
    assert len(got) >= least, f"{name}: {len(got)} of {len(wanted)} bytes"


def compare(ending, received, models):
    lines, sure = collections.Counter(), set()
    for model in models:
        with open(model, "rb") as file:
            streams, cached, written, attempt, ended = pickle.load(file)
        assert not ended or ending != "unmount", "a writer has seen an error"
        for name, wanted in streams.items():
            got = b""
            if os.path.exists(f"{received}/{name}"):
                with open(f"{received}/{name}", "rb") as file:
                    got = file.read()
            compare_stream(name, got, bytes(wanted), attempt, ended and name in cached, ending if ended else "unmount")
        sure.update(line[0] for line in written if line and not (ended and line[1] and ending == "killed"))
        lines.update(line[0] for line in written if line)
    got = collections.Counter()
    for name in ("all.0", "all.1"):
        if os.path.exists(f"{received}/{name}"):
            with open(f"{received}/{name}", "rb") as file:
                got.update(file.read().splitlines(keepends=True))
    if ending == "unmount":
        assert not got - lines, f"not written: {[line[:60] for line in got - lines][:5]}"
    assert max(got.values(), default=1) == 1, f"repeated: {[line[:60] for line in got if got[line] > 1][:5]}"
    assert not sure - set(got), f"missing: {[line[:60] for line in sure - set(got)][:5]}"


def main():
    if sys.argv[1:2] == ["write"]:
        write(sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
        return 0
    if sys.argv[1:2] == ["compare"]:
        compare(sys.argv[2], sys.argv[3], sys.argv[4:])
        return 0
    seed = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("K2HFT_SEED") or str(random.randrange(1 << 32))
    choose = random.Random(seed)
    ending = os.environ.get("ENDING", choose.choice(("unmount", "unmount", "term", "killed")))
    more = choose.choice(("", "", "LINEMAX = 1000", "HELDMAX = 64K", "WRITEMODE = direct", "FLUSHMS = 100", "BYTELIMIT = 10M"))
    rule = choose.choice(("", "DENY = zzz"))
    sync, alarms = choose.choice(("", "", "FILE_SYNC = always")), choose.choice("001")
    pause = choose.choice((0.05, 0.3, 1))
    print(f"seed {seed}: {ending} {more} {rule} {sync} alarms {alarms} pause {pause}", flush=True)
    seconds = " ".join(f"{choose.uniform(0.1, 1.5 if ending == 'unmount' else 0.5):.2f}"
                       for _ in range(20 if ending == "unmount" else 2))
    return subprocess.run(["sh", "-c", SCRIPT], check=False, env={
        **os.environ, "seed": seed, "ending": ending, "seconds": seconds, "more": more, "rule": rule, "sync": sync,
        "pause": str(pause), "alarms": alarms, "round": "r", "python": sys.executable, "script": __file__,
        "writers": " ".join(map(str, range(WRITERS)))}).returncode


sys.exit(main())
