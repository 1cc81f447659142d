#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# k2hft bench: encryption, a slow link, one file, lines of a log, patterns, a time series, single costs, appends; an
# interrupt leaves nothing behind.
import os
import signal
import socket
import subprocess
import tempfile

from common.bench_run import K2HFT, MOUNTS, measure
from common.receiver import MODULES


def interrupt(work):
    scratch = os.path.join(work, "interrupted")
    os.makedirs(scratch)
    way = "mount" if MOUNTS else "push"
    with subprocess.Popen([K2HFT, "bench", "--by", way, "--seconds", "600"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": scratch}) as running:
        # The moment is as soon as it has started something.
        while not any(os.path.exists(os.path.join(scratch, name, "received")) for name in os.listdir(scratch)):
            assert running.poll() is None, running.stderr.read()
        running.send_signal(signal.SIGINT)
        said = running.communicate(timeout=200)[1].decode()
        assert running.returncode == 1 and "interrupted" in said, (running.returncode, said)
    assert os.listdir(scratch) == [], os.listdir(scratch)
    with open("/proc/mounts", encoding="utf-8") as mounts:
        assert scratch not in mounts.read()


def nobody_there(work):
    """Why it does not go on is said while it waits."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    for way in ("library", "push"):
        with subprocess.Popen([K2HFT, "bench", "--by", way, "--bytes", "1M", "-r", f"127.0.0.1:{port}"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              env={**os.environ, "TMPDIR": work}) as running:
            said = ""
            while "Connection refused" not in said:
                said = running.stderr.readline()
                assert said.startswith("k2hft "), (way, said)
            running.send_signal(signal.SIGINT)
            running.communicate(timeout=200)
            assert running.returncode == 1, running.returncode


def relative_key(work):
    key = os.path.join(work, "key")
    with open(key, "w", encoding="utf-8") as output:
        output.write("12" * 32 + "\n")
    os.chmod(key, 0o600)
    arguments = [K2HFT, "bench", "--runs", "1", "--by", "library,push", "--bytes", "1M", "--size", "100", "--psk"]
    subprocess.run([*arguments, "key"], check=True, cwd=work, stdout=subprocess.DEVNULL, timeout=200)
    done = subprocess.run([*arguments, "none"], check=False, cwd=work, capture_output=True, text=True, timeout=200)
    assert done.returncode == 1 and "--psk none: No such file or directory" in done.stderr, done


def odd_places():
    """A temporary directory whose name is relative, or has what a list of options or a configuration has, too."""
    with tempfile.TemporaryDirectory() as work:
        for name in ("near", "a,b", "a ;b", "a\\b", "a#b", "a #b", "a'b", 'a"b \\'):
            os.mkdir(os.path.join(work, name))
            done = subprocess.run([K2HFT, "bench", "--runs", "1", "--by", "library,mount" if MOUNTS else "library", "-n",
                                   "10", "--size", "10", "--tls"], cwd=work, capture_output=True, text=True, check=False,
                                  timeout=200, env={**os.environ, "TMPDIR": name if name == "near" else f"{work}/{name}"})
            assert done.returncode == 0 and os.listdir(os.path.join(work, name)) == [], (name, done)


def main():
    with tempfile.TemporaryDirectory() as work:
        log = os.path.join(work, "log")
        with open(log, "w", encoding="utf-8") as output:
            output.writelines(f"{number} line{'s' * (number % 90)}\n" for number in range(5000))

        for result in measure(work, "-n", "3000", "--size", "100", "--by", "library,push", "-g", "3", "--unify",
                              "--tls"):
            assert result["sent_bytes"] == 300000 and result["tls"] == result["unify"] == 1, result

        found = measure(work, "--bytes", "1M", "--input", log, "--by", "library,push" + (",mount" if MOUNTS else ""))
        for result in found:
            assert abs(result["sent_bytes"] - (1 << 20)) < 100 and result["input"] == 1, result

        (result,) = measure(work, "--bytes", "4M", "--size", "1K", "--by", "library", "--link", "100", "--compress",
                            "never")
        # Never faster than such a link; how much slower is the machine's affair.
        assert 0 < result["committed_of_line"] < 1.2 and result["line_mb_per_s"] == 12.5, result

        # Committed, not what the files grew by, which of short records as JSON is several times as much.
        for options in (("--size", "1K"), ("--size", "10", "--format", "json")):
            (result,) = measure(work, "--sustain", "4", "--by", "library", *options)
            assert len(result["series_mb_per_s"]) == 4 and result["last_of_first_quarter"] > 0, result
            assert sum(result["series_mb_per_s"]) * 1e6 < 1.5 * result["sent_bytes"], result
            assert result["first_quarter_mb_per_s"] == result["series_mb_per_s"][0], result
            assert len(result["series_free_mib"]) == 4 and min(result["series_free_mib"]) > 0, result

        # The rates are those of the ten windows behind the warm-up.
        (result,) = measure(work, "--by", "library", "--size", "1K", "--warmup", "2", "--window", "1")
        windows = result["series_mb_per_s"][2:12]
        assert len(windows) == 10 and result["seconds"] == 12, result
        assert abs(sum(windows) / 10 / result["committed_mb_per_s"] - 1) < 1e-9, result
        assert (result["window_lowest_mb_per_s"], result["window_highest_mb_per_s"]) == (min(windows), max(windows)), result
        assert abs(result["committed_records_per_s"] * 1024 / 1e6 / result["committed_mb_per_s"] - 1) < 1e-9, result

        # A plug-in writes the file, and has written all of it at the end; the pipe goes through cat, too.
        (result,) = measure(work, "--bytes", "4M", "--size", "1K", "--by", "library", "--sink", "exec")
        assert result["sink"] == "exec" and result["sent_bytes"] == 4 << 20, result
        assert result["output_mb_per_s"] == result["committed_mb_per_s"] and result["committed_of_pipe"] > 0, result

        # The relay's sender waits for the files of the receiver behind it; a relay of its own before each receiver.
        for options in (("--tls",), ("--receivers", "2")):
            direct, relayed = measure(work, "--bytes", "4M", "--size", "1K", "--by", "library", "--sink", "file,relay", *options)
            assert (direct["sink"], relayed["sink"]) == ("file", "relay"), (direct, relayed)
            assert relayed["output_mb_per_s"] == relayed["committed_mb_per_s"] and relayed["committed_of_pipe"] > 0, relayed

        # A server has at least what was sent, and its messages are sent again.
        sinks = [sink for sink in ("forward", "otlp") if os.path.exists(f"{MODULES}/{sink}.so")]
        for result in measure(work, "--bytes", "4M", "--size", "1K", "--by", "library", "--sink", ",".join(sinks)) if sinks else []:
            assert result["sink"] in sinks and result["sent_bytes"] == 4 << 20 and result["committed_of_pipe"] > 0, result
            assert 1 < result["output_mb_per_s"] / result["committed_mb_per_s"] < 1.3, result

        (result,) = measure(work, "--by", "record", "--size", "10")
        assert result["record_ns"] > 0 and result["committed_mb_per_s"] is None, result

        if MOUNTS:
            (result,) = measure(work, "-n", "2000", "--size", "100", "--by", "mount-append")
            assert result["sent_bytes"] == 200000 and result["produced_of_tmpfs"] > 0, result
            (result,) = measure(work, "--bytes", "100K", "--input", log, "--by", "mount", "--rules", "16")
            assert result["rules"] == 16 and result["committed_mb_per_s"] > 0, result
            (result,) = measure(work, "--by", "idle", "--seconds", "1")
            assert result["idle_mount_percent"] >= 0 and result["idle_receiver_percent"] >= 0, result
        # Memory of a process that was waited for is not its parent's.
        (small,) = measure(work, "--bytes", "64M", "--size", "1K", "--by", "push", "--ring", "1M")
        (result,) = measure(work, "--bytes", "64M", "--size", "1K", "--by", "push", "--ring", "4M")
        assert result["peak_sender_mib"] > small["peak_sender_mib"] + 2 > 4, (small, result)
        assert abs(result["peak_writer_mib"] - small["peak_writer_mib"]) < 1, (small, result)
        assert 0 < result["cpu_writer_s_per_gb"] < result["cpu_sender_s_per_gb"], result
        relative_key(work)
        odd_places()
        interrupt(work)
        nobody_there(work)


main()
