#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# timeout: 900
# k2hft bench --seed-table: each figure that K2HFTFUSE has published stands beside one of here. How much is sent is part of
# what it measures, and with the thread sanitizer that takes minutes.
import tempfile

from common.bench_run import bench, load


def main():
    with tempfile.TemporaryDirectory() as work:
        printed, _ = bench(work, "--seed-table", "--brief", "--runs", "1", "--json", "seed.json", timeout=900)
        rows = load(work, "seed.json")["rows"]
        assert [row["against"] for row in rows] == [937779, 8.9, 219578, 214.4, 64943, 253.7, 31.3, 130.2, 207.2], rows
        assert all(row["ratio"] > 0 for row in rows), rows
        assert printed.count("K2HFTFUSE, published") == 9 and max(map(len, printed.splitlines())) <= 80, printed


main()
