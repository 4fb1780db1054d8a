#!/bin/sh
# A soft stack of 128 KiB is enough for each verb.
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

finish
