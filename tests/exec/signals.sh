#!/bin/sh
# SIGTERM, SIGINT, SIGHUP and SIGQUIT while nccl-init waits (--wait, self-test): status 128+n at once, no process is left, the
# command never starts; also as PID 1, where the kernel drops them unless somebody takes care. Ignored, they stay ignored,
# and the wait goes on. On a node made of files: a port without an address, and a device whose node is no device, for
# which libibverbs waits 5 s (util/open_cdev.c).
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
if is_sanitized; then
    skip_all "sanitizers in the program under test change signals and limits"
fi
if [ -z "${SIGNALS_MOUNTS:-}" ]; then
    unshare -m -fp --mount-proc mount -t tmpfs none /mnt 2>/dev/null || skip_all "unshare or mount is not allowed"
    env --default-signal true 2>/dev/null || skip_all "env has no --default-signal"
    SIGNALS_MOUNTS=yes exec unshare -m "$0"
fi
here=$(absolute "$(dirname -- "$0")")
dir=$(mktemp -d)
trap 'umount -l /sys /dev; umount -R "$dir/dev"; rm -rf "$dir"' EXIT
cp "$(program)" "$(tool setall)" "$(tool probe)" "$here/pair" "$here/compare" "$dir" || exit 1
"$(tool mktree)" "$(nodes)/h100-12dev.tree" "$dir/node" || exit 1
device=$dir/node/sys/devices/pci0000:00/0000:00:01.1/0000:01:00.0/0000:02:00.0/0000:03:00.2
echo pci:v000015B3d0000101Esv000015B3sd00000001bc02sc00i00 >"$device/modalias"
echo 6 >"$dir/node/sys/class/infiniband_verbs/abi_version"
# A /dev of its own, with what was there.
mkdir "$dir/dev" && mount -t tmpfs none "$dir/dev" && mkdir "$dir/dev/infiniband" "$dir/dev/char" || exit 1
for node in null zero full urandom; do
    touch "$dir/dev/$node" && mount --bind /dev/$node "$dir/dev/$node" || exit 1
done
: >"$dir/dev/infiniband/uverbs6"
mount --rbind "$dir/dev" /dev && mount --bind "$dir/node/sys" /sys || exit 1
export PCIDEVICE_X=0000:03:00.2 NCCLINIT_MODE=auto NCCLINIT_LOG_LEVEL=error
bin=$dir/nccl-init

now_ms() {
    echo $(($(date +%s%N) / 1000000))
}

left() { # how many processes of the program there are
    n=0
    for exe in /proc/[0-9]*/exe; do
        [ "$(readlink "$exe")" != "$bin" ] || n=$((n + 1))
    done
    echo $n
}

below() { # PID NAME: the process of that name, this one or one below it
    [ "$(cat "/proc/$1/comm" 2>/dev/null)" != "$2" ] || { echo "$1" && return; }
    # shellcheck disable=SC2013 # words
    for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
        ! below "$child" "$2" || return 0
    done
    return 1
}

in_the_wait() { # PID NAME: nccl-init sleeps, or is over. Sets target: the process NAME
    waits=$(below "$1" nccl-init) && grep -q '^State:.S' "/proc/$waits/status" && target=$(below "$1" "$2") && return
    grep -q '^State:.Z' "/proc/$1/status"
}

# sent SIGNAL COMMAND...: sets status, and ms from the signal to COMMAND's end. The signal goes to the first process of
# nccl-init or, where COMMAND has one, of tini.
sent() {
    signal=$1
    shift
    case $* in
    *tini*) name=tini ;;
    *) name=nccl-init ;;
    esac
    env --default-signal=INT,QUIT "$@" >"$dir/out" 2>&1 &
    started=$!
    target=
    until in_the_wait $started $name 2>/dev/null; do sleep 0.02; done
    begin=$(now_ms)
    kill -"$signal" "${target:-$started}"
    wait $started
    status=$?
    ms=$(($(now_ms) - begin))
}

# ends NUMBER SIGNAL NAME COMMAND...: before the 4 and 5 s that it would wait
ends() {
    number=$1 signal=$2 name=$3
    shift 3
    sent "$signal" "$@"
    same "$name, SIG$signal: status" $((128 + number)) "$status"
    if [ "$ms" -le 3000 ]; then
        pass "$name, SIG$signal: $ms ms"
    else
        fail "$name, SIG$signal: in time" "$ms ms"
    fi
    same "$name, SIG$signal: nothing was said" "" "$(grep -v "^[A-Z].*core dumped" "$dir/out")"
    same "$name, SIG$signal: no command, no process left" "0 0" "$(find "$dir" -name ran | wc -l) $(left)"
}

# shellcheck disable=SC3045 # dash and bash have it
ulimit -c 0
init='unshare -fp --mount-proc'
run="-- touch $dir/ran"
number=0
for signal in HUP INT QUIT; do
    number=$((number + 1))
    # shellcheck disable=SC2086 # words
    for before in "$init" ""; do
        ends $number $signal "${before:-not PID 1}, --wait" $before "$bin" --wait=4 $run
        ends $number $signal "${before:-not PID 1}, --selftest" $before "$bin" --selftest=warn $run
    done
done
# shellcheck disable=SC2086 # words
for before in "$init" "" "tini -s -g --" "$init tini -g --"; do
    case $before in
    *tini*) command -v tini >/dev/null || {
        skip "$before" "tini is not installed"
        continue
    } ;;
    esac
    for what in "--wait=4 $run" "--selftest=require $run" "selftest" "doctor --probe" "env --wait=4"; do
        ends 15 TERM "${before:-not PID 1}, $what" $before "$bin" $what
    done
done

# ---- ignored: the wait goes on, to its end -------------------------------------------------------------------------

# shellcheck disable=SC2086 # words
for before in "$init" ""; do
    sent TERM env --ignore-signal=TERM $before "$bin" --wait=1 -- sh -c 'grep SigIgn /proc/self/status; exit 7'
    same "${before:-not PID 1}: ignored: the command starts" 7 $status
    matches "${before:-not PID 1}: ignored: it stays so" "SigIgn:*[4-7c-f]???" "$(cat "$dir/out")"
    if [ $ms -gt 500 ]; then
        pass "${before:-not PID 1}: ignored: the wait went on"
    else
        fail "${before:-not PID 1}: ignored: the wait went on" "$ms ms"
    fi
done

# ---- no signal: the command finds all as it was --------------------------------------------------------------------

for options in "" "-d"; do # signals as unusual as can be; at their defaults
    out=$(mktemp -d "$dir/out.XXXXXX")
    # shellcheck disable=SC2086 # one or none
    same "waited: setall $options" "25 of 25 attributes equal" "$(VIA_OPTIONS=--wait=1 "$dir/pair" "$dir" "$out" $options 2>&1)"
    # That the trial fails is said: standard error is a file.
    # shellcheck disable=SC2086 # one or none
    same "tested: setall $options" "24 of 25 attributes equal" \
        "$(DIFFER=descriptors VIA_OPTIONS='--selftest=warn --deadline=1' "$dir/pair" "$dir" "$out" $options 2>&1)"
done

finish
