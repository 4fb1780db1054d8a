#!/bin/bash
# The HCA of a VF is there before its pod is, and stays when the VF's interface moves into the pod and back: the order in
# which a node with mlx5 does it, where a CNI plugin moves the interface, and rdma-cni the HCA. Stock SoftRoCE goes away.
# hardware: igb wire
# seconds: 25
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=/dev/null
. /lab/lib
vfs=()

hca_of() { # BDF [POD]
    in_pod "${2:--}" ls "/sys/bus/pci/devices/$1/infiniband" 2>/dev/null || true
}

modprobe ib_core netns_mode=0 # separate, as nodes with rdma-cni have it
like_mlx5
make_vfs 0000:01:00.0 2
first=$(netdev_of "${vfs[0]}")
second=$(netdev_of "${vfs[1]}")
up "$first" 10.9.0.1/24
up "$second"
rxe mlx5_2 "$first"
rxe mlx5_3 "$second"

section "moved into pods"
before=$(value /sys/class/infiniband/mlx5_2/node_guid)
matches "the host's address is in the table" "?*" "$(gid_index mlx5_2 ::ffff:10.9.0.1 v2 "$first")"
pod podA "$first=net1"
pod podB "$second=net1"
same "the HCA stays" mlx5_2 "$(hca_of "${vfs[0]}")"
same "... the same one" "$before" "$(value /sys/class/infiniband/mlx5_2/node_guid)"
same "the host's address has left the table" "" "$(gids mlx5_2 | grep -F 0a09:0001 || true)"
same "without rdma-cni the pod has no HCA" "" "$(hca_of "${vfs[0]}" podA)"
rdma dev set mlx5_2 netns podA
rdma dev set mlx5_3 netns podB
in_pod podA up net1 10.5.0.1/24
in_pod podB up net1 10.5.0.2/24
in_pod podA wait_for 60 active mlx5_2
in_pod podB wait_for 60 active mlx5_3
same "the pod has it" mlx5_2 "$(hca_of "${vfs[0]}" podA)"
same "... with a queue pair 1 for rdma_cm" 0 "$(dmesg | grep -c "Couldn't create ib_mad QP1" || true)"
same "the host does not" "" "$(hca_of "${vfs[0]}")"

section "the plans, and traffic"
export PCIDEVICE_LAB_RAIL=${vfs[0]}
same "podA's HCA" =mlx5_2:1 "$(setting NCCL_IB_HCA podA)"
a=$(setting NCCL_IB_GID_INDEX podA)
same "podA's index" "$(in_pod podA gid_index mlx5_2 ::ffff:10.5.0.1 v2 net1)" "$a"
export PCIDEVICE_LAB_RAIL=${vfs[1]}
b=$(setting NCCL_IB_GID_INDEX podB)
same "podB's index" "$(in_pod podB gid_index mlx5_3 ::ffff:10.5.0.2 v2 net1)" "$b"
works "ib_write_bw over the indexes chosen" write_bw podA mlx5_2 "$a" 10.5.0.1 podB mlx5_3 "$b"

section "the pod ends"
ip netns del podA
wait_for 60 test -e "/sys/bus/pci/devices/${vfs[0]}/infiniband/mlx5_2"
same "the HCA is the host's again" mlx5_2 "$(hca_of "${vfs[0]}")"
wait_for 60 netdev_of "${vfs[0]}"
back=$(netdev_of "${vfs[0]}")
same "... without the pod's address" "" "$(gids mlx5_2 | grep -F 0a05:0001 || true)"
up "$back" 10.9.0.3/24
wait_for 60 active mlx5_2
matches "... and takes an address" "?*" "$(gid_index mlx5_2 ::ffff:10.9.0.3 v2 "$back")"
pod podC "$back=net1"
rdma dev set mlx5_2 netns podC
in_pod podC up net1 10.5.0.3/24
in_pod podC wait_for 60 active mlx5_2
export PCIDEVICE_LAB_RAIL=${vfs[0]}
c=$(setting NCCL_IB_GID_INDEX podC)
works "the next pod has traffic over it" write_bw podC mlx5_2 "$c" 10.5.0.3 podB mlx5_3 "$b"

section "gone for good"
echo 0000:01:00.0 >/sys/bus/pci/drivers/igb/unbind
wait_for 60 test ! -e "/sys/bus/pci/devices/${vfs[0]}"
same "the HCA goes with its VF" "" "$(in_pod podC ls /sys/class/infiniband)"
finish
