# SPDX-License-Identifier: Apache-2.0
"""Memory of longshore-wait next to main, in a dynamic build.

RSS is the sum of anonymous memory (RssAnon) and mapped pages of program and libraries (RssFile). Most of the latter belong to
dependencies of Debian's libcurl (GnuTLS, Kerberos, LDAP ...). common/base/memory_trim.c unmaps them while the program is idle.
"""

import random
import signal
import threading
import time

import pytest

from bench.proc import memory
from wait.harness import Item, ended, wait_for_log
from wait.reader import whole_generations

MIB = 1 << 20


@pytest.fixture
def item(apiserver, namespace):
    return Item(apiserver, namespace)


def shown(name, found):
    print(f"\n{name}: " + ", ".join(f"{key} {found[key] / MIB:.1f} MiB" for key in ("RssAnon", "RssFile", "VmRSS", "VmHWM")))


def test_waiting_costs_at_most_8_mib(item):
    item.exports.write_text("a: 1")
    process = item.start(flags=["-v", "debug"])
    wait_for_log(process, "the pod was seen")
    time.sleep(1)
    found = memory(process.pid)
    shown("waiting", found)
    assert found["VmRSS"] <= 8 * MIB
    item.end_main()
    process.wait()
    ended(process, 0)


class Peaks(threading.Thread):
    """The maximum of each number, sampled every few milliseconds while the process runs."""

    def __init__(self, process):
        super().__init__(daemon=True)
        self.process, self.found = process, {}
        self.start()

    def run(self):
        while self.process.running:
            try:
                for name, value in memory(self.process.pid).items():
                    self.found[name] = max(self.found.get(name, 0), value)
            except (FileNotFoundError, ProcessLookupError):
                return
            time.sleep(0.005)


def test_storing_200_mib_costs_at_most_16_mib(item):
    chance = random.Random(7)
    for number in range(10):
        with open(item.state / f"random-{number}", "wb") as file:
            for _ in range(10):
                file.write(chance.randbytes(MIB))
        with open(item.state / f"text-{number}", "wb") as file:
            for line in range(160_000):
                file.write(b"%064d\n" % (line * chance.randrange(1000)))
    assert sum(path.stat().st_size for path in item.state.iterdir()) >= 200 * 1_000_000
    # After SIGTERM the state is stored as a snapshot, and its digest is taken once more when main's time is over.
    process = item.start(flags=["-v", "debug"], env={"LONGSHORE_MAIN_GRACE_SECONDS": "6"})
    wait_for_log(process, "the pod was seen")
    time.sleep(1)
    peaks = Peaks(process)
    process.signal(signal.SIGTERM)
    process.wait(600)
    ended(process, 1)
    peaks.join(5)
    shown("storing 200 MiB", peaks.found)
    assert peaks.found["VmRSS"] <= 16 * MIB
    [generation] = whole_generations(item.state_secrets())
    assert generation.sequence == item.sequence - 1 and len(generation.secrets) > 100
    files = generation.files
    assert all(files[path.name] == path.read_bytes() for path in item.state.iterdir())
