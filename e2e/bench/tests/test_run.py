# SPDX-License-Identifier: Apache-2.0
"""Tests when e2e/run fails. Each test runs a copy of it over a small tree of tests."""

import pathlib
import shutil
import subprocess

import pytest

RUN = pathlib.Path(__file__).resolve().parents[2] / "run"
INI = """[pytest]
addopts = --import-mode=importlib
markers =
    node: one lane
    api: another lane
    services: a third one
"""
PASSES = "def test_passes():\n    pass\n"
# In a helper, as most tests: pytest separates the functions by lines that resemble headlines.
FAILS = "def deeper():\n    raise AssertionError('one of two\\nthe second')\ndef test_fails():\n    deeper()\n"
# Fails on the first attempt.
FLAKY = """import pathlib, os
FIRST = pathlib.Path(__file__).with_suffix('.first')
def test_flaky_{0}():
    was_there = FIRST.exists()
    FIRST.touch()
    assert was_there
"""
PICKY = """import sys
def test_dirties_the_process():
    sys.is_dirty = True
    assert {0}
def test_needs_a_clean_process():
    assert not hasattr(sys, 'is_dirty')
"""


def marked(lane, text):
    return f"import pytest\npytestmark = pytest.mark.{lane}\n{text}" if lane != "rest" else text


@pytest.fixture
def run(tmp_path):
    def run(tests, *arguments):
        e2e = tmp_path / "e2e"
        e2e.mkdir()
        shutil.copy(RUN, e2e / "run")
        (e2e / "pytest.ini").write_text(INI)
        for number, (lane, text) in enumerate(tests):
            (e2e / f"test_{number}.py").write_text(marked(lane, text))
        result = subprocess.run([e2e / "run", *arguments], capture_output=True, text=True, timeout=300)
        retried = (tmp_path / "build/e2e-retried.txt").read_text().splitlines()
        return result.returncode, result.stdout, result.stderr, retried
    return run


ONE_IN_EACH_LANE = [("node", PASSES), ("api", PASSES), ("rest", PASSES), ("services", PASSES)]


def test_all_pass(run):
    code, out, _, retried = run(ONE_IN_EACH_LANE)
    assert code == 0 and retried == []
    assert out.splitlines()[-1] == "4 passed, 0 failed, 0 skipped"


def test_a_test_that_fails_twice_fails_the_run_and_is_named(run):
    code, out, errors, retried = run([*ONE_IN_EACH_LANE, ("api", FAILS), ("api", FAILS.replace("test_fails", "test_fails_too"))])
    assert code == 1 and retried == []
    for test in ("test_4.py::test_fails", "test_5.py::test_fails_too"):
        assert f"e2e/{test} failed twice\n        AssertionError: one of two\n        the second\n" in errors
    assert out.splitlines()[-1] == "4 passed, 2 failed, 0 skipped"


def test_a_test_that_passes_on_the_second_attempt_is_listed_at_the_end(run):
    code, out, _, retried = run([*ONE_IN_EACH_LANE, ("rest", FLAKY.format("a"))])
    assert code == 0
    assert retried == ["e2e/test_4.py::test_flaky_a"]
    assert "1 passed only on a second attempt\n    e2e/test_4.py::test_flaky_a\n        assert False\n" in "\n".join(out.splitlines()[-4:])


def test_more_than_two_such_tests_fail_the_run(run):
    code, _, errors, retried = run([*ONE_IN_EACH_LANE, *[("rest", FLAKY.format(name)) for name in "abc"]])
    assert code == 1 and len(retried) == 3
    assert "3 tests passed only on a second attempt, at most 2 may" in errors


def test_a_failed_test_runs_again_in_a_process_of_its_own(run):
    # The first fails for good; the second passes, but only without the first in its process.
    code, _, errors, retried = run([*ONE_IN_EACH_LANE, ("rest", PICKY.format("False"))])
    assert code == 1
    assert retried == ["e2e/test_4.py::test_needs_a_clean_process"]
    assert "test_dirties_the_process failed twice" in errors


def test_an_empty_lane_is_an_error_unless_the_user_selected_tests(run, tmp_path):
    code, _, errors, _ = run(ONE_IN_EACH_LANE[:2])
    assert code == 1
    assert "lane 'rest' selected no test" in errors
    selected = subprocess.run([tmp_path / "e2e/run", "e2e/test_0.py"], capture_output=True, text=True)
    assert selected.returncode == 0, selected.stderr


def test_a_module_that_cannot_be_imported_fails_the_run(run):
    code, _, errors, _ = run([*ONE_IN_EACH_LANE, ("rest", "import nothing_like_this\n" + PASSES)])
    assert code == 1
    assert errors
