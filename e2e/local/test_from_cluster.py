# SPDX-License-Identifier: Apache-2.0
"""--from-cluster reads everything from the API server and writes nothing to it."""

import base64
import gzip
import io
import tarfile

from local.conftest import shell


def state_chunk(namespace, name):
    """A state Secret as the Go deployer writes it."""
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w") as archive:
        info = tarfile.TarInfo("count")
        info.size = 2
        archive.addfile(info, io.BytesIO(b"41"))
    return {"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
            "metadata": {"generateName": f"state-{namespace}-{name}-",
                         "labels": {"deployitem.container.deployer.landscaper.gardener.cloud/name": name,
                                    "deployitem.container.deployer.landscaper.gardener.cloud/namespace": namespace,
                                    "container.deployer.landscaper.gardener.cloud/type": "state"},
                         "annotations": {"container.deployer.landscaper.gardener.cloud/uuid": "0b6f1c1e-0000-4000-8000-000000000000",
                                         "container.deployer.landscaper.gardener.cloud/num": "0"}},
            "data": {"config": base64.b64encode(gzip.compress(output.getvalue())).decode()}}


def test_replays_item_target_context_and_state_and_writes_nothing(local, apiserver, kube, namespace):
    document = shell('echo "count: $(cat $STATE_PATH/count)" > $EXPORTS_PATH; '
                     'grep -q sesame $TARGET_PATH && echo "target: true" >> $EXPORTS_PATH', name="replayed",
                     image="example.com/not/pulled:1")
    document["metadata"]["namespace"] = namespace
    document["spec"]["target"] = {"name": "t", "namespace": namespace}
    kube.create({"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Context",
                           "metadata": {"name": "default"}}, namespace)
    kube.create({"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Target", "metadata": {"name": "t"},
                          "spec": {"type": "x", "secretRef": {"name": "s", "key": "k"}}}, namespace)
    kube.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"k": "open: sesame"}},
                namespace)
    kube.create(document, namespace)
    kube.create(state_chunk(namespace, "replayed"), namespace)
    local.write("kubeconfig", open(apiserver.user_kubeconfig("replayer"), "rb").read())
    kube.allow("replayer", [{"apiGroups": ["landscaper.gardener.cloud"], "resources": ["deployitems", "targets", "contexts"],
                             "verbs": ["get"]}, {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]}])
    mark = apiserver.audit.mark()
    result = local.run("--from-cluster", f"{namespace}/replayed", "--kubeconfig", "kubeconfig", "-o", "json",
                       "--image", f"oci-archive:{local.image}")
    assert result.code == 0, result
    assert result.data["exports"] == {"count": 41, "target": True}
    verbs = {entry["verb"] for entry in apiserver.audit.entries(mark, user="replayer")}
    assert verbs <= {"get", "list"}, "nothing is written to the cluster"


def test_missing_item_is_reported(local, apiserver, namespace):
    local.write("kubeconfig", open(apiserver.kubeconfig, "rb").read())
    result = local.run("--from-cluster", f"{namespace}/nothing", "--kubeconfig", "kubeconfig")
    assert result.code == 125 and f"{namespace}/nothing" in result.err, result
    wrong = local.run("--from-cluster", "nothing", "--kubeconfig", "kubeconfig")
    assert wrong.code == 2 and "NAMESPACE/NAME" in wrong.err
