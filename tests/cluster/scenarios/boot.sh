#!/bin/bash
# The control plane is complete: each part of it does something that only it does.
# seconds: 20
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # tmp and cache come from lib
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../lib"

pinned() { # MODULE PATH: its version
    awk -v path="$2" '$1 == path { print $2 }' "tests/cluster/modules/$1/go.mod"
}
wanted=$(pinned kubernetes k8s.io/kubernetes)
same "the API server is the pinned one" "$wanted" "$(kubectl version -o json | sed -n '/serverVersion/,/}/s/.*"gitVersion": "\(.*\)".*/\1/p')"
same "kubectl is, too" "$wanted" "$(kubectl version --client -o json | sed -n 's/.*"gitVersion": "\(.*\)".*/\1/p')"
matches "helm is the pinned one" "$(pinned helm helm.sh/helm/v4)*" "$(helm version --short)"
works "helm speaks with it" helm list --all-namespaces
for kind in mutatingadmissionpolicies.admissionregistration.k8s.io validatingadmissionpolicies.admissionregistration.k8s.io \
    resourceclaimtemplates.resource.k8s.io; do
    matches "$kind is served as v1" "*/v1 *" "$(kubectl api-resources --no-headers | grep "^${kind%%.*} ") "
done

same "RBAC: an administrator may" yes "$(kubectl auth can-i create pods)"
same "RBAC: a stranger may not" no "$(kubectl auth can-i create pods --as=stranger)"

pod() { # NAME PRIVILEGED
    kubectl --namespace guarded run "$1" --image=none --overrides="{\"spec\": {\"containers\": [{\"name\": \"$1\",
        \"image\": \"none\", \"securityContext\": {\"privileged\": $2}}]}}"
}
works "a guarded namespace" kubectl create namespace guarded
works "... is baseline" kubectl label namespace guarded pod-security.kubernetes.io/enforce=baseline
wait_for 180 kubectl --namespace guarded get serviceaccount default
works "PodSecurity admits a plain pod" pod plain false
refused "PodSecurity refuses a privileged one" '*violates PodSecurity "baseline:latest": privileged*' pod privileged true

works "a Job" kubectl create job one --image=none
works "its controller makes a pod" wait_for 180 kubectl wait --for=create pod --selector=job-name=one --timeout=1s
unscheduled() {
    kubectl get pod --selector=job-name=one -o jsonpath='{.items[0].status.conditions[0].message}' | grep -q 'no nodes available'
}
works "the scheduler finds no node for it" wait_for 180 unscheduled
matches "an account gets a token" "*.*.*" "$(kubectl create token default)"
finish
