#!/bin/sh
# Every kustomization, example and release renders, and README names each folder. What an API server says, tests/cluster asks it.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
hook=$(dirname -- "$(program)")/nccl-init-hook
cd "$(dirname -- "$0")/../.." || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# shellcheck source=/dev/null
. tests/k8s/lib

.dev/k8s render-all "$tmp/all" || fail "all render" "see above"
for file in "$tmp"/all/*.yaml; do
    grep -q '^kind: ' "$file" || fail "$(basename "$file")" "it renders to nothing"
done
for chart in k8s/charts/*; do
    grep -q "^# chart: $(basename "$chart")\$" tests/k8s/releases/*.yaml || fail "$chart" "tests/k8s/releases has no release of it"
done
for dir in k8s/charts/* k8s/admin/* k8s/node/* k8s/inject; do
    grep -qF "](${dir#k8s/})" k8s/README.md || fail "README: ${dir#k8s/}" "is not named"
done
for file in k8s/examples/*.yaml; do
    grep -qF "](${file#k8s/})" k8s/README.md || fail "README: ${file#k8s/}" "is not named"
done
same "the SCC comes without policies" 0 "$(grep -c '^kind: SriovNetworkNodePolicy' "$tmp/all/admin-scc.yaml")"

k8s/node/hook/machineconfig gpu "$hook" >"$tmp/machineconfig.yaml"
matches "node/hook/machineconfig: for a pool" "*name: 99-gpu-nccl-init-hook*role: gpu*" "$(cat "$tmp/machineconfig.yaml")"
sed -n 's/^ *source: data:;base64,//p' "$tmp/machineconfig.yaml" | head -n 1 | base64 -d | gzip -d >"$tmp/hook"
cmp -s "$tmp/hook" "$hook" || fail "node/hook/machineconfig" "the program in it is another one"
finish
