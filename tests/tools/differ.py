#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""differ.py MOUNTED OTHER SEED STEPS ACCEPTED: the same random calls to two empty directories.

What differs, results, errors, attributes, is printed, and the exit status 1. The lines that were written go to ACCEPTED,
as they were accepted. Names of files are a to c, those of directories x to z, so no stream stands in another's way.
"""
import errno
import os
import random
import stat
import sys

LONG_AGO_S = 1_000_000_000
MODES = (0o666, 0o644, 0o600, 0o400, 0o4755, 0o755)
ACCESS = (os.O_RDONLY, os.O_WRONLY, os.O_WRONLY, os.O_WRONLY, os.O_RDWR)
FLAGS = ((os.O_CREAT, .6), (os.O_APPEND, .5), (os.O_TRUNC, .2), (os.O_EXCL, .1), (os.O_DIRECTORY, .03), (os.O_NOFOLLOW, .1))


class Side:
    def __init__(self, base):
        self.base = base
        self.open = {}

    def at(self, path):
        return os.path.join(self.base, path)

    def do_open(self, slot, path, flags, mode):
        self.do_close(slot)
        self.open[slot] = os.open(self.at(path), flags, mode)

    def do_close(self, slot):
        if slot in self.open:
            os.close(self.open.pop(slot))

    def do_dup(self, slot, other):
        if slot != other and slot in self.open:
            self.do_close(other)
            self.open[other] = os.dup(self.open[slot])

    def do_write(self, slot, line):
        return os.write(self.open[slot], line)

    def do_pwrite(self, slot, line, offset):
        return os.pwrite(self.open[slot], line, offset)

    def do_writev(self, slot, line):
        return os.writev(self.open[slot], [line[:3], line[3:]])

    def do_seek(self, slot, offset, whence):
        if not stat.S_ISDIR(os.fstat(self.open[slot]).st_mode):
            return os.lseek(self.open[slot], offset, whence)
        return None

    def do_fstat(self, slot):
        return self.attributes(os.fstat(self.open[slot]))

    def do_ftruncate(self, slot, size):
        os.ftruncate(self.open[slot], size)

    def do_allocate(self, slot, offset, size):
        os.posix_fallocate(self.open[slot], offset, size)

    def do_truncate(self, path, size):
        os.truncate(self.at(path), size)

    def do_stat(self, path):
        return self.attributes(os.lstat(self.at(path)))

    def do_list(self, path):
        return sorted(os.listdir(self.at(path)))

    def do_link(self, path, other):
        os.link(self.at(path), self.at(other))

    def do_rename(self, path, other):
        os.rename(self.at(path), self.at(other))

    def do_unlink(self, path):
        os.unlink(self.at(path))

    def do_mkdir(self, path, mode):
        os.mkdir(self.at(path), mode)

    def do_rmdir(self, path):
        os.rmdir(self.at(path))

    def do_chmod(self, path, mode):
        os.chmod(self.at(path), mode)

    def do_utime(self, path, seconds):
        os.utime(self.at(path), (seconds, seconds))

    @staticmethod
    def attributes(info):
        """Times of files are the kernel's where it caches them, see k2hftfuse(8); links of directories vary elsewhere."""
        if stat.S_ISDIR(info.st_mode):
            return oct(info.st_mode), info.st_mtime if info.st_mtime < LONG_AGO_S + 1000 else "now"
        return oct(info.st_mode), info.st_nlink, info.st_size

    def call(self, name, arguments):
        try:
            return getattr(self, f"do_{name}")(*arguments)
        except OSError as error:
            return errno.errorcode[error.errno]
        except KeyError:
            return "not open"


def chosen(choice, number):
    """The next call: its name and its arguments."""
    directory = "".join(choice.choice("xyz") + "/" for _ in range(choice.choice((0, 0, 0, 1, 1, 2))))
    slot = choice.randrange(6)

    def file():
        return choice.choice((directory, directory, "", "x/")) + choice.choice("aabbc")

    def folder():
        return choice.choice((directory, "", "")) + choice.choice("xyz")

    def either():
        return choice.choice((file, folder))()

    def line():
        return f"line {number} {'.' * choice.choice((0, 9, 50, 4085, 4096, 9000))}\n".encode()

    def flags():
        return choice.choice(ACCESS) | sum(flag for flag, chance in FLAGS if choice.random() < chance)

    calls = (
        (20, lambda: ("open", slot, file(), flags(), choice.choice(MODES))),
        (1, lambda: ("open", slot, either(), flags() & ~os.O_CREAT, 0)),
        (5, lambda: ("close", slot)), (2, lambda: ("dup", slot, choice.randrange(6))),
        (15, lambda: ("write", slot, line())), (3, lambda: ("writev", slot, line())),
        (5, lambda: ("pwrite", slot, line(), choice.choice((0, 1, 4095, 70000)))),
        (3, lambda: ("seek", slot, choice.choice((0, 5, 5000, -1)), choice.randrange(3))),
        (4, lambda: ("ftruncate", slot, choice.choice((0, 0, 1, 4096, 10000, -1)))),
        (2, lambda: ("truncate", either(), choice.choice((0, 1, 5000)))),
        (2, lambda: ("allocate", slot, choice.choice((0, 100)), choice.choice((1, 5000, 0)))),
        (5, lambda: ("fstat", slot)), (5, lambda: ("stat", either())), (2, lambda: ("stat", file() + "/a")),
        (3, lambda: ("list", either())), (6, lambda: ("link", either(), file())),
        (4, lambda: ("rename", file(), file())), (3, lambda: ("rename", folder(), folder())),
        (4, lambda: ("unlink", either())), (5, lambda: ("mkdir", folder(), choice.choice((0o755, 0o700, 0o1777)))),
        (2, lambda: ("rmdir", either())), (3, lambda: ("chmod", file(), choice.choice(MODES))),
        (3, lambda: ("utime", either(), LONG_AGO_S + number % 1000)),
    )
    return choice.choices([call for _, call in calls], [weight for weight, _ in calls])[0]()


def everything(side, path=""):
    """Attributes of all that is there."""
    seen = {path: side.do_stat(path)}
    for name in side.do_list(path):
        below = os.path.join(path, name)
        seen[below] = side.do_stat(below)
        if name in "xyz":
            seen.update(everything(side, below))
    return seen


def main():
    mounted, other = Side(sys.argv[1]), Side(sys.argv[2])
    choice = random.Random(int(sys.argv[3]))
    with open(sys.argv[5], "wb") as accepted:
        for number in range(int(sys.argv[4])):
            name, *arguments = chosen(choice, number)
            result, expected = mounted.call(name, arguments), other.call(name, arguments)
            if result != expected:
                sys.exit(f"call {number}, {name} {arguments}: {result} and not {expected}")
            if name in ("write", "writev", "pwrite") and isinstance(result, int):
                accepted.write(arguments[1])
            if number % 200 == 0:
                mounted.seen, other.seen = everything(mounted), everything(other)
                for path in mounted.seen.keys() | other.seen.keys():
                    if path and mounted.seen.get(path) != other.seen.get(path):
                        sys.exit(f"call {number}, {path}: {mounted.seen.get(path)} and not {other.seen.get(path)}")


main()
