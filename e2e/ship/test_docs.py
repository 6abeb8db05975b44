# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/images.md do what the page says."""

import json
import os
import re
import subprocess

import pytest
import yaml

from bench import paths

PAGE = (paths.CHECKOUT / "docs" / "images.md").read_text()


def example(language):
    block, = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return block


class Volume:
    """The files of a run, without the run."""

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
    volume.run(["/usr/bin/python3", script], "RECONCILE")  # no imports at all
    assert json.loads(volume.exports.read_text()) == {"names": []}
    volume.imports.write_text('{"names": ["a", "b"]}')
    assert volume.run(["/usr/bin/python3", script], "RECONCILE") == "making a\nmaking b\n"
    assert volume.run(["/usr/bin/python3", script], "RECONCILE") == ""
    assert json.loads(volume.exports.read_text()) == {"names": ["a", "b"]}
    assert volume.run(["/usr/bin/python3", script], "DELETE") == "removing a\nremoving b\n"


def test_the_item_is_taken(kube, namespace):
    item = yaml.safe_load(example("yaml"))
    item["metadata"]["namespace"] = namespace
    assert kube.create(item)["spec"]["config"]["image"] == "registry.example/names:1"
