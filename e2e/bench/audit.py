# SPDX-License-Identifier: Apache-2.0
"""The audit log of an API server: which requests it got, from whom, with which answer."""

import json
import pathlib

# One entry per request, when its answer is complete; for a watch, which may never be, when it starts.
POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitManagedFields: true
rules:
- level: Metadata
  verbs: [watch]
  omitStages: [RequestReceived, ResponseComplete]
- level: Metadata
  omitStages: [RequestReceived, ResponseStarted]
"""


class AuditLog:
    """Reads the log file; a mark taken before leaves out what was earlier."""

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def mark(self):
        """The present end of the log."""
        return self.path.stat().st_size if self.path.exists() else 0

    def entries(self, since=0, *, verb=None, resource=None, user=None, namespace=None, name=None):
        """Entries after the mark that match. resource is the plural, with "/subresource" where there is one."""
        if not self.path.exists():
            return []
        with open(self.path, "rb") as log:
            log.seek(since)
            lines = log.read().split(b"\n")
        # The last piece is empty, or a line that is still being written.
        found = [json.loads(line) for line in lines[:-1]]
        return [entry for entry in found
                if (verb is None or entry["verb"] == verb)
                and (resource is None or resource_of(entry) == resource)
                and (user is None or entry["user"]["username"] == user)
                and (namespace is None or entry.get("objectRef", {}).get("namespace") == namespace)
                and (name is None or entry.get("objectRef", {}).get("name") == name)]

    def count(self, since=0, **wanted):
        return len(self.entries(since, **wanted))

    def summary(self, since=0, **wanted):
        """Lines such as "create secrets 201" in order, for messages of failing tests."""
        return [f"{entry['verb']} {resource_of(entry)} {entry.get('responseStatus', {}).get('code', '-')}"
                for entry in self.entries(since, **wanted)]


def resource_of(entry):
    reference = entry.get("objectRef", {})
    resource = reference.get("resource", "")
    return f"{resource}/{reference['subresource']}" if "subresource" in reference else resource
