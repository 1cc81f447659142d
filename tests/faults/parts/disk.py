# SPDX-License-Identifier: MIT
"""What a disk can have after a power cut, from the record of tests/faults/recorder.c."""
import os
import struct

SECTOR_BYTES = 512
EVENT = struct.Struct("=IIIIQQQ")
(CREATE, MAKE_DIRECTORY, WRITE, TRUNCATE, ALLOCATE, RENAME, LINK, UNLINK, SYNC_BEGIN, SYNC_END, SYNC_ALL_BEGIN,
 SYNC_ALL_END, SENT, CONNECTED) = range(1, 15)
NAMES = (CREATE, MAKE_DIRECTORY, RENAME, LINK, UNLINK)
CONTENTS = (WRITE, TRUNCATE, ALLOCATE)


class Event:
    def __init__(self, what, path, other, data, inode, offset, number):
        self.what = what
        self.path = path
        self.other = other
        self.data = data
        self.inode = inode
        self.offset = offset
        self.number = number


def events_of(paths):
    """Of several processes, one after the other: each may have been killed in the middle of its last event."""
    events = []
    for process, path in enumerate(paths):
        with open(path, "rb") as file:
            record = file.read()
        at = 0
        while at + EVENT.size <= len(record):
            what, path_bytes, other_bytes, data_bytes, inode, offset, number = EVENT.unpack_from(record, at)
            at += EVENT.size
            if at + path_bytes + other_bytes + data_bytes > len(record):
                break
            parts = []
            for size in (path_bytes, other_bytes, data_bytes):
                parts.append(record[at:at + size])
                at += size
            events.append(Event(what, parts[0].decode(), parts[1].decode(), parts[2], inode, offset,
                                number + (process << 32)))
    return events


def found_in(folder):
    """{path: (inode, contents, or None of a directory)}"""
    found = {}
    for parent, directories, names in os.walk(folder):
        for name in directories + names:
            path = os.path.join(parent, name)
            contents = None
            if name in names:
                with open(path, "rb") as file:
                    contents = file.read()
            found[os.path.relpath(path, folder)] = (os.lstat(path).st_ino, contents)
    return found


class Disk:
    """`names`: {path: inode}, `contents`: {inode: bytes}, after a cut behind the first `count` of `events`. `root`: the
    inode of the directory that was recorded; `before`: what was in it on the disk (found_in).

    What a sync that ended had before it is there. Of the rest: of each file's writes none, all, those up to one, or any,
    and of each that may be torn only some of its sectors; of names those up to one, and of later ones any.
    """

    def __init__(self, events, root, count, random, before):
        self.root = root
        self.events = events[:count]
        self.random = random
        self.before = before
        self.names = {path: inode for path, (inode, _) in before.items()}
        self.contents = {inode: bytearray(contents) for inode, contents in before.values() if contents is not None}
        self.find_synced()
        self.make_names()
        self.make_contents()

    def find_synced(self):
        """{inode: events before this are on the disk}; names are looked up as they were when the sync began."""
        begun = {}
        self.synced = {}
        self.all_synced = 0
        for number, event in enumerate(self.events):
            if event.what in (SYNC_BEGIN, SYNC_ALL_BEGIN):
                begun[event.number] = (number, event.inode)
            elif event.what == SYNC_END and event.number in begun:
                at, inode = begun[event.number]
                self.synced[inode] = max(at, self.synced.get(inode, 0))
            elif event.what == SYNC_ALL_END and event.number in begun:
                self.all_synced = max(self.all_synced, begun[event.number][0])

    def is_synced(self, number, inode):
        return number < max(self.all_synced, self.synced.get(inode, 0))

    def make_names(self):
        """A directory's sync is for the names in it; that of a file does nothing for its own name."""
        directories = {"": self.root, **{path: inode for path, (inode, contents) in self.before.items() if contents is None}}
        live = dict(self.names)
        prefix = self.random.choice([0, len(self.events), self.random.randrange(len(self.events) + 1)])
        later = self.random.choice([0, 0, 0.5])
        for number, event in enumerate(self.events):
            if event.what not in NAMES:
                continue
            changed = event.other or event.path
            parent = directories.get(os.path.dirname(changed))
            if event.what == MAKE_DIRECTORY:
                directories[event.path] = event.inode
            inode = live.get(event.path) if event.what in (RENAME, LINK) else event.inode
            self.name_apply(live, event, inode)
            if self.is_synced(number, parent) or number < prefix or self.random.random() < later:
                self.name_apply(self.names, event, inode)
        for path in list(self.names):
            if any(part not in self.names for part in parents(path)):
                del self.names[path]
        self.directories = {path for path in self.names if path in directories}

    @staticmethod
    def name_apply(names, event, inode):
        if event.what in (CREATE, MAKE_DIRECTORY):
            names[event.path] = inode
        elif event.what in (RENAME, LINK):
            names[event.other] = inode
        if event.what in (RENAME, UNLINK):
            names.pop(event.path, None)

    def make_contents(self):
        pending = {}
        for number, event in enumerate(self.events):
            if event.what == CREATE:
                # The number can be that of a file that is gone.
                self.contents.pop(event.inode, None)
                pending.pop(event.inode, None)
            elif event.what in CONTENTS:
                if self.is_synced(number, event.inode):
                    self.content_apply(event, event.data)
                else:
                    pending.setdefault(event.inode, []).append(event)
        for changes in pending.values():
            self.some_apply(changes)

    def some_apply(self, changes):
        way = self.random.choice(["none", "all", "up to one", "any"])
        last = {"none": 0, "all": len(changes)}.get(way, self.random.randrange(len(changes) + 1))
        for number, event in enumerate(changes):
            # A size is changed in its order.
            if event.what != WRITE or way != "any":
                if number < last or (way == "any" and event.what != WRITE and number < last):
                    self.content_apply(event, event.data)
                elif number == last and event.what == WRITE:
                    self.torn_apply(event)
            elif self.random.random() < 0.5:
                self.content_apply(event, event.data)
            elif self.random.random() < 0.5:
                self.torn_apply(event)

    def torn_apply(self, event):
        """Some sectors; the others stay as they were, zeros if there was nothing."""
        at = 0
        while at < len(event.data):
            end = min(len(event.data), (event.offset + at) // SECTOR_BYTES * SECTOR_BYTES + SECTOR_BYTES - event.offset)
            if self.random.random() < 0.5:
                part = Event(WRITE, "", "", event.data[at:end], event.inode, event.offset + at, 0)
                self.content_apply(part, part.data)
            at = end

    def content_apply(self, event, data):
        content = self.contents.setdefault(event.inode, bytearray())
        if event.what == TRUNCATE:
            del content[event.offset:]
        end = event.offset + len(data)
        if len(content) < end:
            content.extend(bytes(end - len(content)))
        content[event.offset:end] = data


def parents(path):
    at = path.find("/")
    while at >= 0:
        yield path[:at]
        at = path.find("/", at + 1)
