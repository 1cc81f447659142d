# SPDX-License-Identifier: MIT
"""Processes that die, stand still, end in order, or are told to read their files again."""
import os
import signal
import subprocess
import time

from ..process import Trouble, no_takeover, signal_all, wait_until
from ..senders import Attached
from .fault import Fault


class ReceiverKill(Fault):
    name = "receiver-kill"

    def inject(self):
        for _ in range(self.random.randrange(1, 4)):
            self.receiver_again(0.4)
            self.pause(0, 0.4)


class SenderKill(Fault):
    """What was not committed in the ring yet was not accepted; nobody can tell it but the ring, which is asked."""

    def sender(self):
        raise NotImplementedError

    def excuses(self, sender, what):
        """A record in pieces of which the last was not committed."""
        return what == "damaged" and sender is self.sender() and self.lap.in_pieces()

    def inject(self):
        sender = self.sender()
        for _ in range(self.random.randrange(1, 3)):
            if not sender.busy():
                break
            sender.kill(exactly=self.random.random() < 0.6)
            self.pause(0, 0.3)
            sender.go()
            self.pause(0.1, 0.6)


class PushKill(SenderKill):
    name = "push-kill"

    def sender(self):
        return self.lap.push


class LibraryKill(SenderKill):
    name = "library-kill"

    def sender(self):
        return self.lap.library


class MountKill(Fault):
    """The whole daemon: its writers see errors, until it is mounted again."""
    name = "mount-kill"

    def inject(self):
        self.lap.mount.kill(exactly=True)
        self.pause(0, 0.3)
        self.at.mount_start()
        self.lap.mount.go()


class WorkerKill(Fault):
    """Of a mount that survives its server: writers see nothing."""
    name = "worker-kill"

    def inject(self):
        if not self.at.mount_workers():
            self.lap.not_injected = "this mount has no worker beside its keeper"
            return
        for _ in range(self.random.randrange(1, 5)):
            workers = self.at.mount_workers()
            signal_all(workers, signal.SIGKILL)
            wait_until(lambda old=workers: set(self.at.mount_workers()) - set(old), 20, "another worker")
            self.pause(0.05, 0.4)


class KeeperKill(Fault):
    """Of a mount whose descriptors another process has: the next keeper goes on, and writers see nothing."""
    name = "keeper-kill"
    world = "kept"

    def inject(self):
        if no_takeover():
            self.lap.not_injected = no_takeover()
            return
        # Also those that have only begun: after five of them the mount is given up.
        for _ in range(self.random.randrange(1, 5)):
            keeper = self.at.mount.pid
            self.end(keeper)
            wait_until(lambda old=keeper: self.at.mount.pid != old, 20, "another keeper")
            self.pause(0, 0.4)
        wait_until(self.at.mount_workers, 20, "another worker")

    def end(self, keeper):
        os.kill(keeper, signal.SIGKILL)


class KeeperLeave(KeeperKill):
    """As at a restart of its unit."""
    name = "keeper-leave"

    def end(self, keeper):
        wait_until(self.at.mount_workers, 20, "another worker")
        done = subprocess.run([os.path.join(self.at.bin, "k2hftfuse"), f"--leave={keeper}"], stdin=subprocess.DEVNULL,
                              capture_output=True, check=False, timeout=60)
        if done.returncode:
            raise Trouble(f"the keeper does not leave: {done.stderr.decode(errors='replace')}")


class KillStorm(Fault):
    """The receiver dies again and again, also while it starts."""
    name = "kill-storm"

    def inject(self):
        for _ in range(self.random.randrange(5, 20)):
            self.at.receiver.kill()
            self.at.receiver_spawn()
            self.pause(0, 0.12)
        self.receiver_again()


class BothKill(Fault):
    """Receiver and a sender at the same moment."""
    name = "both-kill"
    victim = None

    def inject(self):
        self.victim = self.random.choice([self.lap.push, self.lap.library])
        if not self.victim.busy():
            self.victim = None
        if self.victim:
            self.victim.kill(exactly=self.random.random() < 0.5)
        self.at.receiver.kill()
        self.pause(0, 0.3)
        if self.random.random() < 0.5:
            self.at.receiver_start()
            self.pause(0, 0.2)
        if self.victim:
            self.victim.go()
        self.pause(0, 0.2)
        if not self.at.receiver.alive():
            self.at.receiver_start()

    def excuses(self, sender, what):
        return what == "damaged" and sender is self.victim and self.lap.in_pieces()


class ReceiverTerm(Fault):
    """It ends in order, and is started again."""
    name = "receiver-term"

    def inject(self):
        for _ in range(self.random.randrange(1, 4)):
            self.at.receiver.signal(signal.SIGTERM)
            status = self.at.receiver.wait(30)
            if status:
                raise Trouble(f"status {status} after SIGTERM; {self.at.receiver.last_lines()}")
            self.pause(0, 0.3)
            self.at.receiver_start()
            self.pause(0, 0.4)


class ReceiverHup(Fault):
    """Files are rotated as logrotate does."""
    name = "receiver-hup"

    def inject(self):
        for _ in range(self.random.randrange(1, 5)):
            path = self.lap.output_of(self.random.choice(self.lap.senders()))
            self.lap.renamed(path)
            self.pause(0, 0.1)
            self.at.receiver.signal(signal.SIGHUP)
            self.pause(0, 0.4)


class Reload(Fault):
    """Receiver and mount read their files again, good and broken ones, and die now and then while they do. No record
    matches DENY, not by chance."""
    name = "reload"

    def inject(self):
        for number in range(self.random.randrange(5, 20)):
            for process, path, sign, good, bad in (
                    (self.at.receiver, self.at.path("server.ini"), signal.SIGHUP, "WRITEBUF = 64K", "WRITEBUF = 1"),
                    (self.at.mount, self.at.path("slave.ini"), signal.SIGUSR1, "DENY = \"^none$\"", "DENY = \"(\"")):
                with open(path, encoding="utf-8") as file:
                    before = file.read()
                with open(path, "a", encoding="utf-8") as file:
                    file.write(f"{self.random.choice((good, bad))}\n")
                process.signal(sign)
                self.pause(0, 0.1)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(before)
                process.signal(sign)
            if number % 5 == 4:
                signal_all(self.at.mount_workers(), signal.SIGKILL)
            self.pause(0, 0.2)


class ClaimKill(Fault):
    """A program that is attached to a ring dies between reserve and commit."""
    name = "claim-kill"

    def inject(self):
        owner = self.random.choice([self.lap.library, self.lap.push, self.lap.mount])
        attached = Attached(self.at, owner)
        self.lap.extra.append(attached)
        attached.begin(self.lap.load, self.lap.number)
        self.pause(0, 0.5)
        attached.maker.kill()
        attached.owner_sends()


# Standing still -------------------------------------------------------------------------------------------------------

class Stop(Fault):
    def victims(self):
        raise NotImplementedError

    def inject(self):
        victims = self.victims()
        try:
            signal_all(victims, signal.SIGSTOP)
            time.sleep(self.random.choice([0.3, 1, 2, 4]))
        finally:
            signal_all(reversed(victims), signal.SIGCONT)


class ReceiverStop(Stop):
    name = "receiver-stop"

    def victims(self):
        return [self.at.receiver.pid]


class PushStop(Stop):
    name = "push-stop"

    def victims(self):
        return [process.pid for process in self.lap.push.processes()]


class LibraryStop(Stop):
    name = "library-stop"

    def victims(self):
        return [process.pid for process in self.lap.library.processes()]


class MountStop(Stop):
    """The server, with its worker if it has one."""
    name = "mount-stop"

    def victims(self):
        return self.at.mount_workers() + [self.at.mount.pid]
