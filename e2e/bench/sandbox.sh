#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Process 1 of a nest: makes the new namespaces a place where a kubelet can live, then becomes pause.
# usage: nest.sh STATE_DIRECTORY ADDRESS/LENGTH HOST_NAME
set -euo pipefail

readonly state=$1 address=$2 name=$3

hostname "$name"

# kubelet writes these and they are the whole machine's: give it files of its own instead.
mkdir -p "$state/sysctl"
for setting in vm/overcommit_memory kernel/panic kernel/panic_on_oops; do
    own=$state/sysctl/${setting##*/}
    cat "/proc/sys/$setting" >"$own"
    mount --bind "$own" "/proc/sys/$setting"
done

# Where the state directory is on an overlay (inside a container), no second overlay can write to it: use memory.
mkdir -p "$state/disk"
if [[ $(stat -f -c %T "$state") == overlayfs ]]; then
    mount -t tmpfs tmpfs "$state/disk"
fi
mkdir -p "$state/disk/containerd" "$state/disk/var/upper" "$state/disk/var/work"
mount -t tmpfs tmpfs /run
mount -t overlay overlay -o "lowerdir=/var,upperdir=$state/disk/var/upper,workdir=$state/disk/var/work" /var
# kubelet and runc want to share mounts with what they start.
mount --make-rshared /

ip link set lo up
# The starter gives us one end of a cable when we exist.
until ip link show eth0 >"$state/network.log" 2>&1; do sleep 0.02; done
ip address add "$address" dev eth0
ip link set eth0 up
# No way out: what the pods do stays in here.
ip route add unreachable default
echo 1 >/proc/sys/net/ipv4/ip_forward
# Pods may talk to servers of a test on the other end of the cable, which knows no way back to pod addresses.
iptables -t nat -A POSTROUTING -s 10.244.0.0/16 -o eth0 -j MASQUERADE

touch "$state/nest-ready"
exec "$state/pause"
