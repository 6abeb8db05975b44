# SPDX-License-Identifier: Apache-2.0
"""Exports from values: they are what helm has computed, which a template of the chart tells."""

import json

import pytest

from api.helm.harness import chart_archive, raw

TELL = """
apiVersion: v1
kind: ConfigMap
metadata: {name: seen}
data:
  values: {{ .Values | toJson | quote }}
  version: {{ .Chart.Version | quote }}
  revision: {{ .Release.Revision | quote }}
"""


def subchart(name, values, **metadata):
    return {"Chart.yaml": {"apiVersion": "v2", "name": name, "version": "0.1.0", **metadata}, "values.yaml": values}


def below(folder, files):
    return {f"{folder}/{path}": content for path, content in files.items()}


def chart():
    """Subcharts as directories and as archives, below each other, renamed, switched off by condition and by tag, and with
    values that the parent imports."""
    deep = subchart("deep", {"level": "deep", "global": {"zone": "of deep"}})
    sub = {**subchart("sub", {"word": "default", "other": {"a": 1, "b": 2}, "nothing": None, "exports": {"port": {"http": 80}}},
                      dependencies=[{"name": "deep", "version": "0.1.0"}]), **below("charts/deep", deep)}
    packed = subchart("packed", {"size": 1, "table": {"x": [1, 2], "k": "z"}})
    dependencies = [{"name": "sub", "version": "0.1.0", "import-values": ["port", {"child": "other", "parent": "taken.over"}]},
                    {"name": "packed", "version": "0.1.0", "alias": "renamed"}, {"name": "packed", "version": "0.1.0", "alias": "again"},
                    {"name": "off", "version": "0.1.0", "condition": "off.enabled"}, {"name": "tagged", "version": "0.1.0", "tags": ["extra"]}]
    return chart_archive({"values.yaml": {"color": "red", "sub": {"word": "parent"}, "renamed": {"size": 2}, "off": {"enabled": False},
                                          "tags": {"extra": False}, "global": {"zone": "a", "kept": True}, "gone": {"a": 1, "b": 2}},
                          "templates/tell.yaml": TELL, **below("charts/sub", sub),
                          "charts/packed-0.1.0.tgz": chart_archive({"values.yaml": packed["values.yaml"]}, name="packed", version="0.1.0"),
                          **below("charts/off", subchart("off", {"never": 1})), **below("charts/tagged", subchart("tagged", {"never": 2}))},
                         dependencies=dependencies)


VALUES = {"color": "blue", "sub": {"other": {"a": 3, "b": None}}, "global": {"zone": "b", "new": [1]}, "gone": {"a": None},
          "again": {"table": {"k": None}}, "unknown": {"deep": "x"}}


@pytest.mark.parametrize("is_release", [False, True], ids=["render", "release"])
def test_exports_are_what_templates_see(world, is_release):
    exports = {"exports": [{"key": "values", "jsonPath": ".Values"}, {"key": "version", "jsonPath": ".Chart.Version"},
                           {"key": "name", "jsonPath": ".Release.Name"}, {"key": "deep", "jsonPath": ".Values.sub.deep.level"}]}
    world.start()
    world.deploy("item", raw(chart()), is_release=is_release, values=VALUES, exports=exports)
    world.succeeded("item")
    seen = world.found("seen")["data"]
    exported = world.exported("item")
    assert exported["values"] == json.loads(seen["values"]), "the templates saw other values"
    assert (exported["version"], exported["name"], exported["deep"]) == (seen["version"], "app", "deep")
    # The chart uses all of it.
    values = exported["values"]
    assert values["renamed"]["size"] == 2 and values["again"]["size"] == 1 and values["taken"]["over"]["b"] == 2
    assert values["sub"]["deep"]["global"] == {"zone": "b", "kept": True, "new": [1]} and "never" not in str(values)
    # The template that told it leaves nothing behind.
    assert world.names() == ["seen"]


def test_capabilities_are_exported_when_rendering(world):
    version = world.kube.request("GET", "/version")["gitVersion"]
    archive = chart_archive({"templates/tell.yaml": TELL, "charts/plain/Chart.yaml": {"apiVersion": "v2", "name": "plain", "version": "1.0.0"},
                             "charts/plain/values.yaml": {"listed": "nowhere"}})
    world.start()
    world.deploy("item", raw(archive), exports={"exports": [{"key": "kube", "jsonPath": ".Capabilities.KubeVersion.Version"},
                                                            {"key": "plain", "jsonPath": ".Values.plain.listed"}]})
    world.succeeded("item")
    assert world.exported("item") == {"kube": version, "plain": "nowhere"}


REFERRING = """
apiVersion: v1
kind: ConfigMap
metadata: {name: referring, annotations: {name: referred}}
data: {color: {{ .Values.color }}}
---
apiVersion: v1
kind: Secret
metadata: {name: referred}
stringData: {k: v}
"""


@pytest.mark.parametrize("is_release", [False, True], ids=["render", "release"])
def test_exports_are_read_from_objects_and_from_what_they_refer_to(world, is_release):
    """In the older list, too."""
    here = {"apiVersion": "v1", "kind": "ConfigMap", "name": "referring", "namespace": world.space}
    world.start()
    world.deploy("item", raw(chart_archive({"templates/a.yaml": REFERRING})), is_release=is_release, values={"color": "red"},
                 exportsFromManifests=[{"key": "old", "jsonPath": ".data.color", "fromResource": here}],
                 exports={"exports": [{"key": "ref", "jsonPath": ".metadata.annotations", "fromResource": here,
                                       "fromObjectRef": {"apiVersion": "v1", "kind": "Secret", "jsonPath": ".data.k"}}]})
    world.succeeded("item")
    assert world.exported("item") == {"old": "red", "ref": "dg=="}
