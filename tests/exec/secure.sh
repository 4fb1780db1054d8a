#!/bin/sh
# Secure execution: nccl-init with file capabilities, started by a user who has none. Nothing of the environment leads it
# to a file, and nothing at all to one that the user could not reach.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
PATH=$PATH:/usr/sbin:/sbin
if is_sanitized; then
    skip_all "sanitizers do not run in secure execution"
fi
[ "$(id -u)" -eq 0 ] || skip_all "not root: file capabilities cannot be given"
for need in setpriv setcap; do
    command -v "$need" >/dev/null || skip_all "$need is not installed"
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir"
cp "$(program)" "$dir/plain" && cp "$dir/plain" "$dir/with" && cp "$dir/plain" "$dir/strong" || exit 1
cp "$(nodes)/h100-12dev.tree" "$dir/node.tree"
chmod 755 "$dir/plain" "$dir/with" "$dir/strong"
setcap cap_ipc_lock=p "$dir/with" 2>"$dir/err" || skip_all "setcap: $(cat "$dir/err")"
# What nobody should do: capabilities that open files, effective.
setcap cap_dac_override,cap_dac_read_search,cap_ipc_lock=ep "$dir/strong" || exit 1
user='setpriv --reuid=1000 --regid=1000 --clear-groups'
$user true 2>/dev/null || skip_all "setpriv cannot change the user"
mkdir "$dir/open" "$dir/closed"
chmod 1777 "$dir/open"
chmod 700 "$dir/closed"
cp "$dir/node.tree" "$dir/closed/node.tree"
echo NCCL_DEBUG=SECRET >"$dir/closed/nccl.conf"
export HOME=/ NCCLINIT_MODE=tcp NCCLINIT_LOG_LEVEL=warn

# as PROGRAM ARG...: as uid 1000 from nothing, so that the file alone gives capabilities (setpriv keeps what is permitted)
as() {
    program=$1
    shift
    # shellcheck disable=SC2086 # words
    $user setpriv "$dir/$program" "$@"
}

given() { # NAME=VALUE PROGRAM ARG...
    set_to=$1 program=$2
    shift 2
    # shellcheck disable=SC2086 # words
    $user env "$set_to" "$dir/$program" "$@"
}

# ---- variables that name files ---------------------------------------------------------------

given NCCLINIT_OUTPUT="$dir/open/out" plain env >"$dir/out" 2>"$dir/err"
same "without file capabilities NCCLINIT_OUTPUT counts" "there " "$(ls "$dir/open/out" >/dev/null && echo there) $(cat "$dir/out")"
rm -f "$dir/open/out"
given NCCLINIT_OUTPUT="$dir/open/out" with env >"$dir/out" 2>"$dir/err"
same "NCCLINIT_OUTPUT: not written" "" "$(ls "$dir/open")"
matches "NCCLINIT_OUTPUT: standard output" "*NCCL_IB_DISABLE=*" "$(cat "$dir/out")"
matches "NCCLINIT_OUTPUT: told" "*option.invalid: NCCLINIT_OUTPUT: *only --output may name a file*" "$(cat "$dir/err")"
out=$(given NCCLINIT_ROOT="$dir/node.tree" with plan 2>&1)
same "NCCLINIT_ROOT: not read" 0 "$(printf '%s\n' "$out" | grep -c mlx5_6)"
matches "NCCLINIT_ROOT: told" "*option.invalid: NCCLINIT_ROOT*" "$out"
out=$(given NCCLINIT_ROOT="$dir/node.tree" plain plan 2>&1)
matches "without file capabilities it is read" "*root $dir/node.tree*" "$out"
: >"$dir/open/log"
chmod 666 "$dir/open/log"
given NCCLINIT_TERMINATION_LOG="$dir/open/log" with --require=gpus --mode=off -- true 2>/dev/null
same "NCCLINIT_TERMINATION_LOG: refused, but not written" "125 " "$? $(cat "$dir/open/log")"
as with --termination-log="$dir/open/log" --require=gpus --mode=off -- true 2>/dev/null
matches "--termination-log: written" "nccl-init: error: command not started: --require=gpus*" "$(cat "$dir/open/log")"
given NCCLINIT_SNAPSHOT_ON_REFUSAL="$dir/open/refused.tree" with --require=rdma --mode=tcp -- true 2>"$dir/err"
same "NCCLINIT_SNAPSHOT_ON_REFUSAL: refused, nothing written" "125 " "$? $(ls "$dir/open/refused.tree" 2>/dev/null)"
matches "NCCLINIT_SNAPSHOT_ON_REFUSAL: told" "*option.invalid: NCCLINIT_SNAPSHOT_ON_REFUSAL*" "$(cat "$dir/err")"
printf '[{"name": "x", "device-info": {"type": "pci", "pci": {"pci-address": "0000:99:00.7"}}}]' >"$dir/open/status"
out=$(given NCCLINIT_NETWORK_STATUS="$dir/open/status" with plan 2>&1)
matches "NCCLINIT_NETWORK_STATUS: told" "*option.invalid: NCCLINIT_NETWORK_STATUS*" "$out"
same "NCCLINIT_NETWORK_STATUS: not read" 0 "$(printf '%s\n' "$out" | grep -c 99:00.7)"
out=$(given NCCLINIT_ROOT="$dir/node.tree" with -- echo ran 2>&1)
matches "run says it and runs" "*option.invalid: NCCLINIT_ROOT*ran" "$out"

# ---- NCCLINIT_ONCE, which manifests write: with the rights of the user alone -----------------------

alone="--preflight=require --peers=localhost --rank=0 --ranks=1 --job=job"
# shellcheck disable=SC2086 # words
for program in plain with strong; do
    rm -rf "$dir/open/kept"
    out=$(given NCCLINIT_ONCE="$dir/open/kept" "$program" $alone -- echo ran 2>"$dir/err")
    kept=$(cat "$dir/open/kept")
    matches "$program: NCCLINIT_ONCE: kept" "ran not tested: nccl-init preflight: 0/1 job * 1000" \
        "$out $kept $(stat -c %u "$dir/open/kept")"
    out=$(given NCCLINIT_ONCE="$dir/open/kept" "$program" $alone --log-level=info -- echo ran 2>&1)
    matches "$program: NCCLINIT_ONCE: read" "*preflight: not tested: from an earlier start*ran" "$out"
    echo precious >"$dir/closed/kept"
    out=$(given NCCLINIT_ONCE="$dir/closed/kept" "$program" $alone -- echo ran 2>"$dir/err")
    same "$program: NCCLINIT_ONCE where the user may not write" "ran precious" "$out $(cat "$dir/closed/kept")"
    echo "$kept" >"$dir/closed/kept"
    out=$(given NCCLINIT_ONCE="$dir/closed/kept" "$program" $alone --log-level=info -- echo ran 2>&1)
    same "$program: NCCLINIT_ONCE where the user may not read" 0 "$(printf '%s\n' "$out" | grep -c 'from an earlier start')"
    ln -sf "$dir/closed/kept" "$dir/open/link"
    given NCCLINIT_ONCE="$dir/open/link" "$program" $alone -- true 2>"$dir/err"
    same "$program: NCCLINIT_ONCE: a link is left" "$dir/closed/kept" "$(readlink "$dir/open/link")"
done
# Another user's effective rights are not for a file of the environment.
cp "$dir/plain" "$dir/setuid" && chmod 4755 "$dir/setuid"
rm -f "$dir/open/kept"
# shellcheck disable=SC2086 # words
out=$(given NCCLINIT_ONCE="$dir/open/kept" setuid $alone -- echo ran 2>&1)
matches "set-user-ID: NCCLINIT_ONCE is ignored" "*option.invalid: NCCLINIT_ONCE*ran" "$out"
same "set-user-ID: nothing is written" "" "$(ls "$dir/open/kept" 2>/dev/null)"

# ---- files out of the user's reach, also where the command line names them -----------------------

for program in with strong; do
    echo old >"$dir/closed/target"
    as "$program" env -o "$dir/closed/target" >/dev/null 2>"$dir/err"
    same "$program: -o where the user may not write" "1 old" "$? $(cat "$dir/closed/target")"
    matches "$program: -o, the reason" "*EACCES (*)*" "$(cat "$dir/err")"
    out=$(as "$program" plan --root="$dir/closed/node.tree" 2>&1) && status=0 || status=$?
    same "$program: --root where the user may not read" 125 "$status"
    matches "$program: --root, the reason" "*EACCES (*)*" "$out"
    out=$(given NCCL_CONF_FILE="$dir/closed/nccl.conf" "$program" plan 2>&1)
    matches "$program: NCCL_CONF_FILE where the user may not read" "*conf.unreadable: $dir/closed/nccl.conf*" "$out"
    same "$program: NCCL_CONF_FILE, nothing of it is shown" 0 "$(printf '%s\n' "$out" | grep -c SECRET)"
    echo >"$dir/closed/log"
    chmod 666 "$dir/closed/log"
    as "$program" --termination-log="$dir/closed/log" --require=gpus --mode=off -- true 2>/dev/null
    same "$program: --termination-log where the user may not write" "125 " "$? $(cat "$dir/closed/log")"
done
echo NCCL_IB_DISABLE=0 >"$dir/open/nccl.conf"
out=$(given NCCL_CONF_FILE="$dir/open/nccl.conf" with plan --all 2>&1)
matches "a conf file that the user may read counts" "*$dir/open/nccl.conf, rule ib.disable*" "$out"

# ---- what is handed on ---------------------------------------------------------------------------

cp "$dir/plain" "$dir/full" && setcap cap_sys_resource,cap_ipc_lock,cap_net_raw=p "$dir/full" || exit 1
ambient() { # sed's program for /proc/self/status
    sed -n 's/^CapAmb:[[:space:]]*//p'
}
out=$(as full --keep-caps=sys_resource,ipc_lock,net_raw -- cat /proc/self/status 2>"$dir/err" | ambient)
same "--keep-caps: IPC_LOCK alone is ambient" 0000000000004000 "$out"
matches "--keep-caps: what was refused" \
    "*caps.keep.missing: --keep-caps: CAP_NET_RAW, CAP_SYS_RESOURCE: nccl-init has file capabilities*" "$(cat "$dir/err")"
out=$(given NCCLINIT_KEEP_CAPS=sys_resource full --mode=off -- cat /proc/self/status 2>"$dir/err" | ambient)
same "NCCLINIT_KEEP_CAPS with --mode=off: nothing" 0000000000000000 "$out"
matches "NCCLINIT_KEEP_CAPS: told" "*caps.keep.missing: --keep-caps: CAP_SYS_RESOURCE: *" "$(cat "$dir/err")"
as full --keep-caps=sys_resource --strict -- true 2>/dev/null
same "--keep-caps=sys_resource --strict: refused" 125 $?

# ---- no memory: no capability stays effective ------------------------------------------------------

# RLIMIT_DATA from what the kernel itself needs to start the program on.
data=$(size "$dir/strong" | awk 'NR == 2 { print int(($2 + $3) / 1024) }')
echo >"$dir/closed/log"
for more in $(seq 0 4 256); do
    # shellcheck disable=SC2086 # words
    $user prlimit --data=$(((data + more) * 1024)) "$dir/strong" --termination-log="$dir/closed/log" --require=gpus --mode=off \
        -- true >/dev/null 2>&1
    [ $? -ne 125 ] || seen=$((${seen:-0} + 1))
done
same "RLIMIT_DATA: never writes where the user may not" "" "$(cat "$dir/closed/log")"
# A dynamic program has a loader and libraries, which need more.
[ "${seen:-0}" -gt 50 ] || readelf -lW "$dir/strong" | grep -q INTERP ||
    fail "RLIMIT_DATA: the program starts" "${seen:-0} times of 65"

# A seccomp filter without capset, and another user without setpriv, which needs that.
unable() { # PROGRAM ARG...
    program=$1
    shift
    REFUSE_AS_ROOT=1 "$(tool refuse)" EPERM capset "$(command -v chroot)" --userspec=1000:1000 / "$dir/$program" "$@" 2>&1
}
out=$(unable plain --mode=off -- /bin/echo ran)
if [ "$out" = ran ]; then
    out=$(unable strong --mode=off -- /bin/echo ran) && status=0 || status=$?
    same "no capset, effective capabilities: refused" 125 "$status"
    matches "no capset: why" "nccl-init: error: nccl-init cannot drop its capabilities, and stops: *" "$out"
    same "no capset, permitted ones: the command runs" ran "$(unable with --mode=off -- /bin/echo ran)"
else
    skip "no capset" "$out"
fi

# ---- a log: what reads it has no capability any more -------------------------------------------------

mkfifo -m 666 "$dir/open/fifo"
# shellcheck disable=SC2086 # words
$user setpriv "$dir/strong" log "$dir/open/fifo" >"$dir/out" 2>&1 &
pid=$!
exec 3>"$dir/open/fifo" # it has opened it, and waits for the first byte
same "log: no capability is left" "0000000000000000 0000000000000000 0000000000000000 0000000000000000 1" \
    "$(sed -n 's/^Cap\(Inh\|Prm\|Eff\|Amb\):.//p; s/^NoNewPrivs:.//p' "/proc/$pid/status" | tr '\n' ' ' | sed 's/ $//')"
echo 'h:1:2 [0] NCCL INFO Using network IB' >&3
exec 3>&-
wait "$pid" && status=0 || status=$?
same "log: it reads what the user may" 0 "$status"
matches "log: it read it" "1 process*" "$(cat "$dir/out")"
as strong log "$dir/closed/nccl.conf" >"$dir/out" 2>&1 && status=0 || status=$?
same "log: not what the user may not" 125 "$status"

# ---- what libc does before main ------------------------------------------------------------------

# Documented in nccl-init(8): closed descriptors 0 to 2 are open on /dev/null, for libc opens it there.
if [ -r /proc/self/fd ]; then
    same "without file capabilities fd 0 stays closed" closed \
        "$(as plain -- sh -c 'readlink /proc/$$/fd/0 || echo closed' <&- 2>/dev/null)"
    # glibc: /dev/full
    matches "fd 0 closed: the command finds /dev/null" "/dev/[nf]ull" \
        "$(as with -- sh -c 'readlink /proc/$$/fd/0 || echo closed' <&- 2>/dev/null)"
    as with -- sh -c "readlink /proc/\$\$/fd/1 >'$dir/open/fd'" >&- 2>/dev/null
    same "fd 1 closed: the command runs" 0 $?
    as with -- sh -c "readlink /proc/\$\$/fd/2 >'$dir/open/fd'" 2>&-
    same "fd 2 closed: the command finds /dev/null" /dev/null "$(cat "$dir/open/fd")"
fi

finish
