# SPDX-License-Identifier: Apache-2.0
"""The Lease of a release: it has to go with the release, although nobody of the release may delete it, and its roles are gone before its pods stop."""

import base64
import os

from bench import paths, privileges
from bench.process import Process
from ship import helm
from ship.test_chart import BUILD

LEASES = "coordination.k8s.io/v1/leases"
NAME = "one-container-deployer"
ACCOUNT = "/run/secrets/kubernetes.io/serviceaccount"


def account_of(kube, namespace):
    name = kube.get("apps/v1/deployments", NAME, namespace)["spec"]["template"]["spec"]["serviceAccountName"]
    return kube.get("serviceaccounts", name, namespace)["metadata"]


def start_in_pod(apiserver, namespace):
    """The controller of the release as a process that has what a pod has: the token of the account, and the address of the API server."""
    account = paths.fresh_directory("account")
    (account / "token").write_text(apiserver.kube.token(account_of(apiserver.kube, namespace)["name"], namespace))
    (account / "ca.crt").write_bytes(apiserver.authority.certificate.read_bytes())
    config = account / "config.yaml"
    config.write_bytes(base64.b64decode(apiserver.kube.get("secrets", f"{NAME}-config", namespace)["data"]["config.yaml"]))
    host, port = apiserver.server.removeprefix("https://").split(":")
    script = (f"mount -t tmpfs tmpfs /run && mkdir -p {ACCOUNT} && mount --bind -o ro '{account}' {ACCOUNT} && exec \"$@\"")
    return Process("in-pod", ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", BUILD / "deployer" / "longshore", "controller",
                              f"--config={config}", "--metrics-address=off", "--health-address=off"],
                   env={"PATH": os.environ["PATH"], "MY_POD_NAME": "pod", "MY_POD_NAMESPACE": namespace, "KUBERNETES_SERVICE_HOST": host,
                        "KUBERNETES_SERVICE_PORT": port})


def test_the_lease_is_deleted_with_the_release_while_its_leader_still_runs(apiserver, controllers, kube, namespace):
    privileges.require_root("mounting the token of a pod")
    # An existing Lease gets the owner, too: this one is that of an older release.
    kube.create({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": NAME, "namespace": namespace}})
    helm.run("install", "one", helm.CHART, kubeconfig=apiserver.kubeconfig, namespace=namespace, values={"replicaCount": 0})
    controller = start_in_pod(apiserver, namespace)
    try:
        controller.wait_until(lambda: kube.get(LEASES, NAME, namespace).get("spec", {}).get("holderIdentity"), "a leader")
        lease, account = kube.get(LEASES, NAME, namespace), account_of(kube, namespace)
        assert [(owner["kind"], owner["name"], owner["uid"]) for owner in lease["metadata"]["ownerReferences"]] == [
            ("ServiceAccount", account["name"], account["uid"])]
        helm.run("uninstall", "one", kubeconfig=apiserver.kubeconfig, namespace=namespace)
        kube.wait_for(LEASES, NAME, lambda found: found is None, namespace, timeout=60)
        assert controller.running
    finally:
        controller.expected = False
        controller.stop()
    assert kube.items(LEASES, namespace) == []
