#!/bin/sh
# What the manifests name, the program has: variables, options, paths, capabilities. A seam that parts is seen.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
bin=$(program)
cd "$(dirname -- "$0")/../.." || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# shellcheck source=/dev/null
. tests/k8s/lib

.dev/k8s render-all "$tmp/all" || fail "all render" "see above"
seams() { /usr/bin/python3 tests/k8s/seams.py "$bin" "$tmp/all" "$@"; }
seams all || fail "seams" "see above"

parted() { # NAME FILE SED-EXPRESSION PATTERN
    cp "$tmp/all/$2.yaml" "$tmp/kept"
    sed -e "$3" "$tmp/kept" >"$tmp/all/$2.yaml"
    found=$(seams 2>&1) && found=none
    matches "seen: $1" "*FAILED: $4*" "$found"
    cp "$tmp/kept" "$tmp/all/$2.yaml"
}
all=release-nccl-init
parted "a variable that is not the program's" $all 's/NCCLINIT_PEERS/NCCLINIT_PEER/' "each NCCLINIT_ variable"
parted "an option that is not the program's" $all 's/- --json/- --jsn/' "/nccl-init doctor --jsn"
parted "an option of a job that is not the program's" release-job-rdma 's/--preflight=/--preflights=/' "/nccl-init/nccl-init --mode"
parted "another place for the program" release-job-rdma 's|- /nccl-init/nccl-init|- /nccl/nccl-init|' "*is where the policy installs it"
parted "... by an overlay" tests-k8s-overlays-inject 's|mountPath: /nccl-init$|mountPath: /nccl|' "tests-k8s-overlays-inject: "
parted "a program that the image does not have" examples-by-hand 's/\[\/nccl-init,/[nccl-init,/' "examples-by-hand: nccl-init starts what"
parted "a form that is not the program's" $all 's/--format=nccl.conf/--format=conf/' "the policy"
parted "a key of env that the program does not set" $all "s/'name': 'NCCL_IB_HCA', 'for'/'name': 'NCCL_IB_HCAS', 'for'/" "the policy has these keys"
parted "a missing capability" release-job-caps 's/, SYS_RESOURCE\]/]/' "release-job-caps: the container asks"
parted "an SCC with another capability" admin-scc 's/^- SYS_RESOURCE$/- SYS_NICE/' "the SCC allows"
parted "another place for network-status" release-job-rdma 's/path: network-status/path: networks/' "release-job-rdma: network-status"

finish
