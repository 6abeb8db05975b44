# SPDX-License-Identifier: Apache-2.0
"""Memory limits are enforced where control groups can be created; elsewhere there is a warning."""

from local.conftest import shell

# busybox's tail -c keeps that many bytes in memory.
GREEDY = "exec tail -c 200000000 /dev/zero"


def test_main_that_exceeds_its_memory_limit(local):
    result = local.run_item(shell(GREEDY, resources={"limits": {"memory": "32Mi"}}), "--timeout", "20s")
    if local.user == "root":
        assert result.code == 137 and "memory" in result.data["error"], result
    else:
        assert "warning: resources.limits.memory: not enforced" in result.err, result
