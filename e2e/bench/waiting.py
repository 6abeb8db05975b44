# SPDX-License-Identifier: Apache-2.0
"""Waiting for something to become true, with a generous limit that only a broken part reaches."""

import time


def wait_until(condition, what, timeout=120, interval=0.05):
    """Calls condition until it returns something true, and returns that. Raises TimeoutError naming what was awaited."""
    deadline = time.monotonic() + timeout
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            raise TimeoutError(f"still not after {timeout} s: {what}")
        time.sleep(interval)
