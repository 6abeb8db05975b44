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
