# SPDX-License-Identifier: Apache-2.0
"""Requests that are sent to the simulated fleet and to a real API server, which must answer alike.

A scenario is a list of rows; each row is one request, or one watch that reads a number of events. "{name.path}" in a path, a query or
a body is replaced by a value of an earlier answer: "{made.metadata.uid}" is the uid of the object that the row "made" returned.
"""

import dataclasses

from bench.kube import APPLY, JSON_PATCH, MERGE, STRATEGIC

NAMESPACE = "{namespace}"
CORE = f"/api/v1/namespaces/{NAMESPACE}"
MAPS = f"{CORE}/configmaps"
SECRETS = f"{CORE}/secrets"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
BOATS = f"/apis/fleet.test/v1/namespaces/{NAMESPACE}/boats"
PLAIN = f"/apis/fleet.test/v1/namespaces/{NAMESPACE}/plains"


@dataclasses.dataclass
class Row:
    method: str
    path: str
    body: object = None
    query: dict = dataclasses.field(default_factory=dict)
    content_type: str = "application/json"
    name: str = ""       # to refer to its answer
    events: int = 0      # a watch that reads this many events
    accept: str = ""     # instead of application/json
    retries: bool = False  # until it succeeds: the real server establishes a new kind a moment later


def create(path, body, **options):
    return Row("POST", path, body, **options)


def get(path, **options):
    return Row("GET", path, **options)


def lists(path, **query):
    return Row("GET", path, query=query)


def put(path, body, **options):
    return Row("PUT", path, body, **options)


def merge(path, body, **options):
    return Row("PATCH", path, body, content_type=MERGE, **options)


def json_patch(path, *operations, **options):
    return Row("PATCH", path, list(operations), content_type=JSON_PATCH, **options)


def strategic(path, body, **options):
    return Row("PATCH", path, body, content_type=STRATEGIC, **options)


def apply(path, body, manager="a", force=None, **options):
    query = {"fieldManager": manager} if manager else {}
    if force is not None:
        query["force"] = str(force).lower()
    return Row("PATCH", path, body, query=query, content_type=APPLY, **options)


def delete(path, **body):
    return Row("DELETE", path, body or None)


def watch(path, events, **query):
    return Row("GET", path, query={"watch": "true", "timeoutSeconds": "20", **query}, events=events)


def config_map(name, data=None, **metadata):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, **({"data": data} if data is not None else {})}


def boat(name, spec=None, status=None, kind="Boat", **metadata):
    return {"apiVersion": "fleet.test/v1", "kind": kind, "metadata": {"name": name, **metadata},
            **({"spec": spec} if spec is not None else {}), **({"status": status} if status is not None else {})}


TEXT = {"type": "string"}
CREW = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
        "items": {"type": "object", "required": ["name"], "properties": {
            "name": TEXT, "role": TEXT, "paid": {"type": "boolean", "default": True}}}}
SPEC = {"type": "object", "properties": {
    "name": {"type": "string", "minLength": 2, "maxLength": 8, "pattern": "^[a-z]+$"},
    "size": {"type": "string", "enum": ["small", "large"], "default": "small"},
    "crew": CREW, "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT},
    "ports": {"type": "array", "items": {"type": "integer"}},
    "address": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"street": TEXT, "town": TEXT}},
    "extra": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "options": {"type": "object", "additionalProperties": TEXT}}}
STATUS = {"type": "object", "properties": {"state": TEXT, "conditions": {
    "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
    "items": {"type": "object", "required": ["type"], "properties": {"type": TEXT, "status": TEXT}}}}}


def definition(plural, kind, subresources):
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.fleet.test"},
            "spec": {"group": "fleet.test", "scope": "Namespaced", "names": {"plural": plural, "kind": kind},
                     "versions": [{"name": "v1", "served": True, "storage": True, "subresources": subresources, "schema": {
                         "openAPIV3Schema": {"type": "object", "properties": {"spec": SPEC, "status": STATUS}}}}]}}


ANY = {"a": "1"}
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
SCENARIOS = {
    "objects are created once, read, replaced with a matching version and deleted": [
        create(MAPS, config_map("one", {"a": "1"}), name="made"),
        create(MAPS, config_map("one", {"a": "2"})),
        get(f"{MAPS}/one"),
        get(f"{MAPS}/two"),
        put(f"{MAPS}/one", config_map("one", {"a": "2"}, resourceVersion="{made.metadata.resourceVersion}"), name="new"),
        put(f"{MAPS}/one", config_map("one", {"a": "3"}, resourceVersion="{made.metadata.resourceVersion}")),
        put(f"{MAPS}/one", config_map("one", {"a": "3"})),
        put(f"{MAPS}/two", config_map("two", {"a": "3"})),
        put(f"{MAPS}/one", config_map("two", {"a": "3"})),
        put(f"{MAPS}/one", config_map("one", {"a": "3"}, uid="00000000-0000-4000-8000-000000000000")),
        delete(f"{MAPS}/one"),
        delete(f"{MAPS}/one"),
    ],
    "requests that make no sense are refused": [
        create(MAPS, config_map("Bad_Name", ANY)),
        create(MAPS, config_map("labelled", ANY, labels={"a": "not valid!"})),
        create(MAPS, config_map("versioned", ANY, resourceVersion="12")),
        create("/api/v1/namespaces/does-not-exist/configmaps", config_map("one", ANY)),
        create(MAPS, config_map("one", ANY, namespace="default")),
        get(f"{CORE}/nothings"),
        get("/apis/nobody.test/v1/things"),
        lists(MAPS, labelSelector="a in ("),
        lists(MAPS, fieldSelector="spec.unknown=1"),
        merge(f"{MAPS}/missing", {"data": ANY}),
        Row("PATCH", f"{MAPS}/missing", {"data": ANY}, content_type="application/unknown+json"),
        delete(f"{MAPS}/missing", propagationPolicy="Sideways"),
    ],
    "patches change what they name": [
        create(MAPS, config_map("p", {"a": "1", "b": "2"}, labels={"x": "y"}), name="made"),
        merge(f"{MAPS}/p", {"data": {"a": "9", "b": None, "c": "3"}}),
        merge(f"{MAPS}/p", {"data": {"a": "9"}}, name="same"),
        merge(f"{MAPS}/p", {"metadata": {"resourceVersion": "{made.metadata.resourceVersion}"}, "data": {"a": "0"}}),
        merge(f"{MAPS}/p", {"metadata": {"annotations": {"k": "v"}, "labels": None}}),
        json_patch(f"{MAPS}/p", {"op": "test", "path": "/data/a", "value": "9"}, {"op": "replace", "path": "/data/a", "value": "10"},
                   {"op": "add", "path": "/metadata/annotations/d~1e", "value": "4"}, {"op": "remove", "path": "/data/c"}),
        json_patch(f"{MAPS}/p", {"op": "test", "path": "/data/a", "value": "wrong"}),
        strategic(f"{MAPS}/p", {"data": {"a": "11"}, "metadata": {"labels": {"z": "1"}}}),
    ],
    "managers share fields by server-side apply": [
        apply(f"{MAPS}/s", config_map("s", {"a": "1", "b": "1"})),
        apply(f"{MAPS}/s", config_map("s", {"a": "1", "b": "1"})),
        apply(f"{MAPS}/s", config_map("s", {"a": "2"}), "b"),
        apply(f"{MAPS}/s", config_map("s", {"a": "1", "c": "1"}), "b"),
        apply(f"{MAPS}/s", config_map("s", {"a": "2", "b": "2"}), "b"),
        apply(f"{MAPS}/s", config_map("s", {"a": "2"}), "b", force=True),
        apply(f"{MAPS}/s", config_map("s", {"b": "1"}, labels={"x": "y"})),
        merge(f"{MAPS}/s", {"data": {"b": "7"}}, query={"fieldManager": "user"}),
        apply(f"{MAPS}/s", config_map("s", {"b": "1"}, labels={"x": "y"})),
        apply(f"{MAPS}/s", config_map("s", {"b": "1"}, labels={"x": "y"}), force=True),
        apply(f"{MAPS}/s", config_map("s"), "b"),
        apply(f"{MAPS}/s", config_map("s", {"b": "1"}), None),
        apply(f"{MAPS}/s", config_map("s", {"b": "1"}, managedFields=[{"manager": "x"}])),
        apply(f"{MAPS}/s", config_map("other", {"b": "1"})),
        get(f"{MAPS}/s"),
    ],
    "a deleted object waits for its finalizers": [
        create(MAPS, config_map("f", ANY, finalizers=["fleet.test/one", "fleet.test/two"]), name="made"),
        delete(f"{MAPS}/f", preconditions={"uid": "00000000-0000-4000-8000-000000000000"}),
        delete(f"{MAPS}/f", preconditions={"resourceVersion": "1"}),
        delete(f"{MAPS}/f", preconditions={"uid": "{made.metadata.uid}"}),
        delete(f"{MAPS}/f"),
        merge(f"{MAPS}/f", {"data": {"a": "still"}}),
        merge(f"{MAPS}/f", {"metadata": {"finalizers": ["fleet.test/two"]}}),
        get(f"{MAPS}/f"),
        merge(f"{MAPS}/f", {"metadata": {"finalizers": None}}),
        get(f"{MAPS}/f"),
        create(MAPS, config_map("g", ANY)),
        delete(f"{MAPS}/g", propagationPolicy="Foreground"),
        get(f"{MAPS}/g"),
        create(MAPS, config_map("h", ANY)),
        delete(f"{MAPS}/h", propagationPolicy="Orphan"),
        create(MAPS, config_map("i", ANY)),
        delete(f"{MAPS}/i", propagationPolicy="Background", gracePeriodSeconds=0),
    ],
    "lists have pages and selectors": [
        *[create(MAPS, config_map(f"m{number}", ANY, labels={"odd": str(number % 2), "n": str(number)})) for number in range(5)],
        lists(MAPS),
        Row("GET", MAPS, query={"limit": "2"}, name="first"),
        Row("GET", MAPS, query={"limit": "2", "continue": "{first.metadata.continue}"}, name="second"),
        Row("GET", MAPS, query={"limit": "2", "continue": "{second.metadata.continue}"}),
        lists(MAPS, labelSelector="odd=1"),
        lists(MAPS, labelSelector="odd!=1,n"),
        lists(MAPS, labelSelector="n in (1,2),odd notin (0)"),
        lists(MAPS, labelSelector="!odd"),
        lists(MAPS, fieldSelector="metadata.name=m3"),
        lists(MAPS, resourceVersion="0", labelSelector="n=4"),
        lists(MAPS, limit="1", labelSelector="odd=0"),
        Row("DELETE", MAPS, query={"labelSelector": "odd=1"}),
        lists(MAPS),
    ],
    "watches continue from a version": [
        create(MAPS, config_map("w", ANY, labels={"on": "1"}), name="made"),
        merge(f"{MAPS}/w", {"data": {"a": "2"}}),
        merge(f"{MAPS}/w", {"metadata": {"labels": {"on": "0"}}}),
        merge(f"{MAPS}/w", {"metadata": {"labels": {"on": "1"}}}),
        create(MAPS, config_map("v", ANY)),
        delete(f"{MAPS}/w"),
        watch(MAPS, 5, resourceVersion="{made.metadata.resourceVersion}"),
        watch(MAPS, 4, resourceVersion="{made.metadata.resourceVersion}", labelSelector="on=1"),
        watch(MAPS, 1, resourceVersion="{made.metadata.resourceVersion}", fieldSelector="metadata.name=v"),
        watch(MAPS, 1),
        watch(MAPS, 0, resourceVersion="not-a-number"),
    ],
    "watches show what a deletion does": [
        create(MAPS, config_map("w", ANY, finalizers=["fleet.test/one"]), name="made"),
        delete(f"{MAPS}/w"),
        merge(f"{MAPS}/w", {"metadata": {"finalizers": None}}),
        create(MAPS, config_map("v", ANY, labels={"on": "1"})),
        apply(f"{MAPS}/v", config_map("v", {"b": "1"})),
        create(MAPS, config_map("u", ANY)),
        Row("DELETE", MAPS, query={"labelSelector": "on=1"}),
        watch(MAPS, 6, resourceVersion="{made.metadata.resourceVersion}"),
    ],
    "a version or a token that makes no sense is refused": [
        create(MAPS, config_map("w", ANY)),
        Row("GET", MAPS, query={"limit": "1", "continue": "not-a-token"}),
        lists(MAPS, resourceVersion="not-a-number"),
    ],
    "conflicts name what is in the way": [
        create(MAPS, config_map("c", {"a": "1", "b": "1"}), name="made", query={"fieldManager": "first"}),
        apply(f"{MAPS}/c", config_map("c", {"a": "2", "b": "2"}), "second"),
        apply(f"{MAPS}/c", config_map("c", {"a": "1"}), "second"),
        apply(f"{MAPS}/c", config_map("c", {"a": "3"}), "third"),
        apply(f"{MAPS}/c", config_map("c", {"a": "3"}, resourceVersion="{made.metadata.resourceVersion}"), "second", force=True),
        apply(f"{MAPS}/c", config_map("c", {"a": "3"}, uid="00000000-0000-4000-8000-000000000000"), "second", force=True),
        apply(f"{MAPS}/new", config_map("new", {"a": "3"}, resourceVersion="5"), "second"),
        merge(f"{MAPS}/c", {"metadata": {"uid": "00000000-0000-4000-8000-000000000000"}}),
        json_patch(f"{MAPS}/c", {"op": "test", "path": "/metadata/resourceVersion", "value": "1"}),
        delete(f"{MAPS}/c", preconditions={"resourceVersion": "{made.metadata.resourceVersion}"}),
        put(f"{MAPS}/c", config_map("c", {"z": "1"}), query={"fieldManager": "fourth"}),
        get(f"{MAPS}/c"),
    ],
    "a definition makes a kind available": [
        get(f"{BOATS}/none"),
        create(CRDS, definition("boats", "Boat", {"status": {}}), name="crd"),
        Row("GET", BOATS, retries=True),
        create(CRDS, definition("boats", "Boat", {"status": {}})),
        create(CRDS, {**definition("boats", "Boat", {}), "metadata": {"name": "wrong.fleet.test"}}),
        create(BOATS, boat("one", {"name": "ada", "unknown": 1, "crew": [{"name": "x"}]}, {"state": "ignored"}), name="made"),
        create(BOATS, boat("bad", {"name": "X"})),
        create(BOATS, boat("bad", {"size": "huge"})),
        create(BOATS, boat("bad", {"name": 3})),
        create(BOATS, boat("bad", {"crew": [{"role": "cook"}]})),
        put(f"{BOATS}/one", boat("one", {"name": "eve"})),
        put(f"{BOATS}/one", boat("one", {"name": "eve"}, resourceVersion="{made.metadata.resourceVersion}"), name="two"),
        put(f"{BOATS}/one/status", boat("one", {"name": "no"}, {"state": "Ready"}, resourceVersion="{two.metadata.resourceVersion}")),
        merge(f"{BOATS}/one/status", {"status": {"state": "Error"}}),
        merge(f"{BOATS}/one", {"status": {"state": "Ready"}}),
        merge(f"{BOATS}/one", {"spec": {"name": "eva"}}),
        merge(f"{BOATS}/one", {"metadata": {"labels": {"a": "b"}}}),
        strategic(f"{BOATS}/one", {"spec": {"name": "eva"}}),
        get(f"{BOATS}/one"),
        get("/apis/fleet.test/v1", name="discovery"),
        get(f"{CRDS}/boats.fleet.test"),
    ],
    "custom resources are applied by their schema": [
        create(CRDS, definition("boats", "Boat", {"status": {}})),
        Row("GET", BOATS, retries=True),
        apply(f"{BOATS}/s", boat("s", {"name": "ada", "crew": [{"name": "x", "role": "cook"}], "tags": ["a"], "ports": [1]})),
        apply(f"{BOATS}/s", boat("s", {"crew": [{"name": "y"}], "tags": ["b"]}), "b"),
        apply(f"{BOATS}/s", boat("s", {"ports": [2]}), "b"),
        apply(f"{BOATS}/s", boat("s", {"crew": [{"name": "x", "role": "mate"}]}), "b"),
        apply(f"{BOATS}/s", boat("s", {"crew": [{"name": "x", "role": "mate"}]}), "b", force=True),
        apply(f"{BOATS}/s", boat("s", {"address": {"street": "s"}}), "c"),
        apply(f"{BOATS}/s", boat("s", {"address": {"street": "s", "town": "t"}}), "d"),
        apply(f"{BOATS}/s", boat("s", {"extra": {"any": {"thing": [1]}}, "options": {"k": "v"}}), "c"),
        apply(f"{BOATS}/s", boat("s", {"tags": ["a"]})),
        apply(f"{BOATS}/s/status", boat("s", status={"state": "Ready", "conditions": [{"type": "A", "status": "True"}]}), "controller"),
        apply(f"{BOATS}/s/status", boat("s", status={"conditions": [{"type": "B", "status": "True"}]}), "other"),
        apply(f"{BOATS}/s/status", boat("s", status={"state": "Error"}), "other"),
        apply(f"{BOATS}/none/status", boat("none", status={"state": "Error"}), "other"),
        get(f"{BOATS}/s"),
    ],
    "a kind without a status subresource counts every change": [
        create(CRDS, definition("plains", "Plain", {})),
        Row("GET", PLAIN, retries=True),
        create(PLAIN, boat("p", {"name": "ada"}, {"state": "kept"}, kind="Plain")),
        merge(f"{PLAIN}/p", {"status": {"state": "new"}}),
        merge(f"{PLAIN}/p/status", {"status": {"state": "new"}}),
        merge(f"{PLAIN}/p", {"metadata": {"annotations": {"a": "b"}}}),
        create(PLAIN, boat("q", {"name": "ada"}, kind="Plain", finalizers=["fleet.test/one"])),
        delete(f"{PLAIN}/q"),
    ],
    "Secrets, Leases and ServiceAccounts": [
        create(SECRETS, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "b"}, "data": {"c": "ZA=="}}),
        merge(f"{SECRETS}/s", {"stringData": {"a": "e"}}),
        create(LEASES, {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"},
                        "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15}}, name="lease"),
        put(f"{LEASES}/l", {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                            "metadata": {"name": "l", "resourceVersion": "{lease.metadata.resourceVersion}"},
                            "spec": {"holderIdentity": "you", "leaseDurationSeconds": 15}}),
        put(f"{LEASES}/l", {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                            "metadata": {"name": "l", "resourceVersion": "{lease.metadata.resourceVersion}"},
                            "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15}}),
        create(f"{CORE}/serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}),
        delete(f"{CORE}/serviceaccounts/robot"),
    ],
    "a namespace that is deleted accepts nothing new": [
        create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "{namespace}-end"}}),
        create("/api/v1/namespaces/{namespace}-end/configmaps", config_map("one", ANY)),
        delete("/api/v1/namespaces/{namespace}-end"),
        create("/api/v1/namespaces/{namespace}-end/configmaps", config_map("two", ANY)),
        merge("/api/v1/namespaces/{namespace}-end/configmaps/one", {"data": {"a": "2"}}),
        delete("/api/v1/namespaces/{namespace}-end/configmaps/one"),
        delete("/api/v1/namespaces/{namespace}-end"),
        get("/api/v1/namespaces/{namespace}-end", name="left"),
        put("/api/v1/namespaces/{namespace}-end/finalize", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "{namespace}-end"}, "spec": {"finalizers": []}}),
        get("/api/v1/namespaces/{namespace}-end"),
    ],
    "a dry run changes nothing": [
        create(MAPS, config_map("d", ANY), query={"dryRun": "All"}),
        get(f"{MAPS}/d"),
        create(MAPS, config_map("d", ANY)),
        merge(f"{MAPS}/d", {"data": {"a": "2"}}, query={"dryRun": "All"}),
        Row("DELETE", f"{MAPS}/d", query={"dryRun": "All"}),
        get(f"{MAPS}/d"),
        get(f"{MAPS}/d", accept=PARTIAL),
        get(MAPS, accept=PARTIAL_LIST, query={"limit": "1"}),
        Row("GET", MAPS, query={"watch": "true", "timeoutSeconds": "20"}, events=1, accept=PARTIAL),
        create("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}),
    ],
}
