#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a site of the manual: a page for each of man/man?, an index, and a search that runs in the browser.

    man/website.py FOLDER"""
import concurrent.futures
import glob
import html
import json
import os
import re
import subprocess
import sys

SECTIONS = {"1": "Commands", "8": "Daemons", "5": "Configuration", "7": "Overview and background", "3": "Library"}
STYLE = """:root { color-scheme: light dark; --line: #8884; --link: #06c; }
@media (prefers-color-scheme: dark) { :root { --link: #7bf; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 0 auto; padding: 0 1rem 4rem; overflow-wrap: break-word; }
a { color: var(--link); text-decoration: none; } a:hover { text-decoration: underline; }
a.permalink { color: inherit; }
pre { background: #8881; border-radius: 4px; padding: .6rem .8rem; overflow-x: auto; font-size: 14px; line-height: 1.35; }
h1 { font-size: 1.25rem; border-bottom: 1px solid var(--line); margin-top: 2rem; } h2 { font-size: 1.05rem; }
table.head, table.foot { display: none; }
dt { margin-top: .6rem; } dd { margin-left: 1.6rem; }
nav { display: flex; gap: 1rem; padding: .8rem 0; border-bottom: 1px solid var(--line); align-items: center; }
nav input { flex: 1; font: inherit; padding: .3rem .6rem; border: 1px solid var(--line); border-radius: 4px; background: inherit; color: inherit; }
#found { padding-left: 1.2rem; } #found:empty { display: none; } #found small { opacity: .75; display: block; }
"""
# A section counts by how often it has the words, ten times as much where they stand in its title, and more if all of them do.
SCRIPT = """"use strict";
const box = document.querySelector("nav input"), found = document.getElementById("found");
function search() {
	const words = box.value.toLowerCase().split(/\\s+/).filter(word => word.length > 1);
	found.replaceChildren();
	if (!words.length)
		return;
	const count = (text, word) => text.toLowerCase().split(word).length - 1;
	const scored = INDEX.map(entry => [entry, words.map(word =>
		10 * count(entry.page + " " + entry.title, word) + count(entry.text, word))]);
	const hits = scored.filter(([, counts]) => counts.every(n => n)).map(([entry, counts]) =>
		[entry, counts.reduce((a, b) => a + Math.min(b, 30), 100 * count(entry.title, words.join(" ")))]).sort((a, b) => b[1] - a[1]);
	for (const [entry] of hits.slice(0, 20)) {
		const item = document.createElement("li"), link = document.createElement("a"), part = document.createElement("small");
		link.href = entry.link;
		link.textContent = entry.page + ": " + entry.title;
		const at = Math.max(0, entry.text.toLowerCase().indexOf(words[0]) - 60);
		part.textContent = entry.text.slice(at, at + 160);
		item.append(link, part);
		found.append(item);
	}
}
box.addEventListener("input", search);
search();
"""
FRAME = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="stylesheet" href="style.css">
</head>
<body>
<nav><a href="index.html">k2hft</a><input type="search" placeholder="Search the manual" aria-label="Search the manual"></nav>
<ol id="found"></ol>
{body}
<script src="index.js"></script>
<script src="search.js"></script>
</body>
</html>
"""


def rendered(path):
    """As mandoc has it, without the frame."""
    done = subprocess.run(["mandoc", "-Thtml", "-Ofragment", path], cwd="man", capture_output=True, check=True, encoding="utf-8")
    return done.stdout


def linked(body, names):
    """References to pages that are here lead there."""
    def link(found):
        name, section = html.unescape(found.group(1)), found.group(2)
        if f"{name}.{section}" not in names:
            return found.group(0)
        return f'<a href="{name}.{section}.html"><b>{found.group(1)}</b>({section})</a>'

    # A term is a link to itself, and no link stands in another.
    body = re.sub(r'<dt id="([^"]*)"><a class="permalink" href="[^"]*">((?:(?!</a>).)*<b>[^<]*</b>\(\d\)(?:(?!</a>).)*)</a>',
                  r'<dt id="\1">\2', body)
    return re.sub(r"<b>([\w.+-]+)</b>\((\d)\)", link, body)


def text_of(part):
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", "", part))).strip()


def entries(name, body):
    """What the search finds: sections, and the terms in them."""
    page = f"{name[:-2]}({name[-1]})"
    parts = re.split(r'(?=<h[12] class="S[hs]" id=|<dt id=)', body)
    for part in parts[1:]:
        anchor = re.search(r'id="([^"]*)"', part).group(1)
        title = re.match(r"<h[12][^>]*>(.*?)</h[12]>|<dt[^>]*>(.*?)</dt>", part, re.S)
        text = text_of(part[title.end():]) if title else text_of(part)
        yield {"page": page, "title": text_of(title.group(0)) if title else "", "link": f"{name}.html#{anchor}", "text": text}


def description(body):
    found = re.search(r'id="NAME".*?</h1>\s*<p[^>]*>(.*?)</p>', body, re.S)
    return text_of(found.group(1)).split(" - ", 1)[1] if found and " - " in text_of(found.group(1)) else ""


def index_of(pages):
    body = "<h1>Manual of k2hft</h1>\n<p>Begin with <a href=\"k2hft-tutorial.7.html\">k2hft-tutorial(7)</a>; " \
           "<a href=\"k2hft.7.html\">k2hft(7)</a> says where everything is.</p>\n"
    for section, title in SECTIONS.items():
        body += f"<h1>{title}</h1>\n<dl>\n"
        for name, page in sorted(pages.items()):
            if name.endswith("." + section):
                body += f'<dt><a href="{name}.html">{name[:-2]}({section})</a></dt><dd>{html.escape(description(page))}</dd>\n'
        body += "</dl>\n"
    return body


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    paths = sorted(glob.glob("man?/*", root_dir="man"))
    with concurrent.futures.ThreadPoolExecutor() as pool:
        bodies = dict(zip((os.path.basename(path) for path in paths), pool.map(rendered, paths)))
    pages = {name: linked(body, bodies) for name, body in bodies.items()}
    files = {f"{name}.html": FRAME.format(title=f"{name[:-2]}({name[-1]})", body=body) for name, body in pages.items()}
    files["index.html"] = FRAME.format(title="Manual of k2hft", body=index_of(pages))
    # Functions that share a page would be found once for each of them.
    index = {json.dumps([entry["title"], entry["text"]]): entry for name, body in pages.items() for entry in entries(name, body)}
    files["index.js"] = "const INDEX = " + json.dumps(list(index.values()), ensure_ascii=False, separators=(",", ":\n")) + ";\n"
    files["style.css"], files["search.js"] = STYLE, SCRIPT
    for name, text in files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)


main()
