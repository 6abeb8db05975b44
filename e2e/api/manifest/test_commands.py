# SPDX-License-Identifier: Apache-2.0
"""`longshore diff` and `longshore run` with manifest items and a real cluster."""

import json
import os
import signal
import subprocess

import jsonschema
import pytest

from bench import paths
from bench.waiting import wait_until
from controller_killer import REQUESTS_MAX, Killer
from faults.proxy import FaultProxy
from manifest_harness import EXPORTED, LABEL, TYPE, encode, managed, thing_definition

BUILD = os.environ.get("LONGSHORE_BUILD") or paths.CHECKOUT / "build/dev"
SCHEMAS = {name: json.loads((paths.CHECKOUT / f"docs/schemas/{name}-result.schema.json").read_text()) for name in ("run", "diff")}
SECRET = "correct-horse-battery"
# What `run` calls the actions of `diff`.
OUTCOMES = {"deleted": "removed"}


class Finished:
    def __init__(self, command, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        self.data = json.loads(self.out) if "json" in command else {}
        if "json" in command:
            jsonschema.validate(self.data, SCHEMAS[command[1]])
        assert SECRET not in self.out + self.err and encode(SECRET) not in self.out + self.err

    def __repr__(self):
        return f"code {self.code}\n--- out\n{self.out}\n--- err\n{self.err}"

    def __getitem__(self, name):
        """An object of the result."""
        found, = (o for o in self.data["objects"] if o["name"] == name)
        return found

    def actions(self):
        return {o["name"]: OUTCOMES.get(o.get("action"), o.get("action")) or o["outcome"] for o in self.data["objects"]}


class Desk:
    """A user with files and a kubeconfig of the cluster."""

    def __init__(self, world, home):
        self.world, self.home = world, home
        self.kubeconfig = self.write("kubeconfig", world.kubeconfig(world.cluster))

    def write(self, name, thing):
        path = self.home / name
        path.write_text(json.dumps(thing))
        return path

    def item(self, manifests, name="item", spec=None, **config):
        return self.write(f"{name}.yaml", {
            "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "DeployItem",
            "metadata": {"name": name, "namespace": self.world.namespace},
            "spec": {"type": TYPE, "config": self.world.provider(manifests, **config), **(spec or {})}})

    def start(self, *command, **more):
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home)}
        return subprocess.Popen([f"{BUILD}/deployer/longshore", *map(str, command)], env=environment, text=True, cwd=self.home,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def end(self, process, command):
        out, err = process.communicate(timeout=300)
        return Finished(["longshore", *command], subprocess.CompletedProcess(command, process.returncode, out, err))

    def call(self, *command):
        return self.end(self.start(*command), command)

    def run(self, item, *more, kubeconfig=None):
        return self.call("run", item, "--kubeconfig", kubeconfig or self.kubeconfig, "-o", "json", *more)

    def diff(self, item, *more):
        return self.call("diff", item, "--kubeconfig", self.kubeconfig, "-o", "json", *more)


@pytest.fixture
def desk(world, tmp_path):
    return Desk(world, tmp_path)


def secret(world, value):
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "secret", "namespace": world.space},
            "data": {"password": encode(value), "user": encode("me")}}


def first_version(world):
    return [managed(world.config("a", data={"answer": "41", "b": "1"})), managed(world.config("same")), managed(secret(world, "x" + SECRET)),
            managed(world.config("gone")), managed(world.config("kept"), policy="keep"),
            managed(world.config("patched"), patchAfterDeployment={"data": {"late": "yes"}})]


def second_version(world):
    group = f"{world.space}.example.com"
    return [managed(world.config("a", data={"answer": "42", "b": "1"})), managed(world.config("same")), managed(secret(world, SECRET)),
            managed({"apiVersion": "v1", "kind": "List", "items": [world.config("listed"), world.config("listed-too")]}),
            managed(world.config("theirs"), policy="fallback"), managed(world.config("frozen"), policy="immutable"),
            managed(world.config("ignored"), policy="ignore"),
            managed(world.config("patched"), patchAfterDeployment={"data": {"late": "yes"}}),
            managed(thing_definition(group)),
            managed({"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "thing", "namespace": world.space}})]


@pytest.mark.parametrize("strategy", ["update", "patch", "merge", "mergeOverwrite", "apply"])
def test_diff_predicts_what_run_does(desk, world, strategy):
    for name in ("theirs", "frozen", "ignored"):
        world.create(world.config(name, data={"of": "somebody else"}))
    assert desk.run(desk.item(first_version(world), updateStrategy=strategy)).code == 0
    world.remote.patch("configmaps", "same", {"metadata": {"finalizers": ["example.com/hold"]}}, world.space)
    item = desk.item(second_version(world), updateStrategy=strategy)
    names, version, mark = world.names(), world.found("a")["metadata"]["resourceVersion"], world.cluster.audit.mark()
    predicted = desk.diff(item)
    assert predicted.code == 1 and predicted.data["result"] == "different", predicted
    crd = f"things.{world.space}.example.com"
    # merge never overwrites a value that exists.
    edited = "unchanged" if strategy == "merge" else "changed"
    assert predicted.actions() == {
        "a": edited, "same": "unchanged", "secret": edited, "listed": "created", "listed-too": "created", "theirs": "leftAlone",
        "frozen": "leftAlone", "patched": "unchanged", crd: "created", "thing": "created", "gone": "removed", "kept": "leftAlone"}
    if edited == "changed":
        assert '\n-  answer: "41"\n+  answer: "42"\n' in predicted["a"]["diff"] and "managedFields" not in predicted["a"]["diff"]
        assert '\n+  password: "*** (after)"\n' in predicted["secret"]["diff"] and 'user: "***"\n' in predicted["secret"]["diff"]
    assert "not checked by the server" in predicted["thing"]["notes"][0] and not predicted["listed"]["notes"]
    assert predicted["gone"]["diff"].startswith("@@ -1,") and "policy" in predicted["kept"]["notes"][0]
    text = desk.call("diff", item, "--kubeconfig", desk.kubeconfig)
    assert text.code == 1 and f"deleted    ConfigMap {world.space}/gone\n" in text.out
    assert ('+  password: "*** (after)"\n' in text.out) == (edited == "changed")
    # It has written nothing.
    assert world.names() == names and world.found("a")["metadata"]["resourceVersion"] == version
    writes = [e["requestURI"] for e in world.cluster.audit.entries(mark, user=world.user) if e["verb"] not in ("get", "list", "watch")]
    assert writes and all("dryRun=All" in uri for uri in writes), writes
    done = desk.run(item)
    # A job takes a late patch back and does it again: the object is changed, but is the same at the end.
    assert done.code == 0 and {**done.actions(), "patched": "unchanged"} == predicted.actions(), done
    assert world.found("same")["metadata"]["finalizers"] == ["example.com/hold"] and not world.found("gone")
    assert world.found("patched")["data"]["late"] == "yes"
    again = desk.diff(item)
    assert again.code == 0 and again.data["result"] == "same", again
    world.release("same")
    removed = desk.run(item, "--operation", "DELETE")
    assert removed.code == 0 and set(removed.actions().values()) == {"removed"}, removed
    assert world.names() == ["ignored", "kept", "theirs"] and not world.found("secret", "secrets")


def test_diff_reports_what_it_cannot_compare(desk, world):
    bad = desk.diff(desk.item([managed(world.config("fine")), managed(world.config("Not_Valid"))]))
    assert bad.code == 3 and bad.actions() == {"fine": "created", "Not_Valid": "failed"}, bad
    assert "ConfigMap" in bad["Not_Valid"]["error"] and "RFC 1123" in bad["Not_Valid"]["error"]
    item = desk.item([managed(world.config("fine"))])
    cases = {"unreachable": (3, "127.0.0.1:1"), "no-target": (2, "--kubeconfig FILE"), "absent": (2, "option --kubeconfig")}
    desk.write("unreachable", world.kubeconfig(world.cluster, url="https://127.0.0.1:1"))
    for name, (code, part) in cases.items():
        options = [] if name == "no-target" else ["--kubeconfig", desk.home / name]
        done = desk.call("diff", item, *options, "-o", "json")
        assert done.code == code, done
        errors = [done.data.get("error", ""), *(o.get("error", "") for o in done.data["objects"])]
        assert any(part in e for e in errors), done
    missing = desk.item([managed(world.config("fine"))], spec={"target": {"name": "cluster"}})
    done = desk.call("diff", missing, "-o", "json")
    assert done.code == 2 and "add it with --kubeconfig FILE or --target FILE" in done.data["error"], done
    assert world.names() == []


def test_diff_compares_a_changed_file_with_what_the_controller_deployed(desk, world):
    world.start()
    world.deploy("item", [managed(world.config("stays")), managed(world.config("goes"))])
    world.succeeded("item")
    landscaper = ["--kubeconfig", world.apiserver.kubeconfig, "--from-cluster", f"{world.namespace}/item"]
    same = desk.call("diff", *landscaper, "-o", "json")
    assert same.code == 0 and same.actions() == {"stays": "unchanged", "goes": "unchanged"}, same
    changed = desk.item([managed(world.config("stays"))])
    done = desk.call("diff", changed, *landscaper, "-o", "json")
    assert done.code == 1 and done.actions() == {"stays": "unchanged", "goes": "removed"}, done
    # The status may also be part of the document. Without either, there is a warning.
    document = json.loads(changed.read_text())
    document["status"] = world.status("item")
    assert desk.diff(desk.write("with-status.yaml", document)).actions() == done.actions()
    unknown = desk.diff(changed)
    assert unknown.code == 0 and "objects that left it are not shown" in unknown.err, unknown
    refused = desk.call("run", *landscaper, "-o", "json")
    assert refused.code == 2 and "longshore diff --from-cluster" in refused.data["error"], refused


def test_run_waits_exports_and_cleans_up(desk, world):
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "cm", "namespace": world.space}
    checks = {"custom": [{"name": "open", "resourceSelector": [reference],
                          "requirements": [{"jsonPath": ".data.open", "operator": "exists"}]}]}
    more = {"readinessChecks": checks, "exports": {"exports": [{**EXPORTED, "fromResource": reference}]}}
    item = desk.item([managed(world.config(data={"answer": "42"})), managed(secret(world, SECRET))], spec={
        "target": {"name": "cluster", "namespace": world.namespace}}, **more)
    target = desk.write("target.yaml", {"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Target", "metadata": {"name": "cluster"}, "spec": {
        "type": "landscaper.gardener.cloud/kubernetes-cluster", "config": {"kubeconfig": json.loads(desk.kubeconfig.read_text())}}})
    late = desk.call("run", item, target, "--timeout", "2s", "-o", "json")
    assert late.code == 124 and late.data["reason"] == "TimedOut" and "open" in late.data["error"] and "cm" in late.data["error"], late
    command = ["run", item, target, "-o", "json"]
    process = desk.start(*command)
    wait_until(lambda: any("watch" == e["verb"] for e in world.cluster.audit.entries(user=world.user)), "the watch of the check")
    process.send_signal(signal.SIGINT)
    stopped = desk.end(process, command)
    assert stopped.code == 130 and stopped.data["reason"] == "Interrupted" and "--operation DELETE" in stopped.err, stopped
    world.remote.patch("configmaps", "cm", {"data": {"open": "yes"}}, world.space)
    # The default strategy would take the key away again.
    item = desk.item([managed(world.config(data={"answer": "42"})), managed(secret(world, SECRET))], updateStrategy="merge", **more)
    done = desk.run(item, "--out", "out")
    assert done.code == 0 and done.data["exports"] == {"answer": "42"} and done.actions() == {"cm": "unchanged", "secret": "unchanged"}, done
    assert json.loads((desk.home / "out/exports.json").read_text()) == {"answer": "42"}
    assert {"plan", "apply", "ready", "exports"} <= done.data["durations"].keys()
    assert world.found()["metadata"]["labels"][LABEL] == "item"
    refused = desk.run(desk.item([managed(world.config(data={"answer": "42"})), managed(world.config("Not_Valid"))], updateStrategy="merge"))
    assert refused.code == 125 and refused.actions()["Not_Valid"] == "failed" and "RFC 1123" in refused.data["error"], refused
    unknown = desk.run(desk.item([managed({"apiVersion": "example.com/v1", "kind": "Nothing", "metadata": {"name": "x", "namespace": "y"}})]))
    assert unknown.code == 125 and "CustomResourceDefinition" in unknown.data["error"] and world.names() == ["cm"], unknown
    removed = desk.run(item, "--operation", "DELETE")
    assert removed.code == 0 and removed.actions() == {"cm": "removed", "secret": "removed"}, removed
    assert world.names() == [] and not world.found("secret", "secrets")
    nothing = desk.run(item, "--operation", "DELETE")
    assert nothing.code == 0 and "nothing to remove" in nothing.err, nothing


class Victim:
    def __init__(self, process):
        self.process = process

    def kill(self):
        self.process.kill()


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_run_that_is_killed_at_any_request_orphans_nothing(desk, world, moment):
    killer = Killer(moment)
    world.remote.allow(f"{world.space}:target", [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
                       kind="ServiceAccount", name=f"target-{world.space}")
    config = json.loads(open(world.cluster.token_kubeconfig(world.cluster.service_account("target", world.space, seconds=7200))).read())
    versions = [desk.item([managed(world.config(name)) for name in names], spec={"timeout": "1m"}) and (desk.home / "item.yaml").read_text()
                for names in (["a", "b"], ["b", "c"])]
    files = [desk.home / f"version-{i}.yaml" for i in range(2)]
    for file, text in zip(files, versions):
        file.write_text(text)
    with FaultProxy(world.cluster, killer.plan) as proxy:
        config["clusters"][0]["cluster"]["server"] = f"https://{proxy.host}:{proxy.port}"
        kubeconfig = desk.write("through-proxy", config)

        def killed(number, *command):
            killer.arm(number)
            command = [*command, "--kubeconfig", kubeconfig]
            process = desk.start("run", *command)
            killer.controller = Victim(process)
            process.communicate(timeout=120)
            killer.left = None
            return killer.has_killed.is_set()

        for number in range(1, REQUESTS_MAX):
            steps = [killed(number, files[0])]                     # a first run; the next one continues, without a
            assert desk.run(files[1], kubeconfig=kubeconfig).code == 0 and world.names() == ["b", "c"], number
            steps.append(killed(number, files[0]))                 # an update that removes c and adds a
            assert desk.run(files[0], kubeconfig=kubeconfig).code == 0 and world.names() == ["a", "b"], number
            steps.append(killed(number, files[0], "--operation", "DELETE"))
            assert desk.run(files[0], "--operation", "DELETE", kubeconfig=kubeconfig).code == 0 and world.names() == [], number
            if not any(steps):
                break
        assert number > 2
