# SPDX-License-Identifier: Apache-2.0
"""Every verb against a real API server, and the errors for its failures."""

import base64

import pytest


def test_create_get_patch_update_delete(driver, namespace, secret):
    made = driver.call("create", "secrets", namespace=namespace, body=secret("one"))["object"]
    assert made["metadata"]["name"] == "one"

    patched = driver.call("patch-merge", "secrets", "one", namespace, body={"metadata": {"labels": {"a": "b"}}})["object"]
    assert patched["metadata"]["labels"] == {"a": "b"}
    tested = driver.call("patch-json", "secrets", "one", namespace,
                         body=[{"op": "test", "path": "/metadata/labels/a", "value": "b"},
                               {"op": "replace", "path": "/metadata/labels/a", "value": "c"}])["object"]
    assert tested["metadata"]["labels"] == {"a": "c"}
    tested["data"]["more"] = base64.b64encode(b"more").decode()
    updated = driver.call("update", "secrets", "one", namespace, body=tested)["object"]
    assert "more" in driver.call("get", "secrets", "one", namespace)["object"]["data"]
    assert updated["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"]

    assert "object" in driver.call("delete", "secrets", "one", namespace)
    assert driver.call("get", "secrets", "one", namespace)["error"]["kind"] == "not-found"


def test_apply_creates_and_changes_without_a_read(driver, namespace):
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": {"key": "1"}}
    assert driver.call("apply", "configmaps", "applied", namespace, body=body, fieldManager="us")["object"]["data"] == {"key": "1"}
    body["data"] = {"other": "2"}
    assert driver.call("apply", "configmaps", "applied", namespace, body=body, fieldManager="us")["object"]["data"] == {"other": "2"}


def test_groups_and_subresources(driver, namespace, apiserver):
    item = {"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "DeployItem", "metadata": {"name": "item"},
            "spec": {"type": "landscaper.gardener.cloud/container"}}
    group = {"group": "landscaper.gardener.cloud", "version": "v1alpha1"}
    assert "object" in driver.call("create", "deployitems", namespace=namespace, body=item, **group)
    answer = driver.call("patch-merge", "deployitems", "item", namespace, subresource="status",
                         body={"status": {"phase": "Progressing", "observedGeneration": 1}}, **group)
    assert answer["object"]["status"]["phase"] == "Progressing"


def test_delete_collection_deletes_only_what_the_selector_matches(driver, namespace, kube, secret):
    for name, label in (("a", "yes"), ("b", "yes"), ("c", "no")):
        kube.create(secret(name, labels={"mine": label}), namespace)
    assert "object" in driver.call("delete-collection", "secrets", namespace=namespace, labelSelector="mine=yes")
    assert [thing["metadata"]["name"] for thing in kube.items("secrets", namespace)] == ["c"]
    refused = driver.call("delete-collection", "secrets", namespace=namespace)
    assert "selector is missing" in refused["error"]["text"]


def test_already_exists_is_not_a_conflict(driver, namespace, secret):
    assert "object" in driver.call("create", "secrets", namespace=namespace, body=secret("twice"))
    error = driver.call("create", "secrets", namespace=namespace, body=secret("twice"))["error"]
    assert error["kind"] == "exists"
    assert error["httpStatus"] == 409
    assert error["text"] == f'create secrets "{namespace}/twice": secrets "twice" already exists'


def test_a_stale_resource_version_is_a_conflict_with_the_message_of_the_server(driver, namespace, kube, secret):
    old = kube.create(secret("stale"), namespace)
    kube.patch("secrets", "stale", {"metadata": {"labels": {"a": "b"}}}, namespace)
    error = driver.call("update", "secrets", "stale", namespace, body=old)["error"]
    assert error["kind"] == "conflict"
    assert "the object has been modified" in error["text"]


def test_delete_preconditions_are_respected(driver, namespace, kube, secret):
    first = kube.create(secret("guarded"), namespace)["metadata"]
    kube.patch("secrets", "guarded", {"metadata": {"labels": {"a": "b"}}}, namespace)

    stale = driver.call("delete", "secrets", "guarded", namespace, resourceVersion=first["resourceVersion"])
    assert stale["error"]["kind"] == "conflict"
    other = driver.call("delete", "secrets", "guarded", namespace, uid="00000000-0000-4000-8000-000000000000")
    assert other["error"]["kind"] == "conflict"
    assert kube.find("secrets", "guarded", namespace)

    assert "object" in driver.call("delete", "secrets", "guarded", namespace, uid=first["uid"])
    assert not kube.find("secrets", "guarded", namespace)


def test_an_invalid_object_is_rejected_with_the_name_of_the_field(driver, namespace, secret):
    error = driver.call("create", "secrets", namespace=namespace, body=secret("Not_A_Name"))["error"]
    assert error["kind"] == "invalid"
    assert error["httpStatus"] == 422
    assert "metadata.name" in error["text"]


def test_a_forbidden_request_reports_the_user_and_the_resource(make_driver, apiserver, namespace):
    nobody = make_driver("--kubeconfig", apiserver.user_kubeconfig("nobody-at-all"))
    error = nobody.call("get", "secrets", "any", namespace)["error"]
    assert error["kind"] == "denied"
    assert error["httpStatus"] == 403
    assert "nobody-at-all" in error["text"]


def test_names_cannot_change_the_request_path(driver, namespace):
    for name in ("..", ".", "", "a/b", "a%2fb"):
        assert driver.call("get", "secrets", name, namespace)["error"]["kind"] == "invalid", name


@pytest.mark.parametrize("size", [1200 * 1024, 3 * 1024 * 1024])
def test_a_body_that_is_too_large_is_rejected_with_the_message_of_the_server(driver, namespace, secret, size):
    before = driver.stats()["requests"]
    error = driver.call("create", "secrets", namespace=namespace, body=secret("huge", size))["error"]
    assert error["kind"] in ("too-large", "invalid")
    assert "too long" in error["text"].lower() or "too large" in error["text"].lower()
    assert driver.stats()["requests"] == before + 1, "the request was retried with the same body"


def test_three_mebibytes_can_be_sent_and_received(driver, namespace, kube):
    """Receives a list of Secrets that is larger than a single object may be."""
    content = base64.b64encode(b"y" * (1000 * 1024)).decode()
    for name in ("a", "b", "c"):
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": {"content": content}}
        assert driver.call("create", "secrets", namespace=namespace, body=body, quiet=True) == {"id": str(ord(name) - 96), "ok": True}
    items = driver.call("list", "secrets", namespace=namespace)["object"]["items"]
    assert [item["data"]["content"] == content for item in items] == [True] * 3
    refused = driver.call("list", "secrets", namespace=namespace, bodyMax=1024 * 1024)["error"]
    assert refused["kind"] == "too-large"


def test_text_responses_are_strings(driver):
    assert driver.call("get", "namespaces", "default", raw=True)["object"].startswith('{"kind":"Namespace"')


def test_many_calls_share_one_connection(driver, namespace, kube, secret):
    kube.create(secret("popular"), namespace)
    ids = [driver.send("call", verb="get", plural="secrets", name="popular", namespace=namespace, quiet=True)
           for _ in range(500)]
    assert all(driver.wait(identity) == {"id": identity, "ok": True} for identity in ids)
    stats = driver.stats()
    assert stats["requests"] == 500
    assert stats["connections"] == 1
