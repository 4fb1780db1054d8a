#!/bin/bash
# Four pods with two rails each: a wrong VLAN, an address that two have, a stranger with a pod's address, a rail less,
# crossed cables and frozen pods are named by `nccl-init preflight`, and nobody else is blamed.
# hardware: nics=1
# seconds: 90
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=/dev/null
. /lab/lib
. /lab/job
four_pods

section 'VLANs and addresses'
forget() { # what the pods know of their neighbours
    for pod in 0 1 2 3; do
        ip -n pod$pod neigh flush dev net1
        ip -n pod$pod neigh flush dev net2
    done
}
ip link set br2 type bridge vlan_filtering 1
bridge vlan add dev p3-2 vid 20 pvid untagged
bridge vlan del dev p3-2 vid 1
forget
job --seconds=0
verdict 'a wrong VLAN' bad 'job.rail.failed: rail 1 (mlx5_32): pod3: reaches nobody; *ETIMEDOUT*'
ip link set br2 type bridge vlan_filtering 0
bridge vlan add dev p3-2 vid 1 pvid untagged

mac=$(ip netns exec pod2 cat /sys/class/net/net1/address)
ip -n pod1 neigh replace 10.5.1.12 lladdr 02:00:00:00:00:99 dev net1 nud permanent
job --seconds=0
verdict 'a wrong neighbour' bad "job.neighbour.wrong: rail 0: 10.5.1.12 is the address of pod2, $mac, but pod1 finds 02:00:00:00:00:99 there*"
ip -n pod1 neigh del 10.5.1.12 dev net1

ip -n pod3 addr del 10.5.1.13/24 dev net1
ip -n pod3 addr add 10.5.1.12/24 dev net1
sleep 1
job --seconds=0
verdict 'a double address' bad 'job.gid.same: rail 0: 10.5.1.12 is the GID of pod2 and pod3: *
job.rail.untried: *'
same 'a double address: who is not tried' 'pod2 pod3' "$(jq -r '.rails[] | select(.verdict == "untried") | .host' /tmp/out.0 | xargs)"
ip -n pod3 addr del 10.5.1.12/24 dev net1
ip -n pod3 addr add 10.5.1.13/24 dev net1
sleep 1

# A stranger answers for pod 2, and the pods believe it.
ip netns add stranger
ip link add s-1 mtu 9000 type veth peer name net1 mtu 9000 netns stranger
ip link set s-1 master br1 up
in_pod stranger up net1 10.5.1.12/24
theirs=$(ip netns exec stranger cat /sys/class/net/net1/address)
for pod in 0 1 3; do
    ip -n pod$pod neigh replace 10.5.1.12 lladdr "$theirs" dev net1 nud permanent
done
job --seconds=0
verdict 'a stranger with an address' bad "job.neighbour.wrong: rail 0: 10.5.1.12 is the address of pod2, $mac, but pod[013] finds $theirs there; * pairs failed in this way"
for pod in 0 1 3; do
    ip -n pod$pod neigh del 10.5.1.12 dev net1
done
ip netns del stranger

section 'rails'
ip netns exec pod1 rdma link delete mlx5_11
job --seconds=0
verdict 'the first rail is missing' bad 'job.rails.differ: *pod1*'
same 'its healthy port stays healthy' 'good 1' "$(jq -r '.rails[] | select(.host == "pod1") | "\(.verdict) \(.rail)"' /tmp/out.0)"
in_pod pod1 rxe mlx5_11 net1
ip link set p2-1 master br2
ip link set p2-2 master br1
for pod in 0 1 2 3; do
    ip -n pod$pod neigh flush dev net1
    ip -n pod$pod neigh flush dev net2
done
ip -n pod2 addr flush dev net1
ip -n pod2 addr flush dev net2
ip -n pod2 addr add 10.5.2.12/24 dev net1
ip -n pod2 addr add 10.5.1.12/24 dev net2
sleep 1
job --seconds=0
verdict 'crossed cables' bad 'job.rails.crossed: pod2: rail 0 (mlx5_21) is in the subnet of rail 1, rail 1 (mlx5_22) is in the subnet of rail 0 of the other pods'

section 'frozen pods'
freeze() { # N: all processes of that pod
    running "--rank=$1" | xargs kill -STOP
}
end_pod() { # N: what is left of it
    running "--rank=$1" | xargs -r kill -KILL 2>/dev/null || true
}
begun --seconds=3
freeze 1
wait_for 120 test -e /tmp/status.0
end_pod 1
wait
matches 'a frozen pod' '*job.pod.lost: pod1: 1 of 4 pods went away before the end, or stopped answering*' "$(findings)"
begun --seconds=3
before=$SECONDS
freeze 0
for pod in 1 2 3; do wait_for 120 test -e /tmp/status.$pod; done
took=$((SECONDS - before))
end_pod 0
wait
same 'a frozen pod 0: statuses' '1 1 1' "$(cat /tmp/status.[123] | xargs)"
matches 'a frozen pod 0: why' '*pod 0 no longer answers*' "$(jq -r .line /tmp/out.1)"
matches 'a frozen pod 0: in time' ok "$([ $took -le 60 ] && echo ok || echo "$took s")"
finish
