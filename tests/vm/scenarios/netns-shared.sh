#!/bin/bash
# RDMA devices that all network namespaces share, the kernel's default: a pod's sysfs shows the HCAs of other pods, too,
# and its own are to be found. Which these are the kernel says by netlink: `rdma link` names an interface only for them.
# First stock SoftRoCE in a pod, which looks right and cannot send.
# hardware: igb=2 nics=2
# seconds: 35
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=/dev/null
. /lab/lib

own() { # POD
    in_pod "$1" rdma -j link | jq -r '[.[] | select(.netdev).ifname] | join(" ")'
}

virtio() { # BDF: its interface
    basename "/sys/bus/pci/devices/$1/virtio"*/net/*
}

# The self-test, quickly; its findings
selftest() { # POD [NAME=VALUE]...: PASSED/PORTS, and ID: MESSAGE, a line for each error
    local name=$1
    shift
    in_pod "$name" env "$@" "$P" selftest --json --size=4M --bytes=64K | jq -r \
        '(.findings[] | select(.severity == "error") | "\(.id): \(.message)"), "\(.passed)/\(.ports | length)"'
}

section "stock SoftRoCE in a pod"
stock
pod podS "$(virtio 0000:00:10.0)=net1"
in_pod podS up net1 10.7.0.1/24
in_pod podS rxe rxe0 net1
same "rdma link has it" rxe0 "$(own podS)"
same "it is chosen" =rxe0:1 "$(setting NCCL_IB_HCA podS)"
index=$(setting NCCL_IB_GID_INDEX podS)
same "by its address" "$(in_pod podS gid_index rxe0 ::ffff:10.7.0.1 v2 net1)" "$index"
works "doctor sees nothing wrong" in_pod podS "$P" doctor
fails "ibv_rc_pingpong does not get through" "*Failed status*" rc_pingpong podS rxe0 "$index" 10.7.0.1 podS rxe0 "$index"
status=$(sed -n 's/.*Failed status .* (\([0-9]*\)) for.*/\1/p' /tmp/said | head -n 1)
matches "nor does the self-test, with the same status" "verbs.transfer: step \`small writes\`: status $status, *: IBV_WC_*" "$(selftest podS || true)"
fails "--selftest=require does not start the command" "*--selftest=require, but 0 of 1 port passed*" \
    in_pod podS "$P" --selftest=require --log-level=error -- true
in_pod podS rdma link delete rxe0
up "$(virtio 0000:00:11.0)" 10.8.0.1/24
rxe rxe1 "$(virtio 0000:00:11.0)"
same "in the initial namespace it gets through" 1/1 "$(selftest -)"
rdma link delete rxe1
rmmod rdma_rxe

section "pods with HCAs"
like_mlx5
pod podA "$(netdev_of 0000:01:00.0)=net1"
pod podB "$(netdev_of 0000:02:00.0)=net1"
in_pod podA up net1 10.5.0.1/24
in_pod podB up net1 10.5.0.2/24
in_pod podS rxe mlx5_0 net1
in_pod podA rxe mlx5_1 net1
in_pod podB rxe mlx5_2 net1
same "with namespaces SoftRoCE gets through in the pod" 1/1 "$(selftest podS)"
same "podA sees all of them" "mlx5_0 mlx5_1 mlx5_2" "$(in_pod podA ls /sys/class/infiniband | xargs)"
same "the other pod's interface has the name of its own" net1 "$(in_pod podA cat /sys/class/infiniband/mlx5_2/ports/1/gid_attrs/ndevs/3)"
works "the other pod's HCA opens" in_pod podA mr mlx5_2 4
same "doctor knows that they are shared" shared "$(in_pod podA "$P" doctor --json | jq -r .node.rdma_netns)"

section "which are the pod's"
for name in podA podB podS; do
    same "$name, all device nodes open" "=$(own $name):1" "$(setting NCCL_IB_HCA $name)"
done
by='[.source, (.hcas[] | select(.ports[0].kept).name)] | join(" ")'
same "its node only" "uverbs $(own podA)" "$(container podA --device=uverbs1 -- "$P" plan --json | jq -r "$by")"
same "no node, its interface" "netdev $(own podA)" "$(container podA -- "$P" plan --json | jq -r "$by")"
same "a device plugin's word" "pcidevice $(own podA)" "$(PCIDEVICE_LAB_RAIL=0000:01:00.0 plan "$by" podA)"

section "an HCA without its interface"
export PCIDEVICE_LAB_RAIL=0000:02:00.0
same "podB's HCA is of no use to podA" "1 gid.none hca.none-usable" \
    "$(setting NCCL_IB_DISABLE podA) $(in_pod podA "$P" plan --json | jq -r '[.findings[].id] | sort | join(" ")')"
matches "the self-test says so" "*verbs.gid: *-1 is not a RoCE GID of this pod*" "$(selftest podA || true)"
# no error of the kernel tells whose an entry is
same "with the index forced, it uses podB's interface" 1/1 "$(selftest podA NCCL_IB_GID_INDEX=3 | grep -E '^verbs|/' | grep -v '^[a-u]')"
unset PCIDEVICE_LAB_RAIL

section "networks kept apart, with the same address in each"
in_pod podB ip addr add 10.5.0.1/24 dev net1
same "podA takes its own" "=$(own podA):1" "$(setting NCCL_IB_HCA podA)"
same "with its index" "$(in_pod podA gid_index mlx5_1 ::ffff:10.5.0.1 v2 net1)" "$(setting NCCL_IB_GID_INDEX podA)"
record same-address podA
finish
