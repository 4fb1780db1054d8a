#!/bin/bash
# The API server accepts every manifest, rendered folder, release and example, strictly and with the definitions of the real projects;
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

# The only kinds that may go unjudged: the module with their definitions is not to be had everywhere. See tests/cluster/crds.
while read -r line; do
    case $line in
    *' sriovnetwork.k8snetworkplumbingwg.io/v1alpha1') skip "${line%%: *}" "the definitions of dra-driver-sriov are not to be had here" ;;
    *) fail "${line%%: *}" "${line#*: }" ;;
    esac
done < <(grep ': no definition of this kind: ' "$tmp/judged")

# ---- a field too many -----------------------------------------------------------------------------------------------

api twins "$tmp"/all/*.yaml >"$tmp/twins" || fail "broken twins" "they cannot be judged"
same "with a field too many each is refused" "refused: $accepted" "$(cat "$tmp/twins")"

# ---- more pods in place ----------------------------------------------------------------------------------------------

# A StatefulSet grows where it is; a Job has to be deleted first.
three_pods() { # RELEASE
    helm template "$1" k8s/charts/job --namespace training --values "tests/k8s/releases/$1.yaml" --set pods=3 >"$tmp/three-$1.yaml"
    works "two pods of $1" kubectl apply --server-side --filename "$tmp/all/release-$1.yaml"
}
kubectl create namespace training >"$tmp/said" 2>&1
three_pods job-idle
works "three pods of a StatefulSet" kubectl apply --server-side --dry-run=server --filename "$tmp/three-job-idle.yaml"
three_pods job-claims
refused "three pods of a Job" '*spec.template*field is immutable*' \
    kubectl apply --server-side --dry-run=server --filename "$tmp/three-job-claims.yaml"

# ---- pod security -----------------------------------------------------------------------------------------------------

# These add capabilities, mount folders of the host, or see its devices.
expected='release-job-caps Job privileged
release-nccl-init DaemonSet privileged
release-nccl-init DaemonSet privileged'

api levels "$tmp"/all/*.yaml >"$tmp/levels" || fail "levels" "they cannot be judged"
table() { sed 's/^\([^ ]*\) \([^ ]*\) [^ ]*: \([a-z]*\): .*/\1 \2 \3/' "$tmp/levels"; }
same "pods that are not baseline" "$expected" "$(table | grep -v ' \(baseline\|restricted\)$')"
matches "the others are" "3[0-9]" "$(table | grep -c ' \(baseline\|restricted\)$')"
echo "pods: $(wc -l <"$tmp/levels"); why none is restricted:"
sed -n 's/^\([^ ]*\) .*: \(baseline\|privileged\): \([^|]*\).*/  \1: \3/p' "$tmp/levels"

sed 's/^      restartPolicy: /      hostNetwork: true\n&/' "$tmp/all/examples-job.yaml" >"$tmp/twin.yaml"
matches "a host network is not baseline" "twin Job *: privileged: *host namespaces (hostNetwork=true)*" "$(api levels "$tmp/twin.yaml")"
finish
