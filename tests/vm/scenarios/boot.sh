#!/bin/bash
# The machine boots, and has what the other scenarios need. It also tries KVM.
# hardware: nics=2
# seconds: 8
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=/dev/null
. /lab/lib

section "the guest"
matches "a kernel of Debian" "*Debian*" "$(</proc/version)"
same "processors" 2 "$(nproc)"
works "the share can be written to" touch /lab/out/touched
for nic in eth0 eth1; do
    works "$nic is there" test -e "/sys/class/net/$nic"
done
for program in ip rdma bridge ethtool lspci jq ibv_devinfo ibv_rc_pingpong ib_write_bw rping capsh setpriv unshare strace crun; do
    works "$program is there" command -v "$program"
done

section "nccl-init"
same "without RDMA" 1 "$(setting NCCL_IB_DISABLE)"
works "becomes the command" "$P" -- test -d /lab
finish
