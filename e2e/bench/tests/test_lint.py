# SPDX-License-Identifier: Apache-2.0
"""Tests that checks of .ci/lint find what they look for. Each test gives them a few files with one mistake."""

import importlib.machinery
import importlib.util
import pathlib

import pytest

LINT = pathlib.Path(__file__).resolve().parents[3] / ".ci" / "lint"


@pytest.fixture
def lint(tmp_path, monkeypatch):
    """problems_of(check, {path: text}) gives what a check reports about these files."""
    loader = importlib.machinery.SourceFileLoader("lint", str(LINT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("lint", loader))
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    loader.exec_module(module)
    module.ROOT = tmp_path

    def problems_of(check, files):
        module.problems.clear()
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        getattr(module, check)([tmp_path / name for name in files])
        return module.problems
    return problems_of


@pytest.mark.parametrize("name, text, is_wrong", [
    ("program.py", "import os\n", True),
    ("program", "#!/usr/bin/python3\nprint(undefined)\n", True),
    ("program", "#!/usr/bin/env python3\nimport os\n", True),
    ("program", "#!/bin/sh\nimport os\n", False),
    ("program.py", "import os\nprint(os.name)\n", False),
])
def test_python_is_checked_whatever_its_name_is(lint, name, text, is_wrong):
    assert bool(lint("check_python", {name: text})) == is_wrong


@pytest.mark.parametrize("link, is_wrong", [
    ("other.md", False), ("other.md#a-heading", False), ("#own", False), ("https://example.com/x", False),
    ("missing.md", True), ("other.md#no-heading", True), ("#no-heading", True),
])
def test_links_of_the_documentation_are_checked(lint, link, is_wrong):
    files = {"docs/page.md": f"# Own\n[text]({link})\n", "docs/other.md": "# A heading\n"}
    assert bool(lint("check_links", files)) == is_wrong
    assert not lint("check_links", {"docs/page.md": f"```\n[text]({link})\n```\n# Own\n"})


@pytest.mark.parametrize("test, registered, is_wrong", [
    ("skip_because(\"x\"); return skip_exit_code(0);", "longshore_test(a MAY_SKIP LIBRARIES b)", False),
    ("skip_because(\"x\"); return skip_exit_code(0);", "longshore_test(a LIBRARIES b)\nlongshore_test(c MAY_SKIP)", True),
    ("skip_because(\"x\"); return 0;", "longshore_test(a MAY_SKIP LIBRARIES b)", True),
    ("skip();", "longshore_test(a MAY_SKIP LIBRARIES b)", True),
])
def test_a_skipped_unit_test_must_be_reported_as_skipped(lint, test, registered, is_wrong):
    assert bool(lint("check_skips", {"x/tests/a_test.c": test, "x/CMakeLists.txt": registered})) == is_wrong


@pytest.mark.parametrize("name, target, is_wrong", [
    ("deployer/protocol/a.c", "deployer/engine.h", False),
    ("deployer/protocol/a.c", "deployer/pod/pods.h", True),
    ("deployer/manifest/a.c", "deployer/pod/pods.h", True),
    ("deployer/pod/a.c", "deployer/protocol/task.h", False),
    ("deployer/engine.h", "deployer/pod/pods.h", True),
    ("common/base/a.c", "common/data/doc.h", True),
    ("common/data/a.c", "common/base/error.h", False),
    ("common/data/a.c", "deployer/pod/pods.h", True),
    ("init/a.c", "wait/life.h", True),
])
def test_includes_across_a_boundary_are_found(lint, name, target, is_wrong):
    files = {"deployer/pod/engine.h": "", "deployer/manifest/engine.h": "", name: f'#include "{target}"\n'}
    assert bool(lint("check_includes", files)) == is_wrong


def test_include_cycles_between_folders_are_found(lint):
    files = {f"deployer/{own}/x.h": f'#include "deployer/{other}/x.h"\n' for own, other in ("ab", "bc", "ca")}
    assert lint("check_includes", files)
    assert not lint("check_includes", {**files, "deployer/c/x.h": ""})


# The phrases are in two parts because lint checks this file, too.
@pytest.mark.parametrize("text, is_wrong", [
    ("/* The log, whatever " "stands\n * there. */\n", True),
    ("'x' is no " "file", True),
    ('unknown field "x" ignored', False),
])
def test_phrases_that_are_not_plain_english_are_found(lint, text, is_wrong):
    assert bool(lint("check_phrases", {"x/a.c": text})) == is_wrong


@pytest.mark.parametrize("name, literal, is_wrong", [
    ("deployer/a.c", "file '%s' not found", True),
    ("deployer/a.c", "file '%.20s' not found", True),
    ("deployer/a.c", r"file \"%s\" not found; see '%s --help'", False),
    ("deployer/tests/a.c", "'%s' is not in '%s'", False),
    ("common/command_line/fish.c", " -a '%s'", False),
])
def test_values_in_messages_have_double_quotes(lint, name, literal, is_wrong):
    problems = lint("check_quotes", {name: f'error_set(err, "{literal}", text);\n'})
    assert bool(problems) == is_wrong, problems
