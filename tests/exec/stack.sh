#!/bin/sh
# A soft stack of 128 KiB is enough for each verb, and less is refused in words.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
if is_sanitized; then
    skip_all "sanitizers need a stack of their own"
fi
bin=$(program)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# fits ARG...
fits() {
    # shellcheck disable=SC3045 # dash and bash have it
    (ulimit -s 128 && exec "$bin" "$@") >"$dir/out" 2>&1
    status=$?
    case $status in
    0 | 1) pass "$*" ;;
    *) fail "$*" "status $status: $(cat "$dir/out")" ;;
    esac
}
fits -- true
fits --selftest=warn -- true
fits selftest
fits doctor --probe
fits install "$dir"
fits --version
fits --help
for node in "$(nodes)"/*.tree /; do
    for verb in env plan "plan --json" topo "topo --dot" doctor "doctor --json" snapshot; do
        # shellcheck disable=SC2086 # words
        fits $verb --root="$node"
    done
done


# refused KIB ARG...
refused() {
    kib=$1
    shift
    # shellcheck disable=SC3045 # dash and bash have it
    said=$(ulimit -s "$kib" && "$bin" "$@" 2>&1) && status=0 || status=$?
    same "$* with $kib KiB" \
        "125 nccl-init: error: the stack may have $kib KiB, and nccl-init needs 128: raise the limit (ulimit -s)" \
        "$status $said"
}
for kib in 16 32 64 127; do
    refused "$kib" -- true
    refused "$kib" snapshot
    refused "$kib" --frob
done

finish
