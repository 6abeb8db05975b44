# SPDX-License-Identifier: Apache-2.0
"""Hostile registries, archives and documents."""

import gzip
import json
import os
import pathlib
import tarfile
import threading

import pytest

from bench import certificates
from bench.oci import Blob, manifest_of, tar_of
from faults.proxy import ENDLESS, PASS, Action, FaultProxy, redirect
from init.harness import tree
from init.parts import (BLUEPRINT_YAML, CONFIG, DESCRIPTOR, TAR_GZIP, blueprint_blob, context, descriptor, entry,
                        push_artifact, push_component, reference, resource, tar_with)

NAME = "example.com/hostile/app"
SECRET = "CANARY-7f3a"


def publish(registry, data, media_type=TAR_GZIP):
    """Pushes a component with these bytes as its blueprint."""
    blob = Blob(data, media_type)
    push_component(registry.client(), "hostile", descriptor(NAME, resources=[resource(blob)]), [blob])
    return reference(context(f"{registry.url}/hostile"), NAME, blueprint="blueprint")


def blueprint():
    return entry("blueprint.yaml", BLUEPRINT_YAML)


LINK, HARD, DIRECTORY = tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE

ESCAPES = {
    "traversal": [entry("../../evil", b"x")],
    "traversal inside": [entry("a/../../evil", b"x")],
    "absolute": [entry("/tmp/evil", b"x")],
    "backslash": [entry("..\\..\\evil", b"x")],
    "a path of 5000 bytes": [entry("a/" * 2500 + "evil", b"x")],
    "a name of 300 bytes": [entry("a" * 300, b"x")],
    "a control character": [entry("a\nb", b"x")],
    "pax path override": [(lambda info: (setattr(info[0], "pax_headers", {"path": "../../evil"}), info)[1])(entry("good", b"x"))],
    "symlink out, then a file through it": [entry("l", type=LINK, linkname="/tmp"), entry("l/evil", b"x")],
    "symlink up, then a file through it": [entry("l", type=LINK, linkname="../.."), entry("l/evil", b"x")],
    "chain of symlinks": [entry("a", type=DIRECTORY), entry("a/b", type=LINK, linkname=".."),
                          entry("a/b/c", type=LINK, linkname="../.."), entry("a/b/c/evil", b"x")],
    "symlink to a secret": [entry("l", type=LINK, linkname="/etc/shadow")],
    "symlink to our own inputs": [entry("l", type=LINK, linkname="../../inputs/target.json")],
    "hard link out": [entry("h", type=HARD, linkname="/etc/passwd")],
    "hard link up": [entry("h", type=HARD, linkname="../../inputs/target.json")],
    "hard link through a symlink": [entry("l", type=LINK, linkname="../.."), entry("h", type=HARD, linkname="l/inputs/target.json")],
    "hard link with data": [entry("h", b"data", type=HARD, linkname="/etc/passwd")],
    "device": [entry("d", type=tarfile.CHRTYPE, devmajor=1, devminor=3)],
    "block device": [entry("d", type=tarfile.BLKTYPE, devmajor=8, devminor=0)],
    "fifo": [entry("f", type=tarfile.FIFOTYPE)],
    "more than 10000 entries": [entry(f"f{i}", b"") for i in range(10_001)],
}


def watch(pod):
    """The files outside the shared volume that init could modify."""
    return {path: (path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else None)
            for path in pod.inputs.rglob("*") if path.name != "configuration.json"}


@pytest.mark.parametrize("attack", ESCAPES)
def test_archive(pod, registry, attack):
    configuration = publish(registry, gzip.compress(tar_with(blueprint(), *ESCAPES[attack])))
    before = watch(pod)
    result = pod.run(configuration).must_fail()
    assert result.failure["step"] == "blueprint"
    assert result.content() == {}
    assert watch(pod) == before
    assert not pathlib.Path("/tmp/evil").exists()
    assert not (pod.directory / "evil").exists() and not (pod.directory.parent / "evil").exists()


def test_archive_modes_owners_and_times_are_ignored(pod, registry):
    files = [entry("suid", b"x", mode=0o6755, uid=0, gid=0, mtime=2**40), entry("none", b"x", mode=0),
             entry("dir", type=DIRECTORY, mode=0o2000), entry("dir/file", b"x", mode=0o777)]
    result = pod.run(publish(registry, gzip.compress(tar_with(blueprint(), *files)))).must_succeed()
    for name in ("suid", "none", "dir/file"):
        assert (pod.shared / "content" / name).stat().st_mode & 0o7777 == 0o644
    assert set(result.content()) == {"blueprint.yaml", "suid", "none", "dir/file"}


BOMBS = {
    "gzip bomb": lambda: gzip.compress(tar_with(blueprint(), entry("zeros", bytes(100 * 1024 * 1024)))),
    "sparse file of a terabyte": lambda: gzip.compress(sparse_tar()),
    "size of a terabyte in the header": lambda: gzip.compress(huge_header()),
    "zstd with a window of 2 GiB": lambda: zstd_with_a_window_of_2_gib(tar_with(blueprint())),
}


def zstd_with_a_window_of_2_gib(data):
    """One uncompressed block."""
    window_exponent = 31 - 10
    return b"\x28\xb5\x2f\xfd\0" + bytes([window_exponent << 3]) + (len(data) << 3 | 1).to_bytes(3, "little") + data


def huge_header():
    info = tarfile.TarInfo("huge")
    info.size = 1 << 40
    return tar_of({"blueprint.yaml": BLUEPRINT_YAML})[:-1024 * 10 + 1024] + info.tobuf(tarfile.GNU_FORMAT)


def sparse_tar():
    """GNU.sparse.realsize of a terabyte in a few bytes of archive."""
    info = tarfile.TarInfo("GNUSparseFile.0/sparse")
    info.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "sparse",
                        "GNU.sparse.realsize": str(1 << 40)}
    return tar_with(blueprint(), (info, b"1\n1099511627775\n1\n" + bytes(495) + b"x"))


@pytest.mark.parametrize("bomb", BOMBS)
def test_bomb(pod, registry, bomb):
    result = pod.run(publish(registry, BOMBS[bomb]())).must_fail()
    assert result.content() == {}
    assert sum(path.stat().st_blocks for path in pod.shared.rglob("*")) * 512 < 1024 * 1024


@pytest.mark.parametrize("data", [b"", b"not a tar", gzip.compress(b"not a tar"), gzip.compress(tar_of({"blueprint.yaml": BLUEPRINT_YAML}))[:-30],
                                  tar_of({"blueprint.yaml": BLUEPRINT_YAML})[:700]],
                         ids=["empty", "text", "gzip of text", "cut gzip", "cut tar"])
def test_damaged_archive(pod, registry, data):
    assert pod.run(publish(registry, data)).must_fail().content() == {}


def test_racing_attacker(pod, registry):
    """Another process replaces directories of the volume by symlinks while init unpacks. Nothing is written outside."""
    files = [entry(f"d{i}/f{j}", os.urandom(200)) for i in range(40) for j in range(20)]
    configuration = publish(registry, gzip.compress(tar_with(blueprint(), *files)))
    outside = pod.directory / "outside"
    outside.mkdir()
    outside.chmod(0o777)
    stop = threading.Event()
    swaps = 0

    def race():
        nonlocal swaps
        while not stop.is_set():
            try:
                for path in pod.shared.glob(".longshore-init*/d*"):
                    path.rename(path.with_name("x" + path.name))
                    path.symlink_to(outside)
                    swaps += 1
            except OSError:
                pass

    for _ in range(5):
        thread = threading.Thread(target=race, daemon=True)
        thread.start()
        try:
            result = pod.run(configuration)
        finally:
            stop.set()
            thread.join()
            stop.clear()
        assert result.code in (0, 1), result.error
        assert tree(outside) == {}
    assert swaps > 0


# --- bodies ---

@pytest.fixture
def proxy(registry):
    with FaultProxy(registry) as server:
        yield server


def own(*answer):
    """An answer of the proxy in place of the registry's."""
    return Action(forward=False, answer=answer)


def published(registry):
    return publish(registry, blueprint_blob({"data": b"x"}).data)


def through(proxy):
    return reference(context(f"{proxy.url}/hostile"), NAME, blueprint="blueprint")


def test_endless_manifest(pod, registry, proxy):
    published(registry)
    proxy.plan = lambda request: own(200, ENDLESS)
    result = pod.run(through(proxy)).must_fail()
    assert result.failure["kind"] == "too-large"


def test_endless_blob(pod, registry, proxy):
    published(registry)
    proxy.plan = lambda request: own(200, ENDLESS) if "/blobs/" in request.path else PASS
    pod.run(through(proxy)).must_fail("more data than")
    assert len(proxy.requests) == 2


def with_the_last_bit_flipped(headers, body):
    headers.pop("docker-content-digest", None)
    return body[:-1] + bytes([body[-1] ^ 1])


@pytest.mark.parametrize("part", ["manifests", "config", "layer", "blueprint"])
def test_modified_bytes(pod, registry, proxy, part):
    """Modifies the last byte of the manifest, config, descriptor or blueprint."""
    published(registry)
    number = {"manifests": 0, "config": 1, "layer": 2, "blueprint": 3}[part]
    proxy.plan = lambda request: Action(alter=with_the_last_bit_flipped) if request.number == number else PASS
    result = pod.run(through(proxy)).must_fail()
    assert result.failure["kind"] == "invalid"
    assert result.content() == {}
    assert len(proxy.requests) == number + 1


@pytest.mark.parametrize("size", [1, 10_000_000])
def test_wrong_size_in_the_manifest(pod, registry, size):
    blob = blueprint_blob()
    body = descriptor(NAME, "3.0.0", resources=[resource(blob)])
    layer = Blob(tar_of({"component-descriptor.yaml": json.dumps(body).encode()}), DESCRIPTOR)
    described = {**layer.descriptor(), "size": size}
    config = Blob(json.dumps({"componentDescriptorLayer": described}).encode(), CONFIG)
    registry.client().push(f"hostile/component-descriptors/{NAME}", "3.0.0", manifest_of(config, [layer, blob]),
                           [config, layer, blob])
    result = pod.run(reference(context(f"{registry.url}/hostile"), NAME, "3.0.0"), env={"LONGSHORE_INIT_DEADLINE": "3s"})
    result.must_fail("bytes")


def test_wrong_digest_in_the_descriptor(pod, registry):
    blob = blueprint_blob()
    digest = {"hashAlgorithm": "SHA-256", "normalisationAlgorithm": "genericBlobDigest/v1", "value": "0" * 64}
    push_component(registry.client(), "hostile", descriptor(NAME, "4.0.0", resources=[resource(blob, digest=digest)]), [blob])
    result = pod.run(reference(context(f"{registry.url}/hostile"), NAME, "4.0.0", "blueprint"))
    assert result.must_fail("digest", "component descriptor").content() == {}


def test_a_moved_tag_does_not_match_the_digest_of_the_descriptor(pod, registry):
    client = registry.client()
    good = push_artifact(client, "hostile/bp", "1", blueprint_blob())
    digest = {"hashAlgorithm": "SHA-256", "normalisationAlgorithm": "ociArtifactDigest/v1", "value": good.digest.partition(":")[2]}
    access = {"type": "ociArtifact", "imageReference": f"{registry.url}/hostile/bp:1"}
    body = descriptor(NAME, "5.0.0", resources=[{**resource(blueprint_blob(), digest=digest), "access": access}])
    push_component(client, "hostile", body)
    configuration = reference(context(f"{registry.url}/hostile"), NAME, "5.0.0", "blueprint")
    pod.run(configuration).must_succeed()
    push_artifact(client, "hostile/bp", "1", blueprint_blob({"evil": b"x"}))
    pod.run(configuration).must_fail("but the component descriptor requires")


# --- who receives credentials ---

def challenge(scheme):
    """The answer that requests a password."""
    return own(401, {}, {"www-authenticate": scheme})


BASIC = challenge('Basic realm="x"')


def authorizations(proxy):
    """All passwords and tokens that were sent to the proxy."""
    return [request.headers["authorization"] for request in proxy.requests if request.headers.get("authorization")]


def own_registry(proxy, pod):
    pod.pull_secret(proxy.netloc, ("ship", SECRET))


def test_redirect_to_another_host(pod, registry, proxy):
    """Blobs are on a storage host, which must not receive the password."""
    published(registry)
    own_registry(proxy, pod)

    def plan(request):
        if "authorization" not in request.headers:
            return BASIC
        return own(*redirect(storage.url + request.target)) if "/blobs/" in request.path else PASS

    proxy.plan = plan
    with FaultProxy(registry, address="127.0.0.2") as storage:
        result = pod.run(through(proxy)).must_succeed()
    assert storage.requests and authorizations(storage) == []
    assert authorizations(proxy)
    assert SECRET not in result.error


def test_redirect_from_tls_to_plain_http(pod, registry):
    """A downgrade is an error."""
    published(registry)
    authority = certificates.session_authority()
    env = {"SSL_CERT_FILE": str(pod.write("ca.pem", authority.certificate.read_text())), "LONGSHORE_INIT_DEADLINE": "2s"}

    def plan(request):
        return own(*redirect(plain.url + request.target)) if "/blobs/" in request.path else PASS

    with FaultProxy(registry) as plain, FaultProxy(registry, plan, authority=authority) as secure:
        pod.run(through(secure), env=env).must_fail("blob")
    assert any("/blobs/" in request.path for request in secure.requests)
    assert plain.requests == []


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_credentials_are_not_sent_to_a_foreign_token_server(pod, registry, proxy, scheme):
    published(registry)
    own_registry(proxy, pod)
    with FaultProxy(None, lambda request: own(200, {"token": "x"}), address="127.0.0.2") as thief:
        realm = f'Bearer realm="{scheme}://{thief.netloc}/token",service="x"'
        proxy.plan = lambda request: challenge(realm)
        result = pod.run(through(proxy), env={"LONGSHORE_INIT_DEADLINE": "2s"}).must_fail()
    if scheme == "http":
        assert thief.requests, "the realm was asked, but anonymously"
        assert "another domain" in result.failure["error"]
    assert authorizations(thief) == []
    assert SECRET not in json.dumps([request.headers for request in thief.requests]) + result.error + result.message


@pytest.mark.parametrize("realm", ["http://ship:x@127.0.0.1/t", "file:///etc/passwd", "gopher://127.0.0.1:1/x", "http://", "\\\\x"])
def test_realms_that_are_not_urls(pod, registry, proxy, realm):
    published(registry)
    own_registry(proxy, pod)
    proxy.plan = lambda request: challenge(f'Bearer realm="{realm}"')
    result = pod.run(through(proxy)).must_fail("token server")
    assert SECRET not in result.error


def test_an_answer_with_the_password_is_not_logged(pod, registry, proxy):
    published(registry)
    own_registry(proxy, pod)

    def plan(request):
        sent = request.headers.get("authorization")
        return own(200, {"errors": [{"code": SECRET, "message": sent}]}) if sent else BASIC

    proxy.plan = plan
    result = pod.run(through(proxy), arguments=["-v", "debug"]).must_fail()
    seen = result.error + result.message
    assert SECRET not in seen and authorizations(proxy)[0] not in seen


def test_secrets_are_never_logged(pod, basic_registry):
    """With canaries in every input, at the highest verbosity, on success and on failure."""
    blob = blueprint_blob({"data": SECRET.encode()})
    push_component(basic_registry.client(), "canary", descriptor(NAME, resources=[resource(blob)]), [blob])
    pod.pull_secret(basic_registry.host, basic_registry.credentials)
    pod.pull_secret("other.example", ("u", SECRET), "other")
    pod.write("target.json", {"target": {"spec": {"config": SECRET}}, "content": SECRET})
    configuration = reference(context(f"{basic_registry.url}/canary"), NAME, blueprint="blueprint", importValues={"p": SECRET})
    result = pod.run(configuration, arguments=["-v", "debug"]).must_succeed()
    assert SECRET not in result.error and basic_registry.credentials[1] not in result.error
    pod.write("registry_secrets/bad/.dockerconfigjson", '{"auths": {"h": {"auth": "%s"}}}' % SECRET)
    assert SECRET not in pod.run(configuration, arguments=["-v", "debug"]).must_fail('entry "h"', code=2).error
    pod.write("registry_secrets/bad/.dockerconfigjson", '{"auths": %s' % SECRET)
    assert SECRET not in pod.run(configuration, arguments=["-v", "debug"]).must_fail(".dockerconfigjson", code=2).error
    pod.write("registry_secrets/bad/.dockerconfigjson", "{}")
    pod.write("ocm/.ocmconfig", f"type: [{SECRET}")
    assert SECRET not in pod.run(configuration, arguments=["-v", "debug"]).must_fail("OCM configuration", code=2).error


# --- documents ---

LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(12))

DOCUMENTS = {
    "billion laughs": LAUGHS.encode(),
    "depth of 100000": b"[" * 100_000,
    "depth of 100000 in YAML": b"".join(b" " * i + b"a:\n" for i in range(2000)),
    "NUL": b"meta: {schemaVersion: v2}\0",
    "not UTF-8": b"meta: {schemaVersion: \xff\xfe}",
    "duplicate key": b"meta: {schemaVersion: v2}\nmeta: {schemaVersion: v2}\n",
    "two documents": b"meta: {schemaVersion: v2}\n---\nmeta: {schemaVersion: v2}\n",
    "a tag": b"!!python/object/apply:os.system ['true']\n",
    "empty": b"",
    # Small in text, but a hundred bytes and more per element in memory.
    "a tree of 4 MiB": b'{"meta": {"schemaVersion": "v2"}, "component": {"labels": [' + b"{}," * 1_400_000 + b"{}]}}",
    "an element of 4 MiB": b'{"meta": {"schemaVersion": "v2"}, "component": {"resources": [[' + b"{}," * 1_400_000 + b"{}]]}}",
    "4 MiB behind an anchor": b"component: &a\n  resources:\n" + b"  - {}\n" * 600_000,
}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_hostile_descriptor(pod, registry, document):
    layer = Blob(tar_of({"component-descriptor.yaml": DOCUMENTS[document]}), DESCRIPTOR)
    push_component(registry.client(), "traps", descriptor(NAME), layer=layer)
    pod.run(reference(context(f"{registry.url}/traps"), NAME), wrapper=pod.measuring()).must_fail("component descriptor")
    # A document may take 64 MiB (common/data/doc_budget.h); its text and the shared libraries come on top.
    assert pod.peak() < 96 * 1024 * 1024


@pytest.mark.parametrize("manifest", [b"[]", b"{}", b'{"config": {"digest": "sha256:../../x"}}', b"[" * 100_000, b"\xff",
                                      b'{"config": {"digest": "sha256:' + b"0" * 64 + b'", "size": -5}}'])
def test_hostile_manifest(pod, proxy, registry, manifest):
    published(registry)
    proxy.plan = lambda request: own(200, manifest)
    pod.run(through(proxy)).must_fail("manifest")


def test_endless_references(pod, registry, proxy):
    """Every component refers to a new one: the search ends at the limit."""
    def plan(request):
        name = request.path.split("/component-descriptors/")[1].split("/manifests/")[0].split("/blobs/")[0]
        count = int(name.rsplit("c", 1)[1])
        body = descriptor(name, references=[(f"example.com/endless/c{count + 1}", "1.0.0")])
        layer = Blob(tar_of({"component-descriptor.yaml": json.dumps(body).encode()}), DESCRIPTOR)
        config = Blob(json.dumps({"componentDescriptorLayer": layer.descriptor()}).encode(), CONFIG)
        manifest = manifest_of(config, [layer])
        for blob in (config, layer):
            if request.path.endswith(blob.digest):
                return own(200, blob.data)
        return own(200, manifest.data, {"content-type": manifest.media_type})

    proxy.plan = plan
    result = pod.run(reference(context(f"{proxy.url}/x"), "example.com/endless/c0"))
    result.must_fail("more than 500 components", "c500")
    assert not (pod.shared / "component_descriptor.json").exists()


@pytest.mark.parametrize("name", ["../x", ".", "..", "/", "a" * 300, "x/../../y"])
def test_resource_names_that_are_paths(pod, registry, name):
    published(registry)
    result = pod.run(reference(context(f"{registry.url}/hostile"), NAME, blueprint=name)).must_fail("resource")
    assert result.content() == {}
