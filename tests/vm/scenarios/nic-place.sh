#!/bin/bash
# NCCL reads neither where a VF's card is nor what shares a port: it looks at BUS:00.0, or with NCCL_IB_MERGE_VFS=0 at
# BUS:DEV.0, and takes HCAs whose card is the same for ports of one. The decisions, against what the kernel has there.
# hardware: nics=1 igb
# seconds: 20
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=/dev/null
. /lab/lib
vfs=()

bus0=0000:00:10.0 # on bus 0 without a root port, as a VF that a virtual machine was given
pf=0000:01:00.0
like_mlx5
make_vfs $pf 2
n=0
hca_on() { # INTERFACE
    up "$1" "10.$((5 + n)).0.1/24"
    rdma link add "mlx5_$n" type rxe netdev "$1"
    n=$((n + 1))
}
hca_on "$(basename "$(echo /sys/bus/pci/devices/$bus0/virtio*/net/*)")"
for function in $pf "${vfs[@]}"; do hca_on "$(netdev_of "$function")"; done
for n in 0 1 2 3; do wait_for 60 active "mlx5_$n"; done

what_is_at() { # BDF
    case $(value "/sys/bus/pci/devices/$1/class") in
    0x0600*) echo "host bridge" ;;
    0x02*) echo NIC ;;
    *) echo "something else" ;;
    esac
}

# placed WHAT BDF,... MERGE-SETTING...: with these functions given to the pod nothing else is set of the kind
placed() {
    local what=$1
    PCIDEVICE_LAB_RAIL=$2 "$P" env --format=docker >/tmp/env
    shift 2
    same "$what" "$*" "$(sed -n '/MERGE/p' /tmp/env | xargs)"
}

section "what VFs are of"
"$P" plan --all >/tmp/plan
for n in 2 3; do
    same "mlx5_$n" "$(basename "$(readlink "/sys/class/infiniband/mlx5_$n/device/physfn")")" \
        "$(awk -v port="mlx5_$n/1" '$1 == port && $4 == "ACTIVE" { print $3 }' /tmp/plan)"
done
same "no VFs" "- -" "$(awk '($1 == "mlx5_0/1" || $1 == "mlx5_1/1") && $4 == "ACTIVE" { print $3 }' /tmp/plan | xargs)"

section "places"
same "00:00.0" "host bridge" "$(what_is_at 0000:00:00.0)"
placed "on bus 0" $bus0 NCCL_IB_MERGE_VFS=0
same "01:00.0, where NCCL looks for VFs of bus 1" NIC "$(what_is_at $pf)"
for n in 0 1; do placed "${vfs[n]}" "${vfs[n]}"; done
placed "one of each" "$bus0,${vfs[0]}" NCCL_IB_MERGE_VFS=0

section "HCAs that share a port"
placed "two VFs" "${vfs[0]},${vfs[1]}" NCCL_IB_MERGE_NICS=0 NCCL_NET_MERGE_LEVEL=LOC
placed "a PF and its VF" "$pf,${vfs[1]}" NCCL_IB_MERGE_NICS=0 NCCL_NET_MERGE_LEVEL=LOC
placed "all" "$bus0,$pf,${vfs[0]},${vfs[1]}" NCCL_IB_MERGE_VFS=0 NCCL_IB_MERGE_NICS=0 NCCL_NET_MERGE_LEVEL=LOC
PCIDEVICE_LAB_RAIL=$bus0,$pf,${vfs[1]} record place
finish
