# SPDX-License-Identifier: Apache-2.0
"""The audit log of an API server: the requests it received, from which user, and how it replied."""

import json
import pathlib

# One entry per request, written when the response is complete. Watches are logged when they start, as they may never complete.
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


REVIEWS = "selfsubjectaccessreviews"
DISCOVERY = "/apis/landscaper.gardener.cloud/v1alpha1"


def is_permission_check(uri):
    """Whether a request only asks for permissions: the controller sends these in parallel and they change nothing."""
    path = uri.partition("?")[0]
    return path.endswith("/" + REVIEWS) or path == DISCOVERY


class AuditLog:
    """Reads the log file. Pass a mark (see mark) to leave out earlier entries."""

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def mark(self):
        """The current end of the log."""
        return self.path.stat().st_size if self.path.exists() else 0

    def entries(self, since=0, *, verb=None, resource=None, user=None, namespace=None, name=None):
        """Matching entries after the mark. resource is the plural, followed by "/subresource" if there is one. The permission
        checks of a controller at its start are left out unless resource asks for them."""
        if not self.path.exists():
            return []
        with open(self.path, "rb") as log:
            log.seek(since)
            lines = log.read().split(b"\n")
        # The last piece is empty, or a line that is still being written.
        found = [json.loads(line) for line in lines[:-1]]
        return [entry for entry in found
                if (resource == REVIEWS or not is_permission_check(entry["requestURI"]))
                and (verb is None or entry["verb"] == verb)
                and (resource is None or resource_of(entry) == resource)
                and (user is None or entry["user"]["username"] == user)
                and (namespace is None or entry.get("objectRef", {}).get("namespace") == namespace)
                and (name is None or entry.get("objectRef", {}).get("name") == name)]

    def count(self, since=0, **wanted):
        return len(self.entries(since, **wanted))

    def summary(self, since=0, **wanted):
        """Lines such as "create secrets 201" in order, for the messages of failed assertions."""
        return [f"{entry['verb']} {resource_of(entry)} {entry.get('responseStatus', {}).get('code', '-')}"
                for entry in self.entries(since, **wanted)]


def resource_of(entry):
    reference = entry.get("objectRef", {})
    resource = reference.get("resource", "")
    return f"{resource}/{reference['subresource']}" if "subresource" in reference else resource
