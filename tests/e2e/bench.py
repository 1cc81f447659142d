#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# k2hft bench: each way, sweeps, JSON and latencies give figures that can be read; nothing stays behind.
import math
import os
import tempfile

from common.bench_run import MOUNTS, bench, load

SAVED = ("--runs", "1", "--tsv", "tsv", "--json", "json")


def results(work):
    report = load(work, "json")
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
        printed, _ = bench(work, *SAVED, "--bytes", "1M", "--size", "10,1K")
        found = results(work)
        ways = ["library", "push"] + (["mount"] if MOUNTS else [])
        assert [(r["way"], r["size"]) for r in found] == [(way, size) for way in ways for size in (10, 1024)], found
        for result in found:
            # That as many came as were sent, bench looks after itself: here, that as many were sent as was asked.
            assert result["sent_bytes"] == (1 << 20) // result["size"] * result["size"], result
            for name in ("committed_mb_per_s", "pipe_mb_per_s", "committed_of_pipe", "cpu_all_s_per_gb",
                         "peak_receiver_mib"):
                assert result[name] > 0, (name, result)
            assert result["produced_mb_per_s"] >= result["committed_mb_per_s"], result
            assert result["latency_p50_us"] is None
        lines = printed.splitlines()
        assert len(lines) == 3 + len(found) and max(map(len, lines)) < 80, printed
        # Values that all lines have in common are printed once, and the rest are columns.
        assert lines[0] == "-g 1, --writers 1, -c 0, --ring 2M" and lines[2].split()[:2] == ["way", "bytes"], printed
        assert [tuple(line.split()[:2]) for line in lines[3:]] == [(r["way"], str(r["size"])) for r in found], printed

        printed, _ = bench(work, *SAVED, "-n", "3000", "--size", "64", "--by", "library", "-g", "1,3", "-c", "1,7",
                           "--format", "json", "--compress", "always", "--level", "synced")
        assert [r["sent_bytes"] for r in results(work)] == [192000] * 4
        assert sum(line.startswith("knee: ") for line in printed.splitlines()) == 4, printed
        assert "\nknee: library, 64 bytes, -c 7: " in printed and max(map(len, printed.splitlines())) <= 100, printed

        printed, _ = bench(work, *SAVED, "--rate", "500", "-n", "200", "--size", "100", "-g", "2", "--by",
                           "library,push")
        assert max(map(len, printed.splitlines())) < 80, printed
        for result in results(work):
            quantiles = [result[f"latency_{name}_us"] for name in ("p50", "p99", "p999", "max")]
            assert 0 < quantiles[0] < quantiles[1] and quantiles == sorted(quantiles), result
            assert result["committed_of_pipe"] is None
        # Between two writes nothing comes for longer than it waits for a record otherwise.
        bench(work, *SAVED, "--rate", "1", "-c", "31", "-n", "32", "--size", "100", "--by", "library", "--runs", "1")
        assert results(work)[0]["latency_max_us"] > 0, results(work)
        # Lines with a rate are headed so, even if the first has none.
        printed, _ = bench(work, "--runs", "1", "--rate", "500", "-n", "20", "--size", "100", "--by", "record,library")
        assert printed.splitlines()[1].endswith(" latency, us"), printed


main()
