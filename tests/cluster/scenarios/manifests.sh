#!/bin/bash
# The API server accepts every manifest, rendered folder and example, strictly and with the definitions of the real projects;
# each of them with a field too many it refuses. PodSecurity says which pods are restricted and which are baseline.
# seconds: 60
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # tmp and cache come from lib
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../lib"

foreign_kinds
if ! .dev/k8s render-all "$tmp/all" >"$tmp/said" 2>&1; then
    skip_all "the manifests cannot be rendered here: $(tail -n 1 "$tmp/said")"
fi
api() { /usr/bin/python3 tests/cluster/api.py "$@"; }

# ---- what it says to each object ------------------------------------------------------------------------------------

api apply "$tmp"/all/*.yaml >"$tmp/judged" || fail "objects" "they cannot be judged"
accepted=$(grep -c ': accepted$' "$tmp/judged")
matches "objects are judged" "[1-9]*" "$accepted"
while read -r line; do
    fail "${line%%: *}" "${line#*: }"
done < <(grep -v ': accepted$\|: no definition of this kind: ' "$tmp/judged")
echo "accepted: $accepted objects of $(sed 's/ .*//' "$tmp/judged" | sort -u | wc -l) files"

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
echo "pods: $(wc -l <"$tmp/levels"); why none is restricted:"
sed -n 's/^\([^ ]*\) .*: \(baseline\|privileged\): \([^|]*\).*/  \1: \3/p' "$tmp/levels"

sed 's/^      restartPolicy: /      hostNetwork: true\n&/' "$tmp/all/doctor.yaml" >"$tmp/twin.yaml"
matches "a host network is not baseline" "twin Job *: privileged: *host namespaces (hostNetwork=true)*" "$(api levels "$tmp/twin.yaml")"
finish
