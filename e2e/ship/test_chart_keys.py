# SPDX-License-Identifier: Apache-2.0
"""The schemas of the charts: every key of a Go chart that one of them replaces is known, and no other key is accepted anywhere. The lifecycle manager
and the registrations replace programs that have no chart of their own."""

import json

import pytest
import yaml

from bench import paths
from ship import go_chart, helm, test_agent_chart, test_helm_chart, test_manifest_chart
from ship.test_chart import REQUIRED, paths_of

# Values files with every key of the Go chart, which other tests install.
GO_VALUES = {
    "container-deployer": yaml.safe_load((paths.CHECKOUT / "e2e" / "ship" / "original-values.yaml").read_text()),
    "manifest-deployer": test_manifest_chart.GO_VALUES, "helm-deployer": test_helm_chart.GO_VALUES, "landscaper-agent": test_agent_chart.OLD_VALUES}
# What the API server or the program checks, and what Helm adds.
FREE = {("podSecurityContext",), ("securityContext",), ("affinity",), ("global",), ("longshore-library",), ("maintenancePolicy",), ("deployer", "targetSelector"),
        ("deployer", "configuration"), ("deployerManagement", "agent"), ("deployerManagement", "deployerRepositoryContext"), ("extraEnv", 0, "valueFrom"),
        ("deployer", "initContainer", "env", 0, "valueFrom"), ("deployer", "waitContainer", "env", 0, "valueFrom")}


def schema_of(chart):
    return json.loads((helm.CHART.parent / chart / "values.schema.json").read_text())


def is_object(schema):
    return "object" in schema.get("type", ())


def objects_in(schema, path=()):
    """(path, schema) of every object in a schema, also of those in lists."""
    if is_object(schema):
        yield path, schema
    for key, inner in schema.get("properties", {}).items():
        yield from objects_in(inner, (*path, key))
    if "items" in schema:
        yield from objects_in(schema["items"], (*path, 0))


@pytest.mark.parametrize("chart", go_chart.KEYS)
def test_every_key_of_the_go_chart_is_known(chart):
    for key in go_chart.KEYS[chart]:
        schema = schema_of(chart)
        for part in key.split("."):
            assert part in schema.get("properties", {}), f"{chart}: {key}"
            schema = schema["properties"][part]


@pytest.mark.parametrize("chart", go_chart.KEYS)
def test_the_values_that_other_tests_install_have_all_keys_of_the_go_chart_and_no_others(chart):
    keys, used = go_chart.KEYS[chart], set(paths_of(GO_VALUES[chart]))
    unknown = {path for path in used if not any(path == key or path.startswith(key + ".") or key.startswith(path + ".") for key in keys)}
    # Not both at a time.
    alternatives = {key for key in keys if "ClusterKubeconfig." in key} | {"resources.limits"}
    missing = {key for key in keys if not any(path == key or path.startswith(key + ".") for path in used)} - alternatives
    assert (unknown, missing) == (set(), set())


@pytest.mark.parametrize("chart", REQUIRED)
def test_no_object_of_a_schema_accepts_unknown_keys(chart):
    found = list(objects_in(schema_of(chart)))
    assert len(found) > 10
    for path, schema in found:
        # Or a map from names to values of one type, or elements of a list of objects of Kubernetes.
        is_closed = schema.get("additionalProperties") is False and schema["properties"]
        is_map = isinstance(schema.get("additionalProperties"), dict)
        assert is_closed or is_map or path in FREE or path[-1] == 0, path


@pytest.mark.parametrize("chart", REQUIRED)
def test_helm_names_the_unknown_key_of_every_object(chart):
    """All in one values file: Helm reports every mistake."""
    closed = [path for path, schema in objects_in(schema_of(chart)) if schema.get("additionalProperties") is False and 0 not in path]
    values = {}
    for path in closed:
        inner = values
        for part in path:
            inner = inner.setdefault(part, {})
        inner["mistyped"] = 1
    with pytest.raises(helm.HelmError) as refused:
        helm.template(values, chart=helm.CHART.parent / chart)
    assert str(refused.value).count("'mistyped'") == len(closed), refused.value
