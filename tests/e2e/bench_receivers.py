#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# k2hft bench with several receivers: all get something, and together what was sent; how long a fail-over takes.
import tempfile

from common.bench_run import MOUNTS, bench, measure


def main():
    with tempfile.TemporaryDirectory() as work:
        ways = "library,push" + (",mount" if MOUNTS else "")
        for result in measure(work, "--bytes", "64M", "--size", "1K", "--by", ways, "--receivers", "1,3", "--tls"):
            assert result["sent_bytes"] == 64 << 20, result
            least = result["least_receiver_of_mean"]
            assert least is None if result["receivers"] == 1 else 0 < least <= 1, result
        (result,) = measure(work, "--by", "failover")
        assert result["receivers"] == 2 and result["failover_ms"] > 0 and result["committed_mb_per_s"] is None, result
        printed, _ = bench(work, "--from", "json")
        assert " a stream goes on at another receiver after " in printed, printed
        for options in (("--receivers", "2", "--rate", "100"), ("--receivers", "2", "-r", "127.0.0.1:9"),
                        ("--receivers", "9"), ("--receivers", "2", "--by", "record"), ("--by", "failover", "--size", "10")):
            bench(work, *options, status=2)


main()
