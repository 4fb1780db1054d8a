#!/bin/bash
# k8s/charts/rails: what each pair of values renders to is what was asked for, and the API server accepts it with the
# definitions of the real projects; mistakes are answered by a sentence that names the key; a rail that goes takes its objects
# along, `rollback` brings them back, `uninstall` leaves nothing.
# seconds: 45
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # tmp comes from lib
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../lib"

chart=k8s/charts/rails
rails() { /usr/bin/python3 tests/cluster/rails.py "$@"; }
foreign_kinds

# ---- the chart itself ---------------------------------------------------------------------------------------------------

works "lint" helm lint --strict --quiet $chart
same "values.yaml and the schema: each key, with a comment and a description; each is tried below" "" "$(rails keys)"
mkdir "$tmp/twin" && cp -r $chart "$tmp/twin/rails"
sed -i '/^# VFs of each PF/d; /^device:/d' "$tmp/twin/rails/values.yaml"
same "... else it is told" "device: is in values.yaml or in the schema alone
vfs: values.yaml has no comment on it" "$(sed "s|^CHART = .*|CHART = '$tmp/twin/rails'|" tests/cluster/rails.py | /usr/bin/python3 - keys)"

# what values.yaml shows in comments
sed -n '/^rails: \[\]/,/^# All keys/ s/^  # //p' $chart/values.yaml >"$tmp/shown"
sed -n '/^pools: {}/,/^$/ s/^  # //p' $chart/values.yaml | sed 's/^/  /; 1i pools:' >"$tmp/shown.pools"
{ echo rails: && cat "$tmp/shown" "$tmp/shown.pools"; } >"$tmp/shown.yaml"
works "values.yaml: its examples" helm template rails $chart --values "$tmp/shown.yaml"
same "... are five rails in two pools" "5 10" \
    "$(grep -c '^kind: NetworkAttachmentDefinition' "$tmp/said") $(grep -c '^kind: SriovNetworkNodePolicy' "$tmp/said")"

# ---- pairs of values ----------------------------------------------------------------------------------------------------

mkdir "$tmp/pairs" "$tmp/wrong"
rails pairs "$tmp/pairs" >"$tmp/counted" || fail "pairs" "they cannot be made"
matches "pairs of values" '7611 pairs, in *' "$(sed -n '1s/^[0-9]* pairs, \([0-9]*\) of them/\1 pairs,/p' "$tmp/counted")"
head -n 1 "$tmp/counted"
# shellcheck disable=SC2016 # of that shell
render='helm template rails k8s/charts/rails --namespace ml --values "$1" >"${1%.json}.yaml" 2>"${1%.json}.said"'
find "$tmp/pairs" -name '*.json' -print0 | xargs -0 -n 1 -P 2 bash -c "$render" render || true
same "each is rendered" "" "$(cat "$tmp"/pairs/*.said)"
matches "... to what it says" '[1-9]* objects' "$(rails judge "$tmp/pairs")"

/usr/bin/python3 tests/cluster/api.py apply "$tmp"/pairs/*.yaml >"$tmp/judged" || fail "pairs" "they cannot be judged"
unknown='no definition of this kind: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1$'
same "each object is accepted" "" "$(grep -v ": accepted$\|: $unknown" "$tmp/judged" | head -n 5)"
accepted=$(grep -c ': accepted$' "$tmp/judged")
matches "... of each kind" '*NetworkAttachmentDefinition*ResourceClaimTemplate*SecurityContextConstraints*SriovNetwork*SriovNetworkNodePolicy*' \
    "$(sed -n 's|^[^ ]* \([^/]*\)/.*: accepted$|\1|p' "$tmp/judged" | sort -u | tr '\n' ' ')"
! grep -q ": $unknown" "$tmp/judged" || skip "SriovResourcePolicy" "dra-driver-sriov is no module that can be had"
/usr/bin/python3 tests/cluster/api.py twins "$tmp"/pairs/*.yaml >"$tmp/twins" || fail "broken twins" "they cannot be judged"
same "with a field too many each is refused" "refused: $accepted" "$(cat "$tmp/twins")"

twin() { # NAME SED-EXPRESSION: a broken rendering is told
    rm -rf "$tmp/broken" && cp -r "$tmp/pairs" "$tmp/broken"
    sed -i -e "$2" "$tmp"/broken/*.yaml
    matches "rendered with $1" "pair-*: * instead of *" "$(rails judge "$tmp/broken")"
}
twin "a link type" 's/^  deviceType: /  linkType: eth\n&/'
twin "another VLAN" 's/^  vlan: 4094$/  vlan: 4093/'
twin "an address that is the gateway's" 's/"exclude":/"omitted":/'
twin "a rail less" 's/^kind: NetworkAttachmentDefinition/kind: None/'
twin "other PFs" 's/pfNames: \["p0"\]/pfNames: ["p9"]/'
twin "another interface of a claim" 's|ifName: net2|ifName: net1|'

# ---- mistakes -----------------------------------------------------------------------------------------------------------

count=$(rails wrong "$tmp/wrong") || fail "mistakes" "they cannot be made"
find "$tmp/wrong" -name '*.json' -print0 | xargs -0 -n 1 -P 2 bash -c "$render" render || true
named() { # FILE: the answer has a line that begins with the key
    sed 's/^ *//' "$1.said" | awk -v key="$(cat "$1.key")" 'index($0, key) == 1 { found = 1 } END { exit !found }'
}
same "without a mistake there is no answer" "" "$(cat "$tmp/wrong/wrong-0.said")"
told=0
for ((i = 1; i <= count; i++)); do
    if named "$tmp/wrong/wrong-$i"; then
        told=$((told + 1))
    else
        fail "$(cat "$tmp/wrong/wrong-$i.key")" "$(cat "$tmp/wrong/wrong-$i.json") is answered by: $(head -n 4 "$tmp/wrong/wrong-$i.said")"
    fi
done
same "mistakes are answered by a sentence that names the key" "$count" "$told"
[ "$told" -gt 40 ] || fail "mistakes" "fewer than forty are tried"
echo "mistakes: $told"

# ---- from the first install to nothing ----------------------------------------------------------------------------------

everything() { # all objects of all kinds, but what comes and goes by itself
    local kinds
    kinds=$(kubectl api-resources --verbs=list --output=name | grep -v '^\(events\|leases\|endpoints\|componentstatuses\|endpointslices\)\(\.\|$\)' | paste -sd ,)
    kubectl get "$kinds" --all-namespaces --ignore-not-found --output=name | sort
}
line() { printf '  - {pf: eno%snp0, subnet: 10.0.10%s.0/24}\n' "$1" "$1"; }
values() { # RAIL...
    echo 'scc: {create: true, accounts: [trainer, team-b/trainer]}'
    echo 'maxUnavailable: 1'
    echo 'namespaces: [ml, team-b]'
    echo rails:
    for number; do line "$number"; done
}
ours() { # KIND: names
    kubectl get "$1" --all-namespaces --selector=app.kubernetes.io/instance=rails --output=jsonpath='{range .items[*]}{.metadata.name} {end}'
}
works "namespaces" kubectl get namespace ml team-b openshift-sriov-network-operator # made above
everything >"$tmp/before"
values 5 6 7 >"$tmp/three.yaml"
works "install" helm install rails $chart --namespace ml --values "$tmp/three.yaml"
matches "NOTES: what a pod needs" "*networks: eno5np0-network,eno6np0-network,eno7np0-network*openshift.io/eno6np0rdma: \"1\"*" "$(cat "$tmp/said")"
matches "... and k8s/check" "*k8s/check -n ml*" "$(cat "$tmp/said")"
same "three policies" "eno5np0-rdma eno6np0-rdma eno7np0-rdma " "$(ours sriovnetworknodepolicies)"
same "three networks in two namespaces" 6 "$(ours network-attachment-definitions | wc -w)"
same "the account may use the SCC" yes "$(kubectl auth can-i use securitycontextconstraints/nccl-rdma-scc --namespace ml \
    --as=system:serviceaccount:ml:trainer 2>/dev/null)"
same "... another may not" no "$(kubectl auth can-i use securitycontextconstraints/nccl-rdma-scc --namespace ml \
    --as=system:serviceaccount:ml:other 2>/dev/null)"

values 5 7 >"$tmp/two.yaml"
works "upgrade with a rail less" helm upgrade rails $chart --namespace ml --values "$tmp/two.yaml"
same "... its policy is gone" "eno5np0-rdma eno7np0-rdma " "$(ours sriovnetworknodepolicies)"
same "... and its networks" "eno5np0-network eno7np0-network eno5np0-network eno7np0-network " "$(ours network-attachment-definitions)"
works "rollback" helm rollback rails 1 --namespace ml
same "... brings the policy back" "eno5np0-rdma eno6np0-rdma eno7np0-rdma " "$(ours sriovnetworknodepolicies)"
same "... and the networks" 6 "$(ours network-attachment-definitions | wc -w)"

# what somebody else wrote stays theirs
refused "another release does not take a network over" '*NetworkAttachmentDefinition "eno5np0-network" in namespace "ml" exists and cannot be imported*' \
    helm install other $chart --namespace ml --values "$tmp/two.yaml" --set scc.create=false --set 'scc.accounts=null' --set policies=write
everything | comm -13 "$tmp/before" - >"$tmp/added"
matches "there is something to leave" '[1-9]*' "$(grep -c nccl-init.io:scc "$tmp/added")"
works "uninstall" helm uninstall rails --namespace ml
everything >"$tmp/after"
same "... leaves nothing" "" "$(comm -13 "$tmp/before" "$tmp/after")"
same "... and takes nothing along" "" "$(comm -23 "$tmp/before" "$tmp/after")"

values 5 >"$tmp/one.yaml"
# the other fabrics; dra's policy has no definition here
while read -r name options; do
    # shellcheck disable=SC2086 # words
    works "$name: install" helm install rails $chart --namespace ml --values "$tmp/two.yaml" --set maxUnavailable=0 $options
    everything | comm -13 "$tmp/before" - | grep -v 'secret/sh.helm' >"$tmp/added"
    # shellcheck disable=SC2086
    works "$name: upgrade with a rail less" helm upgrade rails $chart --namespace ml --values "$tmp/one.yaml" --set maxUnavailable=0 $options
    everything | comm -13 "$tmp/before" - | grep -v 'secret/sh.helm' >"$tmp/left"
    matches "$name: ... is one less" '*eno7np0*' "$(comm -23 "$tmp/added" "$tmp/left" | tr '\n' ' ')"
    same "$name: ... and the other is there" "" "$(comm -13 "$tmp/added" "$tmp/left")$(comm -23 "$tmp/added" "$tmp/left" | grep eno5)"
    works "$name: uninstall" helm uninstall rails --namespace ml
    same "$name: ... leaves nothing" "" "$(everything | comm -13 "$tmp/before" -)"
done <<'END'
sriovnetwork --set networks=sriovnetwork,namespaces={ml}
device-plugin --set fabric=device-plugin
shared-device-plugin --set fabric=shared-device-plugin
dra --set fabric=dra,policies=existing
END

rm -rf "$tmp/twin" && mkdir "$tmp/twin" && cp -r $chart "$tmp/twin/rails"
sed -i 's|^    k8s.v1.cni.cncf.io/resourceName: .*|&\n    helm.sh/resource-policy: keep|' "$tmp/twin/rails/templates/networks.yaml"
works "a chart that keeps its networks" helm install rails "$tmp/twin/rails" --namespace ml --values "$tmp/one.yaml"
works "... is uninstalled" helm uninstall rails --namespace ml
matches "... and what it leaves is seen" '*eno5np0-network*' "$(everything | comm -13 "$tmp/before" - | tr '\n' ' ')"
finish
