#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Process 1 of a sandbox: prepares the new namespaces for a kubelet, then becomes pause.
# usage: sandbox.sh STATE_DIRECTORY ADDRESS/LENGTH HOST_NAME
set -euo pipefail

readonly state=$1 address=$2 name=$3

hostname "$name"

# kubelet writes these settings, which apply to the whole machine: bind mount private files over them.
mkdir -p "$state/sysctl"
for setting in vm/overcommit_memory kernel/panic kernel/panic_on_oops; do
    own=$state/sysctl/${setting##*/}
    cat "/proc/sys/$setting" >"$own"
    mount --bind "$own" "/proc/sys/$setting"
done

# If the state directory is on an overlay (inside a container), it cannot be the upper layer of another overlay: use a tmpfs.
mkdir -p "$state/disk"
if [[ $(stat -f -c %T "$state") == overlayfs ]]; then
    mount -t tmpfs tmpfs "$state/disk"
fi
mkdir -p "$state/disk/containerd" "$state/disk/var/upper" "$state/disk/var/work"
mount -t tmpfs tmpfs /run
mount -t overlay overlay -o "lowerdir=/var,upperdir=$state/disk/var/upper,workdir=$state/disk/var/work" /var
# kubelet and runc need shared mount propagation with the processes they start.
mount --make-rshared /

ip link set lo up
# The process that started us moves one end of a veth pair into this namespace.
until ip link show eth0 >"$state/network.log" 2>&1; do sleep 0.02; done
ip address add "$address" dev eth0
ip link set eth0 up
# No route to other networks: the pods cannot reach anything outside.
ip route add unreachable default
echo 1 >/proc/sys/net/ipv4/ip_forward
# Pods may connect to servers of a test on the other end of the link, which has no route to pod addresses.
iptables -t nat -A POSTROUTING -s 10.244.0.0/16 -o eth0 -j MASQUERADE

touch "$state/sandbox-ready"
exec "$state/pause"
