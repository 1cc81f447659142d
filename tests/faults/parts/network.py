# SPDX-License-Identifier: MIT
"""Hosts that are network namespaces without a name: two with a cable between them, or several at a switch.

They go with the processes that hold them, and those with the harness: nothing stays behind, however it ends.
"""
import os
import subprocess
import sys

from .process import Process, Trouble, quiet, wait_until


class Host:
    """A network namespace that a sleeping process holds; programs run in it by `prefix`."""

    def __init__(self, name, address, log):
        self.name = name
        self.address = address
        self.holder = Process(f"host {name}", ["unshare", "--net", "sleep", "infinity"], log)

    def prefix(self):
        return ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net"]

    def run(self, *command):
        return quiet(*self.prefix(), *command)

    def isolated(self):
        return os.readlink(f"/proc/{self.holder.pid}/ns/net") != os.readlink("/proc/self/ns/net")

    def address_give(self, device):
        """Addresses of the loopback range, on a link of its own: nothing that is sent here can leave."""
        return (self.run("sh", "-c", "ip addr del 127.0.0.1/8 dev lo; ip addr add 127.0.0.1/32 dev lo; "
                         "ip link set lo up; echo 1 >/proc/sys/net/ipv4/conf/all/route_localnet") and
                self.run("ip", "addr", "add", f"{self.address}/24", "dev", device) and
                self.run("sh", "-c", f"echo 1 >/proc/sys/net/ipv4/conf/{device}/route_localnet") and
                self.run("ip", "link", "set", device, "up"))


class Link:
    """Two hosts with a cable between them. `problem`: why there is none."""

    def __init__(self, log):
        self.problem = None
        self.left = self.right = None
        try:
            self.left = Host("sender", "127.77.0.1", log)
            self.right = Host("receiver", "127.77.0.2", log)
            self.connect()
        except (OSError, Trouble) as error:
            self.problem = f"no network namespaces: {error}"
        if self.problem:
            self.close()

    def connect(self):
        for host in (self.left, self.right):
            wait_until(lambda host=host: not host.holder.alive() or host.isolated(), 5, "unshare")
        if not quiet("ip", "link", "add", "k2hft0", "netns", self.left.holder.pid, "type", "veth", "peer", "name",
                     "k2hft1", "netns", self.right.holder.pid):
            raise Trouble("no veth pair")
        if not (self.left.address_give("k2hft0") and self.right.address_give("k2hft1")):
            raise Trouble("no addresses")

    def cut(self):
        self.left.run("ip", "link", "set", "k2hft0", "down")

    def mend(self):
        """The address stays when the link goes down; a route of it does not, and comes back with the link."""
        if not self.left.run("ip", "link", "set", "k2hft0", "up"):
            raise Trouble("the link does not come up")

    def throttle(self, kilobits):
        return shape(self.left, "k2hft0", kilobits) and shape(self.right, "k2hft1", kilobits)

    def free(self):
        shape(self.left, "k2hft0", 0)
        shape(self.right, "k2hft1", 0)

    def close(self):
        for host in (self.left, self.right):
            if host:
                host.holder.kill()


class Port(Host):
    """A host at a switch. What is done to its cable, `mend` undoes."""

    def __init__(self, switch, number, name):
        self.switch = switch
        self.number = number
        self.device = f"port{number}"
        self.cable = None
        self.silent = []
        super().__init__(name, f"127.77.0.{number}", switch.log)

    def connect(self, loss):
        wait_until(lambda: not self.holder.alive() or self.isolated(), 5, "unshare")
        if loss:
            self.cable = lossy_cable(self, loss)
        elif not quiet("ip", "link", "add", "eth0", "netns", self.holder.pid, "type", "veth", "peer", "name", self.device,
                       "netns", self.switch.room.holder.pid):
            raise Trouble("no veth pair")
        if not self.switch.room.run("ip", "link", "set", self.device, "master", "switch", "up"):
            raise Trouble("no bridge")
        if not self.address_give("eth0"):
            raise Trouble("no addresses")

    def cut(self):
        """As if pulled out: this host's kernel sees it, the others' see nothing."""
        self.switch.room.run("ip", "link", "set", self.device, "down")

    def swallow(self):
        """The switch drops what comes from this host and what goes there; nobody sees it."""
        self.switch.room.run("bridge", "link", "set", "dev", self.device, "state", "0")

    def mute(self, towards):
        """What this host sends to that one is lost on the way; the other direction stays."""
        self.run("ip", "neigh", "replace", towards.address, "lladdr", "02:00:00:00:00:99", "dev", "eth0", "nud", "permanent")
        self.silent.append(towards)

    def mend(self):
        for towards in self.silent:
            self.run("ip", "neigh", "del", towards.address, "dev", "eth0")
        self.silent = []
        if not (self.switch.room.run("ip", "link", "set", self.device, "up") and
                self.switch.room.run("bridge", "link", "set", "dev", self.device, "state", "3")):
            raise Trouble("the link does not come up")

    def throttle(self, kilobits):
        """Both ways; 0: no more."""
        return all(shape(host, device, kilobits)
                   for host, device in ((self, "eth0"), (self.switch.room, self.device)))


class Switch:
    """Hosts at a bridge, which is in a namespace of its own. `problem`: why there is none."""

    def __init__(self, log):
        self.log = log
        self.ports = []
        self.problem = None
        self.room = Host("switch", None, log)
        try:
            wait_until(lambda: not self.room.holder.alive() or self.room.isolated(), 5, "unshare")
            if not (self.room.run("ip", "link", "add", "switch", "type", "bridge") and
                    self.room.run("ip", "link", "set", "switch", "up")):
                raise Trouble("no bridge")
        except (OSError, Trouble) as error:
            self.problem = f"no network namespaces: {error}"
            self.close()

    def host(self, name, loss=0):
        """`loss`: of so many packets in a thousand, both ways."""
        port = Port(self, len(self.ports) + 1, name)
        self.ports.append(port)
        port.connect(loss)
        return port

    def close(self):
        for host in [*self.ports, self.room]:
            host.holder.kill()


def shape(host, device, kilobits):
    if not kilobits:
        return host.run("tc", "qdisc", "del", "dev", device, "root")
    return host.run("tc", "qdisc", "replace", "dev", device, "root", "tbf", "rate", f"{kilobits}kbit", "burst", "16k",
                    "latency", "100ms")


def lossy_cable(port, loss):
    """A process that carries frames between two taps, and lets some fall: the kernels of many machines have no netem."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cable.py")
    cable = Process(f"cable of {port.name}", [sys.executable, script, port.holder.pid, "eth0", port.switch.room.holder.pid,
                                              port.device, loss], port.switch.log, stdout=subprocess.PIPE)
    if cable.child.stdout.readline() != b"ready\n":
        raise Trouble(f"no tap; {cable.last_lines()}")
    return cable
