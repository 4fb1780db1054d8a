#!/bin/bash
# Four pods with two rails each prove their job's fabric by `nccl-init preflight`: facts that differ, pods that do not come
# or go away, other jobs and attempts, and the command after it. Faults of the rails: preflight-rails.
# hardware: nics=1
# seconds: 75
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=/dev/null
. /lab/lib
. /lab/job
four_pods
nobody='' # is blamed

section 'all good'
for pod in 1 2 3; do
    member $pod &
done
sleep 3
before=$(date +%s%N)
member 0
took=$((($(date +%s%N) - before) / 1000000))
wait
verdict 'all good' good "$nobody"
same 'all rails' '8 of 8' "$(jq -r '[.rails[] | select(.verdict == "good")] | "\(length) of 8"' /tmp/out.0)"
echo "from the last pod's start to its verdict: $took ms"
differ 'bandwidth is told' 0 "$(jq '[.rails[].send_mbps | select(. > 0)] | length' /tmp/out.0)"

section 'facts that differ'
ip -n pod2 link set net1 mtu 1500
sleep 1
job --seconds=0
verdict 'MTU' good 'job.mtu.differs: rail 0: MTU 1500 on pod2, 9000 on 3 others'
job --seconds=0 --strict
verdict 'MTU, --strict' bad 'job.mtu.differs: rail 0: MTU 1500 on pod2, 9000 on 3 others'
ip -n pod2 link set net1 mtu 9000
ip -n pod3 addr flush dev net2
ip -n pod3 addr add 10.6.2.13/24 dev net2
sleep 1
job --seconds=0
verdict 'subnet' good 'job.subnet.differs: rail 1: 10.6.2.0/24 on pod3, 10.5.2.0/24 on 3 others'
ip -n pod3 addr flush dev net2
ip -n pod3 addr add 10.5.2.13/24 dev net2
sleep 1
ip netns exec pod1 rdma link delete mlx5_12
job --seconds=0
verdict 'a rail less' bad 'job.rails.differ: *pod1*'
in_pod pod1 rxe mlx5_12 net2

section 'who comes'
for pod in 0 1 2; do
    member $pod --seconds=0 --within=3 &
done
wait
rm -f /tmp/out.3 /tmp/status.3
same 'one never comes: statuses' '1 1 1' "$(statuses)"
matches 'one never comes: findings' 'job.missing: *1 of 4 pods never came: rank 3' "$(findings)"
same 'one never comes: missing' '[3]' "$(jq -c .missing /tmp/out.0)"
same 'the others are tried' 6 "$(jq '[.rails[] | select(.verdict == "good")] | length' /tmp/out.0)"
begun --seconds=0.5
kill -KILL "$(running --rank=2 | head -n 1)"
wait
same 'one dies: statuses' '1 1 137 1' "$(statuses)"
matches 'one dies: findings' 'job.pod.lost: pod2: 1 of 4 pods went away before the end*' "$(findings)"
same 'nothing of it is left' '' "$(running preflight)"

section 'other attempts, other jobs'
for pod in 0 1 2; do
    member $pod --seconds=0 --job=new --within=60 &
done
status=0
as_pod 3 "$P" preflight --peers=10.5.0.10 --rank=3 --ranks=4 --job=old --within=2 >/tmp/old 2>&1 || status=$?
matches 'an old key: refused' "1 *its key is not that of pod 0*" "$status $(</tmp/old)"
member 3 --seconds=0 --job=new
wait
matches 'with the new one all is good' 'good good good good' "$(jq -r .verdict /tmp/out.[0-3] | xargs)"
two() { # N: pods 0 and 1 are another job, on another port and the same rails
    as_pod "$1" "$P" preflight --peers=10.5.0.10:18556 --rank="$1" --ranks=2 --job=other --seconds=0 >"/tmp/two.$1" 2>&1 || echo "status $?" >>"/tmp/two.$1"
}
two 0 &
two 1 &
job --seconds=0
verdict 'beside another job' good "$nobody"
matches 'the other job' '*preflight: good: *preflight: good: *' "$(cat /tmp/two.[01])"
rm /tmp/err.0
member 0 --seconds=0 &
wait_for 60 grep -q waiting /tmp/err.0
fails 'a port that is taken' '*pod 0 cannot serve port 18555: EADDRINUSE (*)*' \
    as_pod 0 "$P" preflight --rank=0 --ranks=2 --peers=10.5.0.10 --job=third --within=5
for pod in 1 2 3; do
    member $pod --seconds=0 &
done
wait
verdict 'which disturbs nobody' good "$nobody"

section 'before the command'
runs() { # N OPTION...: `run`, whose command tells what it finds
    local pod=$1
    shift
    as_pod "$pod" "$P" --peers=10.5.0.10 --rank="$pod" --ranks=4 --job=lab --seconds=0 --within=20 \
        --once="/tmp/once.$pod" --log-level=error "$@" -- bash -c "$LOOK" >"/tmp/run.$pod" 2>&1 ||
        echo "status $?" >>"/tmp/run.$pod"
}
runs 0
cp /tmp/run.0 /tmp/plain
for pod in 0 1 2 3; do
    runs $pod --preflight=require &
done
wait
works 'nothing is left of it' diff /tmp/plain /tmp/run.0
matches 'the others start, too' '*NoNewPrivs: 0*NoNewPrivs: 0*' "$(cat /tmp/run.[123])"
runs 2 --preflight=require
matches 'a container that starts again skips' '*NoNewPrivs: 0*' "$(</tmp/run.2)"
rm /tmp/once.*
for pod in 0 1 2; do
    runs $pod --preflight=require --within=2 &
done
runs 3 --preflight=warn --peers=10.5.0.13 --within=2
wait
matches 'require does not start it' '*--preflight=require, but the preflight is bad: *rank 3*status 125' "$(</tmp/run.0)"
matches 'nor elsewhere' '*--preflight=require, but *status 125' "$(</tmp/run.1)"
matches 'warn starts it' '*NoNewPrivs: 0*' "$(</tmp/run.3)"
more_than_one() {
    [ "$(running --preflight=require | wc -l)" -gt 1 ]
}
as_pod 1 "$P" --peers=10.5.0.10 --rank=1 --ranks=4 --job=lab --preflight=require -- true >/tmp/said 2>&1 &
waiting=$!
wait_for 60 more_than_one
kill -TERM "$(running --preflight=require | head -n 1)"
status=0
wait $waiting || status=$?
same 'SIGTERM ends it' 143 "$status"
same 'and all of it' '' "$(running --preflight=require)"
finish
