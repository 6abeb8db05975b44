#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the output of the demo as the README shows it; with --write, updates the README."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACE = re.compile(r"(<!-- demo -->\n```\n).*?(```\n<!-- /demo -->)", re.S)


def shown(text):
    """Replaces what differs from run to run by placeholders: durations by x.xx, the home directory by $HOME."""
    text = re.sub(r"^(\w+) +\d+\.\d\d s", lambda match: f"{match.group(1):8} {'x.xx':>6} s", text, flags=re.M)
    return re.sub(r"/\S*(?=/\.local/state/)", "$HOME", text)


def main():
    demo = shown(subprocess.run([ROOT / "e2e/examples/demo"], check=True, capture_output=True, text=True).stdout)
    readme = ROOT / "README.md"
    if "--write" in sys.argv:
        readme.write_text(PLACE.sub(lambda match: match.group(1) + demo + match.group(2), readme.read_text()))
    else:
        print(demo, end="")


if __name__ == "__main__":
    main()
