#!/bin/bash
# Pods as they are behind the SR-IOV network operator: a pod names its networks, and no more. network-resources-injector adds the
# resources, the SR-IOV device plugin gives VFs, sriov-cni moves them and sets them up at their PF, rdma-cni moves the RDMA
# devices, whereabouts gives addresses. What nccl-init says is what the kernel says; traffic flows on both rails; VFs go back as
# they were, and serve the next pod.
# nodes: 2x2 operator
# by hand: ./dev cluster; the shard nodes has no time for it
# seconds: 250
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016,SC2034,SC2154 # scripts are for the pods' shells; space is for node/pods; tmp comes from lib
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../lib"
# shellcheck source=/dev/null
. tests/cluster/node/pods

have network-resources-injector || skip_all "$(why_not network-resources-injector)"
nodes_with have_devices 2
space=team
kubectl create namespace team >"$tmp/said"

# ---- networks: of the chart rails, the second with a VLAN; and one with all that a SriovNetwork can ask for besides -------------

cat >"$tmp/rails.yaml" <<'END'
policies: existing
resourcePrefix: nccl-init.test
metaPlugins: [{type: rdma}]
rails:
  - {pf: rail0, resource: rail0, subnet: 10.5.0.0/24}
  - {pf: rail1, resource: rail1, subnet: 10.5.1.0/24, vlan: 105}
END
works "the chart rails is installed" helm install rails k8s/charts/rails --namespace team --values "$tmp/rails.yaml"
same "... its networks are of sriov-cni and rdma-cni" "sriov rdma sriov rdma" \
    "$(k get network-attachment-definitions -o json | jq -r '.items[].spec.config | fromjson | .plugins[].type' | xargs)"
# link_state is left out: igb has none
create "the network trusted" <<'END'
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata:
  name: trusted
  annotations: {k8s.v1.cni.cncf.io/resourceName: nccl-init.test/rail1}
spec:
  config: |
    {"cniVersion": "1.0.0", "name": "trusted", "plugins": [
      {"type": "sriov", "vlan": 105, "vlanQoS": 3, "spoofchk": "off", "trust": "on", "max_tx_rate": 500,
        "capabilities": {"mac": true}, "ipam": {"type": "whereabouts", "range": "10.5.1.0/24"}}, {"type": "rdma"}]}
END
works "the chart nccl-init is installed" helm install nccl-init k8s/charts/nccl-init --namespace nccl-init --create-namespace \
    --set image=nccl-init.test/nccl-init:1
injector

# ---- what a node says of its VFs, in a pod on its network ------------------------------------------------------------------------

create "a pod on node0's network" <<'END'
apiVersion: v1
kind: Pod
metadata: {name: node}
spec:
  hostNetwork: true
  nodeSelector: {kubernetes.io/hostname: node0}
  terminationGracePeriodSeconds: 1
  containers: [{name: main, image: "nccl-init.test/trainer:1", command: [sleep, "100000"]}]
END
runs_soon node

# ip has its full path: that of busybox, which the shell would take, does not show VFs.
# vf BDF: its line at its PF
vf() {
    inside node sh -c 'for link in "/sys/bus/pci/devices/$1/physfn"/virtfn*; do
        if [ "$(basename "$(readlink -f "$link")")" = "$1" ]; then
            /usr/sbin/ip link show dev "$(ls "/sys/bus/pci/devices/$1/physfn/net")" | grep "^ *vf ${link##*/virtfn} "
        fi
    done' sh "$1"
}
# all VFs, and the names of the node's interfaces and HCAs; a bridge and its ports come with pods
vfs() { inside node sh -c '/usr/sbin/ip link show | grep "^ *vf "; ls /sys/class/net /sys/class/infiniband | grep -v "^veth\|^cni0"'; }
before=$(vfs)
same "node0 has four VFs" 4 "$(grep -c '^ *vf .*spoof checking on' <<<"$before")"

# ---- pods ------------------------------------------------------------------------------------------------------------------

# plain NAME NODE MODE [NETWORKS]
plain() {
    create "the pod $1" <<END
apiVersion: v1
kind: Pod
metadata:
  name: $1
  labels: {nccl-init.io/inject: $3}
  annotations: {k8s.v1.cni.cncf.io/networks: '${4:-rail0-network,rail1-network}'}
spec:
  nodeSelector: {kubernetes.io/hostname: $2}
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: nccl-init.test/trainer:1
      command: [sleep, "100000"]
      env:
        - name: NETWORK_STATUS
          valueFrom: {fieldRef: {fieldPath: "metadata.annotations['k8s.v1.cni.cncf.io/network-status']"}}
END
}
functions() { # POD: what the device plugin gave it
    inside "$1" sh -c 'tr "\0" "\n" </proc/1/environ | sed -n "s/^PCIDEVICE_[^=]*[0-9]=//p" | sort | xargs'
}
# all that is not the settings themselves
agrees() { # POD
    local pod=$1 hcas rails=NCCL-INIT_TEST_RAIL
    hcas=$(given "$pod")
    same "$pod: the index is that of the second rail, too" "$(index_of "$pod" "$(hca_at "$hcas" 1)" net2)" \
        "$(setting_of "$pod" NCCL_IB_GID_INDEX)"
    same "$pod: the source" pcidevice "$(planned "$pod" .source)"
    same "$pod: the variable NETWORK_STATUS names the same" "$(planned "$pod" '[.claims[] | select(.source == "pcidevice").hca] | unique')" \
        "$(planned "$pod" '[.claims[] | select(.source == "network-status").hca] | unique')"
    same "$pod: no source contradicts another" '[]' "$(planned "$pod" '[.findings[].id | select(startswith("alloc."))]')"
    same "$pod: the plugin's JSON names the RDMA devices that the kernel has there" "$hcas" \
        "=$(inside "$pod" sh -c 'tr "\0" "\n" </proc/1/environ' | sed -n 's/^PCIDEVICE_.*_INFO=//p' |
            jq -s -r 'add | to_entries | sort_by(.key) | map(.value.rdma.rdma_dev + ":1") | join(",")')"
    same "$pod: by the JSON alone the HCAs are the same" "[\"pcidevice\",\"$hcas\"]" "$(without "$pod" ${rails}0 ${rails}1)"
    same "$pod: by NETWORK_STATUS alone, too" "[\"network-status\",\"$hcas\"]" \
        "$(without "$pod" ${rails}0 ${rails}1 ${rails}0_INFO ${rails}1_INFO)"
    same "$pod: the injector's file has Multus' annotation" \
        "$(k get pod "$pod" -o json | jq -c '.metadata.annotations["k8s.v1.cni.cncf.io/network-status"] | fromjson')" \
        "$(inside "$pod" sed -n 's/^k8s.v1.cni.cncf.io\/network-status=//p' /etc/podnetinfo/annotations | jq -c fromjson)"
}
# without POD RESOURCE...: what decides in a plan without these variables of the device plugin, and its HCAs
without() {
    local pod=$1
    shift
    inside "$pod" env "${@/#/-uPCIDEVICE_}" nccl-init plan --json |
        jq -c '.source as $source | [$source, "=" + ([.claims[] | select(.source == $source).hca + ":1"] | unique | join(","))]'
}

plain conf node0 conf
plain wrap node1 wrap
for pod in conf wrap; do
    runs_soon $pod
    same "$pod: its init container has what the injector gave its container" \
        "$(k get pod $pod -o 'jsonpath={.spec.containers[0].resources.limits}')" \
        "$(k get pod $pod -o 'jsonpath={.spec.initContainers[0].resources.limits}')"
    settings_of setting_of $pod
    agrees $pod
done
traffic setting_of conf wrap 0
traffic setting_of conf wrap 1
read -r rail0 rail1 <<<"$(functions conf)"
matches "conf: its first VF has no VLAN" "*spoof checking on*trust off*" "$(vf "$rail0" | grep -v vlan)"
matches "conf: its second VF has the VLAN of its rail" "*vlan 105, spoof checking on*trust off*" "$(vf "$rail1")"
works "what a pod sees can be recorded" record wrap operator
works "k8s/check finds nothing wrong" k8s/check --namespace team

# ---- the node has no VF left, until a pod goes ---------------------------------------------------------------------------------

plain full node0 conf
runs_soon full
settings_of setting_of full
same "full: it has the other VFs" "" "$(comm -12 <(functions full | tr ' ' '\n') <(functions conf | tr ' ' '\n'))"
plain late node0 conf
no_room() { k get events --field-selector involvedObject.name=late | grep -q 'Insufficient nccl-init.test/rail0'; }
works "late: it waits for a VF, which it has not asked for itself" wait_for 60 no_room
gone pod/late
gone pod/conf
matches "the second VF has no VLAN any more" "*spoof checking on*" "$(vf "$rail1" | grep -v vlan)"

plain next node0 wrap '[{"name": "rail0-network"}, {"name": "trusted", "mac": "02:00:00:00:01:05"}]'
runs_soon next
same "next: it has the VFs of the pod before" "$rail0 $rail1" "$(functions next)"
settings_of setting_of next
agrees next
matches "next: its second VF is as its network wants it" \
    "*02:00:00:00:01:05*vlan 105, qos 3,*max_tx_rate 500Mbps, spoof checking off,*trust on*" "$(vf "$rail1")"
same "next: the interface has that address" 02:00:00:00:01:05 "$(inside next cat /sys/class/net/net2/address)"
traffic setting_of next wrap 0
traffic setting_of next wrap 1

gone pod/next pod/full pod/wrap
same "the node's VFs, interfaces and HCAs are as they were" "$before" "$(vfs)"
finish
