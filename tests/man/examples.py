#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The C in the pages and in README.md compiles, and the C++ where there is a compiler: whole programs as they are, fragments in
# a function that has the headers before it.
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

ESCAPES = {r"\e": "\\", r"\-": "-", r"\(aq": "'", r"\(dq": '"', r"\(rs": "\\", r"\(ha": "^", r"\(ti": "~", r"\&": "",
           r"\[rs]": "\\", r"\[aq]": "'", r"\[dq]": '"', r"\(bs": "\\", r"\\": "\\", r"\(ga": "`", r"\[ha]": "^"}
FRAGMENT = ("#include <errno.h>\n#include <poll.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
            "#include <time.h>\n#include <unistd.h>\n#include <k2hft/k2hft.h>\n#include <k2hft/config.h>\nint example(void);\n"
            "int example(void)\n{\n%s\nreturn 0;\n}\n")


def blocks(path):
    """(line, text) of each .EX block of C, escapes resolved: in section 3 those of EXAMPLES, elsewhere whole programs."""
    section, begin, lines = "", None, []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.startswith(".SH"):
                section = line[3:].strip().strip('"')
            elif line.startswith(".EX"):
                begin, lines = number, []
            elif line.startswith(".EE") and begin:
                text = re.sub(r"\\(?:\(..|\[\w+\]|f\[\w*\]|f.|.)",
                              lambda m: "" if m.group(0)[1] == "f" else ESCAPES.get(m.group(0), m.group(0)), "".join(lines))
                program = re.search(r"^#include", text, re.M)
                shell = re.match(r"\s*(\$|# |cc |make |k2hft)", text)
                if program or (path.startswith("man/man3/") and section.startswith("EXAMPLE") and not shell):
                    yield begin, text if program else FRAGMENT % text
                begin = None
            elif begin:
                lines.append(line)


def readme_blocks(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for match in re.finditer(r"^```c\n(.*?)^```", text, re.M | re.S):
        yield text.count("\n", 0, match.start()) + 1, match.group(1)


def main():
    failed = count = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(glob.glob("man/man?/*")) + ["README.md"]:
            for line, text in readme_blocks(path) if path == "README.md" else blocks(path):
                plus = ".hpp>" in text
                compiler = os.environ.get("CXX", "c++") if plus else os.environ.get("CC", "cc")
                if plus and not shutil.which(compiler):
                    continue
                source = os.path.join(folder, f"{os.path.basename(path)}.{line}.{'cc' if plus else 'c'}")
                with open(source, "w", encoding="utf-8") as file:
                    file.write(text)
                count += 1
                command = [compiler, "-std=c++17" if plus else "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror",
                           "-Iinclude", "-fsyntax-only", source]
                if subprocess.run(command, check=False).returncode:
                    print(f"{path}:{line}: does not compile")
                    failed += 1
    print(f"{count} examples")
    sys.exit(1 if failed or not count else 0)


main()
