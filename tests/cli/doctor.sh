#!/bin/sh
# doctor --ignore: what it leaves out counts no more, and is told; a name of nothing is wrong usage. doctor --brief.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/lib"
bin=$(program)
nodes=$(nodes)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
unset NCCLINIT_IGNORE NCCLINIT_STRICT

# doctor NAME ARG...: of the node with two errors of the container
doctor() {
    "$bin" doctor --root="$nodes/gb200.tree" "$@" >out 2>err && status=0 || status=$?
}
both=shm.default,memlock.too-low
doctor --all
same "nothing ignored" "1 0" "$status $(grep -c '^  ignored: ' out)"
doctor --all --ignore=shm.default
same "one of two errors: status" 1 "$status"
matches "one of two errors" "NOT READY: 1 error, *ignored: shm.default (1)*" "$(sed 1d out)"
same "it is not shown" 0 "$(grep -c ' shm.default  ' out)"
doctor --all --ignore=$both,rail.missing
same "all errors: status" 0 "$status"
matches "all errors, and what is not there" "READY: 1 warning *memlock.too-low (1), rail.missing (0), shm.default (1)*" \
    "$(sed 1d out | tr '\n' ' ')"
doctor --all --strict --ignore=$both
same "--strict: a warning is left" "1 NOT READY: 1 warning" "$status $(sed -n '2s/ (.*//p' out)"
doctor --strict --ignore=$both,imex.channel.missing
same "--strict: all are ignored" 0 "$status"
matches "healthy" "*READY with 4 of 4 rails: no findings*" "$(cat out)"
doctor --json --ignore=$both
same "JSON: status" 0 "$status"
matches "JSON" '*"errors": 0,*"ignored": {*"memlock.too-low": 1,*"shm.default": 1*}*' "$(cat out)"
same "JSON: not among the findings" 0 "$(grep -c '"id": "shm.default"' out)"
NCCLINIT_IGNORE=$both "$bin" doctor --all --root="$nodes/gb200.tree" >out && status=0 || status=$?
same "NCCLINIT_IGNORE" "0 1" "$status $(grep -c '^  ignored: memlock.too-low (1), shm.default (1)$' out)"
NCCLINIT_IGNORE=$both "$bin" doctor --all --root="$nodes/gb200.tree" --ignore=none >out && status=0 || status=$?
same "none takes it back" "1 0" "$status $(grep -c '^  ignored: ' out)"
for value in shm "shm.default," shm.default,SHM ""; do
    doctor --ignore="$value"
    same "--ignore=$value" "125 " "$status $(cat out)"
done

# ---- more findings than there is room for: of each id one is kept, so that none that counts is lost -----

# full COMMAND...: with 300 empty variables
full() {
    # shellcheck disable=SC2046 # words
    env $(awk 'BEGIN { for (; i < 300; i++) print "NCCL_X" i "=" }') "$@"
}
full "$bin" doctor --all --root="$nodes/gb200.tree" >out && status=0 || status=$?
same "too many: errors count" "1 2" "$status $(grep -c '^  error ' out)"
full "$bin" doctor --all --root="$nodes/gb200.tree" --ignore=user.value.empty >out && status=0 || status=$?
same "too many, and ignored" "1 2" "$status $(grep -c '^  error ' out)"

# ---- the trial of GPU memory ------------------------------------------------------------------------

trial='tries GPUDirect RDMA in the pod'
NCCL_DMABUF_ENABLE=0 "$bin" doctor --all --root="$nodes/gdr-none.tree" >out 2>err
matches "a finding about GPUDirect RDMA leads to its trial" "*gdr.dmabuf.off*selftest --try=gpu\` $trial*" "$(tr -s ' \n' ' ' <out)"
NCCL_DMABUF_ENABLE=0 "$bin" doctor --all --root="$nodes/mi300x-ionic.tree" >out 2>err
same "on AMD's GPUs, which it cannot try, it does not" "1 0" "$(grep -c 'gdr.dmabuf.off  ' out) $(grep -c "$trial" out)"

# ---- --brief: what a monitor shows of a node ---------------------------------------------------------

doctor --brief
same "--brief: the verdict, then a line a finding" \
    "1 NOT READY: 2 errors, 1 warning
error: memlock.too-low: RLIMIT_MEMLOCK
error: shm.default: /dev/shm
warning: imex.channel.missing: /dev/nvidia-caps-imex-channels" "$status $(cut -d : -f 1-3 out)"
doctor --brief --ignore=$both,imex.channel.missing
same "--brief: healthy" "0 READY: no findings" "$status $(cat out)"
"$bin" doctor --brief --root="$nodes/gid-v1-only.tree" >out 2>err
matches "--brief: the subjects of one id stand together" "*warning: gid.v1-only: mlx5_6/1, mlx5_7/1: *" "$(cat out)"
doctor --brief --all
same "--brief --all" "125 nccl-init: error: --all and --brief exclude each other" "$status $(head -n 1 err)"
doctor --brief --json
same "--brief --json" "125 nccl-init: error: --json and --brief exclude each other" "$status $(head -n 1 err)"

# A pod of 8 MiB that has its settings from a file, as the label conf writes it.
"$bin" doctor --all --root="$nodes/cluster-conf.tree" >out 2>err
matches "a setting of a file is nobody's own" "*info    nccl.conf * user.cross-nic.open *" "$(cat out)"
matches "another container's limit is no error of this one" "*warning: memlock.elsewhere: RLIMIT_MEMLOCK: 8 MiB in this container*" \
    "$("$bin" env --root="$nodes/cluster-conf.tree" --require=rdma -o written 2>&1)"
same "... and refuses nothing" yes "$([ -e written ] && echo yes)"
matches "on standard output it is one" "*error: memlock.too-low: *" "$("$bin" env --root="$nodes/cluster-conf.tree" 2>&1)"
finish
