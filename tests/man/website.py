#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The site that make html makes has each page, in the index, too; all its links lead somewhere, nothing comes from elsewhere, and
its search knows keys, counters and words. Where node is there, the search itself runs."""
import glob
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.sources = set(), [], []
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if "id" in attributes:
            self.ids.add(attributes["id"])
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
        self.sources += [attributes[name] for name in ("src", "href") if name in attributes and tag != "a"]


# Enough of a browser for the search: what it finds, in order.
BROWSER = """
const box = {value: "", addEventListener(_, search) { this.search = search; }};
const element = () => ({children: [], append(...all) { this.children.push(...all); }, replaceChildren() { this.children = []; }});
const list = element();
globalThis.document = {querySelector: () => box, getElementById: () => list, createElement: element};
(0, eval)(SOURCE.replace("const INDEX", "globalThis.INDEX"));
console.log(JSON.stringify(WORDS.map(words => {
	box.value = words;
	box.search();
	return list.children.map(item => item.children[0].textContent);
})));
"""


def searched(folder, words):
    sources = ""
    for name in ("index.js", "search.js"):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            sources += file.read()
    script = f"const WORDS = {json.dumps(words)}, SOURCE = {json.dumps(sources)};\n" + BROWSER
    done = subprocess.run(["node", "-"], input=script, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def check_links(folder, pages):
    wrong = 0
    for name, page in pages.items():
        for link in page.links + page.sources:
            target, _, anchor = link.partition("#")
            if re.match(r"https?:", link) and link in page.links:
                continue
            if not os.path.exists(os.path.join(folder, target or name)):
                wrong = print(f"{name}: {link} leads nowhere") or wrong + 1
            elif anchor and anchor not in pages[target or name].ids:
                wrong = print(f"{name}: {link}: no such place") or wrong + 1
    for path in glob.glob("man/man?/*"):
        if os.path.basename(path) + ".html" not in pages["index.html"].links:
            wrong = print(f"index.html: {path} is missing") or wrong + 1
    return wrong


SEARCHES = {"RINGSIZE": "k2hft.conf(5): RINGSIZE", "full disk": "k2hft(7): Handle a full disk",
            "second receiver": "k2hft(7): a second receiver", "from rsyslog": "k2hft-migration(7): FROM RSYSLOG",
            "not arrived": "k2hft(7): a line that has not arrived"}


def main():
    if not shutil.which("mandoc"):
        print("SKIP: no mandoc")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["man/website.py", folder], check=True)
        pages = {os.path.basename(path): Page(path) for path in glob.glob(f"{folder}/*.html")}
        wrong = check_links(folder, pages)
        if sum(len(page.links) for page in pages.values()) < 1000:
            wrong = print("hardly any links") or wrong + 1
        if shutil.which("node"):
            for words, titles in zip(SEARCHES, searched(folder, list(SEARCHES))):
                if not any(SEARCHES[words] in title for title in titles[:5]):
                    wrong = print(f"a search for {words} finds {titles}") or wrong + 1
    return 1 if wrong else 0


sys.exit(main())
