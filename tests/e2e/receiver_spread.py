#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Connections that stay are spread over the receiver's threads, whatever comes and goes between them; SOCKTHREADCNT = 0 is a
thread for each processor, at most 8."""
import os
import re
import socket
import tempfile

from common.receiver import Receiver, wait_for


def inodes(port):
    """Of the connections that the receiver has not closed, by the port of the other end."""
    found = {}
    with open("/proc/net/tcp", encoding="ascii") as table:
        for line in list(table)[1:]:
            words = line.split()
            peer = int(words[2].split(":")[1], 16)
            if int(words[1].split(":")[1], 16) == port and peer and words[9] != "0":
                found[peer] = words[9]
    return found


def waited_for(pid):
    """The inodes that each epoll(7) descriptor of a process waits for."""
    sets = []
    for descriptor in os.listdir(f"/proc/{pid}/fd"):
        try:
            with open(f"/proc/{pid}/fdinfo/{descriptor}", encoding="ascii") as info:
                text = info.read()
        except FileNotFoundError:
            continue
        if re.search(r"^tfd:", text, re.M):
            sets.append({int(inode, 16) for inode in re.findall(r"^tfd:.* ino:([0-9a-f]+)", text, re.M)})
    return sets


def spread(receiver, connections):
    """How many of the connections each thread has, those with none left out."""
    def counts():
        known = inodes(receiver.port)
        wanted = {int(known.get(peer.getsockname()[1], 0)) for peer in connections}
        each = [len(wanted & watched) for watched in waited_for(receiver.process.pid)]
        return sorted(filter(None, each)) if sum(each) == len(connections) else None
    return wait_for("each connection at a thread", counts)


def connect(receiver):
    return socket.create_connection(("127.0.0.1", receiver.port))


def stay(receiver, threads, count):
    """Each of them has a short one before it."""
    connections = []
    for _ in range(count):
        with connect(receiver) as short:
            spread(receiver, connections + [short])
        wait_for("the short one gone", lambda: len(inodes(receiver.port)) == len(connections))
        connections.append(connect(receiver))
        counted = spread(receiver, connections)
        assert counted[-1] - (counted[0] if len(counted) == threads else 0) <= 1, counted
    for connection in connections:
        connection.close()


def run(words, threads, count):
    with tempfile.TemporaryDirectory() as work:
        receiver = Receiver(work, f"SSL = no\n{words}")
        try:
            stay(receiver, threads, count)
            receiver.end()
        finally:
            receiver.kill()


run("SOCKTHREADCNT = 2", 2, 6)
run("SOCKTHREADCNT = 3", 3, 6)
run("SOCKTHREADCNT = 0", min(8, len(os.sched_getaffinity(0))), 4)
