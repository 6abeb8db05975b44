# SPDX-License-Identifier: Apache-2.0
"""--shell runs a shell on the terminal instead of main's program, with the same inputs; its state is saved."""

import os
import pty
import select
import time

from local.conftest import shell


def read_until(terminal, text, seconds=60):
    seen, deadline = "", time.monotonic() + seconds
    while text not in seen:
        assert time.monotonic() < deadline, seen
        if select.select([terminal], [], [], 1)[0]:
            try:
                seen += os.read(terminal, 4096).decode(errors="replace")
            except OSError:  # the other end is closed
                break
    assert text in seen, seen
    return seen


def test_shell_on_a_terminal(local):
    path = local.documents(shell("never run", image=f"oci-archive:{local.image}", importValues={"answer": 42}))
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(local.home)
        command = local.command("run", path, "--shell")
        os.execvpe(command[0], command, local.environment(TERM="dumb"))
    read_until(terminal, "$ ")
    os.write(terminal, b"cat $IMPORTS_PATH; echo; echo kept > $STATE_PATH/f; echo user=$(id -u)\n")
    seen = read_until(terminal, "user=1000")
    assert '"answer": 42' in seen or '"answer":42' in seen
    os.write(terminal, b"exit 0\n")
    read_until(terminal, "1 file")
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 0
    assert list((local.state_of() / "state").iterdir())
