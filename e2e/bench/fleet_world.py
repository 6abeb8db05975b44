# SPDX-License-Identifier: Apache-2.0
"""A control plane and many managed clusters, all simulated, a registry with modules, and the lifecycle manager between them.

Cluster 0 of the fleet is the control plane; cluster N is managed by the Kyma "fleet-N".
"""

import base64
import os

from bench import crds, fleet_modules, paths
from bench.fleet import BUILD, Fleet
from bench.fleet_modules import API, GROUP, NAMES
from bench.kyma_view import KymaView
from bench.process import Process
from bench.registry import Registry
from bench.waiting import wait_until

PROGRAM = BUILD / "deployer" / "longshore"
NAMESPACE = "kcp-system"
RELEASES = f"{API}/modulereleasemetas"
# As in a container: the authorities of the distribution would take several megabytes.
NO_AUTHORITIES = {"SSL_CERT_FILE": "", "SSL_CERT_DIR": ""}
WATCHES = 12  # in a cluster: nine kinds of the objects of modules, its Kyma, and two kinds of the catalog


def kyma_name(cluster):
    return f"fleet-{cluster}"


class FleetWorld:
    def __init__(self, clusters, modules, *flags, spare=0, variables=None, content=fleet_modules.objects):
        """spare: clusters without a Kyma, after the others. variables: of the environment of all programs. content: the objects of a module and version."""
        self.content = content
        self.count, self.modules = clusters, NAMES[:modules]
        self.variables = variables or {}
        self.fleet = Fleet(clusters + 1 + spare, *flags, variables=self.variables)
        self.kcp = self.fleet.client(0)
        self.managed = (1, clusters)
        self.registry = Registry()
        self.programs = []
        self._view = None

    def close(self):
        if self._view:
            self._view.close()
        for process in [*self.programs, self.fleet.process]:
            process.stop(grace=60)
        self.registry.close()

    # --- what the control plane holds ---

    def prepare(self, version="1.0.0", kymas=None):
        """Kinds, modules, access Secrets and Kymas: those of all clusters, or of the first ones."""
        crds.install(self.kcp, crds.load(paths.CHECKOUT / "charts" / "lifecycle-manager" / "files" / "crds"))
        self.kcp.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        for module in self.modules:
            self.publish(module, version)
        self.kcp.create_many(self.secret(cluster, text) for cluster, text in self.kubeconfigs().items())
        self.kcp.create_many(self.kyma(cluster) for cluster in range(1, (kymas or self.count) + 1))

    def prepare_installed(self):
        """Installs the modules in one cluster and copies it, with its Kyma and its Manifests, for all others: to install thousands of clusters takes long.
        Nothing runs afterwards."""
        self.prepare(kymas=1)
        program = self.start()
        self.wait_ready(program, 1)
        wait_until(lambda: self.fleet.get("counters", 1)["openWatches"] >= WATCHES, "all watches of the cluster")
        program.stop(grace=60)
        if self.count > 1:
            self.fleet.command("replicate", (2, self.count), **{"from": 1}, prefix=kyma_name(""), namespace=NAMESPACE,
                               resources=f"kymas.{GROUP},manifests.{GROUP}")

    def publish(self, module, version):
        """Pushes a version of a module and makes it the one of the channel."""
        fleet_modules.push(self.registry.client(), module, version, self.content)
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
            f"--oci-registry-host={self.registry.url}", "--metrics-address=off", "--health-address=off", *flags],
            env={**os.environ, **NO_AUTHORITIES, **self.variables, **(variables or {})})
        self.programs.append(process)
        return process

    @property
    def view(self):
        """Of the Kymas in the control plane."""
        if not self._view:
            self._view = KymaView(self.kcp, NAMESPACE)
        return self._view

    def wait_ready(self, program, count=None, timeout=600):
        wanted = self.count if count is None else count
        self.view.wait(lambda: self.view.states["Ready"] >= wanted, f"{wanted} Kymas Ready", program, timeout)

    def wait_version(self, program, module, version, count=None, timeout=600):
        """Until the Kymas report this version of the module as Ready."""
        wanted = self.count if count is None else count
        self.view.wait(lambda: self.view.versions[module, version] >= wanted, f"{module} {version} on {wanted} clusters", program, timeout)
