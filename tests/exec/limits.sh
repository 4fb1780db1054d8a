#!/bin/sh
# RLIMIT_MEMLOCK goes up and nothing else changes (acceptance cases L1 to L6).
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
bin=$(program)
command -v prlimit >/dev/null || skip_all "prlimit (util-linux) is not installed"
[ -r /proc/self/limits ] || skip_all "there is no /proc/self/limits"
export NCCLINIT_LOG_LEVEL=error NCCLINIT_MODE=tcp
low=--memlock=65536:262144

# The limit as the command sees it, under the given prefix.
memlock() { # PREFIX... -- ARG...
    "$@" | sed -n 's/^Max locked memory *\([^ ]*\) *\([^ ]*\) .*/\1 \2/p'
}
none='setpriv --bounding-set=-sys_resource --inh-caps=-sys_resource'
nnp=--no-new-privs
can_drop=true
$none true 2>/dev/null || can_drop=false
effective=0x$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status)
[ $((effective >> 24 & 1)) -eq 1 ] && has_cap=true || has_cap=false
# One of a user namespace of its own does not count.
[ ! -r /proc/self/uid_map ] || grep -q 4294967295 /proc/self/uid_map || has_cap=false
$has_cap || none= # nothing to drop

if $has_cap; then
    same "L2 with CAP_SYS_RESOURCE both go up" "unlimited unlimited" \
        "$(memlock prlimit $low "$bin" -- cat /proc/self/limits)"
    same "L2 BYTES" "1048576 1048576" \
        "$(memlock prlimit $low "$bin" --memlock=1M -- cat /proc/self/limits)"
    # PID namespaces and the like leave it, a user namespace makes it worthless.
    if unshare -r true 2>/dev/null; then
        same "L2 the capability of a user namespace does not count" "262144 262144" \
            "$(memlock prlimit $low unshare -r "$bin" -- cat /proc/self/limits)"
        out=$(prlimit $low unshare -r "$bin" --require=memlock -- true 2>&1)
        matches "L2 and --require=memlock says why" "*require.memlock: *user namespace of its own*" "$out"
    else
        skip "L2 user namespace" "unshare -r is not allowed"
    fi
else
    skip "L2 with CAP_SYS_RESOURCE" "this process does not have it"
fi
if ! $has_cap || $can_drop; then
    # shellcheck disable=SC2086 # words
    {
        same "L1 soft goes up to hard" "262144 262144" \
            "$(memlock prlimit $low $none "$bin" -- cat /proc/self/limits)"
        same "BYTES between soft and hard" "131072 262144" \
            "$(memlock prlimit $low $none "$bin" --memlock=128K -- cat /proc/self/limits)"
        same "BYTES beyond hard" "262144 262144" \
            "$(memlock prlimit $low $none "$bin" --memlock=1M -- cat /proc/self/limits)"
        same "status is the command's" 7 \
            "$(prlimit $low $none "$bin" -- sh -c 'exit 7' >/dev/null 2>&1; echo $?)"
    }
else
    skip "L1" "setpriv cannot drop CAP_SYS_RESOURCE"
fi
same "BYTES below soft: never lowered" "65536 262144" \
    "$(memlock prlimit $low "$bin" --memlock=4096 -- cat /proc/self/limits)"
same "keep" "65536 262144" "$(memlock prlimit $low "$bin" --memlock=keep -- cat /proc/self/limits)"
same "mode=off" "65536 262144" "$(memlock prlimit $low "$bin" --mode=off -- cat /proc/self/limits)"
if setpriv $nnp true 2>/dev/null && [ "$(id -u)" -eq 0 ] &&
    setpriv --reuid=65534 --clear-groups true 2>/dev/null; then
    out=$(mktemp -d)
    cp "$bin" "$out/nccl-init"
    chmod 755 "$out" "$out/nccl-init"
    same "L6 no_new_privs, not root" "262144 262144" \
        "$(memlock prlimit $low setpriv --reuid=65534 --clear-groups $nnp \
            "$out/nccl-init" -- cat /proc/self/limits)"
    rm -rf "$out"
else
    skip "L6" "setpriv cannot change the user"
fi

# A soft NOFILE of 10^9 would make loops that close everything slow: so it is never raised.
same "L3 NOFILE stays as it is" "1000 2000" \
    "$(prlimit --nofile=1000:2000 "$bin" -- cat /proc/self/limits | sed -n 's/^Max open files *\([^ ]*\) *\([^ ]*\) .*/\1 \2/p')"

others() {
    grep -v 'locked memory'
}
same "L4 all other limits" "$(prlimit $low cat /proc/self/limits | others)" \
    "$(prlimit $low "$bin" -- cat /proc/self/limits | others)"

finish
