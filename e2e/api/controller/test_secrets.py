# SPDX-License-Identifier: Apache-2.0
"""Canaries in every input: none of them in a log, an event, a status or a metric."""

import json
import socket
import urllib.request

from controller_harness import ended, running, waiting

CANARY = "canary-4711"


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def inputs(world):
    """Returns the canaries of all inputs."""
    kubeconfig = json.dumps({"apiVersion": "v1", "kind": "Config", "users": [{"name": "u", "user": {"token": f"{CANARY}-kubeconfig"}}]})
    world.secret("cluster-secret", {"kubeconfig": kubeconfig})
    world.target("cluster", secret="cluster-secret")
    world.secret("registry", {".dockerconfigjson": {"auths": {"example.com": {"username": "user", "password": f"{CANARY}-registry"}}}},
                 type="kubernetes.io/dockerconfigjson")
    world.kube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ocm", "namespace": world.namespace}, "data": {
        ".ocmconfig": json.dumps({"type": "generic.config.ocm.software/v1", "configurations": [{
            "type": "credentials.config.ocm.software", "consumers": [{
                "identity": {"type": "OCIRegistry", "hostname": "example.com"},
                "credentials": [{"type": "Credentials", "properties": {"username": "u", "password": f"{CANARY}-ocm"}}]}]}]})}})
    world.context(ocmConfig={"name": "ocm"}, registryPullSecrets=[{"name": "registry"}])
    return [f"{CANARY}-{word}" for word in ("kubeconfig", "registry", "ocm", "import", "env", "export")]


def test_no_canary_leaves_its_place(world):
    canaries = inputs(world)
    port = free_port()
    controller = world.start(arguments=[f"--metrics-address=127.0.0.1:{port}"])
    words = "\n".join(f"trying with {canary} now" for canary in canaries if not canary.endswith("export"))

    def talkative(pod):
        pod.run()
        # main ends while wait still saves: what it said is in the pod's status by then.
        pod.status("Running", init=ended(), main=ended(1, message=words), wait=running())
        pod.fail(1, message=words)

    def proud(pod):
        pod.run()
        pod.export({"password": f"{CANARY}-export"})
        pod.status("Succeeded", init=ended(), main=ended(0, message=words), wait=ended())

    def wrong_image(pod):
        pod.bind()
        pod.status("Pending", init=ended(), wait=running(), main=waiting("InvalidImageName", "couldn't parse"))

    config = {"importValues": {"password": f"{CANARY}-import"}, "env": [{"name": "SECRET", "value": f"{CANARY}-env"}]}
    for name, behaviour in (("loud", talkative), ("proud", proud), ("wrong", wrong_image)):
        world.kubelet.behaviour = behaviour
        world.item(name, target="cluster", config=config)
        world.finished(name)
        world.quiet()
    world.item("broken", target="cluster", config={**config, "image": 5, "registryPullSecrets": [{}]})
    world.finished("broken")
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        metrics = answer.read().decode()
    told = {
        "log": controller.output(), "metrics": metrics,
        "status": json.dumps([world.status(name) for name in ("loud", "proud", "wrong", "broken")]),
        "events": json.dumps([e for name in ("loud", "proud", "wrong", "broken") for e in world.events(name)]),
    }
    assert "longshore_runs_total" in metrics and "exit code 1" in told["status"]
    for place, text in told.items():
        assert CANARY not in text, (place, [c for c in canaries if c in text])
