#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# k2hft bench: arguments that are wrong, that contradict each other, or that would have no effect are refused.
import tempfile

from common.bench_run import bench

WRONG = (
    ("--by pigeon", "--by pigeon: the ways are "),
    ("--sink socket", "--sink socket: the sinks are file, exec, relay, kafka, forward and otlp"),
    ("--sink file,kafka", "--sink kafka: --brokers names the brokers"),
    ("--brokers a:1 --sink relay", "--brokers: --sink kafka is needed"),
    ("--sink kafka --brokers a:1 --unify", "--unify --sink kafka: that is about the receiver's files"),
    ("-g 129", "--senders 129: a number from 1 to 128 "),
    ("--size 1", "--size 1: a number from 2 to 1048576 "),
    ("--rules 17", "--rules 17: a number from 1 to 16 "),
    ("--link 0", "--link 0: a number "),
    ("--memory-limit 1", "--memory-limit 1: a size from 64M "),
    ("--sustain 3", "--sustain 3: a number from 4 to 86400 "),  # or a quarter has no second
    ("--ring 2M,512K", "--ring 512K: a number from 1M to 1024M "),
    ("-n 99999999999999999999", "--count 99999999999999999999: a number "),
    ("-n 17179869184G", "--count 17179869184G: a number "),
    ("--rate -1", "--rate -1: a number "),
    ("--bytes 1.5G", "--bytes 1.5G: a number "),
    ("left", "argument left: "),
    ("--from x left", "argument left: "),
    ("--compare one", "--compare one: a second file "),
    ("--compare one two three", "--compare one: a second file "),
    ("-n 1 --bytes 1", "-n, --bytes, --seconds, --sustain, --window: one of them only"),
    ("--sustain 5 -n 1", "-n, --bytes, --seconds, --sustain, --window: one of them only"),
    ("--sustain 5 --rate 3", "--rate --sustain: one of them only"),
    ("--sustain 20 --window 1", "-n, --bytes, --seconds, --sustain, --window: one of them only"),
    ("--warmup 1 --seconds 3", "-n, --bytes, --seconds, --sustain, --window: one of them only"),
    ("--published --brief --window 1", "--brief --window: "),
    ("--drop-caches 3", "--drop-caches: --sustain is needed"),
    ("--drop-caches 5 --sustain 5", "--drop-caches: --sustain is needed"),
    ("--unify --rate 3", "--rate --unify: "),
    ("--input /etc/passwd --size 3", "--size --input: "),
    ("--level synced --by mount", "--level synced: a mount "),
    ("--rules 3 --by library", "--rules library: "),
    ("--resume", "--resume: --json names "),
    ("--resume --json -", "--resume: --json names "),
    ("--tsv - --html -", "--tsv, --json, --markdown, --html -: standard output takes one of them"),
    ("--from x --json - --markdown -", "--tsv, --json, --markdown, --html -: standard output takes one of them"),
    ("--sink file,otlp --rate 3", "--rate --sink otlp: that is about the receiver's files"),
    ("--all --ring 1M,2M", "--all --ring: with one size only"),
)
AGAIN = ("--by push --by library", "--size 10 --size 20", "-g 1 -g 2", "-c 1 --per-write 2", "--sink file --sink exec", "--ring 2M --ring 4M",
         "-r a -r b")
# Options that another receiver has its own of, or whose effect it does not show.
ELSEWHERE = ("--rate 1", "--sustain 5", "--window 1", "--format json", "--unify", "--sink exec", "--tls", "--link 3",
             "--by record")
# Options without an effect there: the job decides it itself, or measures nothing.
PRESET = ("--receiver a", "--by push", "--size 10", "--senders 3", "--writers 3", "--per-write 3", "--count 3",
          "--bytes 3", "--seconds 3", "--rate 3", "--format json", "--unify", "--sink exec", "--rules 3",
          "--compress never", "--level synced", "--tls", "--psk x", "--link 3")
WINDOWS = ("--warmup 3", "--window 3", "--drop-caches 3")
MEASURED = ("--runs 3", "--ring 1M", "--note x", "--resume", "--all", "--seed-table", "--brief")
FILES = ("--tsv x", "--json x", "--markdown x", "--html x")
WITHOUT_EFFECT = (
    ("--all", (*PRESET, *WINDOWS, "--seed-table", "--published")),
    ("--seed-table", (*PRESET, "--input x", "--sustain 5", "--memory-limit 1G")),
    ("--from x", (*PRESET, *WINDOWS, *MEASURED, "--input x", "--sustain 5", "--memory-limit 1G")),
    ("--compare a b", (*PRESET, *MEASURED, *FILES, "--from x")),
    ("--repeat x", (*(option for option in PRESET if option.split()[0] not in ("--receiver", "--psk")), *WINDOWS, "--ring 1M",
                    "--resume", "--brief", "--sustain 5", "--memory-limit 1G")),
    ("", ("--brief",)),
    ("--by record,idle", ("--senders 3", "--per-write 3", "--count 3", "--bytes 3", "--rate 3",
                          "--format json", "--unify", "--sink exec")),
    ("--by record", ("--seconds 3",)),
    ("--by idle", ("--size 10", "--input x", "--rules 3", "--compress never", "--link 3")),
)


def main():
    with tempfile.TemporaryDirectory() as work:
        def refuse(arguments, why):
            printed, said = bench(work, *arguments.split(), status=2)
            assert printed == "" and said.startswith("k2hft bench: ") and why in said, (arguments, printed, said)

        for arguments, why in WRONG:
            refuse(arguments, f"k2hft bench: {why}")
        for option in ("--input", "--psk", "--tsv", "--json", "--markdown", "--html", "--from", "--repeat", "--compare"):
            printed, said = bench(work, option, "", status=2)
            assert (printed, said) == ("", f"k2hft bench: {option}: the name of a file is needed\n"), (printed, said)
        for arguments in AGAIN:
            refuse(arguments, "given before")
        for arguments in ELSEWHERE:
            refuse(f"-r localhost {arguments}", "with -r" if arguments != "--by record" else "not with -r")
        for arguments, options in WITHOUT_EFFECT:
            for option in options:
                refuse(f"{arguments} {option}", f"{option.split()[0]} with")
        refuse("--note x --by library", "--note: ")
        # --resume would not find the same in a list that was cut.
        refuse(f"--by library --tsv x --note {'x' * 254}é", "--note: ")


main()
