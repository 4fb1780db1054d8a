#!/bin/bash
# The other ways into a pod, on nodes: an init container with an environment file as docs/usage.md has it, and with `install`;
# a host network. Then the nodes themselves: the chart's doctor, k8s/fleet, helm test.
# nodes: 2x2
# by hand: ./dev cluster; .ci/run has no time for it
# seconds: 300
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034,SC2154 # space is for node/pods; tmp comes from lib
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../lib"
# shellcheck source=/dev/null
. tests/cluster/node/pods

nodes_with_rails

# ---- an environment file, which the kubelet reads --------------------------------------------------------------------------

# The pod of docs/usage.md, with images, a command and devices that there are here.
documented() {
    cat <<'END'
apiVersion: v1
kind: Pod
metadata:
  name: file
  annotations: {k8s.v1.cni.cncf.io/networks: "rail0,rail1"}
END
    awk '/^## / { here = /^## An environment file/ } /^```/ { code = here && $0 == "```yaml"; next } code' docs/usage.md |
        sed -e 's|image: nccl-init$|image: nccl-init.test/nccl-init:1|' -e 's|image: train$|image: nccl-init.test/trainer:1|' \
            -e 's|name: train$|name: main|' -e 's|command: \[torchrun.*|command: [sleep, "100000"]|' \
            -e 's|nvidia.com/gpu: 4|nccl-init.test/rail0: 1|' -e 's|openshift.io/rail: 4|nccl-init.test/rail1: 1|'
    cat <<'END'
  nodeSelector: {kubernetes.io/hostname: node0}
  terminationGracePeriodSeconds: 1
END
}
documented | create "the pod of docs/usage.md"

# what the same devices are called, in an init container and in the container after it
devices="tr '\\\\0' '\\\\n' </proc/1/environ | grep ^PCIDEVICE | sort"
create "a pod with the program of another image" <<END
apiVersion: v1
kind: Pod
metadata:
  name: installed
  annotations: {k8s.v1.cni.cncf.io/networks: "rail0,rail1"}
spec:
  nodeSelector: {kubernetes.io/hostname: node1}
  terminationGracePeriodSeconds: 1
  volumes: [{name: shared, emptyDir: {}}]
  initContainers:
    - name: nccl-init
      image: nccl-init.test/nccl-init:1
      args: [install, /shared]
      volumeMounts: [{name: shared, mountPath: /shared}]
    - name: look
      image: nccl-init.test/trainer:1
      command: [sh, -c, "$devices"]
      resources: $rails
  containers:
    - name: main
      image: nccl-init.test/trainer:1
      command: [/shared/nccl-init, --, sleep, "100000"]
      volumeMounts: [{name: shared, mountPath: /shared}]
      resources: $rails
END
runs_soon file
runs_soon installed
expected=$(given file)
same "file: the HCAs that it was given" "$expected" "$(variable file NCCL_IB_HCA)"
same "file: the GID index is the kernel's" "$(index_of file "$(first_hca "$expected")" net1)" "$(variable file NCCL_IB_GID_INDEX)"
settings_of variable installed
same "installed: init container and container have the same devices" "$(k logs installed --container=look)" \
    "$(inside installed sh -c "tr '\\0' '\\n' </proc/1/environ | grep ^PCIDEVICE | sort")"
matches "installed: by root the program keeps its file capabilities" '*cap_ipc_lock,cap_sys_resource=p' "$(inside installed getcap /shared/nccl-init)"
traffic variable file installed

# ---- a host network ----------------------------------------------------------------------------------------------------------

create "a pod on the host's network" <<END
apiVersion: v1
kind: Pod
metadata: {name: host}
spec:
  hostNetwork: true
  nodeSelector: {kubernetes.io/hostname: node1}
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: nccl-init.test/trainer-entrypoint:1
      args: [sleep, "100000"]
      resources: $rails
END
runs_soon host
same "host: the source" pcidevice "$(planned host .source)"
same "host: of all HCAs of the node those that it was given" "$(given host)" "$(variable host NCCL_IB_HCA)"
same "host: sockets on the node's network" "=$(inside host ip -4 route show default | sed 's/.* dev \([^ ]*\).*/\1/')" \
    "$(variable host NCCL_SOCKET_IFNAME)"
record host host
gone pod/file pod/installed pod/host

# ---- the nodes: doctor by the chart -----------------------------------------------------------------------------------------

# as the GPU operator labels them; the chart and k8s/fleet look for it
kubectl label node --all nvidia.com/gpu.present=true >"$tmp/said"
cat >"$tmp/values.yaml" <<'END'
image: nccl-init.test/nccl-init:1
doctor:
  nodes: 2
  schedule: "17 4 1 1 *"
  resources: {requests: {cpu: 50m}, limits: {memory: 256Mi, nccl-init.test/rail0: 1, nccl-init.test/rail1: 1}}
  networks: default/rail0,default/rail1
preflight: {enabled: true}
END
space=nccl-init
works "the chart nccl-init is installed" helm install nccl-init k8s/charts/nccl-init --namespace nccl-init --create-namespace \
    --values "$tmp/values.yaml"
works "doctor, now" k create job nccl-doctor-now --from=cronjob/nccl-doctor
over() { [ "$(k get pods -l job-name=nccl-doctor-now -o 'jsonpath={.items[*].status.phase}' | tr ' ' '\n' | grep -cE 'Succeeded|Failed')" = 2 ]; }
works "... two pods end" wait_for 300 over
same "... one on each node" "node0 node1" \
    "$(k get pods -l job-name=nccl-doctor-now -o 'jsonpath={.items[*].spec.nodeName}' | tr ' ' '\n' | sort | xargs)"
k8s/fleet --namespace nccl-init --json >"$tmp/fleet"
same "k8s/fleet: both nodes have a result, and two rails" '["node0",true,2]["node1",true,2]' \
    "$(jq -c '.nodes[] | [.name, .result, .rails]' "$tmp/fleet" | tr -d '\n')"
same "... none differs" '[][]' "$(jq -c '.nodes[].differs' "$tmp/fleet" | tr -d '\n')"
k8s/fleet --namespace nccl-init
k logs -l job-name=nccl-doctor-now --tail=-1 >"$NCCL_INIT_CLUSTER/logs/doctor"
gone job/nccl-doctor-now
works "helm test: doctor and preflight" helm test nccl-init --namespace nccl-init --timeout 10m
cp "$tmp/said" "$NCCL_INIT_CLUSTER/logs/helm-test"
same "... nothing of it is left" "" "$(k get jobs -o name)"
finish
