#!/bin/bash
# Claims of the SR-IOV DRA driver, on nodes: the rails are those of the chart `rails`, with fabric=dra. The driver writes metadata
# files (KEP-5304), for a claim that the pod names and for those of templates. What nccl-init says in a pod is what the kernel says
# there; by the label of the chart nccl-init, too.
# nodes: 2x2 sriov-dra
# seconds: 180
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # tmp comes from lib
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../lib"
# shellcheck source=/dev/null
. tests/cluster/node/pods

# ---- what an administrator does ------------------------------------------------------------------------------------------

let_cni_act
foreign_kinds dra-driver-sriov
kubectl create namespace dra-driver-sriov >"$tmp/said"
cat >"$tmp/rails.yaml" <<'END'
fabric: dra
device: "8086"
rails:
  - {pf: rail0, subnet: 10.5.0.0/24}
  - {pf: rail1, subnet: 10.5.1.0/24}
dra: {claimTemplate: rails}
END
works "the chart rails is installed" helm install rails k8s/charts/rails --values "$tmp/rails.yaml"
works "the chart nccl-init is installed" helm install nccl-init k8s/charts/nccl-init --namespace nccl-init --create-namespace \
    --set image=nccl-init.test/nccl-init:1
offered() {
    [ "$(kubectl get resourceslices -o json | jq '[.items[] | select(.spec.driver == "sriovnetwork.k8snetworkplumbingwg.io").spec.devices[]?] | length')" = 8 ]
}
nodes_have offered

# ---- pods ----------------------------------------------------------------------------------------------------------------

create "a claim" <<'END'
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: direct}
spec:
  devices:
    requests:
      - {name: rail0, exactly: {deviceClassName: rails-rail0}}
      - {name: rail1, exactly: {deviceClassName: rails-rail1}}
END

# metadata POD FILTER: of all metadata files
metadata() { inside "$1" find /var/run/kubernetes.io/dra-device-attributes -name '*.json' -exec cat {} + | jq -r "$2"; }

claims direct node0 'resourceClaimName: direct'
claims template node1 'resourceClaimTemplateName: rails'
settings_of variable direct template
for pod in direct template; do
    same "$pod: the source" sriovnet "$(planned $pod .source)"
    same "$pod: there is a metadata file for each request" "rail0 rail1" "$(metadata $pod '.requests[].name' | sort | xargs)"
    same "$pod: ... with the addresses of its interfaces" \
        "$(inside $pod ip -j -4 addr | jq -r '.[] | select(.ifname | startswith("net")) | .ifname, "\(.addr_info[0].local)/\(.addr_info[0].prefixlen)"' | sort | xargs)" \
        "$(metadata $pod '.requests[].devices[].networkData | .interfaceName, .ips[]' | sort | xargs)"
    same "$pod: by these files alone the plan has the same HCAs" "dra $(variable $pod NCCL_IB_HCA)" \
        "$(inside $pod env -i PATH=/usr/bin nccl-init plan --json | jq -r '"\(.source) \(.settings[] | select(.name == "NCCL_IB_HCA").value)"')"
    same "$pod: its device nodes are of the same HCAs" "$(given $pod)" "$(nodes_given $pod)"
    same "$pod: no source contradicts another" '[]' "$(planned $pod '[.findings[].id | select(startswith("alloc."))]')"
    same "$pod: the HCAs of other pods are seen, and left out" "4 2" \
        "$(inside $pod ls /sys/class/infiniband | wc -l) $(planned $pod '[.hcas[].ports[] | select(.kept)] | length')"
done
traffic variable direct template
works "what a pod sees can be recorded" record direct claim
works "... of a claim from a template, too" record template claim-template
gone pod/template

# ---- by the label ----------------------------------------------------------------------------------------------------------

claims labelled node1 'resourceClaimTemplateName: rails' '{nccl-init.io/inject: conf}'
settings_of written labelled
traffic setting_of direct labelled
gone pod/direct pod/labelled
finish
