# SPDX-License-Identifier: Apache-2.0
"""Main sees the same environment in a local run and in a cluster: one script runs in both and the results are compared."""

import os

import pytest
import yaml

from bench import images
from local import conftest as local_run

local = local_run.local  # a fixture

# The sections of the export: name and command.
SECTIONS = {
    "env": r"tr '\0' '\n' < /proc/1/environ | sort",
    "arguments": r"tr '\0' '\n' < /proc/1/cmdline | head -n 2",
    "who": "grep -E '^(Uid|Gid|Groups):' /proc/self/status",
    "may": "grep -E '^(Cap.*|NoNewPrivs|Seccomp):' /proc/self/status",
    "umask": "umask",
    "directory": "pwd",
    "files": "find /data/ls -exec stat -c '%n|%F|%u:%g|%a' {} + | sort",
    "mounts": "while read -r _ _ _ _ place options _; do echo $place ${options%%,*}; done < /proc/self/mountinfo | sort -u",
    "new": "touch $STATE_PATH/new; mkdir $STATE_PATH/folder; stat -c '%n|%F|%u:%g|%a' $STATE_PATH/new $STATE_PATH/folder",
    "root": "touch /written && stat -c '%n|%F|%u:%g|%a' /tmp; rm -f /written; ls -ld / | cut -c1-10",
    "devices": "ls /dev | sort",
    "masked": "for f in /proc/kcore /proc/keys /proc/timer_list /proc/interrupts /sys/firmware; do echo $f $(stat -c '%F' $f 2>&1) $(head -c1 $f 2>/dev/null | wc -c); done",
    "expanded": "echo '$(OPERATION) $(NONE) $$$$ $(echo $$)'",
    "denied": "for c in 'unshare -r true' 'mount -t tmpfs x /tmp' 'chroot / /bin/true' 'hostname other'; do $c 2>/dev/null; echo \"$c: $?\"; done",
}
SCRIPT = "section() { echo \"$1: |\"; sed 's/^/  /'; }\n" + "".join(
    f"{{ {command}; }} 2>&1 | section {name} >> $EXPORTS_PATH.new\n" for name, command in SECTIONS.items()) + \
    "mv $EXPORTS_PATH.new $EXPORTS_PATH\n"

# Variables that differ between pods in any cluster.
OWN_ENV = ("HOSTNAME", "POD_NAME", "POD_NAMESPACE", "POD_UID", "LONGSHORE_JOB_ID", "LONGSHORE_POD_UID")
# Mounts of the runtime below /proc, /sys and /dev: "masked" and "denied" compare their effect on main instead.
OF_RUNTIME = ("/proc/", "/sys/", "/dev/")
# Mounts that a kubelet adds for the network of a pod and for the termination message.
OF_KUBELET = {"/dev/termination-log", "/etc/hostname", "/etc/hosts", "/etc/resolv.conf"}


def comparable(exported):
    seen = {name: (text or "").splitlines() for name, text in yaml.safe_load(exported).items()}
    seen["env"] = [line for line in seen["env"] if line.partition("=")[0] not in OWN_ENV and not line.startswith("KUBERNETES_")]
    seen["mounts"] = [line for line in seen["mounts"] if line.split()[0] not in OF_KUBELET and not line.startswith(OF_RUNTIME)]
    seen["devices"] = [line for line in seen["devices"] if line != "core"]  # a dangling link that some runtimes create
    return seen


@pytest.fixture(scope="module")
def in_cluster():
    """The result in the cluster, obtained once."""
    return {}


def test_main_sees_the_same_in_a_local_run_and_in_a_cluster(cluster, local, in_cluster):
    config = {"image": images.BUSYBOX, "command": ["/bin/sh", "-c", SCRIPT], "importValues": {"a": 1}}
    if not in_cluster:
        cluster.target("there", config={"foo": "bar"})
        cluster.item("probe", config=config, target="there")
        cluster.succeeded("probe")
        in_cluster.update(namespace=cluster.namespace, seen=comparable(cluster.exports("probe")))
        assert len(in_cluster["seen"]["env"]) > 5 and len(in_cluster["seen"]["files"]) > 5, in_cluster
    document = local_run.item("probe", **{**config, "image": f"oci-archive:{local.image}"})
    document["metadata"]["namespace"] = in_cluster["namespace"]
    document["spec"]["target"] = {"name": "there", "namespace": in_cluster["namespace"]}
    target = {"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Target",
              "metadata": {"name": "there", "namespace": in_cluster["namespace"]},
              "spec": {"type": "landscaper.gardener.cloud/kubernetes-cluster", "config": {"foo": "bar"}}}
    files = local.documents(document, target)
    before = os.umask(0o077)  # the umask of a cautious user
    try:
        result = local.run(files, "-o", "json")
    finally:
        os.umask(before)
    assert result.code == 0, result
    here = comparable(yaml.safe_dump(result.data["exports"]))
    different = {name: {"only in the cluster": [line for line in in_cluster["seen"][name] if line not in here[name]],
                        "only here": [line for line in here[name] if line not in in_cluster["seen"][name]]}
                 for name in SECTIONS if in_cluster["seen"][name] != here[name]}
    assert not different, yaml.safe_dump(different)
