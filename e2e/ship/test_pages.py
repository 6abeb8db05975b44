# SPDX-License-Identifier: Apache-2.0
"""Man pages and completions: they contain all of --help, groff formats the pages without warnings, and real shells use the scripts."""

import functools
import os
import pathlib
import re
import subprocess

import pytest

from bench import paths

BUILD = pathlib.Path(os.environ.get("LONGSHORE_BUILD") or paths.CHECKOUT / "build" / "dev")
LONGSHORE = BUILD / "deployer" / "longshore"
PROGRAMS = {"longshore": LONGSHORE, "longshore-init": BUILD / "init" / "longshore-init", "longshore-wait": BUILD / "wait" / "longshore-wait"}
COMMANDS = ("run", "validate", "render", "diff", "status", "logs", "controller", "registrations", "lifecycle", "agent", "schema", "version", "completion", "man", "help")
PAGES = [*PROGRAMS, *(f"longshore-{name}" for name in COMMANDS)]
SHELLS = ("bash", "zsh", "fish")


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def words_of(page):
    """The words of the command line for the program or command of a page."""
    return [page] if page in PROGRAMS else ["longshore", page.removeprefix("longshore-")]


@functools.cache
def help_of(page):
    first, *rest = words_of(page)
    return run(PROGRAMS[first], *rest, "--help")


def options_of(page):
    """The options that begin a line of the list; they may be mentioned elsewhere, too."""
    rows = re.findall(r"^ {2,6}(-.*?)(?:  .*)?$", help_of(page).partition("Options:")[2], re.MULTILINE)
    return set(re.findall(r"(?<![\w-])(--[a-z][a-z-]*|-[a-z])(?=[ ,]|$)", "\n".join(rows), re.MULTILINE))


def script(shell, program="longshore"):
    return run(LONGSHORE, "completion", shell, program)


def test_the_list_of_commands_matches_help():
    assert re.findall(r"^  ([a-z]+)(?: +\S.*)?$", run(LONGSHORE, "--help"), re.MULTILINE) == list(COMMANDS)


@pytest.mark.parametrize("page", PAGES)
def test_a_man_page_has_every_option_of_help_and_no_groff_warnings(page, tmp_path):
    file = tmp_path / f"{page}.1"
    file.write_text(run(LONGSHORE, "man", page))
    done = subprocess.run(["groff", "-man", "-Tascii", "-ww", "-P-cbou", "-rLL=500n", file], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    text = re.sub(r"\s+", " ", done.stdout)
    assert f"{page} - " in text and "SYNOPSIS" in text and "DESCRIPTION" in text
    offered = options_of(page)
    assert "--help" in offered
    for option in offered:
        assert re.search(rf"(?<![\w-]){option}(?![\w-])", done.stdout), option
    # The defaults are in both.
    for default in re.findall(r"\(default [^)]+\)", re.sub(r"\s+", " ", help_of(page))):
        assert default in text


def test_every_command_has_help_and_unknown_commands_fail():
    for name in COMMANDS:
        assert run(LONGSHORE, "help", name).startswith(f"Usage: longshore {name}")
    for command in (["man", "nothing"], ["nothing"], ["help", "nothing"], ["completion", "tcsh"], ["completion", "bash", "ls"],
                    ["completion", "bash", "run"], ["completion"], ["man", "run", "it"], ["--nothing"]):
        done = subprocess.run([LONGSHORE, *command], capture_output=True, text=True)
        assert done.returncode == 2 and done.stdout == "" and done.stderr.startswith("longshore"), command
    for command, meant in ((["rn"], '"run"'), (["help", "vlidate"], '"validate"'), (["man", "rendr"], '"render"'),
                           (["run", "--tagret", "x"], "'--target'"), (["render", "--ouptut=json"], "'--output'"), (["--hepl"], "'--help'")):
        done = subprocess.run([LONGSHORE, *command], capture_output=True, text=True)
        assert done.returncode == 2 and f"did you mean {meant}?" in done.stderr, done


def test_help_explains_run_completely():
    text = re.sub(r"\s+", " ", help_of("longshore-run"))
    for part in ("Exit status: 0 success", "any other exit code of main", "Examples: longshore run item.yaml", "(default 30s)",
                 "else 10m", "~/.local/state/longshore", "~/.cache/longshore/images"):
        assert part in text, part


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_shell_accepts_the_script(shell, program, tmp_path):
    file = tmp_path / "script"
    file.write_text(script(shell, program))
    run(shell, "-n", file)


# --- bash ------------------------------------------------------------------------------------------------------------

ASK_BASH = r"""
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
registered=$(complete -p "$1"); registered=${registered#*-F }
"${registered%% *}"
printf '%s\n' "${COMPREPLY[@]}"
"""


def ask_bash(tmp_path, *words, cwd=None):
    """The completions that bash offers for the last word."""
    (tmp_path / "bash").write_text(script("bash", words[0]))
    offered = run("bash", "--norc", "-c", ASK_BASH, "ask", tmp_path / "bash", *words, cwd=cwd)
    return {line for line in offered.splitlines() if line}


@pytest.mark.parametrize("page", PAGES)
def test_bash_completes_every_option(page, tmp_path):
    assert ask_bash(tmp_path, *words_of(page), "-") == options_of(page)


def test_bash_completes_commands_values_and_files(tmp_path):
    (tmp_path / "here" / "a folder").mkdir(parents=True)
    (tmp_path / "here" / "item.yaml").touch()
    cases = {
        ("longshore", ""): set(COMMANDS), ("longshore", "re"): {"registrations", "render"}, ("longshore", "--v"): {"--version"},
        ("longshore", "run", "--operation", ""): {"RECONCILE", "DELETE"}, ("longshore", "run", "--operation", "=", "D"): {"DELETE"},
        ("longshore", "run", "--operation", "="): {"RECONCILE", "DELETE"}, ("longshore", "render", "-o", "y"): {"yaml"},
        ("longshore", "validate", "-o", ""): {"text", "json"}, ("longshore", "run", "it"): {"item.yaml"},
        ("longshore", "run", "--target", "it"): {"item.yaml"}, ("longshore", "run", "--image", "it"): set(),
        ("longshore", "run", "--state", ""): {"a folder"}, ("longshore", "completion", "z"): {"zsh"},
        ("longshore", "man", "contr"): {"controller"}, ("longshore", "version", ""): set(), ("longshore-wait", "-v", "d"): {"debug"}}
    for words, wanted in cases.items():
        assert ask_bash(tmp_path, *words, cwd=tmp_path / "here") == wanted, words


# --- fish ------------------------------------------------------------------------------------------------------------

def ask_fish(tmp_path, line, cwd=None):
    (tmp_path / "fish").write_text(script("fish", line.split()[0]))
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    out = run("fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", tmp_path / "fish", line, env=environment, cwd=cwd)
    return {row.partition("\t")[0] for row in out.splitlines()}


@pytest.mark.parametrize("page", PAGES)
def test_fish_completes_every_option(page, tmp_path):
    line = " ".join(words_of(page))
    assert ask_fish(tmp_path, f"{line} -") >= options_of(page)
    assert ask_fish(tmp_path, f"{line} --") == {option for option in options_of(page) if option.startswith("--")}


def test_fish_completes_commands_values_and_files(tmp_path):
    (tmp_path / "here" / "folder").mkdir(parents=True)
    (tmp_path / "here" / "item.yaml").touch()
    cases = {"longshore ": set(COMMANDS), "longshore run --operation ": {"RECONCILE", "DELETE"}, "longshore render -o ": {"yaml", "json"},
             "longshore run it": {"item.yaml"}, "longshore run --state ": {"folder/"}, "longshore completion ": set(SHELLS), "longshore version ": set()}
    for line, wanted in cases.items():
        assert ask_fish(tmp_path, line, cwd=tmp_path / "here") == wanted, line


# --- zsh -------------------------------------------------------------------------------------------------------------

# Completion in zsh needs a terminal, but the arguments of its two helper functions can be checked without one.
ASK_ZSH = r"""
compdef() { :; }
_describe() { print -rl -- ${commands%%:*}; }
_arguments() { print -rl -- "$@"; }
script=$1; shift
source $script
words=("$@"); CURRENT=$#
_${1//-/_}
"""


def ask_zsh(tmp_path, *words):
    (tmp_path / "zsh").write_text(script("zsh", words[0]))
    return run("zsh", "-f", "-c", ASK_ZSH, "ask", tmp_path / "zsh", *words).splitlines()


@pytest.mark.parametrize("page", PAGES)
def test_zsh_completes_every_option(page, tmp_path):
    offered = {match.group(1) for row in ask_zsh(tmp_path, *words_of(page), "") if (match := re.match(r"(?:\*|\([^)]*\))?(--?[a-z-]*[a-z])[+=]?\[", row))}
    assert offered == options_of(page)


def test_zsh_completes_commands_values_and_files(tmp_path):
    assert set(COMMANDS) <= set(ask_zsh(tmp_path, "longshore", ""))
    offered = ask_zsh(tmp_path, "longshore", "run", "")
    assert "--operation=[operation that main is asked to perform]:OP:(RECONCILE DELETE)" in offered
    assert "*--target=[file with the Target and its Secret; may be repeated]:FILE:_files" in offered
    assert offered[-1] == "*:FILE:_files"


# --- installation ----------------------------------------------------------------------------------------------------

def test_install_puts_programs_pages_and_completions_into_the_standard_directories(tmp_path):
    prefix = tmp_path / "prefix"
    run("cmake", "--install", BUILD, "--prefix", prefix)
    found = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if path.is_file()}
    wanted = {f"bin/{name}" for name in PROGRAMS} | {f"share/man/man1/{page}.1" for page in PAGES}
    for name in PROGRAMS:
        wanted |= {f"share/bash-completion/completions/{name}", f"share/zsh/site-functions/_{name}", f"share/fish/vendor_completions.d/{name}.fish"}
    assert found == wanted
    assert (prefix / "share/man/man1/longshore-run.1").read_text() == run(LONGSHORE, "man", "run")
    assert (prefix / "share/fish/vendor_completions.d/longshore.fish").read_text() == script("fish")
