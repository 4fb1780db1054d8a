#!/bin/bash
# The other ways into a pod, on nodes: an init container with an environment file as docs/reference/usage.md has it, and with `install`;
# a host network. Then the nodes themselves: the chart's doctor, k8s/fleet, helm test.
# nodes: 2x2
# by hand: ./dev cluster; the shard nodes has no time for it
# seconds: 350
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034,SC2154 # space is for node/pods; tmp comes from lib
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../lib"
# shellcheck source=/dev/null
. tests/cluster/node/pods

nodes_with_rails

# ---- an environment file, which the kubelet reads --------------------------------------------------------------------------

# The pod of docs/reference/usage.md, with images, a command and devices that there are here.
documented() {
    cat <<'END'
apiVersion: v1
kind: Pod
metadata:
  name: file
  annotations: {k8s.v1.cni.cncf.io/networks: "rail0,rail1"}
END
    awk '/^## / { here = /^## An environment file/ } /^```/ { code = here && $0 == "```yaml"; next } code' docs/reference/usage.md |
        sed -e 's|image: nccl-init$|image: nccl-init.test/nccl-init:1|' -e 's|image: train$|image: nccl-init.test/trainer:1|' \
            -e 's|name: train$|name: main|' -e 's|command: \[torchrun.*|command: [sleep, "100000"]|' \
            -e 's|nvidia.com/gpu: 4|nccl-init.test/rail0: 1|' -e 's|openshift.io/rail: 4|nccl-init.test/rail1: 1|'
    cat <<'END'
  nodeSelector: {kubernetes.io/hostname: node0}
  terminationGracePeriodSeconds: 1
END
}
documented | create "the pod of docs/reference/usage.md"

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
      command: [sh, -c, "$look"]
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
same_devices installed
matches "installed: by root the program keeps its file capabilities" '*cap_ipc_lock,cap_sys_resource=p' "$(inside installed getcap /shared/nccl-init)"
traffic variable file installed

# ---- a host network ----------------------------------------------------------------------------------------------------------

# No CNI plugin prepares its VFs: they are as their last pod left them, mostly down and without an address.
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
      securityContext: {capabilities: {add: [NET_ADMIN]}}
      resources: $rails
END
runs_soon host
same "host: the source" pcidevice "$(planned host .source)"
same "host: sockets on the node's network" "=$(inside host ip -4 route show default | sed 's/.* dev \([^ ]*\).*/\1/')" \
    "$(variable host NCCL_SOCKET_IFNAME)"
# prepare COMMAND: for each VF that the pod was given, as $vf, and the number of its rail, $rail
prepare() {
    inside host sh -c "rail=0; for bdf in \$(tr '\\0' '\\n' </proc/1/environ | sed -n 's/^PCIDEVICE_[^=]*[0-9]=//p' | sort); do
        vf=\$(ls /sys/bus/pci/devices/\$bdf/net); $1; rail=\$((rail + 1)); done"
}
# shellcheck disable=SC2016 # for that shell
works "host: the VFs are as a pod before would have left them" prepare 'ip link set $vf down'
both_down() { [ "$(planned host '[.findings[].id | select(startswith("hca."))] | unique | join(" ")')" = "hca.none-usable hca.port.down" ]; }
works "host: nccl-init says that they are down" wait_for 60 both_down
# shellcheck disable=SC2016 # for that shell
works "host: somebody sets them up" prepare 'ip addr add 10.5.$rail.250/24 dev $vf && ip link set $vf up'
all_up() { [ "$(planned host .transport)" = rdma ]; }
works "host: then RDMA is there" wait_for 60 all_up
expected=$(given host)
now() { planned host ".settings[] | select(.name == \"$1\") | .value"; }
same "host: of all HCAs of the node those that it was given" "$expected" "$(now NCCL_IB_HCA)"
same "host: the GID index is the kernel's" \
    "$(index_of host "$(first_hca "$expected")" "$(inside host ls "/sys/class/infiniband/$(first_hca "$expected")/device/net")")" \
    "$(now NCCL_IB_GID_INDEX)"
record host host
# shellcheck disable=SC2016 # for that shell
prepare 'ip addr flush dev $vf; ip link set $vf down' >"$tmp/said"
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
same "... each has the error that its runtime limits locked memory" memlock.too-low \
    "$(jq -r '.nodes[].findings[] | select(.severity == "error") | .id' "$tmp/fleet" | sort -u)"
k8s/fleet --namespace nccl-init
k logs -l job-name=nccl-doctor-now --tail=-1 >"$NCCL_INIT_CLUSTER/logs/doctor"
gone job/nccl-doctor-now
refused "helm test fails for that reason" '*nccl-init-doctor*' helm test nccl-init --namespace nccl-init --timeout 10m
same "... the Job stays, to be read" job.batch/nccl-init-doctor "$(k get jobs -o name)"
gone job/nccl-init-doctor

# what k8s/node/memlock does to containerd: what it starts from then on has no limit
raised() {
    local node
    for node in node0 node1; do
        # shellcheck disable=SC2016 # for that shell
        kubectl debug "node/$node" --profile=sysadmin --image=nccl-init.test/trainer:1 --attach=false -- \
            sh -c 'prlimit --pid "$(pidof containerd)" --memlock=unlimited:unlimited' || return
    done
    kubectl wait --for=jsonpath='{.status.phase}'=Succeeded pod --all --namespace default --timeout=120s
}
works "kubectl debug node: containerd gives locked memory" raised
# The rate of an emulated rail says nothing (docs/dev/lab.md): a preflight that only finds rails slow has proven what it can here.
tested() {
    helm test nccl-init --namespace nccl-init --timeout 10m && return
    [ "$(k get jobs -o name)" = job.batch/nccl-init-preflight ] || return # doctor's goes when it is good
    k logs -l batch.kubernetes.io/job-completion-index=0 --tail=-1 >"$tmp/preflight"
    grep '2 of 2 pods came' "$tmp/preflight" && ! grep -o 'error: job[a-z.]*' "$tmp/preflight" | grep -v 'slow$'
}
works "helm test: doctor is content, and the preflight proves the rails" tested
finish
