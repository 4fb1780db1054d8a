#!/bin/sh
# run on this machine, whatever it has: what is said where, what the command gets, when it is not started.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/lib"
bin=$(program)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export NCCLINIT_TERMINATION_LOG="$dir/none"
# No device of any kind is the pod's, so that all machines behave alike.
tcp=--mode=tcp

# ---- what is said ----------------------------------------------------------------------------

out=$("$bin" $tcp -- echo hello 2>err)
same "stdout is the command's" hello "$out"
same "one summary line" 1 "$(grep -c '^nccl-init: auto-detected' err)"
matches "the summary comes first" "nccl-init: auto-detected*" "$(head -n 1 err)"
"$bin" $tcp --log-level=warn -- true 2>err
same "no summary at warn" 0 "$(grep -c auto-detected err)"
NCCLINIT_X=1 "$bin" $tcp --log-level=error -- true 2>err
same "nothing at error" "" "$(grep -v ' error: ' err)"
NCCLINIT_X=1 "$bin" $tcp --log-level=debug -- true 2>err
matches "settings at debug" "*nccl-init: debug: NCCL_IB_DISABLE=1 (*" "$(cat err)"
NCCLINIT_X=1 "$bin" $tcp --log-format=json -- true 2>err
same "JSON: each line an object" "$(wc -l <err)" "$(grep -c '^{.*}$' err)"
matches "JSON: the summary" '*auto-detected*' "$(cat err)"
matches "JSON: a finding" '*"option.invalid"*' "$(cat err)"
if command -v python3 >/dev/null; then
    python3 -c 'import json, sys; [json.loads(line) for line in sys.stdin]' <err
    same "JSON: every line parses" 0 $?
fi
"$bin" --mode=off -- true 2>err
same "mode=off says nothing" "" "$(cat err)"

# ---- what the command gets -------------------------------------------------------------------

NCCLINIT_MODE=tcp NCCLINIT_FROB=x "$bin" -- env >out 2>err
same "no NCCLINIT_ variable" 0 "$(grep -c '^NCCLINIT_' out)"
same "the settings" NCCL_IB_DISABLE=1 "$(grep '^NCCL_IB_DISABLE=' out)"
NCCL_IB_DISABLE=0 "$bin" $tcp -- env >out 2>err
same "the user's own value stays" NCCL_IB_DISABLE=0 "$(grep '^NCCL_IB_DISABLE=' out)"
NCCL_SOCKET_IFNAME='' "$bin" $tcp -- env >out 2>err
same "set but empty stays" NCCL_SOCKET_IFNAME= "$(grep '^NCCL_SOCKET_IFNAME=' out)"
NCCLINIT_FROB=x "$bin" --mode=off -- env >off 2>err
same "mode=off: NCCLINIT_ is removed all the same" 0 "$(grep -c '^NCCLINIT_' off)"
same "mode=off: nothing else changes" "$(env | grep -v -e ^NCCLINIT_ -e ^_= | sort)" \
    "$(grep -v ^_= off | sort)"

# ---- the streams -----------------------------------------------------------------------------

for closed in '0<&-' '1>&-' '2>&-' '0<&- 1>&- 2>&-'; do
    rm -f out
    eval "'$bin' $tcp -- sh -c 'echo ran >out' $closed" 2>/dev/null
    same "closed: $closed" ran "$(cat out)"
done
rm -f out
"$bin" $tcp -- sh -c 'echo ran >out' 2>/dev/full
same "stderr is full" ran "$(cat out)"
# A reader that is gone: the write would raise SIGPIPE.
mkfifo pipe
sh -c 'exec 3<pipe' &
exec 4>pipe
wait $!
out=$("$bin" $tcp -- echo ran 2>&4)
same "nobody reads stderr" "0 ran" "$? $out"
exec 4>&-
# A reader that does not read: the pipe is full.
# shellcheck disable=SC2094 # opened for both, so that nothing blocks
exec 4<>pipe
timeout 1 sh -c 'while :; do echo 0123456789012345678901234567890123456789; done' >&4 2>/dev/null
out=$(timeout 60 "$bin" $tcp -- echo ran 2>&4)
same "stderr is blocked" "0 ran" "$? $out"
exec 4>&-

# ---- when it is not started ------------------------------------------------------------------

# refused NAME PATTERN ARG...: 125, the command did not run, the reason is in the termination log
refused() {
    name=$1 pattern=$2
    shift 2
    : >log
    rm -f ran
    "$bin" --termination-log="$dir/log" "$@" -- touch ran >out 2>err && status=0 || status=$?
    same "$name: status" 125 "$status"
    same "$name: the command did not run" "" "$(ls ran 2>/dev/null)"
    matches "$name: stderr" "*nccl-init: error: $pattern" "$(cat err)"
    matches "$name: termination log" "nccl-init: error: $pattern" "$(cat log)"
}
if ls /sys/class/infiniband/* >/dev/null 2>&1; then
    skip "mode=rdma without a usable HCA" "this machine has HCAs"
else
    refused "mode=rdma without a usable HCA" "*" --mode=rdma
fi
with_finding() {
    NCCLINIT_FROB=1 refused "$@"
}
with_finding "strict" "*--strict*" --strict $tcp
with_finding "strict by itself" "*--strict*" --strict --mode=off
matches "strict: what there was is in the log" "*option.invalid: NCCLINIT_FROB*" "$(cat log)"
NCCLINIT_MODE=off NCCLINIT_STRICT=1 "$bin" -- true 2>err
same "strict without findings" 0 $?
"$bin" --mode=off -- no-such-command 2>err
same "no termination log is created" "" "$(ls none 2>/dev/null)"

finish
