# SPDX-License-Identifier: Apache-2.0
"""After SIGKILL at any moment of a run, nothing is left running or mounted, and the state is complete: the old one or the new one."""

import time

from local.conftest import SIGNALS, end, shell, wait_gone

COUNT = ("n=$(cat $STATE_PATH/n 2>/dev/null || echo 0); m=$(cat $STATE_PATH/m 2>/dev/null || echo 0); "
         "[ $n = $m ] || exit 9; n=$((n+1)); echo $n > $STATE_PATH/n; echo $n > $STATE_PATH/m; "
         "echo \"runs: $n\" > $EXPORTS_PATH")
KILLS = 16


def test_kill_9_at_any_moment(local):
    document = shell(COUNT, image=f"oci-archive:{local.image}")
    path = local.documents(document)
    assert local.run(path).code == 0
    began = time.monotonic()
    assert local.run(path).code == 0
    duration = time.monotonic() - began
    known, hits = 2, 0
    for kill in range(KILLS):
        process = local.start(path)
        time.sleep(duration * kill / KILLS)
        hits += end(process, SIGNALS.SIGKILL).code == -SIGNALS.SIGKILL
        assert not wait_gone(local), kill
        result = local.run(path, "-o", "json")
        assert result.code == 0, (kill, result)
        count = result.data["exports"]["runs"]
        assert count in (known + 1, known + 2), f"kill {kill} of {KILLS}: {known} became {count}"
        known = count
    assert hits >= KILLS // 2, f"only {hits} of {KILLS} kills hit a run that was still alive"
