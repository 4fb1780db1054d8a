#!/bin/sh
# Each verb under valgrind's memcheck: nothing undefined is used, nothing is lost, and as many descriptors are left open as
# there were. The answers are those of the program by itself.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
command -v valgrind >/dev/null || skip_all "valgrind is not installed"
bin=$(program)
nodes=$(nodes)
withenv=$(tool withenv)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export NCCLINIT_LOG_LEVEL=error

# checked NAME ENVIRONMENT ARG...: the same output and status as without, and nothing that memcheck complains of
checked() {
    name=$1 environment=$2
    shift 2
    "$withenv" "$environment" "$bin" "$@" >expected 2>&1 && want=0 || want=$?
    "$withenv" "$environment" /usr/bin/valgrind --log-file="$dir/log" --error-exitcode=99 --leak-check=full \
        --errors-for-leak-kinds=definite --track-fds=yes "$bin" "$@" >out 2>&1 && status=0 || status=$?
    same "$name: status" "$want" "$status"
    same "$name: the same answer" "" "$(diff expected out)"
    same "$name: descriptors" "" "$(awk '/Open file descriptor/ { open = $0; next }
        open { if (!/inherited from parent/) print open; open = "" }' log)"
}
: >none
for case in h100-12dev nonsense-json-shape gb200; do
    golden=$nodes/../golden/$case
    node=$nodes/$(sed -n 's/^node //p' "$golden/case").tree
    environment=$golden/env
    [ -r "$environment" ] || environment=none
    for verb in "plan --json" topo doctor "env --format=json"; do
        # shellcheck disable=SC2086 # words
        checked "$verb of $case" "$environment" $verb --root="$node"
    done
done
checked "snapshot --mask" none snapshot --mask --root="$nodes/h100-12dev.tree"
checked "a tree of nonsense" none plan --root="$bin"
checked "plan, live" none plan
checked "doctor, live" none doctor
checked "run" none --mode=tcp -- /bin/echo ran
checked "run, no such command" none --mode=tcp -- /no/such/command
checked "--help" none --help

finish
