#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tests/lint/arrows.txt says which folder uses which. The includes and, in the object files of $B/obj, the calls keep to
# it; no files include or call each other in a circle; a program takes of libk2hft.so only names that it exports; and the
# header of a foreign library has one owner. Calls are looked at, too, since they make circles where includes don't.
import os
import re
import subprocess
from collections import deque

from common import code_of, finish, sources, text_of

TABLE = "tests/lint/arrows.txt"
FOLDERS = ("include", "lib", "fuse", "receiver", "tools")
PUBLIC = "include/k2hft"
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
OWNERS = (
    (r"xxhash\.h", r"lib/base/hash_xxh3\.h"),
    (r"lz4\w*\.h", r"lib/frame/lz4\.c"),
    (r"openssl/.*", r"lib/net/tls/\w+\.[ch]|receiver/sink/forward/(greeting|message)\.c"),
    (r"z(lib|std)\.h", r"receiver/sink/rotation/pack\.c|receiver/sink/forward/message\.c|receiver/sink/otlp/request\.c"),
    (r"curl/.*", r"receiver/sink/otlp/(headers|peer)\.c"),
    (r"librdkafka/.*", r"receiver/sink/kafka/internal\.h"),
    (r"ini\.h", r"lib/config/ini\.c"),
    (r"pcre2\w*\.h", r"lib/app/rules/pattern\.c"),
    (r"yaml\.h", r"lib/config/.*"),
    (r"fuse\w*\.h|fuse3/.*", r"fuse/.*"),
    (r"event\w*\.h|event2/.*", r"(receiver|tools/serve)/.*"),
    (r"stdatomic\.h|linux/futex\.h|threads\.h", r".*"),
)


def in_library(path):
    """Whether a file becomes part of libk2hft.so, which sees its own hidden names."""
    return path.startswith("lib/") and not path.startswith(("lib/config/", "lib/app/"))


class Table:
    """Per folder its faces and the folders that it uses; `findings`: lines that are not right in themselves."""

    def __init__(self, text):
        self.faces, self.uses, self.public, self.findings = {}, {}, {}, []
        self.used_faces, self.used_arrows = set(), set()
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip() and not line.startswith("#"):
                self.add(number, *(part.split() for part in line.split("|")))
        for folder, used in self.uses.items():
            order = list(self.uses)
            self.findings += [f"{TABLE}: {folder} uses {name}, which is no folder of a line below" for name in used
                              if name not in order or order.index(name) <= order.index(folder)]

    def add(self, number, folder, faces, uses):
        name = folder[0] if folder else list(self.uses)[-1]  # a line without a folder goes on with the one before
        if folder and (name in self.uses or not os.path.exists(name)):
            self.findings.append(f"{TABLE}:{number}: {name} is there twice, or not in the tree")
        self.faces.setdefault(name, []).extend(faces)
        self.uses.setdefault(name, []).extend(uses)
        self.public.update({os.path.join("include", face[1:-1]): name for face in faces if face[0] == "<"})

    def folder_of(self, path, user=None):
        """The line that a file belongs to; the library's own files see whose each public header is."""
        if path.startswith(PUBLIC) and (user is None or in_library(user) or
                                        user.startswith(PUBLIC) and self.public.get(user) != "lib/config"):
            return self.public.get(path, PUBLIC)
        return path if path in self.uses else os.path.dirname(path)

    def check_arrow(self, place, user, verb, what, target):
        if user == target:
            return []
        self.used_arrows.add((user, target))
        return [] if target in self.uses.get(user, ()) else [f"{place}: {verb} {what}: {user} does not use {target}"]

    def check_face(self, place, path, folder):
        face = f"<{os.path.relpath(path, 'include')}>" if path.startswith(PUBLIC) else os.path.relpath(path, folder)
        self.used_faces.add((folder, face))
        return [] if face in self.faces.get(folder, ()) else [f"{place}: {path} is private to {folder}"]

    def unused(self):
        arrows = [f"{TABLE}: nothing of {folder} uses {target}" for folder, targets in self.uses.items()
                  for target in targets if (folder, target) not in self.used_arrows]
        faces = [f"{TABLE}: nobody else includes {face} of {folder}" for folder, names in self.faces.items()
                 for face in names if face[0] != "<" and (folder, face) not in self.used_faces]
        return arrows + faces


def resolve(includer, form, name):
    """The project's file that an include names, or None for one of the system's."""
    roots = ("include",) if form == "<" else ("lib", ".", os.path.dirname(includer))
    found = [os.path.normpath(os.path.join(root, name)) for root in roots if os.path.exists(os.path.join(root, name))]
    return found[0] if found else None


def check_include(table, path, line, form, name):
    """Findings, and the file that is included or None."""
    place, target = f"{path}:{line}", resolve(path, form, name)
    if target is None:
        return [f"{place}: <{name}> belongs to {owner}" for pattern, owner in OWNERS
                if re.fullmatch(pattern, name) and not re.fullmatch(owner, path)], None
    user, folder = table.folder_of(path), table.folder_of(target, path)
    findings = table.check_arrow(place, user, "includes", target, folder)
    if form == '"' and "/" not in name:
        findings.append(f"{place}: \"{name}\" is not written from the root of lib or of the repository")
    if not findings and user != folder and folder != PUBLIC and target not in table.uses:
        findings = table.check_face(place, target, folder)
    return findings, target


def check_includes(table):
    findings, graph = [], {}
    for path in sources(".c", ".h", ".def", folders=FOLDERS):
        code, graph[path] = code_of(path, strings=True), {}
        if table.folder_of(path) not in table.uses:
            findings.append(f"{path}: {TABLE} does not have its folder")
        for match in INCLUDE.finditer(code):
            line = code.count("\n", 0, match.start()) + 1
            found, target = check_include(table, path, line, match.group(1), match.group(2))
            findings += found
            if target:
                graph[path][target] = ""
    return findings + circles(graph, "includes")


def symbols(build):
    """Per source file the names that its object file needs, and per name the source files that define it."""
    objects = {os.path.join(build, "obj", path[:-1] + "o"): path for path in sources(".c", folders=FOLDERS)}
    missing = [f"{path}: {name} is missing: make all" for name, path in objects.items() if not os.path.exists(name)]
    needs, owners = {path: set() for path in objects.values()}, {}
    if missing:
        return missing, needs, owners
    lines = subprocess.run([os.environ.get("NM", "nm"), "-A", "-P", *objects], stdout=subprocess.PIPE, text=True,
                           check=True).stdout
    for where, name, kind, *_ in (line.split() for line in lines.splitlines()):
        path = objects[where.rstrip(":")]
        if kind in "Uwv":
            needs[path].add(name)
        elif kind in "TDBRCGSVW":
            owners.setdefault(name, []).append(path)
    return missing, needs, owners


def owner_of(owners, name, user):
    """The source file that a name leads to: a program's own, else lib's; never another program's."""
    top = user.split("/")[0]
    own = [path for path in owners.get(name, ()) if path.split("/")[0] == top]
    return (own or [path for path in owners.get(name, ()) if path.startswith("lib/")] or [None])[0]


def check_calls(table, build):
    findings, needs, owners = symbols(build)
    exported = set(re.findall(r"^\t(\w+);", text_of("lib/k2hft.map"), re.M))
    graph = {path: {} for path in needs}
    for user in needs:
        for name in sorted(needs[user]):
            owner = owner_of(owners, name, user)
            if name in exported and not in_library(user):
                findings += table.check_arrow(user, table.folder_of(user), "calls", name, PUBLIC)
            elif owner is None:
                if name.startswith(("k2hft_", "k2i_")):
                    findings.append(f"{user}: calls {name}, which nothing that is linked with it defines")
            elif owner != user:
                graph[user][owner] = name
                findings += table.check_arrow(user, table.folder_of(user), "calls", f"{name} of {owner}",
                                              table.folder_of(owner))
    findings += [f"{' and '.join(paths)}: both define {name}" for name, paths in sorted(owners.items())
                 if len(paths) > 1 and name not in ("main", "k2i_sink_module")]
    return findings + circles(graph, "calls")


def components(graph):
    """Sets of files that reach each other, by Tarjan's algorithm without recursion."""
    index, low, path, on_path = {}, {}, [], set()
    for root in graph:
        work = [(root, iter(graph[root]))] if root not in index else []
        while work:
            node, rest = work[-1]
            if node not in index:
                index[node] = low[node] = len(index)
                path.append(node)
                on_path.add(node)
            for other in rest:
                if other not in index:
                    work.append((other, iter(graph.get(other, ()))))
                    break
                if other in on_path:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    found = set(path[path.index(node):])
                    del path[path.index(node):]
                    on_path -= found
                    yield found


def way_round(graph, found):
    """A shortest way from one of these files through others back to itself."""
    best = None
    for start in sorted(found):
        before, queue = {}, deque([start])
        while queue and start not in before:
            node = queue.popleft()
            for other in sorted(set(graph[node]) & found):
                if other not in before:
                    before[other] = node
                    queue.append(other)
        way = [start]
        while len(way) == 1 or way[-1] != start:
            way.append(before[way[-1]])
        best = way[::-1] if best is None or len(way) < len(best) else best
    return best


def circles(graph, verb):
    findings = []
    for found in components(graph):
        if len(found) > 1 or found <= set(graph.get(min(found), ())):
            way = way_round(graph, found)
            steps = (f" {verb} {' of '.join(filter(None, (graph[a][b], b)))}" for a, b in zip(way, way[1:]))
            findings.append(f"a circle of {len(found)} files: {way[0]}{', which'.join(steps)}")
    return findings


def main():
    table = Table(text_of(TABLE))
    findings = table.findings + check_includes(table) + check_calls(table, os.environ.get("B", "build"))
    finish(findings or table.unused())


main()
