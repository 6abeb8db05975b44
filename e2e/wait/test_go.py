# SPDX-License-Identifier: Apache-2.0
"""longshore-wait under the Go controller: with its environment and Role; and our state read as the Go deployer reads it."""

import base64
import os

import pytest

from wait.harness import GROUP, OURS, Item, ended, log_lines, message, wait_for_log
from wait.reader import go_restores, newest_generation


@pytest.fixture
def item(apiserver, namespace):
    return Item(apiserver, namespace, is_go=True)


def test_a_forbidden_watch_is_replaced_by_polling_and_logged_once(apiserver, item):
    item.write_state({"f": b"1"})
    item.exports.write_text("a: 1")
    mark = apiserver.audit.mark()
    process = item.start()
    wait_for_log(process, "watching the pod is forbidden")
    process.wait_until(lambda: apiserver.audit.count(mark, verb="get", resource="pods", user=item.user) >= 3, "three polls")
    item.end_main()
    process.wait()
    ended(process, 0)
    assert item.export() == b"a: 1"
    assert newest_generation(item.kube, item).files == {"f": b"1"}
    assert [line["msg"] for line in log_lines(process)].count(
        "watching the pod is forbidden, polling it instead") == 1
    assert apiserver.audit.count(mark, verb="watch", resource="pods", user=item.user) <= 1


def test_the_last_generation_is_found_by_a_list_of_metadata(apiserver, item):
    item.write_state({"f": b"1"})
    ended(item.run(), 0)
    first = newest_generation(item.kube, item)
    mark = apiserver.audit.mark()
    ended(item.run(), 0)
    assert apiserver.audit.count(mark, verb="create", resource="secrets", user=item.user) == 0
    assert apiserver.audit.count(mark, verb="list", resource="secrets", user=item.user) == 1
    assert apiserver.audit.count(mark, verb="watch", resource="secrets", user=item.user) == 0
    item.write_state({"f": b"2"})
    ended(item.run(), 0)
    second = newest_generation(item.kube, item)
    assert second.files == {"f": b"2"}
    assert second.sequence > first.sequence


def test_the_sequence_is_at_least_the_creation_time_of_the_pod(item):
    """The later one of two pods wins, even if they do not know of each other."""
    item.write_state({"f": b"1"})
    ended(item.run(), 0)
    assert newest_generation(item.kube, item).sequence > 1_700_000_000


def test_unknown_job_and_known_pod_in_annotations(item):
    item.write_state({"f": b"1"})
    item.exports.write_text("{}")
    ended(item.run(), 0)
    export = item.kube.get("secrets", item.export_name, item.namespace)
    assert export["metadata"]["annotations"][f"{OURS}/pod-uid"] == item.pod_uid
    assert f"{OURS}/job" not in export["metadata"]["annotations"]
    assert export["metadata"]["labels"][f"{GROUP}/name"] == item.name


def test_the_old_names_of_variables(item):
    item.write_state({"f": b"1"})
    item.exports.write_text("a: 1")
    process = item.run(env={"EXPORTS_PATH": None, "EXPORT_PATH": str(item.exports), "STATE_PATH": None,
                            "STATE": str(item.state)})
    ended(process, 0)
    assert item.export() == b"a: 1"
    assert newest_generation(item.kube, item).files == {"f": b"1"}


def test_an_export_that_go_wrote_is_overwritten(item):
    item.kube.create({"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
                      "metadata": {"name": item.export_name, "namespace": item.namespace,
                                   "labels": {f"{GROUP}/name": item.name}},
                      "data": {"config": base64.b64encode(b"by: go").decode()}})
    item.exports.write_text("by: us")
    ended(item.run(), 0)
    assert item.export() == b"by: us"


@pytest.mark.parametrize("size", [10, 70_000, 1_500_000, 3_200_000], ids=["small", "64K", "two chunks", "four chunks"])
def test_gos_reader_restores_what_we_write(item, size):
    files = {"a": b"first", "dir/b": os.urandom(size), "z": b"last"}
    item.write_state(files)
    (item.state / "dir" / "link").symlink_to("b")
    ended(item.run(), 0)
    assert go_restores(item.state_secrets()) == files


def test_a_pod_that_is_not_found_ends_the_polling(item):
    item.write_state({"f": b"1"})
    process = item.start()
    wait_for_log(process, "watching the pod is forbidden")
    item.delete_pod()
    process.wait()
    ended(process, 1)
    assert "the pod no longer exists; state: stored" in message(process)
