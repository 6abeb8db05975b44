# SPDX-License-Identifier: Apache-2.0
"""An API server accepts the output of `longshore render`, in a namespace with the restricted Pod Security standard."""

import pytest
from render_harness import CONTAINER, CONTEXT, PULL, SCRIPT, item, render, state

from bench.kube import ApiError

GO_IMAGES = {"initContainer": {"image": "init:1", "goImage": True}, "waitContainer": {"image": "wait:1", "goImage": True}}
POD = {"pod": {"sharedVolumeSizeLimit": "1Gi", "resources": {"requests": {"cpu": "1m"}}}}


@pytest.mark.parametrize("objects, config", [
    ([item("container", {"image": "alpine"})], None),
    ([item("container", CONTAINER), PULL, *CONTEXT], None),
    ([item("container", {"image": "alpine"}), *state(256)], POD),
    ([item("script", SCRIPT)], None),
    ([item("container", {"image": "alpine"})], GO_IMAGES),
    ([item("container", {"image": "alpine"}, name="x" * 253)], None),
    ([item("container", {"image": "alpine"}, name="a.b-c")], None),
], ids=["plain", "everything", "state", "script", "go-images", "long-name", "dots"])
def test_an_api_server_accepts_every_object(kube, namespace, tmp_path, objects, config):
    kube.patch("namespaces", namespace, {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
    made = render(tmp_path, objects, {"namespace": namespace, **(config or {})})
    for thing in made:
        stored = kube.create(thing, namespace)
        if thing["kind"] == "Pod":
            # The server did not drop any field that we wrote as unknown.
            assert_contains(stored["spec"], thing["spec"])


def assert_contains(have, want, path="spec"):
    if isinstance(want, dict):
        for key, value in want.items():
            if value in (False, "", {}, []) and not have.get(key):
                continue  # the server omits empty fields
            assert key in have, f"{path}.{key} was dropped"
            assert_contains(have[key], value, f"{path}.{key}")
    elif isinstance(want, list):
        assert len(have) >= len(want), path
        for number, value in enumerate(want):
            assert_contains(have[number], value, f"{path}[{number}]")
    else:
        assert str(have) == str(want), path


def test_a_pod_that_violates_the_restricted_standard_is_rejected(kube, namespace, tmp_path):
    """Shows that the namespace of the test above enforces the standard."""
    kube.patch("namespaces", namespace, {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
    *others, pod = render(tmp_path, [item("container", {"image": "alpine"})], {"namespace": namespace})
    for thing in others:
        kube.create(thing, namespace)
    pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
    with pytest.raises(ApiError) as refused:
        kube.create(pod, namespace)
    assert refused.value.status == 403
