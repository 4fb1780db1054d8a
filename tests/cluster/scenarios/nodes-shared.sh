#!/bin/bash
# HCAs that all pods of a node share, on nodes: the RDMA shared device plugin, macvlan, RDMA in the shared network namespace mode.
# What nccl-init says in a pod is what the kernel says there.
# nodes: 2x2 shared
# by hand: ./dev cluster; the shard nodes has no time for it
# seconds: 200
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # tmp comes from lib
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../lib"
# shellcheck source=/dev/null
. tests/cluster/node/pods

nodes_with have_devices 10
for rail in 0 1; do
    create "the network rail$rail" <<END
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata: {name: rail$rail}
spec:
  config: |
    {"cniVersion": "1.0.0", "name": "rail$rail", "type": "macvlan", "master": "rail$rail", "mode": "bridge",
      "ipam": {"type": "whereabouts", "range": "10.5.$rail.0/24"}}
END
done

# shared NAME NODE NETWORKS [RESOURCES]: one pod after the other, so that its rows of both GID tables are the same
shared() {
    local pod=$1 expected
    sleeping "$@"
    runs_soon "$pod"
    same "$pod: the kernel shows it both HCAs of the node" "mlx5_0 mlx5_1" "$(inside "$pod" ls /sys/class/infiniband | xargs)"
    expected=$(nodes_given "$pod")
    same "$pod: the HCAs that it was given" "$expected" "$(variable "$pod" NCCL_IB_HCA)"
    same "$pod: by their device nodes" uverbs "$(planned "$pod" .source)"
    # its exit status tells of the limit of locked memory
    same "$pod: its ports pass a self-test" 0 \
        "$(inside "$pod" nccl-init selftest --size=1M --json 2>"$tmp/said" | jq '[.ports[] | select(.result != "passed")] | length')"
}
shared one node0 rail0,rail1
shared two node0 rail0,rail1
shared half node0 rail1 '{limits: {nccl-init.test/rail1: 1}}'
shared uneven node0 rail0,rail1 # half has a row in one of the tables
shared other node1 rail0,rail1
for pod in one two half other; do
    same "$pod: the GID index is the kernel's" "$(index_of $pod "$(first_hca "$(nodes_given $pod)")" net1)" "$(variable $pod NCCL_IB_GID_INDEX)"
done
works "uneven: the kernel has another index for each of its ports: $(index_of uneven mlx5_0 net1), $(index_of uneven mlx5_1 net2)" \
    test "$(index_of uneven mlx5_0 net1)" != "$(index_of uneven mlx5_1 net2)"
same "... no index is right for both" "" "$(variable uneven NCCL_IB_GID_INDEX)"
same "... and NCCL alone would take another pod's" gid.search.wrong \
    "$(planned uneven '.findings[].id' | grep -x gid.search.wrong | sort -u)"
same "half: one HCA" =mlx5_1:1 "$(variable half NCCL_IB_HCA)"
same "... and sockets on its rail" =net1 "$(variable half NCCL_SOCKET_IFNAME)"
same "one: sockets on the pods' network" =eth0 "$(variable one NCCL_SOCKET_IFNAME)"
works "pods of one node have different indexes: $(variable one NCCL_IB_GID_INDEX), $(variable two NCCL_IB_GID_INDEX)" \
    test "$(variable one NCCL_IB_GID_INDEX)" != "$(variable two NCCL_IB_GID_INDEX)"
same "doctor knows that they are shared" shared "$(inside one nccl-init doctor --json 2>"$tmp/said" | jq -r .node.rdma_netns)"
record two shared
finish
