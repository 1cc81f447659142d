# SPDX-License-Identifier: MIT
"""A server of Fluentd's Forward protocol v1, made from its specification, with a decoder of MessagePack."""
import gzip
import hashlib
import os
import socket
import struct
import threading

from common.receiver import WAIT_S


class Ext:
    def __init__(self, kind, data):
        self.kind, self.data = kind, data


def unpack(take):
    """A value of MessagePack, whose bytes take(count) brings."""
    first = take(1)[0]
    number = {0xcc: ">B", 0xcd: ">H", 0xce: ">I", 0xcf: ">Q", 0xd0: ">b", 0xd1: ">h", 0xd2: ">i", 0xd3: ">q",
              0xca: ">f", 0xcb: ">d"}
    length = {0xc4: 1, 0xc5: 2, 0xc6: 4, 0xc7: 1, 0xc8: 2, 0xc9: 4, 0xd9: 1, 0xda: 2, 0xdb: 4, 0xdc: 2, 0xdd: 4,
              0xde: 2, 0xdf: 4}
    if first < 0x80 or first >= 0xe0:
        return first if first < 0x80 else first - 256
    if first in (0xc0, 0xc2, 0xc3):
        return {0xc0: None, 0xc2: False, 0xc3: True}[first]
    if first in number:
        return struct.unpack(number[first], take(struct.calcsize(number[first])))[0]
    if 0xd4 <= first <= 0xd8:
        kind = take(1)[0]
        return Ext(kind, take(1 << (first - 0xd4)))
    assert first != 0xc1, "a byte that MessagePack does not have"
    count = int.from_bytes(take(length[first]), "big") if first >= 0xc0 else first & (0x1f if first >= 0xa0 else 0xf)
    if 0xc7 <= first <= 0xc9:
        kind = take(1)[0]
        return Ext(kind, take(count))
    if 0xc4 <= first <= 0xc6:
        return take(count)
    if first >= 0xde or first < 0x90:
        return {unpack(take): unpack(take) for _ in range(count)}
    if first in (0xdc, 0xdd) or first < 0xa0:
        return [unpack(take) for _ in range(count)]
    return take(count).decode()


def unpack_all(data):
    at = 0

    def take(count):
        nonlocal at
        assert at + count <= len(data), "a value is cut"
        at += count
        return data[at - count:at]

    while at < len(data):
        yield unpack(take)


def pack(value):
    """As much as a server says."""
    if value is None or isinstance(value, bool):
        return {None: b"\xc0", False: b"\xc2", True: b"\xc3"}[value]
    if isinstance(value, str):
        return b"\xda" + struct.pack(">H", len(value.encode())) + value.encode()
    if isinstance(value, bytes):
        return b"\xc5" + struct.pack(">H", len(value)) + value
    if isinstance(value, dict):
        return bytes([0x80 | len(value)]) + b"".join(pack(part) for pair in value.items() for part in pair)
    return bytes([0x90 | len(value)]) + b"".join(pack(part) for part in value)


class Event:
    def __init__(self, message, tag, time, record):
        """`message` is the number of its message."""
        assert isinstance(time, Ext) and time.kind == 0 and len(time.data) == 8, "EventTime"
        self.message, self.tag, self.record = message, tag, record
        self.time_ns = int.from_bytes(time.data[:4], "big") * 10**9 + int.from_bytes(time.data[4:], "big")


class Server:
    """
    `behave(server, number, connection)`, if there is one, is called in place of an acknowledgement for the message of
    that number; if it returns true, the connection is closed. `greet(number)` makes the first bytes of a connection. What came is in `events`, and the id of each message,
    with what it held, in `messages`.
    """
    def __init__(self, behave=None, key=None, user=None, password=None, tls=None, port=0, greet=None):
        self.behave, self.key, self.user, self.password, self.tls, self.greet = behave, key, user, password, tls, greet
        self.events, self.messages, self.problems, self.compressed = [], [], [], 0
        self.connections = 0
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", port))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def close(self):
        # A thread that waits in accept(2) keeps the socket.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def serve(self, connection):
        try:
            with connection:
                with self.lock:
                    self.connections, number = self.connections + 1, self.connections
                connection.settimeout(WAIT_S)
                if self.tls:
                    connection = self.tls.wrap_socket(connection, server_side=True)
                self.talk(connection, connection.makefile("rb"), number)
        except (EOFError, OSError):
            pass
        except Exception as problem:  # pylint: disable=broad-except
            self.problems.append(repr(problem))

    def talk(self, connection, stream, number):
        def take(count):
            data = stream.read(count)
            if len(data) < count:
                raise EOFError
            return data

        if self.greet:
            connection.sendall(self.greet(number))
        if self.key is not None and not self.welcome(connection, take):
            return
        while True:
            message = unpack(take)
            number = self.keep(message)
            if self.behave:
                if self.behave(self, number, connection):
                    return
            else:
                self.acknowledge(number, connection)

    def acknowledge(self, number, connection):
        connection.sendall(pack({"ack": self.messages[number][0]}))

    def keep(self, message):
        tag, data, options = message
        assert isinstance(tag, str) and isinstance(data, bytes) and isinstance(options["chunk"], str), message
        if options.get("compressed") == "gzip":
            data = gzip.decompress(data)
            self.compressed += 1
        entries = list(unpack_all(data))
        assert options["size"] == len(entries), options
        with self.lock:
            events = [Event(len(self.messages), tag, *entry) for entry in entries]
            self.events += events
            self.messages.append((options["chunk"], data))
            return len(self.messages) - 1

    def welcome(self, connection, take):
        nonce, auth = os.urandom(16), os.urandom(16) if self.user else b""
        connection.sendall(pack(["HELO", {"nonce": nonce, "auth": auth, "keepalive": True}]))
        ping, host, salt, digest, user, password = unpack(take)
        salt = salt if isinstance(salt, bytes) else salt.encode()

        def hexed(*parts):
            return hashlib.sha512(b"".join(part if isinstance(part, bytes) else part.encode() for part in parts)).hexdigest()

        reason = ""
        assert ping == "PING" and host == socket.gethostname(), (ping, host)
        if digest != hexed(salt, host, nonce, self.key):
            reason = "shared_key mismatch"
        elif self.user and (user != self.user or password != hexed(auth, self.user, self.password)):
            reason = "username/password mismatch"
        connection.sendall(pack(["PONG", not reason, reason, "server", "" if reason else hexed(salt, "server", nonce, self.key)]))
        return not reason

