#!/bin/bash
# What the controllers of JobSet and LeaderWorkerSet make of our workloads, behind their own webhooks: as many pods as each
# asks for, admitted, scheduled and ready, as far as kwok pretends it. What a webhook refuses is refused.
# seconds: 40
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # tmp comes from lib
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../lib"

foreign_kinds
if ! .dev/k8s render-all "$tmp/all" >"$tmp/said" 2>&1; then
    skip_all "the manifests cannot be rendered here: $(tail -n 1 "$tmp/said")"
fi
controller jobset config.jobset.x-k8s.io
controller lws config.lws.x-k8s.io

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

for kind in jobset leaderworkerset; do
    sed "s/^\( *namespace: \)training$/\1$kind/" "k8s/examples/$kind.yaml" >"$tmp/$kind.own"
    works "$kind: a namespace" kubectl create namespace "$kind"
    works "$kind: is applied" kubectl --namespace $kind apply --server-side --filename "$tmp/$kind.own"
    works "$kind: two pods are ready" wait_for 300 ready_pods $kind 2
    ready_pods $kind 2 || kubectl --namespace $kind get events,pods
done

# ---- what the pods are told ---------------------------------------------------------------------------------------------

variable() { # NAMESPACE NAME: its values in the pods' first containers, in one line
    kubectl --namespace "$1" get pods --output "jsonpath={range .items[*]}{.spec.containers[0].env[?(@.name==\"$2\")].value}{\"\n\"}{end}" |
        sort -u | paste -sd ' '
}
matches "leaderworkerset: its webhook tells each pod the leader's address" "*-0.*" "$(variable leaderworkerset LWS_LEADER_ADDRESS)"

# ---- each webhook was asked, and refuses a broken twin --------------------------------------------------------------------

for hook in mjobset vjobset mleaderworkerset vleaderworkerset; do
    matches "$hook is called" "[1-9]*" "$(called $hook.kb.io)"
done
twin() { # KIND SED
    sed "$2" "$tmp/$1.own" >"$tmp/twin.yaml"
    kubectl --namespace "$1" apply --server-side --dry-run=server --filename "$tmp/twin.yaml"
}
long=$(printf 'x%.0s' {1..60})
refused "jobset: names too long for its pods" '*JobSet name is too long*' twin jobset "/^kind: JobSet/,/^spec:/s/^  name: .*/  name: $long/"
finish
