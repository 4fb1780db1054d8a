#!/bin/bash
# RLIMIT_MEMLOCK, stock SoftRoCE. A process without CAP_IPC_LOCK can register as much as its limit and no more, with
# ENOMEM from the kernel. What doctor says beforehand is compared with what the kernel does to the command afterwards:
# an error only where 64 MiB and a page cannot be registered, a warning only where 1 GiB cannot.
# hardware: nics=1 memory=2048
# seconds: 35
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=/dev/null
. /lab/lib
export HOME=/tmp # for uid 1000, too

# What mr says on standard input, a word for each size: "ok ENOMEM"
words() {
    local line all=
    while read -r line; do
        line=${line#*: }
        all="$all ${line/errno 12/ENOMEM}"
    done
    echo "${all# }"
}

# In one process, as its rights are what matters: the kernel alone, doctor, a command, a demand. 1 GiB takes its time:
# without a limit less will do.
# shellcheck disable=SC2016 # for that process
steps='
    mr rxe0 64 16384
    echo --
    "$0" doctor --json "$@"
    echo --
    "$0" "$@" -- bash -c "ulimit -l; [ \$(ulimit -l) = unlimited ] || more=1048576; exec mr rxe0 65540 \$more" 2>/dev/null
    echo --
    "$0" "$@" --require=memlock -- true 2>&1
    echo "status $?"'

# row WHAT KERNEL SAYS WHY PROGRAM [OPTION...] -- WAY...
# WAY is a command that starts another one with other rights. KERNEL is what comes of 64 KiB and of 16 MiB without
# nccl-init, SAYS the finding of doctor, WHY a part of its message; "-" is no finding.
row() {
    local what=$1 kernel=$2 says=$3 why=$4 program=$5 options=() all json found=- limit expected
    shift 5
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    all=$("$@" bash -c "$steps" "$program" "${options[@]}")
    same "$what: 64 KiB and 16 MiB" "$kernel" "$(words <<<"${all%%$'\n--\n'*}")"
    all=${all#*$'\n--\n'}

    json=${all%%$'\n--\n'*} all=${all#*$'\n--\n'}
    if [[ $json =~ \"id\":\ \"(memlock\.(low|too-low))\" ]]; then found=${BASH_REMATCH[1]}; fi
    same "$what: doctor says" "$says" "$found"
    if [ "$says" != - ]; then matches "$what: because" "*\"$says\"*\"message\": \"*$why*" "$json"; fi

    # the limit that the command has, what it can register, and which finding that makes true
    limit=${all%%$'\n'*} all=${all#*$'\n'}
    case "$limit $(words <<<"${all%%$'\n--\n'*}")" in
    "unlimited ok" | *" ok ok") expected=- ;;
    *" ok ENOMEM") expected=memlock.low ;;
    *" ENOMEM ENOMEM") expected=memlock.too-low ;;
    *) expected="none that fits '$all'" ;;
    esac
    same "$what: and rightly, with $limit" "$expected" "$found"

    all=${all#*$'\n--\n'}
    case $expected in
    -) matches "$what: --require=memlock starts it" "*status 0" "$all" ;;
    *) matches "$what: --require=memlock refuses, and says the same" "*error: command not started: --require=memlock, but only*${advice:-$why}*status 125" "$all" ;;
    esac
}

# limited KIB|SOFT:HARD CAPABILITIES UID COMMAND...: CAPABILITIES as setpriv has them, to be taken away
limited() {
    local limit=$1 drop=$2 uid=$3 way
    shift 3
    case $limit in
    *[!0-9]*) ;;
    *) limit=$((limit * 1024)) ;;
    esac
    way=(prlimit "--memlock=$limit" setpriv)
    if [ "$drop" != none ]; then way+=(--bounding-set "$drop" --inh-caps "$drop"); fi
    if [ "$uid" != 0 ]; then way+=(--reuid "$uid" --regid "$uid" --clear-groups); fi
    "${way[@]}" "$@"
}

stock
up eth0 10.1.0.1/24
rxe rxe0 eth0
neither=-ipc_lock,-sys_resource

section "root"
row "all capabilities" "ok ok" - "" "$P" -- limited 64 none 0
row "all capabilities, kept" "ok ok" - "" "$P" --memlock=keep -- limited 64 none 0
row "no IPC_LOCK" "ok ENOMEM" - "" "$P" -- limited 64 -ipc_lock 0
row "no IPC_LOCK, kept" "ok ENOMEM" memlock.too-low "--memlock does not ask for more" "$P" --memlock=keep -- limited 64 -ipc_lock 0
row "neither" "ok ENOMEM" memlock.too-low "CAP_SYS_RESOURCE is not in the bounding set" "$P" -- limited 64 $neither 0
row "neither, unlimited" "ok ok" - "" "$P" -- limited unlimited $neither 0

section "how much"
same "8 MiB: a page less, all, a page more" "ok ok ENOMEM" "$(limited 8192 $neither 0 mr rxe0 8188 8192 8196 | words)"
same "the sum counts" "ok ok ok ok ENOMEM" "$(limited 64 $neither 0 mr -k rxe0 16 16 16 16 16 | words)"
row "64 MiB" "ok ok" memlock.too-low "not in the bounding set" "$P" -- limited 65536 $neither 0
row "64 MiB and a page" "ok ok" memlock.low "not in the bounding set" "$P" -- limited 65540 $neither 0
row "1 GiB but a page" "ok ok" memlock.low "not in the bounding set" "$P" -- limited 1048572 $neither 0
row "1 GiB" "ok ok" - "" "$P" -- limited 1048576 $neither 0
row "raised to 64 MiB" "ok ENOMEM" memlock.too-low "--memlock does not ask for more" "$P" --memlock=64M -- limited 64 -ipc_lock 0

section "each process for itself: two that pin 40 KiB under 64 KiB"
for port in 18515 18516; do
    limited 64 $neither 0 ibv_rc_pingpong -d rxe0 -g 1 -s 40960 -p $port >/tmp/server 2>&1 &
    wait_for 60 listening - $port
done
for pid in $(pidof ibv_rc_pingpong); do
    sed -n 's/^VmPin:[[:space:]]*//p' "/proc/$pid/status"
    kill "$pid"
done >/tmp/pinned
same "VmPin of each" "40 kB 40 kB" "$(xargs </tmp/pinned)"
fails "80 KiB in one" "*Couldn't register MR*" limited 64 $neither 0 timeout 20 ibv_rc_pingpong -d rxe0 -g 1 -s 81920

section "uid 1000"
row "uid 1000" "ok ENOMEM" memlock.too-low "CAP_SYS_RESOURCE is in the bounding set only" "$P" -- limited 64 none 1000
row "ambient IPC_LOCK" "ok ok" - "" "$P" -- \
    limited 64 none 1000 --inh-caps +ipc_lock --ambient-caps +ipc_lock
row "only the soft limit is low" "ok ENOMEM" - "" "$P" -- limited 65536:unlimited $neither 1000
row "only the soft limit is low, kept" "ok ENOMEM" memlock.too-low "--memlock does not ask for more" "$P" --memlock=keep -- \
    limited 65536:unlimited $neither 1000

section "uid 1000, and nccl-init with file capabilities"
mkdir /tmp/nosuid
mount -t tmpfs -o nosuid,mode=755 tmpfs /tmp/nosuid
for copy in may lock nosuid/may; do cp "$P" /tmp/$copy; done
# as docs/reference/findings.md has it
setcap cap_sys_resource,cap_ipc_lock=p /tmp/may cap_sys_resource,cap_ipc_lock=p /tmp/nosuid/may
# effective in nccl-init, and in nothing that it starts
setcap cap_ipc_lock=ep /tmp/lock
row "both permitted" "ok ENOMEM" - "" /tmp/may -- limited 64 none 1000
row "IPC_LOCK passed on" "ok ENOMEM" - "" /tmp/may --memlock=keep --keep-caps=ipc_lock -- \
    limited 64 none 1000
advice="CAP_IPC_LOCK is permitted: add --keep-caps=ipc_lock" \
    row "IPC_LOCK not passed on" "ok ENOMEM" memlock.too-low "in the bounding set only" /tmp/lock -- limited 64 none 1000
row "no_new_privs" "ok ENOMEM" memlock.too-low "in the bounding set only, and no_new_privs" /tmp/may -- \
    limited 64 none 1000 --no-new-privs
row "nosuid" "ok ENOMEM" memlock.too-low "in the bounding set only" /tmp/nosuid/may -- limited 64 none 1000
row "not in the bounding set" "ok ENOMEM" memlock.too-low "not in the bounding set" /tmp/may -- limited 64 $neither 1000
# why the advice is "=p": a program whose effective capabilities are not to be had is not started at all
fails "with =ep, the same" "*Operation not permitted*" limited 64 $neither 1000 /tmp/lock --version

section "user namespaces"
everyone() { # COMMAND...: in one that maps each id to itself, as the initial one does
    mkfifo /tmp/mapped
    limited 64 none 0 unshare -U bash -c 'echo $$ >/tmp/there; read -r </tmp/mapped; exec "$@"' bash "$@" &
    wait_for 60 test -s /tmp/there
    echo "0 0 4294967295" >"/proc/$(</tmp/there)/uid_map"
    echo "0 0 4294967295" >"/proc/$(</tmp/there)/gid_map"
    echo >/tmp/mapped
    wait $!
}
matches "all capabilities, it seems" "*=ep*" "$(unshare -Ur capsh --print)"
row "root of one" "ok ENOMEM" memlock.too-low "capabilities do not count" "$P" -- limited 64 none 0 unshare -Ur
row "root of one, unlimited" "ok ok" - "" "$P" -- limited unlimited none 0 unshare -Ur
row "made by uid 1000" "ok ENOMEM" memlock.too-low "capabilities do not count" "$P" -- limited 64 none 1000 unshare -Ur
row "all ids mapped" "ok ENOMEM" memlock.too-low "capabilities do not count" "$P" -- everyone

section "the self-test is let to as much as the command"
tested() { # WHAT PATTERN WAY...: of a registration of 4 MiB
    local what=$1 pattern=$2 out
    shift 2
    out=$("$@" selftest --json --size=4M --bytes=64K 2>&1 || true)
    matches "$what" "*$pattern*" "$out"
}
tested "neither" '"verbs.memlock"*ENOMEM: 4 MiB to register, and only 64 KiB can be locked: CAP_SYS_RESOURCE is not in the bounding set' limited 64 "$neither" 0 "$P"
tested "a user namespace" '"verbs.memlock"*capabilities do not count' limited 64 none 0 unshare -Ur "$P"
tested "IPC_LOCK not passed on" '"verbs.memlock"*in the bounding set only' limited 64 none 1000 /tmp/lock
passes "both permitted" 1 limited 64 none 1000 /tmp/may selftest --all --size=4M --bytes=64K

record_as memlock limited 64 "$neither" 0
record_as memlock-userns limited 64 none 0 unshare -Ur
finish
