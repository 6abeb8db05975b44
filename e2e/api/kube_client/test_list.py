# SPDX-License-Identifier: Apache-2.0
"""Lists in pages, with memory that does not depend on their size."""

import pytest

from bench.apiserver import ApiServer

OBJECTS = 10_000


@pytest.fixture(scope="module")
def crowded():
    """An API server with ten thousand ConfigMaps of about 2 KiB. Stopping it is faster than deleting them."""
    server = ApiServer(with_crds=False)
    try:
        server.kube.create_many([{"apiVersion": "v1", "kind": "ConfigMap",
                                  "metadata": {"name": f"object-{i:05}", "labels": {"tenth": str(i % 10)}},
                                  "data": {"content": "c" * 2048}} for i in range(OBJECTS)], "default")
        yield server
    finally:
        server.close()


@pytest.fixture
def driver(make_driver, crowded):
    """Replaces the driver for the shared API server."""
    driver = make_driver("--kubeconfig", crowded.kubeconfig)
    driver.call("get", "namespaces", "default")  # opens the connection
    return driver


def test_a_list_of_ten_thousand_objects_uses_bounded_memory(driver):
    before = driver.stats()
    answer = driver.wait(driver.send("list", plural="configmaps", namespace="default", quiet=True))
    after = driver.stats()
    assert answer["error"] is None
    assert answer["listed"] == OBJECTS
    assert after["requests"] - before["requests"] == OBJECTS / 500
    # 24 MB were received. One object and curl's buffers are in memory.
    assert after["peakKib"] - before["peakKib"] < 2048


def test_a_page_with_all_objects_is_not_kept_in_memory(driver):
    before = driver.stats()["peakKib"]
    answer = driver.wait(driver.send("list", plural="configmaps", namespace="default", quiet=True, pageSize=OBJECTS))
    assert answer["listed"] == OBJECTS
    assert driver.stats()["peakKib"] - before < 2048


def test_every_object_is_returned_once_whatever_the_page_size(driver):
    identity = driver.send("list", plural="configmaps", namespace="default", pageSize=97, labelSelector="tenth=3")
    driver.wait(identity, lambda line: "listed" in line)
    names = [line["item"] for line in driver.answers(identity) if "item" in line]
    assert names == [f"object-{i:05}" for i in range(OBJECTS) if i % 10 == 3]


def test_metadata_only(driver):
    answer = driver.wait(driver.send("list", plural="configmaps", namespace="default", quiet=True, metadataOnly=True,
                                     labelSelector="tenth=1"))
    assert answer["listed"] == OBJECTS / 10


def test_a_watch_of_ten_thousand_objects_uses_bounded_memory(driver):
    before = driver.stats()["peakKib"]
    watch = driver.watch("configmaps", "default", quiet=True)
    synced = driver.wait(watch, lambda line: line["event"] == "SYNCED")
    assert synced["count"] == OBJECTS + 1
    assert driver.stats()["peakKib"] - before < 2048


def test_listing_a_forbidden_or_unknown_resource_reports_the_error(make_driver, driver, crowded):
    answer = driver.wait(driver.send("list", plural="nonsense"))
    assert answer["error"]["kind"] == "not-found"
    nobody = make_driver("--kubeconfig", crowded.user_kubeconfig("nobody-at-all"))
    answer = nobody.wait(nobody.send("list", plural="secrets"))
    assert answer["error"]["kind"] == "denied"
