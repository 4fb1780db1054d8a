#!/bin/bash
# Claims of a DRA driver, on nodes: DRANET moves a VF and its RDMA device into the pod, by a claim that the pod names and by one of a
# template. What nccl-init says in a pod is what the kernel says there.
# nodes: 2x2 dranet
# seconds: 200
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # tmp comes from lib
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../lib"
# shellcheck source=/dev/null
. tests/cluster/node/pods

offered() {
    [ "$(kubectl get resourceslices -o json | jq '[.items[].spec.devices[]? | select(.attributes["dra.net/rdma"].bool)] | length')" = 8 ]
}
nodes_with offered
create "the class of RDMA devices" <<'END'
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: rdma}
spec:
  selectors:
    - cel: {expression: 'device.driver == "dra.net" && device.attributes["dra.net"].rdma'}
END

# devices INDENT HOST: of a claim: a VF of each rail, with an address that ends in HOST
devices() {
    local rail
    {
        echo "devices:"
        echo "  requests:"
        for rail in 0 1; do
            echo "    - name: rail$rail"
            echo "      exactly:"
            echo "        deviceClassName: rdma"
            echo "        selectors: [{cel: {expression: 'device.attributes[\"dra.net\"].pciAddress.startsWith(\"0000:0$((rail + 1)):\")'}}]"
        done
        echo "  config:"
        for rail in 0 1; do
            echo "    - requests: [rail$rail]"
            echo "      opaque:"
            echo "        driver: dra.net"
            echo "        parameters: {interface: {name: net$((rail + 1)), addresses: [10.5.$rail.$2/24]}}"
        done
    } | sed "s/^/$(printf '%*s' "$1" '')/"
}

create "a claim" <<END
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: direct}
spec:
$(devices 2 1)
END
create "a template of claims" <<END
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: template}
spec:
  spec:
$(devices 4 2)
END
claims direct node0 'resourceClaimName: direct'
claims template node1 'resourceClaimTemplateName: template'
for pod in direct template; do
    expected=$(nodes_given $pod)
    same "$pod: the driver gave it two HCAs" "$expected" "=$(inside $pod ls /sys/class/infiniband | sed 's/$/:1/' | paste -sd ,)"
    same "$pod: these are the HCAs" "$expected" "$(variable $pod NCCL_IB_HCA)"
    same "$pod: there are two" 2 "$(tr , '\n' <<<"$expected" | wc -l)"
    same "$pod: by their device nodes, because this driver writes no metadata" "uverbs no" \
        "$(planned $pod .source) $(inside $pod sh -c '[ -e /var/run/kubernetes.io ] && echo yes || echo no')"
    same "$pod: their interfaces say the same" "$expected" \
        "=$(planned $pod '[.claims[] | select(.source == "netdev").hca + ":1"] | join(",")')"
    same "$pod: the GID index is the kernel's" "$(index_of $pod "$(first_hca "$expected")" net1)" "$(variable $pod NCCL_IB_GID_INDEX)"
    same "$pod: sockets on the pods' network" =eth0 "$(variable $pod NCCL_SOCKET_IFNAME)"
done
traffic variable direct template
record template dra
gone pod/direct pod/template
finish
