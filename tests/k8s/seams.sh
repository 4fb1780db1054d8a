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
seams() { /usr/bin/python3 tests/k8s/seams.py "$bin" "$tmp/all"; }
seams || fail "seams" "see above"

# The startup probe, on a process here instead of process 1: not before nccl-init has become the command.
probe=$(/usr/bin/python3 -c '
import sys, yaml
job = next(o for o in yaml.safe_load_all(open(sys.argv[1])) if o["kind"] == "Job")
print(job["spec"]["template"]["spec"]["containers"][0]["startupProbe"]["exec"]["command"][2])' "$tmp/all/workload-job.yaml")
matches "startup probe: looks at process 1" "*/proc/1/*" "$probe"
probed() { # STATUS NAME ARGUMENT...: of nccl-init
    expected=$1 name=$2
    shift 2
    NCCLINIT_LOG_LEVEL=error "$bin" "$@" &
    sleep 1
    sh -c "$(printf '%s\n' "$probe" | sed "s|/proc/1/|/proc/$!/|")"
    same "startup probe: $name" "$expected" $?
    kill $!
    wait $! 2>/dev/null
}
probed 0 "the command runs" --mode=off -- sleep 30
probed 1 "a preflight waits for a pod" --mode=tcp --preflight=require --peers=127.0.0.1:18999 --job=seams --rank=1 --ranks=2 --within=20 -- sleep 30

parted() { # NAME FILE SED-EXPRESSION PATTERN
    cp "$tmp/all/$2.yaml" "$tmp/kept"
    sed -e "$3" "$tmp/kept" >"$tmp/all/$2.yaml"
    found=$(seams 2>&1) && found=none
    matches "seen: $1" "*FAILED: $4*" "$found"
    cp "$tmp/kept" "$tmp/all/$2.yaml"
}
pods=workload-statefulset
parted "a variable that is not the program's" $pods 's/NCCLINIT_WAIT/NCCLINIT_WAITS/' "each NCCLINIT_ variable"
parted "a value that is not the option's" $pods 's/value: rdma$/value: roce/' "NCCLINIT_MODE=roce"
parted "an option that is not the program's" doctor 's/- --json/- --jsn/' "/nccl-init doctor --jsn"
parted "another place for the program" $pods 's/mountPath: \/shared/mountPath: \/share/' "$pods: "
parted "a program that the image does not have" $pods 's/- \/nccl-init$/- nccl-init/' "$pods: nccl-init starts what"
parted "another place for the file" inject-env-file 's/- \/run\/nccl\/env/- \/run\/nccl\/envs/' "the file is the one"
parted "a variable that is not read" inject-env-file 's/key: NCCL_CROSS_NIC/key: NCCL_CROSSNIC/' "fileKeyRef names each"
parted "a missing capability" $pods '/^            - SYS_RESOURCE$/d' "$pods: the container asks"
parted "an SCC with another capability" admin-scc 's/^- SYS_RESOURCE$/- SYS_NICE/' "the SCC allows"
parted "another place for network-status" $pods 's/path: network-status/path: networks/' "$pods: network-status"
parted "another resource" $pods 's/openshift.io\/eno8np0rdma: "1"/openshift.io\/eno9np0rdma: "1"/' "resources are those"

finish
