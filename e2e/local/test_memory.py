# SPDX-License-Identifier: Apache-2.0
"""Memory limits: enforced where control groups can be made, and said where not."""

from local.conftest import shell

# busybox's tail keeps what it was asked for in memory.
GREEDY = "exec tail -c 200000000 /dev/zero"


def test_main_over_its_limit_is_named_as_such(local):
    result = local.run_item(shell(GREEDY, resources={"limits": {"memory": "32Mi"}}), "--timeout", "20s")
    if local.user == "root":
        assert result.code == 137 and "memory" in result.data["error"], result
    else:
        assert "memory limits can't be enforced" in result.err, result
