#!/bin/sh
# SPDX-License-Identifier: MIT
# k2hft verify reports for people, for scripts and in JSON; quietly if that is wanted.
# shellcheck source=tests/tools/verify.inc
. tests/tools/verify.inc
file="$dir/a \"b\" c"
make_records --producers 2 --shared --size 100 -n 50 "$file"
sed -i '1d;9s/^/x/;20{p};$s/^.../~k3/' "$file"
echo 'something else' >>"$file"
reads 3 "$file"
cp "$dir/said" "$dir/human"
reads 3 --table "$file"
cp "$dir/said" "$dir/table"
reads 3 --json "$file"
python3 - "$dir" <<'END' || fail "see above"
import json, sys
folder = sys.argv[1]
report = json.load(open(folder + "/said"))
rows = [line.rstrip("\n").split("\t") for line in open(folder + "/table")]
names, total = rows[0], dict(zip(rows[0], rows[-1]))
assert names == "run producer records bytes first last missing repeated late extra damaged foreign".split(), names
assert total["run"] == "total" and int(total["producer"]) == len(rows) - 2 == len(report["producers"]) == 2, total
for row, producer in zip(rows[1:], report["producers"]):
    row = dict(zip(names, row))
    for name in names[:10]:
        assert str(producer[name]) == row[name], (producer, row)
for name in ("records", "missing", "repeated", "late", "extra", "damaged", "foreign"):
    assert str(report[name]) == total[name], (name, report, total)
assert report["fine"] is False and report["files"] == [folder + '/a "b" c'], report
assert report["damaged"] == 2 and report["foreign"] == 1 and report["repeated"] == 1, report
assert report["lines"]["behind"] == 1 and report["lines"]["marker"] == 1, report
kinds = {finding["kind"] for finding in report["findings"]}
assert kinds == {"behind", "marker", "repeated"}, kinds
human = open(folder + "/human").read()
assert f'{report["missing"]} missing, 1 repeated, 0 out of order, 2 damaged lines, 1 foreign' in human, human
END
make_records --json -n 5 "$dir/b"
python3 -c 'import json, sys; made = json.load(sys.stdin); assert made["producers"][0]["last"] == 5, made' <"$dir/said" ||
	fail "what --make prints is not what it should be"
make_records --table -n 5 "$dir/b"
[ "$(tail -n 1 "$dir/said" | cut -f 2-)" = "1	1	5	5	500" ] || fail "the table that --make prints"
make_records -q -n 5 "$dir/b"
[ ! -s "$dir/said" ] || fail "--make -q and something to say"
make_records -q --json -n 5 "$dir/b"
grep -q '^{"run":' "$dir/said" || fail "--make -q --json says nothing"
make_records -q -n 5 "$dir/b"
reads 0 -q "$dir/b"
[ ! -s "$dir/said" ] || fail "-q and something to say"
reads 3 -q --expect-all 6 "$dir/b"
says 'record 6 missing$'
[ "$(wc -l <"$dir/said")" = 1 ] || fail "-q says more than what is wrong"
"$k2hft" verify "$dir/b" >/dev/full 2>"$dir/said" && fail "standard output is full, and nothing said"
says 'standard output'
