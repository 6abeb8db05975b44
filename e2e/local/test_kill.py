# SPDX-License-Identifier: Apache-2.0
"""SIGKILL at any moment of a run: nothing stays running or mounted, and the state is the last or the new one, whole."""

import time

from local.conftest import SIGNALS, end, shell, wait_gone

COUNT = ("n=$(cat $STATE_PATH/n 2>/dev/null || echo 0); m=$(cat $STATE_PATH/m 2>/dev/null || echo 0); "
         "[ $n = $m ] || exit 9; n=$((n+1)); echo $n > $STATE_PATH/n; echo $n > $STATE_PATH/m; "
         "echo \"runs: $n\" > $EXPORTS_PATH")
# A run takes about a tenth of a second here; slower machines are hit at earlier moments of it.
MOMENTS_MS = [1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 120, 140, 160, 200, 250]


def test_kill_9_at_any_moment(local):
    document = shell(COUNT, image=f"oci-archive:{local.image}")
    path = local.documents(document)
    assert local.run(path).code == 0
    known = 1
    for moment in MOMENTS_MS:
        process = local.start(path)
        time.sleep(moment / 1000)
        end(process, SIGNALS.SIGKILL)
        assert not wait_gone(local), moment
        result = local.run(path, "-o", "json")
        assert result.code == 0, (moment, result)
        count = result.data["exports"]["runs"]
        assert count in (known + 1, known + 2), f"killed after {moment} ms: {known} became {count}"
        known = count
