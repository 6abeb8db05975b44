# SPDX-License-Identifier: Apache-2.0
"""Both modes with helm 4, whose options and outputs differ. LONGSHORE_HELM=4 runs the other tests with it."""

from api.helm.harness import chart_archive, raw
from api.helm.templates import CONFIG, HOOK, SCHEMA, STUCK
from bench.waiting import wait_until

SUB = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: sub}\ndata: {word: {{ .Values.word }}, helm: {{ .Capabilities.HelmVersion.Version | quote }}}\n"
CHART = chart_archive({"values.yaml": {"color": "red"}, "values.schema.json": SCHEMA,
                       "templates/config.yaml": CONFIG, "templates/stuck.yaml": STUCK, "templates/hook.yaml": HOOK,
                       "charts/sub/Chart.yaml": {"apiVersion": "v2", "name": "sub", "version": "0.1.0"},
                       "charts/sub/values.yaml": {"word": "default"}, "charts/sub/templates/sub.yaml": SUB},
                      dependencies=[{"name": "sub", "version": "0.1.0"}])
EXPORTS = {"exports": [{"key": "color", "jsonPath": ".Values.color"}, {"key": "word", "jsonPath": ".Values.sub.word"}]}


def test_a_chart_is_rendered_applied_updated_and_removed(world_of_helm_4):
    world = world_of_helm_4
    version = world.kube.request("GET", "/version")["gitVersion"]
    world.start()
    world.deploy("item", raw(CHART), values={"color": "blue"}, exports=EXPORTS)
    world.succeeded("item")
    rendered = world.on_the_command_line(CHART, {"color": "blue"}, "--kube-version", version)
    assert world.recorded("item") == sorted(f"{t['kind']}/{t['metadata']['name']}" for t in rendered)
    for thing in rendered:
        assert world.found(thing["metadata"]["name"]).get("data") == thing.get("data")
    assert world.found("sub")["data"]["helm"].startswith("v4.") and world.exported("item") == {"color": "blue", "word": "default"}

    # The schema does not count here, and what somebody deleted comes back.
    world.kube.delete("configmaps", "sub", world.space)
    world.update("item", raw(CHART), job="job-2", values={"color": 5})
    world.succeeded("item", "job-2")
    assert world.found("config")["data"] == {"color": "5"} and world.names() == ["config", "hook", "sub"]
    world.delete("item")
    world.wait_until_deleted("item")
    assert world.names() == []


def test_a_release_is_installed_upgraded_rolled_back_repaired_and_uninstalled(world_of_helm_4):
    world = world_of_helm_4
    options = {"install": {"wait": True}, "upgrade": {"atomic": True, "force": True, "takeOwnership": True, "timeout": "3s"},
               "uninstall": {"wait": True, "timeout": "30s"}}
    world.start()
    world.deploy("item", raw(CHART), is_release=True, exports=EXPORTS, helmDeploymentConfig=options)
    world.succeeded("item")
    assert world.exported("item") == {"color": "red", "word": "default"} and world.names() == ["config", "hook", "sub"]

    world.update("item", raw(CHART), job="job-2", is_release=True, values={"color": 5}, helmDeploymentConfig=options)
    assert "schema" in world.failed("item", "job-2")["lastError"]["message"]
    world.update("item", raw(CHART), job="job-3", is_release=True, values={"color": "unspeakable", "stuck": True}, helmDeploymentConfig=options)
    error = world.failed("item", "job-3")["lastError"]["message"]
    assert "rolled back" in error and "unspeakable" not in error, error
    assert world.found("config")["data"] == {"color": "red"}
    newest = max(world.releases())
    assert world.releases()[newest] == "deployed"

    # A revision that a killed pod left pending, and an object that somebody changed.
    pending = world.kube.get("secrets", f"sh.helm.release.v1.app.v{newest}", world.space)
    pending["metadata"] = {"name": f"sh.helm.release.v1.app.v{newest + 1}", "namespace": world.space,
                           "labels": {**pending["metadata"]["labels"], "status": "pending-upgrade", "version": str(newest + 1)}}
    world.kube.create(pending)
    world.kube.patch("configmaps", "sub", {"data": {"word": "drifted"}}, world.space)
    world.update("item", raw(CHART), job="job-4", is_release=True, values={"color": "green"})
    world.succeeded("item", "job-4")
    assert world.found("config")["data"] == {"color": "green"} and world.found("sub")["data"]["word"] == "default"
    assert world.releases()[newest + 1] == "deployed"

    world.delete("item")
    world.wait_until_deleted("item")
    assert world.releases() == {} and world.names() == ["hook"]
    wait_until(lambda: world.host_objects() == [], "nothing is left on the host")
