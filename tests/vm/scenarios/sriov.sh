#!/bin/bash
# VFs of an emulated igb as the HCAs of two pods, both with an interface net1: named by PCIDEVICE_*, in network
# namespaces and in OCI containers. The devices and indexes that nccl-init chose carry traffic; another index does not.
# hardware: igb
# seconds: 22
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=/dev/null
. /lab/lib
vfs=()

modprobe ib_core netns_mode=0 # separate, as boxes with the RDMA CNI have it
like_mlx5
pf=0000:01:00.0
make_vfs $pf 3
pod podA "$(netdev_of "${vfs[0]}")=net1"
pod podB "$(netdev_of "${vfs[1]}")=net1"
in_pod podA up net1 10.5.0.1/24
in_pod podB up net1 10.5.0.2/24
in_pod podA rxe mlx5_2 net1
in_pod podB rxe mlx5_3 net1

section "the shape of a VF"
same "VFs" 3 "${#vfs[@]}"
same "physfn" $pf "$(basename "$(readlink "/sys/bus/pci/devices/${vfs[0]}/physfn")")"
same "the HCA is below its function" "mlx5_2" "$(in_pod podA ls "/sys/bus/pci/devices/${vfs[0]}/infiniband")"
same "v1 and v2 of the address" "2 3" "$(in_pod podA gids mlx5_2 | grep -F 0a05:0001 | cut -d ' ' -f 1) $(
    in_pod podA gid_index mlx5_2 ::ffff:10.5.0.1 v2 net1)"

section "the plans"
export PCIDEVICE_LAB_RAIL=${vfs[0]}
same "podA's HCA" =mlx5_2:1 "$(setting NCCL_IB_HCA podA)"
same "podA's source" PCIDEVICE "$(in_pod podA "$P" plan | sed -n 's/.*HCAs given by \(PCIDEVICE\)_.*/\1/p')"
a=$(setting NCCL_IB_GID_INDEX podA)
same "podA's index" "$(in_pod podA gid_index mlx5_2 ::ffff:10.5.0.1 v2 net1)" "$a"
export PCIDEVICE_LAB_RAIL=${vfs[1]}
same "podB's HCA" =mlx5_3:1 "$(setting NCCL_IB_HCA podB)"
b=$(setting NCCL_IB_GID_INDEX podB)
same "podB's index" "$(in_pod podB gid_index mlx5_3 ::ffff:10.5.0.2 v2 net1)" "$b"
record vf podB

section "traffic"
works "ibv_rc_pingpong over the indexes chosen" rc_pingpong podA mlx5_2 "$a" 10.5.0.1 podB mlx5_3 "$b"
works "ib_write_bw over the indexes chosen" write_bw podA mlx5_2 "$a" 10.5.0.1 podB mlx5_3 "$b"
fails "ibv_rc_pingpong over the v1 entry" "*Couldn't connect to remote QP*" rc_pingpong podA mlx5_2 2 10.5.0.1 podB mlx5_3 2
fails "ibv_rc_pingpong over an empty entry" "*Couldn't connect to remote QP*" rc_pingpong podA mlx5_2 7 10.5.0.1 podB mlx5_3 7

section "as OCI containers"
same "in its container podA sees its own node" mlx5_2 \
    "$(container podA --device=uverbs0 -- "$P" plan --json | jq -r '.hcas[] | select(.ports[0].kept).name')"
same "... and is told by it" uverbs "$(container podA --device=uverbs0 -- "$P" plan --json | jq -r .source)"
fails "the other pod's node gives it nothing" "*No such device*" container podA --device=uverbs1 -- mr mlx5_2 64
same "64 KiB of locked memory" "64 KiB: ok
16384 KiB: errno 12" "$(container podA --device=uverbs0 --memlock=65536 -- bash -c 'mr mlx5_2 64 16384 || true')"
works "with CAP_IPC_LOCK there is no limit" container podA --device=uverbs0 --memlock=65536 --cap=IPC_LOCK -- mr mlx5_2 16384
finish
