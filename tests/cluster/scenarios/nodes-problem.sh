#!/bin/bash
# Doctor as a condition of each node, by the chart's DaemonSet of node-problem-detector: False on good nodes, True on one that has
# lost a rail, also while the detector starts again, and False after the repair.
# nodes: 2x2 node-problem-detector
# by hand: ./dev cluster; the shard nodes has no time for it
# seconds: 200
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016,SC2034,SC2154 # scripts are for the nodes' shells; space is for node/pods; tmp comes from lib
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../lib"
# shellcheck source=/dev/null
. tests/cluster/node/pods

nodes_with have_devices 2
space=nccl-init
kubectl create namespace nccl-init >"$tmp/said"
kubectl label namespace nccl-init pod-security.kubernetes.io/enforce=privileged >"$tmp/said" # as docs/guides/fleet.md has it
kubectl label node --all feature.node.kubernetes.io/rdma.available=true >"$tmp/said"
works "the chart nccl-init, with a detector" helm install nccl-init k8s/charts/nccl-init --namespace nccl-init \
    --set image=nccl-init.test/nccl-init:1 --set nodeProblemDetector.enabled=true \
    --set nodeProblemDetector.interval=5s --set nodeProblemDetector.require=rails=2
works "... which runs on both nodes" k rollout status daemonset/nccl-init-node-problem-detector --timeout=200s

# condition NODE: its status, and its message in one line
condition() {
    kubectl get node "$1" -o json |
        jq -r '.status.conditions[] | select(.type == "RDMAProblem") | "\(.status) \(.reason): \(.message | gsub("\n"; " "))"'
}
is() { [[ $(condition "$1") == "$2 "* ]]; } # NODE STATUS
good='False RDMAIsHealthy: nccl-init doctor finds no error on this node'
for node in node0 node1; do
    works "$node: it has the condition" wait_for 100 is $node False
    same "$node: it is good" "$good" "$(condition $node)"
done

ended() { [[ $(kubectl --namespace default get pod "$1" -o 'jsonpath={.status.phase}') = @(Succeeded|Failed) ]]; }
# on_node0 SCRIPT: by a privileged pod on its network
on_node0() {
    local pod
    kubectl --namespace default debug node/node0 --profile=sysadmin --image=nccl-init.test/trainer:1 --attach=false -- sh -c "$1" >"$tmp/said" 2>&1
    pod=$(sed -n 's/^Creating debugging pod \([^ ]*\) .*/\1/p' "$tmp/said")
    wait_for 100 ended "$pod"
    kubectl --namespace default logs "$pod"
    kubectl --namespace default delete pod "$pod" --wait >"$tmp/said" 2>&1
}
# set_rail1 up|down: the interfaces of all HCAs on node0's second card, and what doctor then says on the host
set_rail1() {
    on_node0 'for interface in /sys/bus/pci/devices/0000:02:1*/net/*; do /usr/sbin/ip link set "${interface##*/}" '"$1"'; done
        sleep 2
        nccl-init doctor --brief --log-level=error --ignore=memlock.low,memlock.too-low,shm.default,shm.small --require=rails=2'
}

said=$(set_rail1 down)
matches "doctor on the host: a rail is lost" "NOT READY: 1 error*require.rails*" "$said"
works "node0: the condition says so" wait_for 60 is node0 True
matches "... with doctor's words" "True NcclInitDoctor: NOT READY: 1 error*require.rails*" "$(condition node0)"
same "node1: it is still good" "$good" "$(condition node1)"
changed() {
    kubectl get events --all-namespaces --field-selector involvedObject.name=node0 -o json |
        jq -e '.items[] | select((.message // "") | test("RDMAProblem is now: True"))'
}
works "... and an event says so" wait_for 60 changed

# what others see of the node while the detector starts again
detector_of_node0() {
    k get pods -l app.kubernetes.io/component=node-problem-detector --field-selector spec.nodeName=node0 -o name
}
watch_node0() {
    while :; do
        condition node0 | cut -d ' ' -f 1
    done
}
watch_node0 >"$tmp/watched" &
watcher=$!
detector=$(detector_of_node0)
works "node0's detector is deleted" k delete "$detector" --wait
another() {
    new_detector=$(detector_of_node0)
    [ -n "$new_detector" ] && [ "$new_detector" != "$detector" ]
}
works "... and another is there" wait_for 200 another
looked() { k logs "$new_detector" --container=node-problem-detector | grep -q 'RDMAProblem is now: True'; }
works "... and has looked" wait_for 100 looked
sleep 10
kill $watcher
matches "... it has not said that all is well before" '*Skipping sending initial status*' "$(k logs "$new_detector" --container=node-problem-detector)"
matches "node0: it was looked at many times" "[1-9][0-9]*" "$(wc -l <"$tmp/watched")"
same "... and the condition was True each time" True "$(sort -u "$tmp/watched")"

said=$(set_rail1 up)
matches "doctor on the host: all is well" "READY*" "$said"
works "node0: the condition says so" wait_for 60 is node0 False
same "node0: it is good again" "$good" "$(condition node0)"
finish
