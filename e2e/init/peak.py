# SPDX-License-Identifier: Apache-2.0
"""peak.py FILE COMMAND...: runs the command, writes its maximum resident memory (KiB) to FILE, exits with its code.

Linux starts a process's peak with the memory of the process that forked it, exec or not. A pytest that has run for a while
has hundreds of MiB, so its children can't be measured from there: this small process stands between them.
"""

import os
import sys


def main():
    pid = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
    _, status, usage = os.wait4(pid, 0)
    with open(sys.argv[1], "w") as file:
        file.write(str(usage.ru_maxrss))
    code = os.waitstatus_to_exitcode(status)
    # Signals are reported as a shell does.
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
