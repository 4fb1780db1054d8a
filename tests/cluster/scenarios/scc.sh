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
matches "pods ask for our SCC" "release-job-caps" "$asking"
same "all that ask for it are admitted" "" \
    "$(refusals nccl-rdma-scc | grep "^\\($(printf '%s\n' "$asking" | paste -sd '|' | sed 's/|/\\|/g')\\): ")"

# A user of its own, capabilities, folders of the host: all else is admitted.
same "restricted-v2 refuses these" 'examples-mpijob
release-job-caps
release-nccl-init' "$(sed -n 's|^\([^/]*\)/.* restricted-v2: refused: .*|\1|p' "$tmp/judged" | sort -u)"
matches "... and admits the others" "[12][0-9]" "$(sed -n 's|^\([^/]*\)/.* restricted-v2: admitted$|\1|p' "$tmp/judged" | sort -u | wc -l)"
echo "why it refuses the others:"
refusals restricted-v2 | cut -c1-200 | sed 's/^/  /'

sed '/^  hostNetwork: true$/d; s/^spec:$/&\n  hostNetwork: true/' "$tmp/pods.yaml" >"$tmp/twins.yaml"
pods=$(grep -c '^spec:$' "$tmp/pods.yaml")
judge "$tmp/twins.yaml" >"$tmp/judged"
same "with a host network none is admitted" "$((2 * pods)) 0" "$(wc -l <"$tmp/judged") $(grep -c ': admitted$' "$tmp/judged")"
matches "... and that is why" '*hostNetwork: Invalid value: true: Host network is not allowed to be used*' "$(refusals nccl-rdma-scc)"

# ---- what the policies put into a pod is admitted, too -----------------------------------------------------------------------

kubectl create namespace training >"$tmp/said" 2>&1
kubectl annotate namespace training openshift.io/sa.scc.uid-range=1000700000/10000 >"$tmp/said"
works "the chart is installed" helm install nccl-init k8s/charts/nccl-init --namespace nccl-init --create-namespace
cat >"$tmp/labelled.yaml" <<'END'
{apiVersion: v1, kind: Pod, metadata: {name: plain, labels: {nccl-init.io/inject: conf}}, spec: {containers: [{name: main, image: x}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: not-root, labels: {nccl-init.io/inject: conf}},
 spec: {securityContext: {runAsNonRoot: true}, containers: [{name: main, image: x}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: wrapped, labels: {nccl-init.io/inject: wrap}},
 spec: {containers: [{name: main, image: x, command: [x], securityContext: {runAsNonRoot: true}}]}}
END
injected() {
    kubectl --namespace training create --dry-run=server --output yaml --filename "$tmp/labelled.yaml" >"$tmp/injected.yaml" &&
        [ "$(grep -c 'name: nccl-init-\(conf\|wrap\)$' "$tmp/injected.yaml")" -ge 6 ]
}
works "three pods are injected" wait_for 60 injected
/usr/bin/python3 - "$tmp/injected.yaml" >"$tmp/three.yaml" <<'END'
import sys, yaml
documents = list(yaml.safe_load_all(open(sys.argv[1])))
for one in [item for document in documents for item in document.get("items", [document])]:
    one["metadata"]["name"] = "injected/Pod/" + one["metadata"]["name"]
    print("---")
    print(yaml.safe_dump(one), end="")
END
judge "$tmp/three.yaml" >"$tmp/judged"
same "restricted-v2 admits all three" 3 "$(grep -c '^injected/.* restricted-v2: admitted$' "$tmp/judged")"
sed -n 's/^\(injected.*restricted-v2: refused\)/\1/p' "$tmp/judged"
finish
