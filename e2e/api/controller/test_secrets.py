# SPDX-License-Identifier: Apache-2.0
"""Canaries in every input: none of them in a log, an event, a status or a metric, whatever main says."""

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
# So much of a log is what a kubelet keeps in a termination message.
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
    """Makes everything that a run is given besides its configuration; returns its canaries."""
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
    """A provider configuration with a canary in each field that can have one, and these."""
    given = {
        "importValues": {"password": canary("import"), "quoted": f'{canary("quo")}"te', "pin": PIN, "deep": [{"text": f"a: {canary('deep')}\n"}],
                         "cut": canary("beginning-middle-ending")},
        "env": [{"name": "SECRET", "value": canary("env")}], "args": ["--password", canary("arg"), f"--token={canary('option')}"],
        "registryPullSecrets": [{"name": "own", "namespace": world.namespace}],
        # With a component, init gets the credentials of all registries.
        "componentDescriptor": {"inline": {"meta": {"schemaVersion": "v2"}, "component": {
            "name": "example.com/a", "version": "1.0.0", "labels": [{"name": "l", "value": canary("component")}]}}},
    }
    words = ("import", "quo", "deep", "beginning-middle-ending", "env", "arg", "option", "component")
    return given, [canary(word) for word in words] + [str(PIN)]


def state_of(run):
    """Files as programs keep them, with a canary in each; the binary one makes them more than a few bytes, packed too."""
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


def told_by(world, controller, port, names):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        metrics = answer.read().decode()
    assert "longshore_runs_total" in metrics
    return {"log": controller.output(), "metrics": metrics,
            "status": json.dumps([world.status(name) for name in names]),
            "events": json.dumps([event for name in names for event in world.events(name)])}


def test_no_canary_leaves_its_place(world):
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
        # main ends while wait still saves: what it said is in the pod's status by then.
        pod.status("Running", init=ended(), main=ended(1, message=said["words"]), wait=running())
        pod.fail(1, message=said["words"])

    def proud(pod):
        pod.run()
        pod.save_state(state_of("proud"))
        pod.export({"password": canary("export"), "other": canary("exported")})
        pod.status("Succeeded", init=ended(), main=ended(0, message=said["words"] + "".join(f"\nmade {c}\n" for c in made)), wait=ended())

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
    with world.behind(plan) as proxy:
        controller = start(world, proxy, port)
        shown = []
        for name, (target, behaviour, config) in runs.items():
            other = {"cluster": canary("inline")}.get(target, canary("kubeconfig"))
            other = [other] if target == "cluster" else [other, canary("key")]
            echoed = [c for c in canaries if c not in other] + [world.token]
            said["words"] = "\n".join(f"trying with {c} now" for c in echoed)
            said["log"] = said["words"] + "\nno such host\n"
            world.kubelet.behaviour = behaviour
            world.item(name, target=target, config=config)
            world.finished(name)
            world.quiet()
            shown.append(name)
        told = told_by(world, controller, port, shown)
    assert "exit code 1" in told["status"] and "no such host" in told["status"] and "now" in told["status"]
    assert "couldn't parse example.com/main:1 with ***" in told["status"] and "executable file not found" in told["status"]
    for place, text in told.items():
        found = [c for c in [*canaries, CANARY, str(PIN), world.token] if c in text]
        assert not found, (place, found, [text[max(0, text.find(c) - 300):][:400] for c in found])


@pytest.mark.parametrize("where", ["message", "log"])
def test_a_canary_that_is_cut_is_not_told(world, where):
    """What is kept of a text is so many bytes, and the first and the last of them may be those of a secret."""
    secret = canary("beginning-middle-ending")
    front, back = secret[-12:], secret[:18]
    middle = "\n".join(f"line {i:04}" for i in range(KUBELET_BYTES))[:KUBELET_BYTES - len(front) - len(back) - 20]
    text = f"{front} is wrong\n{middle}\nit is {back}"

    def plan(request):
        if request.path.endswith("/log"):
            return Action(forward=False, answer=(200, (text if where == "log" else "no such host\n").encode()))
        return PASS

    with world.behind(plan) as proxy:
        world.start(proxy=proxy)
        world.kubelet.behaviour = lambda pod: (pod.run(), pod.fail(1, message=text if where == "message" else ""))
        world.item("item", config={"importValues": {"password": secret}})
        told = json.dumps(world.finished("item"))
    assert "line 0100" in told and "it is ***" in told
    assert front[:6] not in told and front[-6:] not in told and back[:6] not in told


def echoing(world, said):
    """Behind it a main that says all of this, in its log and when it ends."""
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
def test_what_the_state_holds_is_not_told(world, is_go):
    """The state is an input as any other: the one that a run was given, and the one that it leaves."""
    canaries = of_state("given") + of_state("left")
    port = free_port()
    plan, fail = echoing(world, canaries)
    with world.behind(plan) as proxy:
        controller = start(world, proxy, port)
        world.kubelet.behaviour = lambda pod: (pod.run(), pod.save_state(state_of("given"), chunks=3, is_go=is_go), pod.succeed())
        world.item("item")
        assert world.finished("item")["phase"] == "Succeeded"
        world.quiet()
        world.kubelet.behaviour, world.saves = fail, state_of("left")
        world.trigger("item", "job-2")
        result = world.finished("item", "job-2")
        told = told_by(world, controller, port, ["item"])
    for place, text in told.items():
        found = [c for c in [*canaries, CANARY] if c in text]
        assert not found, (place, found, text[-2000:])
    message = result["lastError"]["message"]
    assert "exit code 3" in message and "no such host" in message and "trying with *** now" in message, message
    assert "no such host" in json.dumps(result["providerStatus"])


def damaged(data):
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0x55]) + data[middle + 1:]


@pytest.mark.parametrize("trouble", ["damaged", "large", "many chunks", "not listed", "not read"])
def test_where_the_state_is_not_known_main_says_nothing_and_the_status_says_why(world, trouble):
    state = {"damaged": damaged(state_archive(state_of("given"))), "large": {**state_of("given"), "zeros": bytes(64 << 20)}}
    is_failing = threading.Event()
    echo, fail = echoing(world, of_state("given"))

    def plan(request):
        is_list = "type=state" in request.query.get("labelSelector", "")
        is_chunk = request.method == "GET" and "/secrets/state-" in request.path
        if is_failing.is_set() and (trouble == "not listed" and is_list or trouble == "not read" and is_chunk):
            return Action(forward=False, answer=status(403, "Forbidden", "not today"))
        return echo(request)

    with world.behind(plan) as proxy:
        controller = world.start(proxy=proxy)
        world.kubelet.behaviour = lambda pod: (
            pod.run(), pod.save_state(state.get(trouble, state_of("given")), chunks=5 if trouble == "many chunks" else 1), pod.succeed())
        world.item("item")
        assert world.finished("item")["phase"] == "Succeeded"
        world.quiet()
        world.kubelet.behaviour = lambda pod: (is_failing.set(), fail(pod))
        world.trigger("item", "job-2")
        ended_status = world.finished("item", "job-2")
    message = ended_status["lastError"]["message"]
    assert "exit code 3" in message and "left out" in message and "kubectl logs" in message and "debug.keepPod" in message, message
    assert CANARY not in json.dumps(ended_status) and "no such host" not in json.dumps(ended_status)
    assert CANARY not in controller.output() and "the state is not known" in controller.output()
    # What others say of the run has nothing of the state in it.
    assert "main ended with 3" in json.dumps(ended_status["providerStatus"]), ended_status["providerStatus"]
