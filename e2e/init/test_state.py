# SPDX-License-Identifier: Apache-2.0
"""Restoring the state of the last run: written by Go or by Longshore, mounted or through the API, intact or damaged."""

import os
import random
import shutil
import threading
import time

import pytest

from faults.proxy import FaultProxy
from init import samples
from init.harness import tree

SMALL = {"a": b"hello", "dir/b": b"x" * 1000, "dir/deep/c": b""}
OLDER = {"old": b"one"}


def noise(size, seed=1):
    return random.Random(seed).randbytes(size)


LARGE = {"big": noise(2_600_000), "dir/small": b"y"}


def restored(pod):
    return tree(pod.shared / "state")


def run_mounted(pod, *generations):
    directory = samples.mount(pod.inputs / "state", *generations)
    return pod.run({}, env={"LONGSHORE_STATE_SOURCE_DIR": str(directory)})


def test_go_state_with_a_truncated_trailer(pod):
    chunks = samples.go_chunks(samples.pack(SMALL))
    assert len(chunks) == 1 and len(chunks[0]) == len(samples.pack(SMALL)) - 2
    run_mounted(pod, samples.go(SMALL)).must_succeed()
    assert restored(pod) == SMALL


def test_go_state_with_stale_bytes_in_the_last_chunk(pod):
    chunks = samples.go_chunks(samples.pack(LARGE))
    assert len(chunks) == 3 and len(chunks[2]) == samples.CHUNK
    result = run_mounted(pod, samples.go(LARGE)).must_succeed()
    assert restored(pod) == LARGE
    assert result.line("restored state")["bytes"] == sum(map(len, LARGE.values()))


def test_our_own_generation(pod):
    result = run_mounted(pod, samples.own(LARGE, 7)).must_succeed()
    assert restored(pod) == LARGE
    line = result.line("restored state")
    assert line["sequence"] == 7 and line["source"] == "mounted" and line["skipped"] == 0


def test_the_newest_generation_is_chosen_by_sequence(pod):
    run_mounted(pod, samples.own(OLDER, 1, created="2030-01-01T00:00:00Z"), samples.own(SMALL, 2)).must_succeed()
    assert restored(pod) == SMALL


def test_nothing_to_restore(pod):
    assert run_mounted(pod).must_succeed().line("no state to restore")["source"] == "mounted"
    pod.run({}, env={"LONGSHORE_STATE_SOURCE_DIR": str(pod.inputs / "gone")}).must_succeed()
    assert restored(pod) == {}


FLIPS = 24


@pytest.mark.parametrize("place", range(FLIPS))
def test_a_flipped_byte_falls_back_to_the_previous_generation(pod, place):
    newest = samples.own(LARGE, 2)
    total = sum(len(data) for _, data in newest)
    # The first and last bytes, the border of the chunks, and random ones.
    at = {0: 0, 1: 1, 2: total - 1, 3: total - 4, 4: samples.CHUNK - 1, 5: samples.CHUNK}.get(
        place, random.Random(place).randrange(total))
    for number, (metadata, data) in enumerate(newest):
        if at < len(data):
            newest[number] = (metadata, data[:at] + bytes([data[at] ^ (1 << place % 8)]) + data[at + 1:])
            break
        at -= len(data)
    result = run_mounted(pod, newest, samples.own(OLDER, 1)).must_succeed()
    assert restored(pod) == OLDER
    passed_over = result.line("skipped unusable state generation")
    assert passed_over["sequence"] == 2 and passed_over["error"]
    assert result.line("restored state")["skipped"] == 1


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_an_incomplete_generation_is_skipped(pod, missing):
    newest = samples.own(LARGE, 2)
    del newest[missing]
    run_mounted(pod, newest, samples.own(OLDER, 1)).must_succeed()
    assert restored(pod) == OLDER


def test_no_usable_generation_is_an_error(pod):
    newest = samples.own(SMALL, 1)
    newest[0] = (newest[0][0], newest[0][1][:-1] + b"\xff")
    result = run_mounted(pod, newest).must_fail("state")
    assert result.failure["step"] == "state"
    assert restored(pod) == {}


def test_a_hostile_state_stays_inside(pod):
    for name in ("../../evil", "/tmp/evil-state"):
        packed = samples.pack({name: b"x"})
        directory = pod.inputs / "state"
        if directory.exists():
            shutil.rmtree(directory)
        run_mounted(pod, samples.generation([packed], sequence=1, packed=packed)).must_fail("state")
    assert not (pod.directory / "evil").exists() and not os.path.exists("/tmp/evil-state")


# --- through the API, as under the Go controller ---

@pytest.fixture
def account(as_root, pod, apiserver, kube, namespace):
    """A ServiceAccount with the role that the Go controller gives init. Returns (directory of the token, environment)."""
    rules = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "delete"]}]
    token = apiserver.service_account("item-init", namespace)
    kube.allow(f"system:serviceaccount:{namespace}:item-init", rules, namespace)
    pod.write("serviceaccount/token", token)
    pod.write("serviceaccount/ca.crt", apiserver.authority.certificate.read_text())
    pod.write("serviceaccount/namespace", namespace)
    host, port = apiserver.server.removeprefix("https://").split(":")
    return pod.inputs / "serviceaccount", {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port,
                                           "POD_NAME": "p", "POD_NAMESPACE": namespace}


def secrets(kube, namespace):
    return {secret["metadata"]["name"] for secret in kube.items("secrets", namespace)}


def test_secrets_of_go(pod, kube, namespace, account):
    directory, env = account
    samples.create(kube, namespace, samples.go(LARGE))
    samples.create(kube, namespace, samples.go(OLDER), name="other")
    result = pod.run({}, env=env, service_account=directory, arguments=["-v", "info"]).must_succeed()
    assert restored(pod) == LARGE
    assert result.line("restored state")["source"] == "secrets"


def test_old_generations_are_deleted_except_the_previous_one(pod, kube, namespace, account):
    directory, env = account
    names = []
    for number, files in enumerate(({"g": b"0"}, {"g": b"1"}, LARGE)):
        names += samples.create(kube, namespace, samples.go(files))
        if number < 2:
            # Go orders generations by their creation time in seconds.
            time.sleep(1.1)
    result = pod.run({}, env=env, service_account=directory).must_succeed()
    assert restored(pod) == LARGE
    assert secrets(kube, namespace) == set(names[2]) | set(names[1])
    assert result.line("restored state")["removedSecrets"] == 1


def test_a_damaged_newest_secret_falls_back(pod, kube, namespace, account):
    directory, env = account
    newest = samples.own(SMALL, 2)
    newest[0] = (newest[0][0], newest[0][1][:-9] + b"\xff" + newest[0][1][-8:])
    names = samples.create(kube, namespace, samples.own(OLDER, 1), newest)
    pod.run({}, env=env, service_account=directory).must_succeed()
    assert restored(pod) == OLDER
    assert set(names[0]) <= secrets(kube, namespace)


def test_state_of_another_item_is_skipped(pod, kube, namespace, account):
    """Long names are shortened in labels, so that two items can have the same; the hash differs."""
    directory, env = account
    foreign = samples.create(kube, namespace, samples.own(SMALL, 9), samples.own(SMALL, 8), samples.own(SMALL, 7),
                             more_labels={samples.ITEM_LABEL: "0123456789abcdef"})
    samples.create(kube, namespace, samples.own(OLDER, 1), more_labels={samples.ITEM_LABEL: samples.item_hash("ns", "item")})
    result = pod.run({}, env=env, service_account=directory).must_succeed()
    assert restored(pod) == OLDER
    foreign = {name for names in foreign for name in names}
    passed_over = {line["secret"] for line in result.log if line["msg"] == "skipped state Secret of another item"}
    assert passed_over == foreign
    assert foreign <= secrets(kube, namespace), "Secrets of other items must not be deleted"


def test_no_secrets_no_state(pod, namespace, account):
    directory, env = account
    assert pod.run({}, env=env, service_account=directory).must_succeed().line("no state to restore")["source"] == "secrets"


def test_a_missing_permission_is_reported(pod, apiserver, namespace, account):
    directory, env = account
    pod.write("serviceaccount/token", apiserver.service_account("nobody", namespace))
    env["LONGSHORE_INIT_DEADLINE"] = "1s"
    result = pod.run({}, env=env, service_account=directory).must_fail("state Secrets")
    assert result.failure["kind"] == "denied" and "role" in result.failure["advice"]


def test_an_api_server_that_is_not_up_yet(pod, apiserver, kube, namespace, account):
    """The port of a proxy to the API server is closed when init starts."""
    directory, env = account
    samples.create(kube, namespace, samples.own(SMALL, 1))
    with FaultProxy(apiserver) as proxy:
        proxy.close()
        env = {**env, "KUBERNETES_SERVICE_HOST": proxy.host, "KUBERNETES_SERVICE_PORT": str(proxy.port)}
        starter = threading.Timer(1, proxy.start)
        starter.start()
        try:
            pod.run({}, env=env, service_account=directory).must_succeed()
        finally:
            starter.join()
    assert restored(pod) == SMALL
    assert proxy.requests


def test_the_api_is_not_used_without_a_token(pod):
    """Our controller mounts no token. The address of the API server is in the environment of every pod."""
    env = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "1", "POD_NAMESPACE": "x"}
    assert pod.run({}, env=env).must_succeed().line("no state to restore")["source"] == "none"
