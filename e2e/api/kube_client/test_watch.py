# SPDX-License-Identifier: Apache-2.0
"""Watches continue whatever happens to the server."""


def test_events_from_creation_to_deletion(driver, namespace, kube, secret):
    kube.create(secret("before"), namespace)
    watch = driver.watch("secrets", namespace)
    driver.event(watch, "LISTED", "before")
    driver.event(watch, "SYNCED")
    kube.create(secret("after"), namespace)
    driver.event(watch, "ADDED", "after")
    kube.patch("secrets", "after", {"metadata": {"labels": {"a": "b"}}}, namespace)
    driver.event(watch, "MODIFIED", "after")
    kube.delete("secrets", "after", namespace)
    driver.event(watch, "DELETED", "after")


def test_selectors_are_applied_by_the_server(driver, namespace, kube, secret):
    watch = driver.watch("secrets", namespace, labelSelector="mine=yes")
    driver.event(watch, "SYNCED")
    kube.create(secret("other"), namespace)
    kube.create(secret("mine", labels={"mine": "yes"}), namespace)
    driver.event(watch, "ADDED", "mine")
    assert not [line for line in driver.answers(watch) if line["name"] == "other"]


def test_a_watch_on_one_object_needs_no_list_permission(make_driver, apiserver, namespace, kube, secret):
    kube.create(secret("only"), namespace)
    kube.allow("watcher", [{"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["only"],
                            "verbs": ["get", "watch"]}], namespace)
    driver = make_driver("--kubeconfig", apiserver.user_kubeconfig("watcher"))
    watch = driver.watch("secrets", namespace, watchOnly=True, fieldSelector="metadata.name=only")
    driver.event(watch, "ADDED", "only")
    kube.patch("secrets", "only", {"metadata": {"labels": {"a": "b"}}}, namespace)
    driver.event(watch, "MODIFIED", "only")


def test_a_forbidden_watch_reports_the_error_and_starts_when_it_is_allowed(make_driver, apiserver, namespace, kube, secret):
    kube.create(secret("guarded"), namespace)
    driver = make_driver("--kubeconfig", apiserver.user_kubeconfig("latecomer"))
    watch = driver.watch("secrets", namespace)
    broken = driver.event(watch, "BROKEN")
    assert broken["error"]["kind"] == "denied"
    assert "latecomer" in broken["error"]["text"]
    kube.allow("latecomer", [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["list", "watch"]}], namespace)
    driver.event(watch, "LISTED", "guarded")
    driver.event(watch, "SYNCED")


def _start(make_driver, server, secret):
    driver = make_driver("--kubeconfig", server.kubeconfig)
    server.kube.create(secret("before"), "default")
    watch = driver.watch("secrets", "default")
    driver.event(watch, "SYNCED")
    # The watch must be open, otherwise the restart of the server would only delay it.
    server.kube.create(secret("begun"), "default")
    return driver, watch, driver.event(watch, "ADDED", "begun")["count"]


def test_a_crash_of_the_server_loses_no_event(make_driver, private_apiserver, secret):
    driver, watch, count = _start(make_driver, private_apiserver, secret)
    private_apiserver.restart(crash=True)
    private_apiserver.kube.create(secret("after"), "default")
    driver.event(watch, "ADDED", "after", after=count)
    later = [line for line in driver.answers(watch) if line["count"] > count]
    assert "BROKEN" in [line["event"] for line in later]
    assert "LISTED" not in [line["event"] for line in later], "the watch listed again instead of continuing"


def test_a_restart_of_the_server_loses_no_event(make_driver, private_apiserver, secret):
    driver, watch, count = _start(make_driver, private_apiserver, secret)
    private_apiserver.restart()
    private_apiserver.kube.delete("secrets", "before", "default")
    driver.event(watch, "DELETED", "before", after=count)


def test_after_a_compaction_everything_is_listed_again(make_driver, private_apiserver, secret):
    driver, watch, count = _start(make_driver, private_apiserver, secret)
    private_apiserver.expire_watches()
    synced = driver.event(watch, "SYNCED", after=count)
    again = [line["name"] for line in driver.answers(watch)
             if line["event"] == "LISTED" and count < line["count"] < synced["count"]]
    assert sorted(again) == ["before", "begun"]
    private_apiserver.kube.create(secret("after"), "default")
    driver.event(watch, "ADDED", "after", after=synced["count"])


def test_a_watch_without_list_permission_sees_changes_after_an_etcd_restore(make_driver, private_apiserver, secret):
    server = private_apiserver
    server.kube.create(secret("only"), "default")
    server.kill()
    backup = server.etcd.backup()
    server.start()
    driver = make_driver("--kubeconfig", server.kubeconfig)
    watch = driver.watch("secrets", "default", watchOnly=True, fieldSelector="metadata.name=only")
    driver.event(watch, "ADDED", "only")
    # The last version that the watch has seen is far ahead of the backup.
    for number in range(300):
        server.kube.patch("namespaces", "default", {"metadata": {"annotations": {"number": str(number)}}})
    server.kube.patch("secrets", "only", {"metadata": {"labels": {"lost": "yes"}}}, "default")
    count = driver.event(watch, "MODIFIED", "only")["count"]
    server.kill()
    server.etcd.restore(backup)
    server.start()
    again = driver.event(watch, "ADDED", "only", after=count)
    server.kube.patch("secrets", "only", {"metadata": {"labels": {"new": "yes"}}}, "default")
    driver.event(watch, "MODIFIED", "only", after=again["count"])


def test_objects_that_cannot_be_read_do_not_block_the_others(driver, namespace, kube):
    """Objects that are nested too deeply or have a NUL in a string are reported with name and reason."""
    def item(name, config):
        return {"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "DeployItem", "metadata": {"name": name},
                "spec": {"type": "t", "config": {"apiVersion": "v1", "kind": "x", **config}}}

    deep = {}
    for _ in range(300):
        deep = {"a": deep}
    group = {"group": "landscaper.gardener.cloud", "version": "v1alpha1"}
    kube.create(item("deep", {"deep": deep}), namespace)
    kube.create(item("nul", {"text": "a\0b"}), namespace)
    kube.create(item("good", {}), namespace)
    watch = driver.watch("deployitems", namespace, **group)
    assert driver.event(watch, "LISTED", "deep")["error"]["kind"] == "invalid"
    assert driver.event(watch, "LISTED", "nul")["error"]["kind"] == "invalid"
    assert driver.event(watch, "LISTED", "good")["error"] is None
    driver.event(watch, "SYNCED")
    kube.create(item("deep-later", {"deep": deep}), namespace)
    kube.create(item("good-later", {}), namespace)
    assert driver.event(watch, "ADDED", "deep-later")["error"]["kind"] == "invalid"
    assert driver.event(watch, "ADDED", "good-later")["error"] is None
