# SPDX-License-Identifier: Apache-2.0
"""Selected unit tests and whole commands under valgrind: finds uninitialized memory, which AddressSanitizer cannot, and leaks.
init, wait and the controller use a sandbox in which valgrind does not work; the unit tests of their modules are here."""

import concurrent.futures
import os
import subprocess

import pytest

from api.controller.harness import BUILD, PROGRAM
from bench import paths

VALGRIND = ["valgrind", "-q", "--error-exitcode=99", "--leak-check=full", "--errors-for-leak-kinds=definite,indirect"]
UNIT_TESTS = ["common/data/doc", "common/kube/foreign_answer", "common/archive/layer", "common/archive/unpack_go",
              "common/archive/unpack_find", "common/state/generation", "wait/export", "wait/sink_directory", "common/component/descriptor",
              "common/component/yamlfs", "deployer/protocol/pure", "deployer/item/provider", "deployer/pod/template"]
ITEM = paths.CHECKOUT / "e2e" / "examples" / "hello" / "item.yaml"
COMMANDS = [["version"], ["validate", ITEM], ["render", ITEM]]


def under_valgrind(command, cwd):
    # If these name a directory of certificates, the whole directory would be read for each request.
    env = {name: value for name, value in os.environ.items() if not name.startswith("SSL_CERT")}
    done = subprocess.run([*VALGRIND, *map(str, command)], cwd=cwd, env=env, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout[-2000:] + done.stderr[-4000:]


def unit_test(name):
    folder, _, module = name.rpartition("/")
    program = BUILD / folder / f"{name.replace('/', '_')}_test"
    if not program.exists():
        return 1, f"{program} is not built"
    return under_valgrind([program], paths.CHECKOUT / folder / "tests")


def test_unit_tests_are_clean():
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, (code, output) in zip(UNIT_TESTS, pool.map(unit_test, UNIT_TESTS)):
            assert code == 0, f"{name}: {output}"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_commands_are_clean(command):
    code, output = under_valgrind([PROGRAM, *command], "/")
    assert code == 0, output
