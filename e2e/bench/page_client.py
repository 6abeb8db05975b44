# SPDX-License-Identifier: Apache-2.0
"""A client of the API behind the status page, which compares every answer with the JSON Schema."""

import http.client
import json
import urllib.parse

import jsonschema

from bench import paths

SCHEMA = json.loads((paths.CHECKOUT / "docs/schemas/status-page.schema.json").read_text())


def check(document, definition):
    """Whether the document is as the JSON Schema of the API says."""
    jsonschema.validate(document, {**SCHEMA, "anyOf": [{"$ref": f"#/$defs/{definition}"}]}, cls=jsonschema.Draft202012Validator)


class PageClient:
    """The page that a program serves on a port of loopback."""

    def __init__(self, port):
        self.port = port
        self.address = f"http://127.0.0.1:{port}/ui/"

    def get(self, path, headers=None, **parameters):
        """(status, headers, body) of one request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", f"/ui/{path}?{urllib.parse.urlencode(parameters)}", headers=headers or {})
        answer = connection.getresponse()
        try:
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def api(self, path, **parameters):
        status, _, body = self.get(f"api/v1/{path}", **parameters)
        assert status == 200, (path, parameters, status, body)
        document = json.loads(body)
        check(document, {"row": "detail"}.get(path, path))
        return document

    def states(self, kind):
        """The number of rows in each state."""
        [found] = [known for known in self.api("overview")["kinds"] if known["name"] == kind]
        return {state["name"]: state["count"] for state in found["states"]}
