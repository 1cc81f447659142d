# SPDX-License-Identifier: MIT
"""A receiver with three senders, in a folder of their own."""
import contextlib
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from .network import Link
from .peer import KINDS, Kafka, Peer
from .process import Kept, Process, Trouble, children_of, name_of, quiet, wait_until
from .proxy import Proxy

OUTPUT_BYTES = 400 << 20
ROTATED_BYTES = 64 << 10
READY_S = 30
TURN_S = 0.4


class World:
    """`kind`: "link" (two hosts with a cable between them), "proxy" (a hostile wire), "plugins" (receiver and mount have
    cat as a plug-in), "relayed" (a relay before the receiver), "remote" (behind the receiver is a server of Forward or
    OTLP), "kept" (the mount outlives its keeper) or "plain"."""

    def __init__(self, options, random, kind):
        self.bin = os.path.join(os.path.abspath(options.build), "bin")
        self.tools = os.path.join(os.path.abspath(options.build), "tests", "tools")
        self.random = random
        self.kind = kind
        self.link = self.proxy = self.receiver = self.mount = None
        self.port = 0
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="k2hft-faults."))
        self.unify = random.random() < 0.25
        self.level = "synced" if random.random() < 0.15 else "written"
        # In one file others' records may come between the pieces of a long one (k2hftfusesvr(8)): then it has none.
        self.ring_bytes = random.choice(["1M", "4M", "16M"] if self.unify else ["256K", "1M", "4M", "16M"])
        # Longer records go in pieces: k2hft-push(1), --ring-size.
        self.piece_bytes = {"256K": 32, "1M": 128, "4M": 512, "16M": 2048}[self.ring_bytes] << 10
        self.compress = random.choice(["auto", "never", "always"])
        self.disk = self.path("disk")
        self.output = os.path.join(self.disk, "out")
        self.mount_point = self.path("mnt")
        # Such a FORMAT leaves records as they are, and has pieces of one joined before.
        self.formatted = random.random() < 0.25
        self.pieces = False
        self.rotated = False
        self.relayed = kind == "relayed"
        self.remote = self.peer = self.peer_wire = None
        self.refuses_some = False
        self.files = None  # written besides, by a receiver that has a peer
        if kind == "remote":
            self.send_remote(random.choice(KINDS))
        self.last = None  # the receiver behind a relay
        self.last_port = 0
        self.plugged = kind == "plugins"
        if self.plugged:
            # A plug-in's output is nobody's to join again.
            self.unify = self.formatted = False
            self.ring_bytes, self.piece_bytes = "16M", 2048 << 10
        self.tls = random.random() < 0.25
        self.write_mode = random.choice(["cached", "direct"])
        self.own_disk = False
        self.twin = None
        self.twin_port = 0
        self.has_twin = False
        self.turns, self.turned = "", False
        self.turn_at = 0
        self.plans = {}

    def keep_small(self):
        """Claims fit into half of a small area of a build with crash points, so that the ring comes back to it."""
        self.unify = False
        self.ring_bytes = "256K"
        self.piece_bytes = 32 << 10

    def send_pieces(self):
        """Each lap has records in pieces, which a FORMAT joins."""
        self.formatted = self.pieces = True
        self.ring_bytes = "256K"
        self.piece_bytes = 32 << 10

    def have_twin(self):
        """A second receiver, to which the mount sends the same."""
        self.has_twin = True
        self.unify = False

    def have_turns(self, what):
        """A reload brings one of two configurations in turns. They differ in "receivers" of the mount (one, and two
        names of it), in the "plugin" of mount and receiver, or in the next "stages" of a relay (one, and two names)."""
        self.turns = what
        self.relayed = what == "stages"

    def start(self):
        os.mkdir(self.disk)
        os.mkdir(self.mount_point)
        self.own_disk = quiet("mount", "-t", "tmpfs", "-o", f"size={OUTPUT_BYTES}", "k2hft-faults", self.disk)
        os.mkdir(self.output)
        if self.kind == "link":
            self.link = Link(self.path("hosts.log"))
            if self.link.problem:
                raise Trouble(self.link.problem)
        self.write_key()
        self.write_receiver_config()
        if self.relayed:
            self.relay_make()
        elif self.remote:
            self.remote_make()
        self.receiver_start()
        if self.has_twin:
            self.twin_start()
        if self.kind == "proxy":
            self.proxy = Proxy(("127.0.0.1", self.port), self.random)
        self.mount_start()

    def path(self, name):
        return os.path.join(self.folder, name)

    def ssl_words(self):
        """Of a configuration: TLS with a key that both sides have, or none."""
        return f"SSL = yes\nPSKFILE = {self.path('key')}\n" if self.tls else "SSL = no\n"

    def environment(self, role):
        """Of a process that is made to die at a point: see crash.py."""
        return {"K2HFT_CRASH": self.plans[role].path} if role in self.plans else None

    def describe(self):
        return (f"{self.kind}, {'unified' if self.unify else 'a file each'}, {self.level}, ring {self.ring_bytes}, "
                f"compress {self.compress}{', formatted' if self.formatted else ''}, {self.write_mode} mount"
                f"{' for two' if self.has_twin else ''}{', TLS' if self.tls else ''}"
                f"{f', in turns: {self.turns}' if self.turns else ''}"
                f"{f', {self.remote}' if self.remote else ''}{' and files' if self.files else ''}")

    def sender_host(self):
        return self.link.left if self.link else None

    def outputs(self):
        """Of each receiver."""
        return [self.output]

    def receivers_alive(self):
        return [self.receiver] + [other for other in (self.twin, self.last) if other]

    def verify_words(self):
        """How the files of its receivers are read."""
        return []

    def push_words(self):
        host, port = self.target()
        return ["-r", f"{host}:{port}"] + (["--psk", self.path("key")] if self.tls else [])

    def target(self):
        """Where senders send to: host and port."""
        if self.proxy:
            return "127.0.0.1", self.proxy.port
        return (self.link.right.address if self.link else "127.0.0.1"), self.port

    # The receiver

    def write_key(self):
        with open(os.open(self.path("key"), os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as key:
            key.write(self.random.randbytes(32).hex() + "\n")

    def server_words(self):
        """Of its own section."""
        return (("FILE_UNIFY = unify.log\n" if self.unify else "") + ("FORMAT = '%L%T'\n" if self.formatted else "") +
                (f"ROTATE_SIZE = {ROTATED_BYTES}\nROTATE_COMPRESS = gzip\n" if self.rotated else "") +
                self.plugin_words())

    def plugin_words(self):
        return f"PLUGIN = /bin/cat{' -' if self.turned else ''}\n" if self.plugged else ""

    def write_receiver_config(self, name="server.ini", output=None):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(f"[GLOBAL]\nPORT = 8020\nSOCKTHREADCNT = 2\n{self.ssl_words()}[K2HFTFUSESVR]\nTYPE = file\n"
                       f"FILE_BASEDIR = {output or self.output}\n" + self.server_words())

    def receiver_spawn(self):
        address = self.link.right.address if self.link else "127.0.0.1"
        self.receiver = Process("receiver", [os.path.join(self.bin, "k2hftfusesvr"), "-conf", self.path("server.ini"),
                                             "--listen", f"{address}:{self.port}"],
                                self.path("receiver.log"), self.link.right if self.link else None,
                                extra=self.environment("receiver"))

    def receiver_start(self):
        self.receiver_spawn()
        self.receiver_ready()

    def receiver_ready(self):
        wait_until(lambda: not self.receiver.alive() or "listening on" in self.receiver.said(), READY_S,
                   "the receiver listens")
        found = re.search(r"listening on [0-9.]+:(\d+)", self.receiver.said())
        if not found:
            raise Trouble(f"the receiver does not start; {self.receiver.last_lines()}")
        self.port = int(found.group(1))

    def relay_make(self):
        """The receiver that faults are about becomes a relay to this one."""
        end = self.random.choice(("yes", "no"))
        self.write_receiver_config("last.ini")
        self.last_start()
        self.write_stages()
        with open(self.path("server.ini"), "w", encoding="utf-8") as file:
            file.write(f"[GLOBAL]\nPORT = 8020\nSOCKTHREADCNT = 2\n{self.ssl_words()}[K2HFTFUSESVR]\nTYPE = trans\n"
                       f"TRANSCONF = next.ini\nACKEND = {end}\nK2HTYPE = file\nK2HFILE = {self.path('relay.ring')}\n"
                       f"K2HINIT = no\nSTATEDIR = {self.path('relay.state')}\n")

    def write_stages(self):
        names = ["127.0.0.1", "localhost"] if self.turned else ["127.0.0.1"]
        with open(self.path("next.ini"), "w", encoding="utf-8") as file:
            file.write(f"[GLOBAL]\n{self.ssl_words()}DELIVERMODE = hash\n" +
                       "".join(f"[SVRNODE]\nNAME = {name}\nPORT = {self.last_port}\n" for name in names))

    def send_remote(self, kind, refuses_some=False):
        """By TYPE = kind to a peer, which refuses some requests for good."""
        self.remote, self.refuses_some, self.unify = kind, refuses_some, False
        self.files = self.path("files") if self.random.random() < 0.5 else None

    def identity_lose(self):
        """The receiver becomes another one, to which the rings come."""
        shutil.rmtree(self.path("state"), ignore_errors=True)

    def remote_make(self):
        """What the receiver has instead of files, or besides; the peer writes those that are looked at."""
        if self.remote == "kafka":
            self.peer = Kafka(self.folder, self.output, self.tools)
            place = self.peer.server.address
        else:
            self.peer = Peer(self.remote, self.output, self.random)
            self.peer.refuses_some = self.refuses_some
            self.peer_wire = Proxy(("127.0.0.1", self.peer.port), self.random)
            place = f"127.0.0.1:{self.peer_wire.port}"
        words = {"kafka": "KAFKA_BROKERS = {0}\nKAFKA_TOPIC = logs\nKAFKA_COMMITMS = 20\nKAFKA.compression.type = {1}\n",
                 "forward": "FORWARD_SERVER = {0}\nFORWARD_ACK_TIMEOUT_MS = 1000\nFORWARD_COMPRESS = {1}\n",
                 "otlp": "OTLP_ENDPOINT = http://{0}\nOTLP_TIMEOUT_MS = 1000\nOTLP_COMPRESS = {1}\n"}[self.remote]
        with open(self.path("server.ini"), "w", encoding="utf-8") as file:
            file.write(f"[GLOBAL]\nPORT = 8020\nSOCKTHREADCNT = 2\n{self.ssl_words()}[K2HFTFUSESVR]\n"
                       + (f"TYPE = file, {self.remote}\nFILE_BASEDIR = {self.files}\n" if self.files else f"TYPE = {self.remote}\n") +
                       f"STATEDIR = {self.path('state')}\n" + words.format(place, self.random.choice(("gzip", "none"))))

    def last_start(self):
        self.last = Process("last", [os.path.join(self.bin, "k2hftfusesvr"), "-conf", self.path("last.ini"), "--listen",
                                     f"127.0.0.1:{self.last_port}"], self.path("last.log"))
        wait_until(lambda: "listening on" in self.last.said(), READY_S, "the receiver behind the relay listens")
        self.last_port = int(re.search(r"listening on [0-9.]+:(\d+)", self.last.said()).group(1))

    def relay_drained(self):
        """Whether the receiver behind the relay has all."""
        said = subprocess.run([os.path.join(self.bin, "k2hft"), "stat", "--json", *glob.glob(self.path("relay.ring*"))],
                              check=True, capture_output=True, timeout=60).stdout
        ring = json.loads(said)["ring_state"]
        return ring["head"] == ring["tail"]

    def twin_start(self):
        os.mkdir(self.path("twin"))
        self.write_receiver_config("twin.ini", self.path("twin"))
        self.twin = Process("twin", [os.path.join(self.bin, "k2hftfusesvr"), "-conf", self.path("twin.ini"), "--listen",
                                     "127.0.0.1:0"], self.path("twin.log"))
        wait_until(lambda: "listening on" in self.twin.said(), READY_S, "the second receiver listens")
        self.twin_port = int(re.search(r"listening on [0-9.]+:(\d+)", self.twin.said()).group(1))

    @contextlib.contextmanager
    def full_disk(self):
        """Nothing is free on the file system of the output."""
        ballast = os.path.join(self.disk, "ballast")
        descriptor = os.open(ballast, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            block = bytes(1 << 20)
            with contextlib.suppress(OSError):
                while os.write(descriptor, block):
                    pass
            yield
        finally:
            os.close(descriptor)
            os.unlink(ballast)

    def ledger(self):
        return os.path.join(self.output, ".k2hft", "ledger")

    # The mount

    def write_config(self, name, ring, twin=False):
        """Of a sender; its rules are for the mount."""
        host, port = self.target()
        others = f"PORT = {port}\n[SVRNODE]\nNAME = {host}\nPORT = {self.twin_port}\n" if twin else ""
        spread = "DELIVERMODE = hash" if self.turns == "receivers" else ""
        if self.turned and spread:
            others = f"PORT = {port}\n[SVRNODE]\nNAME = localhost\nPORT = {port}\n"
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(f"[GLOBAL]\nPORT = {port}\n{self.ssl_words()}{spread}\n[SVRNODE]\nNAME = {host}\n{others}"
                       + f"[K2HTPDTOR]\nK2HTPDTOR_FILE = {ring.removesuffix('.ring')}.archive\n"
                       + ("K2HTPDTOR_BROADCAST = yes\n" if twin else "") +
                       "[K2HFTFUSE]\nK2HTYPE = file\n"
                       f"K2HFILE = {ring}\nK2HINIT = no\nRINGSIZE = {self.ring_bytes}\n"
                       f"WRITEMODE = {self.write_mode}\n"
                       "[K2HFTFUSE_RULE_DIR]\nTARGET = senddir\nTRUNS = on\nDEFAULTALL = ALLOW\n" +
                       self.plugin_words() + ("PLUGINTRANS = yes\n" if self.plugged else ""))

    def mount_start(self):
        self.write_config("slave.ini", self.path("mount.ring"), self.has_twin)
        start = Kept if self.kind == "kept" else Process
        self.mount = start("mount", [os.path.join(self.bin, "k2hftfuse"), self.mount_point, "-f", "-o",
                                     f"conf={self.path('slave.ini')}"], self.path("mount.log"), host=self.sender_host(),
                           extra=self.environment("mount"))
        wait_until(lambda: not self.mount.alive() or self.mounted(), READY_S, "the mount comes")
        if not self.mount.alive():
            raise Trouble(f"the mount does not start; {self.mount.last_lines()}")

    def write_turn(self, turned):
        self.turned = turned
        self.write_config("slave.ini", self.path("mount.ring"), self.has_twin)
        if self.relayed:
            self.write_stages()
        else:
            self.write_receiver_config()

    def mount_turn(self):
        """Not before the last turn has had its time."""
        if time.monotonic() < self.turn_at:
            return
        self.turn_at = time.monotonic() + TURN_S
        self.write_turn(not self.turned)
        self.mount.signal(signal.SIGUSR1)

    def turns_end(self, mount):
        """The first configuration again: no other ring is left. A mount's has its name; a relay's gets it at its start."""
        self.write_turn(False)
        place, ring = (self.mount_point, "mount.ring") if mount else (self.path("relay.state"), "relay.ring")
        if mount or self.relayed:
            wait_until(lambda: quiet(os.path.join(self.bin, "k2hft"), "reload", place), 20, "a reload")
            wait_until(lambda: len(glob.glob(self.path(f"{ring}*"))) == 1 + self.plugged and
                       (self.relayed or os.path.exists(self.path(ring))), 30, "other rings are gone")

    def mounted(self):
        with open("/proc/self/mounts", encoding="utf-8") as file:
            return any(line.split(" ")[1] == self.mount_point and line.split(" ")[2].startswith("fuse")
                       for line in file)

    def mount_workers(self):
        """Of a mount that survives its server: the processes that serve it, of its keeper that is there now."""
        return [child for child in children_of(self.mount.pid) if name_of(child) == "k2hftfuse"]

    def plugins(self, mount):
        """The plug-ins of the mount's worker, or of the receiver."""
        return [child for parent in (self.mount_workers() if mount else [self.receiver.pid])
                for child in children_of(parent) if name_of(child) == "cat"]

    def mount_detach(self):
        """After its server's death."""
        if self.mounted() and not quiet("umount", "-l", self.mount_point):
            quiet("fusermount3", "-u", "-z", self.mount_point)
        if self.mounted():
            raise Trouble("the mount can't be detached")

    def abort_requests(self):
        with contextlib.suppress(OSError), open("/proc/self/mountinfo", encoding="utf-8") as file:
            for line in file:
                words = line.split(" ")
                if words[4] == self.mount_point:
                    number = words[2].split(":")[1]
                    with open(f"/sys/fs/fuse/connections/{number}/abort", "w", encoding="ascii") as abort:
                        abort.write("1")

    # Tools

    def ring_count(self, ring):
        """Bytes that were ever committed to a ring, if it is there and can be opened."""
        if not os.path.exists(ring):
            return None
        done = subprocess.run([os.path.join(self.tools, "ring_client"), ring, "count"], stdin=subprocess.DEVNULL,
                              capture_output=True, check=False, timeout=20)
        return int(done.stdout) if done.returncode == 0 else None

    # The end

    def finish(self):
        """Everything ends in order and nothing has to be said."""
        if not quiet("umount", self.mount_point) and not quiet("fusermount3", "-u", self.mount_point):
            raise Trouble("the mount can't be unmounted")
        status = self.mount.wait(60)
        if status:
            raise Trouble(f"k2hftfuse ended with status {status}; {self.mount.last_lines()}")
        for receiver in self.receivers_alive():
            receiver.signal(15)
            status = receiver.wait(60)
            if status:
                raise Trouble(f"k2hftfusesvr ended with status {status}; {receiver.last_lines()}")

    def problems_said(self):
        """Lines of the logs that no fault excuses."""
        found = []
        for name in os.listdir(self.folder):
            if name.endswith(".log"):
                with open(self.path(name), encoding="utf-8", errors="replace") as file:
                    found += [f"{name}: {line.strip()}" for line in file
                              if re.search(r"Sanitizer|runtime error|Assertion|can't be used any more", line)]
        return found

    def close(self, keep=False):
        """Returns where its logs are kept, if they are."""
        for process in list(Process.all):
            process.go_on()
        self.abort_requests()
        with contextlib.suppress(Trouble):
            self.mount_detach()
        for other in (self.proxy, self.peer_wire, self.peer):
            if other:
                other.close()
        Process.end_all()
        kept = self.keep_logs() if keep else None
        if self.own_disk:
            quiet("umount", "-l", self.disk)
        if not self.mounted() and not os.path.ismount(self.disk):
            shutil.rmtree(self.folder, ignore_errors=True)
        return kept

    def keep_logs(self):
        """Of a world in which something went wrong, for a look."""
        target = os.path.join(os.path.dirname(self.bin), "faults", os.path.basename(self.folder))
        os.makedirs(target, exist_ok=True)
        for name in os.listdir(self.folder):
            if name.endswith((".log", ".ini", ".json")):
                shutil.copy(self.path(name), target)
        for number, output in enumerate(self.outputs()):
            shutil.copytree(output, os.path.join(target, f"out{number or ''}"), dirs_exist_ok=True, symlinks=True)
        return target
