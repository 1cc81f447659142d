#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# timeout: 900
# k2hft bench --seed-table: each figure that K2HFTFUSE has published stands beside one of here. How much is sent is part of
# what it measures, and with the thread sanitizer that takes minutes.
import json
import os
import subprocess
import tempfile

K2HFT = os.path.abspath(os.path.join(os.environ.get("B", "build"), "bin", "k2hft"))


def main():
    with tempfile.TemporaryDirectory() as work:
        done = subprocess.run([K2HFT, "bench", "--seed-table", "--brief", "--runs", "1", "--json", "seed.json"],
                              capture_output=True, text=True, check=False, cwd=work, env={**os.environ, "TMPDIR": work})
        assert done.returncode == 0, f"status {done.returncode}\n{done.stdout}{done.stderr}"
        with open(os.path.join(work, "seed.json"), encoding="utf-8") as source:
            rows = json.load(source)["rows"]
        assert [row["against"] for row in rows] == [937779, 8.9, 219578, 214.4, 64943, 253.7, 31.3, 130.2, 207.2], rows
        assert all(row["ratio"] > 0 for row in rows), rows
        assert done.stdout.count("K2HFTFUSE, published") == 9, done.stdout


main()
