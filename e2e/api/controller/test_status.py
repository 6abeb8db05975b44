# SPDX-License-Identifier: Apache-2.0
"""`longshore status` and `longshore logs`: what a user sees of an item, with the permissions of the user, without a write."""

import json
import re
import subprocess

from controller_harness import PROGRAM, ignore, with_export_and_state

from bench import paths
from bench.connect_proxy import ConnectProxy
from bench.process import Process
from bench.waiting import wait_until
from faults.proxy import PASS, Action

ITEMS = {"apiGroups": ["landscaper.gardener.cloud"], "resources": ["deployitems"], "verbs": ["get", "list", "watch"]}
PODS = {"apiGroups": [""], "resources": ["pods", "pods/log"], "verbs": ["get", "list", "watch"]}


def command(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=120)


def user(world, name, items=(), pods=()):
    """A kubeconfig with these rules in the namespaces of the items and of the pods."""
    for rules, namespace in ((items, world.namespace), (pods, world.host)):
        if rules:
            world.kube.allow(name, list(rules), namespace)
    return world.apiserver.user_kubeconfig(name)


def steps(view):
    return {step["step"]: step["state"] for step in view["timeline"]}


def shape(text):
    """The labels of a view, and the steps with their states. The pod of a finished run may be there or not."""
    lines = [line[:20] if line.startswith("  ") else line[:13] for line in text.splitlines()]
    return [line.rstrip() for line in lines if not line.startswith("pod ")]


def test_the_life_of_a_job_is_shown_at_every_step(world):
    name = f"{world.namespace}/item"
    full = user(world, f"reader-{world.host}", [ITEMS], [PODS])
    options = ("--kubeconfig", full, "--host-namespace", world.host)

    def look():
        done = command("status", name, "-o", "json", *options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    mark = world.apiserver.audit.mark()
    world.item("item", config={"importValues": {"a": 1}})
    view = look()
    assert steps(view)["triggered"] == "done" and steps(view)["picked up"] == "pending"
    assert view["waitingFor"].startswith("a deployer that picks up the job")

    world.kubelet.behaviour = ignore
    controller = world.start()
    # The command reads the item before the pod, so it may know the pod but not yet that the item was picked up.
    view = wait_until(lambda: (v := look()).get("pod") and steps(v)["picked up"] == "done" and v, "the pod to be shown")
    assert steps(view)["scheduled"] == "running" and view["waitingFor"].startswith("a node for the pod")

    [pod] = wait_until(lambda: list(world.kubelet.pods.values()), "the kubelet to see the pod")
    pod.bind()
    pod.status("Pending", init={"waiting": {"reason": "ImagePullBackOff", "message": "registry.example/init:1: not found"}})
    view = wait_until(lambda: (v := look()).get("reason") and v, "the error to be shown")
    assert view["reason"] == "ImagePullBackOff" and view["waitingFor"] == "a solution for ImagePullBackOff"
    assert view["hint"] == {"cause": "the registry does not have this repository or tag",
                            "solution": "correct spec.config.image or push the image"}

    pod.run()
    view = wait_until(lambda: steps(v := look())["main"] == "running" and v, "main to be shown")
    assert view["waitingFor"].startswith("main") and view["phase"] == "Progressing" and not view["isFinished"]
    assert {"init": "done", "main": "running", "wait": "running", "exported": "pending"}.items() <= steps(view).items()
    pod.fail(3)
    world.finished("item")
    view = look()
    assert view["phase"] == "Failed" and view["isFinished"] and view["hint"]["cause"] == "the program of the item failed"
    assert {"main": "failed", "exported": "skipped"}.items() <= steps(view).items()

    # As text: the same, and in the list.
    text = command("status", name, *options)
    assert text.returncode == 0 and "\n  main        failed" in text.stdout and "exit code 3" in text.stdout, text.stdout
    assert "\ncause        the program of the item failed\n" in text.stdout, text.stdout
    page = (paths.CHECKOUT / "docs" / "troubleshooting.md").read_text()
    shown, = re.findall(r"^\$ longshore status shop/migrate\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert shape(text.stdout) == shape(shown)
    listed = command("status", "--namespace", world.namespace, *options)
    assert listed.stdout.splitlines()[0].split() == ["NAMESPACE", "NAME", "TYPE", "PHASE", "AGE", "DURATION", "REASON"]
    [row] = [line.split() for line in listed.stdout.splitlines()[1:]]
    assert row[:4] == [world.namespace, "item", "container", "Failed"] and row[-1] == "Error", row

    # Permissions that are missing are named, with what to do; what can be read is shown.
    blind = user(world, f"blind-{world.host}", [ITEMS])
    partly = command("status", name, "--kubeconfig", blind)
    assert partly.returncode == 0 and "--host-namespace" in partly.stderr and "Failed" in partly.stdout, partly
    other = command("status", name, "--kubeconfig", blind, "--host-kubeconfig", full, "--host-namespace", world.host)
    assert other.returncode == 0 and other.stderr == "", other
    denied = command("status", "--kubeconfig", blind)
    assert denied.returncode == 1 and "--namespace" in denied.stderr, denied
    absent = command("status", f"{world.namespace}/absent", "--kubeconfig", blind)
    assert absent.returncode == 1 and "absent" in absent.stderr, absent
    assert command("status", "no-namespace", "--kubeconfig", blind).returncode == 2

    for name in (f"reader-{world.host}", f"blind-{world.host}"):
        verbs = {entry["verb"] for entry in world.apiserver.audit.entries(mark, user=name)}
        assert verbs <= {"get", "list", "watch"}, verbs
    controller.must_run()


def test_watch_ends_with_the_job_and_reports_its_result(world):
    name = f"{world.namespace}/item"
    options = ("--kubeconfig", user(world, f"reader-{world.host}", [ITEMS], [PODS]), "--host-namespace", world.host)
    world.item("item")
    # The proxy between the program and the API server would hide lost requests: none is used here.
    with Process("status", [PROGRAM, "status", name, "--watch", *options]) as one, \
            Process("status-list", [PROGRAM, "status", "--watch", "-o", "json", "-n", world.namespace, *options]) as every:
        wait_until(lambda: "waits for" in one.output(), "the first view")
        world.kubelet.behaviour = with_export_and_state
        world.start()
        world.finished("item")
        wait_until(lambda: not one.running, "the end of the watch")
        assert one.exit_code == 0, one.output()
        shown = one.output()
        assert shown.index("picked up   done") < shown.index("main        done") < shown.index("exported    done"), shown
        assert "phase        Succeeded" in shown
        wait_until(lambda: '"phase":"Succeeded"' in every.output(), "the change in the list")
        phases = [json.loads(line)["phase"] for line in every.output().splitlines() if line.startswith("{")]
        assert phases[0] == "" and phases[-1] == "Succeeded", phases
        assert every.running
        every.kill()
    # A job that is over does not keep the watch; a failed one is an exit code.
    assert command("status", name, "--watch", *options).returncode == 0
    world.kubelet.behaviour = lambda pod: (pod.run(), pod.fail(3))
    world.trigger("item", "job-2")
    world.finished("item", "job-2")
    assert command("status", name, "--watch", *options).returncode == 1


def test_logs_are_read_from_the_pod_and_then_from_the_status(world):
    """The API server has no kubelet to ask for logs: a proxy answers for it."""
    def plan(request):
        if not request.path.endswith("/log"):
            return PASS
        asked.append(request.query)
        if said["code"] != 200:
            return Action(forward=False, answer=(said["code"], json.dumps(
                {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 400, "reason": "BadRequest",
                 "message": "container \"main\" in pod \"x\" is waiting to start: ContainerCreating"}).encode()))
        return Action(forward=False, answer=(200, said["text"]))

    asked, said = [], {"code": 200, "text": b"one\n\x1b[1mtwo\x1b[0m\n"}
    name = f"{world.namespace}/item"
    world.kubelet.behaviour = ignore
    with world.behind_proxy(plan) as proxy:
        options = ("--kubeconfig", world.token_kubeconfig(f"https://{proxy.host}:{proxy.port}"))
        world.item("item")
        early = command("logs", name, *options)
        assert early.returncode == 1 and "waits for a deployer" in early.stderr, early
        world.start(proxy=proxy)
        [pod] = wait_until(lambda: list(world.kubelet.pods.values()), "the kubelet to see the pod")
        said["code"] = 400
        with Process("logs", [PROGRAM, "logs", name, "--follow", "--lines", "5", *options]) as following:
            pod.bind()
            pod.run()
            wait_until(lambda: {"container": "main", "tailLines": "5", "follow": "true"} in asked, "the first attempt")
            said["code"] = 200
            wait_until(lambda: not following.running, "the end of the log")
            assert following.exit_code == 0 and "two" in following.output()
        # As it is, like kubectl; in the view of the item, control characters are replaced.
        plain = command("logs", name, *options)
        assert plain.stdout == said["text"].decode() and asked[-1] == {"container": "main"}
        assert command("logs", name, "-c", "init", *options).returncode == 0 and asked[-1] == {"container": "init"}
        shown = command("status", name, "--lines", "2", *options)
        assert "last lines of main\n  | one\n  | ?[1mtwo?[0m\n" in shown.stdout, shown.stdout
        assert asked[-1] == {"container": "main", "tailLines": "2"}
        pod.fail(3)
        world.finished("item")
        world.wait_for_cleanup()
        gone = command("logs", name, *options)
        assert gone.returncode == 0 and "two" in gone.stdout and "the pod is gone" in gone.stderr, gone
        stored = command("status", name, *options)
        assert "last lines of main (from the status of the item)\n" in stored.stdout, stored.stdout
        assert command("logs", name, "-c", "wait", *options).returncode == 1
        assert command("logs", *options).returncode == 2


def test_the_proxy_of_the_environment_is_used(world):
    world.item("item", job=None)
    address = world.apiserver.server.removeprefix("https://")
    with ConnectProxy() as proxy:
        for more, through in (({}, True), ({"NO_PROXY": address.rpartition(":")[0]}, False)):
            proxy.requests.clear()
            done = subprocess.run([PROGRAM, "status", f"{world.namespace}/item", "--kubeconfig", world.apiserver.kubeconfig],
                                  env={"HTTPS_PROXY": proxy.url, **more}, capture_output=True, text=True, timeout=120)
            assert done.returncode == 0 and "has not triggered a job" in done.stdout, done
            assert set(proxy.requests) == ({("CONNECT", address)} if through else set())


def test_hints_need_no_cluster():
    rows = json.loads(command("status", "--hints", "-o", "json").stdout)
    text = command("status", "--hints").stdout
    assert len(rows) > 50 and all(f"  cause     {row['cause']}\n  solution  {row['solution']}\n" in text for row in rows)
