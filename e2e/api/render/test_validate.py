# SPDX-License-Identifier: Apache-2.0
"""`longshore validate` reports for an item what the API server would report for its pod, without asking a server."""

import json
import subprocess

import pytest
from render_harness import PROGRAM, item

from bench.kube import ApiError


def resources(requests=None, **limits):
    return {"resources": {"requests": requests or {}, "limits": {name.replace("__", "-"): value for name, value in limits.items()}}}


def gpus(request=None, limit=None):
    given = {"requests": request, "limits": limit}
    return {"resources": {kind: {"nvidia.com/gpu": amount} for kind, amount in given.items() if amount}}


def toleration(**fields):
    return {"tolerations": [{"key": "a", "operator": "Exists", **fields}]}


CONFIGURATIONS = {
    "plain": {},
    "request-above-limit": resources({"cpu": "2"}, cpu="1"),
    "request-and-limit": resources({"cpu": "500m", "memory": "1Mi"}, cpu=1, memory="1e9"),
    "gpu": gpus("1", "1"),
    "gpu-limit": gpus(limit="2"),
    "gpu-whole-in-parts": gpus(limit="2000m"),
    "gpu-request": gpus(request="1"),
    "gpu-request-below-limit": gpus("1", "2"),
    "gpu-part": gpus(limit="500m"),
    "of-a-quota": {"resources": {"limits": {"requests.example.com/x": "1"}}},
    "of-kubernetes": {"resources": {"limits": {"kubernetes.io/x": "1"}}},
    "unknown-resource": resources(foo="1"),
    "storage": resources({"ephemeral-storage": "1Gi"}, ephemeral__storage="1Gi"),
    "negative": resources(cpu="-1"),
    "huge-pages": resources(hugepages__2Mi="4Mi", memory="1Gi"),
    "huge-pages-alone": resources(hugepages__2Mi="4Mi"),
    "huge-pages-in-part": resources(hugepages__2Mi="3Mi", memory="1Gi", cpu="1"),
    "huge-pages-of-no-size": resources(hugepages__x="4Mi", cpu="1"),
    "huge-pages-request": resources({"hugepages-2Mi": "2Mi", "cpu": "1"}, memory="1Gi"),
    "huge-pages-request-below": resources({"hugepages-2Mi": "2Mi"}, hugepages__2Mi="4Mi", cpu="1"),
    "toleration": toleration(),
    "toleration-seconds": toleration(effect="NoExecute", tolerationSeconds=5),
    "toleration-seconds-of-no-effect": toleration(tolerationSeconds=5),
    "toleration-seconds-of-another-effect": toleration(effect="NoSchedule", tolerationSeconds=5),
    "toleration-value": toleration(operator="Equal", value="a b"),
    "selector": {"nodeSelector": {"a": "x" * 64}},
    "image": {"image": "ALPINE"},
    "env": {"env": [{"name": "1a", "value": "x"}]},
    "large-values": {"importValues": {"a": "x" * 1_100_000}},
    "large-args": {"args": ["x" * 100_000] * 11},
    "large-env": {"env": [{"name": f"A{n}", "value": "x" * 120_000} for n in range(9)]},
    "nearly-large-values": {"importValues": {"a": "x" * 1_000_000}},
}
OF_THE_POD = ("resources", "tolerations", "nodeSelector")
SPECS = {
    "context": {"context": "A B"},
    "target": {"target": {"name": "A B", "namespace": "team"}},
    "timeout": {"timeout": "5"},
}


def program(verb, directory, thing, namespace, *options):
    (directory / "item.json").write_text(json.dumps(thing))
    (directory / "config.json").write_text(json.dumps({"namespace": namespace}))
    return subprocess.run([PROGRAM, verb, "--config", directory / "config.json", *options, directory / "item.json"],
                          capture_output=True, text=True)


def refusals(kube, namespace, made):
    """The errors of the server for the objects. It keeps only the account, which the pod needs."""
    said = []
    for thing in made:
        kind = thing["kind"].lower() + "s"
        if kind == "serviceaccounts" and kube.find(kind, thing["metadata"]["name"], namespace) is None:
            kube.create(thing, namespace)
        if kind not in ("secrets", "pods"):
            continue
        try:
            kube.request("POST", kube.path(kind, None, namespace) + "?dryRun=All", body=thing)
        except ApiError as error:
            said.append(str(error))
    return said


@pytest.mark.parametrize("config, spec", [*((c, {}) for c in CONFIGURATIONS.values()), *(({}, s) for s in SPECS.values())],
                         ids=[*CONFIGURATIONS, *(f"spec-{name}" for name in SPECS)])
def test_validate_and_the_api_server_agree(kube, namespace, tmp_path, config, spec):
    thing = item("container", {"image": "alpine", **config})
    thing["spec"].update(spec)
    found = program("validate", tmp_path, thing, namespace)
    made = program("render", tmp_path, thing, namespace, "-o", "json")
    assert found.returncode in (0, 2) and made.returncode in (0, 1, 2), (found.stderr, made.stderr)
    said = refusals(kube, namespace, map(json.loads, made.stdout.splitlines()))
    # The server accepts everything that render accepts, and validate reports everything that either of them rejects.
    assert said == [], (found.stdout, said)
    assert (found.returncode == 0) == (made.returncode == 0), (found.stdout, made.stderr)


@pytest.mark.parametrize("config", [c for c in CONFIGURATIONS.values() if {*c} & {*OF_THE_POD}],
                         ids=[name for name, c in CONFIGURATIONS.items() if {*c} & {*OF_THE_POD}])
def test_validate_rejects_nothing_that_the_api_server_accepts(kube, namespace, tmp_path, config):
    """Puts the fields into the pod unchanged, without our own rules."""
    found = program("validate", tmp_path, item("container", {"image": "alpine", **config}), namespace)
    plain = program("render", tmp_path, item("container", {"image": "alpine"}), namespace, "-o", "json")
    made = [json.loads(line) for line in plain.stdout.splitlines()]
    [main] = [c for c in made[-1]["spec"]["containers"] if c["name"] == "main"]
    for key, value in config.items():
        (main if key == "resources" else made[-1]["spec"])[key] = value
    said = refusals(kube, namespace, made)
    assert (found.returncode == 0) == (said == []), (found.stdout, said)
