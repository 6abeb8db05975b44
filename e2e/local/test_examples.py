# SPDX-License-Identifier: Apache-2.0
"""The examples in the documentation work as shown."""

import importlib.util
import json
import re
import shutil
import subprocess

from local.conftest import BUILD, ROOT

EXAMPLES = ROOT / "e2e/examples"


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_readme_shows_what_the_demo_prints():
    demo = subprocess.run([EXAMPLES / "readme.py"], check=True, capture_output=True, text=True).stdout
    shown = re.search(r"<!-- demo -->\n```\n(.*?)```\n<!-- /demo -->", (ROOT / "README.md").read_text(), re.S).group(1)
    assert demo == shown, "e2e/examples/readme.py --write puts the new output there"


def test_run_page_shows_what_a_terminal_shows():
    shown = subprocess.run([EXAMPLES / "session.py"], check=True, capture_output=True, text=True).stdout
    page = (ROOT / "docs/run.md").read_text()
    assert f"<!-- session -->\n```\n{shown}```\n<!-- /session -->" in page, "e2e/examples/session.py --write puts the new session there"


def test_a_terminal_shows_colors_and_the_step_in_progress():
    session = load(EXAMPLES / "session.py").session
    seen = dict(session())
    assert "\033[1;32mSucceeded\033[0m" in seen["longshore run item.yaml"]
    assert "\033[1;31mFailed\033[0m" in seen["longshore run fails.yaml; echo exit code $?"]
    assert re.search(r"\033\[1mimage   \033\[0m   \d.\d\d s  \033\[2moci-archive:hello.oci.tar\033\[0m\r\033\[K", seen["longshore run item.yaml"])
    _, without = next(session(NO_COLOR="1"))
    assert "\r\033[K" in without and not re.search(r"\033\[[0-9;]*m", without), without
    _, dumb = next(session(TERM="dumb"))
    assert "\033" not in dumb


def test_component_with_blueprint_from_a_registry(local, registry):
    load(EXAMPLES / "component/push.py").push(registry.client())
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
    data = local.run("fails.yaml", "-o", "json").data
    shown = json.dumps({key: data[key] for key in ("reason", "exitCode", "error", "logTail")}, separators=(",", ":"))
    assert f"    {shown}\n" in (ROOT / "docs/run.md").read_text()


def test_kustomize_page_shows_excerpts_of_the_example_files():
    folder = EXAMPLES / "kustomize"
    page = (ROOT / "docs/kustomize.md").read_text()
    files = {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.suffix in (".yaml", ".py")}
    snippets = re.findall(r"```yaml\n(.*?)```", page, re.S)
    assert snippets and not [snippet for snippet in snippets if not any(snippet in text for text in files.values())]
    named = set(re.findall(r"`([a-z_-]+\.(?:yaml|py))`", page)) - {"kustomization.yaml"}
    assert named == {name for name in files if "/" not in name}, "the page and the folder have different files"
    items = [folder / name for name, text in files.items() if name.endswith(".yaml") and "kind: DeployItem\n" in text]
    checked = subprocess.run([BUILD / "deployer/longshore", "validate", *items], capture_output=True, text=True)
    assert checked.returncode == 0 and "no problems found" in checked.stdout, checked
