#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints a plain INI configuration (values without quotes, but FORMAT's and FILE_TIMEFORM's) as JSON, which is YAML too."""
import json
import sys

sections, rules = {}, {}
with open(sys.argv[1], encoding="utf-8") as source:
    for line in source:
        line = line.strip()
        if line.startswith("["):
            name, current = line.strip("[]"), {}
            (rules if name.startswith("K2HFTFUSE_RULE") else sections).setdefault(name, []).append(current)
        elif line and line[0] not in "#;":
            key, value = line.split("=", 1)
            current[key.strip()] = value.strip().strip('"')
whole = {name: found if name in ("SVRNODE", "SLVNODE") else found[0] for name, found in sections.items()}
if rules:
    whole["K2HFTFUSE"].update(rules)
print(json.dumps(whole, indent=2 if len(sys.argv) > 2 else None))
