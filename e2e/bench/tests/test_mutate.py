# SPDX-License-Identifier: Apache-2.0
"""Tests what .ci/mutate says about a mutant. Each test gives it a small tree with one subject and one test; nothing is compiled."""

import importlib.machinery
import importlib.util
import pathlib

import pytest

MUTATE = pathlib.Path(__file__).resolve().parents[3] / ".ci" / "mutate"
SUBJECT = "limit = 5\nother = 5 and 5\n"
TEST = """import pathlib
def test_limit():
    assert "limit = 5" in (pathlib.Path(__file__).parents[1] / "subject.txt").read_text()
"""


@pytest.fixture
def mutate(tmp_path, monkeypatch, capsys):
    """mutate(*(old, new)) gives what the program prints about these replacements, and its exit code."""
    loader = importlib.machinery.SourceFileLoader("mutate", str(MUTATE))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutate", loader))
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    loader.exec_module(module)
    module.ROOT = module.TREE = tmp_path
    module.copy_checkout = lambda: None
    subject = tmp_path / "subject.txt"
    module.build = lambda test: "a syntax error" if "?" in subject.read_text() else None
    (tmp_path / "e2e").mkdir()
    (tmp_path / "e2e/pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
    (tmp_path / ".ci/mutants").mkdir(parents=True)

    def run(*replacements, text=SUBJECT, test=TEST):
        subject.write_text(text)
        (tmp_path / "e2e/test_subject.py").write_text(test)
        (tmp_path / ".ci/mutants/all.toml").write_text("".join(
            f'[[mutant]]\nname = "{new}"\nfile = "subject.txt"\ntest = "e2e/test_subject.py"\nold = "{old}"\nnew = "{new}"\n'
            for old, new in replacements))
        monkeypatch.setattr("sys.argv", ["mutate"])
        with pytest.raises(SystemExit) as ended:
            module.main()
        assert subject.read_text() == text, "the mutant was left in the file"
        return capsys.readouterr().out.splitlines(), ended.value.code
    return run


def test_a_mutant_that_fails_its_test_is_detected(mutate):
    assert mutate(("limit = 5", "limit = 6")) == (["detected: limit = 6", "1 passed, 0 failed"], 0)


@pytest.mark.parametrize("old, new, expected", [
    ("other = 5", "other = 6", "survived e2e/test_subject.py: other = 6"),
    ("limit = 5", "limit = ?", "does not compile:"),
    ("limit = 7", "limit = 8", "out of date: its text occurs 0 times in subject.txt: limit = 8"),
    (" 5", " 6", "out of date: its text occurs 3 times in subject.txt:  6"),
])
def test_a_mutant_that_is_not_detected_fails_the_run_and_the_others_are_tried(mutate, old, new, expected):
    lines, code = mutate((old, new), ("limit = 5", "limit = 6"))
    assert lines[0] == expected and lines[-2:] == ["detected: limit = 6", "1 passed, 1 failed"] and code == 1


@pytest.mark.parametrize("test", [TEST.replace("limit = 5", "limit = 4"), "", "import nothing_of_this_name\n"])
def test_a_test_that_does_not_pass_without_a_mutant_ends_the_run(mutate, test):
    lines, code = mutate(("limit = 5", "limit = 6"), test=test)
    assert lines == [] and "does not pass without a mutant" in code
