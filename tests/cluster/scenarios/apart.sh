#!/bin/bash
# Two clusters beside each other know nothing of each other, and one that is killed leaves nothing.
# seconds: 30
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # tmp and cache come from lib
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../lib"

# Its command stays when its runner is killed: nothing ends it but the next start.
# shellcheck disable=SC2016 # for the other shell
tests/cluster/run --shell sh -c 'echo "$NCCL_INIT_CLUSTER" >"$1.new"; mv "$1.new" "$1"; exec sleep 600' sh "$tmp/other" \
    >"$tmp/said" 2>&1 &
runner=$!
works "another cluster beside this one" wait_for 180 test -f "$tmp/other"
other=$(cat "$tmp/other")
same "it has a folder of its own" different "$([ "$other" = "$NCCL_INIT_CLUSTER" ] && echo same || echo different)"
works "a namespace there" kubectl --kubeconfig "$other/admin.kubeconfig" create namespace there
refused "... is not here" '*"there" not found*' kubectl get namespace there
refused "a key of there opens nothing here" '*' kubectl --server="$(kubectl config view -o jsonpath='{.clusters[0].cluster.server}')" \
    --certificate-authority="$NCCL_INIT_CLUSTER/pki/ca.crt" --client-certificate="$other/pki/admin.crt" \
    --client-key="$other/pki/admin.key" --kubeconfig=/dev/null get namespaces
port=$(sed -n 's/.*127\.0\.0\.1:\([0-9]*\)".*/\1/p' "$other/admin.kubeconfig")

left() { grep -lsxzF "NCCL_INIT_CLUSTER=$other" /proc/[0-9]*/environ | wc -l; }
only_its_command() { [ "$(left)" -eq 1 ]; }
matches "its processes run" "[5-9]" "$(left)"
kill -KILL $runner
wait $runner 2>/dev/null
works "killed: the control plane ends with it" wait_for 120 only_its_command
works "the next start" tests/cluster/run --shell true
same "... finds its folder and removes it" gone "$([ -e "$other" ] && echo there || echo gone)"
same "... and ends what still ran" 0 "$(left)"
refused "its port is free" '*' bash -c "exec 3<>/dev/tcp/127.0.0.1/$port"
same "no mount is left" 0 "$(grep -cF "$other" /proc/mounts)"
same "of all that ran, this is left" "$NCCL_INIT_CLUSTER" "$(find "$cache/run" -mindepth 1 -maxdepth 1 -type d -path "$NCCL_INIT_CLUSTER")"
finish
