#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a relay passes on: host, path, pid and time of the origin, over two of them; to files besides; when the next stage is
away; with ACKEND; to several next stages; and what shows of it."""
import filecmp
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile

from common.receiver import BIN, Ended, wait_for
from common.relay import Stage

FORMAT = 'FORMAT = "%H:%F(%P):%f[%T] %L"\nFILE_TIMEFORM = "%F %T(%s %-)"'


def port_get():
    """One that is free now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def push(stage, *arguments, text=None, status=0):
    run = subprocess.run([f"{BIN}/k2hft", "push", "-q", f"-r127.0.0.1:{stage.port}", *arguments],
                         input=text, stdin=None if text else subprocess.DEVNULL, capture_output=True, timeout=120)
    assert run.returncode == status, (arguments, run)


def same(one, other):
    def compare():
        return os.path.exists(one) and os.path.exists(other) and os.path.getsize(one) > 0 and filecmp.cmp(one, other, False)
    filecmp.clear_cache()
    wait_for(f"{one} as {other}", lambda: (filecmp.clear_cache(), compare())[1])


def stat(*arguments):
    return subprocess.run([f"{BIN}/k2hft", "stat", *arguments], capture_output=True, timeout=30, check=False).stdout.decode()


def health(control):
    connection = http.client.HTTPConnection("127.0.0.1", control, timeout=30)
    connection.request("GET", "/health")
    return connection.getresponse().status


def origin_check(work):
    """A relay that writes files, too, writes what the end of the way does. TRANSCONF is JSON, or the environment says it."""
    last = Stage(f"{work}/last", FORMAT)
    node = f"{{'GLOBAL': {{'PORT': '{last.port}', 'MODE': 'SLAVE'}}, 'SVRNODE': [{{'NAME': 'localhost', 'SSL': 'no'}}]}}"
    os.environ["CHMJSONCONF"] = node
    second = Stage(f"{work}/second", "TYPE = transfer\nK2HTYPE = mem\nK2HMASKBIT = 4")
    del os.environ["CHMJSONCONF"]
    control = port_get()
    first = Stage(f"{work}/first", f"{FORMAT}\nACKEND = yes", [second], f"CTLPORT = {control}\nSSL = no", both=True)
    push(first, "--host", "origin.example", "-t", "a/b.log", text=b"one\r\ntwo\n" + b"x" * 3000000 + b"\nlast without an end")
    push(first, "--host", "other.example", "-t", "a/c.log", text=b"three\n")
    same(f"{work}/first/out/a/b.log", f"{work}/last/out/a/b.log")
    same(f"{work}/first/out/a/c.log", f"{work}/last/out/a/c.log")
    with open(f"{work}/last/out/a/c.log", "rb") as file:
        line = file.read()
    assert line.startswith(b"other.example:a/c.log(") and line.endswith(b"] three\n"), line
    lanes = json.loads(stat("--json", f"127.0.0.1:{control}"))["lanes"]
    assert [(lane["home"], lane["state"], lane["unacked_records"]) for lane in lanes] == [
        (f"127.0.0.1:{second.port}", "connected", 0)], lanes
    assert f"127.0.0.1:{second.port}" in stat(f"127.0.0.1:{control}")
    push(first, "--binary", "-t", "binary", text=bytes(range(256)) * 4)
    wait_for("blocks", lambda: os.path.exists(f"{work}/last/out/binary"))
    for stage in (first, second, last):
        stage.end()


def away_check(work):
    """The relay has what it acknowledges; with ACKEND it acknowledges what the next stage has. A full ring holds senders."""
    last = Stage(f"{work}/end")
    control = port_get()
    quick = Stage(f"{work}/quick", "", [last], f"CTLPORT = {control}")
    end = Stage(f"{work}/slow", "ACKEND = yes", [last])
    last.end()
    push(quick, "-t", "quick", text=b"quick\n")
    push(end, "-t", "end", "--timeout", "1", text=b"end\n", status=1)
    quick.kill()
    end.kill()
    with open(f"{work}/large", "wb") as file:
        file.write(b"".join(b"line %07d %0200d\n" % (number, number) for number in range(400000)))
    pushing = subprocess.Popen([f"{BIN}/k2hft", "push", "-q", f"-r127.0.0.1:{quick.port}", f"{work}/large"],
                               stdin=subprocess.DEVNULL)
    wait_for("a full ring", lambda: json.loads(stat("--json", f"{work}/quick/ring"))["ring_state"]["tail"] > 48 << 20)
    assert pushing.poll() is None
    assert f" wait for the next stage: 127.0.0.1:{last.port} is not connected" in stat(f"127.0.0.1:{control}").split("\n")[0]
    assert health(control) == 503
    last.start()
    assert pushing.wait(60) == 0
    same(f"{work}/large", f"{work}/end/out/large")
    wait_for("end", lambda: os.path.exists(f"{work}/end/out/end"))
    wait_for("health", lambda: health(control) == 200)
    for name in ("quick", "end"):
        with open(f"{work}/end/out/{name}", "rb") as file:
            text = file.read()
        assert text == f"{name}\n".encode(), text
    for stage in (quick, end, last):
        stage.end()


def several_check(work):
    """Each way to spread over three next stages: how many have all of a stream, as it was written; random: all together."""
    for way, general, own, copies in (("hash", "", "", 1), ("some", "", "COPIES = 2", 2), ("random", "DELIVERMODE = random\n", "", 0),
                                      ("all", "[K2HTPDTOR]\nK2HTPDTOR_BROADCAST = yes\n", "", 3)):
        ends = [Stage(f"{work}/{way}{at}") for at in range(3)]
        relay = Stage(f"{work}/{way}", own, ends)
        relay.goes_to(ends, general)
        relay.kill()
        texts = {f"s{at}": b"".join(b"%s %d%*s\r\n" % (way.encode(), at, number, b"") for number in range(300)) for at in range(12)}
        for name, text in texts.items():
            half = text.index(b"\n", len(text) // 2) + 1
            push(relay, "-t", name, text=text[:half])
            push(relay, "-t", name, text=text[half:])
        made = sum(map(len, texts.values())) * (copies or 1)
        held = [f"{end.work}/out/{name}" for end in ends for name in texts]
        wait_for(f"all, by {way}", lambda held=held, made=made: sum(os.path.getsize(one) for one in held if os.path.exists(one)) >= made)
        relay.end()
        for end in ends:
            end.end()
        for name, text in texts.items():
            found = [open(one, "rb").read() for one in held if one.endswith(f"/{name}") and os.path.exists(one)]
            assert sorted(b"".join(found).splitlines()) == sorted(text.splitlines() * (copies or 1)), (way, name)
            assert not copies or found == [text] * copies, (way, name, len(found))
        assert all(os.listdir(f"{end.work}/out") for end in ends), way


def refused_check(work):
    for own, said in (("TYPE = trans\nK2HTYPE = mem", "TYPE = trans needs TRANSCONF"),
                      ("TYPE = both\nTRANSCONF = nowhere", f"{work}/bad/nowhere: No such file")):
        try:
            Stage(f"{work}/bad", own)
            raise AssertionError(own)
        except Ended as ended:
            assert said in str(ended), ended


def folder_check(work):
    """The folder in TMPDIR of a relay without a directory: one that is killed leaves it to the next start to remove."""
    os.mkdir(f"{work}/temporary")
    with open(f"{work}/conf", "w", encoding="utf-8") as conf:
        node = "{'GLOBAL': {'SSL': 'no'}, 'SVRNODE': [{'NAME': '127.0.0.1', 'PORT': '1'}]}"
        conf.write(f"[GLOBAL]\nPORT = 8020\nSSL = no\n[K2HFTFUSESVR]\nTYPE = trans\nTRANSCONF = {node}\nK2HTYPE = mem\n")

    def start():
        log = open(f"{work}/log", "wb")
        relay = subprocess.Popen([f"{BIN}/k2hftfusesvr", "-conf", f"{work}/conf", "--listen", "127.0.0.1:0"], stderr=log,
                                 env={**os.environ, "TMPDIR": f"{work}/temporary"})
        with log, open(f"{work}/log", "rb") as said:
            wait_for("it listens", lambda: said.seek(0) or b"listening on" in said.read())
        return relay

    def folders():
        return set(os.listdir(f"{work}/temporary"))

    lives, killed = start(), start()
    killed.kill()
    killed.wait()
    left = folders()
    assert len(left) == 2, left
    last = start()
    assert len(folders() & left) == 1 and len(folders()) == 2, (left, folders())
    for relay in (lives, last):
        relay.terminate()
        assert relay.wait(60) == 0
    assert not folders(), folders()


def main():
    for check in (origin_check, away_check, several_check, refused_check, folder_check):
        with tempfile.TemporaryDirectory() as work:
            check(work)


sys.exit(main())
