#!/bin/bash
# Two network namespaces as two pods: what `nccl-init env` gives in each carries traffic between them, and what stands
# beside it in the table does not. GIDs are v1 and v2, and at indexes that nobody would guess, as addresses came and went.
# One pair on NICs on a wire, one on a bridge, with IPv6 only.
# hardware: nics=2 wire
# seconds: 20
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=/dev/null
. /lab/lib

modprobe ib_core netns_mode=0
like_mlx5

errors() { # POD COMMAND...: of its JSON, a line for each error
    in_pod "$@" | jq -r '.findings[] | select(.severity == "error") | "\(.id): \(.subject): \(.message)"'
}

section "two NICs on a wire"
for name in A B; do
    nic=$([ $name = A ] && echo 0000:00:10.0 || echo 0000:00:11.0)
    pod "pod$name" "$(basename "/sys/bus/pci/devices/$nic/virtio"*/net/*)=net1"
done
in_pod podA bash -c 'echo 1 >/proc/sys/net/ipv4/conf/all/promote_secondaries'
# podA: a first address that goes again, and a hole stays where it was
in_pod podA up net1 10.5.0.101/24 10.5.0.1/24
# podB: the classic index
in_pod podB up net1 10.5.0.2/24
in_pod podA rxe mlx5_6 net1
in_pod podB rxe mlx5_4 net1
in_pod podA ip addr del 10.5.0.101/24 dev net1
for name in podA podB; do
    same "$name: HCA" "=$(in_pod $name ls /sys/class/infiniband):1" "$(setting NCCL_IB_HCA $name)"
    same "$name: interface" =net1 "$(setting NCCL_SOCKET_IFNAME $name)"
done
a=$(setting NCCL_IB_GID_INDEX podA)
b=$(setting NCCL_IB_GID_INDEX podB)
same "podA: index" "$(in_pod podA gid_index mlx5_6 ::ffff:10.5.0.1 v2 net1)" "$a"
same "podB: index" "$(in_pod podB gid_index mlx5_4 ::ffff:10.5.0.2 v2 net1)" "$b"
differ "they are not the same" "$a" "$b"
works "ibv_rc_pingpong from podB to podA" rc_pingpong podA mlx5_6 "$a" 10.5.0.1 podB mlx5_4 "$b"
works "ib_write_bw from podA to podB" write_bw podB mlx5_4 "$b" 10.5.0.2 podA mlx5_6 "$a"
fails "with podB's index in podA, a hole" "*Couldn't connect to remote QP*" rc_pingpong podA mlx5_6 "$b" 10.5.0.1 podB mlx5_4 "$b"
fails "... nor ib_write_bw" "*" write_bw podA mlx5_6 "$b" 10.5.0.1 podB mlx5_4 "$b"
fails "with the v1 entry of the same address" "*Couldn't connect to remote QP*" \
    rc_pingpong podA mlx5_6 $((a - 1)) 10.5.0.1 podB mlx5_4 $((b - 1))
record hole podA

section "the self-test knows the wrong indexes, too"
passes "none is forced" 1 in_pod podA "$P" selftest --all --size=4M --bytes=64K
export NCCL_IB_GID_INDEX=$((a - 1))
matches "the v1 entry" "*verbs.connect: mlx5_6/1: *EINVAL*index $((a - 1)) holds 10.5.0.1, RoCE v1" \
    "$(errors podA "$P" selftest --all --json || true)"
matches "without the test, too" "*user.gid-index.wrong: mlx5_6/1: NCCL takes index $((a - 1)), which is RoCE v1*" "$(errors podA "$P" plan --json)"
export NCCL_IB_GID_INDEX=$b
matches "the hole" "*verbs.gid: mlx5_6/1: *index $b: *it is empty*" "$(errors podA "$P" selftest --all --json || true)"
fails "--selftest=require does not start the command" "*--selftest=require, but 0 of 1 port passed*" \
    in_pod podA "$P" --selftest=require --log-level=error -- true
unset NCCL_IB_GID_INDEX

section "a bridge, IPv6 only"
# for the programs' own talk an interface with IPv4, as each pod has one
ip link add br0 type bridge
ip link set br0 up
for name in C D; do
    ip netns add "pod$name"
    for interface in eth0 net1; do
        ip link add "$interface-$name" type veth peer name $interface netns "pod$name"
        ip link set "$interface-$name" master br0 up
    done
done
in_pod podC up eth0 10.244.0.3/24
in_pod podD up eth0 10.244.0.4/24
in_pod podC up net1 fd00:5::c/64
in_pod podD up net1 fd00:5::99/64
in_pod podC rxe mlx5_0 net1
in_pod podD rxe mlx5_1 net1
in_pod podD up net1 fd00:5::d/64
in_pod podD ip addr del fd00:5::99/64 dev net1
c=$(setting NCCL_IB_GID_INDEX podC)
d=$(setting NCCL_IB_GID_INDEX podD)
same "podC: family, HCA" "AF_INET6 =mlx5_0:1" "$(setting NCCL_IB_ADDR_FAMILY podC) $(setting NCCL_IB_HCA podC)"
same "podC: interface" =net1 "$(setting NCCL_SOCKET_IFNAME podC)"
same "podC: index" "$(in_pod podC gid_index mlx5_0 fd00:5::c v2 net1)" "$c"
same "podD: index" "$(in_pod podD gid_index mlx5_1 fd00:5::d v2 net1)" "$d"
differ "they are not the same" "$c" "$d"
# The programs talk over IPv4, so nothing has looked for the IPv6 neighbour yet; the kernel gives a queue pair one second
# for that (ib_resolve_unicast_gid_dmac, drivers/infiniband/core/verbs.c), which a loaded machine can miss.
for way in "podC fd00:5::d" "podD fd00:5::c"; do
    # shellcheck disable=SC2086 # words
    set -- $way
    works "$1 reaches $2" wait_for 60 in_pod "$1" ping6 -c 1 -W 1 "$2"
done
works "ibv_rc_pingpong from podD to podC" rc_pingpong podC mlx5_0 "$c" 10.244.0.3 podD mlx5_1 "$d"
works "ib_write_bw from podC to podD" write_bw podD mlx5_1 "$d" 10.244.0.4 podC mlx5_0 "$c"
fails "with podC's index in podD, a hole" "*Couldn't connect to remote QP*" rc_pingpong podC mlx5_0 "$c" 10.244.0.3 podD mlx5_1 "$c"
fails "with the v1 entry" "*Couldn't connect to remote QP*" rc_pingpong podC mlx5_0 $((c - 1)) 10.244.0.3 podD mlx5_1 $((d - 1))
record bridge podD
finish
