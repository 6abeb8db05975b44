# SPDX-License-Identifier: Apache-2.0
"""A fenced setup: the API server of Landscaper is elsewhere and cannot reach the cluster in which the pods run.
The deployer in that cluster connects to it."""

import pytest
import yaml

from bench.apiserver import ApiServer
from bench.location import Loopback
from cluster.conftest import Cluster, install, uninstall
from ship import helm

HOST = "fenced-host"
RELEASE = "fenced"
USER = "fenced-deployer"


@pytest.fixture
def landscaper(node):
    """The other API server, which listens on the address of this machine on the link to the node."""
    class Outside(Loopback):
        address = node.sandbox.test_address

    server = ApiServer(location=Outside())
    server.controllers()
    yield server
    server.close()


class Fenced(Cluster):
    """Items in the other cluster, pods in this one."""

    def __init__(self, node, landscaper, namespace):
        landscaper.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        super().__init__(node, namespace, HOST)
        self.kube.delete("landscaper.gardener.cloud/v1alpha1/contexts", "default", namespace)
        self.kube, self.host_kube = landscaper.kube, node.kube
        self.context()


def rules_for_landscaper():
    """The rules that the chart would grant its account in a single cluster, which are those documented for a kubeconfig."""
    rendered = yaml.safe_load_all(helm.run("template", RELEASE, helm.CHART, kube_version="1.34.0"))
    return next(thing for thing in rendered if thing and thing["kind"] == "ClusterRole")["rules"]


def test_two_api_servers_without_access_to_the_host_cluster(node, landscaper, node_namespace):
    landscaper.kube.allow(USER, rules_for_landscaper())
    account = f"system:serviceaccount:{HOST}:"
    here, there = node.api.audit.mark(), landscaper.audit.mark()
    install(node, HOST, RELEASE, deployer={
        "landscaperClusterKubeconfig": {"kubeconfig": landscaper.user_kubeconfig(USER).read_text()}})
    try:
        world = Fenced(node, landscaper, node_namespace)
        world.target("there", config={"foo": "bar"})
        world.shell("item", 'n=$(cat $STATE_PATH/n 2>/dev/null); echo "$n+" > $STATE_PATH/n; '
                            'echo "n: $(cat $STATE_PATH/n)" > $EXPORTS_PATH', target="there")
        for number in (1, 2):
            if number > 1:
                world.trigger("item", f"job-{number}")
            world.succeeded("item", f"job-{number}")
            assert yaml.safe_load(world.exports("item")) == {"n": "+" * number}
        world.delete("item")
        world.wait_until_deleted("item", timeout=120)

        used = {(entry["objectRef"].get("resource"), entry["verb"]) for entry in node.api.audit.entries(here)
                if entry["user"]["username"].startswith(account)}
        assert ("pods", "create") in used
        assert not [use for use in used if use[0] in ("deployitems", "targets", "contexts")], "items are requested from the host cluster"
        outside = landscaper.audit.entries(there, user=USER)
        assert {entry["objectRef"]["resource"] for entry in outside} <= {"deployitems", "targets", "contexts", "secrets", "events"}
        refused = [entry for entry in outside if entry.get("responseStatus", {}).get("code") == 403]
        assert not refused, refused
        # The outer server only received requests: it knows the address of a client, but has no credentials for the host.
        assert not [s for s in landscaper.kube.items("secrets") if "token" in s.get("type", "")]
        assert not [e for e in node.api.audit.entries(here) if e["user"]["username"] == USER]
    finally:
        uninstall(node, HOST, RELEASE)
