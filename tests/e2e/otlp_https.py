#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# TYPE = otlp over https: both sides are verified; a collector that is not whom OTLP_CA knows gets nothing, and the status
# says why. Bad values are errors at the start.
import os
import subprocess
import tempfile

from common import receiver
from common.otlp import Collector, Receiver, context, wait_for

TLS = """set -u; dir=$1; fail() { echo "$*"; exit 1; }; . tests/tools/tls.inc
authority right; authority wrong; certificate peer right IP:127.0.0.1; certificate own right DNS:own"""


def refusal(work, endpoint, own):
    """What the receiver says that does not start."""
    try:
        Receiver(work, endpoint, own).kill()
    except receiver.Ended as ended:
        return str(ended)
    raise AssertionError("it has started")


with tempfile.TemporaryDirectory() as folder:
    subprocess.run(["sh", "-c", TLS, "sh", folder], check=True)
    OWN = f"OTLP_CERT = {folder}/own.pem\nOTLP_KEY = {folder}/own.key\nOTLP_CA = {folder}/ca.pem"
    peer = Collector(context(f"{folder}/peer.pem", f"{folder}/peer.key", f"{folder}/right.pem"))
    os.symlink("wrong.pem", f"{folder}/ca.pem")
    tested = Receiver(folder, peer.endpoint + "/", OWN)
    try:
        sender = tested.push("stream", b"secret\n")
        assert "ertificate" in wait_for("why", lambda: tested.shown()["held"]), tested.shown()
        assert not peer.requests and sender.poll() is None
        os.remove(f"{folder}/ca.pem")
        os.symlink("right.pem", f"{folder}/ca.pem")
        assert sender.wait(60) == 0
        assert [record["body"] for record in peer.records()] == ["secret"]
        tested.end()
        with open(f"{folder}/headers", "w", encoding="ascii") as headers:
            headers.write("A=1\n")
        os.chmod(f"{folder}/headers", 0o644)
        assert "other users have access" in refusal(folder, peer.endpoint, f"OTLP_HEADERS_FILE = {folder}/headers")
        assert "belongs to the request itself" in refusal(folder, peer.endpoint, "OTLP_HEADERS = content-type = text/plain")
        assert "write NAME=VALUE" in refusal(folder, peer.endpoint, "OTLP_HEADERS = a = b, c")
        assert "is no address as http://" in refusal(folder, "http://user:password@127.0.0.1", "")
        assert "needs OTLP_ENDPOINT" in refusal(folder, "", "")
        assert "need each other" in refusal(folder, peer.endpoint, f"OTLP_KEY = {folder}/own.key")
    finally:
        tested.kill()
        peer.close()
