#!/bin/bash
# `nccl-init watch` beside the real traffic of two pods: a rail's bytes are within a tenth of what was sent, sockets are told
# from rails, a changed GID is named. Of stock SoftRoCE, and in a pod whose devices are shared, it says that it cannot tell.
# hardware: nics=2 wire
# seconds: 60
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=/dev/null
. /lab/lib

virtio() { # BDF: its interface
    basename "/sys/bus/pci/devices/$1/virtio"*/net/*
}
is_back() { # BDF
    [ -e "/sys/class/net/$(virtio "$1")" ]
}
first=$(virtio 0000:00:10.0)
second=$(virtio 0000:00:11.0)

# watched POD OPTION...: the status, and the last line
watched() {
    local name=$1 status=0
    shift
    in_pod "$name" "$P" watch --for=2s "$@" >/tmp/watched 2>&1 || status=$?
    echo "$status $(tail -n 1 /tmp/watched)"
}

section "stock SoftRoCE"
stock
up "$first" 10.7.0.1/24
rxe rxe0 "$first"
matches "it cannot be told" "2 it cannot be told whether rails carry data, rxe0/1: it is software RDMA, *" "$(watched -)"
rdma link delete rxe0
ip addr flush dev "$first"
rmmod rdma_rxe

section "shared devices"
labrxe lab_pci_parent=1 lab_roce_v1=1 lab_gid_tbl_len=256 lab_stays=1 lab_port_data=1
up "$second"
rxe mlx5_3 "$second" # the driver of a VF makes it in the host's network; then a CNI plugin moves the interface
pod podS "$second=net1"
in_pod podS up net1 10.6.0.1/24
in_pod podS wait_for 60 active mlx5_3
matches "the pod's sysfs has no counters" "2 it cannot be told whether rails carry data, mlx5_3/1: no counters are shown here; *" \
    "$(watched podS)"
same "the host's has" 0 "$(value /sys/class/infiniband/mlx5_3/ports/1/counters/port_xmit_data)"
rdma link delete mlx5_3
ip netns del podS
wait_for 60 is_back 0000:00:11.0
second=$(virtio 0000:00:11.0)

section "two pods"
# a namespace that ends is gone a moment later, and only then the mode can change
wait_for 60 rdma system set netns exclusive
pod podA "$first=net1"
pod podB "$second=net1"
in_pod podA up net1 10.5.0.1/24
in_pod podB up net1 10.5.0.2/24
in_pod podA rxe mlx5_0 net1
in_pod podB rxe mlx5_1 net1
matches "nothing yet" "1 nothing carries data: no rail and no interface reaches 1 MB/s" "$(watched podA)"
a=$(setting NCCL_IB_GID_INDEX podA)
b=$(setting NCCL_IB_GID_INDEX podB)

# begin POD: watches it in the background, until `end`
begin() {
    rm -f "/tmp/$1.prom"
    ip netns exec "$1" "$P" watch --every=0.5 --json --prometheus="/tmp/$1.prom" >"/tmp/$1.json" &
    wait_for 60 test -e "/tmp/$1.prom"
}

end() { # by a signal: what it saw so far is printed
    local job
    for job in $(jobs -p); do
        # that of `ip netns exec`, which has become the command
        kill -TERM "$job" || true
    done
    wait || true
}

tenth() { # SENT SEEN: "near", or what was seen
    if [ "$2" -ge $(($1 * 9 / 10)) ] && [ "$2" -le $(($1 * 11 / 10)) ]; then echo near; else echo "$2 of $1"; fi
}

section "what was sent"
size=65536 count=250
sent=$((size * count))
begin podA
begin podB
works "ib_write_bw from podB to podA" talk 18515 \
    podA "ib_write_bw -F -s $size -n $count -d mlx5_0 -x $a" podB "ib_write_bw -F -s $size -n $count -d mlx5_1 -x $b 10.5.0.1"
sleep 1
end
same "podB sent it" near "$(tenth $sent "$(jq '.rails[0].out_bytes' /tmp/podB.json)")"
same "podA got it" near "$(tenth $sent "$(jq '.rails[0].in_bytes' /tmp/podA.json)")"
same "podA sent hardly anything" true "$(jq ".rails[0].out_bytes < $sent / 10" /tmp/podA.json)"
same "counted by" port_xmit_data "$(jq -r '.rails[0].counted_by' /tmp/podA.json)"
same "the metric has the port's counter" "$(in_pod podB value /sys/class/infiniband/mlx5_1/ports/1/counters/port_xmit_data)" \
    "$(($(sed -n 's/^nccl_init_watch_rail_bytes_total{.*direction="out"} //p' /tmp/podB.prom) / 4))"

section "while it lasts"
# until it is killed: on a busy host a container takes its time
ip netns exec podA ib_write_bw -F -s $size -D 300 -d mlx5_0 -x "$a" >/tmp/server 2>&1 &
wait_for 60 listening podA 18515
ip netns exec podB ib_write_bw -F -s $size -D 300 -d mlx5_1 -x "$b" 10.5.0.1 >/tmp/client 2>&1 &
sleep 2
# SoftRoCE's packets are the interface's, too; a real driver counts them for the rail alone
matches "the status" "0 1 of 1 rail carries data, *; net1 carries *" "$(watched podB)"
# as an ephemeral container: without devices and variables, in the pod's network
matches "nothing tells it which HCA is the pod's" "*cannot be told*, for none of the 1 HCA here is known *: --hcas names them; net1 *" \
    "$(container podB -- "$P" watch --for=1s 2>&1 | tail -n 1)"
matches "but it may be named" "1 of 1 rail carries data, *" "$(container podB -- "$P" watch --for=2s --hcas=mlx5_1 2>&1 | tail -n 1)"
end

section "sockets"
in_pod podA busybox nc -l -p 7000 >/dev/null &
wait_for 60 listening podA 7000
in_pod podB bash -c 'exec timeout 8 cat /dev/zero >/dev/tcp/10.5.0.1/7000' &
sleep 1
matches "no rail" "1 net1 carries *, no rail does" "$(watched podB)"
wait || true

section "a GID that changes"
begin podA
in_pod podA ip addr del 10.5.0.1/24 dev net1
in_pod podA ip addr add 10.5.0.9/24 dev net1
wait_for 60 in_pod podA gid_index mlx5_0 ::ffff:10.5.0.9 v2 net1
sleep 1
end
same "the row that the job uses" 10.5.0.1 "$(jq -r ".gid_changes[] | select(.index == $a) | .was" /tmp/podA.json)"
matches "is in the sentence" "*; GID * of mlx5_0/1* changed" "$(jq -r .sentence /tmp/podA.json)"
finish
