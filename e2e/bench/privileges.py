# SPDX-License-Identifier: Apache-2.0
"""Checks that this process may start a node or switch to another user."""

import os
import subprocess

from bench import paths


class PrivilegeMissing(Exception):
    """Says which privilege is missing. The test then fails: a skip could be mistaken for a pass."""


NEEDED = "the node of the test bench needs root with mount, network and pid namespaces and writable control groups"


def require_root(purpose):
    if os.geteuid() != 0:
        raise PrivilegeMissing(f"{purpose} needs root: this is user {os.geteuid()}, run it as root")


def require_node():
    if os.geteuid() != 0:
        raise PrivilegeMissing(f"{NEEDED}: this is user {os.geteuid()}, run it as root")
    attempt = subprocess.run([paths.installed("unshare"), "--mount", "--propagation", "private", "--net", "--pid", "--uts",
                              "--ipc", "--fork", "--kill-child", "--mount-proc", "true"], capture_output=True, text=True)
    if attempt.returncode:
        raise PrivilegeMissing(f"{NEEDED}: cannot create namespaces ({attempt.stderr.strip()}); "
                               "CAP_SYS_ADMIN and CAP_NET_ADMIN are needed (in a container: --privileged)")
    if not os.access("/sys/fs/cgroup", os.W_OK):
        raise PrivilegeMissing(f"{NEEDED}: /sys/fs/cgroup is not writable (in a container: --privileged)")
    if str(paths.STATE_ROOT).startswith("/var/"):
        raise PrivilegeMissing(f"{paths.STATE_ROOT} is below /var, on which the node mounts an overlay: "
                               "set LONGSHORE_STATE to another directory")
