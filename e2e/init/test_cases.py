# SPDX-License-Identifier: Apache-2.0
"""The cases of data/cases with a real registry, as user 1000."""

import json
import stat

import pytest

from init.harness import DATA, FSGROUP, UID
from init.parts import context, reference

CASES = sorted(path.name for path in (DATA / "cases").iterdir())
CONTENT = {"blueprint.yaml", "data/values.txt", "run.sh"}
# What the message of each case with the outcome "error" contains.
REASONS = {
    "D11-dup": ("example.com/acme/d11:1.0.0", "dup", "2 "),
    "D12-no-repository-contexts": ("example.com/acme/d12:1.0.0", "repositoryContexts: at least one is required"),
    "D15-not-a-tar": ("not-a-tar", "Unrecognized archive format"),
    "D18-tag-unknown": ("example.com/acme/d01:7.7.7", "not found"),
}


def configuration_of(case, registry):
    text = (DATA / "cases" / case / "configuration.json").read_text()
    return json.loads(text.replace("127.0.0.1:5000", registry.host))


@pytest.mark.parametrize("case", CASES)
def test_case(case, pod, cases_registry):
    expected = json.loads((DATA / "cases" / case / "expected.json").read_text())
    outside = {path: path.lstat().st_mtime_ns for path in pod.directory.iterdir() if path.name not in ("shared", "log")}
    result = pod.run(configuration_of(case, cases_registry))
    if expected["outcome"] == "ok":
        check_good(result.must_succeed(), expected["expect"])
    elif expected["outcome"] == "error":
        result.must_fail(*REASONS[case])
        assert result.content() == {}
    else:
        # Hostile archives: nothing is written outside the content directory. test_hostile_archives has the outcome of each.
        assert result.code in (0, 1), result.error
        allowed = {"content", "component_descriptor.json", "exports", "imports", "state", "targets"}
        assert {path.name for path in pod.shared.iterdir()} <= allowed
        assert (result.code == 0) == bool(result.content())
        now = {path: path.lstat().st_mtime_ns for path in outside}
        now.pop(pod.inputs), outside.pop(pod.inputs), now.pop(pod.message, None), outside.pop(pod.message, None)
        assert now == outside


def check_good(result, expect):
    content = {name: text.encode() for name, text in expect["content"].items()}
    assert result.content() == content
    if "component_descriptor.json" in expect:
        assert result.descriptors() == expect["component_descriptor.json"]
    if "components" in expect:
        assert len(result.components()) == expect["components"]
    if "set" in expect:
        assert sorted(result.components()) == sorted(map(tuple, expect["set"]))
    assert result.descriptors()["meta"] == {"schemaVersion": "v2"}


@pytest.mark.parametrize("name, why", [
    ("abs", "is absolute"), ("dotdot", "contains '..'"), ("dotdot-inside", "contains '..'"), ("sym-escape-write", "both a link"),
    ("sym-then-file", None), ("sym-dangling", "nowhere"), ("sym-ok", None), ("sym-loop", "part of a loop"), ("hard-ok", None),
    ("hard-escape", "/etc/hostname"), ("dev", "device"), ("fifo", "FIFO"), ("dup", None), ("suid", None), ("rodir", None),
    ("mode0", None), ("backslash", "backslash"), ("longname", None), ("file-over-dir", "already exists as a directory"),
    ("bomb-64m", "200 times"),
])
def test_hostile_archives(pod, cases_registry, name, why):
    """The archives of D20: why each is rejected, or None if it is unpacked."""
    base = context(f"http://{cases_registry.host}/ocm")
    result = pod.run(reference(base, "example.com/acme/d20", blueprint=name))
    if why is None:
        for path in result.must_succeed().shared.rglob("*"):
            assert stat.S_IMODE(path.lstat().st_mode) & ~stat.S_ISGID in (0o644, 0o755), path
        assert "blueprint.yaml" in result.content()
    else:
        result.must_fail(why)
        assert result.content() == {}


@pytest.mark.parametrize("name, version, resource, more", [
    ("d03", "1.0.0", "blueprint", {}),
    ("d07", "1.0.0", "blueprint", {"componentNameMapping": "sha256-digest"}),
    ("d09", "1.0.0", "blueprint", {}),
    ("d10", "1.0.0", "blueprint", {}),
    ("d10", "1.0.0", "by-registry-type", {}),
    ("d15", "1.0.0", "tar-called-gzip", {}),
    ("d15", "1.0.0", "gzip-called-tar", {}),
])
def test_artifacts_that_are_accepted(pod, cases_registry, name, version, resource, more):
    base = context(f"http://{cases_registry.host}/ocm", **more)
    result = pod.run(reference(base, f"example.com/acme/{name}", version, resource)).must_succeed()
    assert set(result.content()) == CONTENT


@pytest.mark.parametrize("name, version, resource, why", [
    ("d14", "1.0.0", "blueprint", "does-not-exist"),
    ("d15", "1.0.0", "no-blueprint-file", "blueprint.yaml"),
    ("d15", "1.0.0", "wrong-kind", "apiVersion"),
    ("d15", "1.0.0", "gone", 'has no resource "gone"'),
    ("d10", "1.0.0", "doc-media-type", "is not a blueprint"),
    ("d11", "1.0.0", "extra", "extra identity"),
    ("d11", "1.0.0", "image", "is not a blueprint"),
    ("d11", "1.0.0", "nomedia", 'media type ""'),
    ("d11", "1.0.0", "octet", 'media type "application/octet-stream"'),
    ("d11", "1.0.0", "unknownaccess", "is not supported"),
    ("d11", "1.0.0", "s3res", "is not supported"),
    ("d01", "9.0.0", None, 'found that of "example.com/acme/d01:1.0.0"'),
    ("d17", "1.0.0", None, "not a component version"),
    ("d01", "latest", None, 'invalid version "latest"'),
])
def test_artifacts_that_are_rejected(pod, cases_registry, name, version, resource, why):
    base = context(f"http://{cases_registry.host}/ocm")
    result = pod.run(reference(base, f"example.com/acme/{name}", version, resource))
    assert result.code == (2 if version == "latest" else 1)
    assert why in result.failure["error"]
    assert result.content() == {}
    assert not [path for path in pod.shared.iterdir() if path.name.startswith(".")]


def test_files_are_owned_by_the_user_and_group_of_the_pod(as_root, pod, cases_registry):
    """uid 1000 and the volume's group, by its set-gid bit, on everything."""
    result = pod.run({**configuration_of("D01-ocm-localblob", cases_registry), "importValues": {"a": 1}}).must_succeed()
    checked = 0
    for path in result.shared.rglob("*"):
        status = path.stat()
        assert (status.st_uid, status.st_gid) == (UID, FSGROUP), path
        assert status.st_mode & stat.S_IRUSR and status.st_mode & stat.S_IWUSR, path
        checked += 1
    assert checked >= 10


def test_components_are_listed_depth_first(pod, cases_registry):
    result = pod.run(configuration_of("D13-diamond-and-cycle", cases_registry)).must_succeed()
    acme = "example.com/acme/"
    assert result.components() == [(acme + "d13", "1.0.0"), (acme + "d13a", "1.0.0"), (acme + "d13ab", "1.0.0"),
                                   (acme + "d13b", "1.0.0"), (acme + "d13ab", "2.0.0")]
    cycle = result.line("component references form a cycle")
    assert cycle["component"] == acme + "d13ab:1.0.0" and cycle["refersTo"] == acme + "d13:1.0.0"
