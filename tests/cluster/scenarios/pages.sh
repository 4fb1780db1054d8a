#!/bin/bash
# The commands that the pages show, word for word and in their order, on a real API server: those of kubectl and helm that need no
# process in a pod. What a page leaves open is filled in from one list. tests/cli/commands runs or lists the others.
# seconds: 120
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # tmp comes from lib
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../lib"

# What a page leaves open, and what it is here. On a line of YAML only the value counts.
fill=(
    -e 's/ -n NS\>/ -n team/g'
    -e 's|REGISTRY/|registry.example/|'
    -e 's/: NETWORK$/: rail0-network/'
    -e 's|^\( *\)RESOURCE: |\1openshift.io/rail0rdma: |'
)
no_label='{"spec": {"template": {"metadata": {"labels": {"nccl-init.io/inject": null}}}}}'
clone=$PWD
foreign_kinds
pretended_nodes 4 nvidia.com/gpu openshift.io/rail0rdma openshift.io/rail1rdma
for namespace in team openshift-sriov-network-operator; do
    works "namespace $namespace" kubectl create namespace "$namespace"
done

# What a reader has before he begins.
statefulset() { # NAMESPACE NAME
    kubectl --namespace "$1" create --filename - <<END
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: $2}
spec:
  selector: {matchLabels: {app: $2}}
  serviceName: $2
  template:
    metadata: {labels: {app: $2}}
    spec: {containers: [{name: $2, image: none, resources: {limits: {nvidia.com/gpu: 8, openshift.io/rail0rdma: 1, openshift.io/rail1rdma: 1}}}]}
END
}
works "a StatefulSet" statefulset team trainer

# page FILE: runs its commands, in a folder where k8s is the clone's
page() {
    local command tried=0
    mkdir -p "$tmp/reader"
    ln -sfn "$clone/k8s" "$tmp/reader/k8s"
    page_commands "$1" "${fill[@]}" >"$tmp/commands"
    while IFS= read -r -d '' command; do
        case $command in
        *' exec '* | *' logs '* | *' cp '* | 'helm test '*) continue ;; # a process in a pod
        *' -w'* | 'kubectl create job '*) continue ;;                     # a CronJob that the page makes later
        *k8s/check*) command+=$'\n[ $? -le 1 ]' ;; # 1: it found something
        *--patch-file*) # the page's other way, instead of the label
            kubectl --namespace team patch statefulset trainer --type=merge --patch "$no_label" >"$tmp/said"
            ;;
        kubectl\ * | helm\ * | 'cat >'*) ;;
        *) continue ;;
        esac
        tried=$((tried + 1))
        works "$1: ${command%%$'\n'*}" timeout 60 bash -c "cd '$tmp/reader' && $command" </dev/null
    done <"$tmp/commands"
    matches "$1: commands" '[1-9]*' "$tried"
}

page k8s/README.md
page docs/start/first-pod.md
page docs/start/workload.md
same "... the label is gone" "" "$(kubectl --namespace team get statefulset trainer -o 'jsonpath={.spec.template.metadata.labels.nccl-init\.io/inject}')"
page docs/guides/preflight.md
finish
