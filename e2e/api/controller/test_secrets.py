# SPDX-License-Identifier: Apache-2.0
"""Canary values in every input: none of them appears in a log, an event, a status or a metric, whatever main prints."""

import base64
import json
import random
import socket
import threading
import urllib.request

import pytest

from bench import paths
from controller_harness import ended, running, state_archive, waiting
from faults.proxy import Action, PASS, status

CANARY = "canary-4711"
PIN = 4711081547110815
# The size of a termination message that a kubelet keeps.
KUBELET_BYTES = 2048


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def canary(word):
    return f"{CANARY}-{word}"


def auth(word):
    return base64.b64encode(f"user:{canary(word)}".encode()).decode()


def inputs(world):
    """Creates all inputs of a run except its configuration. Returns their canaries."""
    kubeconfig = json.dumps({"apiVersion": "v1", "kind": "Config", "users": [{"name": "u", "user": {
        "token": canary("kubeconfig"), "client-key-data": base64.b64encode(canary("key").encode()).decode()}}]})
    world.secret("cluster-secret", {"kubeconfig": kubeconfig})
    world.target("cluster", secret="cluster-secret")
    world.target("inline", config={"kubeconfig": f"users:\n- name: u\n  user: {{token: {canary('inline')}}}\n"})
    registry = {"username": "user", "password": canary("registry")}
    world.secret("registry", {".dockerconfigjson": {"auths": {"example.com": registry}}}, type="kubernetes.io/dockerconfigjson")
    world.secret("own", {".dockercfg": {"own.example.com": {"auth": auth("own")}}}, type="kubernetes.io/dockercfg")
    world.kube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ocm", "namespace": world.namespace}, "data": {
        ".ocmconfig": json.dumps({"type": "generic.config.ocm.software/v1", "configurations": [{
            "type": "credentials.config.ocm.software", "consumers": [{
                "identity": {"type": "OCIRegistry", "hostname": "example.com"},
                "credentials": [{"type": "Credentials", "properties": {"username": "u", "password": canary("ocm")}}]}]}]})}})
    world.context(ocmConfig={"name": "ocm"}, registryPullSecrets=[{"name": "registry"}],
                  configurations={"helm": {"password": canary("context")}})
    return [canary(word) for word in ("kubeconfig", "key", "inline", "registry", "own", "ocm", "file-of-the-operator")]


def configuration(world):
    """A provider configuration with a canary in each field that can have one, and these canaries."""
    given = {
        "importValues": {"password": canary("import"), "quoted": f'{canary("quo")}"te', "pin": PIN, "deep": [{"text": f"a: {canary('deep')}\n"}],
                         "cut": canary("beginning-middle-ending")},
        "env": [{"name": "SECRET", "value": canary("env")}], "args": ["--password", canary("arg"), f"--token={canary('option')}"],
        "registryPullSecrets": [{"name": "own", "namespace": world.namespace}],
        # With a component, init gets the credentials for all registries.
        "componentDescriptor": {"inline": {"meta": {"schemaVersion": "v2"}, "component": {
            "name": "example.com/a", "version": "1.0.0", "labels": [{"name": "l", "value": canary("component")}]}}},
    }
    names = ("import", "quo", "deep", "beginning-middle-ending", "env", "arg", "option", "component")
    return given, [canary(word) for word in names] + [str(PIN)]


def state_of(run):
    """Typical state files with a canary in each. A binary file makes them larger than a few bytes even when compressed."""
    attributes = {"id": "none", "result": canary(f"{run}-tfstate"), "length": 20}
    return {
        "terraform.tfstate": json.dumps({"version": 4, "resources": [{"type": "random_password", "instances": [{"attributes": attributes}]}]}).encode(),
        "settings": f"host: example.com\nlogin: {canary(f'{run}-settings')}\n".encode(),
        f"{'deep/' * 40}plain": f"{canary(f'{run}-plain')}\n".encode(),
        "plugin": b"\0" + random.Random(1).randbytes(8192),
    }


def of_state(run):
    return [canary(f"{run}-{word}") for word in ("tfstate", "settings", "plain")]


def start(world, proxy, port):
    directory = paths.fresh_directory("docker")
    (directory / "config.json").write_text(json.dumps({"auths": {"operator.example.com": {"auth": auth("file-of-the-operator")}}}))
    return world.start(proxy=proxy, arguments=[f"--metrics-address=127.0.0.1:{port}"],
                       config={"imageGracePeriod": "1s", "oci": {"configFiles": [str(directory / "config.json")]}})


def output_of(world, controller, port, names):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        metrics = answer.read().decode()
    assert "longshore_runs_total" in metrics
    return {"log": controller.output(), "metrics": metrics,
            "status": json.dumps([world.status(name) for name in names]),
            "events": json.dumps([event for name in names for event in world.events(name)])}


def test_no_canary_appears_in_logs_events_status_or_metrics(world):
    given, canaries = configuration(world)
    canaries += inputs(world) + getattr(world, "canaries", [])
    made = [canary("export"), *of_state("proud")]
    port = free_port()
    said = {}

    def plan(request):
        if request.path.endswith("/log"):
            return Action(forward=False, answer=(200, said["log"].encode()))
        return PASS

    def talkative(pod):
        pod.run()
        # Main ends while wait still saves, so its message is already in the status of the pod.
        pod.status("Running", init=ended(), main=ended(1, message=said["message"]), wait=running())
        pod.fail(1, message=said["message"])

    def proud(pod):
        pod.run()
        pod.save_state(state_of("proud"))
        pod.export({"password": canary("export"), "other": canary("exported")})
        pod.status("Succeeded", init=ended(), main=ended(0, message=said["message"] + "".join(f"\nmade {c}\n" for c in made)), wait=ended())

    def wrong_image(pod):
        pod.bind()
        pod.status("Pending", init=ended(), wait=running(), main=waiting("InvalidImageName", f"couldn't parse example.com/main:1 with {canary('env')}"))

    def wrong_command(pod):
        pod.bind()
        pod.status("Pending", init=ended(), wait=running(),
                   main=waiting("CreateContainerError", f'exec: "{canary("arg")}": executable file not found'))

    many = {**given, "importValues": [f"value-{i:05}" for i in range(5000)] + [given["importValues"]]}
    runs = {
        "loud": ("cluster", talkative, given), "inline": ("inline", talkative, given), "many": ("cluster", talkative, many),
        "proud": ("cluster", proud, given), "wrong": ("cluster", wrong_image, given), "stuck": ("cluster", wrong_command, given),
        "broken": ("cluster", talkative, {**given, "image": 5, "registryPullSecrets": [{}]}),
    }
    with world.behind_proxy(plan) as proxy:
        controller = start(world, proxy, port)
        shown = []
        for name, (target, behaviour, config) in runs.items():
            other = {"cluster": canary("inline")}.get(target, canary("kubeconfig"))
            other = [other] if target == "cluster" else [other, canary("key")]
            echoed = [c for c in canaries if c not in other] + [world.token]
            said["message"] = "\n".join(f"trying with {c} now" for c in echoed)
            said["log"] = said["message"] + "\nno such host\n"
            world.kubelet.behaviour = behaviour
            world.item(name, target=target, config=config)
            world.finished(name)
            world.wait_for_cleanup()
            shown.append(name)
        output = output_of(world, controller, port, shown)
    assert "exit code 1" in output["status"] and "no such host" in output["status"] and "now" in output["status"]
    assert "couldn't parse example.com/main:1 with ***" in output["status"] and "executable file not found" in output["status"]
    for source, text in output.items():
        found = [c for c in [*canaries, CANARY, str(PIN), world.token] if c in text]
        assert not found, (source, found, [text[max(0, text.find(c) - 300):][:400] for c in found])


@pytest.mark.parametrize("where", ["message", "log"])
def test_a_canary_at_the_edge_of_a_truncated_text_is_redacted(world, where):
    """Texts are truncated to a number of bytes, so a secret may be cut at either end."""
    secret = canary("beginning-middle-ending")
    front, back = secret[-12:], secret[:18]
    middle = "\n".join(f"line {i:04}" for i in range(KUBELET_BYTES))[:KUBELET_BYTES - len(front) - len(back) - 20]
    text = f"{front} is wrong\n{middle}\nit is {back}"

    def plan(request):
        if request.path.endswith("/log"):
            return Action(forward=False, answer=(200, (text if where == "log" else "no such host\n").encode()))
        return PASS

    with world.behind_proxy(plan) as proxy:
        world.start(proxy=proxy)
        world.kubelet.behaviour = lambda pod: (pod.run(), pod.fail(1, message=text if where == "message" else ""))
        world.item("item", config={"importValues": {"password": secret}})
        output = json.dumps(world.finished("item"))
    assert "line 0100" in output and "it is ***" in output
    assert front[:6] not in output and front[-6:] not in output and back[:6] not in output


def echoing(world, said):
    """A proxy and a behaviour for a main that prints all of these, in its log and in its termination message."""
    text = "".join(f"trying with {c} now\n" for c in said) + "no such host\n"

    def plan(request):
        if request.path.endswith("/log"):
            return Action(forward=False, answer=(200, text.encode()))
        return PASS

    def fail(pod):
        pod.run()
        pod.status("Running", init=ended(), main=ended(3, message=text), wait=running())
        if getattr(world, "saves", None):
            pod.save_state(world.saves)
        pod.fail(3, message=text)

    return plan, fail


@pytest.mark.parametrize("is_go", [False, True], ids=["ours", "go"])
def test_the_content_of_the_state_is_redacted(world, is_go):
    """State is an input like any other: both the state that a run gets and the state that it saves."""
    canaries = of_state("given") + of_state("left")
    port = free_port()
    plan, fail = echoing(world, canaries)
    with world.behind_proxy(plan) as proxy:
        controller = start(world, proxy, port)
        world.kubelet.behaviour = lambda pod: (pod.run(), pod.save_state(state_of("given"), chunks=3, is_go=is_go), pod.succeed())
        world.item("item")
        assert world.finished("item")["phase"] == "Succeeded"
        world.wait_for_cleanup()
        world.kubelet.behaviour, world.saves = fail, state_of("left")
        world.trigger("item", "job-2")
        result = world.finished("item", "job-2")
        output = output_of(world, controller, port, ["item"])
    for source, text in output.items():
        found = [c for c in [*canaries, CANARY] if c in text]
        assert not found, (source, found, text[-2000:])
    message = result["lastError"]["message"]
    assert "exit code 3" in message and "no such host" in message and "trying with *** now" in message, message
    assert "no such host" in json.dumps(result["providerStatus"])


def damaged(data):
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0x55]) + data[middle + 1:]


@pytest.mark.parametrize("trouble", ["damaged", "large", "many chunks", "not listed", "not read"])
def test_if_the_state_cannot_be_read_the_log_of_main_is_withheld_and_the_status_gives_the_reason(world, trouble):
    state = {"damaged": damaged(state_archive(state_of("given"))), "large": {**state_of("given"), "zeros": bytes(64 << 20)}}
    is_failing = threading.Event()
    echo, fail = echoing(world, of_state("given"))

    def plan(request):
        is_list = "type=state" in request.query.get("labelSelector", "")
        is_chunk = request.method == "GET" and "/secrets/state-" in request.path
        if is_failing.is_set() and (trouble == "not listed" and is_list or trouble == "not read" and is_chunk):
            return Action(forward=False, answer=status(403, "Forbidden", "not today"))
        return echo(request)

    with world.behind_proxy(plan) as proxy:
        controller = world.start(proxy=proxy)
        world.kubelet.behaviour = lambda pod: (
            pod.run(), pod.save_state(state.get(trouble, state_of("given")), chunks=5 if trouble == "many chunks" else 1), pod.succeed())
        world.item("item")
        assert world.finished("item")["phase"] == "Succeeded"
        world.wait_for_cleanup()
        world.kubelet.behaviour = lambda pod: (is_failing.set(), fail(pod))
        world.trigger("item", "job-2")
        ended_status = world.finished("item", "job-2")
    message = ended_status["lastError"]["message"]
    assert "exit code 3" in message and "not shown" in message and "kubectl logs" in message and "debug.keepPod" in message, message
    assert CANARY not in json.dumps(ended_status) and "no such host" not in json.dumps(ended_status)
    assert CANARY not in controller.output() and "state could not be read" in controller.output()
    # Messages of other containers and of the kubelet contain nothing of the state.
    assert "main ended with 3" in json.dumps(ended_status["providerStatus"]), ended_status["providerStatus"]
