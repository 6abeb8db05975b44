# SPDX-License-Identifier: Apache-2.0
"""Reads the metrics of a controller, as Prometheus does."""

import re
import urllib.request


def samples(address, name):
    """The values of a metric by labels, which are one text."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=30) as answer:
        text = answer.read().decode()
    return {labels: int(value) for labels, value in re.findall(rf"^{name}\{{(.*)\}} (\d+)$", text, re.M)}


def runs_ended(address):
    """The number of runs that ended, of all phases. The cost does not depend on the number of items."""
    return sum(samples(address, "longshore_runs_total").values())
