# SPDX-License-Identifier: Apache-2.0
"""longshore controller --check, and what the controller reports when it starts without a permission."""

import base64
import json
import os
import subprocess

import pytest

from bench import paths
from bench.waiting import wait_until
from controller_harness import GROUP, PROGRAM
from ship import go_chart, helm

COLUMNS = ("CLUSTER", "NAMESPACE", "RESOURCE", "VERBS", "RESULT", "PURPOSE")
LANDSCAPER = "landscaper.gardener.cloud"
RBAC = "rbac.authorization.k8s.io"


class Account:
    """A ServiceAccount without any permission."""

    def __init__(self, apiserver, namespace):
        self.apiserver, self.kube, self.namespace = apiserver, apiserver.kube, namespace
        self.user = f"{namespace}:checked"
        self.kubeconfig = apiserver.token_kubeconfig(apiserver.service_account("checked", namespace))

    def allow(self, rules, namespace=None, name="checked"):
        self.kube.allow(self.user, rules, namespace, kind="ServiceAccount", name=f"{name}-{self.namespace}")

    def allow_chart(self, chart=helm.CHART, **values):
        """Grants the rules of the rendered chart."""
        for role in helm.template(values, namespace=self.namespace, chart=chart):
            if role["kind"] in ("Role", "ClusterRole"):
                self.allow(role["rules"], role["metadata"].get("namespace"), role["metadata"]["name"])

    def check(self, *arguments, **config):
        """(exit code, rows without their header, last line)"""
        path = paths.fresh_directory("check") / "config.yaml"
        path.write_text(json.dumps({
            "apiVersion": f"{GROUP}/v1alpha1", "kind": "Configuration", "namespace": self.namespace,
            "leaderElection": {"leaseName": "deployer-container-deployer"}, **config}))
        done = subprocess.run([PROGRAM, "controller", "--check", f"--config={path}", f"--kubeconfig={self.kubeconfig}", *arguments],
                              capture_output=True, text=True, timeout=120, env={**os.environ, "MY_POD_NAMESPACE": self.namespace})
        header, *lines, last = [line for line in done.stdout.splitlines() if not line.startswith("error: ")]
        starts = [header.index(column) for column in COLUMNS]
        assert starts[0] == 0 and header.split() == list(COLUMNS), done.stderr
        rows = [{column: line[start:end].strip() for column, start, end in zip(COLUMNS, starts, [*starts[1:], None])} for line in lines]
        assert all(row["PURPOSE"] for row in rows)
        return done.returncode, rows, last


@pytest.fixture
def account(apiserver, namespace):
    return Account(apiserver, namespace)


def granted(rows):
    """(cluster, group, resource, verb) of every permission in the table."""
    found = set()
    for row in rows:
        resource, _, group = row["RESOURCE"].partition(".")
        found |= {(row["CLUSTER"], group, resource, verb) for verb in row["VERBS"].split() if verb != "-"}
    return found


def missing(rows):
    return {(row["CLUSTER"], row["RESOURCE"], row["RESULT"]) for row in rows if row["RESULT"] != "ok"}


def test_the_chart_of_the_manifest_deployer_grants_what_is_checked(account):
    late = {"lateChanges": {"trigger": True}}
    account.allow_chart(chart=helm.CHART.with_name("manifest-deployer"), deployer=late)
    config = {"apiVersion": "manifest.deployer.landscaper.gardener.cloud/v1alpha2", "manifest": late,
              "leaderElection": {"leaseName": "deployer-manifest-deployer"}}
    code, rows, last = account.check(**config)
    assert (code, missing(rows), last) == (0, set(), "no problems found")
    assert {row["RESOURCE"] for row in rows} >= {"serviceaccounts/token", f"targets.{LANDSCAPER}", f"installations.{LANDSCAPER}"}
    assert f"contexts.{LANDSCAPER}" not in {row["RESOURCE"] for row in rows if row["VERBS"] != "-"}


@pytest.mark.parametrize("chart", ["container-deployer", "manifest-deployer", "helm-deployer"])
def test_helm_test_passes_with_the_roles_and_the_configuration_of_the_release_and_fails_without_one_of_them(apiserver, namespace, tmp_path, chart):
    """The command of the test pod, with the account of the release. Bindings as well as rules come from the chart."""
    kube, release = apiserver.kube, f"r-{namespace}"
    things = helm.template(release=release, namespace=namespace, chart=helm.CHART.with_name(chart))
    created = [thing for thing in things if thing["kind"] in ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")]
    for thing in created:
        kube.apply(thing)
    secret, = (thing for thing in things if thing["kind"] == "Secret" and thing["metadata"]["name"].endswith("-config"))
    (tmp_path / "config.yaml").write_bytes(base64.b64decode(secret["data"]["config.yaml"]))
    pod = helm.find(things, "Pod")["spec"]
    kubeconfig = apiserver.token_kubeconfig(kube.token(pod["serviceAccountName"], namespace))
    arguments = [argument.replace("/app/ls/config", str(tmp_path)) for argument in pod["containers"][0]["args"]]

    def check():
        return subprocess.run([PROGRAM, "controller", *arguments, f"--kubeconfig={kubeconfig}"], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "MY_POD_NAMESPACE": namespace})
    try:
        done = check()
        assert done.returncode == 0 and done.stdout.endswith("no problems found\n"), done.stdout + done.stderr
        kube.delete(f"{RBAC}/v1/clusterrolebindings", helm.find(things, "ClusterRoleBinding")["metadata"]["name"])
        wait_until(lambda: check().returncode == 1, "the missing permissions", 60)
    finally:
        for thing in created:
            if thing["kind"].startswith("ClusterRole") and kube.find(kube.resource_of(thing), thing["metadata"]["name"]):
                kube.delete(kube.resource_of(thing), thing["metadata"]["name"])


@pytest.mark.parametrize("replicas, ui", [(1, {"enabled": True}), (2, {"enabled": True, "authentication": True})])
def test_the_chart_grants_every_permission_that_is_checked_and_no_other(account, replicas, ui):
    hpa = {"maxReplicas": replicas}
    account.allow_chart(hpa=hpa, ui=ui)
    code, rows, last = account.check(hpa=hpa, ui=ui)
    assert (code, missing(rows), last) == (0, set(), "no problems found")
    rules = set()
    for role in helm.template({"hpa": hpa, "ui": ui}):
        if role["kind"] in ("Role", "ClusterRole"):
            cluster = "landscaper" if role["kind"] == "ClusterRole" else "host"
            rules |= {(cluster, group, resource, verb) for rule in role["rules"] for group in rule["apiGroups"]
                      for resource in rule["resources"] for verb in rule["verbs"]}
    assert granted(rows) == rules
    definitions = {row["RESOURCE"] for row in rows if row["VERBS"] == "-"}
    assert definitions == {f"{name}.{LANDSCAPER}" for name in ["deployitems", "targets", "contexts"] + ["syncobjects"] * (replicas > 1)}


def test_with_namespaces_roles_are_sufficient_and_each_namespace_is_checked(account):
    namespaces = [account.namespace, "kube-public"]
    account.allow_chart(rbac={"namespaces": namespaces})
    code, rows, last = account.check(namespaces=namespaces)
    assert (code, missing(rows), last) == (0, set(), "no problems found")
    assert {row["NAMESPACE"] for row in rows if row["CLUSTER"] == "landscaper" and row["VERBS"] != "-"} == {",".join(namespaces)}
    # Reviews have no namespace: they need a ClusterRole.
    code, rows, last = account.check(namespaces=namespaces, ui={"enabled": True, "authentication": True})
    assert code == 1 and missing(rows) == {("landscaper", name, "missing: create")
                                           for name in ("tokenreviews.authentication.k8s.io", "subjectaccessreviews.authorization.k8s.io")}
    # Neither of all namespaces, nor of one more.
    for others in ([], [*namespaces, "kube-system"]):
        code, rows, last = account.check(namespaces=others)
        assert code == 1 and ("landscaper", "secrets", "missing: get create patch delete") in missing(rows), rows


def test_the_rules_of_the_go_chart_lack_permissions_for_leases_and_logs(account):
    account.allow(go_chart.RULES)
    code, rows, last = account.check(hpa={"maxReplicas": 2})
    lease = "leases.coordination.k8s.io"
    assert missing(rows) == {("host", "pods/log", "missing: get"), ("host", lease, "missing: create"), ("host", lease, "missing: get update")}
    assert (code, last) == (1, "3 problems found")


def test_without_any_permission_everything_is_missing_except_the_definitions(account):
    code, rows, last = account.check()
    assert code == 1
    for row in rows:
        assert row["RESULT"] == ("ok" if row["VERBS"] == "-" else f"missing: {row['VERBS']}"), row
    assert last == f"{sum(row['VERBS'] != '-' for row in rows)} problems found"


def test_a_permission_in_one_namespace_does_not_count_for_all(account):
    account.allow_chart()
    account.kube.delete(f"{RBAC}/v1/clusterroles", f"deployer-container-deployer-{account.namespace}")
    account.allow([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}], account.namespace, "everything-here")
    code, rows, _ = account.check()
    assert code == 1 and {row["CLUSTER"] for row in rows if row["RESULT"] != "ok"} == {"landscaper"}


def test_definitions_that_are_not_installed_are_missing(make_apiserver):
    apiserver = make_apiserver(with_crds=False)
    code, rows, last = Account(apiserver, "default").check()
    assert code == 1
    assert {row["RESULT"] for row in rows if row["VERBS"] == "-"} == {"missing"}


def test_a_server_that_does_not_respond_is_reported_and_not_asked_repeatedly(account):
    text = json.loads(open(account.kubeconfig).read())
    text["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    path = paths.fresh_directory("check") / "kubeconfig"
    path.write_text(json.dumps(text))
    account.kubeconfig = path
    code, rows, _ = account.check()
    assert code == 1 and {row["RESULT"] for row in rows} == {"unknown"}


def test_the_controller_reports_each_missing_permission_once_and_works(world, apiserver):
    account = Account(apiserver, world.namespace)
    account.allow(go_chart.RULES)
    controller = world.start(arguments=[f"--kubeconfig={account.kubeconfig}"])
    world.item("item")
    assert world.finished("item")["phase"] == "Succeeded"
    controller.wait_until(lambda: "missing permission" in controller.output(), "the report")
    # The reviews are sent one after the other; the report is written at once.
    found = [line for line in map(json.loads, filter(lambda l: l.startswith("{"), controller.output().splitlines()))
             if line["msg"] == "missing permission"]
    assert [(line["cluster"], line["resource"], line["verbs"], line["namespace"]) for line in found] == [("host", "pods/log", "get", world.host)]
    assert found[0]["purpose"] == "show the end of a failed main's log in lastError"
