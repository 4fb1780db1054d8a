#!/bin/sh
# The self-test where there is no RDMA: what it says, when `run` starts the command, what the command gets.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/lib"
own_network
bin=$(program)
sanitized=
is_sanitized && sanitized=yes
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export NCCLINIT_TERMINATION_LOG="$dir/none"

ls /sys/class/infiniband/* >/dev/null 2>&1 && skip_all "this machine has HCAs"

# ---- the verb --------------------------------------------------------------------------------

out=$("$bin" selftest 2>err) && status=0 || status=$?
same "nothing to try" 0 "$status"
matches "nothing to try: stdout" "self-test: not tested: nothing was tried: *" "$out"
matches "nothing to try: --all" "Self-test: 0 ports to try; *Nothing was tried." "$("$bin" selftest --all 2>err)"
same "nothing to try: stderr" "" "$(grep -v sanitizer err)"
out=$(NCCLINIT_STRICT=1 NCCLINIT_DEADLINE=1 "$bin" selftest --size=16K --bytes=1 2>err) && status=0 || status=$?
matches "with --strict nothing to try is a fault" "1 self-test: bad: nothing was tried: *warning: verbs.none: self-test*" "$status $out"
out=$("$bin" selftest --strict --mode=tcp 2>err) && status=0 || status=$?
matches "but where TCP was chosen" "0 self-test: not tested: *" "$status $out"
"$bin" selftest --json >json 2>err && status=0 || status=$?
same "JSON: status" 0 "$status"
matches "JSON" '{*"schema": 1,*"verdict": "not tested",*"passed": 0,*"ports": \[\],*}' "$(cat json)"
if command -v python3 >/dev/null; then
    said=$(python3 -c 'import json; j = json.load(open("json")); print(j["size"], j["bytes"], j["passed"])')
    same "JSON: parses" "67108864 16777216 0" "$said"
fi
"$bin" selftest >/dev/full 2>err && status=0 || status=$?
same "full disk" 1 "$status"

out=$("$bin" doctor --probe 2>err) && status=0 || status=$?
matches "doctor --probe: the self-test's line and findings" "*self-test: 0 of 0 ports passed*verbs.none*" "$out"
"$bin" doctor --probe --strict >/dev/null 2>&1
same "doctor --probe: they count" "1 1" "$? $("$bin" doctor --probe --brief 2>/dev/null | grep -c 'verbs.none: self-test')"
matches "doctor --probe: JSON" '*"selftest": {*"passed": 0,*' "$("$bin" doctor --probe --json 2>/dev/null)"
same "without --probe there is none" 0 "$("$bin" doctor --json 2>/dev/null | grep -c '"selftest"')"
usage "a recorded node: --probe" "*doctor --probe*this machine*" doctor --probe --root="$(nodes)/h100-12dev.tree"
usage "a recorded node" "*selftest*needs the devices of this machine*doctor --root=*" selftest --root="$(nodes)/h100-12dev.tree"
usage "an operand" "*takes no operands*" selftest mlx5_6
usage "--selftest of the verb" "*is not an option of \`selftest\`*" selftest --selftest=warn
for wrong in size=0 size=16383 size=65G size=x bytes=0 bytes=1025G bytes=-1 deadline=0 deadline=3601 deadline=1d; do
    usage "--$wrong" "--${wrong%%=*}: \`${wrong#*=}\` is not *" selftest "--$wrong"
    usage "run --$wrong" "--${wrong%%=*}: \`${wrong#*=}\` is not *" run "--$wrong" -- true
done
same "--try=gpu: All has it, too" "nccl-init selftest --all --bytes=64K --try=gpu" \
    "$("$bin" selftest --bytes=64K --try gpu --color=never | sed -n 's/^All:  //p')"
usage "--try=x" "--try: \`ports,x\` is not valid; expected a list of: ports, image, gpu, nccl, all" selftest --try=ports,x
usage "run --try=" "--try: * is not valid; *" --try= -- true
usage "--selftest=on" "--selftest: \`on\` is not valid; expected one of: off, warn, require" --selftest=on -- true
NCCLINIT_SIZE=1 usage "NCCLINIT_SIZE" "NCCLINIT_SIZE: \`1\` is not *" selftest

# ---- before a command ------------------------------------------------------------------------

# starts NAME ARG...: the command runs
starts() {
    name=$1
    shift
    out=$("$bin" "$@" -- echo ran 2>err) && status=0 || status=$?
    same "$name" "0 ran" "$status $out"
}
# refused NAME ARG...: 125, the command does not run, the reason is said and in the termination log
refused() {
    name=$1
    shift
    : >log
    out=$("$bin" --termination-log="$dir/log" "$@" -- echo ran 2>err) && status=0 || status=$?
    same "$name" "125 " "$status $out"
    matches "$name: stderr" "*nccl-init: error: command not started: $demand, but there is no port to try*" "$(cat err)"
    same "$name: beside the findings" 2 "$(grep -c 'no port to try' err)"
    same "$name: finding" 1 "$(grep -c "error: require.selftest: User: " err)"
    matches "$name: termination log" "nccl-init: error: command not started: $demand, but there is no port to try*" "$(cat log)"
}
starts "off" --selftest=off
starts "warn" --selftest=warn
demand=--selftest=require
refused "require" --selftest=require
NCCLINIT_SELFTEST=require refused "NCCLINIT_SELFTEST"
demand=--require=selftest
refused "a word of --require" --require=selftest
refused "a word of --require, beside warn" --require=selftest --selftest=warn
NCCLINIT_REQUIRE=selftest refused "NCCLINIT_REQUIRE"
NCCLINIT_SELFTEST=require starts "the command line wins" --selftest=off
starts "mode=tcp" --mode=tcp --selftest=require
starts "mode=tcp, a word of --require" --mode=tcp --require=selftest
for own in NCCL_IB_DISABLE=1 NCCL_NET=Socket NCCL_NET=ofi; do
    out=$(env "$own" "$bin" --selftest=require -- echo ran 2>err) && status=0 || status=$?
    same "$own is a choice" "0 ran" "$status $out"
done
# --try alone asks for the self-test; --selftest, wherever it is given, says otherwise
out=$("$bin" --try=image -- echo ran 2>err) && status=0 || status=$?
same "--try: the command runs, after a test" "0 ran 1" "$status $out $(grep -c 'verbs.none: self-test: there is no HCA to try' err)"
out=$("$bin" --try=image --selftest=off -- echo ran 2>err) && status=0 || status=$?
same "--try with --selftest=off" "0 ran 0" "$status $out $(grep -c verbs.none err)"
out=$(NCCLINIT_TRY=all NCCLINIT_SELFTEST=off "$bin" -- echo ran 2>err) && status=0 || status=$?
same "the same by variables" "0 ran 0" "$status $out $(grep -c verbs.none err)"
out=$("$bin" --try=image --selftest=require -- echo ran 2>err) && status=0 || status=$?
matches "--try with --selftest=require" "125 *--selftest=require, but the image's libibverbs has no HCA to drive*" "$status $out$(cat err)"
: >log
: >all
out=$("$bin" --termination-log="$dir/all" --try=all --selftest=require -- echo ran 2>&1)
same "all trials, nothing to try: one reason" 1 "$(echo "$out" | grep -o "=require, but" | wc -l)"
same "... and the advice once" "1 1" "$(echo "$out" | grep -c "require.selftest: User:") $(grep -c "require.selftest: User:" "$dir/all")"
"$bin" --termination-log="$dir/log" --selftest=require --log-format=json -- echo ran >out 2>err
same "JSON: each line an object" "$(wc -l <err)" "$(grep -c '^{.*}$' err)"
matches "JSON: termination log" '{*"message": "command not started: --selftest=require, but *}' "$(head -n 1 log)"

# ---- the picture of GPU memory ---------------------------------------------------------------

"$bin" selftest --svg="$dir/none.svg" >out 2>err
matches "--svg without --try=gpu: said" "*warning: --svg: no picture: no pair of a GPU and an HCA was tried (--try=gpu)*" "$(cat err)"
same "... and no file is written" no "$([ -e "$dir/none.svg" ] && echo yes || echo no)"

# ---- what the command gets -------------------------------------------------------------------

# The same with and without; a child that is left would be the command's.
# shellcheck disable=SC2016 # for the command's shell
look='
for fd in /proc/self/fd/*; do echo "${fd##*/} $(readlink "$fd")"; done | sed "s/ .*\(pipe\|proc\).*/ \1/"
grep -E "^(SigBlk|SigIgn|SigPnd|ShdPnd|Threads|Cpus_allowed|Cap[A-Z][a-z]*|NoNewPrivs):" /proc/self/status
wc -w </proc/$$/task/$$/children
ulimit -c; ulimit -l; umask; env | grep -v -e "^_=" | sort'
"$bin" --log-level=error -- sh -c "$look" >plain 2>err
for how in warn "warn --deadline=1 --size=1M --bytes=1K"; do
    # shellcheck disable=SC2086 # words
    "$bin" --log-level=error --selftest=$how -- sh -c "$look" >tested 2>err
    same "$how: the command finds all as it was" "" "$(diff plain tested)"
done
NCCLINIT_SELFTEST=warn NCCLINIT_SIZE=1M NCCLINIT_BYTES=1M NCCLINIT_DEADLINE=1 "$bin" -- env >out 2>err
same "no NCCLINIT_ variable" 0 "$(grep -c '^NCCLINIT_' out)"
same "the variables are known" 0 "$(grep -c 'option.invalid' err)"
# Nothing is read or started for it where it is off.
if command -v strace >/dev/null && [ -z "$sanitized" ] && strace -o /dev/null true 2>/dev/null; then
    strace -f -o trace "$bin" -- true 2>err
    same "off: no process" 0 "$(grep -c -E '(fork|clone3?)\(' trace)"
    same "off: no shared memory" 0 "$(grep -c MAP_SHARED trace)"
fi

finish
