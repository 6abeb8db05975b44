# SPDX-License-Identifier: Apache-2.0
"""A whole node: API server, controllers, scheduler, kubelet, kube-proxy, containerd with runc and CNI, a registry.

The node has no access to other networks: images come from its registry or are loaded.
"""

import calendar
import json
import pathlib
import time

from bench import images, node_config, oci, paths, privileges
from bench.apiserver import ApiServer
from bench.certificates import Authority
from bench.sandbox import NODE_NAME, Sandbox
from bench.registry import Registry


class Node:
    """Starts when constructed; state is a directory that does not exist yet."""

    def __init__(self, state, *, outlive=False):
        privileges.require_node()
        paths.tool_directory("kubernetes")
        self.state = pathlib.Path(state)
        self.registries = []
        self.sandbox = Sandbox(self.state, outlive=outlive)
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _start(self):
        self.authority = Authority(self.state / "ca")
        self._start_containerd()
        self.registry = self.start_registry()
        self.api = ApiServer(location=self.sandbox, authority=self.authority, flags=self._apiserver_flags())
        self.kube, self.kubeconfig = self.api.kube, self.api.kubeconfig
        self.load(images.pause(self.state / "pause"), node_config.PAUSE_IMAGE)
        self._start_kubelet()
        self._start_scheduler()
        self._start_proxy()
        self.api.controllers()
        self.kubelet.wait_until(self._ready, "node ready")

    def close(self):
        self.sandbox.close()
        for registry in self.registries:
            registry.close()

    # --- methods for tests ---

    def load(self, picture, name):
        """Puts an image on the node under a full name such as "longshore.test/main:1"."""
        archive = self.state / "image.tar"
        archive.write_bytes(oci.archive(picture, name))
        self.load_archive(archive)

    def load_archive(self, path):
        """Puts the images of an OCI archive on the node."""
        self.sandbox.run("ctr", "--namespace=k8s.io", "images", "import", path)

    def start_registry(self, auth=None):
        """A registry that pods, the kubelet and the test reach at the same address (registry.host), without TLS."""
        registry = Registry(auth, location=self.sandbox)
        hosts = self.sandbox.directory("registries") / registry.host
        hosts.mkdir()
        (hosts / "hosts.toml").write_text(node_config.registry_host(registry.url))
        self.registries.append(registry)
        return registry

    def describe(self, namespace):
        """What happened in a namespace, for the report of a failing test: pods, their logs, events."""
        lines = []
        for pod in self.kube.items("pods", namespace):
            name, status = pod["metadata"]["name"], pod["status"]
            lines.append(f"pod {name}: {status.get('phase')} {status.get('reason', '')} {status.get('message', '')}")
            for container in status.get("initContainerStatuses", []) + status.get("containerStatuses", []):
                lines.append(f"  {container['name']}: {json.dumps(container['state'])}")
                log = self.kube.logs(name, namespace, container["name"])
                lines += [f"    {line}" for line in log.splitlines()[-20:]]
        for event in self.kube.items("events", namespace):
            lines.append(f"event {event['involvedObject'].get('name')}: {event.get('reason')}: {event.get('message')}")
        return "\n".join(lines)

    def heal(self):
        """Restarts daemons that a failed test left dead. Fails within a minute, so that not every following test times out."""
        if not (self.containerd.running and self.kubelet.running):
            self._restart(lambda: None)
        self.kubelet.wait_until(self._takes_pods, "node ready and without taints", 60)

    def restart_daemons(self):
        """Kills kubelet and containerd and starts them again; the containers keep running."""
        self._restart(lambda: None)

    def reboot(self):
        """Simulates a power cut: kills kubelet, containerd and every container, then starts the daemons again."""
        listed = self.sandbox.run("ctr", "--namespace=k8s.io", "tasks", "list").splitlines()[1:]
        containers = [line.split()[1] for line in listed]

        def cut():
            # Kill the shims before their containers, so that nothing records how a container ended.
            self.sandbox.run("sh", "-c", "for p in /proc/[0-9]*; do read -r name < $p/comm && [ \"$name\" = containerd-shim ] && "
                          "kill -9 ${p#/proc/}; done 2>/dev/null; kill -9 \"$@\" 2>/dev/null; true", "sh", *containers)
        self._restart(cut)

    def _restart(self, between):
        self.kubelet.kill()
        self.containerd.kill()
        between()
        began = time.time()
        self._start_containerd()
        self._start_kubelet_until(lambda: self._ready(began) and self._takes_pods(), "node ready again")

    def volume_of(self, pod, name):
        """The path, inside the sandbox, of an emptyDir volume of a pod."""
        return f"/var/lib/kubelet/pods/{pod['metadata']['uid']}/volumes/kubernetes.io~empty-dir/{name}"

    # --- components ---

    def _start_containerd(self):
        networks = self.sandbox.directory("networks")
        for name, text in node_config.networks().items():
            (networks / name).write_text(text)
        config = self.state / "containerd.toml"
        config.write_text(node_config.containerd(self.state / "disk" / "containerd", networks, self.sandbox.directory("registries")))
        self.containerd = self.sandbox.start("containerd", [paths.installed("containerd"), "--config", config])

    def _apiserver_flags(self):
        client = self.authority.client("kube-apiserver-kubelet-client", ["system:masters"])
        return ["--allow-privileged=true", "--enable-admission-plugins=NodeRestriction",
                f"--kubelet-client-certificate={client.certificate}", f"--kubelet-client-key={client.key}",
                f"--kubelet-certificate-authority={self.authority.certificate}",
                "--kubelet-preferred-address-types=InternalIP"]

    def _start_kubelet(self):
        config = self.state / "kubelet.json"
        config.write_text(node_config.kubelet(self.authority, self.authority.server(self.sandbox.address, NODE_NAME),
                                              self.sandbox.directory("volume-plugins"), self.sandbox.cgroup))
        kubeconfig = self.api.user_kubeconfig(f"system:node:{NODE_NAME}", ["system:nodes"])
        self.kubelet = self.sandbox.start("kubelet", [
            paths.kubernetes("kubelet"), f"--config={config}", f"--kubeconfig={kubeconfig}",
            f"--hostname-override={NODE_NAME}", f"--node-ip={self.sandbox.address}"])

    def _start_kubelet_until(self, condition, what):
        """Starts the kubelet, repeatedly like systemd: it exits as long as containerd does not listen or is not initialized."""
        for attempts_left in reversed(range(60)):
            self._start_kubelet()
            try:
                self.kubelet.wait_until(condition, what)
                # The condition may be the last status update of the previous kubelet.
                time.sleep(1)
                return self.kubelet.wait_until(condition, what)
            except RuntimeError:
                if not attempts_left or "validate service connection" not in self.kubelet.output():
                    raise
                time.sleep(0.25)

    def _start_scheduler(self):
        config = self.state / "scheduler.json"
        config.write_text(node_config.scheduler(self.api.user_kubeconfig("system:kube-scheduler")))
        self.scheduler = self.sandbox.start("kube-scheduler", [
            paths.kubernetes("kube-scheduler"), f"--config={config}", "--bind-address=127.0.0.1"])

    def _start_proxy(self):
        kubeconfig = self.api.user_kubeconfig("system:kube-proxy")
        self.proxy = self.sandbox.start("kube-proxy", [
            paths.kubernetes("kube-proxy"), f"--kubeconfig={kubeconfig}", f"--hostname-override={NODE_NAME}",
            "--proxy-mode=iptables", f"--cluster-cidr={node_config.PODS}",
            # These would change settings of the whole machine.
            "--conntrack-max-per-core=0", "--conntrack-tcp-timeout-established=0s", "--conntrack-tcp-timeout-close-wait=0s"])

    def _takes_pods(self):
        node = self.kube.find("nodes", NODE_NAME)
        return self._ready() and not node["spec"].get("taints")

    def _ready(self, since=0):
        """Whether a kubelet reported Ready at or after this time."""
        node = self.kube.find("nodes", NODE_NAME)
        conditions = (node or {}).get("status", {}).get("conditions", [])
        return any(condition["type"] == "Ready" and condition["status"] == "True" and
                   calendar.timegm(time.strptime(condition["lastHeartbeatTime"], "%Y-%m-%dT%H:%M:%SZ")) >= int(since)
                   for condition in conditions)
