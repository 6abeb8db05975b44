# SPDX-License-Identifier: Apache-2.0
"""A job from its trigger to its end."""

import json

from bench.kube import DEPLOYITEMS
from bench.waiting import wait_until
from controller_harness import GROUP, decode, ended, hang, succeed, with_export_and_state
from faults.proxy import Action, PASS, status as refusal


def test_a_first_run_succeeds_with_state_and_export_and_leaves_only_state_and_account(world):
    world.kubelet.behaviour = with_export_and_state
    world.secret("kubeconfig", {"kubeconfig": "apiVersion: v1\nkind: Config\nclusters: []\n"})
    world.target("cluster", secret="kubeconfig")
    world.start()
    world.item("first", target="cluster")
    status = world.finished("first")
    assert status["phase"] == "Succeeded"
    assert status["observedGeneration"] == 1
    assert status["deployer"]["name"] == GROUP and status["deployer"]["identity"] == "test"
    assert status["lastReconcileTime"] >= status["jobIDGenerationTime"]
    assert status["transitionTimes"]["triggerTime"] <= status["transitionTimes"]["initTime"] <= status["transitionTimes"]["finishedTime"]
    assert "lastError" not in status
    provider = status["providerStatus"]
    assert provider["apiVersion"] == f"{GROUP}/v1alpha1" and provider["kind"] == "ProviderStatus"
    assert provider["lastOperation"] == "RECONCILE"
    assert provider["podStatus"]["lastSuccessfulJobID"] == "job-1"
    assert provider["podStatus"]["containerStatus"]["exitCode"] == 0
    assert {c["type"]: c["status"] for c in status["conditions"]} == {"InitContainer": "True", "WaitContainer": "True"}

    export = world.kube.get("secrets", "first-export", world.namespace)
    assert status["exportRef"] == {"name": "first-export", "namespace": world.namespace}
    assert json.loads(decode(export["data"]["config"])) == {"answer": 42}
    [owner] = export["metadata"]["ownerReferences"]
    item = world.kube.get("landscaper.gardener.cloud/v1alpha1/deployitems", "first", world.namespace)
    assert owner["uid"] == item["metadata"]["uid"] and owner["controller"] and owner["blockOwnerDeletion"]
    world.wait_for_cleanup()
    assert len(world.kubelet.ran("first")) == 1


def test_a_repeated_run_gets_its_state_and_updates_the_export(world):
    world.kubelet.behaviour = with_export_and_state
    world.start()
    world.item("again")
    world.finished("again")
    world.wait_for_cleanup()
    seen = {}

    def second(pod):
        volumes = {v["secret"]["secretName"] for v in pod.object["spec"]["volumes"] if "secret" in v}
        for volume in pod.object["spec"]["volumes"]:
            for source in volume.get("projected", {}).get("sources") or []:
                volumes.add(source.get("secret", {}).get("name"))
        seen.update(volumes=volumes, sequence=pod.env["LONGSHORE_STATE_SEQUENCE"], next=pod.env["LONGSHORE_STATE_NEXT_SEQUENCE"])
        pod.run()
        pod.export({"answer": 43})
        pod.succeed()

    [state] = [s["metadata"]["name"] for s in world.kube.items("secrets", world.host, labelSelector=f"{GROUP}/type=state")]
    world.kubelet.behaviour = second
    world.trigger("again", "job-2")
    status = world.finished("again", "job-2")
    assert status["phase"] == "Succeeded"
    assert state in seen["volumes"]
    assert int(seen["next"]) > int(seen["sequence"]) > 0
    export = world.kube.get("secrets", "again-export", world.namespace)
    assert json.loads(decode(export["data"]["config"])) == {"answer": 43}
    world.wait_for_cleanup()


def test_the_next_job_starts_as_soon_as_the_containers_of_the_previous_pod_have_ended(world):
    """A kubelet needs one or two seconds more to set the phase; this one never does."""
    def end_but_for_the_phase(pod):
        pod.run()
        pod.status("Running", init=ended(), main=ended(), wait=ended())
    world.kubelet.behaviour = end_but_for_the_phase
    world.kubelet._let_go = lambda pod: None
    world.start()
    world.item("swift")
    assert world.finished("swift")["phase"] == "Succeeded"
    world.trigger("swift", "job-2")
    assert world.finished("swift", "job-2")["phase"] == "Succeeded"
    assert world.kubelet.ran("swift") == [("swift", "job-1", "RECONCILE"), ("swift", "job-2", "RECONCILE")]
    world.wait_for_cleanup()


def test_a_run_without_an_export_publishes_none_and_removes_the_old_reference(world):
    world.kubelet.behaviour = with_export_and_state
    world.start()
    world.item("quiet")
    assert "exportRef" in world.finished("quiet")
    world.wait_for_cleanup()
    world.kubelet.behaviour = succeed
    world.trigger("quiet", "job-2")
    assert "exportRef" not in world.finished("quiet", "job-2")
    assert world.kube.find("secrets", "quiet-export", world.namespace) is None


def test_an_export_of_another_job_is_never_published(world):
    def forged(pod):
        pod.run()
        pod.export({"old": True}, job="job-0")
        pod.succeed()

    world.kubelet.behaviour = forged
    world.start()
    world.item("bound")
    assert "exportRef" not in world.finished("bound")
    world.wait_for_cleanup()

    def of_another_pod(pod):
        pod.run()
        pod.export({"old": True}, uid="0")
        pod.succeed()

    world.kubelet.behaviour = of_another_pod
    world.trigger("bound", "job-2")
    assert "exportRef" not in world.finished("bound", "job-2")


def test_progressing_is_reported_while_main_runs(world):
    world.kubelet.behaviour = hang
    world.start()
    world.item("long")
    status = wait_until(lambda: (s := world.status("long")).get("phase") == "Progressing" and
                        s["providerStatus"]["podStatus"]["containerStatus"].get("reason") == "Running" and s,
                        "main's state in the status")
    assert "jobIDFinished" not in status
    conditions = {c["type"]: c for c in status["conditions"]}
    assert conditions["InitContainer"]["reason"] == "ContainerSucceeded"
    assert conditions["WaitContainer"]["reason"] == "Pod running"
    assert conditions["WaitContainer"]["message"].startswith("Pod started running at 20")


def test_every_write_removes_the_deprecated_phase_field(world):
    world.kubelet.behaviour = hang
    world.start()
    world.item("item", job=None)
    world.kube.patch("landscaper.gardener.cloud/v1alpha1/deployitems", "item",
                     {"status": {"observedGeneration": 0, "deployItemPhase": "Failed"}}, world.namespace, "status")
    assert world.status("item")["deployItemPhase"] == "Failed"
    world.trigger("item", "job-1")
    status = wait_until(lambda: (s := world.status("item")).get("phase") == "Progressing" and s, "phase Progressing")
    assert "deployItemPhase" not in status


def test_finished_items_and_items_of_other_types_are_not_processed(world):
    controller = world.start()
    world.item("finished")
    world.finished("finished")
    world.wait_for_cleanup()
    world.item("manifest", item_type="landscaper.gardener.cloud/kubernetes-manifest", config=None)
    world.item("untriggered", job=None)
    mark = world.apiserver.audit.mark()
    for name in ("finished", "manifest", "untriggered"):
        world.kube.patch("landscaper.gardener.cloud/v1alpha1/deployitems", name,
                         {"metadata": {"annotations": {"landscaper.gardener.cloud/touch": "1"}}}, world.namespace)
    world.item("marker")
    world.finished("marker")
    touched = [e for e in world.apiserver.audit.entries(mark, user=controller.user)
               if e.get("objectRef", {}).get("name") in ("finished", "manifest", "untriggered")]
    assert touched == []
    assert "phase" not in world.status("manifest") and "phase" not in world.status("untriggered")


def test_test_reconcile_creates_a_job(world):
    world.start()
    world.item("tested", job=None, annotations={"landscaper.gardener.cloud/operation": "test-reconcile"}, finalizer=False)
    status = wait_until(lambda: (s := world.status("tested")).get("phase") == "Succeeded" and s, "success of the item")
    assert len(status["jobID"]) == 36 and status["jobIDFinished"] == status["jobID"]
    assert status["transitionTimes"]["triggerTime"]
    item = world.kube.get("landscaper.gardener.cloud/v1alpha1/deployitems", "tested", world.namespace)
    assert "landscaper.gardener.cloud/operation" not in item["metadata"].get("annotations", {})
    assert item["metadata"]["finalizers"] == ["finalizer.landscaper.gardener.cloud"]
    assert len(world.kubelet.ran("tested")) == 1


def test_update_on_change_only_runs_once_per_generation(world):
    world.start()
    world.item("lazy", updateOnChangeOnly=True)
    world.finished("lazy")
    world.wait_for_cleanup()
    world.trigger("lazy", "job-2")
    status = world.finished("lazy", "job-2")
    assert status["phase"] == "Succeeded" and status["transitionTimes"]["initTime"]
    assert len(world.kubelet.ran("lazy")) == 1
    world.kube.patch("landscaper.gardener.cloud/v1alpha1/deployitems", "lazy",
                     {"spec": {"config": {"args": ["other"]}}}, world.namespace)
    world.trigger("lazy", "job-3")
    assert world.finished("lazy", "job-3")["observedGeneration"] == 2
    assert len(world.kubelet.ran("lazy")) == 2


def test_the_reconcile_annotation_is_removed_when_the_pod_runs(world):
    world.start()
    world.kubelet.behaviour = hang
    world.item("noted", annotations={"landscaper.gardener.cloud/operation": "reconcile"})
    wait_until(lambda: "landscaper.gardener.cloud/operation" not in world.kube.get(
        "landscaper.gardener.cloud/v1alpha1/deployitems", "noted", world.namespace)["metadata"].get("annotations", {}),
        "removal of the annotation")


CONTINUOUS = {"continuousReconcile": {"every": "1h"}}


def test_continuous_reconcile_causes_one_event_per_item_however_its_job_starts(world):
    """The first status write of the job sends it: Progressing, Init with an error, Init of test-reconcile; a retry does not repeat it."""
    refused = []

    def plan(request):
        if request.method == "PATCH" and request.path.endswith("/conflict/status") and len(refused) < 2:
            refused.append(request)
            return Action(forward=False, answer=refusal(409, "Conflict"))
        return PASS

    with world.behind_proxy(plan) as proxy:
        world.start(proxy=proxy)
        world.item("usual", config=CONTINUOUS)
        world.item("conflict", config=CONTINUOUS)
        world.item("tested", job=None, annotations={"landscaper.gardener.cloud/operation": "test-reconcile"}, config=CONTINUOUS)
        world.item("late", context="later", config=CONTINUOUS)
        wait_until(lambda: world.status("late").get("lastError"), "the error in the status")
        world.context("later")
        wait_until(lambda: world.status("tested").get("phase") == "Succeeded", "success of the item")
        for name in ("usual", "conflict", "late"):
            world.finished(name)
        world.trigger("usual", "job-2")
        world.finished("usual", "job-2")
        world.kube.patch("landscaper.gardener.cloud/v1alpha1/deployitems", "usual", {"spec": {"config": {"args": ["other"]}}},
                         world.namespace)
        world.trigger("usual", "job-3")
        world.finished("usual", "job-3")
        world.wait_for_cleanup()
        world.delete("usual")
        world.wait_until_deleted("usual")
        for name in ("usual", "conflict", "late", "tested"):
            reasons = [e["reason"] for e in world.events(name)]
            assert reasons.count("ContinuousReconcileIgnored") == 1, (name, reasons)
    assert len(refused) == 2


def test_the_continuous_reconcile_event_is_also_sent_for_existing_items_and_after_a_lost_event(world):
    """It is sent with the first status of every job, whatever the observed generation is; its fixed name prevents duplicates."""
    lost = []

    def plan(request):
        if request.method == "POST" and request.path.endswith("/events") and b'"lost"' in request.body and not lost:
            lost.append(request)
            return Action(forward=False, answer=refusal(403, "Forbidden", "as if we had died"))
        return PASS

    def event_count(name):
        return [e["reason"] for e in world.events(name)].count("ContinuousReconcileIgnored")

    moved = world.item("moved", config=CONTINUOUS)
    world.kube.patch(DEPLOYITEMS, "moved", {"status": {
        "observedGeneration": moved["metadata"]["generation"], "phase": "Succeeded", "jobIDFinished": "job-1"}}, world.namespace, "status")
    with world.behind_proxy(plan) as proxy:
        world.start(proxy=proxy)
        world.item("lost", config=CONTINUOUS)
        world.finished("lost")
        world.wait_for_cleanup()
        assert lost and event_count("lost") == 0
        for job in ("job-2", "job-3"):
            for name in ("moved", "lost"):
                world.trigger(name, job)
                world.finished(name, job)
        world.wait_for_cleanup()
        assert event_count("moved") == 1 and event_count("lost") == 1


def test_keep_pod_keeps_the_pod_until_the_next_run(world):
    world.start(config={"debug": {"keepPod": True}})
    world.item("kept")
    world.finished("kept")
    [pod] = wait_until(lambda: [p for p in world.pods() if not p["metadata"].get("finalizers")], "removal of the finalizer")
    assert pod["status"]["phase"] == "Succeeded" and "deletionTimestamp" not in pod["metadata"]
    world.trigger("kept", "job-2")
    world.finished("kept", "job-2")
    [new] = world.pods()
    assert new["metadata"]["uid"] != pod["metadata"]["uid"]
    assert [job for _, job, _ in world.kubelet.ran("kept")] == ["job-1", "job-2"]


def test_a_run_without_an_export_removes_the_export_of_the_previous_run(world):
    """The export of an earlier run must not be mistaken for the result of a later one."""
    world.kubelet.behaviour = with_export_and_state
    world.start()
    world.item("item")
    assert world.finished("item")["exportRef"] == {"name": "item-export", "namespace": world.namespace}
    world.kubelet.behaviour = succeed
    world.trigger("item", "job-2")
    assert "exportRef" not in world.finished("item", "job-2")
    assert world.kube.find("secrets", "item-export", world.namespace) is None
