# SPDX-License-Identifier: Apache-2.0
"""What a controller counts, read as Prometheus would."""

import re
import urllib.request


def runs_ended(address):
    """Of all phases. Cheap, however many items there are."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=30) as answer:
        text = answer.read().decode()
    return sum(int(value) for value in re.findall(r"^longshore_runs_total\{.*\} (\d+)$", text, re.M))
