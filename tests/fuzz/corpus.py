#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the first inputs of the fuzz targets, tests/fuzz/corpus/NAME/seed-*. Checksums are left to the targets, which
put them right. Inputs that once failed stand beside them under other names and are not touched."""
import glob
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
from common.forward import pack  # noqa: E402 (the folder of other tests)
from common.otlp import message  # noqa: E402
HELLO, WELCOME, STREAM, DATA, ACK, PING, PONG, DISCARD, BYE, ERROR = range(1, 11)
RING = bytes(range(1, 17))
RECEIVER = bytes(range(240, 256))
LEAVE, CHAIN = 1, 2


def put(target, name, data):
    folder = os.path.join(HERE, "corpus", target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "seed-" + name), "wb") as file:
        file.write(data)


def frame(kind, body=b"", position=0, gap=0, flags=0, raw=None):
    raw = len(body) if raw is None else raw
    return b"K2HF" + struct.pack("<BBHIIQIIQ", 1, kind, flags, len(body), raw, position, gap, 0, 0) + body


def text(string):
    data = string if isinstance(string, bytes) else string.encode()
    return struct.pack("<H", len(data)) + data


def hello(epoch=1, acked=0, level=2, ring=RING, receiver=bytes(16), opening=0, unsettled=()):
    return frame(HELLO, struct.pack("<HHIIB3x", 1, 1, 0, 0, level) + ring + receiver +
                 struct.pack("<QQI4xQB", epoch, acked, 4 << 20, opening, len(unsettled)) +
                 b"".join(uuid + struct.pack("<Q", position) for uuid, position in unsettled) + text("sender") +
                 text("k2hft 0.1.0"))


def welcome(position=0, window=1 << 20, flags=0, version=1, cut=0, retracted=0):
    return frame(WELCOME, struct.pack("<HBBI", version, 2, flags, 0) + RECEIVER +
                 struct.pack("<QQI4xQQ", position, window, 4 << 20, cut, retracted) + text("k2hftfusesvr 0.1.0"))


def stream(number, path, mode=0, host=""):
    return frame(STREAM, struct.pack("<II", number, mode) + text(path) + text(host))


def chunk(payload, number=1, records=None, flags=0, pid=42, lead=0):
    records = max(1, payload.count(b"\n")) if records is None else records
    pad = -(lead + len(payload)) % 8
    size = 32 + lead + len(payload) + pad
    return struct.pack("<IIIIQIBBH", size | 2 << 28, 0xdeadbeef, number, records, 1700000000123456789, pid, lead, pad,
                       flags) + bytes(lead) + payload + bytes(pad)


def data(position, *chunks, gap=0):
    return frame(DATA, b"".join(chunks), position, gap)


def lz4(raw):
    """One LZ4 block without matches."""
    out = bytearray()
    if len(raw) < 15:
        out.append(len(raw) << 4)
    else:
        out.append(0xf0)
        rest = len(raw) - 15
        while rest >= 255:
            out.append(255)
            rest -= 255
        out.append(rest)
    return bytes(out) + raw


def lz4_run(byte, before, count):
    """Literals, then a match that repeats the last byte, then five literals: a block that shrinks."""
    rest = count - 4 - 15
    length = bytearray()
    while rest >= 255:
        length.append(255)
        rest -= 255
    length.append(rest)
    head = bytes([0xff, len(before) - 15]) + before
    return head + b"\x01\x00" + bytes(length) + bytes([5 << 4]) + byte * 5


def compressed(position):
    payload = 32 + 960
    whole = struct.pack("<IIIIQIBBH", payload | 2 << 28, 1, 1, 1, 7, 8, 0, 0, 0)
    body = lz4_run(b"x", whole + b"x", 960 - 1 - 5)
    return frame(DATA, body, position, flags=1, raw=payload)


def ack(position, window, status=0, level=2):
    return frame(ACK, struct.pack("<QQBB6x", position, window, level, status))


def token(kind, number=0):
    return frame(kind, struct.pack("<Q", number))


def discard(begin, end, records=3, reason=1):
    return frame(DISCARD, struct.pack("<QQQB7x", begin, end, records, reason))


def error(code, why):
    return frame(ERROR, struct.pack("<H", code) + text(why))


def frames():
    control = bytes(2)
    for path in sorted(glob.glob(os.path.join(HERE, "..", "golden", "*.bin"))):
        with open(path, "rb") as file:
            put("frame", os.path.basename(path)[:-4], bytes([LEAVE, 0]) + file.read())
    put("frame", "compressed", control + compressed(0))
    put("frame", "literals", control + frame(DATA, lz4(chunk(b"y" * 100)[:90]), flags=1, raw=136))
    put("frame", "many", control + hello() + stream(1, "a/b.log") + data(0, chunk(b"one\n"), chunk(b"two\n", lead=3)) +
        token(PING, 7) + discard(96, 200) + token(BYE))


def sessions():
    begin = hello() + stream(1, "a/b.log") + stream(2, "c.bin", 1, "other")
    some = data(0, chunk(b"one\n"), chunk(b"two\nthree\n"), chunk(b"\0\1\2", 2))
    more = data(144, chunk(b"begin ", 1, 1, 1), chunk(b"of another\n", 1, pid=43), chunk(b"end\n", 1, 1, 2))
    end = token(PING, 7) + token(PONG) + token(BYE)
    for name, control in (("files", 0), ("unify", 4), ("format", 8), ("unify-format", 12), ("twins", 16),
                          ("blocked", 32), ("again", 64)):
        put("session", name, bytes([control, 0]) + begin + some + more + end)
    for name, faults in (("faults", 0x10), ("faults-seldom", 0x30), ("faults-bytes", 0x23)):
        put("session", name, bytes([64, faults]) + begin + some + more + token(BYE) + hello(2) + stream(1, "a/b.log") +
            stream(2, "c.bin", 1) + data(0, chunk(b"one\n")) + more + token(BYE) + hello(2) + more + end)
    put("session", "ended", bytes([80, 0]) + begin + some + token(BYE, 144) + begin + some + token(BYE, 144) + begin + end)
    put("session", "at-once", bytes([0, 128]) + begin + some + more + end)
    put("session", "bytes", bytes([0, 1]) + begin + some + end)
    put("session", "resumed", bytes([0, 0]) + begin + some + token(BYE) + hello(2) + stream(9, "z") +
        data(0, chunk(b"one\n", 9), chunk(b"two\nthree\n", 9), chunk(b"\0\1\2", 9), chunk(b"four\n", 9)) + token(BYE))
    put("session", "compressed", bytes([CHAIN, 0]) + begin + compressed(0) + some + compressed(0) + end)
    put("session", "discard", bytes([0, 0]) + begin + discard(0, 4096, reason=3) +
        data(4104, chunk(b"x\n"), gap=8) + discard(0, (1 << 64) - 8))
    put("session", "far", bytes([0, 0]) + hello(acked=(1 << 64) - 8192) + stream(1, "far") +
        data((1 << 64) - 8192, chunk(b"x\n")) + discard((1 << 64) - 8192, (1 << 64) - 2048))
    many = [stream(number, "%02d" % number) for number in range(70)]
    put("session", "many-files", bytes([0, 0x50]) + hello() + b"".join(many) +
        data(0, *(chunk(b"x", number) for number in range(70))) + data(2800, chunk(b"y", 69), chunk(b"z", 1)) + end)
    put("session", "window", bytes([0, 0]) + begin + data(0, chunk(b"x" * 2000)) + data(2032, chunk(b"y" * 4000)) +
        data(2032, chunk(b"y" * 5000)))
    put("session", "refused", bytes([0, 0]) + begin + data(4096, chunk(b"hole\n")) + hello(1) + stream(1, "../x") +
        hello(1) + stream(1, ".k2hft/x") + stream(2, "a/b.log/c") + stream(3, "l\nf") +
        data(0, chunk(b"x\n"), chunk(b"y\n", 2), chunk(b"z\n", 3)) + error(1, "why\n"))
    put("session", "openings", bytes([16, 0]) + hello(5, opening=1) + stream(1, "a") + data(0, chunk(b"x\n")) +
        hello(5, opening=2) + hello(5, opening=1))
    put("session", "fenced", bytes([16, 3]) + hello(5) + stream(1, "a") + data(0, chunk(b"x\n")) + hello(4) + hello(6))


def connections():
    begin = hello() + stream(1, "a/b.log") + stream(2, "c.bin", 1, "other")
    some = data(0, chunk(b"one\n"), chunk(b"two\nthree\n"), chunk(b"\0\1\2", 2))
    large = frame(DATA, b"", 144)[:8] + struct.pack("<II", 2 << 20, 2 << 20) + struct.pack("<QIIQ", 144, 0, 0, 0)
    for name, control, speed in (("plain", 0, 0), ("twins", 16, 0), ("blocked", 32, 0), ("ticks", 64, 0), ("fill", 0x90, 0),
                                 ("bytes", 0, 3), ("at-once", 64, 128), ("faults", 64, 0x20), ("all", 0xf0, 0x14)):
        put("connection", name, bytes([control, speed]) + begin + some + token(PING, 1) * 6 + hello(2) + begin +
            some + token(BYE) + begin + some + large)
    put("connection", "pings", bytes([32, 128]) + begin + token(PING, 1) * 140 + some + token(BYE))
    put("connection", "silent", bytes([64, 0]) + begin[:50])


def clients():
    put("client", "acks", bytes(2) + welcome() + ack(40, 1 << 20) + ack(80, 1 << 20) + token(PING, 9) +
        ack(80, 1 << 21, 2) + token(BYE) + welcome(80, 1 << 20, 1) + ack(120, 1 << 20))
    put("client", "window", bytes(2) + welcome(0, 48) + ack(48, 96) + ack(96, 1 << 20))
    put("client", "resume", bytes(2) + welcome(48, 1 << 20, 1) + token(BYE) + welcome(0, 1 << 20) +
        welcome(8, 1 << 20) + ack(8, 1 << 20) + welcome(1 << 40, 1 << 41))
    put("client", "settled", bytes(2) + welcome(0, 1 << 20, cut=3, retracted=4) + ack(48, 1 << 20) + token(BYE))
    put("client", "errors", bytes(2) + error(4, "fenced") + error(99, "") + welcome(0, 1 << 20, 0, 2) + hello() +
        welcome() + welcome() + token(PONG, 1) + welcome() + ack(4096, 8192) + b"HTTP/1.1 200 OK\r\n\r\n")
    for name, control in (("compress", 4), ("claim", 8), ("expire", 16), ("small", 32), ("damage", 64), ("slow", 128)):
        put("client", name, bytes([control, 0]) + welcome() + token(PING, 1) + ack(48, 1 << 20) + ack(200, 1 << 20))
    put("client", "bytes", bytes([0, 1]) + welcome() + ack(48, 1 << 20) + token(BYE))


def texts():
    for path in sorted(glob.glob(os.path.join(HERE, "..", "..", "examples", "*.ini"))):
        with open(path, "rb") as file:
            put("settings", os.path.basename(path), file.read())
    put("settings", "quotes", b"[GLOBAL]\nPORT = 1\n[K2HFTFUSE]\nK2HTYPE = 'mem' # x\nRINGSIZE=64K\n"
        b"[K2HFTFUSE_RULE_DIR]\nTARGET = \"/\"\nALLOW = \"a(b)\", \"$1&\\\\ \\\"\"\nALLOW=\\ \n[SVRNODE]\nNAME=localhost\n")
    put("settings", "wrong", b"\xef\xbb\xbf[GLOBL]\nPORT\n[GLOBAL]\nPORT = 99999999999999999999\nprot=1\n =\n[x\n"
        b"SSL = maybe\nINCLUDE fuzz.conf\nINCLUDE\nMODE='open\n\0\n[K2HFTFUSESVR]\nFORMAT = \"%q\"\nWINDOW=1T\n")
    put("settings", "twice", b"INCLUDE = fuzz.conf\nINCLUDE \"fuzz.conf\"\n[K2HFTFUSESVR]\nTYPE=file\nTYPE=file\n"
        b"[K2HFTFUSESVR]\nFILE_BASEDIR=/x\n[K2HFTFUSE_RULE]\nTARGET=a//b/\nTARGET=../x\n[K2HFTFUSE_RULE]\nTARGET=a/b\n")
    put("yaml", "yaml", b"GLOBAL: {PORT: 1, SSL: no}\nSVRNODE:\n  - NAME: localhost\nK2HFTFUSE:\n  K2HFTFUSE_RULE_DIR:\n"
        b"    - TARGET: app\n      TRUNS: true\n      DEFAULTALL: DENY\n      ALLOW:\n        - some 'text' # x\n"
        b"        - ['^a\"b', $0]\n        - '\"x\", \"y\"'\n  RINGSIZE: 64K\n")
    put("yaml", "json", b'{"GLOBAL":{"PORT":1},"K2HFTFUSESVR":{"FILE_BASEDIR":"/tmp","FORMAT":"{\\"m\\":\\"%J\\"}\\n"}}')
    put("yaml", "wrong", b"GLOBL: 1\nGLOBAL: &a {PORT: [1, {A: *a}], port: !!x 2}\nK2HFTFUSE: [{K2HTYPE: >\n  mem\n  x}]\n--- |\n")
    put("format", "json", b"\0" + b"{\"m\":\"%J\",\"h\":\"%H\",\"p\":%P,\"f\":\"%F\"}\\n\0%F %T.%-\0dir/name\0host\0"
        b"a \"line\"\n\xff\xfe\xc3\xa9 \xf0\x9f\x98\x80\n\0rest")
    put("format", "plain", b"\0%L\0\0a\0b\0one\ntwo\n")
    put("format", "escapes", b"\1" + rb"\a\b\f\n\r\t\\\"\'\?\x1\x1f\0\8%%%l%t%T%f" + b"\0%-d %-Z%-%Ey%010Y\0a/b\0\0 x \r\n")
    put("format", "wrong", b"\0%q\0%5\0\0\0\0")
    put("rules", "text", b"\0a/b\0logs\0ERROR\0\0an ERROR in a line\r\n")
    put("rules", "replace", b"\1a/b\0a\0\"(\\\\d+) (\\w+)\", \"$2 $1 & \\& \\$\"\0'\"^x$\"'\0" b"12 abc\n")
    put("rules", "slow", b"\1a\0\0\"(a+)+$\"\0\"(?=a\\K)\"\0aaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\n")
    put("rules", "wrong", b"\0a/../b\0/x/\0\"(\"\0\"a\", \"$11\"\0x")


def lines():
    long = [b"~k200000a,%d,%d,abcDEF-_,00000000" % (producer, counter) for producer, counter in
            ((1, 1), (1, 2), (2, 1), (1, 4), (1, 3), (1, 3), (65535, 999999999999999999))]
    compact = [b"!1" + number + b"abc000" for number in (b"0001", b"0002", b"0007", b"0002")]
    put("verify", "long", b"\0" + b"\n".join(long) + b"\n")
    put("verify", "compact", b"\0" + b"\n".join(compact) + b"\n")
    put("verify", "mixed", b"\0other\n" + long[0] + b"\n\n" + compact[0] + b"\nprefix " + long[1] + b"\n" + long[2])
    put("verify", "joined", b"\4" + long[0] + long[1] + b"\n" + compact[0] + compact[1] + b"\n!!~k2~k2\n" + long[1][:9])
    put("verify", "expected", b"\x38" + b"\n".join(long[:3] + compact) + b"\n")
    put("verify", "left", b"\1~k2abcdef,1,1,x,12345678\n!10001abc000\n~k2\n!\n")


    some = b"one\ntwo\n\n" + b"x" * 100 + b"\n" + b"y" * 33 + b"z\r\nlast"
    for name, control in (("pieces", b"\1\7\0\1"), ("limit", b"\0\xff\x20\2"), ("plain", b"\0\xff\0\x40"), ("one", b"\1\0\0\0")):
        put("text", name, control + some)


def controls():
    for name, request in (("metrics", b"GET /metrics?a=/b HTTP/1.0\nHost: x\n\n"), ("post", b"POST /status HTTP/1.1\r\n\r\n")):
        put("control", name, b"\1" + request)
    put("control", "receiver", b'\0{"program":"k2hftfusesvr","version":"0.1.0","uptime_s":1.5,"receiver":{"records":12,'
        b'"bytes":-1,"held_now":1e3},"receiver_lost":["x"],"connections":[{"peer":"127.0.0.1:1","host":"a\\u0007b","held":""},'
        b'{"peer":null}],"files":[{"path":"a\\n/b","bytes":3}]}')
    put("control", "mount", b'\0{"program":"k2hftfuse","mount":{"records":1},"client":{"host":"h","error":"\\ud83d"},"ring":{}}')
    put("control", "name", b'\0{"program":"x","connections":[{"\\u001b]0;x\\u0007":"a"}]}')


def main():
    frames()
    lines()
    sessions()
    connections()
    clients()
    texts()
    rings()
    ledgers()
    controls()


def op(number, *fields):
    return bytes([number]) + b"".join(fields)


def rings():
    u8, u16, u64 = (lambda n: struct.pack("<B", n)), (lambda n: struct.pack("<H", n)), (lambda n: struct.pack("<Q", n))
    read, release, rewind, validate, repair, recover = (op(8, u16(0xffff), u8(0)), op(9, u8(0)), op(10, u8(1), u16(0)),
                                                        op(11), op(12), op(13))
    opened, closed, push, declare, attach, dump = op(6), op(7), op(14, u8(1), u8(20)), op(15, u8(1)), op(16, u8(30)), op(18)
    put("ring", "plain", opened + declare + read + release + push + read + release + validate + closed + opened + dump)
    put("ring", "attach", opened + attach + push + read + rewind + read + release + attach + closed)
    put("ring", "damage", op(3, u16(5), u64(0)) + op(3, u16(9), u64(1 << 63)) + opened + validate + read + repair + read +
        release + dump + recover + closed)
    put("ring", "header", op(0, u8(48), u8(7), u64(64)) + op(0, u8(16), u8(7), u64(128)) + opened + read + validate)
    far = op(0, u8(16), u8(7), u64(1 << 62)) + op(0, u8(48), u8(7), u64(1 << 62)) + op(0, u8(49), u8(7), u64(1 << 62))
    put("ring", "far", far + opened + push + op(0, u8(48), u8(0)) + dump + validate + attach + read + release)
    put("ring", "marks", opened + op(4, u16(40), u8(2), u16(5)) + op(4, u16(60), u8(1), u16(8)) + read + validate + repair +
        op(5, u16(4), u16(6), u8(1), u8(1), u8(0), u8(0), u8(0)) + read + release + dump)
    put("ring", "live", opened + read + op(0, u8(16), u8(7), u64(1 << 20)) + validate + repair + dump + push +
        op(1, u8(0), u8(0), u64(1)) + op(1, u8(0), u8(2), u64(9)) + recover + op(2, u8(0), u16(64), u8(0x41)) + declare + read)


def ledgers():
    def record(kind, count, body):
        return struct.pack("<IHHQ", 16 + len(body), kind, count, 0) + body

    def opened(path, marks=0):
        body = struct.pack("<QQQQII", 1, 2, 3, 4, len(path), marks) + path
        return record(2, 1, body + bytes(-len(body) % 8))

    def file(path, marks):
        body = struct.pack("<QQQQQQQQII", 1, 2, 9, 4, 7, 4, 3, 4, len(path), marks) + path
        return record(8, 1, body + bytes(-len(body) % 8))

    def ring(flags, marks):
        return record(7, 0, RING + struct.pack("<QIIQQQ", 1, flags, marks, 4096, 64, 8))

    def checkpoint(end):
        return record(6, 0, struct.pack("<Q", end))

    def commit(*files):
        body = RING + struct.pack("<QQII", 1, 4096, 0, 0) + b"".join(struct.pack("<QQQQ", *file) for file in files)
        return record(1, len(files), body)

    begin = struct.pack("<QII", 0x524744454c46484b, 1, 0) + RECEIVER + b"boot" + bytes(12) + bytes(8)
    whole = begin + opened(b"a") + commit((1, 2, 1, 0)) + opened(b"b/c") + commit() + record(3, 1, struct.pack("<QQ", 1, 2))
    put("ledger", "whole", b"\0" + whole + record(4, 0, b""))
    put("ledger", "zeros", b"\0" + whole + bytes(400))
    put("ledger", "torn", b"\0" + (whole + opened(b"x" * 1000) * 4)[:4096] + bytes(64))
    put("ledger", "cut", b"\1" + whole[:-5])
    put("ledger", "paths", b"\2" + begin + opened(b"../x") + opened(b"/etc/x") + opened(b"l\nf") + opened(b"a/b/c"))
    mark, at_once = record(5, 0, b""), commit((1, 2, 5, 0))
    waits = ring(2, 12) + file(b"a", 15) + ring(2, 4) + file(b"b", 9) + file(b"a", 3) + record(9, 0, b"")
    for name, flags in (("checkpoint", 14), ("checkpoint-here", 10), ("checkpoint-other", 6)):
        put("ledger", name, bytes([flags]) + begin + waits + at_once + mark + at_once + checkpoint(56) + mark +
            opened(b"a", 1) + record(3, 1, struct.pack("<QQ", 1, 2)) + checkpoint(400) + at_once + bytes(400))
    forgotten = record(10, 0, RING)
    put("ledger", "forgotten", b"\12" + begin + waits + forgotten + at_once + mark + at_once + forgotten + checkpoint(400) +
        forgotten + at_once + bytes(400))
    put("ledger", "proven", b"\15" + begin + waits + b"x" * 16 + mark + at_once + checkpoint(4000) + bytes(400))
    put("ledger", "version", b"\0" + begin.replace(b"\1\0\0\0", b"\2\0\0\0", 1))

    helo = pack(["HELO", {"nonce": b"n" * 16, "auth": b"a" * 16, "keepalive": False}])
    ack = pack({"ack": "QUJDREVGR0hJSktMTU5PUA=="})
    put("forward", "greeted", b"\1" + helo + pack(["PONG", True, "", "server", "0" * 128]) + ack)
    put("forward", "refused", b"\1" + helo + pack(["PONG", False, "shared_key mismatch", "", ""]))
    put("forward", "without-key", b"\1" + pack(["HELO", None]))
    put("forward", "acks", b"\0" + 3 * ack + pack({"more": [None, {"deep": True}], "ack": b"QUJD"}))
    put("forward", "parts", b"\2" + pack([]) + pack({"ack": None}) + pack({"ack": "x" * 65}) + ack + helo)

    rejected = message((1, message((1, 3), (2, b"one is bad"))))
    for name, status, headers, body in (("taken", 200, "", b""), ("rejected", 200, "", rejected),
                                        ("slow", 429, "Retry-After: 7\r\n", message((1, 8), (2, b"slow down"))),
                                        ("later", 503, "Retry-After: Fri, 31 Dec 2100 23:59:59 GMT\r\n", b""),
                                        ("moved", 301, "Location: /\r\n", b""), ("large", 413, "", b"large"),
                                        ("cut", 200, "Content-Encoding: gzip\r\n", b"")):
        put("otlp", name, f"\0HTTP/1.1 {status} So\r\n{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    put("otlp", "pieces", b"\0HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n\n\0\r\n0\r\n\r\n")
    put("otlp", "body", b"\1" + rejected)
    put("otlp", "status", b"\2" + message((1, 3), (2, b"no")))


main()
