# SPDX-License-Identifier: Apache-2.0
"""Charts of helm items: where they come from, whose credentials are sent, and what is refused."""

import base64
import hashlib
import io
import json
import tarfile

import pytest

from bench.chart_repository import basic, index, serving
from bench.oci import Blob
from init.hostile_charts import CHART, HOSTILE
from init.parts import CHART_TYPE, context, descriptor, push_artifact, push_chart, push_component

NAME = "example.com/team/chart"


def config(**chart):
    return {"chart": chart}


def raw(archive):
    return config(raw=base64.b64encode(archive).decode())


def must_have_chart(result, archive=CHART):
    result.must_succeed()
    assert (result.shared / "chart" / "chart.tgz").read_bytes() == archive
    assert list((result.shared / "state").iterdir()) == []
    return result


def authorized(url, credentials):
    return {"url": url, "ca": "", "header": basic(credentials)}


def repository(server, authorization=None, version="1.0.0"):
    found = {"url": f"{server.url}/charts", "name": "app", "version": version}
    return config(repository=found, **({"authorizations": [authorized(server.url, authorization)]} if authorization else {}))


PLAIN = {"LONGSHORE_OCI_ALLOW_PLAIN_HTTP": "true"}


def test_an_archive_in_the_item_or_on_a_web_server(pod):
    must_have_chart(pod.run(raw(CHART)))
    with serving({"/a.tgz": "/b.tgz", "/b.tgz": CHART}) as server:
        must_have_chart(pod.run(config(url=f"{server.url}/a.tgz")))
        pod.run(config(url=f"{server.url}/missing")).must_fail("404")


@pytest.mark.parametrize("flavour", ["basic_registry", "token_registry"])
def test_a_private_registry_with_wrong_valid_and_rotated_credentials(request, pod, flavour):
    registry = request.getfixturevalue(flavour)
    push_chart(registry.client(), "private/charts/app", "1.0.0", CHART)
    wanted = config(ref=f"{registry.host}/private/charts/app:1.0.0")
    pod.run(wanted, env=PLAIN).must_fail()
    pod.pull_secret(registry.host, ("ship", "CANARY-wrong"))
    failed = pod.run(wanted, env=PLAIN).must_fail()
    assert "CANARY" not in failed.error and "registryPullSecrets" in failed.failure["advice"]
    pod.pull_secret(registry.host, registry.credentials)
    must_have_chart(pod.run(wanted, env=PLAIN))
    with registry.rotated("CANARY-rotated") as rotated:
        failed = pod.run(wanted, env=PLAIN).must_fail()
        assert "CANARY" not in failed.error and "registryPullSecrets" in failed.failure["advice"]
        pod.pull_secret(registry.host, rotated)
        must_have_chart(pod.run(wanted, env=PLAIN))


def test_an_artifact_that_is_not_a_chart_is_refused(pod, registry):
    push_artifact(registry.client(), "charts/other", "1", Blob(b"x", "application/vnd.oci.image.layer.v1.tar"), "application/json")
    pod.run(config(ref=f"{registry.host}/charts/other:1"), env=PLAIN).must_fail("not a chart")
    pod.run(config(ref=f"{registry.host}/charts/missing:1"), env=PLAIN).must_fail("missing")


@pytest.mark.parametrize("access", ["localBlob", "ociArtifact", "helm", "helm-oci"])
def test_a_resource_of_a_component(pod, registry, access):
    blob = Blob(CHART, CHART_TYPE)
    push_chart(registry.client(), "charts/app", "1.0.0_b", CHART)
    with serving({"/index.yaml": index({"version": "1.0.0+b", "urls": ["app.tgz"]}), "/app.tgz": CHART}) as server:
        found = {"localBlob": {"type": "localBlob", "localReference": blob.digest, "mediaType": CHART_TYPE},
                 "ociArtifact": {"type": "ociArtifact", "imageReference": f"{registry.url}/charts/app:1.0.0_b"},
                 "helm": {"type": "helm/v1", "helmRepository": server.url, "helmChart": "app:1.0.0+b"},
                 "helm-oci": {"type": "helm", "helmRepository": f"oci://{registry.host}/charts", "helmChart": "app", "version": "1.0.0+b"}}[access]
        # The same name twice: the extra identity decides.
        digest = {"hashAlgorithm": "SHA-256", "normalisationAlgorithm": "genericBlobDigest/v1", "value": hashlib.sha256(CHART).hexdigest()}
        wrong = {**digest, "value": "0" * 64}
        resource = {"name": "chart", "version": "1.0.0", "type": "helmChart", "relation": "external", "access": found, "digest": digest}
        other = {**resource, "extraIdentity": {"for": "tests"}, "access": {"type": "s3"}}
        broken = {**resource, "name": "broken", "digest": wrong}
        place = f"charts-{access.lower()}"
        push_component(registry.client(), place, descriptor(NAME, resources=[other, {**resource, "extraIdentity": {"for": "users"}}, broken]),
                       [blob] if access == "localBlob" else [])
        reference = {"componentName": NAME, "version": "1.0.0", "repositoryContext": context(f"{registry.url}/{place}")}

        def run(**identity):
            return pod.run({"componentDescriptor": {"ref": reference}, "chart": {"resource": identity}}, env=PLAIN)

        must_have_chart(run(name="chart", **{"for": "users"}))
        run(name="chart", **{"for": "tests"}).must_fail("s3")
        run(name="chart", **{"for": "nobody"}).must_fail("does not identify one resource")
        run(name="chart").must_fail("does not identify one resource")
        run(name="other").must_fail("other")
        # The digest of a resource is that of the archive, unless the archive is a layer of an artifact.
        if access in ("localBlob", "helm"):
            run(name="broken").must_fail("digest")


def test_a_classic_repository_with_wrong_valid_and_rotated_credentials(pod):
    digest = hashlib.sha256(CHART).hexdigest()
    files = {"/charts/index.yaml": index({"version": "1.0.0", "urls": ["app.tgz"], "digest": digest}), "/charts/app.tgz": CHART}
    with serving(files, credentials=("user", "secret-1")) as server:
        pod.run(repository(server), env=PLAIN).must_fail("401")
        failed = pod.run(repository(server, ("user", "CANARY-wrong")), env=PLAIN).must_fail("401")
        assert "CANARY" not in failed.error and "helmChartRepoCredentials" in failed.failure["advice"]
        must_have_chart(pod.run(repository(server, ("user", "secret-1")), env=PLAIN))
        server.credentials = ("user", "secret-2")
        pod.run(repository(server, ("user", "secret-1")), env=PLAIN).must_fail("401")
        must_have_chart(pod.run(repository(server, ("user", "secret-2")), env=PLAIN))
        # Without TLS credentials are sent only if the operator allows it.
        server.seen.clear()
        pod.run(repository(server, ("user", "secret-2"))).must_fail("401")
        assert all(not sent for _, sent in server.seen)


def test_credentials_of_a_repository_that_a_component_names(pod, registry):
    """Wrong, valid and rotated; and only those that are for its address."""
    resource = {"name": "chart", "version": "1.0.0", "type": "helmChart", "relation": "external"}
    files = {"/charts/index.yaml": index({"version": "1.0.0", "urls": ["app.tgz"]}), "/charts/app.tgz": CHART}
    with serving({}) as other, serving(files, credentials=("user", "secret-1")) as server:
        access = {"type": "helm", "helmRepository": f"{server.url}/charts", "helmChart": "app:1.0.0"}
        push_component(registry.client(), "charts-private", descriptor(NAME, resources=[{**resource, "access": access}]), [])
        reference = {"componentName": NAME, "version": "1.0.0", "repositoryContext": context(f"{registry.url}/charts-private")}

        def run(*authorizations, env=PLAIN):
            return pod.run({"componentDescriptor": {"ref": reference},
                            "chart": {"resource": {"name": "chart"}, "authorizations": list(authorizations)}}, env=env)

        foreign = {"url": other.url, "ca": "", "problem": "the Secret of another repository is missing"}
        run().must_fail("401")
        run(authorized(other.url, ("user", "secret-1")), authorized(f"{server.url}/other", ("user", "secret-1"))).must_fail("401")
        failed = run(authorized(server.url, ("user", "CANARY-wrong"))).must_fail("401")
        assert "CANARY" not in failed.error and "helmChartRepoCredentials" in failed.failure["advice"]
        must_have_chart(run(foreign, authorized(server.url, ("user", "secret-1"))))
        server.credentials = ("user", "secret-2")
        run(authorized(server.url, ("user", "secret-1"))).must_fail("401")
        must_have_chart(run(authorized(server.url, ("user", "secret-2")), foreign))
        run({"url": server.url, "ca": "", "problem": 'Secret "lost" is missing'}).must_fail('Secret "lost" is missing')
    assert other.seen == []


def test_a_template_for_exports_joins_the_archive(pod):
    """The archive follows unchanged, as another member of the gzip file."""
    result = pod.run(config(raw=base64.b64encode(CHART).decode(), isValuesTemplateWanted=True))
    result.must_succeed()
    written = (result.shared / "chart" / "chart.tgz").read_bytes()
    assert written.endswith(CHART) and written != CHART
    with tarfile.open(fileobj=io.BytesIO(written), mode="r:gz") as tar:
        names = tar.getnames()
        assert names == ["app/templates/longshore-values-for-exports.yaml", "app/Chart.yaml", "app/values.yaml", "app/templates/a.yaml"]
        assert b".Values" in tar.extractfile(names[0]).read()


def test_credentials_are_not_sent_to_other_hosts(pod):
    """Neither to the host of an address in the index, nor to that of a redirect."""
    with serving({"/app.tgz": CHART}) as other:
        for files in ({"/charts/index.yaml": index({"version": "1.0.0", "urls": [f"{other.url}/app.tgz"]})},
                      {"/charts/index.yaml": index({"version": "1.0.0", "urls": ["app.tgz"]}), "/charts/app.tgz": f"{other.url}/app.tgz"}):
            with serving(files, credentials=("user", "secret")) as server:
                must_have_chart(pod.run(repository(server, ("user", "secret")), env=PLAIN))
    assert other.seen and all(not sent for _, sent in other.seen)


def test_the_index_says_what_is_missing_and_its_digest_counts(pod):
    files = {"/charts/index.yaml": index({"version": "1.0.0", "urls": ["app.tgz"], "digest": "0" * 64}), "/charts/app.tgz": CHART}
    with serving(files) as server:
        pod.run(repository(server)).must_fail("digest")
        pod.run(repository(server, version="2.0.0")).must_fail("2.0.0", "1.0.0")


def test_an_index_may_name_a_registry(pod, registry):
    """As the index of Bitnami does. A tag has no "+"."""
    push_chart(registry.client(), "indexed/app", "1.0.0_b", CHART)
    url = f"oci://{registry.host}/indexed/app:1.0.0+b"
    digest = hashlib.sha256(CHART).hexdigest()
    with serving({"/charts/index.yaml": index({"version": "1.0.0+b", "urls": [url], "digest": digest},
                                              {"version": "2.0.0", "urls": [url], "digest": "0" * 64},
                                              {"version": "3.0.0", "urls": [f"oci://{registry.host}/indexed/missing:1"]})}) as server:
        must_have_chart(pod.run(repository(server, version="1.0.0+b"), env=PLAIN))
        pod.run(repository(server, version="2.0.0"), env=PLAIN).must_fail("digest")
        pod.run(repository(server, version="3.0.0"), env=PLAIN).must_fail("indexed/missing")


def test_a_large_index_is_not_held_in_memory(pod):
    """Almost 40 MB of other charts."""
    lines = "".join(f"  chart-{i}:\n" + "".join(f"  - version: 1.0.{j}\n    description: {'x' * 960}\n" for j in range(20)) for i in range(2000))
    text = f"apiVersion: v1\nentries:\n{lines}  app:\n  - version: 1.0.0\n    urls: [app.tgz]\n".encode()
    with serving({"/charts/index.yaml": text, "/charts/app.tgz": CHART}) as server:
        must_have_chart(pod.run(repository(server), wrapper=pod.measuring()))
    assert len(text) > 39_000_000 and pod.peak() < 30_000_000


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_archives_are_refused(pod, kind):
    pod.run(raw(HOSTILE[kind])).must_fail("chart")
    assert not (pod.shared / "chart" / "chart.tgz").exists()
    assert json.dumps([str(p) for p in pod.directory.rglob("escaped")]) == "[]"
