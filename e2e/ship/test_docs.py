# SPDX-License-Identifier: Apache-2.0
"""The README and the examples in docs/images.md do what they say, and the tables in other pages match the source."""

import base64
import json
import os
import pathlib
import re
import subprocess

import pytest
import yaml

from bench import paths
from ship import containers, helm, release
from ship.test_pages import LONGSHORE

PAGE = (paths.CHECKOUT / "docs" / "images.md").read_text()
README = (paths.CHECKOUT / "README.md").read_text()


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


def commands_of(heading):
    """The indented commands below a heading of the README."""
    block, = re.findall(rf"^{heading}\n(?:(?!^#).)*?((?:^    [^\n]*\n)+)", README, re.MULTILINE | re.DOTALL)
    return [line.strip() for line in block.splitlines()]


def test_the_first_screen_has_a_picture_a_command_and_measured_figures():
    screen = "\n".join(README.splitlines()[:16])
    picture, = re.findall(r"^!\[.+\]\((.+)\)$", screen, re.MULTILINE)
    assert (paths.CHECKOUT / picture).read_text().startswith("<svg ")
    assert re.findall(r"^    (.+)$", screen, re.MULTILINE) == ["make demo"]
    # `make bench` rewrites the figures on that page.
    measured = (paths.CHECKOUT / "docs/performance.md").read_text()
    memory = re.search(r"^\| RSS with 10,000 finished items, MB \| ([\d.]+) \|", measured, re.MULTILINE)[1]
    ratio = re.search(r"^\| real cluster: item to result [^|]* \| ([\d.]+ times) \|", measured, re.MULTILINE)[1]
    assert re.findall(r"\*\*(.+?)\*\*", screen) == [f"{memory} MB", ratio]


def test_the_item_of_the_readme_is_valid(tmp_path):
    block, = re.findall(r"^```yaml\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    (tmp_path / "item.yaml").write_text(block)
    done = subprocess.run([LONGSHORE, "validate", "--strict", tmp_path / "item.yaml"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout


def test_the_commands_for_the_build_directory_work(tmp_path):
    commands = commands_of("## On your machine")
    assert any("completion" in command for command in commands) and any("man" in command for command in commands)
    done = subprocess.run(["bash", "-eu", "-o", "pipefail", "-c", "\n".join(["shopt -s progcomp", *commands, "complete -p longshore"])], cwd=paths.CHECKOUT,
                          env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "MANPAGER": "cat"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "LONGSHORE-RUN(1)" in done.stdout and "complete -F" in done.stdout


def test_the_quick_start_for_a_cluster_has_three_consistent_commands(registry, tmp_path):
    """The images that are built are those that are pushed and those that the chart uses."""
    build, push, install = commands_of("## In a cluster")
    assert build == "make images"
    names, file, reference = re.fullmatch(r"for i in (.*); do skopeo copy oci-archive:(\S+) docker://(\S+); done", push).groups()
    assert tuple(names.split()) == release.NAMES and file == "out/$i.oci.tar"
    release.archives()
    environment = {**os.environ, **containers.configure(tmp_path, registry.host)}
    done = subprocess.run(["bash", "-c", "set -e; " + push.replace("REGISTRY", registry.host)], cwd=release.OUT.parent, env=environment,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name in release.NAMES:
        repository, _, tag = reference.replace("REGISTRY/", "").replace("$i", name).partition(":")
        assert registry.client().manifest(repository, tag) == release.Archive(release.archives()[name]).manifest
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


def test_the_changelog_follows_keep_a_changelog_and_has_the_version_of_the_release():
    text = (paths.CHECKOUT / "CHANGELOG.md").read_text()
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    version = (paths.CHECKOUT / "images" / "version").read_text().strip()
    assert headings[0] == "Unreleased" and all(re.fullmatch(r"\d+\.\d+\.\d+ - \d{4}-\d\d-\d\d", heading) for heading in headings[1:]), headings
    assert [heading.split()[0] for heading in headings[1:]] == [version, "0.1.0"], "add the new version here"
    assert set(re.findall(r"^### (.+)$", text, re.MULTILINE)) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_performance_page_has_the_sizes_of_every_image_for_both_architectures():
    """Written by e2e/perf/run.py images, after images/build for both."""
    page = (paths.CHECKOUT / "docs" / "performance.md").read_text().partition("\n## Images\n")[2].partition("\n## ")[0]
    rows = [[cell.strip().replace(",", "") for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| longshore")]
    assert {(row[0], row[1]) for row in rows} == {(name, architecture) for name in release.NAMES for architecture in ("amd64", "arm64")}
    for name, architecture, program, unpacked, compressed, goal in rows:
        assert int(goal) == release.SIZE_MAX[name] and int(compressed) < int(program) <= int(unpacked) <= int(goal), (name, architecture)


def test_the_documented_rules_of_the_controller_match_the_source():
    table = re.search(r"^} rules\[\] = \{$(.*?)^\};$", (paths.CHECKOUT / "deployer/protocol/decide.c").read_text(), re.MULTILINE | re.DOTALL)[1]
    page = (paths.CHECKOUT / "docs/controller.md").read_text().partition("\n## Rules\n")[2].partition("\n#")[0]
    source, documented = re.findall(r"RULE\((\w+)\)", table), re.findall(r"^\| `(\w+)` \| .+ \| .+ \|$", page, re.MULTILINE)
    assert len(source) > 30 and documented == source


# --- pages that are made from tables of the program, or compared with it ---------------------------------------------

PROGRAM = pathlib.Path(os.environ.get("LONGSHORE_BUILD") or paths.CHECKOUT / "build" / "dev") / "deployer" / "longshore"
DOCS = paths.CHECKOUT / "docs"


def sources(*folders):
    """The C sources without tests, with the parts of a string literal joined."""
    files = [file for folder in folders for file in (paths.CHECKOUT / folder).rglob("*.[ch]") if not {"tests", "fuzz"} & {*file.parts}]
    return re.sub(r'"\s*\n\s*"', "", "\n".join(file.read_text() for file in files))


def test_reference_and_troubleshooting_have_the_tables_of_the_program():
    done = subprocess.run([paths.CHECKOUT / ".ci" / "reference", PROGRAM, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_reason_of_the_deployer_has_a_hint():
    hints = json.loads(subprocess.run([PROGRAM, "status", "--hints", "-o", "json"], check=True, capture_output=True, text=True).stdout)
    reasons = {reason for hint in hints for reason in (hint["reason"] or "").split("|")}
    operations = {hint["operation"] for hint in hints if not hint["reason"]}
    code = sources("deployer/protocol", "deployer/pod")
    faults = set(re.findall(r'task_set_fault\(\w+, (?:"(\w+)"|[\w()]+), "(\w+)"', code))
    waiting = re.findall(r'^    \{"(\w+)", (?:true|false)\}', (paths.CHECKOUT / "deployer/pod/verdict.c").read_text(), re.MULTILINE)
    assert len(faults) >= 10 and len(waiting) >= 10
    missing = {reason for operation, reason in faults if reason not in reasons and operation not in operations}
    # Of the runtime's hooks, the message of the kubelet is all that is known.
    missing |= {reason for reason in waiting if reason not in reasons and not reason.endswith("HookError")}
    assert missing == set()


def test_the_reference_has_all_metrics():
    known = set(re.findall(r'(?:(?:head|number)\(\w+,\s*|\{)"((?:\w+_)+\w+)",', sources("deployer/serve")))
    section = (DOCS / "reference.md").read_text().partition("\n## Metrics\n")[2]
    assert len(known) > 20 and set(re.findall(r"`([a-z]+_[a-z_]+)`", "\n".join(
        line.split("|")[1] for line in section.splitlines() if line.startswith("| `")))) == known


def test_the_messages_in_troubleshooting_are_those_of_the_program():
    code = sources("deployer", "common", "init")
    page = re.sub(r"<!-- hints -->.*<!-- /hints -->", "", (DOCS / "troubleshooting.md").read_text(), flags=re.DOTALL)
    cells = [line.split("|")[1] for part in ("Validation", "The deployer", "Commands")
             for line in page.partition(f"\n## {part}\n")[2].partition("\n## ")[0].splitlines() if line.startswith("| ")]
    texts = [text for cell in cells for text in re.findall(r"`([^`]+)`", cell)]
    assert len(texts) > 12 and [text for text in texts if text not in code] == []


def test_the_index_has_every_page():
    linked = set(re.findall(r"\]\(([a-z-]+\.md)\)", (DOCS / "index.md").read_text()))
    assert linked == {page.name for page in DOCS.glob("*.md")} - {"index.md"}


def test_the_examples_page_has_every_example():
    listed = set(re.findall(r"\.\./e2e/examples/([a-z-]+)/item\.yaml", (DOCS / "examples.md").read_text()))
    assert listed == {item.parent.name for item in (paths.CHECKOUT / "e2e" / "examples").glob("*/item.yaml")}


def test_documents_in_the_documentation_are_valid(tmp_path):
    """Every YAML block with whole objects in it."""
    files = []
    for page in sorted([*DOCS.glob("*.md"), paths.CHECKOUT / "README.md"]):
        for number, block in enumerate(re.findall(r"^```yaml\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)):
            if re.search(r"^kind: (DeployItem|Target|Context|Configuration|ProviderConfiguration)$", block, re.MULTILINE):
                files.append(tmp_path / f"{page.stem}-{number}.yaml")
                files[-1].write_text(block)
    assert len(files) >= 5
    done = subprocess.run([PROGRAM, "validate", "--strict", *files], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
