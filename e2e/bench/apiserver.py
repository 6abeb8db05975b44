# SPDX-License-Identifier: Apache-2.0
"""A real kube-apiserver with its etcd on loopback. It is ready within seconds and is all of Kubernetes that most tests need.

Unless controllers() is called, nothing acts on the objects: there are no default ServiceAccounts and no garbage collection,
deleted namespaces stay in Terminating, and token Secrets stay empty.
"""

import ssl
import urllib.error
import urllib.request

from bench import certificates, crds, kubeconfig, paths
from bench.audit import POLICY, AuditLog
from bench.etcd import Etcd
from bench.kube import Client
from bench.location import Loopback

ADMIN = "bench-admin"
SERVICES = "10.96.0.0/16"
SERVICE_ADDRESS = "10.96.0.1"


class ApiServer:
    """Starts when constructed. etcd holds the data, so the server can be stopped, killed and started again."""

    def __init__(self, *, flags=(), with_crds=True, authority=None, location=None, **etcd):
        """flags are added to the command line of kube-apiserver, e.g. "--watch-cache=false"; for etcd see Etcd."""
        self.location = location or Loopback()
        self.directory = self.location.directory("apiserver")
        self.authority = authority or certificates.session_authority()
        self.port = self.location.port(6443)
        self.server = f"https://{self.location.address}:{self.port}"
        self.audit = AuditLog(self.directory / "audit.log")
        self._flags = list(flags)
        self._files = 0
        self._controllers = None
        self._tls = self.authority.server(self.location.address, "localhost", "kubernetes.default.svc", SERVICE_ADDRESS)
        self._token_key, self._token_public = certificates.signing_key(self.directory, "tokens")
        self.etcd = Etcd(self.location, **etcd)
        self.process = None
        try:
            self.start()
            self.kube = self.user(ADMIN, groups=["system:masters"])
            if with_crds:
                crds.install(self.kube)
        except BaseException:
            self.close()
            raise
        self.kubeconfig = self.user_kubeconfig(ADMIN, groups=["system:masters"])

    # --- start and stop ---

    def start(self):
        policy = self.directory / "audit-policy.yaml"
        policy.write_text(POLICY)
        self.process = self.location.start("kube-apiserver", [
            paths.kubernetes("kube-apiserver"),
            f"--etcd-servers={self.etcd.url}", f"--bind-address={self.location.address}", f"--secure-port={self.port}",
            *self._advertise(),
            f"--client-ca-file={self.authority.certificate}",
            f"--tls-cert-file={self._tls.certificate}", f"--tls-private-key-file={self._tls.key}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self._token_public}", f"--service-account-signing-key-file={self._token_key}",
            "--authorization-mode=Node,RBAC", f"--service-cluster-ip-range={SERVICES}",
            f"--audit-log-path={self.audit.path}", f"--audit-policy-file={policy}", "--audit-log-mode=blocking",
            # Without the grace period a server that shuts down waits a minute for open watches.
            "--shutdown-delay-duration=0s", "--shutdown-watch-termination-grace-period=1s", *self._flags])
        self.process.wait_until(self.ready, "ready")

    def _advertise(self):
        if isinstance(self.location, Loopback):
            # An endpoint must not have a loopback address, so no endpoint is registered; the server accepts any other address.
            return ["--advertise-address=192.0.2.1", "--endpoint-reconciler-type=none"]
        return [f"--advertise-address={self.location.address}"]

    def ready(self):
        context = ssl.create_default_context(cafile=str(self.authority.certificate))
        try:
            with urllib.request.urlopen(f"{self.server}/readyz", context=context, timeout=5) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False

    def stop(self):
        """Shuts the server down cleanly. etcd keeps running and keeps the data."""
        self.process.stop(grace=70)

    def kill(self):
        """Kills the server as in a crash: connections break without a reply."""
        self.process.kill()

    def restart(self, *, crash=False, flags=None):
        """Stops or kills the server and starts it at the same address, with other flags if they are given."""
        if crash:
            self.kill()
        else:
            self.stop()
        if flags is not None:
            self._flags = list(flags)
        self.start()

    def expire_watches(self):
        """Makes every resourceVersion so far too old: a watch or a continued list from one of them fails with 410.

        The server has to restart because its watch cache still holds what etcd has compacted. On a server that runs with
        --watch-cache=false etcd.compact() is enough, also for watches that start later.
        """
        self.kill()
        self.etcd.compact()
        self.start()

    def controllers(self):
        """Starts kube-controller-manager unless it runs: default ServiceAccounts, garbage collection, deletion of namespaces."""
        if self._controllers is None or not self._controllers.running:
            config = self.user_kubeconfig("system:kube-controller-manager")
            self._controllers = self.location.start("kube-controller-manager", [
                paths.kubernetes("kube-controller-manager"), f"--kubeconfig={config}",
                f"--secure-port={self.location.port(10257)}", "--bind-address=127.0.0.1",
                "--leader-elect=false", "--use-service-account-credentials", *self._without_pod_collection(),
                f"--root-ca-file={self.authority.certificate}", f"--service-account-private-key-file={self._token_key}",
                f"--cluster-signing-cert-file={self.authority.pair.certificate}",
                f"--cluster-signing-key-file={self.authority.pair.key}",
                "--kube-api-qps=1000", "--kube-api-burst=2000"])
            self._controllers.wait_until(lambda: self.kube.find("serviceaccounts", "default", "default"),
                                         "the default ServiceAccount")
        return self._controllers

    def _without_pod_collection(self):
        """On loopback a test acts as the kubelet of a node that does not exist; pod garbage collection would delete its pods."""
        return ["--controllers=*,-pod-garbage-collector-controller"] if isinstance(self.location, Loopback) else []

    def close(self):
        """Kills everything. The data is not needed any more."""
        for process in (self._controllers, self.process, self.etcd.process):
            if process is not None:
                process.kill()

    # --- clients ---

    def _new_file(self, label):
        self._files += 1
        return self.directory / f"{label}-{self._files}"

    def user(self, name, groups=()):
        """A client with a certificate for any user and groups."""
        return Client(self.server, self.authority.certificate, pair=self.authority.client(name, groups))

    def user_kubeconfig(self, name, groups=(), namespace="default"):
        """The path of a kubeconfig for any user and groups."""
        return kubeconfig.write(self._new_file("kubeconfig"), self.server, self.authority.certificate,
                                pair=self.authority.client(name, groups), namespace=namespace)

    def token_client(self, token):
        return Client(self.server, self.authority.certificate, token=token)

    def token_kubeconfig(self, token=None, *, token_file=None, namespace="default"):
        """The path of a kubeconfig with a token, or with the path of a file that contains one."""
        return kubeconfig.write(self._new_file("kubeconfig"), self.server, self.authority.certificate,
                                token=token, token_file=token_file, namespace=namespace)

    def service_account(self, name, namespace, **request):
        """Creates a ServiceAccount unless it exists and returns a token for it (see Client.token)."""
        self.kube.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}})
        return self.kube.token(name, namespace, **request)
