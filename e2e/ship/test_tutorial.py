# SPDX-License-Identifier: Apache-2.0
"""docs/tutorial.md: runs every command of the page, in its order, in one shell and against a real cluster.

The only line that is replaced is the one that the page asks the reader to change, the address of the registry. The base image comes from
the registry of the node, which is configured as a mirror of docker.io, because the bench has no network.

An `output` block is compared with what the commands before it print. LONGSHORE_WRITE_TUTORIAL=1 updates these blocks instead."""

import os
import re
import subprocess

import pytest

from bench import crds, images, paths
from ship import containers, helm, release

PAGE = paths.CHECKOUT / "docs" / "tutorial.md"
REGISTRY = "export REGISTRY=registry.example/tutorial\n"
# One command block, with the output block that may follow it.
STEP = re.compile(r"^```sh\n(?P<commands>.*?)^```\n(?:\n```output\n(?P<output>.*?)^```\n)?", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```(\w*)$", re.MULTILINE)
# What differs from run to run.
KINDS = {"duration": r"\d+\.\d\d s", "age": r"(?:\d+m)?\d+s", "pod": r"-[0-9a-f]{8,10}-[a-z0-9]{5}", "item": r"-[0-9a-f]{16}",
         "blanks": " +"}
VARYING = re.compile("|".join(rf"(?P<{kind}>(?<![\w.]){pattern}(?!\w))" if kind == "age" else f"(?P<{kind}>{pattern})" for kind, pattern in KINDS.items()))


class Shell:
    """One bash for all steps, so that variables, functions and the working directory stay."""

    END = "end of step"

    def __init__(self, directory, environment, file):
        self._file = file
        self._process = subprocess.Popen(["bash", "--noprofile", "--norc", "-eu", "-o", "pipefail"], cwd=directory, env=environment,
                                         text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run(self, commands):
        """What the commands print. Fails if one of them fails: the shell exits then, and its output ends."""
        self._file.write_text(commands)
        # From a file, because a program of the step could read standard input.
        self._process.stdin.write(f". '{self._file}' </dev/null; printf '%s\\n' '{self.END}'\n")
        self._process.stdin.flush()
        printed = ""
        for line in self._process.stdout:
            printed += line
            if printed.endswith(f"{self.END}\n"):
                return printed.removesuffix(f"{self.END}\n")
        raise AssertionError(f"exit code {self._process.wait()}:\n{commands}\n{printed}")

    def close(self):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def pattern_of(output):
    """A regular expression for an output block: exact, except for what varies."""
    pieces, at = [], 0
    for match in VARYING.finditer(output):
        pieces += [re.escape(output[at:match.start()]), KINDS[match.lastgroup]]
        at = match.end()
    return "".join([*pieces, re.escape(output[at:])])


@pytest.fixture
def shell(node, tmp_path):
    release.archives()  # the first build takes minutes; `make images` of the page repeats the last steps only
    host = node.registry.host
    node.registry.client().push_image("library/busybox", "1.36", images.busybox())
    programs = [paths.tool_directory("kubernetes"), paths.tool_directory("helm")]
    environment = {**os.environ, **containers.configure(tmp_path, host), "KUBECONFIG": str(node.kubeconfig),
                   "LONGSHORE_CACHE": str(paths.tool_directory("helm").parent.parent), "LONGSHORE_RELEASE_BUILD": str(release.BUILD),
                   "PATH": ":".join([*map(str, programs), os.environ["PATH"]])}
    running = Shell(paths.CHECKOUT, environment, tmp_path / "step.sh")
    yield running
    running.close()
    # A failed test may leave the release, and a successful one removes the resource types, which other tests need.
    if "container-deployer" in helm.run("list", "--short", kubeconfig=node.kubeconfig, namespace="longshore-system"):
        helm.run("uninstall", "container-deployer", "--wait", kubeconfig=node.kubeconfig, namespace="longshore-system")
    crds.install(node.kube)


@pytest.mark.node
def test_every_command_of_the_page_works_and_prints_what_the_page_shows(shell, node):
    page = PAGE.read_text()
    steps = list(STEP.finditer(page))
    # No block of another kind, which would not be tested.
    assert FENCE.findall(page) == [word for step in steps for word in (["sh", ""] if step["output"] is None else ["sh", "", "output", ""])]
    assert page.count(REGISTRY) == 1
    written, at = [], 0
    for step in steps:
        printed = shell.run(step["commands"].replace(REGISTRY, f"export REGISTRY={node.registry.host}/tutorial\n"))
        if step["output"] is not None:
            written += [page[at:step.start("output")], printed.rstrip("\n") + "\n"]
            at = step.end("output")
            if not os.environ.get("LONGSHORE_WRITE_TUTORIAL"):
                assert re.fullmatch(pattern_of(step["output"].rstrip("\n")), printed.rstrip("\n")), f"{step['commands']}\n{printed}"
    if os.environ.get("LONGSHORE_WRITE_TUTORIAL"):
        PAGE.write_text("".join([*written, page[at:]]))


def test_a_different_output_is_noticed():
    shown = "main       0.02 s  exited with code 0\nstate in ~/.local/state/longshore/greet-0123456789abcdef\npod/a-0123456789-ab1cd   1/1   5s\n"
    same = "main       1.73 s  exited with code 0\nstate in ~/.local/state/longshore/greet-fedcba9876543210\npod/a-fedcba98-x4cde   1/1   1m15s\n"
    assert re.fullmatch(pattern_of(shown), same)
    for before, after in (("code 0", "code 1"), ("1/1", "0/1"), ("greet-", "other-"), ("main", "wait"), (" s ", " ms "), ("pod/a", "pod/b")):
        assert not re.fullmatch(pattern_of(shown), same.replace(before, after, 1)), after
