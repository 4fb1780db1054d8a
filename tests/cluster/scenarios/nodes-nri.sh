#!/bin/bash
# Locked memory by an annotation, which the NRI plugin ulimit-adjuster reads: as docs/guides/memlock.md has it, by the chart's label,
# and what comes of mistakes in it. All pods are `restricted`.
# nodes: 2x2 ulimit-adjuster
# by hand: ./dev cluster; the shard nodes has no time for it
# seconds: 250
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034,SC2154 # space is for node/pods; tmp comes from lib
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../lib"
# shellcheck source=/dev/null
. tests/cluster/node/pods

[ -d "$(definitions)/manifests-nri" ] || skip_all "the manifests of containerd/nri are not to be had here"
nodes_with_rails
space=team
kubectl create namespace team >"$tmp/said"
kubectl label namespace team pod-security.kubernetes.io/enforce=restricted >"$tmp/said"
wait_for 60 k get serviceaccount default
restricted='{runAsNonRoot: true, runAsUser: 1000, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}}'

# pod NAME NODE ANNOTATIONS [RESOURCES]: whose command says its soft and hard limit
labels='{}'
pod() {
    local resources='{}' annotations=$3
    if [ $# -gt 3 ]; then
        resources=$4
        annotations="    k8s.v1.cni.cncf.io/networks: default/rail0,default/rail1
$3"
    fi
    create "the pod $1" <<END
apiVersion: v1
kind: Pod
metadata:
  name: $1
  labels: $labels
  annotations:
$annotations
spec:
  nodeSelector: {kubernetes.io/hostname: $2}
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: nccl-init.test/trainer:1
      command: [sh, -c, 'echo \$(ulimit -S -l) \$(ulimit -H -l); exec sleep 100000']
      securityContext: $restricted
      resources: $resources
END
}
both_limits() { k logs "$1" --container main | grep -xE '[0-9a-z]+ [0-9a-z]+'; }
limits() {
    wait_for 60 both_limits "$1"
    both_limits "$1"
}

new=ulimits.noderesource.dev/container.main
old=ulimits.nri.containerd.io/container.main
none=18446744073709551615
note() { echo "    $1: '- {type: RLIMIT_MEMLOCK, $2}'"; } # KEY LIMITS

# ---- without the plugin -----------------------------------------------------------------------------------------------------------

pod alone node0 "$(note $new "hard: $none, soft: $none")"
runs_soon alone
same "alone: without the plugin the annotation does nothing" "8192 8192" "$(limits alone)"

# ---- with it ------------------------------------------------------------------------------------------------------------------------

works "the project's own manifests" kubectl apply --kustomize "$(definitions)/manifests-nri/ulimit-adjuster"
works "... the plugin runs on both nodes" kubectl --namespace kube-system rollout status daemonset/nri-plugin-ulimit-adjuster --timeout=200s
joined() { [ "$(cat "$NCCL_INIT_CLUSTER"/node?/share/out/containerd.log | grep -c 'registered as .*10-ulimit-adjuster')" = 2 ]; }
works "... and containerd knows it, as it is by default" wait_for 60 joined
gone pod/alone

documented=$(awk '/^### / { here = /by an annotation/ } /^```/ { code = here && $0 == "```yaml"; next } code' docs/guides/memlock.md |
    sed '1,/annotations:/d; s/container\.train:/container.main:/')
pod page node0 "$documented" "$rails"
pod older node1 "$(note $old "hard: $none, soft: $none")"
pod both node1 "$(note $new 'hard: 67108864, soft: 67108864')
$(note $old "hard: $none, soft: $none")"
pod hard node1 "$(note $new "hard: $none")"
pod stranger node1 "$(note ulimits.noderesource.dev/container.nobody "hard: $none, soft: $none")"
for name in page older both hard stranger; do
    runs_soon $name
done
same "page: the annotation of the page: no limit" "unlimited unlimited" "$(limits page)"
matches "page: ... the self-test registers 64 MiB for each port" '*2 of 2 ports passed*' "$(inside page nccl-init selftest 2>&1)"
same "page: kubectl exec has the same limit" unlimited "$(inside page sh -c 'ulimit -l')"
same "older: by the older key too" "unlimited unlimited" "$(limits older)"
same "both: of both keys the newer one counts" "65536 65536" "$(limits both)"
same "hard: without soft the soft limit is 0" "0 unlimited" "$(limits hard)"
same "hard: ... and nccl-init raises it" unlimited "$(inside hard nccl-init --log-level=error -- sh -c 'ulimit -l')"
same "stranger: an annotation for no container does nothing" "8192 8192" "$(limits stranger)"
gone pod/page pod/older pod/both pod/hard pod/stranger

# mistake NAME LIMITS PATTERN: the container is not created, and the pod says why
mistake() {
    pod "$1" node1 "$(note $new "$2")"
    matches "$1: is not created" "$3" "$(waiting "$1")"
    gone "pod/$1"
}
reason() { k get pod "$1" -o 'jsonpath={.status.containerStatuses[0].state.waiting.reason}'; }
stopped() { [ "$(reason "$1")" = CreateContainerError ]; }
waiting() {
    wait_for 100 stopped "$1"
    k get pod "$1" -o 'jsonpath={.status.containerStatuses[0].state.waiting.reason}: {.status.containerStatuses[0].state.waiting.message}'
}
mistake minus 'hard: -1, soft: -1' 'CreateContainerError: *cannot unmarshal number -1 *'
mistake word 'hard: unlimited, soft: unlimited' 'CreateContainerError: *cannot unmarshal string *'
mistake unit 'hard: 64M, soft: 64M' 'CreateContainerError: *cannot unmarshal string *'
mistake quoted "hard: \"$none\", soft: \"$none\"" 'CreateContainerError: *cannot unmarshal string *'
mistake soft-only "soft: $none" 'CreateContainerError: *must have hard limit >= soft limit*'
mistake above 'hard: 1048576, soft: 2097152' 'CreateContainerError: *must have hard limit >= soft limit*'

# ---- by the label of the chart --------------------------------------------------------------------------------------------------------

works "the chart nccl-init, with inject.memlockAnnotation" helm install nccl-init k8s/charts/nccl-init --namespace nccl-init --create-namespace \
    --set image=nccl-init.test/nccl-init:1 --set inject.memlockAnnotation=true
injected() { k run probe --image=none --labels=nccl-init.io/inject=conf --dry-run=server -o yaml --overrides='{"spec": {"containers": [{"name": "probe",
    "image": "none", "command": ["none"], "securityContext": {"runAsNonRoot": true, "runAsUser": 1000, "allowPrivilegeEscalation": false,
    "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}}}]}}' | grep ulimits; }
works "... its policy is in force" wait_for 60 injected
labels='{nccl-init.io/inject: conf}'
pod conf node0 '' "$rails"
labels='{nccl-init.io/inject: wrap}'
pod wrap node1 '    nccl-init.io/selftest: require' "$rails"
for name in conf wrap; do
    runs_soon $name
    same "$name: no limit" "unlimited unlimited" "$(limits $name)"
done
matches "conf: the self-test registers 64 MiB for each port" '*2 of 2 ports passed*' "$(inside conf nccl-init selftest 2>&1)"
said=$(k logs conf --container nccl-init-conf)
matches "conf: the init container speaks" '*2 ports*' "$said"
same "conf: ... and does not complain of its own limit" "" "$(grep memlock <<<"$said")"
matches "wrap: the self-test before the command registers 64 MiB for each port" '*self-test: 2 of 2 ports passed*' "$(k logs wrap --container main)"
gone pod/conf pod/wrap
finish
