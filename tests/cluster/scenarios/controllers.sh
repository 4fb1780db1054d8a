#!/bin/bash
# What other projects' controllers make of our workloads, behind their own webhooks: as many pods as each asks for, admitted,
# scheduled and ready, as far as kwok pretends it. What a webhook or a controller refuses is refused.
# seconds: 60
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # tmp comes from lib
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../lib"

foreign_kinds jobset lws trainer training-operator mpi-operator kuberay kueue multus sriov-network-operator
if ! .dev/k8s render-all "$tmp/all" >"$tmp/said" 2>&1; then
    skip_all "the manifests cannot be rendered here: $(tail -n 1 "$tmp/said")"
fi
controller jobset
controller lws
controller trainer
controller training-operator --port=PORT
controller mpi-operator
controller kuberay --port=PORT
controller kueue
finish || exit # each object would wait for a webhook that does not answer

/usr/bin/python3 tests/cluster/api.py pods "$tmp"/all/*.yaml >"$tmp/pods.yaml" || fail "pods" "they cannot be read"
mapfile -t resources < <(sed -n "s/^ *\([a-z0-9.-]*\/[A-Za-z0-9_.-]*\): '\{0,1\}[0-9][0-9]*'\{0,1\}$/\1/p" "$tmp/pods.yaml" | sort -u)
pretended_nodes 8 "${resources[@]}"

# ---- each workload in a namespace of its own --------------------------------------------------------------------------

ready_pods() { # NAMESPACE COUNT: so many pods are there, and all of them are ready
    local said
    said=$(kubectl --namespace "$1" get pods --no-headers \
        --output custom-columns='READY:.status.conditions[?(@.type=="Ready")].status')
    [ "$(echo "$said" | grep -c '^True$')" -eq "$2" ] && [ "$(echo "$said" | wc -l)" -eq "$2" ]
}

# run CONTROLLER KIND PODS: its example; nothing where that controller is not there
run() {
    local controller=$1 kind=$2 pods=$3
    have "$controller" || return
    cp "k8s/examples/$kind.yaml" "$tmp/$kind.own"
    works "$kind: a namespace" kubectl create namespace "$kind"
    # twice, where a webhook wants what stands below: a TrainJob, its runtime
    kubectl --namespace "$kind" apply --server-side --filename "$tmp/$kind.own" >"$tmp/said" 2>&1 || tail -n 1 "$tmp/said"
    works "$kind: is applied" kubectl --namespace "$kind" apply --server-side --filename "$tmp/$kind.own"
    works "$kind: all its pods are ready, $pods" wait_for 300 ready_pods "$kind" "$pods"
    ready_pods "$kind" "$pods" || kubectl --namespace "$kind" get events,pods
}
run jobset jobset 2
run lws leaderworkerset 2
run trainer trainjob 2
run training-operator pytorchjob 2
run mpi-operator mpijob 3 # two workers, and when these are ready, the launcher
run kuberay raycluster 3  # a head and two workers

# ---- what the pods are told ---------------------------------------------------------------------------------------------

pods() { # NAMESPACE JSONPATH: of each, the different ones, in one line
    kubectl --namespace "$1" get pods --output "jsonpath={range .items[*]}$2{\"\n\"}{end}" | sort -u | paste -sd ' '
}
variable() { # NAMESPACE NAME: its values in the pods' first containers
    pods "$1" "{.spec.containers[0].env[?(@.name==\"$2\")].value}"
}
if have lws; then
    matches "leaderworkerset: its webhook tells each pod the leader's address" "*-0.*" "$(variable leaderworkerset LWS_LEADER_ADDRESS)"
fi
if have trainer; then
    same "trainjob: the trainer tells how many nodes" 2 "$(variable trainjob PET_NNODES)"
fi
if have training-operator; then
    same "pytorchjob: the operator tells the number of pods" 2 "$(variable pytorchjob PET_NNODES)"
fi

# ---- a queue --------------------------------------------------------------------------------------------------------------

if have kueue; then
    for part in enough small; do
        gpus=16
        [ $part = enough ] || gpus=1
        cat >"$tmp/$part.own" <<EOF
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: research-$part}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: research-$part}
spec:
  namespaceSelector: {}
  resourceGroups:
    - coveredResources: [cpu, memory, nvidia.com/gpu]
      flavors:
        - name: research-$part
          resources:
            - {name: cpu, nominalQuota: 1000}
            - {name: memory, nominalQuota: 1000Ti}
            - name: nvidia.com/gpu
              nominalQuota: $gpus
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: research, namespace: $part}
spec: {clusterQueue: research-$part}
---
EOF
        works "$part: a namespace" kubectl create namespace "$part"
        helm template $part k8s/charts/job --namespace $part --set mode=tcp,pods=2,gpus=8,queue=research >>"$tmp/$part.own"
        works "$part: is applied" wait_for 60 kubectl --namespace "$part" apply --server-side --filename "$tmp/$part.own"
    done
    works "a queue with room: all pods are ready" wait_for 300 ready_pods enough 2
    without_room() { kubectl --namespace small get workloads --output jsonpath='{.items[*].status.conditions[*].message}' | grep 'insufficient quota for nvidia.com/gpu'; }
    works "a queue without room says so" wait_for 300 without_room
    same "... and makes no pod" "" "$(kubectl --namespace small get pods --output name)"
fi

# ---- each webhook was asked, and refuses a broken twin --------------------------------------------------------------------

# asked CONTROLLER HOOK...
asked() {
    local controller=$1 hook
    shift
    have "$controller" || return
    for hook; do
        matches "$controller: $hook is called" "[1-9]*" "$(called "$controller.$hook")"
    done
}
asked jobset mjobset.kb.io vjobset.kb.io
asked lws mleaderworkerset.kb.io vleaderworkerset.kb.io mpod.kb.io
asked trainer validator.trainjob.trainer.kubeflow.org validator.clustertrainingruntime.trainer.kubeflow.org
asked training-operator validator.pytorchjob.training-operator.kubeflow.org
asked kueue mjob.kb.io vjob.kb.io mclusterqueue.kb.io vclusterqueue.kb.io vworkload.kb.io

# twin CONTROLLER KIND WHAT PATTERN SED
twin() {
    have "$1" || return
    sed "$5" "$tmp/$2.own" >"$tmp/twin.yaml"
    same "$2: $3: differs" 1 "$(cmp -s "$tmp/$2.own" "$tmp/twin.yaml" && echo 0 || echo 1)"
    refused "$2: $3" "$4" kubectl --namespace "$2" apply --server-side --dry-run=server --force-conflicts --filename "$tmp/twin.yaml"
}
long=$(printf 'x%.0s' {1..60})
twin jobset jobset "names too long for its pods" '*JobSet name is too long*' "/^kind: JobSet/,/^spec:/s/^  name: .*/  name: $long/"
twin lws leaderworkerset "groups of no pod" '*vleaderworkerset.kb.io*denied*' 's/^    size: .*/    size: 0/'
kubectl --namespace trainjob delete trainjob --all >"$tmp/said" 2>&1 || ! have trainer || fail "trainjob: deleted" "$(cat "$tmp/said")"
twin trainer trainjob "a runtime that is not there" '*denied the request*not found*' \
    '/^  runtimeRef:/,/name:/s/name: .*/name: other/'
twin trainer trainjob "a variable that is the trainer's" '*validator.trainjob.trainer.kubeflow.org*denied*' \
    '/^kind: TrainJob$/,/^---/s/^    numNodes: 2$/&\n    env: [{name: PET_NNODES, value: "2"}]/'
twin training-operator pytorchjob "no container called pytorch" '*validator.pytorchjob.training-operator.kubeflow.org*denied*' \
    's/^\( *- \)name: pytorch .*$/\1name: other/'
twin kueue small "less than nothing" '*vclusterqueue.kb.io*denied*' 's/nominalQuota: 1$/nominalQuota: -1/'

# The MPI operator has no webhook: it says so by an event, and makes no pod.
if have mpi-operator; then
    kubectl create namespace twin >"$tmp/said" 2>&1 || fail "mpijob: twin" "$(cat "$tmp/said")"
    sed '/^    Launcher:/,/^    Worker:/s/replicas: 1/replicas: 2/' "$tmp/mpijob.own" >"$tmp/twin.yaml"
    works "mpijob: two launchers are applied" kubectl --namespace twin apply --server-side --filename "$tmp/twin.yaml"
    says_why() { kubectl --namespace twin get events --output jsonpath='{.items[*].message}' | grep 'must be 1'; }
    works "... refused" wait_for 180 says_why
    same "... and make no pod" "" "$(kubectl --namespace twin get pods --output name)"
fi
finish
