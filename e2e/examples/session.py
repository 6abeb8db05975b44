#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a terminal session with `longshore run` as docs/run.md shows it; with --write, updates that page.

The commands run on a real terminal of 80x24, so that this is what a person sees, without colors and without lines that were
overwritten."""

import os
import pathlib
import re
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "e2e"))
from bench import images, oci, terminal  # noqa: E402 (the path comes first)

EXAMPLES = ROOT / "e2e/examples"
BUILD = pathlib.Path(os.environ.get("LONGSHORE_BUILD") or ROOT / "build/dev")
PAGE = ROOT / "docs/run.md"
PLACE = re.compile(r"(<!-- session -->\n```\n).*?(```\n<!-- /session -->)", re.S)
PYTHON = """apiVersion: landscaper.gardener.cloud/v1alpha1
kind: DeployItem
metadata: {name: report, namespace: example}
spec:
  type: landscaper.gardener.cloud/script
  config:
    apiVersion: script.deployer.landscaper.gardener.cloud/v1alpha1
    kind: ProviderConfiguration
    image: oci-archive:busybox.oci.tar
    script: |
      #!/usr/bin/python3
      print("never reached")
"""
COMMANDS = (
    "longshore run item.yaml",
    "longshore run fails.yaml; echo exit code $?",
    "longshore run report.yaml; echo exit code $?",
    "longshore run --image hello.oci.tar",
    "longshore run item.yaml --opration DELETE",
    "longshore run item.yaml --operation DELETE",
)


def prepare(home):
    shutil.copy(EXAMPLES / "hello/item.yaml", home / "item.yaml")
    shutil.copy(EXAMPLES / "fails/item.yaml", home / "fails.yaml")
    (home / "report.yaml").write_text(PYTHON)
    hello = {"bin/hello": ((EXAMPLES / "hello/hello").read_bytes(), 0o755)}
    (home / "hello.oci.tar").write_bytes(oci.archive(images.busybox(hello, entrypoint=["/bin/hello"]), "localhost/hello:1"))
    (home / "busybox.oci.tar").write_bytes(oci.archive(images.busybox(), "localhost/busybox:1"))


def session(**environment):
    """[(command, what the terminal received)] of all commands."""
    with tempfile.TemporaryDirectory() as name:
        home = pathlib.Path(name)
        prepare(home)
        variables = {"HOME": name, "PATH": f"{BUILD / 'deployer'}:{os.environ['PATH']}", "TERM": "xterm", **environment}
        for command in COMMANDS:
            tty = terminal.Terminal(["sh", "-c", command], home, variables)
            tty.end()
            yield command, tty.seen


def shown(text):
    """The lines that remain on the screen, with durations replaced by x.xx."""
    lines = terminal.lines_of(text)
    assert len(lines) <= terminal.ROWS, lines
    return re.sub(r"^(\w+) +\d+\.\d\d s", lambda match: f"{match.group(1):8} {'x.xx':>6} s", "\n".join(lines), flags=re.M)


def main():
    text = "\n".join(f"$ {command}\n{shown(seen)}" for command, seen in session())
    if "--write" in sys.argv:
        PAGE.write_text(PLACE.sub(lambda match: match.group(1) + text + match.group(2), PAGE.read_text()))
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
