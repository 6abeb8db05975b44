# SPDX-License-Identifier: Apache-2.0
"""init and wait of the Go deployer in our pods: the API calls that they make, with the token of their pod."""

import json
import time
import uuid

import pytest

from bench.kube import ApiError
from bench.waiting import wait_until
from controller_harness import GROUP, LABEL_ITEM_NAME, LABEL_ITEM_NAMESPACE, decode, encode, ended, running

INIT = {"initContainer": {"image": "example.com/init:1", "goImage": True}}
WAIT = {"waitContainer": {"image": "example.com/wait:1", "goImage": True}}
TOKENS = "/var/run/secrets/kubernetes.io/serviceaccount"


class GoContainer:
    """The environment of one of the Go programs, and the token at the path where the Go library expects it."""

    def __init__(self, world, pod, name):
        container, volumes = pod.container(name), {volume["name"]: volume for volume in pod.object["spec"]["volumes"]}
        [mount] = [mount for mount in container["volumeMounts"] if mount["mountPath"] == TOKENS]
        assert {key for source in volumes[mount["name"]]["projected"]["sources"] for key in source} >= {"serviceAccountToken", "configMap"}
        assert "/tmp" in [mount["mountPath"] for mount in container["volumeMounts"]], "no writable /tmp although the root is read-only"
        fields = {"metadata.name": pod.name, "metadata.namespace": pod.namespace, "metadata.uid": pod.uid}
        self.env = {entry["name"]: entry.get("value") or fields.get(entry.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath"), "")
                    for entry in container["env"]}
        self.item = self.env["DEPLOY_ITEM_NAMESPACE"], self.env["DEPLOY_ITEM_NAME"]
        self.host = self.env["POD_NAMESPACE"]
        self.kube = world.apiserver.token_client(world.kube.token(pod.object["spec"]["serviceAccountName"], pod.namespace))

    def is_allowed(self, verb, resource, name="", namespace=None):
        asked = {"namespace": namespace or self.host, "verb": verb, "resource": resource, "name": name}
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": asked}}
        return self.kube.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body=review)["status"]["allowed"]


class Init(GoContainer):
    def __init__(self, world, pod):
        super().__init__(world, pod, "init")

    def restore(self):
        """Returns the bytes of the newest state and removes all others."""
        namespace, name = self.item
        found = self.kube.items("secrets", self.host, labelSelector=",".join([
            f"{LABEL_ITEM_NAME}={name}", f"{LABEL_ITEM_NAMESPACE}={namespace}", f"{GROUP}/type=state"]))
        if not found:
            return None
        newest = max(found, key=lambda secret: secret["metadata"]["creationTimestamp"])["metadata"]["annotations"][f"{GROUP}/uuid"]
        ours = [secret for secret in found if secret["metadata"]["annotations"][f"{GROUP}/uuid"] == newest]
        for secret in found:
            if secret not in ours:
                self.kube.delete("secrets", secret["metadata"]["name"], self.host)
        ours.sort(key=lambda secret: int(secret["metadata"]["annotations"][f"{GROUP}/num"]))
        return b"".join(decode(secret["data"]["config"]) for secret in ours)


class Wait(GoContainer):
    def __init__(self, world, pod):
        super().__init__(world, pod, "wait")

    def main(self):
        """The state of the main container."""
        pod = self.kube.get("pods", self.env["POD_NAME"], self.host)
        [state] = [status["state"] for status in pod["status"]["containerStatuses"] if status["name"] == "main"]
        return state

    def back_up(self, *chunks):
        namespace, name = self.item
        group = str(uuid.uuid4())
        for number, chunk in enumerate(chunks):
            self.kube.create({"apiVersion": "v1", "kind": "Secret", "data": {"config": encode(chunk)}, "metadata": {
                "generateName": f"state-{namespace}-{name}-", "namespace": self.host,
                "labels": {LABEL_ITEM_NAME: name, LABEL_ITEM_NAMESPACE: namespace, f"{GROUP}/type": "state"},
                "annotations": {f"{GROUP}/uuid": group, f"{GROUP}/num": str(number)}}})

    def export(self, value):
        """Like CreateOrUpdate of controller-runtime."""
        called = "-".join(self.item) + "-export"
        secret = self.kube.find("secrets", called, self.host)
        thing = secret or {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": called, "namespace": self.host}}
        thing["metadata"].setdefault("labels", {})[f"{GROUP}/name"] = self.item[1]
        thing["data"] = {"config": encode(value)}
        self.kube.replace(thing) if secret else self.kube.create(thing)


def rights_known(container):
    """Waits until the API server applies a new Role, which takes a moment."""
    wait_until(lambda: container.is_allowed("create", "secrets"), "the API server to apply the Role", 30)
    return container


def play_wait(world, pod, *state, export=None):
    """Does everything that Go's wait does in a run."""
    pod.status("Running", init=ended(), main=running(), wait=running())
    wait = rights_known(Wait(world, pod))
    assert "running" in wait.main()
    pod.status("Running", init=ended(), main=ended(), wait=running())
    assert wait.main()["terminated"]["exitCode"] == 0
    wait.back_up(*state)
    if export:
        time.sleep(1.1)  # Go's wait first sleeps 30 s; times have a resolution of one second, and it leaves no other mark
        wait.export(export)
    return wait


class Run:
    """A behaviour for the kubelet that records results and failures of the programs."""

    def __init__(self, world, play):
        self.world, self.play, self.seen, self.trouble = world, play, [], []
        world.kubelet.behaviour = self

    def __call__(self, pod):
        try:
            pod.bind()
            self.seen.append(self.play(pod))
            pod.succeed()
        except (ApiError, AssertionError, TimeoutError) as error:
            self.trouble.append(error)
            pod.fail()

    def succeeded(self, job):
        status = self.world.finished("item", job)
        assert not self.trouble and status["phase"] == "Succeeded", (self.trouble, status.get("lastError"))
        # The export of Go's wait is not marked with a run; it stays on the host, as with the Go deployer.
        self.world.wait_for_cleanup(wanted=(f"secrets/{self.world.namespace}-item-export",))
        return status


def exported(world):
    return json.loads(decode(world.kube.get("secrets", "item-export", world.namespace)["data"]["config"]))


def states(world):
    return [thing for thing in world.kube.items("secrets", world.host) if thing["metadata"]["name"].startswith("state-")]


def test_go_init_and_wait_have_all_permissions_for_a_run(world):
    def play(pod):
        init = rights_known(Init(world, pod))
        restored = init.restore()
        assert len(states(world)) == (0 if restored is None else 2), "only the newest generation should be left"
        play_wait(world, pod, f"{pod.job} ", "state", export={"job": pod.job} if pod.job in ("job-1", "job-2") else None)
        return restored

    world.start(config={**INIT, **WAIT})
    run = Run(world, play)
    world.item("item")
    for job in ("job-1", "job-2", "job-3"):
        if job != "job-1":
            world.trigger("item", job)
        status = run.succeeded(job)
        if job == "job-3":
            assert "exportRef" not in status and world.kube.find("secrets", "item-export", world.namespace) is None
        else:
            assert exported(world) == {"job": job}
    assert run.seen == [None, b"job-1 state", b"job-2 state"]
    world.delete("item")
    world.wait_until_deleted("item")
    assert not run.trouble and run.seen[3] == b"job-3 state", "the DELETE run did not get the state"
    # The pod of the DELETE run proves that the run was done, so it is removed after the item.
    wait_until(lambda: not world.host_objects(), "deletion of everything on the host", 30)


def test_go_wait_with_our_init_needs_no_more_permissions_than_ours(world):
    def play(pod):
        mounts = [mount["mountPath"] for mount in pod.container("init")["volumeMounts"]]
        assert TOKENS not in mounts, "our init has a token"
        wait = play_wait(world, pod, "state of ", pod.job, export={"job": pod.job})
        other = world.kube.find("secrets", "foreign", world.host)["metadata"]["name"]
        assert not [verb for verb in ("get", "list", "watch", "update", "patch", "delete", "deletecollection")
                    for name in ("", other) if wait.is_allowed(verb, "secrets", name)]
        assert not wait.is_allowed("delete", "secrets", states(world)[0]["metadata"]["name"])
        return json.dumps(pod.object["spec"]["volumes"])

    world.secret("foreign", {"password": "of somebody else"}, world.host)
    world.start(config=WAIT)
    run = Run(world, play)
    world.item("item")
    world.finished("item")
    first = states(world)
    assert len(first) == 2, run.trouble
    world.trigger("item", "job-2")
    status = world.finished("item", "job-2")
    assert not run.trouble and status["phase"] == "Succeeded", (run.trouble, status.get("lastError"))
    assert exported(world) == {"job": "job-2"}
    assert all(secret["metadata"]["name"] in run.seen[1] for secret in first), "our init did not get the state that Go's wait saved"


def test_go_init_with_our_wait_reads_the_state_that_ours_saved(world):
    def play(pod):
        init = rights_known(Init(world, pod))
        restored = init.restore()
        pod.status("Running", init=ended(), main=running(), wait=running())
        pod.save_state(f"{pod.job} state".encode())
        time.sleep(1.1)  # Go's init compares seconds
        return restored

    world.start(config=INIT)
    run = Run(world, play)
    world.item("item")
    run.succeeded("job-1")
    world.trigger("item", "job-2")
    run.succeeded("job-2")
    assert run.seen == [None, b"job-1 state"]


@pytest.mark.parametrize("config, may", [
    (INIT, {"secrets": {"get", "list", "delete"}}),
    (WAIT, {}),
    ({**INIT, **WAIT}, {"secrets": {"get", "list", "delete"}})], ids=["init", "wait", "both"])
def test_go_images_have_only_the_permissions_that_they_need(world, config, may):
    """Checks permissions on objects of other items and in other namespaces."""
    def play(pod):
        container = rights_known((Init if config is INIT else Wait)(world, pod))
        verbs = ("get", "list", "watch", "update", "patch", "delete", "deletecollection", "impersonate", "bind", "escalate")
        allowed = {}
        for resource in ("secrets", "pods", "configmaps", "serviceaccounts", "roles", "rolebindings"):
            for verb in verbs:
                if container.is_allowed(verb, resource, "foreign"):
                    allowed.setdefault(resource, set()).add(verb)
            assert container.is_allowed("create", resource) == (resource == "secrets")
            assert not [verb for verb in (*verbs, "create") if container.is_allowed(verb, resource, namespace=world.namespace)]
        return allowed

    world.start(config=config)
    run = Run(world, play)
    world.item("item")
    run.succeeded("job-1")
    assert run.seen == [may]


def test_if_two_items_would_share_an_export_name_go_wait_cannot_read_the_export_of_the_other(world):
    """Go's wait supports only that one name, so its job fails; the other item is not exposed."""
    other = f"{world.namespace}-a"
    world.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}})
    world.context(namespace=other)
    world.item("item", namespace=other, job=None)
    world.start(config=WAIT)
    refused = []

    def play(pod):
        try:
            play_wait(world, pod, "state", export={"job": pod.job})
        except ApiError as error:
            refused.append(error.status)
            raise

    Run(world, play)
    world.item("a-item")
    assert world.finished("a-item")["phase"] == "Failed"
    assert refused == [403]
    assert world.kube.find("secrets", f"{world.namespace}-a-item-export", world.host) is None
