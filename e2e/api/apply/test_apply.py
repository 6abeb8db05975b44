# SPDX-License-Identifier: Apache-2.0
"""The library common/apply against a real API server: strategies, policies, order, crashes."""

import copy

import pytest

OWNER = "e2e.example/owner"
STRATEGIES = ["update", "patch", "merge", "mergeOverwrite", "apply"]


def config_map(name, namespace, data, **metadata):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace, **metadata}, "data": data}


def crd(group, versions=("v1",)):
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"boats.{group}"},
            "spec": {"group": group, "scope": "Namespaced", "names": {"kind": "Boat", "plural": "boats"},
                     "versions": [{"name": version, "served": True, "storage": version == versions[0], "schema": schema}
                                  for version in versions]}}


def boat(group, namespace, version="v1", **spec):
    return {"apiVersion": f"{group}/{version}", "kind": "Boat", "metadata": {"name": "boat", "namespace": namespace}, "spec": spec}


def deployment(namespace, image="a", **spec):
    labels = {"app": "web"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": namespace},
            "spec": {"selector": {"matchLabels": labels}, **spec,
                     "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": image}]}}}}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_first_unchanged_and_changed_jobs(item, namespace, kube, strategy):
    """A first job is one request per object, an unchanged one reads, a changed one reads and writes."""
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": namespace},
               "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}}
    things = [config_map("map", namespace, {"a": "1", "b": "2"}), deployment(namespace, replicas=2), service]
    write = {"update": "update", "patch": "patch", "merge": "update", "mergeOverwrite": "update", "apply": "patch"}[strategy]
    create = "patch" if strategy == "apply" else "create"

    first = item.run(*things, strategy=strategy)
    assert first["outcomes"] == ["created"] * 3, first
    assert sorted(first["requests"]) == sorted(f"{create} {kind}" for kind in ("configmaps", "deployments", "services"))
    assert kube.get("configmaps", "map", namespace)["metadata"]["labels"][OWNER] == item.user
    again = item.run(*things, strategy=strategy)
    assert again["outcomes"] == ["unchanged"] * 3, again
    assert sorted(again["requests"]) == ["get configmaps", "get deployments", "get services"]

    # Somebody else adds something, and the manifest changes.
    kube.patch("configmaps", "map", {"data": {"foreign": "yes"}, "metadata": {"finalizers": ["e2e.example/foreign"]}}, namespace)
    things[0]["data"] = {"a": "3", "c": "4"}
    try:
        changed = item.run(*things, strategy=strategy)
        assert changed["outcomes"] == ["changed", "unchanged", "unchanged"], changed
        assert sorted(changed["requests"]) == sorted(["get configmaps", "get deployments", "get services", f"{write} configmaps"])
        live = kube.get("configmaps", "map", namespace)
        assert live["data"] == {"update": {"a": "3", "c": "4"}, "patch": {"a": "3", "c": "4"},
                                "merge": {"a": "1", "b": "2", "c": "4", "foreign": "yes"},
                                "mergeOverwrite": {"a": "3", "b": "2", "c": "4", "foreign": "yes"},
                                "apply": {"a": "3", "c": "4", "foreign": "yes"}}[strategy]
        assert live["metadata"]["finalizers"] == ["e2e.example/foreign"]
    finally:
        kube.patch("configmaps", "map", {"metadata": {"finalizers": None}}, namespace)
    records = item.record()
    assert records["ConfigMap", "map"]["resource"]["uid"] == live["metadata"]["uid"]
    assert all("uid" in row["resource"] for row in records.values())


def test_policies(make_item, namespace, kube):
    mine, theirs = make_item(), make_item()
    for name in ("manage", "fallback", "keep", "immutable"):
        assert theirs.run(config_map(name, namespace, {"a": "theirs"}))["outcomes"] == ["created"]
    wanted = [{"manifest": config_map(name, namespace, {"a": "mine"}), "policy": name}
              for name in ("manage", "fallback", "keep", "immutable")]
    ignored = {"manifest": config_map("ignored", namespace, {}), "policy": "ignore"}
    answer = mine.run(*wanted, ignored)
    assert answer["outcomes"] == ["changed", "left-alone", "changed", "left-alone"], answer
    live = {name: kube.get("configmaps", name, namespace)["data"]["a"] for name in ("manage", "fallback", "keep", "immutable")}
    assert live == {"manage": "mine", "fallback": "theirs", "keep": "mine", "immutable": "theirs"}
    assert {name for _, name in mine.record()} == {"manage", "keep", "immutable"}
    assert kube.find("configmaps", "ignored", namespace) is None

    # Once they are gone, all are created, and only then is an immutable one ours.
    for name in live:
        kube.delete("configmaps", name, namespace)
    assert mine.run(*wanted)["outcomes"] == ["created"] * 4
    for row in wanted:
        row["manifest"]["data"] = {"a": "again"}
    assert mine.run(*wanted)["outcomes"] == ["changed", "changed", "changed", "left-alone"]


def test_a_crd_its_objects_and_a_new_namespace_in_one_pass(item, namespace, kube):
    """Also a second version of the CRD together with an object of that version."""
    group = f"{namespace}.example.com"
    inner = f"{namespace}-inner"
    things = [boat(group, inner, size=1), config_map("map", inner, {}), crd(group),
              {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": inner}}]
    try:
        answer = item.run(*things)
        assert answer["outcomes"] == ["created"] * 4, answer
        assert "list customresourcedefinitions" not in answer["requests"], "the watch begins where the CRD was created"
        assert not [request for request in answer["requests"] if request.startswith("get /")], "no discovery is needed"
        assert kube.get(f"{group}/v1/boats", "boat", inner)["spec"] == {"size": 1}
        # Without the CRD the kind is discovered, with one request for all groups.
        alone = item.run(things[0], things[1])
        assert alone["outcomes"] == ["unchanged"] * 2, alone
        assert [request for request in alone["requests"] if request.startswith("get /")] == ["get /apis"]
        things[0], things[2] = boat(group, inner, "v2", size=2), crd(group, ("v1", "v2"))
        answer = item.run(*things)
        assert answer["error"] == "" and kube.get(f"{group}/v2/boats", "boat", inner)["spec"] == {"size": 2}
    finally:
        kube.delete("namespaces", inner)
        kube.delete("apiextensions.k8s.io/v1/customresourcedefinitions", f"boats.{group}")


def test_crds_without_permission_to_look_at_them(make_item, namespace, kube):
    """The Go deployer needs no permission to list or watch either."""
    group = f"{namespace}.example.com"
    for verbs in (["create"], ["create", "get"]):
        item = make_item(admin=False)
        kube.allow(item.user, [{"apiGroups": ["apiextensions.k8s.io"], "resources": ["*"], "verbs": verbs},
                               {"apiGroups": [group], "resources": ["*"], "verbs": ["create", "get"]}])
        try:
            answer = item.run(boat(group, namespace), crd(group))
            assert answer["outcomes"] == ["created"] * 2, answer
        finally:
            kube.delete("apiextensions.k8s.io/v1/customresourcedefinitions", f"boats.{group}")
            kube.wait_for("apiextensions.k8s.io/v1/customresourcedefinitions", f"boats.{group}", lambda thing: thing is None)


def test_errors_name_every_object_and_do_not_stop_the_others(make_item, namespace, kube):
    item = make_item()
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "secret", "namespace": namespace},
              "type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "canary-7f3a"}}
    answer = item.run(config_map("Bad_Name", namespace, {}), config_map("good", namespace, {}),
                      config_map("lost", f"{namespace}-missing", {}), secret)
    assert answer["outcomes"] == ["failed", "created", "failed", "failed"]
    assert f"ConfigMap {namespace}/Bad_Name: cannot be created: " in answer["error"]
    assert f"ConfigMap {namespace}-missing/lost: cannot be created: namespaces \"{namespace}-missing\" not found" in answer["error"]
    assert f"Secret {namespace}/secret: cannot be created: " in answer["error"]
    assert "canary-7f3a" not in answer["error"]
    assert answer["errorKind"] == "temporary"  # the namespace may appear

    # Fields that cannot be changed: the server's words, and the rest of the plan is applied.
    assert item.run(deployment(namespace))["outcomes"] == ["created"]
    changed = deployment(namespace)
    changed["spec"]["selector"]["matchLabels"] = changed["spec"]["template"]["metadata"]["labels"] = {"app": "other"}
    answer = item.run(changed, config_map("good", namespace, {"a": "b"}))
    assert answer["outcomes"] == ["failed", "changed"] and "field is immutable" in answer["error"], answer
    assert answer["errorKind"] == "invalid"

    stranger = make_item(admin=False)
    answer = stranger.run(config_map("good", namespace, {}))
    assert answer["errorKind"] == "denied" and stranger.user in answer["error"], answer
    unknown = item.run({"apiVersion": "nowhere.example.com/v1", "kind": "Nothing", "metadata": {"name": "x"}})
    assert unknown["errorKind"] == "not-found" and "no kind Nothing in nowhere.example.com/v1" in unknown["error"]


def test_server_side_apply_takes_over_what_was_written_before(item, namespace, kube):
    """Fields that left the manifest leave the object, although they were written by PUT, or by the Go deployer."""
    kube.create(config_map("map", namespace, {"go": "1", "both": "1"}), namespace)  # field manager: that of the bench
    manager = next(entry["manager"] for entry in kube.get("configmaps", "map", namespace)["metadata"]["managedFields"])
    assert item.run(config_map("map", namespace, {"go": "1", "both": "1", "put": "1"}))["outcomes"] == ["changed"]
    answer = item.run(config_map("map", namespace, {"both": "1"}), strategy="apply", formerManagers=[manager])
    assert answer["outcomes"] == ["changed"], answer
    live = kube.get("configmaps", "map", namespace)
    assert live["data"] == {"both": "1"}
    assert [entry["operation"] for entry in live["metadata"]["managedFields"]] == ["Apply"]
    again = item.run(config_map("map", namespace, {"both": "1"}), strategy="apply", formerManagers=[manager])
    assert again["requests"] == ["get configmaps"], again


def test_annotations_of_the_creation_and_late_patches(item, namespace, kube):
    row = {"manifest": config_map("map", namespace, {"a": "1"}), "annotateBeforeCreate": {"e2e.example/first": "yes"},
           "patchAfterDeployment": {"data": {"a": "late"}}}
    assert item.run(row)["outcomes"] == ["created"]
    live = kube.get("configmaps", "map", namespace)
    assert live["data"] == {"a": "late"} and live["metadata"]["annotations"]["e2e.example/first"] == "yes"
    assert item.run(row)["outcomes"] == ["changed"]
    live = kube.get("configmaps", "map", namespace)
    assert live["data"] == {"a": "late"} and "e2e.example/first" not in live["metadata"]["annotations"]


def test_a_dry_run_changes_nothing(item, namespace, kube):
    assert item.run(config_map("map", namespace, {"a": "1"}))["outcomes"] == ["created"]
    before = kube.get("configmaps", "map", namespace)
    inner = f"{namespace}-inner"
    things = [config_map("map", namespace, {"a": "2"}), config_map("new", namespace, {}), config_map("map", inner, {}),
              {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": inner}}]
    for strategy in ("update", "apply"):
        answer = item.run(*things, strategy=strategy, dryRun=True)
        assert answer["error"] == "" and answer["outcomes"][1] == "changed", answer
        assert answer["objects"][1]["data"] == {"a": "2"}
    assert kube.get("configmaps", "map", namespace) == before
    assert kube.find("configmaps", "new", namespace) is None and kube.find("namespaces", inner) is None


@pytest.mark.parametrize("strategy, points", [("update", ["crashBefore", "crashAfter"]), ("apply", ["crashAfter"])])
def test_a_crash_at_every_request_leaves_nothing_unrecorded(make_item, namespace, kube, strategy, points):
    """The process ends before, or just after, its n-th request. What exists then is recorded, and the next attempt completes it."""
    places = {"Namespace": ("namespaces", f"{namespace}-inner", None), "Deployment": ("apps/v1/deployments", "web", namespace),
              "ConfigMap": ("configmaps", "map", namespace)}

    def things(value):
        return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"{namespace}-inner", "labels": {"value": value}}},
                deployment(namespace, image=f"image-{value}"),
                {"manifest": config_map("map", namespace, {"a": value}), "annotateBeforeCreate": {"e2e.example/first": "yes"}}]

    def attempt(item, value, point, number):
        """Returns whether it crashed; then it was completed."""
        answer = item.run(*things(value), strategy=strategy, crashes=True, **{point: number})
        assert {kind for kind, place in places.items() if kube.find(*place)} <= {kind for kind, _ in item.record()}
        completed = answer or item.run(*things(value), strategy=strategy)
        assert completed["error"] == "", completed
        return answer is None

    crashes = 0
    for point in points:
        for number in range(1, 20):
            item = make_item()
            crashed = attempt(item, "1", point, number)
            assert "e2e.example/first" in kube.get(*places["ConfigMap"])["metadata"]["annotations"]
            crashed_again = attempt(item, "2", point, number)
            assert kube.get(*places["ConfigMap"])["data"] == {"a": "2"}
            uids = {kind: row["resource"].get("uid") for (kind, _), row in item.record().items()}
            assert uids == {kind: kube.get(*place)["metadata"]["uid"] for kind, place in places.items()}
            kube.delete(*places["ConfigMap"])
            kube.delete(*places["Deployment"], propagationPolicy="Background")
            crashes += crashed + crashed_again
            if not crashed and not crashed_again:
                break
    kube.delete(*places["Namespace"])
    assert crashes >= 7 * len(points)


def test_a_hundred_objects_are_a_hundred_requests(item, namespace, kube):
    things = [config_map(f"map-{number}", namespace, {"n": str(number)}) for number in range(100)]
    answer = item.run(*things)
    assert answer["outcomes"] == ["created"] * 100
    assert answer["requests"] == ["create configmaps"] * 100
    again = item.run(*things)
    assert again["requests"] == ["list configmaps"]
    item.forget()  # as after a crash before the end
    adopted = item.run(*copy.deepcopy(things))
    assert adopted["outcomes"] == ["unchanged"] * 100
    assert sorted(adopted["requests"]) == ["create configmaps"] * 100 + ["get configmaps"] * 100
