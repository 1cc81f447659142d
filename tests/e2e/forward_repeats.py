#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# TYPE = forward: what a server has not acknowledged comes again, with the same chunk ids and the same contents: after a
# connection that broke, at the next server of the list, and after the death of the receiver.
import os
import subprocess
import tempfile
import threading

from common.forward import Server, unpack_all
from common.receiver import BIN, MODULES, Receiver, wait_for

DATA = b"".join(b"line %d of many, of which some come again\n" % number for number in range(12000))


def push(port, *arguments):
    return subprocess.Popen([f"{BIN}/k2hft", "push", "-q", "-r", f"127.0.0.1:{port}", "-t", "log", *arguments],
                            stdin=subprocess.PIPE)


def push_all(port):
    pushed = push(port)
    pushed.communicate(DATA, timeout=100)
    assert pushed.returncode == 0


def started(work, *servers, port=0):
    names = ", ".join(f"127.0.0.1:{server.port}" for server in servers)
    return Receiver(work, own=f"STATEDIR = {work}/state\nFORWARD_SERVER = {names}", kind="forward", port=port)


def check_messages(*servers):
    """Each id has one content, and all together are the data, in order, once."""
    contents = {}
    for server in servers:
        assert server.problems == [], server.problems
        for chunk, data in server.messages:
            assert contents.setdefault(chunk, data) == data, "an id came with other contents"
    events = [entry[1]["message"] for data in contents.values() for entry in unpack_all(data)]
    assert "\n".join(events).encode() + b"\n" == DATA


def closes(server, number, connection):
    """Before the acknowledgement of the second message, and behind it at the fourth."""
    if number == 1:
        return True
    server.acknowledge(number, connection)
    return number == 3


def check_closed(work):
    server = Server(behave=closes)
    receiver = started(work, server)
    push_all(receiver.port)
    ids = [chunk for chunk, _ in server.messages]
    assert ids[1] in ids[2:], "what was not acknowledged did not come again"
    assert ids.count(ids[0]) == 1, "what was acknowledged came again"
    receiver.end()
    check_messages(server)


def check_long(work):
    """A receiver dies between the delivery of a record that came in pieces and the acknowledgement: it comes again, all of it."""
    held = threading.Event()
    server = Server(behave=lambda server, number, connection: held.wait(100) and server.acknowledge(number, connection))
    receiver = started(work, server)
    record = b"long" * 600000
    sender = push(receiver.port)
    sender.stdin.write(record + b"\n")
    sender.stdin.close()
    for lives in range(1, 3):
        wait_for("the record", lambda least=lives: len(server.messages) >= least)
        receiver.kill()
        receiver = started(work, server, port=receiver.port)
    wait_for("the record again", lambda: len(server.messages) >= 3)
    held.set()
    assert sender.wait(100) == 0
    receiver.end()
    for _, data in server.messages:
        events = [entry[1]["message"].encode() for entry in unpack_all(data)]
        assert events == [record], [len(event) for event in events]


def check_next(work):
    """The first of two servers ends in the middle."""
    first, second = Server(), Server()

    def ends(server, number, connection):
        if number == 2:
            server.close()
            return True
        server.acknowledge(number, connection)
        return False

    first.behave = ends
    receiver = started(work, first, second)
    push_all(receiver.port)
    assert len(first.messages) >= 3 and second.messages
    assert first.messages[2][0] == second.messages[0][0], "not from where the first one stopped"
    receiver.end()
    check_messages(first, second)


def check_killed(work):
    """A receiver that is killed before the acknowledgement; its sender keeps what was not stored."""
    held = []

    def holds(server, number, connection):
        if number >= 2:
            held.append(number)
        else:
            server.acknowledge(number, connection)
        return False

    server = Server(behave=holds)
    receiver = started(work, server)
    pushed = push(receiver.port)
    pushed.stdin.write(DATA)
    pushed.stdin.close()
    wait_for("a message that is held", lambda: held)
    receiver.kill()
    server.behave = None
    again = started(work, server, port=receiver.port)
    assert pushed.wait(100) == 0
    ids = [chunk for chunk, _ in server.messages]
    assert ids.count(ids[held[0]]) == 2, "what was not acknowledged has another id"
    again.end()
    check_messages(server)


with tempfile.TemporaryDirectory() as folder:
    if not os.path.exists(os.path.join(MODULES, "forward.so")):
        print("SKIP: the module forward is not built: its library is missing")
        raise SystemExit(77)
    for check in (check_closed, check_long, check_next, check_killed):
        place = os.path.join(folder, check.__name__)
        os.mkdir(place)
        check(place)
