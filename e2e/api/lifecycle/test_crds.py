# SPDX-License-Identifier: Apache-2.0
"""The CRDs of the lifecycle manager accept, refuse and store what they promise."""

import pytest

from bench import crds, paths
from bench.kube import ApiError

API = "operator.kyma-project.io/v1beta2"


@pytest.fixture(scope="module")
def kyma_api(apiserver):
    crds.install(apiserver.kube, crds.load(paths.CHECKOUT / "charts" / "lifecycle-manager" / "files" / "crds"))


def thing(kind, spec, name="one"):
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name}, "spec": spec}


def template(**spec):
    return thing("ModuleTemplate", {"descriptor": {}, **spec})


def release(**spec):
    return thing("ModuleReleaseMeta", {"moduleName": "harbour", **spec})


CHANNELS = [{"channel": "regular", "version": "1.0.0"}]
VALID = [
    *(template(version=version) for version in ("", "1.2.3", "1.2.3-foo")),
    *(template(moduleName=name) for name in ("", "abc", "abc-def")),
    template(channel=""), template(channel="fast"),
    template(data={"apiVersion": "g/v1", "kind": "K", "spec": {"any": [1]}}),
    release(channels=CHANNELS), release(mandatory={"version": "1.0.0-a.1+b"}),
    release(channels=CHANNELS, ocmComponentName="acme.com/my-component"),
    thing("Kyma", {"channel": "regular"}),
    thing("Kyma", {"channel": "regular", "modules": [{"name": "a"}, {"name": "b", "channel": "fast", "managed": False}]}),
    thing("Manifest", {"remote": False, "install": {"name": "raw-manifest", "source": {"any": "thing"}}, "resource": None}),
]
INVALID = [
    *(template(version=version) for version in ("1", "1.2", "foo", "01.1.1", "1.2.3-a.b")),
    *(template(moduleName=name) for name in ("a", "ab", "abc-d", "ABC")),
    thing("ModuleTemplate", {}), template(channel="ab"), template(data={"kind": "K"}),
    template(customStateCheck=[{"jsonPath": "a", "value": "b", "mappedState": "Fine"}]),
    release(), release(channels=CHANNELS, mandatory={"version": "1.0.0"}), release(mandatory={"version": ""}),
    release(channels=CHANNELS, ocmComponentName="acme.com"), release(channels=CHANNELS * 2),
    *(thing("Kyma", {"channel": channel}) for channel in ("Invalid01", "ch", "x" * 33)),
    thing("Kyma", {"channel": "regular", "modules": [{"name": "a"}, {"name": "a"}]}),
    thing("Kyma", {"channel": "regular", "modules": [{"name": "a", "customResourcePolicy": "Delete"}]}),
    thing("Kyma", {}), thing("Manifest", {"remote": False}), thing("Manifest", {"install": {"name": "a", "source": {}}}),
]


def plural(kind):
    return f"{API}/{kind.lower()}s"


def test_valid_objects_are_accepted(kube, namespace, kyma_api):
    for number, one in enumerate(VALID):
        kube.create({**one, "metadata": {"name": f"valid-{number}"}}, namespace)


def test_invalid_objects_are_refused(kube, namespace, kyma_api):
    for number, one in enumerate(INVALID):
        with pytest.raises(ApiError) as refusal:
            kube.create({**one, "metadata": {"name": f"invalid-{number}"}}, namespace)
        assert refusal.value.status == 422, one


def test_defaults_and_unknown_fields(kube, namespace, kyma_api):
    kyma = kube.create(thing("Kyma", {"channel": "regular", "modules": [{"name": "a"}], "sync": {"enabled": True}}), namespace)
    assert kyma["spec"] == {"channel": "regular", "modules": [{"name": "a", "managed": True, "customResourcePolicy": "CreateAndDelete"}]}
    meta = kube.create(release(channels=CHANNELS), namespace)
    assert (meta["spec"]["beta"], meta["spec"]["internal"]) == (False, False)


def test_the_status_is_a_subresource_of_kymas_and_manifests(kube, namespace, kyma_api):
    kube.create(thing("Kyma", {"channel": "regular"}), namespace)
    status = {"state": "Ready", "modules": [{"name": "a", "state": "Unmanaged"}]}
    kube.patch(plural("Kyma"), "one", {"status": status}, namespace, subresource="status")
    stored = kube.get(plural("Kyma"), "one", namespace)["status"]
    assert stored == {"state": "Ready", "modules": [{"name": "a", "state": "Unmanaged", "maintenance": False}]}
    with pytest.raises(ApiError) as refusal:
        kube.patch(plural("Kyma"), "one", {"status": {"state": "Fine"}}, namespace, subresource="status")
    assert refusal.value.status == 422
