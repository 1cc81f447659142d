#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# k2hft bench: saved results that are gone on with, rendered again, and compared.
import copy
import json
import os
import signal
import stat
import subprocess
import tempfile
import time
import xml.dom.minidom

from common.bench_run import K2HFT, bench, load, save


def ended(work, *arguments):
    """By an interrupt, while it measures."""
    scratch = os.path.join(work, "scratch")
    with subprocess.Popen([K2HFT, "bench", *arguments], cwd=work, stdout=subprocess.DEVNULL,
                          env={**os.environ, "TMPDIR": scratch}) as running:
        while not any("received" in folders for _, folders, _ in os.walk(scratch)):
            assert running.poll() is None, running.returncode
            time.sleep(0.01)
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=60) == 1, running.returncode


def main():
    with tempfile.TemporaryDirectory() as work:
        files = ["--json", "a.json", "--html", "a.html", "--markdown", "a.md"]
        printed, _ = bench(work, "--by", "library", "--size", "100", "-g", "1,2,3", "-n", "3000", "--runs", "2",
                           "--note", "commit <0> & more", *files)
        assert "knee: " in printed, printed
        report = load(work, "a.json")
        assert report["note"] == "commit <0> & more" and len(report["results"]) == 3
        assert report["command"].startswith("k2hft bench --by library --size 100 -g 1,2,3 -n 3000 "), report["command"]
        with open(os.path.join(work, "a.html"), encoding="utf-8") as source:
            html = source.read()
        assert "commit &lt;0&gt; &amp; more" in html and "knee" in html and "<script" not in html
        for part in html.split("<svg")[1:]:
            xml.dom.minidom.parseString("<svg" + part.split("</svg>")[0] + "</svg>")
        with open(os.path.join(work, "a.md"), encoding="utf-8") as source:
            markdown = source.read()
        assert sum(line.startswith("| library, 100 bytes") for line in markdown.splitlines()) == 3
        assert "-g: so many senders" in markdown and max(len(line) for line in markdown.splitlines() if "| command |" not in line) < 120, markdown

        # The same results, the same page, without a measurement.
        bench(work, "--from", "a.json", "--html", "b.html", "--json", "b.json")
        with open(os.path.join(work, "b.html"), encoding="utf-8") as source:
            assert source.read() == html
        assert load(work, "b.json") == report

        # The saved parameters are measured again, as often; how long short runs took is said, and that it was too short.
        printed, said = bench(work, "--repeat", "a.json", "--json", "again.json")
        repeated = load(work, "again.json")["results"]
        assert [(r["senders"], r["records"], r["size"], r["runs"]) for r in repeated] == [
            (senders, 3000, 100, 2) for senders in (1, 2, 3)], repeated
        assert all(r["elapsed_s"] > 0 for r in repeated) and printed.splitlines()[2].endswith(" seconds"), printed
        assert ": what starting costs dominates their rates; " in said, said
        printed, _ = bench(work, "--compare", "a.json", "again.json", status=None)
        assert "only in" not in printed, printed
        for broken in ({"senders": 1000}, {"size": 1}, {"records": 0}, {"writers": 99, "senders": 99}, {"ring_bytes": 7}):
            save(work, "b.json", {**report, "results": [{**report["results"][0], **broken}]})
            _, said = bench(work, "--repeat", "b.json", status=1)
            assert said == "k2hft bench: --repeat b.json: its result 1 can't be measured\n", said

        # By each way, the measured figures are in the report, and set against what the table on the terminal has.
        save(work, "ways.json", {**report, "results": [
            {**report["results"][0], **other, "runs": 1, "of_each_run": {name: [value] for name, value in figures.items()}}
            for other, figures in (
                ({"way": "record"}, {"record_ns": 70}),
                ({"way": "idle"}, {"idle_mount_percent": 71, "idle_receiver_percent": 30}),
                ({"way": "mount-append"}, {"committed_mb_per_s": 72, "tmpfs_mb_per_s": 400, "produced_of_tmpfs": 0.25}),
                ({"link_mbit": 1000}, {"committed_mb_per_s": 73, "pipe_mb_per_s": 900, "line_mb_per_s": 125}),
                ({"link_mbit": 1000, "senders": 2}, {"committed_mb_per_s": 90, "first_quarter_mb_per_s": 9,
                                                     "last_quarter_mb_per_s": 8}))]})
        bench(work, "--from", "ways.json", "--markdown", "ways.md")
        with open(os.path.join(work, "ways.md"), encoding="utf-8") as source:
            lines = source.read().splitlines()
        for line in ("- record, 100 bytes: a record costs its writer 70.0 ns",
                     "- idle: of a core, the mount 71.0 %, the receiver 30.0 %",
                     "| mount-append, 100 bytes, --ring 2M | | 72.0 | 400 | 0.250 | | | | |",
                     "| library, 100 bytes, 1000 Mbit/s | | 73.0 | 125 | | | | | |",
                     "- library, 100 bytes, -g 2, 1000 Mbit/s: first quarter 9.00 MB/s, last quarter 8.00 MB/s",
                     "- knee: library, 100 bytes: 90.0 MB/s, -g 2; best 90.0, -g 2"):
            assert line in lines, (line, lines)

        save(work, "b.json", {**report, "skipped": "idle: no mount\n"})
        printed, _ = bench(work, "--from", "b.json")
        assert printed.endswith("\nidle: no mount\n"), printed
        row = {"what": "\x1b[2J", "unit": "\x07", "against_what": "\x9b2J", "runs": 1, "value": 1, "ratio": 1}
        save(work, "b.json", {**report, "note": "\x1b[2J\x9b2J", "skipped": "\x1b]0;title\x07", "rows": [row]})
        for arguments in (("--compare", "b.json", "b.json"), ("--from", "b.json")):
            printed, _ = bench(work, *arguments)
            assert "?" in printed and not set("\x1b\x9b\x07") & set(printed), (arguments, printed)
        save(work, "b.json", report)

        # With itself nothing got worse; with half of the rate something did, whatever the spread was.
        printed, _ = bench(work, "--compare", "a.json", "b.json")
        assert " 0 worse, 0 better" in printed, printed
        figures = [line for line in printed.splitlines() if line.startswith("  ")]
        assert figures[0].endswith(" B of A") and len({len(line) for line in figures}) == 1, printed
        values = report["results"][1]["of_each_run"]["committed_mb_per_s"]
        report["results"][1]["of_each_run"]["committed_mb_per_s"] = [min(values) / 2 for _ in values]
        save(work, "slow.json", report)
        printed, _ = bench(work, "--compare", "a.json", "slow.json", status=3)
        assert sum(line.endswith("WORSE") for line in printed.splitlines()) == 1, printed
        printed, _ = bench(work, "--compare", "slow.json", "a.json")
        assert " 0 worse, 1 better" in printed, printed

        # A difference that is no parameter of a run, but can be why it went otherwise, is printed.
        assert "not the same" not in printed, printed
        save(work, "b.json", {**report, "receiver": "logs.example:8020", "processors": 1000, "note": "other"})
        printed, _ = bench(work, "--compare", "slow.json", "b.json")
        assert [line for line in printed.splitlines() if line.startswith("not the same: ")] == [
            "not the same: receiver, A -, B logs.example:8020",
            f"not the same: processors, A {report['processors']}, B 1000"], printed

        # Points that the file has are not measured again: a figure that no run could give stays.
        report["results"][0]["of_each_run"]["committed_mb_per_s"] = [7e12, 7e12]
        del report["results"][2]
        save(work, "part.json", report)
        again = ["--by", "library", "--size", "100", "-g", "1,2,3", "-n", "3000", "--runs", "2", "--json", "part.json",
                 "--resume", "--note"]
        bench(work, *again, report["note"])
        found = load(work, "part.json")["results"]
        assert [r["senders"] for r in found] == [1, 2, 3] and found[0]["committed_mb_per_s"] == 7e12, found
        assert load(work, "part.json")["date"] == report["date"]
        # A file that is whole: nothing is measured again, and the command says so.
        printed, said = bench(work, *again, report["note"])
        assert load(work, "part.json")["results"] == found and len(printed.splitlines()) == 7, printed
        assert said == ("k2hft bench: --resume: part.json had all of it, nothing was measured; "
                        "without --resume or that file, all is\n"), said
        # Where it ends before all is measured, the file keeps what it had, also what comes later.
        longer = load(work, "part.json")
        longer["results"] = [{**r, "records": 0, "seconds": 600} for r in found if r["senders"] != 2]
        save(work, "longer.json", longer)
        ended(work, "--by", "library", "--size", "100", "-g", "1,2,3", "--seconds", "600", "--runs", "2", "--json",
              "longer.json", "--resume", "--note", report["note"])
        assert [r["senders"] for r in load(work, "longer.json")["results"]] == [1, 3], load(work, "longer.json")
        # Results of another commit, or machine, or log, are measured anew.
        _, said = bench(work, *again, "another")
        assert said.startswith("k2hft bench: --resume: part.json is not of the same note: everything is measured anew\n"), said
        assert load(work, "part.json")["results"][0]["committed_mb_per_s"] < 7e12
        for name, other in (("processor", "abacus"), ("processors", 1000)):
            save(work, "part.json", {**report, name: other})
            _, said = bench(work, *again, report["note"])
            assert f"part.json is not of the same {name}: " in said, said
        for line in (10, 11):
            with open(os.path.join(work, f"{line}.log"), "w", encoding="utf-8") as log:
                log.write("a" * line + "\n")
        bench(work, "--by", "library", "--input", "10.log", "-n", "3000", "--runs", "1", "--json", "log.json")
        _, said = bench(work, "--by", "library", "--input", "11.log", "-n", "3000", "--runs", "1", "--json", "log.json",
                        "--resume")
        assert "log.json is not of the same input: " in said, said
        (result,) = load(work, "log.json")["results"]
        assert result["sent_bytes"] == 3000 * 12, result
        # Lines of a log have no one length, and what has no pair is told apart.
        printed, _ = bench(work, "--by", "library", "--input", "10.log", "-n", "2000", "--runs", "1", "-g", "1,2",
                           "--json", "shorter.json")
        assert printed.startswith("--by library, lines of a log, ") and "\nknee: library, lines of a log: " in printed, printed
        printed, _ = bench(work, "--compare", "log.json", "shorter.json", status=1)
        assert "only in A: library, lines of a log, runs of 3000 records\n" in printed, printed
        assert "only in B: library, lines of a log, runs of 2000 records\n" in printed, printed
        # The cost of a record has no number of records.
        cost = load(work, "shorter.json")
        cost["results"] = [{**cost["results"][0], "way": "record", "records": 0}]
        save(work, "shorter.json", cost)
        printed, _ = bench(work, "--compare", "log.json", "shorter.json", status=1)
        assert "only in B: record, lines of a log\n" in printed, printed

        # A preset has a point several times, each beside others: the second is compared with the second.
        twice = load(work, "a.json")
        again = copy.deepcopy(twice["results"][0])
        again["group"] = 99
        rates = again["of_each_run"]["committed_mb_per_s"]
        again["of_each_run"]["committed_mb_per_s"] = [min(rates) / 7] * len(rates)  # whatever their spread is
        twice["results"].append(again)
        save(work, "twice.json", twice)
        printed, _ = bench(work, "--compare", "twice.json", "twice.json")
        assert " 0 worse, 0 better" in printed and printed.count("library, 100 bytes\n") == 2, printed
        save(work, "other.json", {**twice, "results": twice["results"][:1] + twice["results"][:1]})
        printed, _ = bench(work, "--compare", "other.json", "twice.json", status=3)
        assert printed.count("WORSE") == 1, printed

        # Bytes that are no UTF-8 make no JSON that nobody can read, tabs no columns.
        bench(work, "--by", "library", "--size", "10", "-n", "10", "--runs", "1", "--note", "a\tb\udcff", "--json", "odd.json",
              "--tsv", "odd.tsv")
        assert load(work, "odd.json")["note"] == "a\tb\ufffd"
        with open(os.path.join(work, "odd.tsv"), encoding="utf-8", errors="surrogateescape") as table:
            names, values = [line.rstrip("\n").split("\t") for line in table]
        line = dict(zip(names, values, strict=True))
        assert line["all_note"] == "a b\udcff" and line["all_host"] == os.uname().nodename, line
        assert len(line) == len(names) and int(line["all_processors"]) > 0, line

        for broken in ("{", "{}", '{"results": [{}]}'):
            with open(os.path.join(work, "broken.json"), "w", encoding="utf-8") as output:
                output.write(broken)
            _, said = bench(work, "--from", "broken.json", status=1)
            assert said.startswith("k2hft bench: broken.json: "), said
            bench(work, "--compare", "a.json", "broken.json", status=1)
        bench(work, "--from", "none.json", status=1)
        _, said = bench(work, "--from", ".", status=1)
        assert "a file that k2hft bench --json has written is needed" in said, said
        # "-" is standard output, with nothing else in it.
        printed, said = bench(work, "--from", "a.json", "--json", "-")
        assert json.loads(printed) and "records/s" in said and not os.path.exists(os.path.join(work, "-")), printed
        # A link stays one, and what is no file is written to as it is: /dev/null would become a file otherwise.
        os.symlink("b.json", os.path.join(work, "link"))
        os.mkfifo(os.path.join(work, "pipe"))
        with subprocess.Popen(["cat", "pipe"], cwd=work, stdout=subprocess.PIPE, text=True) as reader:
            # It is opened once: whoever reads it would take a close before the end for the end.
            bench(work, "--by", "library", "--size", "100", "-n", "3000", "--runs", "1", "--tsv", "pipe", timeout=60)
            assert len(reader.communicate(timeout=60)[0].splitlines()) == 2
        bench(work, "--from", "a.json", "--json", "link")
        assert stat.S_ISFIFO(os.stat(os.path.join(work, "pipe")).st_mode)
        assert os.path.islink(os.path.join(work, "link"))
        # So it is with a link as /dev/stdout is one, of a pipe that has no path.
        os.symlink("/proc/self/fd/1", os.path.join(work, "output"))
        printed, _ = bench(work, "--from", "a.json", "--tsv", "output")
        assert "committed_mb" in printed and os.path.islink(os.path.join(work, "output")), printed
        # And of a file: nothing takes its place, and all of the output is in it, each table once.
        with open(os.path.join(work, "kept"), "w+", encoding="utf-8") as kept:
            done = subprocess.run([K2HFT, "bench", "--by", "library", "--size", "100", "-g", "1,2", "-n", "3000",
                                   "--runs", "1", "--tsv", "output"], stdout=kept, cwd=work, timeout=300, check=False)
            lines = kept.seek(0) or kept.read().splitlines()
        assert done.returncode == 0, done
        assert sum("committed_mb" in line for line in lines) == 1 and sum(line.count("\t") > 9 for line in lines) == 3, lines
        with open(os.path.join(work, "kept"), encoding="utf-8") as kept:
            assert kept.read().splitlines() == lines
        assert sorted(name for name in os.listdir(work) if "kept" in name) == ["kept"]
        assert load(work, "b.json")["results"] == load(work, "a.json")["results"]

        # Said before anything is measured.
        for option in ("--tsv", "--json", "--markdown", "--html"):
            for path in ("none/there", "."):
                printed, said = bench(work, "--by", "library", "--bytes", "1M", option, path, status=1)
                assert said.startswith(f"k2hft bench: {path}: ") and printed == "", (option, printed, said)


main()
