# SPDX-License-Identifier: Apache-2.0
"""Waits for a condition, with a generous timeout that is only reached if something is broken."""

import time


def wait_until(condition, what, timeout=120, interval=0.05):
    """Calls condition until it returns a true value, and returns that value. Raises TimeoutError that names the condition."""
    deadline = time.monotonic() + timeout
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            raise TimeoutError(f"timed out after {timeout} s waiting for: {what}")
        time.sleep(interval)
