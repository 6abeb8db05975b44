# SPDX-License-Identifier: Apache-2.0
"""The examples in the documentation work as shown."""

import importlib.util
import re
import shutil
import subprocess

from local.conftest import ROOT

EXAMPLES = ROOT / "e2e/examples"


def test_readme_shows_what_the_demo_prints():
    demo = subprocess.run([EXAMPLES / "readme.py"], check=True, capture_output=True, text=True).stdout
    shown = re.search(r"<!-- demo -->\n```\n(.*?)```\n<!-- /demo -->", (ROOT / "README.md").read_text(), re.S).group(1)
    assert demo == shown, "e2e/examples/readme.py --write puts the new output there"


def test_component_with_blueprint_from_a_registry(local, registry):
    spec = importlib.util.spec_from_file_location("push", EXAMPLES / "component/push.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.push(registry.client())
    text = (EXAMPLES / "component/item.yaml").read_text().replace("REGISTRY", registry.host)
    result = local.run(local.write("component.yaml", text), "--plain-http", "-o", "json")
    assert result.code == 0, result
    assert result.data["exports"] == {"files": 2, "version": "1.2.0"}


def test_failing_program_keeps_its_state(local):
    shutil.copy(EXAMPLES / "fails/item.yaml", local.home / "fails.yaml")
    local.own()
    result = local.run("fails.yaml")
    assert result.code == 3
    assert "main | the crane is out of order" in result.err
    assert result.out.startswith("Failed\nerror:\n  main exited with code 3")
    assert "1 file" in result.out, "the state of a failed run is kept"
