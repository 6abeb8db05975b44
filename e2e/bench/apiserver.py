# SPDX-License-Identifier: Apache-2.0
"""A real kube-apiserver with its etcd on loopback, ready in seconds: all that most tests need of Kubernetes.

Without controllers() nothing acts on the objects: no default ServiceAccounts, no garbage collection, namespaces are
never really deleted, token Secrets stay empty.
"""

import ssl
import urllib.error
import urllib.request

from bench import certificates, crds, kubeconfig, paths
from bench.audit import POLICY, AuditLog
from bench.etcd import Etcd
from bench.kube import Client
from bench.place import Loopback

ADMIN = "bench-admin"
SERVICES = "10.96.0.0/16"
SERVICE_ADDRESS = "10.96.0.1"


class ApiServer:
    """Starts on construction. The data is etcd's, so the server can be stopped, killed and started again."""

    def __init__(self, *, flags=(), with_crds=True, authority=None, place=None, **etcd):
        """flags are added to those of kube-apiserver, e.g. "--watch-cache=false"; etcd: see Etcd."""
        self.place = place or Loopback()
        self.directory = self.place.directory("apiserver")
        self.authority = authority or certificates.session_authority()
        self.port = self.place.port(6443)
        self.server = f"https://{self.place.address}:{self.port}"
        self.audit = AuditLog(self.directory / "audit.log")
        self._flags = list(flags)
        self._files = 0
        self._controllers = None
        self._tls = self.authority.server(self.place.address, "localhost", "kubernetes.default.svc", SERVICE_ADDRESS)
        self._token_key, self._token_public = certificates.signing_key(self.directory, "tokens")
        self.etcd = Etcd(self.place, **etcd)
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

    # --- life ---

    def start(self):
        policy = self.directory / "audit-policy.yaml"
        policy.write_text(POLICY)
        self.process = self.place.start("kube-apiserver", [
            paths.kubernetes("kube-apiserver"),
            f"--etcd-servers={self.etcd.url}", f"--bind-address={self.place.address}", f"--secure-port={self.port}",
            *self._advertise(),
            f"--client-ca-file={self.authority.certificate}",
            f"--tls-cert-file={self._tls.certificate}", f"--tls-private-key-file={self._tls.key}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self._token_public}", f"--service-account-signing-key-file={self._token_key}",
            "--authorization-mode=Node,RBAC", f"--service-cluster-ip-range={SERVICES}",
            f"--audit-log-path={self.audit.path}", f"--audit-policy-file={policy}", "--audit-log-mode=blocking",
            # Without the latter a server in shutdown waits a minute for open watches.
            "--shutdown-delay-duration=0s", "--shutdown-watch-termination-grace-period=1s", *self._flags])
        self.process.wait_until(self.ready, "ready")

    def _advertise(self):
        if isinstance(self.place, Loopback):
            # An endpoint may not be on loopback, so there is none; any other address satisfies the server.
            return ["--advertise-address=192.0.2.1", "--endpoint-reconciler-type=none"]
        return [f"--advertise-address={self.place.address}"]

    def ready(self):
        context = ssl.create_default_context(cafile=str(self.authority.certificate))
        try:
            with urllib.request.urlopen(f"{self.server}/readyz", context=context, timeout=5) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False

    def stop(self):
        """Ends the server in good order; etcd and with it the data stay."""
        self.process.stop(grace=70)

    def kill(self):
        """Ends the server as a crash does: connections just break."""
        self.process.kill()

    def restart(self, *, crash=False, flags=None):
        """Stops (or kills) and starts it again at the same address, with other flags if given."""
        if crash:
            self.kill()
        else:
            self.stop()
        if flags is not None:
            self._flags = list(flags)
        self.start()

    def expire_watches(self):
        """Makes every resourceVersion so far too old: a watch or a continued list from one is answered with 410.

        The server's watch cache remembers what etcd has forgotten, hence the restart. On a server with the flag
        --watch-cache=false etcd.compact() alone is enough, also for watches that start later.
        """
        self.kill()
        self.etcd.compact()
        self.start()

    def controllers(self):
        """Starts kube-controller-manager unless it runs: default ServiceAccounts, garbage collection, namespaces."""
        if self._controllers is None or not self._controllers.running:
            config = self.user_kubeconfig("system:kube-controller-manager")
            self._controllers = self.place.start("kube-controller-manager", [
                paths.kubernetes("kube-controller-manager"), f"--kubeconfig={config}",
                f"--secure-port={self.place.port(10257)}", "--bind-address=127.0.0.1",
                "--leader-elect=false", "--use-service-account-credentials", *self._without_pod_collection(),
                f"--root-ca-file={self.authority.certificate}", f"--service-account-private-key-file={self._token_key}",
                f"--cluster-signing-cert-file={self.authority.pair.certificate}",
                f"--cluster-signing-key-file={self.authority.pair.key}",
                "--kube-api-qps=1000", "--kube-api-burst=2000"])
            self._controllers.wait_until(lambda: self.kube.find("serviceaccounts", "default", "default"),
                                         "the default ServiceAccount")
        return self._controllers

    def _without_pod_collection(self):
        """On loopback a test plays kubelet, of a node that is none: the collector would remove its pods."""
        return ["--controllers=*,-pod-garbage-collector-controller"] if isinstance(self.place, Loopback) else []

    def close(self):
        """Ends everything, the data too. Killed, as nobody will read it again."""
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
        """The path of a kubeconfig with a token, or with the name of a file that holds one."""
        return kubeconfig.write(self._new_file("kubeconfig"), self.server, self.authority.certificate,
                                token=token, token_file=token_file, namespace=namespace)

    def service_account(self, name, namespace, **request):
        """Makes a ServiceAccount unless it is there; returns a token of it (see Client.token)."""
        self.kube.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}})
        return self.kube.token(name, namespace, **request)
