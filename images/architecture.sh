# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
# Sourced with an architecture as Debian names it: sets architecture, native (that of this machine), triplet, processor and
# branch_protection (the compiler's option against jumps to other places than the program means). Needs die().

native=$(dpkg --print-architecture)
architecture=${1:-$native}
case $architecture in
amd64)
    triplet=x86_64-linux-gnu
    processor=x86_64
    branch_protection=-fcf-protection
    ;;
arm64)
    triplet=aarch64-linux-gnu
    processor=aarch64
    branch_protection=-mbranch-protection=standard
    ;;
*) die "unknown architecture '$architecture'; known are amd64 and arm64" ;;
esac
