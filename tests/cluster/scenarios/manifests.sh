#!/bin/bash
# The API server accepts every manifest, rendered folder and example, strictly and with the definitions of the real projects;
# each of them with a field too many it refuses. PodSecurity says which pods are restricted and which are baseline.
# seconds: 90
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # tmp and cache come from lib
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../lib"

foreign_kinds
if ! .dev/k8s render-all "$tmp/all" >"$tmp/said" 2>&1; then
    skip_all "the manifests cannot be rendered here: $(tail -n 1 "$tmp/said")"
fi
api() { /usr/bin/python3 tests/cluster/api.py "$@"; }
hook=${NCCL_INIT:-build/static/nccl-init}-hook
if [ -x "$hook" ]; then
    k8s/node/hook/machineconfig gpu "$hook" >"$tmp/all/node-hook-machineconfig.yaml" || fail "node/hook/machineconfig" "it ends with $?"
else
    skip "node/hook/machineconfig" "there is no $hook"
fi

# ---- what it says to each object ------------------------------------------------------------------------------------

api apply "$tmp"/all/*.yaml >"$tmp/judged" || fail "objects" "they cannot be judged"
accepted=$(grep -c ': accepted$' "$tmp/judged")
matches "objects are judged" "[1-9]*" "$accepted"
while read -r line; do
    fail "${line%%: *}" "${line#*: }"
done < <(grep -v ': \(pod \)\?accepted$\|: no definition of this kind: ' "$tmp/judged")
pods=$(grep -c ': pod accepted$' "$tmp/judged")
matches "pods in foreign kinds are judged" "[1-9]*" "$pods"
echo "accepted: $accepted objects and $pods pods in foreign kinds, of $(sed 's/ .*//' "$tmp/judged" | sort -u | wc -l) files"

# The only kinds that may go unjudged, and why: see tests/cluster/crds.
while read -r line; do
    case $line in
    *' sriovnetwork.k8snetworkplumbingwg.io/v1alpha1') skip "${line%%: *}" "dra-driver-sriov is no module that can be had" ;;
    *) fail "${line%%: *}" "${line#*: }" ;;
    esac
done < <(grep ': no definition of this kind: ' "$tmp/judged")

# ---- a field too many -----------------------------------------------------------------------------------------------

api twins "$tmp"/all/*.yaml >"$tmp/twins" || fail "broken twins" "they cannot be judged"
same "with a field too many each is refused" "refused: $accepted" "$(cat "$tmp/twins")"

# ---- README's pod, and what k8s/new makes of any cluster -------------------------------------------------------------------------------

mkdir "$tmp/any" "$tmp/more"
readme_pod >"$tmp/more/readme.yaml"
matches "README: has a pod" "*kind: Pod*" "$(cat "$tmp/more/readme.yaml")"
tests/k8s/describe.py 29 30 "$tmp/any"
for file in "$tmp"/any/*.yaml; do
    folder=${file%.yaml}
    k8s/new "$file" "$folder" 2>"$tmp/said" || continue # tests/k8s/new.sh judges why
    for part in '' admin openshift queue; do
        [ ! -d "$folder/$part" ] ||
            build/k8s/kustomize build "$folder/$part" >"$tmp/more/${folder##*/}$part.yaml" || fail "any cluster" "$(cat "$file")"
    done
done
api apply "$tmp"/more/*.yaml >"$tmp/judged" || fail "any cluster" "it cannot be judged"
matches "any cluster: objects are judged" "[1-9][0-9][0-9]" "$(grep -c ': accepted$' "$tmp/judged")"
same "any cluster: all are accepted" "" \
    "$(grep -v ': \(pod \)\?accepted$\|: no definition of this kind: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1$' "$tmp/judged")"

# ---- more pods in place ----------------------------------------------------------------------------------------------

# A StatefulSet grows where it is; a Job has to be deleted first.
three_pods() { # KIND
    k8s/new --set workload="$1" --set pods=3 k8s/cluster.yaml "$tmp/three-$1" 2>"$tmp/said" || fail "three pods of a $1" "$(cat "$tmp/said")"
    build/k8s/kustomize build "$tmp/three-$1" >"$tmp/three-$1.yaml"
    works "two pods of a $1" kubectl apply --server-side --filename "$tmp/all/workload-$1.yaml"
}
three_pods statefulset
works "three pods of a StatefulSet" kubectl apply --server-side --dry-run=server --filename "$tmp/three-statefulset.yaml"
three_pods job
refused "three pods of a Job" '*spec.template*field is immutable*' kubectl apply --server-side --dry-run=server --filename "$tmp/three-job.yaml"

# ---- pod security -----------------------------------------------------------------------------------------------------

# The others add capabilities, or mount a path of the host.
expected='cluster-one-rail Job baseline
cluster-sockets Job baseline
doctor Job baseline
examples-kserve-llminferenceserviceconfig LLMInferenceServiceConfig baseline
memlock-node Job baseline
preflight Job baseline
tests-k8s-overlays-schedule CronJob baseline
workload-mpijob MPIJob restricted'

api levels "$tmp"/all/*.yaml >"$tmp/levels" || fail "levels" "they cannot be judged"
table() { sed 's/^\([^ ]*\) \([^ ]*\) [^ ]*: \([a-z]*\): .*/\1 \2 \3/' "$tmp/levels"; }
same "pods that are baseline or restricted" "$expected" "$(table | grep -v ' privileged$')"
same "each other is privileged" 0 "$(table | grep -vc ' \(privileged\|baseline\|restricted\)$')"
ours='^non-default capabilities (containers\? .* must not include "IPC_LOCK", "SYS_RESOURCE" in securityContext.capabilities.add)$'
same "only the capabilities for locked memory keep them from it, but where the hook is put on a node" "" \
    "$(grep ': privileged: ' "$tmp/levels" | grep -v '^node-hook-' | sed 's/.* | //' | grep -v "$ours")"
matches "... as they do" "[1-9]*" "$(sed 's/.* | //' "$tmp/levels" | grep -c "$ours")"
echo "pods: $(wc -l <"$tmp/levels"); why none is restricted:"
sed -n 's/^\([^ ]*\) .*: \(baseline\|privileged\): \([^|]*\).*/  \1: \3/p' "$tmp/levels"

sed 's/^      restartPolicy: /      hostNetwork: true\n&/' "$tmp/all/doctor.yaml" >"$tmp/twin.yaml"
matches "a host network is not baseline" "twin Job *: privileged: *host namespaces (hostNetwork=true)*" "$(api levels "$tmp/twin.yaml")"
finish
