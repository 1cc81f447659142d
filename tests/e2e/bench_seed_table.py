#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# timeout: 900
# k2hft bench --published: each figure that K2HFTFUSE has published stands beside one of here. How much is sent is part of
# what it measures, and with the thread sanitizer that takes minutes.
import os
import tempfile

from common.bench_run import bench, load


def main():
    with tempfile.TemporaryDirectory() as work:
        printed, _ = bench(work, "--published", "--brief", "--runs", "1", "--json", "seed.json", "--markdown", "seed.md",
                           timeout=900)
        report = load(work, "seed.json")
        rows = report["rows"]
        assert [row["against"] for row in rows] == [937779, 8.9, 219578, 214.4, 64943, 253.7, 31.3, 130.2, 207.2], rows
        assert all(row["ratio"] > 0 for row in rows), rows
        # kafka's and fluentd's have columns of their own, where there are any; one machine is not four.
        others = [(row["kafka"], row["fluentd"]) for row in rows]
        assert others == [(None, None), (1.4, 2.5), (None, None), (91.3, 14.8), (None, None), (110.1, 22.9)] + 3 * [(None, None)], others
        lines = printed.splitlines()
        assert lines[0].startswith("one machine here; published are four") and lines[0] == report["remark"], lines
        assert [line.split()[-2:] for line in lines[-4:]] == [["kafka", "fluentd"], ["1.40", "2.50"], ["91.3", "14.8"],
                                                              ["110", "22.9"]], lines
        with open(os.path.join(work, "seed.md"), encoding="utf-8") as markdown:
            assert "| kafka, published | fluentd, published |\n" in markdown.read()
        # Records of 10 bytes stand in the published FORMAT: time, 9 bytes and the host's name, with what is around them.
        each = [result["output_mb_per_s"] / result["committed_mb_per_s"] * result["size"] for result in report["results"][3:]]
        bytes_more = len("2026-11-26 21:46:35.145261941 +0900 temotest': {'message':'','host':'" + os.uname().nodename + "'}")
        assert all(abs(got - result["size"] - bytes_more) < 0.1 for got, result in zip(each, report["results"][3:])), each
        assert printed.count("K2HFTFUSE, published") == 9 and max(map(len, printed.splitlines())) <= 80, printed


main()
