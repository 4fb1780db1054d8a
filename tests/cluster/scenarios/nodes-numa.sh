#!/bin/bash
# Topology Manager, on nodes: with `single-numa-node` the rails of a pod are on one NUMA node, the same ones in its init container, and
# nccl-init knows that NUMA node; where no NUMA node has them all the kubelet refuses the pod.
# nodes: 2x2 numa
# by hand: ./dev cluster; the shard nodes has no time for it
# seconds: 120
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # tmp and rails come from lib and node/pods
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../lib"
# shellcheck source=/dev/null
. tests/cluster/node/pods

nodes_with_rails
for node in node0 node1; do
    same "$node: the kubelet's policy" single-numa-node \
        "$(kubectl get --raw "/api/v1/nodes/$node/proxy/configz" | jq -r .kubeletconfig.topologyManagerPolicy)"
done

# pod NAME NODE: with an init container
pod() {
    create "the pod $1" <<END
apiVersion: v1
kind: Pod
metadata:
  name: $1
  annotations: {k8s.v1.cni.cncf.io/networks: "rail0,rail1"}
spec:
  nodeSelector: {kubernetes.io/hostname: $2}
  terminationGracePeriodSeconds: 1
  restartPolicy: Never
  initContainers:
    - name: look
      image: nccl-init.test/trainer:1
      command: [sh, -c, "$look"]
      resources: $rails
  containers:
    - name: main
      image: nccl-init.test/trainer-entrypoint:1
      args: [sleep, "100000"]
      resources: $rails
END
}
pod near node0
pod far node1
runs_soon near
same_devices near
settings_of variable near
# shellcheck disable=SC2016 # for that shell
same "near: all HCAs are on NUMA node 1, the kernel says" 1 \
    "$(inside near sh -c 'for hca in /sys/class/infiniband/*; do cat $hca/device/numa_node; done' | sort -u)"
same "near: nccl-init says so, too" '[1,1]' "$(planned near '[.hcas[] | select(.claimed_by) | .numa]')"
refused_pod() { [ "$(k get pod far -o 'jsonpath={.status.reason}')" = TopologyAffinityError ]; }
works "far: the kubelet refuses it, for its rails are on two NUMA nodes" wait_for 120 refused_pod
gone pod/near pod/far
finish
