#!/bin/sh
# Every kustomization and example renders, and its objects keep the rules of tests/k8s/rules; a fault in one is seen.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
cd "$(dirname -- "$0")/../.." || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# shellcheck source=/dev/null
. tests/k8s/lib

.dev/k8s render-all "$tmp/all" || fail "all render" "see above"
for file in "$tmp"/all/*.yaml; do
    valid "$(basename "$file" .yaml)" "$file"
done
k8s/node/hook/machineconfig gpu "$(dirname -- "$(program)")/nccl-init-hook" >"$tmp/machineconfig.yaml"
valid "node/hook/machineconfig" "$tmp/machineconfig.yaml"
matches "... for a pool" "*name: 99-gpu-nccl-init-hook*role: gpu*" "$(cat "$tmp/machineconfig.yaml")"

# The pod that README shows, with names for what is in capitals. It is for a first look and is kept short: rules about
# rights (security, SCC) do not count here.
readme_pod >"$tmp/readme.yaml"
same "README: the pod" "" \
    "$(.dev/k8s check "$tmp/readme.yaml" | grep -v -e ' \[security\.' -e ' \[scc\.' -e '^k8s: 0 of 1 files')"

for dir in k8s/admin/* k8s/node/*; do
    grep -qF "](${dir#k8s/})" k8s/README.md || fail "README: ${dir#k8s/}" "is not named"
done

# Choices that go with other keys are a cluster each; the others are rendered with k8s/cluster.yaml.
for key in fabric networks policies; do
    for value in $(sed -n "s/^ *\"$key\": .*\"enum\": \[\([^]]*\)].*/\1/p" k8s/cluster.schema.json | tr -d '",'); do
        case $value in pods | write) continue ;; esac # unless another is named
        grep -q "^$key: $value\>" k8s/cluster.yaml tests/k8s/clusters/*.yaml ||
            fail "$key: $value" "no cluster has it"
    done
done
same "the SCC comes without policies" 0 "$(grep -c '^kind: SriovNetworkNodePolicy' "$tmp/all/admin-scc.yaml")"

# ---- faults that must be seen --------------------------------------------------------------------------

.dev/k8s refuse "$tmp"/all/*.yaml >"$tmp/refused" 2>&1 || fail "refuse" "$(grep -v '^ok: ' "$tmp/refused")"

sed 's/^kind: Service$/&\nkind: Service/' "$tmp/all/workload-statefulset.yaml" >"$tmp/twice.yaml"
matches "refused: a key twice" "*stands twice*" "$(.dev/k8s check "$tmp/twice.yaml")"

judge
finish
