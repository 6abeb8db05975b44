# SPDX-License-Identifier: Apache-2.0
"""The examples in docs/images.md do what the page says, and the tables in other pages match the source."""

import base64
import json
import os
import re
import subprocess

import pytest
import yaml

from bench import paths
from ship import helm, release

PAGE = (paths.CHECKOUT / "docs" / "images.md").read_text()


def example(language):
    block, = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return block


class Volume:
    """The files of a run, without a deployer."""

    def __init__(self, root):
        self.imports, self.exports, self.state = root / "import.json", root / "values", root / "state"
        self.state.mkdir()

    def run(self, program, operation):
        self.exports.unlink(missing_ok=True)
        environment = {"PATH": os.environ["PATH"], "OPERATION": operation, "IMPORTS_PATH": str(self.imports),
                       "EXPORTS_PATH": str(self.exports), "STATE_PATH": str(self.state)}
        return subprocess.run(program, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def volume(tmp_path):
    return Volume(tmp_path)


def test_the_shell_script(volume, tmp_path):
    script = tmp_path / "run.sh"
    script.write_text(example("sh"))
    for count in (1, 2):
        volume.run(["sh", script], "RECONCILE")
        assert json.loads(volume.exports.read_text()) == {"runs": count}
    assert "run 2" in volume.run(["sh", script], "DELETE")
    assert not volume.exports.exists()


def test_the_python_program(volume, tmp_path):
    script = tmp_path / "run.py"
    script.write_text(example("python"))
    volume.run(["/usr/bin/python3", script], "RECONCILE")  # without imports
    assert json.loads(volume.exports.read_text()) == {"names": []}
    volume.imports.write_text('{"names": ["a", "b"]}')
    assert volume.run(["/usr/bin/python3", script], "RECONCILE") == "making a\nmaking b\n"
    assert volume.run(["/usr/bin/python3", script], "RECONCILE") == ""
    assert json.loads(volume.exports.read_text()) == {"names": ["a", "b"]}
    assert volume.run(["/usr/bin/python3", script], "DELETE") == "removing a\nremoving b\n"


def test_the_item_is_accepted(kube, namespace):
    item = yaml.safe_load(example("yaml"))
    item["metadata"]["namespace"] = namespace
    assert kube.create(item)["spec"]["config"]["image"] == "registry.example/names:1"


def test_the_quick_start_for_a_cluster_has_three_consistent_commands():
    """The images that are built are those that are pushed and those that the chart uses."""
    block, = re.findall(r"^## In a cluster\n.*?((?:^    [^\n]*\n)+)", (paths.CHECKOUT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    build, push, install = [line.strip() for line in block.splitlines()]
    assert build == "make images"
    names, file, reference = re.fullmatch(r"for i in (.*); do skopeo copy oci-archive:(\S+) docker://(\S+); done", push).groups()
    assert tuple(names.split()) == release.NAMES and file == "out/$i.oci.tar"
    program, verb, *arguments = install.split()
    assert (program, verb) == ("helm", "install")
    rendered = subprocess.run([helm.program(), "template", *arguments, "--kube-version", "1.34.0"], cwd=paths.CHECKOUT, capture_output=True, text=True)
    assert rendered.returncode == 0, rendered.stderr
    assert "--create-namespace" in arguments
    for name in release.NAMES:
        pushed = reference.replace("$i", name)
        where = rendered.stdout if name == "longshore" else "".join(
            base64.b64decode(text).decode() for text in re.findall(r"config\.yaml: (\S+)", rendered.stdout))
        assert pushed in where, pushed


def test_the_documented_rules_of_the_controller_match_the_source():
    table = re.search(r"^} rules\[\] = \{$(.*?)^\};$", (paths.CHECKOUT / "deployer/protocol/decide.c").read_text(), re.MULTILINE | re.DOTALL)[1]
    page = (paths.CHECKOUT / "docs/controller.md").read_text().partition("\n## Rules\n")[2].partition("\n#")[0]
    source, documented = re.findall(r"RULE\((\w+)\)", table), re.findall(r"^\| `(\w+)` \| .+ \| .+ \|$", page, re.MULTILINE)
    assert len(source) > 30 and documented == source
