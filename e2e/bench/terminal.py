# SPDX-License-Identifier: Apache-2.0
"""A terminal of 80x24 for a command, and what a person sees on it."""

import fcntl
import os
import pty
import re
import select
import struct
import termios
import time

COLUMNS, ROWS = 80, 24


class Terminal:
    def __init__(self, command, cwd, environment):
        self.seen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
            os.execvpe(command[0], command, environment)

    def read_until(self, text, seconds=60):
        """Reads until the text was seen, or to the end if text is None. Returns everything so far."""
        deadline = time.monotonic() + seconds
        while text is None or text not in self.seen:
            assert time.monotonic() < deadline, self.seen
            if select.select([self.fd], [], [], 1)[0]:
                try:
                    data = os.read(self.fd, 4096)
                except OSError:  # the other end is closed
                    data = b""
                if not data:
                    break
                self.seen += data.decode(errors="replace")
        assert text is None or text in self.seen, self.seen
        return self.seen

    def write(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        """Reads to the end. Returns the exit code."""
        self.read_until(None)
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


def plain(text):
    """Without colors."""
    return re.sub(r"\033\[[0-9;]*m", "", text)


def lines_of(text):
    """The lines that remain on the screen: carriage returns and the erasure of lines take effect, long lines are wrapped."""
    lines = []
    for line in plain(text).replace("\r\n", "\n").split("\n"):
        shown = line.rpartition("\r\033[K")[2]
        assert "\033" not in shown and "\r" not in shown, repr(line)
        lines += [shown[at:at + COLUMNS] for at in range(0, len(shown) or 1, COLUMNS)]
    return lines
