#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# k2hft bench: each way, sweeps, JSON and latencies give figures that can be read; nothing stays behind.
import json
import math
import os
import subprocess
import tempfile

K2HFT = os.path.abspath(os.path.join(os.environ.get("B", "build"), "bin", "k2hft"))


def bench(work, *arguments, status=0):
    scratch = os.path.join(work, "scratch")
    os.makedirs(scratch, exist_ok=True)
    files = ["--tsv", os.path.join(work, "tsv"), "--json", os.path.join(work, "json")]
    done = subprocess.run([K2HFT, "bench", "--runs", "1", *files, *arguments], capture_output=True, text=True,
                          timeout=120, env={**os.environ, "TMPDIR": scratch})
    assert done.returncode == status, f"{arguments}: status {done.returncode}\n{done.stdout}{done.stderr}"
    assert os.listdir(scratch) == [], f"{arguments}: {os.listdir(scratch)} stays behind"
    return done.stdout, done.stderr


def results(work):
    with open(os.path.join(work, "json"), encoding="utf-8") as source:
        report = json.load(source)
    with open(os.path.join(work, "tsv"), encoding="utf-8") as source:
        names, *lines = [line.rstrip("\n").split("\t") for line in source]
    table = [dict(zip(names, line, strict=True)) for line in lines]
    assert len(table) == len(report["results"])
    for line, result in zip(table, report["results"]):
        for name, value in result.items():
            if isinstance(value, (int, float)) and name != "group":
                assert value >= 0 and math.isclose(value, float(line[name])), (name, value, line)
        assert result["runs"] == 1
    assert report["processors"] > 0
    return report["results"]


def main():
    with tempfile.TemporaryDirectory() as work:
        printed, _ = bench(work, "--bytes", "1M", "--size", "10,1K")
        found = results(work)
        ways = ["library", "push"] + (["mount"] if os.access("/dev/fuse", os.R_OK | os.W_OK) else [])
        assert [(r["way"], r["size"]) for r in found] == [(way, size) for way in ways for size in (10, 1024)], found
        for result in found:
            # That as many came as were sent, bench looks after itself: here, that as many were sent as was asked.
            assert result["sent_bytes"] == (1 << 20) // result["size"] * result["size"], result
            for name in ("committed_mb_per_s", "pipe_mb_per_s", "committed_of_pipe", "cpu_all_s_per_gb",
                         "peak_receiver_mib"):
                assert result[name] > 0, (name, result)
            assert result["produced_mb_per_s"] >= result["committed_mb_per_s"], result
            assert result["latency_p50_us"] is None
        assert len(printed.splitlines()) == 1 + len(found), printed

        printed, _ = bench(work, "-n", "3000", "--size", "64", "--by", "library", "-g", "1,3", "-c", "1,7", "--format",
                           "json", "--compress", "always", "--level", "synced")
        assert [r["sent_bytes"] for r in results(work)] == [192000] * 4
        assert sum(line.startswith("knee: ") for line in printed.splitlines()) == 4, printed

        bench(work, "--rate", "500", "-n", "200", "--size", "100", "-g", "2", "--by", "library,push")
        for result in results(work):
            quantiles = [result[f"latency_{name}_us"] for name in ("p50", "p99", "p999", "max")]
            assert 0 < quantiles[0] and quantiles == sorted(quantiles), result
            assert result["committed_of_pipe"] is None

        for wrong in (["--by", "pigeon"], ["-g", "129"], ["--size", "1"], ["-n", "1", "--bytes", "1"],
                      ["--level", "synced", "--by", "mount"], ["--rate", "1", "-r", "localhost"], ["left"],
                      ["--tls", "-r", "localhost"], ["--brief"], ["--all", "--seed-table"],
                      ["--rules", "3", "--by", "library"], ["--sustain", "3", "-n", "1"], ["--memory-limit", "1"],
                      ["--all", "--rate", "3"], ["--unify", "--rate", "3"], ["--input", "/etc/passwd", "--size", "3"],
                      ["--rules", "17"], ["--link", "0"], ["--compare", "one"], ["--by", "record", "-r", "localhost"]):
            _, said = bench(work, *wrong, status=2)
            assert said.startswith("k2hft bench: "), said
        for again in (["--by", "push", "--by", "library"], ["--size", "10", "--size", "20"], ["-g", "1", "-g", "2"],
                      ["-c", "1", "--per-write", "2"], ["--ring", "2M", "--ring", "4M"], ["-r", "a", "-r", "b"]):
            _, said = bench(work, *again, status=2)
            assert "given before" in said, said
        _, said = bench(work, "--ring", "2M,512K", status=2)
        assert "--ring 512K: a number from 1M to 1024M" in said, said


main()
