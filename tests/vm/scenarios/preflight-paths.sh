#!/bin/bash
# Four pods with two rails each: what lies between their ports is named by `nccl-init preflight`, and no port is blamed:
# a trunk between two switches that loses packets, one of several equal paths that is dead.
# hardware: nics=1
# seconds: 60
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=/dev/null
. /lab/lib
. /lab/job
four_pods

# trunk: the pods 2 and 3 of rail 0 are behind another bridge, and t1 - t2 is between both
trunk() {
    ip link add br1b mtu 9000 type bridge
    ip link set br1b up
    ip link add t1 mtu 9000 type veth peer name t2 mtu 9000
    ip link set t1 master br1 up
    ip link set t2 master br1b up
    ip link set p2-1 master br1b
    ip link set p3-1 master br1b
}

section 'a trunk between two switches'
trunk
for end in t1 t2; do
    tc qdisc add dev $end clsact
    tc filter add dev $end egress protocol ip flower ip_proto udp dst_port 4791 action gact pass random netrand drop 8
done
job --seconds=0
matches 'lossy: the paths over it' '*rail 0: *pod[01]*pod[23]*acknowledgements came late*' \
    "$(jq -r '.findings[] | select(.id == "job.path.unsteady") | "\(.subject): \(.message)"' /tmp/out.0)"
same 'lossy: the counters of the HCAs say so, too' true \
    "$(jq '[.paths[] | select(.full and .rail == 0) | .resent] | add > 0' /tmp/out.0)"
for end in t1 t2; do tc qdisc del dev $end clsact; done

# One of two equal paths: that of the odd numbers of queue pairs, the last bits of what follows IP, UDP and four bytes
# of the InfiniBand header. The two of a pair of pods have numbers in sequence.
dead='*rail 0: *pod[01]*pod[23]*1 of 2 queue pairs: small writes: IBV_WC_RETRY_EXC_ERR*the ports themselves are good*'
modprobe cls_u32
tc qdisc add dev t1 clsact
tc filter add dev t1 egress protocol ip u32 match ip protocol 17 0xff match u32 1 1 at 32 action drop
job --seconds=0
undrop t1
matches 'one path of several dead' "$dead" \
    "$(jq -r '.findings[] | select(.id == "job.path.unsteady") | "\(.subject): \(.message)"' /tmp/out.0)"
ip link del t1
ip link set p2-1 master br1
ip link set p3-1 master br1
finish
