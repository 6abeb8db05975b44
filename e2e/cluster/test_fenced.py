# SPDX-License-Identifier: Apache-2.0
"""A fenced set-up: Landscaper's API server is somewhere else, and nothing there has a way into the cluster where the pods run.
The deployer, inside, reaches out."""

import pytest
import yaml

from bench.apiserver import ApiServer
from bench.place import Loopback
from cluster.conftest import Cluster, install, uninstall
from ship import helm

HOST = "fenced-host"
RELEASE = "fenced"
USER = "fenced-deployer"


@pytest.fixture
def landscaper(node):
    """The other API server, on the outer end of the node's cable."""
    class Outside(Loopback):
        address = node.nest.test_address

    server = ApiServer(place=Outside())
    server.controllers()
    yield server
    server.close()


class Fenced(Cluster):
    """Items there, pods here."""

    def __init__(self, node, landscaper, namespace):
        landscaper.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        super().__init__(node, namespace, HOST)
        self.kube.delete("landscaper.gardener.cloud/v1alpha1/contexts", "default", namespace)
        self.kube, self.host_kube = landscaper.kube, node.kube
        self.context()


def rules_for_landscaper():
    """What the chart would give its own account, were it one cluster: what the documents say a kubeconfig's account needs."""
    rendered = yaml.safe_load_all(helm.run("template", RELEASE, helm.CHART, kube_version="1.34.0"))
    return next(thing for thing in rendered if thing and thing["kind"] == "ClusterRole")["rules"]


def test_two_api_servers_and_no_way_into_the_host(node, landscaper, node_namespace):
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
        world.gone("item", timeout=120)

        used = {(entry["objectRef"].get("resource"), entry["verb"]) for entry in node.api.audit.entries(here)
                if entry["user"]["username"].startswith(account)}
        assert ("pods", "create") in used
        assert not [use for use in used if use[0] in ("deployitems", "targets", "contexts")], "items are not looked for here"
        outside = landscaper.audit.entries(there, user=USER)
        assert {entry["objectRef"]["resource"] for entry in outside} <= {"deployitems", "targets", "contexts", "secrets", "events"}
        refused = [entry for entry in outside if entry.get("responseStatus", {}).get("code") == 403]
        assert not refused, refused
        # The outer server was only ever asked: what it knows of the host is a client's address, and no credentials.
        assert not [s for s in landscaper.kube.items("secrets") if "token" in s.get("type", "")]
        assert not [e for e in node.api.audit.entries(here) if e["user"]["username"] == USER]
    finally:
        uninstall(node, HOST, RELEASE)
