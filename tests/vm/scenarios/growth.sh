#!/bin/bash
# What `env` costs on real sysfs, as the host has more RDMA devices and the pod's tables more GIDs: system calls, which
# are exact, and time, which is only told.
# hardware: nics=4 memory=2048
# seconds: 70
# shard: ship
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=/dev/null
. /lab/lib

# Numbers of other devices on the host, and of addresses; the host may have given others.
read -r -a hosts <<<"$(sed -n 1p /lab/growth 2>/dev/null || true)"
[ ${#hosts[@]} -gt 0 ] || hosts=(4 40)
read -r -a tables <<<"$(sed -n 2p /lab/growth 2>/dev/null || true)"
[ ${#tables[@]} -gt 0 ] || tables=(16 250)
length=$(sed -n 3p /lab/growth 2>/dev/null || true)
length=${length:-256} # as mlx5's
rounds=5

cp /lab/count /lab/timeit /lab/bare /tmp/
labrxe lab_pci_parent=1 lab_gid_tbl_len="$length"
pod p eth0=net1 eth1=net2 eth2=net3 eth3=net4
given=
for n in 1 2 3 4; do
    in_pod p up "net$n" "10.0.$n.1/24"
    in_pod p rxe "mlx5_$n" "net$n"
    given=$given,0000:00:1$((n - 1)).0
done
# every pod has one
in_pod p ip route add default via 10.0.1.254 dev net1
echo "PCIDEVICE_LAB_VF=${given#,}" >/tmp/by-plugin
echo "NCCLINIT_HCAS=mlx5_1,mlx5_2,mlx5_3,mlx5_4" >/tmp/by-name
: >/tmp/by-nothing

declare -A first
# measure WHAT WAY: a line of figures, and the answer in /tmp/answer.WAY
measure() {
    local calls resident us bare way=$2
    in_pod p /tmp/timeit -n 0 -e "/tmp/$way" -o "/tmp/answer.$way" "$P" env --format=docker
    calls=$(in_pod p /tmp/count -n 0 -e "/tmp/$way" "$P" env --format=docker)
    read -r _ calls resident _ <<<"$calls"
    us=$(in_pod p /tmp/timeit -n $rounds -e "/tmp/$way" "$P" env --format=docker ::: /tmp/bare | cut -d " " -f 1 | xargs)
    bare=${us#* } us=${us% *}
    printf 'figures: %-44s %5d system calls %8.0f us %7.0f us bare %5d KiB\n' "$1, $way" "$calls" "$us" "$bare" "$resident"
    : "${first[$way]:=$calls}"
    seen=$calls
}

# flat WHAT WAY: not more than 1.1 of the first count, and the same answer
flat() {
    local way=$2 answer
    measure "$1" "$way"
    works "$1, $way: $seen system calls, ${first[$way]} at first" [ $((seen * 10)) -le $((first[$way] * 11)) ]
    answer=$(<"/tmp/answer.$way")
    same "$1, $way: the answer" "${expected[$way]}" "${answer//$'\n'/ }"
}

section "the pod's four HCAs alone"
same "the devices of the PCI functions" "mlx5_1 mlx5_2 mlx5_3 mlx5_4" \
    "$(in_pod p sh -c 'ls /sys/bus/pci/devices/0000:00:1[0123].0/infiniband/' | sed '/:$/d' | xargs)"
declare -A expected
for way in by-plugin by-name by-nothing; do
    measure "host 4" $way
    expected[$way]=$(tr '\n' ' ' </tmp/answer.$way | sed 's/ $//')
    matches "HCAs $way" "*NCCL_IB_HCA==mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1 *" "${expected[$way]} "
done

# Others' devices: dummies of the host's namespace, each with an address of its own.
made=0
more() { # COUNT: so many in all
    local n
    for ((n = made; n < $1; n++)); do
        echo "link add d$n up type dummy"
        echo "addr add 10.$((100 + n / 250)).$((n % 250)).1/24 dev d$n"
    done >/tmp/batch
    ip -batch /tmp/batch
    for ((n = made; n < $1; n++)); do echo "link add other$n type rxe netdev d$n"; done >/tmp/batch
    rdma -b /tmp/batch
    made=$1
}

for count in "${hosts[@]}"; do
    section "$count devices of others"
    more "$count"
    wait_for 60 active "other$((count - 1))"
    same "RDMA devices" $((count + 4)) "$(in_pod p ls /sys/class/infiniband | wc -l)"
    for way in by-plugin by-name; do flat "host $((count + 4))" $way; done
    # Nothing names the pod's, and it may open all nodes: all are taken for its own, and read to the end of their tables.
    # That grows, and takes long here; once tells it.
    if [ "$count" = "${hosts[0]}" ]; then
        read -r _ seen _ <<<"$(in_pod p /tmp/count -n 0 -e /tmp/by-nothing "$P" env --format=docker)"
        echo "figures: host $((count + 4)), by-nothing: $seen system calls"
    fi
done

# Addresses of the pod's first interface, the one in use before all others: what follows it is not read.
have=1
for count in "${tables[@]}"; do
    section "$count addresses on net1"
    for ((n = have; n < count; n++)); do echo "addr add 10.9.$((n / 250)).$((n % 250 + 1))/32 dev net1"; done >/tmp/batch
    in_pod p ip -batch /tmp/batch
    have=$count
    wait_for 60 in_pod p grep -q net1 "/sys/class/infiniband/mlx5_1/ports/1/gid_attrs/ndevs/$((count - 1))"
    flat "addresses $count" by-plugin
done

# The right entry behind others': the indexes differ then, and each table is read to its end, as NCCL will search them;
# an open, a read and a close for each entry, and type and interface of those in use.
count=${tables[0]}
section "net4's own address behind $count others"
in_pod p ip addr del 10.0.4.1/24 dev net4
in_pod p ip link add link net4 name mv type macvlan mode bridge
in_pod p ip link set mv netns 1
ip link set mv up
for ((n = 0; n < count; n++)); do echo "addr add 10.8.0.$((n + 1))/32 dev mv"; done >/tmp/batch
ip -batch /tmp/batch
wait_for 60 in_pod p grep -q v "/sys/class/infiniband/mlx5_4/ports/1/gid_attrs/types/$((count - 1))"
before=$seen
in_pod p up net4 10.0.4.1/24
listed() {
    [ -n "$(in_pod p gid_index mlx5_4 ::ffff:10.0.4.1 v2 net4)" ]
}
wait_for 60 listed
index=$(in_pod p gid_index mlx5_4 ::ffff:10.0.4.1 v2 net4)
works "it is behind them, at $index" [ "$index" -ge "$count" ]
measure "behind $index entries" by-plugin
matches "it is found" "*NCCL_IB_HCA==mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1*" "$(</tmp/answer.by-plugin)"
works "$((seen - before)) system calls more for 4 tables of $length" \
    [ $((seen - before)) -le $((4 * length * 3 + (have + count) * 6 + 300)) ]
finish
