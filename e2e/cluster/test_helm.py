# SPDX-License-Identifier: Apache-2.0
"""Helm items in a real cluster: the image longshore-helm runs in a namespace with the restricted Pod Security standard, and the deployer
is a release of charts/helm-deployer with no permissions but those of its roles."""

import json

import pytest

from api.helm.requests import RUN, STATUS, check_requests_to_the_target
from api.helm.sources import CREDENTIALS, FILES, check_registry_credentials, check_repository_credentials, repository
from api.helm.templates import BIG
from bench import paths
from bench.chart_repository import serving
from bench.charts import raw
from bench.waiting import wait_until
from cluster.conftest import restricted
from cluster.helm_items import DEFINITIONS, DEPLOYMENTS, HOOKED, HOST, JOBS, RELEASE, Charts
from init.hostile_charts import HOSTILE
from ship import helm, release

CHART = paths.CHECKOUT / "charts" / "helm-deployer"
in_both_modes = pytest.mark.parametrize("is_release", [False, True], ids=["render-and-apply", "release"])


@pytest.fixture(scope="module")
def helm_deployer(node):
    """The deployer, for the tests of this file."""
    restricted(node, HOST)
    release.load(node)
    release.build(paths.CHECKOUT, "helm", LONGSHORE_RELEASE_BUILD=str(release.BUILD), LONGSHORE_OUT=str(release.OUT))
    node.load_archive(release.OUT / "longshore-helm.oci.tar")
    helm.run("install", RELEASE, CHART, "--wait", "--timeout", "3m", kubeconfig=node.kubeconfig, namespace=HOST,
             # The first collection of garbage would be counted with a job if the machine is busy.
             values={"imageRegistry": "localhost", "deployer": {"oci": {"allowPlainHttp": True}, "garbageCollection": {"disable": True}}})
    yield node
    helm.run("uninstall", RELEASE, "--wait", "--timeout", "2m", kubeconfig=node.kubeconfig, namespace=HOST)


@pytest.fixture
def charts(helm_deployer, node_namespace):
    world = Charts(helm_deployer, node_namespace)
    yield world
    world.release_items()


@in_both_modes
def test_subcharts_crds_hooks_lists_and_schemas(charts, is_release):
    exports = {"exports": [{"key": "color", "jsonPath": ".Values.color"}, {"key": "word", "jsonPath": ".Values.sub.word"},
                           {"key": "ready", "jsonPath": ".status.readyReplicas", "fromResource": {
                               "apiVersion": "apps/v1", "kind": "Deployment", "name": "app", "namespace": charts.space}}]}
    charts.deploy("item", raw(charts.chart), is_release=is_release, exports=exports)
    charts.succeeded("item")
    assert charts.names() == ["one", "sub", "two"] and charts.found("sub")["data"] == {"word": "parent"}
    assert charts.found("thing", f"{charts.group}/v1/things")["spec"] == {"color": "red"}
    assert charts.found("app", DEPLOYMENTS)["status"]["readyReplicas"] == 1
    if not is_release:  # helm waits for hooks; rendered hooks are objects like all others
        wait_until(lambda: charts.found("hook", JOBS)["status"].get("succeeded"), "completion of the rendered Job")
    assert charts.found("hook", JOBS)["status"]["succeeded"] == 1
    assert json.loads(charts.exports("item")) == {"color": "red", "ready": 1, "word": "parent"}

    # The schema counts for releases only.
    charts.update("item", raw(charts.chart), is_release=is_release, job="job-2", values={"color": 5})
    if is_release:
        assert "schema" in charts.failed("item", "job-2")["lastError"]["message"]
    else:
        charts.succeeded("item", "job-2")
    assert charts.found("one")["data"] == {"color": "red" if is_release else "5"}


@in_both_modes
def test_objects_equal_the_output_of_helm_template(charts, is_release):
    """Of the same version of helm on the command line, with the version of the cluster."""
    values = {"color": "blue", "more": True, "sub": {"word": "given"}}
    charts.deploy("item", raw(charts.chart), is_release=is_release, values=values)
    charts.succeeded("item")
    wanted = charts.rendered(charts.chart, values)
    charts.check_objects(wanted)
    assert len(wanted) == 8 and charts.names() == sorted(name for kind, name in wanted if kind == "ConfigMap")
    if is_release:
        crd = ("CustomResourceDefinition", f"things.{charts.group}")  # not part of the manifest of a release
        assert {**charts.manifest(1), crd: wanted[crd]} == wanted and charts.recorded("item") == ["Deployment/app"]
    else:
        assert charts.recorded("item") == sorted(f"{kind}/{name}" for kind, name in wanted)


@in_both_modes
def test_an_upgrade_changes_adds_and_removes_objects(charts, is_release):
    charts.deploy("item", raw(charts.chart), is_release=is_release)
    charts.succeeded("item")
    values = {"color": "green", "list": False, "more": True}
    charts.update("item", raw(charts.chart), is_release=is_release, job="job-2", values=values)
    charts.succeeded("item", "job-2")
    assert charts.names() == ["more", "sub"]
    charts.check_objects(charts.rendered(charts.chart, values))
    wait_until(lambda: [p["metadata"]["labels"]["color"] for p in charts.pods_of_the_chart()] == ["green"], "the new pod replaces the old one")
    assert charts.releases() == ({1: "superseded", 2: "deployed"} if is_release else {})


def test_a_failed_upgrade_with_atomic_is_rolled_back(charts):
    charts.deploy("item", raw(charts.chart), is_release=True)
    charts.succeeded("item")
    charts.update("item", raw(charts.chart), is_release=True, job="job-2", values={"image": "longshore.test/missing:1", "color": "blue"},
                  helmDeploymentConfig={"upgrade": {"atomic": True, "timeout": "10s"}})
    error = charts.failed("item", "job-2")["lastError"]
    assert "rolled back" in error["message"], error
    charts.check_objects(charts.rendered(charts.chart, {}))
    assert charts.releases() == {1: "superseded", 2: "failed", 3: "deployed"}
    # The item is not stuck.
    charts.update("item", raw(charts.chart), is_release=True, job="job-3", values={"color": "green"})
    charts.succeeded("item", "job-3")
    assert charts.found("one")["data"] == {"color": "green"}


@in_both_modes
def test_uninstall_removes_the_objects(charts, is_release):
    charts.deploy("item", raw(charts.chart), is_release=is_release)
    charts.succeeded("item")
    charts.delete("item")
    charts.deleted("item")
    assert charts.names() == [] and charts.found("app", DEPLOYMENTS) is None and charts.releases() == {}
    # helm leaves hooks and CRDs behind.
    assert bool(charts.found("hook", JOBS)) == is_release
    assert bool(charts.kube.find(DEFINITIONS, f"things.{charts.group}")) == is_release
    wait_until(lambda: not charts.pods_of_the_chart(), "removal of the pods")


@in_both_modes
def test_drift_is_repaired_by_the_next_job(charts, is_release):
    charts.deploy("item", raw(charts.chart), is_release=is_release)
    charts.succeeded("item")
    charts.disturb()
    charts.trigger("item", "job-2")
    charts.succeeded("item", "job-2")
    charts.check_objects(charts.rendered(charts.chart, {}))
    assert charts.found("app", DEPLOYMENTS)["status"]["readyReplicas"] == 1


def test_two_megabytes_of_rendered_manifests(charts):
    """helm compresses a release into one Secret: its texts are all the same."""
    charts.deploy("random", raw(BIG), release="random")
    charts.deploy("same", raw(BIG), release="same", is_release=True, values={"text": "a" * 60000})
    for name in ("random", "same"):
        charts.succeeded(name, timeout=300)
    sizes = [len(c["data"]["text"]) for c in charts.kube.items("configmaps", charts.space) if "text" in c["data"]]
    assert sizes == [60000] * 80
    assert len(charts.recorded("random")) == 40
    for name in ("random", "same"):
        charts.delete(name)
    for name in ("random", "same"):
        charts.deleted(name)
    assert charts.names() == []


def test_hostile_chart_archives_fail_before_helm_runs(charts):
    for number, archive in enumerate(HOSTILE.values()):
        charts.deploy(f"item-{number}", raw(archive), release=f"app-{number}", is_release=number % 2 == 0)
    for number, kind in enumerate(HOSTILE):
        error = charts.failed(f"item-{number}", timeout=300)["lastError"]
        assert error["operation"] != "RunMainContainer" and "chart" in error["message"], (kind, error)
    assert charts.names() == [] and charts.releases() == {}


def test_a_private_registry_with_wrong_valid_and_rotated_credentials(charts):
    check_registry_credentials(charts, charts.node.start_registry("basic"), is_release=True)


def test_a_classic_repository_with_wrong_valid_and_rotated_credentials(charts):
    with serving(FILES, credentials=CREDENTIALS, address=charts.node.sandbox.test_address) as server:
        check_repository_credentials(charts, server, repository(server))


def test_a_controller_killed_during_a_release_goes_on(charts):
    """While helm waits for a hook: the next one goes on with the same run, and helm does not run twice."""
    charts.deploy("item", raw(HOOKED), is_release=True, values={"delay": 8})
    wait_until(lambda: charts.found("hook", JOBS), "helm waits for the hook")
    assert charts.releases() == {1: "pending-install"}
    before = charts.deployer_container()
    charts.kill(before)
    charts.succeeded("item")
    assert charts.deployer_container()["restartCount"] == before["restartCount"] + 1
    assert charts.releases() == {1: "deployed"} and charts.found("one")["data"] == {"color": "red"}
    charts.delete("item")
    charts.deleted("item")
    assert charts.releases() == {}


def test_a_job_costs_a_run_and_one_request_for_each_changed_object(charts):
    """The run costs the same for any number of objects. How often its status changes depends on the reports of the kubelet."""
    for job, ours in check_requests_to_the_target(charts):
        assert without(STATUS, ours) == without(STATUS, sorted(RUN)) and STATUS in ours, job


def without(left_out, requests):
    return [request for request in requests if request != left_out]
