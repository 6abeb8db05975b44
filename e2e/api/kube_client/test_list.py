# SPDX-License-Identifier: Apache-2.0
"""Lists in pages, and in memory that does not grow with them."""

import pytest

from bench.apiserver import ApiServer

OBJECTS = 10_000


@pytest.fixture(scope="module")
def crowded():
    """An API server with ten thousand ConfigMaps of about 2 KiB. To end it is quicker than to delete them."""
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
    """Takes the place of the driver for the shared API server."""
    driver = make_driver("--kubeconfig", crowded.kubeconfig)
    driver.call("get", "namespaces", "default")  # the connection is made
    return driver


def test_ten_thousand_objects_in_bounded_memory(driver):
    before = driver.stats()
    answer = driver.wait(driver.send("list", plural="configmaps", namespace="default", quiet=True))
    after = driver.stats()
    assert answer["error"] is None
    assert answer["listed"] == OBJECTS
    assert after["requests"] - before["requests"] == OBJECTS / 500
    # 24 MB went through. What is held is one object and curl's buffers.
    assert after["peakKib"] - before["peakKib"] < 2048


def test_a_page_can_hold_everything_without_being_held(driver):
    before = driver.stats()["peakKib"]
    answer = driver.wait(driver.send("list", plural="configmaps", namespace="default", quiet=True, pageSize=OBJECTS))
    assert answer["listed"] == OBJECTS
    assert driver.stats()["peakKib"] - before < 2048


def test_every_object_comes_once_whatever_the_page_size(driver):
    identity = driver.send("list", plural="configmaps", namespace="default", pageSize=97, labelSelector="tenth=3")
    driver.wait(identity, lambda line: "listed" in line)
    names = [line["item"] for line in driver.answers(identity) if "item" in line]
    assert names == [f"object-{i:05}" for i in range(OBJECTS) if i % 10 == 3]


def test_metadata_only(driver):
    answer = driver.wait(driver.send("list", plural="configmaps", namespace="default", quiet=True, metadataOnly=True,
                                     labelSelector="tenth=1"))
    assert answer["listed"] == OBJECTS / 10


def test_a_watch_of_ten_thousand_in_bounded_memory(driver):
    before = driver.stats()["peakKib"]
    watch = driver.watch("configmaps", "default", quiet=True)
    synced = driver.wait(watch, lambda line: line["event"] == "SYNCED")
    assert synced["count"] == OBJECTS + 1
    assert driver.stats()["peakKib"] - before < 2048


def test_listing_what_is_denied_or_unknown_says_so(make_driver, driver, crowded):
    answer = driver.wait(driver.send("list", plural="nonsense"))
    assert answer["error"]["kind"] == "not-found"
    nobody = make_driver("--kubeconfig", crowded.user_kubeconfig("nobody-at-all"))
    answer = nobody.wait(nobody.send("list", plural="secrets"))
    assert answer["error"]["kind"] == "denied"
