#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps the demo's output in the README true: readme.py prints it as the README shows it, readme.py --write puts it there."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACE = re.compile(r"(<!-- demo -->\n```\n).*?(```\n<!-- /demo -->)", re.S)


def shown(text):
    """What differs from machine to machine, made the same: times, and where the demo ran."""
    text = re.sub(r"\d+\.\d\d s", "0.02 s", text)
    return re.sub(r"/\S*/state/state", "/tmp/demo/state/state", text)


def main():
    demo = shown(subprocess.run([ROOT / "e2e/examples/demo"], check=True, capture_output=True, text=True).stdout)
    readme = ROOT / "README.md"
    if "--write" in sys.argv:
        readme.write_text(PLACE.sub(lambda match: match.group(1) + demo + match.group(2), readme.read_text()))
    else:
        print(demo, end="")


if __name__ == "__main__":
    main()
