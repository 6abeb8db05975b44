# SPDX-License-Identifier: Apache-2.0
"""The configuration files of kubelet, containerd, CNI and the scheduler of a node in a sandbox."""

import json

PODS = "10.244.0.0/24"
PAUSE_IMAGE = "longshore.test/pause:1"
CONTAINERD_SOCKET = "/run/containerd/containerd.sock"


def kubelet(authority, serving, plugins, cgroup):
    return json.dumps({
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
        "authentication": {"x509": {"clientCAFile": str(authority.certificate)}, "anonymous": {"enabled": False}},
        "tlsCertFile": str(serving.certificate), "tlsPrivateKeyFile": str(serving.key),
        "cgroupDriver": "cgroupfs", "cgroupRoot": f"/{cgroup}", "failCgroupV1": False, "failSwapOn": False,
        # Lowering it needs CAP_SYS_RESOURCE, which root may lack on this machine.
        "oomScoreAdj": 0,
        "maxOpenFiles": 20000,
        # This cluster has no DNS server.
        "resolvConf": "",
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%",
                         "nodefs.inodesFree": "1%", "imagefs.inodesFree": "1%"},
        "imageGCHighThresholdPercent": 100, "imageGCLowThresholdPercent": 99,
        "volumePluginDir": str(plugins),
        # Tests wait for status updates of the kubelet: make it send them without delay.
        "nodeStatusUpdateFrequency": "1s", "kubeAPIQPS": 100, "kubeAPIBurst": 100, "eventRecordQPS": 0,
        "registryPullQPS": 0, "serializeImagePulls": False,
    }, indent=2)


def containerd(root, networks, registries):
    return f"""\
version = 2
root = "{root}"
state = "/run/containerd"
[grpc]
address = "{CONTAINERD_SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{PAUSE_IMAGE}"
restrict_oom_score_adj = true
netns_mounts_under_state_dir = true
disable_apparmor = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "{networks}"
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "overlayfs"
default_runtime_name = "runc"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = false
[plugins."io.containerd.grpc.v1.cri".registry]
config_path = "{registries}"
"""


def networks():
    """{file name: text} of the CNI configuration."""
    bridge = {
        "cniVersion": "0.4.0", "name": "pods", "plugins": [
            {"type": "bridge", "bridge": "pods0", "isGateway": True, "hairpinMode": True, "ipMasq": False,
             "ipam": {"type": "host-local", "ranges": [[{"subnet": PODS}]], "routes": [{"dst": "0.0.0.0/0"}]}},
            {"type": "portmap", "capabilities": {"portMappings": True}}]}
    loopback = {"cniVersion": "0.4.0", "name": "lo", "type": "loopback"}
    return {"10-pods.conflist": json.dumps(bridge), "99-loopback.conf": json.dumps(loopback)}


def registry_host(url):
    """hosts.toml: lets containerd talk to a registry without TLS."""
    return f'server = "{url}"\n[host."{url}"]\ncapabilities = ["pull", "resolve"]\n'


def scheduler(kubeconfig):
    return json.dumps({
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 1000, "burst": 2000}})
