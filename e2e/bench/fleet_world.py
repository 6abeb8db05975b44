# SPDX-License-Identifier: Apache-2.0
"""A control plane and many managed clusters, all simulated, a registry with modules, and the lifecycle manager between them.

Cluster 0 of the fleet is the control plane; cluster N is managed by the Kyma "fleet-N".
"""

import base64
import os

from bench import crds, fleet_modules, paths
from bench.fleet import BUILD, Fleet
from bench.fleet_modules import API, GROUP, NAMES
from bench.process import Process
from bench.registry import Registry
from bench.waiting import wait_until

PROGRAM = BUILD / "deployer" / "longshore"
NAMESPACE = "kcp-system"
KYMAS, RELEASES = f"{API}/kymas", f"{API}/modulereleasemetas"


def kyma_name(cluster):
    return f"fleet-{cluster}"


class FleetWorld:
    def __init__(self, clusters, modules, *flags, spare=0):
        """spare: clusters without a Kyma, after the others."""
        self.count, self.modules = clusters, NAMES[:modules]
        self.fleet = Fleet(clusters + 1 + spare, *flags)
        self.kcp = self.fleet.client(0)
        self.managed = (1, clusters)
        self.registry = Registry()
        self.programs = []

    def close(self):
        for process in [*self.programs, self.fleet.process]:
            process.stop(grace=60)
        self.registry.close()

    # --- what the control plane holds ---

    def prepare(self, version="1.0.0"):
        """Kinds, modules, access Secrets and Kymas."""
        crds.install(self.kcp, crds.load(paths.CHECKOUT / "charts" / "lifecycle-manager" / "files" / "crds"))
        self.kcp.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        for module in self.modules:
            self.publish(module, version)
        self.kcp.create_many(self.secret(cluster, text) for cluster, text in self.kubeconfigs().items())
        self.kcp.create_many(self.kyma(cluster) for cluster in range(1, self.count + 1))

    def publish(self, module, version):
        """Pushes a version of a module and makes it the one of the channel."""
        fleet_modules.push(self.registry.client(), module, version)
        self.kcp.apply(fleet_modules.template(module, version, NAMESPACE))
        self.kcp.apply(fleet_modules.release(module, version, NAMESPACE))

    def kubeconfigs(self, clusters=None):
        return {int(cluster): text for cluster, text in self.fleet.get("kubeconfigs", clusters or self.managed).items()}

    def secret(self, cluster, text):
        return {"apiVersion": "v1", "kind": "Secret", "data": {"config": base64.b64encode(text.encode()).decode()},
                "metadata": {"name": kyma_name(cluster), "namespace": NAMESPACE, "labels": {f"{GROUP}/kyma-name": kyma_name(cluster)}}}

    def kyma(self, cluster):
        return {"apiVersion": API, "kind": "Kyma", "metadata": {"name": kyma_name(cluster), "namespace": NAMESPACE},
                "spec": {"channel": "regular", "modules": [{"name": name, "managed": True} for name in self.modules]}}

    def write_kubeconfigs(self):
        """The directory with the kubeconfigs of all clusters, N.yaml."""
        directory = paths.run_directory() / "kubeconfigs"
        directory.mkdir()
        for cluster, text in self.kubeconfigs((0, self.count)).items():
            (directory / f"{cluster}.yaml").write_text(text)
        return directory

    # --- the lifecycle manager ---

    def start(self, *flags, variables=None):
        process = Process("longshore-lifecycle", [
            PROGRAM, "lifecycle", f"--kubeconfig={self.fleet.kubeconfig_file(0)}", f"--namespace={NAMESPACE}",
            f"--oci-registry-host={self.registry.url}", "--metrics-address=off", "--health-address=off", *flags], env={**os.environ, **(variables or {})})
        self.programs.append(process)
        return process

    def states(self):
        """How many Kymas have each state."""
        counts = {}
        for thing in self.kcp.items(KYMAS, NAMESPACE):
            state = thing.get("status", {}).get("state", "")
            counts[state] = counts.get(state, 0) + 1
        return counts

    def wait_ready(self, program, count=None, timeout=600):
        def is_ready():
            assert program.running, program.log.read_text()[-4000:]
            return self.states().get("Ready", 0) >= (self.count if count is None else count)
        try:
            wait_until(is_ready, "Kymas Ready", timeout=timeout, interval=0.5)
        except TimeoutError as error:
            raise TimeoutError(f"{error}: {self.states()}") from None

    def wait_version(self, program, module, version, count=None, timeout=600):
        """Until the Kymas report this version of the module as Ready."""
        def is_there():
            assert program.running, program.log.read_text()[-4000:]
            found = sum(any(m["name"] == module and m.get("version") == version and m["state"] == "Ready" for m in thing["status"].get("modules", []))
                        for thing in self.kcp.items(KYMAS, NAMESPACE))
            return found >= (self.count if count is None else count)
        wait_until(is_there, f"{module} {version}", timeout=timeout, interval=0.5)
