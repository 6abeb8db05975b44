# SPDX-License-Identifier: Apache-2.0
"""--shell runs a shell on the terminal instead of main's program, with the same inputs; its state is saved."""

from bench.terminal import Terminal, plain
from local.conftest import item, shell


def start(local, *arguments):
    return Terminal(local.command("run", *arguments, "--shell"), local.home, local.environment(TERM="xterm"))


def test_shell_on_a_terminal(local):
    path = local.documents(shell("never run", image=f"oci-archive:{local.image}", importValues={"answer": 42}))
    terminal = start(local, path)
    seen = plain(terminal.read_until("$ "))
    assert "note: main's own program is: /bin/sh -c 'never run'\r\n" in seen
    terminal.write("cat $IMPORTS_PATH; echo; echo kept > $STATE_PATH/f; echo user=$(id -u)\n")
    seen = terminal.read_until("user=1000")
    assert '"answer": 42' in seen or '"answer":42' in seen
    terminal.write("exit 0\n")
    terminal.read_until("1 file")
    assert terminal.end() == 0
    assert list((local.state_of() / "state").iterdir())


def test_shell_needs_a_terminal_and_a_shell_in_the_image(local):
    path = local.documents(item(image="rootfs:empty", command=["/x"]))
    (local.home / "empty").mkdir()
    local.own()
    result = local.run(path, "--shell")
    assert (result.code, result.err) == (2, "longshore run: option --shell needs a terminal, but standard input or output is not one\n")
    terminal = start(local, path)
    assert terminal.end() == 127
    assert 'option --shell: the image has no "/bin/sh"\r\n' in terminal.seen
