# SPDX-License-Identifier: Apache-2.0
"""1,000 environments and 5 registrations: memory, and no requests while nothing changes."""

import json
import os
import pathlib

from bench import paths
from bench.modules import load
from bench.proc import memory
from bench.waiting import wait_until
from controller_harness import PROGRAM, Controller
from registrations_harness import AGENT_FINALIZER, LANDSCAPER_FINALIZER, MANAGEMENT_FINALIZER, environment, registration

large = load("large_server", pathlib.Path(__file__).parent / "large_server.py")

ENVIRONMENT_COUNT, REGISTRATION_COUNT = 1000, 5
NAMESPACE = "ls-system"
OURS = "longshore.deployers.landscaper.gardener.cloud"
LABELS = "deployers.landscaper.gardener.cloud"
GROUP = "/apis/landscaper.gardener.cloud/v1alpha1"
LIMIT = 64 * 10 ** 6


def metadata(name, number, **more):
    return {"name": name, "namespace": NAMESPACE, "uid": f"00000000-0000-4000-8000-{number:012}", "resourceVersion": str(number + 1),
            "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z", **more}


def pair_metadata(name, number, env, reg, **annotations):
    return metadata(name, number, labels={f"{LABELS}/environment": env, f"{LABELS}/deployer-registration": reg,
                                          "app.kubernetes.io/managed-by": "longshore"},
                    annotations={f"{OURS}/environment": env, f"{OURS}/registration": reg, **annotations})


def kubeconfig_of(config):
    cluster = {"server": config["host"], "certificate-authority-data": config["caData"]}
    return json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "default", "clusters": [{"name": "default", "cluster": cluster}],
                           "contexts": [{"name": "default", "context": {"cluster": "default", "user": "default"}}],
                           "users": [{"name": "default", "user": {"token": "t" * 1000}}]})


def objects():
    """Everything that exists when all pairs are installed."""
    blueprint = {"inline": {"filesystem": {"blueprint.yaml": "# blueprint\n" * 700}}}
    registrations = [registration(f"reg-{r}", blueprint=blueprint) for r in range(REGISTRATION_COUNT)]
    environments, installations, targets, accounts, bindings, items, leases = [], [], [], [], [], [], []
    for r, thing in enumerate(registrations):
        thing["metadata"] = metadata(thing["metadata"]["name"], r, finalizers=[MANAGEMENT_FINALIZER])
    for e in range(ENVIRONMENT_COUNT):
        env = environment(f"environment-{e:04}")
        name, spec = env["metadata"]["name"], env["spec"]
        env["metadata"] = metadata(name, 1000 + e, finalizers=[AGENT_FINALIZER, MANAGEMENT_FINALIZER])
        env["status"] = {"agent": {"version": "v1", "leaseName": name, "types": ["landscaper.gardener.cloud/helm"]}}
        environments.append(env)
        host = spec["hostTarget"]
        targets.append({"metadata": metadata(name, 3000 + e, annotations=host["annotations"], ownerReferences=[
            {"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Environment", "name": name, "uid": env["metadata"]["uid"], "controller": True}]),
            "spec": {"type": host["type"], "secretRef": host["secretRef"]}})
        leases.append({"metadata": metadata(name, 5000 + e), "spec": {"holderIdentity": "agent", "renewTime": "2026-01-01T00:00:00.000000Z",
                                                                      "leaseDurationSeconds": 40}})
        for r, thing in enumerate(registrations):
            number, reg = 10000 + 10 * e + r, thing["metadata"]["name"]
            pair, template = f"{reg}-{name}", thing["spec"]["installationTemplate"]
            installations.append({
                "metadata": {**pair_metadata(pair, number, name, reg), "finalizers": [MANAGEMENT_FINALIZER, LANDSCAPER_FINALIZER]},
                "spec": {"componentDescriptor": template["componentDescriptor"], "blueprint": template["blueprint"],
                         "imports": {"targets": [{"name": "cluster", "target": f"#{name}"}, {"name": "landscaperCluster", "target": f"#{pair}"}]},
                         "importDataMappings": {"values": {}, "identity": pair, "releaseName": pair, "releaseNamespace": spec["namespace"],
                                                "targetSelectors": spec["targetSelectors"]}},
                "status": {"phase": "Succeeded", "jobID": "job", "jobIDFinished": "job", "observedGeneration": 1,
                           "imports": [{"name": "values", "type": "data"}] * 10}})
            targets.append({"metadata": pair_metadata(pair, number, name, reg, **{f"{OURS}/token-requested": large.now(),
                                                                                  f"{OURS}/token-expires": large.now(90 * 86400),
                                                                                  f"{OURS}/token-renewals": "0"}),
                            "spec": {"type": host["type"], "config": {"kubeconfig": kubeconfig_of(spec["landscaperClusterConfig"])}}})
            accounts.append({"metadata": pair_metadata(pair, number, name, reg)})
            bindings.append({"metadata": {k: v for k, v in pair_metadata(pair, number, name, reg).items() if k != "namespace"},
                             "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "landscaper:deployer"},
                             "subjects": [{"kind": "ServiceAccount", "name": pair, "namespace": NAMESPACE}]})
            items.append({"metadata": metadata(f"{pair}-item", number, labels={"execution.landscaper.gardener.cloud/managed-by": pair}),
                          "spec": {"type": "landscaper.gardener.cloud/helm", "target": {"name": name, "namespace": NAMESPACE}},
                          "status": {"deployer": {"identity": f"agent-helm-deployer-{name}"}, "phase": "Succeeded"}})
    in_namespace = f"{GROUP}/namespaces/{NAMESPACE}"
    return {f"{GROUP}/environments": environments, f"{GROUP}/deployerregistrations": registrations, f"{in_namespace}/installations": installations,
            f"{in_namespace}/targets": targets, f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts": accounts,
            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings": bindings, f"{GROUP}/deployitems": items,
            f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases": leases}


def test_a_thousand_environments_need_little_memory_and_no_requests():
    server = large.LargeServer(objects())
    config = paths.fresh_directory("large") / "kubeconfig"
    config.write_text(json.dumps({"clusters": [{"name": "a", "cluster": {"server": server.address}}], "users": [{"name": "a", "user": {}}],
                                  "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}], "current-context": "a"}))
    process = Controller("longshore-registrations", [PROGRAM, "registrations", f"--kubeconfig={config}", "-v", "debug",
                                                     "--metrics-address=off", "--health-address=off"], env=dict(os.environ))
    try:
        wait_until(lambda: server.statuses >= ENVIRONMENT_COUNT + REGISTRATION_COUNT, "every status to be written once", timeout=300)
        assert server.requests == []
        statuses, lists, renewals = server.statuses, server.lists, server.renewals
        # No agent renews its Lease here, so all are lost after 40 s; until then nothing is sent but renewals of our own Lease.
        wait_until(lambda: server.renewals >= renewals + 4, "renewals of our own Lease")
        assert (server.requests, server.lists) == ([], lists)
        assert server.statuses <= statuses + ENVIRONMENT_COUNT
        # The most that was ever resident, with the pages of shared libraries, which the released static program does not have.
        found = memory(process.pid)
        print(f"{found['RssAnon'] / 1e6:.1f} MB anonymous now, {found['VmHWM'] / 1e6:.1f} MB resident at most")
        assert found["VmHWM"] < LIMIT, found
        assert {e["status"]["deployers"]["summary"] for e in server.collections[f"{GROUP}/environments"]} == {"5/5"}
    finally:
        assert process.stop() == 0
        server.close()
