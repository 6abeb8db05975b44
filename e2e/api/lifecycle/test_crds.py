# SPDX-License-Identifier: Apache-2.0
"""The CRDs of the lifecycle manager accept, refuse and store what they promise."""

import hashlib
import json
import pathlib
import subprocess

import pytest

from bench import crds, paths
from bench.kube import ApiError
from controller_harness import PROGRAM

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


def from_tables():
    """Pairs of a document and whether it is valid, from the table of the values of fields. An empty text stands for an absent field."""
    tables = json.loads((pathlib.Path(__file__).parent / "data" / "tables" / "tables.json").read_text())
    bases = {"ModuleTemplate": template(), "ModuleReleaseMeta": release(channels=CHANNELS), "Kyma": thing("Kyma", {})}
    for path, values in tables["crd_validation"].items():
        kind, _, field = path.split(".")
        for verdict, texts in values.items():
            for text in texts:
                yield {**bases[kind], "spec": {**bases[kind]["spec"], **({field: text} if text else {})}}, verdict == "valid"


def plural(kind):
    return f"{API}/{kind.lower()}s"


# Of the schemas of the original (KLM c5b83f1b5, after 1.20.4), computed in the same way.
SCHEMAS = {"Kyma": "562c77bb4d8dab8d", "Manifest": "2cf0b6edc711f9f6", "ModuleReleaseMeta": "d9315c10c52f3566", "ModuleTemplate": "e8268ced9ef64e19"}


def comparable(schema):
    """A schema without texts for people and CEL rules, which can be written in several ways."""
    if isinstance(schema, list):
        return [comparable(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    unordered, ignored = ("required", "enum"), ("description", "x-kubernetes-validations")
    return {key: {name: comparable(one) for name, one in value.items()} if key == "properties" else sorted(value) if key in unordered else comparable(value)
            for key, value in schema.items() if key not in ignored}


def test_schemas_have_the_fields_and_limits_of_the_original():
    found = {}
    for definition in crds.load(paths.CHECKOUT / "charts" / "lifecycle-manager" / "files" / "crds"):
        schema = next(v["schema"]["openAPIV3Schema"] for v in definition["spec"]["versions"] if v["storage"])
        found[definition["spec"]["names"]["kind"]] = hashlib.sha256(json.dumps(comparable(schema), sort_keys=True).encode()).hexdigest()[:16]
    assert found == SCHEMAS


def test_valid_objects_are_accepted(kube, namespace, kyma_api):
    for number, one in enumerate(VALID):
        kube.create({**one, "metadata": {"name": f"valid-{number}"}}, namespace)


def test_invalid_objects_are_refused(kube, namespace, kyma_api):
    for number, one in enumerate(INVALID):
        with pytest.raises(ApiError) as refusal:
            kube.create({**one, "metadata": {"name": f"invalid-{number}"}}, namespace)
        assert refusal.value.status == 422, one


def test_the_values_of_the_tables(kube, namespace, kyma_api):
    for number, (one, is_valid) in enumerate(from_tables()):
        try:
            kube.create({**one, "metadata": {"name": f"value-{number}"}}, namespace)
        except ApiError as refusal:
            assert refusal.status == 422 and not is_valid, (one, refusal)
        else:
            assert is_valid, one


def test_validate_agrees_with_the_definitions(tmp_path):
    every = [*((one, True) for one in VALID), *((one, False) for one in INVALID), *from_tables()]
    for number, (one, _) in enumerate(every):  # in namespaces of their own, because those of one namespace are also compared with each other
        (tmp_path / f"{number}.json").write_text(json.dumps({**one, "metadata": {"name": "one", "namespace": f"n{number}"}}))
    done = subprocess.run([PROGRAM, "validate", "-o", "json", *sorted(tmp_path.iterdir())], capture_output=True, text=True)
    found = json.loads(done.stdout)
    assert found["objects"] == len(every), found
    refused = {int(pathlib.Path(finding["file"]).stem): finding["message"] for finding in found["findings"] if finding["severity"] == "error"}
    wrong = [(one, refused.get(number)) for number, (one, is_valid) in enumerate(every) if (number in refused) == is_valid]
    assert wrong == []


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
