#!/bin/bash
# OpenShift's own library says which pods our SecurityContextConstraints admit, and which restricted-v2 does.
# seconds: 15
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # tmp and cache come from lib
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../lib"

if ! .dev/k8s render-all "$tmp/all" >"$tmp/said" 2>&1; then
    skip_all "the manifests cannot be rendered here: $(tail -n 1 "$tmp/said")"
fi
/usr/bin/python3 tests/cluster/api.py pods "$tmp"/all/*.yaml >"$tmp/pods.yaml" || fail "pods" "they cannot be read"

# What OpenShift writes to each namespace; its restricted-v2 as far as it decides, after
# openshift/cluster-kube-apiserver-operator c813e820, bindata/bootkube/scc-manifests: it is no module that can be had.
cat >"$tmp/openshift.yaml" <<'END'
apiVersion: v1
kind: Namespace
metadata:
  name: training
  annotations:
    openshift.io/sa.scc.uid-range: 1000700000/10000
    openshift.io/sa.scc.mcs: s0:c26,c15
    openshift.io/sa.scc.supplemental-groups: 1000700000/10000
---
apiVersion: security.openshift.io/v1
kind: SecurityContextConstraints
metadata: {name: restricted-v2}
allowPrivilegeEscalation: false
allowPrivilegedContainer: false
allowedCapabilities: [NET_BIND_SERVICE]
requiredDropCapabilities: [ALL]
fsGroup: {type: MustRunAs}
runAsUser: {type: MustRunAsRange}
seLinuxContext: {type: MustRunAs}
supplementalGroups: {type: RunAsAny}
seccompProfiles: [runtime/default]
volumes: [configMap, csi, downwardAPI, emptyDir, ephemeral, image, persistentVolumeClaim, projected, secret]
END
judge() { scc k8s/admin/scc/scc.yaml "$tmp/openshift.yaml" "$1"; }
works "pods are judged" judge "$tmp/pods.yaml"
cp "$tmp/said" "$tmp/judged"
refusals() { sed -n "s|^\\([^/]*\\)/.* $1: refused: \\(.*\\)|\\1: \\2|p" "$tmp/judged"; }

asking=$(grep -l 'openshift.io/required-scc: nccl-rdma-scc' "$tmp"/all/*.yaml | sed 's|.*/||; s|\.yaml$||')
matches "pods ask for our SCC" "*workload-job*" "$asking"
# This pod was always wrong: k8s/new gives it a user, and with that a capability that its own SCC does not allow.
same "all that ask for it are admitted, but one" \
    'cluster-two-nics-per-rail: spec.initContainers[0].capabilities.add: Invalid value: "SETFCAP": capability may not be added' \
    "$(refusals nccl-rdma-scc | grep "^\\($(printf '%s\n' "$asking" | paste -sd '|' | sed 's/|/\\|/g')\\): ")"

expected='cluster-one-rail
cluster-sockets
doctor
examples-kserve-llminferenceserviceconfig
memlock-node
preflight
tests-k8s-overlays-schedule'
same "restricted-v2 admits these" "$expected" "$(sed -n 's|^\([^/]*\)/.* restricted-v2: admitted$|\1|p' "$tmp/judged" | sort -u)"
echo "why it refuses the others:"
refusals restricted-v2 | cut -c1-200 | sed 's/^/  /'

sed 's/^spec:$/&\n  hostNetwork: true/' "$tmp/pods.yaml" >"$tmp/twins.yaml"
pods=$(grep -c '^spec:$' "$tmp/pods.yaml")
judge "$tmp/twins.yaml" >"$tmp/judged"
same "with a host network none is admitted" "$((2 * pods)) 0" "$(wc -l <"$tmp/judged") $(grep -c ': admitted$' "$tmp/judged")"
matches "... and that is why" '*hostNetwork: Invalid value: true: Host network is not allowed to be used*' "$(refusals nccl-rdma-scc)"
finish
