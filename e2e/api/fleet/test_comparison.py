# SPDX-License-Identifier: Apache-2.0
"""The simulated fleet answers as a real API server."""

import copy
import itertools
import json
import pathlib
import re
import urllib.parse

import pytest

from bench.fleet import Fleet
from bench.modules import load
from bench.waiting import wait_until

scenarios = load("fleet_scenarios", pathlib.Path(__file__).with_name("scenarios.py"))

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
# Values that differ between two servers.
VOLATILE = {"resourceVersion", "continue", "time", "lastTransitionTime"}
# A default of the real server that nothing depends on.
IGNORED_MEMBERS = {"storageVersionHash", "shortNames", "categories", "observedGeneration"}


class Player:
    """Sends the rows of a scenario to one server and collects the answers."""

    def __init__(self, kube, namespace):
        self.kube = kube
        self.answers = {"namespace": namespace}

    def fill(self, value):
        """value with the references to earlier answers replaced."""
        if isinstance(value, str):
            return re.sub(r"\{([a-z]+)((?:\.\w+)*)\}", self._find, value)
        if isinstance(value, list):
            return [self.fill(item) for item in value]
        if isinstance(value, dict):
            return {key: self.fill(item) for key, item in value.items()}
        return value

    def _find(self, match):
        value = self.answers[match[1]]
        for key in match[2].split(".")[1:]:
            value = value[key]
        return value

    def play(self, row):
        """(code, body) of the answer; for a watch the events."""
        path, query, body = self.fill(row.path), self.fill(row.query), self.fill(row.body)
        if row.events:
            return 200, self._watch(path, query, row)
        if row.retries:
            wait_until(lambda: self.kube.raw("GET", path)[0] == 200, f"{path} is served")
        before, self.kube._headers = self.kube._headers, self.headers(row)
        try:
            code, data = self.kube.raw(row.method, path, query=query, body=body, content_type=row.content_type)
        finally:
            self.kube._headers = before
        try:
            answer = json.loads(data)
        except ValueError:
            answer = data.decode(errors="replace")
        if row.name:
            self.answers[row.name] = answer
        return code, answer

    def headers(self, row):
        return {**self.kube._headers, **({"Accept": row.accept} if row.accept else {})}

    def _watch(self, path, query, row):
        connection = self.kube._connect(30)
        try:
            connection.request("GET", path + "?" + urllib.parse.urlencode(query), headers=self.headers(row))
            answer = connection.getresponse()
            return [json.loads(line) for line in itertools.islice(iter(answer.readline, b""), row.events)]
        finally:
            connection.close()


def in_order(value):
    return json.dumps(value, sort_keys=True)


def normal(value, key=""):
    """The part of an answer in which two servers must agree."""
    if isinstance(value, dict):
        result = {name: normal(item, name) for name, item in value.items() if name not in IGNORED_MEMBERS}
        if result.get("kind") == "Status":
            return normal_status(result)
        if result.get("kind") == "SelfSubjectAccessReview":
            return result["status"]
        if result.get("kind") == "CustomResourceDefinition" and "spec" in result:  # whether a field is a pointer in Go decides who owns it
            result["metadata"].pop("managedFields", None)
        return result
    if isinstance(value, list):
        items = [normal(item) for item in value]
        return sorted(items, key=in_order) if key in ("managedFields", "conditions", "causes", "resources") else items
    if key in VOLATILE:
        return "*"
    if isinstance(value, str):
        return UID.sub("UID", TIME.sub("TIME", value))
    return value


def normal_status(status):
    """Codes, reasons, details and the fields that are wrong; the texts of validation differ in their wording."""
    if status["reason"] in ("Invalid", "BadRequest", "Conflict", "MethodNotAllowed", "UnsupportedMediaType") \
            if "reason" in status else False:
        details = status.get("details") or {}
        causes = [{"reason": cause.get("reason"), "field": cause.get("field")} for cause in details.get("causes", [])]
        status = {**status, "message": "", "details": {**details, "causes": sorted(causes, key=in_order)}}
    return status


def differ(path, real, simulated):
    """The places in which two answers differ, as lines."""
    if isinstance(real, dict) and isinstance(simulated, dict):
        for key in sorted({*real, *simulated}):
            yield from differ(f"{path}.{key}", real.get(key, "nothing"), simulated.get(key, "nothing"))
    elif isinstance(real, list) and isinstance(simulated, list) and len(real) == len(simulated):
        for index, (one, other) in enumerate(zip(real, simulated)):
            yield from differ(f"{path}[{index}]", one, other)
    elif real != simulated:
        yield f"    {path}: real {json.dumps(real)}, simulated {json.dumps(simulated)}"


@pytest.mark.parametrize("name", scenarios.SCENARIOS)
def test_fleet_and_api_server_answer_alike(apiserver, comparison_fleet, request, name):
    number = list(scenarios.SCENARIOS).index(name)
    namespace = f"fleet-comparison-{number}"
    players = [Player(apiserver.kube, namespace), Player(comparison_fleet.client(number), namespace)]
    for player in players:
        player.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    differences = []
    try:
        for index, row in enumerate(scenarios.SCENARIOS[name]):
            real, simulated = ((code, normal(copy.deepcopy(answer))) for code, answer in (player.play(row) for player in players))
            if real != simulated:
                differences.append(f"row {index}: {row.method} {row.path} {json.dumps(row.body)[:300]} {row.query}")
                differences.extend(differ("", list(real), list(simulated)))
    finally:
        remove_definitions(apiserver.kube)
    assert not differences, "\n".join(differences)


def remove_definitions(kube):
    """The shared API server must not keep our kinds; objects with finalizers would hold them."""
    for plural in ("boats", "plains"):
        crd = f"{plural}.fleet.test"
        if kube.find("apiextensions.k8s.io/v1/customresourcedefinitions", crd) is None:
            continue
        for thing in kube.items(f"fleet.test/v1/{plural}"):
            if thing["metadata"].get("finalizers"):
                kube.patch(f"fleet.test/v1/{plural}", thing["metadata"]["name"], {"metadata": {"finalizers": None}},
                           thing["metadata"]["namespace"])
        kube.delete("apiextensions.k8s.io/v1/customresourcedefinitions", crd)
        wait_until(lambda: kube.find("apiextensions.k8s.io/v1/customresourcedefinitions", crd) is None, f"{crd} is gone")


@pytest.fixture(scope="module")
def comparison_fleet():
    fleet = Fleet(len(scenarios.SCENARIOS), "--no-controllers")
    yield fleet
    fleet.close()
