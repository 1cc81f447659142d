#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# k2hft bench --writers: each thread of a sender has a stream of its own, whose records arrive as the block has them; the
# number is in all results, and older ones, which do not have it, mean one writer.
import os
import tempfile

from common.bench_run import bench, load, measure, save
from common.receiver import Receiver


def streams(work):
    """With a receiver whose files stay: one for each writer, and all have the same records in their order."""
    receiver = Receiver(work)
    address = f"127.0.0.1:{receiver.port}"
    for senders, writers, names in ((1, 1, ["0"]), (2, 3, ["0.0", "0.1", "0.2", "1.0", "1.1", "1.2"])):
        bench(work, "--runs", "1", "-r", address, "--by", "library", "-n", "3000", "--size", "100", "-g", str(senders),
              "--writers", str(writers), "--json", "elsewhere.json", "--markdown", "elsewhere.md")
        for name in names:
            with open(os.path.join(work, "out", "bench", name), encoding="ascii") as received:
                lines = received.read().splitlines()
            assert len(lines) == 3000 // len(names) and all(len(line) == 99 for line in lines), (name, len(lines))
            assert [int(line[:9]) for line in lines] == list(range(len(lines))), name
    # Where it was sent to is kept, or nobody could tell it from what goes to a receiver of its own.
    assert load(work, "elsewhere.json")["receiver"] == address
    with open(os.path.join(work, "elsewhere.md"), encoding="utf-8") as report:
        assert f"\n| receiver | {address} |\n" in report.read()
    receiver.end()
    assert sorted(os.listdir(os.path.join(work, "out", "bench"))) == ["0"] + names


def reports(work):
    arguments = ["--by", "library", "--size", "100", "--writers", "1,2,3", "-n", "3000", "--runs", "2", "--json",
                 "a.json"]
    printed, _ = bench(work, *arguments, "--tsv", "a.tsv", "--markdown", "a.md", "--html", "a.html")
    assert "knee: library, 100 bytes: " in printed and " MB/s, --writers " in printed, printed
    constants, _, *lines = printed.splitlines()
    assert constants == "--by library, --size 100, -g 1, -c 0, --ring 2M", printed
    assert [line.split()[0] for line in lines[:4]] == ["writers", "1", "2", "3"], printed
    report = load(work, "a.json")
    assert [result["writers"] for result in report["results"]] == [1, 2, 3]
    with open(os.path.join(work, "a.tsv"), encoding="utf-8") as table:
        names, *lines = [line.split("\t") for line in table]
    assert [line[names.index("writers")] for line in lines] == ["1", "2", "3"]
    for name in ("a.md", "a.html"):
        with open(os.path.join(work, name), encoding="utf-8") as source:
            text = source.read()
        assert "library, 100 bytes" in text and "library, 100 bytes, 3 writers" in text, name
    assert "writers of each sender" in text

    # Results that were saved before there was such a number had one writer.
    for result in report["results"]:
        del result["writers"]
    report["results"][0]["of_each_run"]["committed_mb_per_s"] = [7e12, 7e12]
    del report["results"][1:]
    save(work, "old.json", report)
    bench(work, "--from", "old.json", "--json", "new.json")
    assert [result["writers"] for result in load(work, "new.json")["results"]] == [1]
    printed, _ = bench(work, "--compare", "old.json", "a.json", status=3)
    assert printed.count("WORSE") == 1 and "only in B: library, 100 bytes, 2 writers" in printed, printed
    os.rename(os.path.join(work, "old.json"), os.path.join(work, "a.json"))
    bench(work, *arguments, "--resume")
    found = load(work, "a.json")["results"]
    assert [result["writers"] for result in found] == [1, 2, 3] and found[0]["committed_mb_per_s"] == 7e12, found
    assert found[1]["committed_mb_per_s"] < 7e12, found


def main():
    with tempfile.TemporaryDirectory() as work:
        log = os.path.join(work, "lines")
        with open(log, "w", encoding="utf-8") as output:
            output.writelines(f"{number} line{'s' * (number % 90)}\n" for number in range(5000))

        # The library is the way, where none is given.
        found = measure(work, "-n", "3000", "--size", "100", "--writers", "3,1", "-c", "0,7")
        assert [(r["way"], r["writers"], r["per_write"]) for r in found] == [
            ("library", 3, 0), ("library", 1, 0), ("library", 3, 7), ("library", 1, 7)], found
        assert all(r["sent_bytes"] == 300000 for r in found), found
        (result,) = measure(work, "-n", "3000", "--size", "100", "-g", "2", "--writers", "3", "--unify", "--tls",
                            "--format", "json")
        assert result["sent_bytes"] == 300000 and result["output_mb_per_s"] > result["committed_mb_per_s"], result
        (result,) = measure(work, "--bytes", "1M", "--input", log, "--writers", "3")
        assert abs(result["sent_bytes"] - (1 << 20)) < 300, result
        (result,) = measure(work, "--seconds", "1", "--size", "1K", "--writers", "128")
        assert result["sent_bytes"] > 0 and result["committed_of_pipe"] > 0, result
        (result,) = measure(work, "--sustain", "4", "--size", "1K", "-g", "2", "--writers", "3")
        assert len(result["series_mb_per_s"]) == 4 and result["sent_bytes"] > 0, result
        (result,) = measure(work, "--rate", "500", "-n", "300", "--size", "100", "-g", "2", "--writers", "3")
        assert result["sent_bytes"] == 30000 and 0 < result["latency_p50_us"] <= result["latency_max_us"], result

        five = ["--writers", "5"]
        for wrong, why in (([*five, "--by", "library,push"], "--writers push: only the library has "),
                           ([*five, "--by", "mount-append"], "--writers mount-append: only the library has "),
                           ([*five, "--by", "record"], "--writers record: only the library has "),
                           ([*five, "-g", "128"], "--writers -g: 512 writers "),
                           ([*five, "--rules", "3"], "--rules library: "),
                           ([*five, *five], "--writers 5: it was given before"),
                           (["--writers", "129"], "--writers 129: a number from 1 to 128 "),
                           (["--writers", "0"], "--writers 0: a number from 1 to 128 ")):
            _, said = bench(work, *wrong, status=2)
            assert said.startswith(f"k2hft bench: {why}"), said
        streams(work)
        reports(work)


main()
