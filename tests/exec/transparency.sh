#!/bin/sh
# What the command inherits is what it would inherit without nccl-init (acceptance cases E1 to E14): setall makes every
# inheritable attribute unusual, probe prints them all, in each of the settings below; 25 of 25 must be equal.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
if is_sanitized; then
    skip_all "sanitizers in the program under test change signals and limits"
fi
here=$(absolute "$(dirname -- "$0")")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# Copies, in a place that every user can reach.
cp "$(program)" "$(tool setall)" "$(tool probe)" "$here/pair" "$here/compare" "$dir" || exit 1
chmod 755 "$dir" "$dir"/*

setting() { # NAME COMMAND...: COMMAND ends in a call of pair or compare
    name=$1
    shift
    if result=$("$@" 2>&1) && [ "$result" = "25 of 25 attributes equal" ]; then
        pass "$name: $result"
    else
        fail "$name" "$result"
    fi
}

can() { # COMMAND...: such a setting can be made here
    "$@" >/dev/null 2>&1
}

new_out() { # prints a fresh directory that anybody can write to
    new=$(mktemp -d "$dir/out.XXXXXX")
    chmod 777 "$new"
    echo "$new"
}

setting "uid $(id -u)" "$dir/pair" "$dir" "$(new_out)"
setting "signals at their defaults" "$dir/pair" "$dir" "$(new_out)" -d
for fd in 0 1 2; do
    setting "fd $fd closed" "$dir/pair" "$dir" "$(new_out)" -c "$fd"
done
setting "fds 0 and 1 closed" "$dir/pair" "$dir" "$(new_out)" -c 0 -c 1
setting "fds 0, 1, 2 closed" "$dir/pair" "$dir" "$(new_out)" -c 0 -c 1 -c 2
setting "no_new_privs" "$dir/pair" "$dir" "$(new_out)" -n
setting "seccomp filter" "$dir/pair" "$dir" "$(new_out)" -n -s

user='--reuid=65534 --regid=65534 --clear-groups'
# shellcheck disable=SC2086 # words
if can setpriv $user true; then
    setting "non-root" setpriv $user "$dir/pair" "$dir" "$(new_out)"
    setting "non-root, no_new_privs" setpriv $user --no-new-privs "$dir/pair" "$dir" "$(new_out)"
    setting "non-root, fds 0, 1, 2 closed" setpriv $user "$dir/pair" "$dir" "$(new_out)" -c 0 -c 1 -c 2
else
    skip "non-root" "setpriv cannot change the user"
fi
# shellcheck disable=SC2086
if can setpriv $user --inh-caps=+net_raw --ambient-caps=+net_raw true; then
    setting "non-root, ambient capability" setpriv $user --inh-caps=+net_raw \
        --ambient-caps=+net_raw "$dir/pair" "$dir" "$(new_out)"
else
    skip "non-root, ambient capability" "setpriv cannot set one"
fi
if can unshare -r true; then
    setting "root of a new user namespace" unshare -r "$dir/pair" "$dir" "$(new_out)"
else
    skip "root of a new user namespace" "unshare -r is not allowed"
fi

# ---- PID 1, tini -----------------------------------------------------------------------------

# alone NAME PREFIX...: as pair does, without a shell between PREFIX and the two
alone() {
    name=$1
    shift
    for how in direct via; do
        with=
        [ $how = direct ] || with=$dir/nccl-init
        # shellcheck disable=SC2086 # none or one
        PROBE_OUT=$dir/$how.raw "$@" "$dir/setall" "$dir" ${with:+$with --} "$dir/probe" </dev/null 2>"$dir/err"
        # Each run has namespaces of its own.
        sed 's/^\(namespace [pm][in][dt]\): .*/\1/' "$dir/$how.raw" >"$dir/$how"
    done
    setting "$name" "$dir/compare" "$dir/direct" "$dir/via"
}
new_pids='unshare -fp --mount-proc'
# shellcheck disable=SC2086 # words
if can $new_pids true; then
    alone "PID 1" $new_pids
    same "PID 1: pid" "env: PROBE_PID=1" "$(grep PROBE_PID "$dir/via")"
    # shellcheck disable=SC2016 # for the inner shell
    out=$($new_pids "$dir/nccl-init" --mode=tcp --log-level=debug -- sh -c 'echo "pid $$"' 2>&1)
    matches "PID 1: the command is PID 1" "*pid 1*" "$out"
    matches "PID 1: what that means, at debug" "*exec.pid1.no-init*SIGTERM*zombies*tini -g -- nccl-init -- *--init*" "$out"
    out=$($new_pids "$dir/nccl-init" --mode=tcp -- true 2>&1)
    same "PID 1: and not at info" 0 "$(printf '%s\n' "$out" | grep -c pid1)"
    out=$($new_pids sh -c "'$dir/nccl-init' doctor --all; :" 2>&1)
    matches "a shell as PID 1: doctor tells it" "*exec.pid1.no-init*tini -g -- nccl-init -- *" "$out"
    out=$($new_pids "$dir/nccl-init" doctor --all 2>&1)
    same "PID 1 itself: doctor does not" 0 "$(printf '%s\n' "$out" | grep -c no-init)"
    out=$($new_pids sh -c "'$dir/nccl-init' --mode=tcp --log-level=debug -- true; :" 2>&1)
    same "not PID 1: not told by run" 0 "$(printf '%s\n' "$out" | grep -c pid1)"
else
    skip "PID 1" "unshare cannot make a PID namespace"
fi
if command -v tini >/dev/null; then
    alone "under tini" tini -s -g --
    # shellcheck disable=SC2086 # words
    if can $new_pids true; then
        alone "under tini as PID 1" $new_pids tini -g --
        out=$($new_pids tini -g -- "$dir/nccl-init" doctor --all 2>&1)
        same "tini as PID 1: doctor has nothing to say" 0 "$(printf '%s\n' "$out" | grep -c no-init)"
    fi
    # shellcheck disable=SC2016
    tini -s -g -- "$dir/nccl-init" --mode=tcp -- sh -c 'kill -TERM $$' 2>/dev/null
    same "under tini: signal of the command" 143 $?
    tini -s -g -- "$dir/nccl-init" --mode=tcp -- sh -c "echo >'$dir/started'; exec sleep 60" 2>/dev/null &
    pid=$!
    until [ -e "$dir/started" ]; do sleep 0.1; done
    kill -TERM "$pid"
    wait "$pid"
    same "under tini: TERM reaches the command" 143 $?
else
    skip "under tini" "tini is not installed"
fi

# ---- other roots -----------------------------------------------------------------------------

# in_mounts NAME SCRIPT: pair in a mount namespace that SCRIPT changed; OUT is a file system of its own
in_mounts() {
    out=$(new_out)
    setting "$1" unshare -m sh -c "mount -t tmpfs none '$out' && $2 && '$dir/pair' '$dir' '$out'"
}
if ! can unshare -m mount -t tmpfs none "$dir"; then
    skip "no /proc, no /sys, empty /dev, read-only root" "unshare or mount is not allowed"
else
    in_mounts "no /proc" "mount -t tmpfs none /proc"
    in_mounts "no /sys" "mount -t tmpfs none /sys"
    in_mounts "empty /dev" "exec 9</dev/null && mount -t tmpfs none /dev && touch /dev/null"
    in_mounts "no /proc, no /sys, empty /dev" \
        "mount -t tmpfs none /proc && mount -t tmpfs none /sys &&
         mount -t tmpfs none /dev && touch /dev/null"
    if can unshare -m mount -o remount,ro,bind /; then
        in_mounts "read-only root" "mount -o remount,ro,bind /"
    else
        skip "read-only root" "the root cannot be remounted"
    fi
    out=$(unshare -m sh -c "mount -t tmpfs none /dev && exec '$dir/nccl-init' --mode=tcp -- echo ran 2>&1 <&-")
    matches "nothing at all in /dev, fd 0 closed" "*ran*" "$out"
fi

# ---- what a dump does not show ---------------------------------------------------------------

# shellcheck disable=SC2046 # words
same "10,000 arguments" "$(seq 10000)" \
    "$("$dir/nccl-init" --log-level=error -- printf '%s\n' $(seq 10000) 2>/dev/null)"
same "argv[0] as typed, by PATH" "arg: probe" \
    "$(PATH=$dir:$PATH "$dir/nccl-init" --log-level=error -- probe | grep '^arg:')"
same "argv[0] as typed, by path" "arg: ./probe" \
    "$(cd "$dir" && ./nccl-init --log-level=error -- ./probe | grep '^arg:')"
export NCCLINIT_LOG_LEVEL=error
same "nested gives the same environment" "$("$dir/nccl-init" -- env | grep -v '^_=' | sort)" \
    "$("$dir/nccl-init" -- "$dir/nccl-init" run -- env 2>/dev/null | grep -v '^_=' | sort)"
(cd / && exec "$dir/nccl-init" -- sh -c 'exit 42')
same "exit status of the command" 42 $?
# shellcheck disable=SC2016 # for the inner shell
"$dir/nccl-init" -- sh -c 'kill -TERM $$' 2>/dev/null
same "signal of the command" 143 $?

finish
