#!/bin/bash
# What Kubernetes' own controllers make of every Job, StatefulSet, DaemonSet and CronJob: as many pods as it asks for, each
# admitted, scheduled to a node that has what it asks for, and ready there, as far as kwok pretends it.
# seconds: 60
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # tmp and cache come from lib
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../lib"

foreign_kinds multus sriov-network-operator openshift trainer
if ! .dev/k8s render-all "$tmp/all" >"$tmp/said" 2>&1; then
    skip_all "the manifests cannot be rendered here: $(tail -n 1 "$tmp/said")"
fi
/usr/bin/python3 tests/cluster/api.py pods "$tmp"/all/*.yaml >"$tmp/pods.yaml" || fail "pods" "they cannot be read"
mapfile -t resources < <(sed -n "s/^ *\([a-z0-9.-]*\/[A-Za-z0-9_.-]*\): '\{0,1\}[0-9][0-9]*'\{0,1\}$/\1/p" "$tmp/pods.yaml" | sort -u)
pretended_nodes 8 "${resources[@]}"
kubectl label nodes --all feature.node.kubernetes.io/rdma.available=true >"$tmp/said"

# ---- each file in a namespace of its own --------------------------------------------------------------------------------

count=0
for file in "$tmp"/all/*.yaml; do
    name=$(basename "$file" .yaml)
    grep -qE '^kind: (Job|StatefulSet|DaemonSet|CronJob)$' "$file" || continue
    case $name in
    release-job-claims) # no driver offers devices
        skip "$name" "no driver for dynamic resource allocation is here"
        continue
        ;;
    esac
    own=$(sed -n '/^kind: Namespace/,/^---/s/^  name: //p' "$file")
    if [ -z "$own" ]; then
        own=$name
        kubectl create namespace "$own" >"$tmp/said" 2>&1 || fail "$name: namespace" "$(cat "$tmp/said")"
    fi
    # some files name their namespace, and the same names are in it
    sed "s/^\( *-\{0,1\} *namespace: \)\(training\|ml\)\$/\1$own/" "$file" >"$tmp/own.yaml"
    kubectl apply --server-side --namespace "$own" --filename "$tmp/own.yaml" >"$tmp/said" 2>&1 || fail "$name: applied" "$(cat "$tmp/said")"
    if grep -q '^kind: CronJob$' "$file"; then # not before tomorrow else
        cron=$(kubectl --namespace "$own" get cronjob -o name)
        kubectl --namespace "$own" create job once --from="$cron" >"$tmp/said" 2>&1 || fail "$name: a Job of it" "$(cat "$tmp/said")"
    fi
    count=$((count + 1))
done
matches "workloads are applied" "[1-9]*" "$count"

# ---- the pods that come out ---------------------------------------------------------------------------------------------

# wanting: a line for each workload that has not as many ready pods as it asks for, and why
wanting() {
    kubectl get jobs,statefulsets,daemonsets,pods,events --all-namespaces -o json | /usr/bin/python3 -c '
import json, sys

items = json.load(sys.stdin)["items"]
bad = 0
for one in items:
    kind, status, spec = one["kind"], one.get("status", {}), one.get("spec", {})
    if kind == "Job":
        wanted, ready = min(spec["parallelism"], spec["completions"]), status.get("ready", 0)
    elif kind == "StatefulSet":
        wanted, ready = spec["replicas"], status.get("readyReplicas", 0)
    elif kind == "DaemonSet":
        wanted, ready = 8, status.get("numberReady", 0)
    else:
        continue
    if wanted == ready:
        continue
    bad += 1
    place = one["metadata"]["namespace"]
    said = sorted({e["message"] for e in items if e["kind"] == "Event" and e["type"] == "Warning"
                   and e["metadata"]["namespace"] == place})
    print(f"{place}: {kind}: {ready} of {wanted} pods are ready: {said}")
sys.exit(bad > 0)'
}
works "each has as many ready pods as it asks for" wait_for 400 wanting
cp "$tmp/waited" "$tmp/wanting" && cat "$tmp/wanting"
echo "workloads: $count, pods: $(kubectl get pods --all-namespaces --no-headers | wc -l)"

# ---- without their pods: each is named ----------------------------------------------------------------------------------

mapfile -t spaces < <(kubectl get jobs,statefulsets,daemonsets --all-namespaces --no-headers --output custom-columns=N:.metadata.namespace | sort -u)
for own in "${spaces[@]}"; do
    kubectl --namespace "$own" create quota none --hard=pods=0 >"$tmp/said" 2>&1 || fail "$own: a quota" "$(cat "$tmp/said")"
done
counted() { [ "$(kubectl get quota --all-namespaces --output jsonpath='{range .items[*]}{.status.hard.pods}{"\n"}{end}' | grep -c '^0$')" -eq ${#spaces[@]} ]; }
works "quotas of no pod" wait_for 180 counted
kubectl delete pods --all --all-namespaces --force --grace-period=0 >"$tmp/said" 2>&1 || fail "pods are deleted" "$(tail -n 1 "$tmp/said")"
all_named() { [ "$(wanting | cut -d: -f1 | sort -u | wc -l)" -eq ${#spaces[@]} ]; }
works "without pods each of these ${#spaces[@]} is named" wait_for 300 all_named
finish
