#!/bin/sh
# Every kustomization and example renders to objects that the schemas and the rules accept; a fault in one is seen.
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
cat "$tmp"/all/*.yaml >"$tmp/everything"
same "no privileged container, host path or host namespace" "" \
    "$(grep -E '^ *-? *(privileged: true|hostPath:|host(Network|PID|IPC): true)' "$tmp/everything")"

# ---- k8s/README.md --------------------------------------------------------------------------------------

same "README: no long line" "" "$(awk 'length($0) > 120 { print FNR }' k8s/README.md)"
sed -n 's/\](/\n](/gp' k8s/README.md | sed -n 's/^](\([^)#]*\)[)#].*/\1/p' >"$tmp/links"
sed -n 's/^\[[0-9]\]: //p' k8s/README.md >>"$tmp/links"
while IFS= read -r link; do
    [ -e "k8s/$link" ] || fail "README: $link" "is not there"
done <"$tmp/links"
for dir in k8s/admin/* k8s/node/*; do
    [ -f "$dir" ] || grep -qxF "${dir#k8s/}" "$tmp/links" || fail "README: ${dir#k8s/}" "is not named"
done
same "the SCC comes without policies" 0 "$(grep -c '^kind: SriovNetworkNodePolicy' "$tmp/all/admin-scc.yaml")"

# ---- faults that must be seen --------------------------------------------------------------------------

.dev/k8s refuse "$tmp"/all/*.yaml >"$tmp/refused" 2>&1 || fail "refuse" "$(grep -v '^ok: ' "$tmp/refused")"

sed 's/^kind: Service$/&\nkind: Service/' "$tmp/all/statefulset.yaml" >"$tmp/twice.yaml"
matches "refused: a key twice" "*stands twice*" "$(.dev/k8s check "$tmp/twice.yaml")"

# A field that a project's own definition does not have, although kinds.yaml has it.
mkdir "$tmp/crds"
cat >"$tmp/crds/crd.yaml" <<'END'
kind: CustomResourceDefinition
spec:
  group: k8s.cni.cncf.io
  names: {kind: NetworkAttachmentDefinition}
  versions:
    - name: v1
      schema: {openAPIV3Schema: {properties: {spec: {properties: {configs: {}}}}}}
END
matches "refused: by a CustomResourceDefinition" "*'config' was unexpected*" \
    "$(.dev/k8s check --crds "$tmp/crds" "$tmp/all/job.yaml")"

judge
finish
