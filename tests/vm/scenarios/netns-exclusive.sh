#!/bin/bash
# RDMA devices that each belong to one network namespace, as boxes with the RDMA CNI have it. What a pod may use the
# kernel says by opening the device node; sysfs shows more than that in places, or less.
# hardware: nics=4
# seconds: 20
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=/dev/null
. /lab/lib

bdfs=(0000:00:10.0 0000:00:11.0 0000:00:12.0 0000:00:13.0)
virtio() { # BDF: its interface
    basename "/sys/bus/pci/devices/$1/virtio"*/net/*
}

# The HCAs whose nodes open
opening() {
    local node
    for node in /dev/infiniband/uverbs*; do
        if { : <>"$node"; } 2>/dev/null; then value "/sys/class/infiniband_verbs/${node##*/}/ibdev"; fi
    done | xargs
}
export -f opening

opens() { # POD
    in_pod "$1" bash -c '. /lab/lib; trap - EXIT; opening'
}

errors() { # COMMAND...: of its JSON, a line for each error
    "$@" | jq -r '.findings[] | select(.severity == "error") | "\(.id): \(.subject): \(.message)"'
}

modprobe ib_core netns_mode=0
like_mlx5
pod podA "$(virtio "${bdfs[0]}")=net1"
pod podB "$(virtio "${bdfs[1]}")=net1"
in_pod podA up net1 10.5.0.1/24
in_pod podB up net1 10.5.0.2/24
left=$(virtio "${bdfs[2]}")
host=$(virtio "${bdfs[3]}")
up "$left" 10.6.0.1/24
up "$host" 10.7.0.1/24
in_pod podA rxe mlx5_0 net1
in_pod podB rxe mlx5_1 net1
rxe mlx5_2 "$left"
rxe mlx5_3 "$host"

section "each sees its own"
same "podA's sysfs has" mlx5_0 "$(in_pod podA ls /sys/class/infiniband)"
same "its class of device nodes has all" 4 "$(in_pod podA ls /sys/class/infiniband_verbs | grep -c uverbs)"
same "of which it can open" mlx5_0 "$(opens podA)"
same "and takes" =mlx5_0:1 "$(setting NCCL_IB_HCA podA)"
same "podB takes" =mlx5_1:1 "$(setting NCCL_IB_HCA podB)"
same "doctor knows that they are separated" exclusive "$(in_pod podA "$P" doctor --json | jq -r .node.rdma_netns)"
passes "the self-test" 1 in_pod podA "$P" selftest --all --size=4M --bytes=64K
record exclusive podA

section "given, and not in the pod's namespace"
export PCIDEVICE_LAB_RAIL=${bdfs[0]},${bdfs[1]}
same "podB's function has no HCA in podA's sysfs" "" "$(in_pod podA ls "/sys/bus/pci/devices/${bdfs[1]}/infiniband")"
same "podA takes its own" =mlx5_0:1 "$(setting NCCL_IB_HCA podA)"
matches "doctor says why not the other" "rdma.netns.exclusive: ${bdfs[1]}: *" "$(errors in_pod podA "$P" doctor --json || true)"
unset PCIDEVICE_LAB_RAIL

section "the host's sysfs in a pod"
foreign() { # COMMAND...: podA's network, the host's mounts
    nsenter --net=/run/netns/podA "$@"
}
same "it has the host's HCAs" "mlx5_2 mlx5_3" "$(foreign ls /sys/class/infiniband | xargs)"
fails "which do not open" "*Operation not permitted*" foreign bash -c "exec 3<>/dev/infiniband/uverbs3"
same "none is taken" 1 "$(foreign "$P" env --format=docker | sed -n 's/^NCCL_IB_DISABLE=//p')"
export PCIDEVICE_LAB_RAIL=${bdfs[3]}
matches "selftest says that it does not open" "*verbs.open: mlx5_3*/dev/infiniband/uverbs3 gives EPERM*" \
    "$(errors foreign "$P" selftest --all --json || true)"
matches "doctor sees it without the device" "*hca.node.missing: mlx5_3: *" "$(errors foreign "$P" doctor --json || true)"
unset PCIDEVICE_LAB_RAIL

section "an HCA in the pod, its interface in the host"
rdma dev set mlx5_2 netns podA
same "podA can open" "mlx5_0 mlx5_2" "$(opens podA)"
same "rdma link has an interface for" mlx5_0 "$(in_pod podA rdma -j link | jq -r '.[] | select(.netdev).ifname')"
same "the GIDs stay, of an interface that is not there" "$left" "$(in_pod podA cat /sys/class/infiniband/mlx5_2/ports/1/gid_attrs/ndevs/3)"
same "podA takes" =mlx5_0:1 "$(setting NCCL_IB_HCA podA)"
record left-behind podA
export PCIDEVICE_LAB_RAIL=${bdfs[2]}
same "if only this one was given" "1 gid.none hca.none-usable" \
    "$(setting NCCL_IB_DISABLE podA) $(plan '[.findings[].id] | sort | join(" ")' podA)"
matches "its device answers, and has no GID for podA" "*verbs.gid: mlx5_2/1: *-1 is not a RoCE GID of this pod*" "$(errors in_pod podA "$P" selftest --all --json || true)"
# no error of the kernel tells whose an entry is
export NCCL_IB_GID_INDEX=3
passes "with the index forced, packets go out through the host's interface" 1 \
    in_pod podA "$P" selftest --all --size=4M --bytes=64K
unset NCCL_IB_GID_INDEX
unset PCIDEVICE_LAB_RAIL

section "an interface in the pod, its HCA elsewhere"
in_pod podB rdma dev set mlx5_1 netns podA
same "podB can open" "" "$(opens podB)"
same "podA can open" "mlx5_0 mlx5_1 mlx5_2" "$(opens podA)"
same "the interface has the name of podA's own" net1 "$(in_pod podA cat /sys/class/infiniband/mlx5_1/ports/1/gid_attrs/ndevs/3)"
same "podA takes" =mlx5_0:1 "$(setting NCCL_IB_HCA podA)"
export PCIDEVICE_LAB_RAIL=${bdfs[1]}
matches "doctor in podB says why it has none" "*rdma.netns.exclusive: ${bdfs[1]}: *" "$(errors in_pod podB "$P" doctor --json || true)"
fails "--mode=rdma does not start the command" "*error: command not started: --mode=rdma, but the pod was given no RDMA device*" in_pod podB "$P" --mode=rdma -- true
finish
