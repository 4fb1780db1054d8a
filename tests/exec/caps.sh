#!/bin/sh
# Capabilities of the command: --keep-caps, --drop-caps, file capabilities; nothing else changes (see compare).
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
own_network
PATH=$PATH:/usr/sbin:/sbin
if is_sanitized; then
    skip_all "sanitizers do not run with file capabilities, and use capabilities themselves"
fi
[ "$(id -u)" -eq 0 ] || skip_all "not root: capabilities cannot be given and taken"
for need in setpriv setcap capsh prlimit; do
    command -v "$need" >/dev/null || skip_all "$need is not installed"
done
here=$(absolute "$(dirname -- "$0")")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp "$(program)" "$(tool setall)" "$(tool probe)" "$here/pair" "$here/compare" "$dir" || exit 1
mkdir "$dir/file" && cp "$dir"/* "$dir/file" 2>/dev/null
chmod 755 "$dir" "$dir"/*
export NCCLINIT_MODE=tcp NCCLINIT_LOG_LEVEL=warn HOME=/
bin=$dir/nccl-init
user='setpriv --reuid=1000 --regid=1000 --clear-groups'
lock=14 resource=24 setpcap=8 raw=13

in_set() { # SET BIT: 1 or 0, of the capability sets in $out, as /proc/self/status has them
    value=0x$(printf '%s\n' "$out" | sed -n "s/^Cap$1:[[:space:]]*//p")
    echo $((value >> $2 & 1))
}
all_five() { # BIT: Inh Prm Eff Bnd Amb
    echo "$(in_set Inh "$1")$(in_set Prm "$1")$(in_set Eff "$1")$(in_set Bnd "$1")$(in_set Amb "$1")"
}
caps() { # COMMAND...: what a command after it has
    out=$("$@" cat /proc/self/status 2>"$dir/err")
}
can() {
    "$@" >/dev/null 2>&1
}
own() { # SET BIT: of this script
    out=$(cat /proc/self/status)
    in_set "$1" "$2"
}

has_resource=$(own Eff $resource)
[ "$(own Eff $lock)$(own Eff $setpcap)$(own Eff $raw)" = 111 ] ||
    skip_all "CAP_IPC_LOCK, CAP_SETPCAP and CAP_NET_RAW are not all effective here"
$user true 2>/dev/null || skip_all "setpriv cannot change the user"

differ() { # NAME EXPECTED ATTRIBUTES OPTIONS COMMAND...: of 25, so many are equal, and those named differ
    name=$1 expected=$2 attributes=$3 options=$4
    shift 4
    out=$(mktemp -d "$dir/out.XXXXXX")
    chmod 777 "$out"
    result=$(VIA_OPTIONS=$options DIFFER=$attributes "$@" "$out" 2>&1)
    same "$name" "$expected of 25 attributes equal" "$result"
}

# ---- as root ---------------------------------------------------------------------------------

caps "$bin" --
same "root, default: IPC_LOCK as ever" 01110 "$(all_five $lock)"
caps "$bin" --keep-caps=ipc_lock --
same "root, --keep-caps" 11111 "$(all_five $lock)"
same "root, --keep-caps: no finding" "" "$(cat "$dir/err")"
differ "root, --keep-caps changes two sets" 23 "inheritable ambient" --keep-caps=ipc_lock "$dir/pair" "$dir"
caps "$bin" --drop-caps=NET_RAW,ipc_lock --
same "root, --drop-caps: NET_RAW" 00000 "$(all_five $raw)"
same "root, --drop-caps: IPC_LOCK" 00000 "$(all_five $lock)"
same "root, --drop-caps: SETPCAP stays" 01110 "$(all_five $setpcap)"
differ "root, --drop-caps changes four sets" 21 "inheritable permitted effective bounding" --drop-caps=net_raw \
    "$dir/pair" "$dir"
caps "$bin" --drop-caps=setpcap,net_raw --
same "root, --drop-caps=setpcap: itself too" 00000 "$(all_five $setpcap)"
same "root, --drop-caps=setpcap: and the other" 00000 "$(all_five $raw)"
caps "$bin" --mode=off --drop-caps=net_raw --keep-caps=ipc_lock --
same "mode=off drops too" 00000 "$(all_five $raw)"
same "mode=off keeps too" 11111 "$(all_five $lock)"
caps setpriv --inh-caps=+net_raw --ambient-caps=+net_raw "$bin" --drop-caps=net_raw --
same "ambient and inheritable ones go" 00000 "$(all_five $raw)"
caps capsh --drop=cap_net_raw -- -c "exec '$bin' --drop-caps=net_raw --keep-caps=ipc_lock -- \"\$@\"" sh
same "what is not there need not go" "" "$(cat "$dir/err")"
caps setpriv --bounding-set=-setpcap "$bin" --drop-caps=net_raw --
matches "no SETPCAP: told" "*caps.drop.bounding: --drop-caps: CAP_NET_RAW: it stays in the bounding set*runs as root*" \
    "$(cat "$dir/err")"
same "no SETPCAP: the command runs, root has it back" 01110 "$(all_five $raw)"
caps setpriv --no-new-privs --bounding-set=-setpcap "$bin" --drop-caps=net_raw --
same "no SETPCAP, but no_new_privs: root does not have it back" 00010 "$(all_five $raw)"
same "no SETPCAP, but no_new_privs: nothing to tell" "" "$(cat "$dir/err")"
# SECBIT_NO_CAP_AMBIENT_RAISE
caps capsh --secbits=0x40 -- -c "exec '$bin' --keep-caps=ipc_lock -- \"\$@\"" sh
matches "the kernel refuses: told" "*caps.keep.missing: --keep-caps: CAP_IPC_LOCK: the kernel refuses to make it ambient*" \
    "$(cat "$dir/err")"
"$bin" --strict --keep-caps=ipc_lock --drop-caps=ipc_lock -- true 2>/dev/null
same "strict refuses what cannot be" 125 $?

# ---- another user, no file capabilities ----------------------------------------------------------

# shellcheck disable=SC2086 # words
{
    caps $user "$bin" --keep-caps=ipc_lock --
    same "non-root: nothing to keep" 00010 "$(all_five $lock)"
    matches "non-root: the set that lacks it" \
        "*caps.keep.missing: --keep-caps: CAP_IPC_LOCK: in the bounding set only*setcap*" \
        "$(cat "$dir/err")"
    caps setpriv --bounding-set=-ipc_lock $user "$bin" --keep-caps=ipc_lock --
    matches "non-root: not in the bounding set" "*CAP_IPC_LOCK: not in the bounding set*" "$(cat "$dir/err")"
    ambient="$user --inh-caps=+ipc_lock --ambient-caps=+ipc_lock"
    caps $ambient "$bin" --keep-caps=ipc_lock --
    same "non-root, ambient already" "11111 " "$(all_five $lock) $(cat "$dir/err")"
    caps $ambient "$bin" --drop-caps=ipc_lock --
    same "non-root, no SETPCAP: gone from four sets" 00010 "$(all_five $lock)"
    matches "non-root, no SETPCAP: told" "*caps.drop.bounding: *or has file capabilities, gets it back*" "$(cat "$dir/err")"
}

# ---- file capabilities -----------------------------------------------------------------------

with=$dir/file/nccl-init
if setcap cap_sys_resource,cap_ipc_lock=p "$with" 2>"$dir/err"; then
    # shellcheck disable=SC2086 # words
    {
        caps $user "$with" --
        same "file capabilities: not handed on" 00010 "$(all_five $lock)"
        caps $user "$with" --keep-caps=ipc_lock --
        same "file capabilities, --keep-caps: permitted, effective, ambient" 11111 "$(all_five $lock)"
        same "file capabilities, --keep-caps: no finding" "" "$(cat "$dir/err")"
        differ "file capabilities: what the kernel resets at such an exec, no more" 22 "limits parents personality" \
            "" $user "$dir/file/pair" "$dir/file"
        # setpriv itself keeps what is permitted: the exec behind it drops that (setpriv(1), --reuid).
        caps $user setpriv --no-new-privs "$with" --keep-caps=ipc_lock --
        same "no_new_privs bars them" 00010 "$(all_five $lock)"
        matches "no_new_privs: told" "*no_new_privs disables file capabilities*" "$(cat "$dir/err")"
        caps setpriv --bounding-set=-ipc_lock $user "$with" --keep-caps=ipc_lock --
        same "not in the bounding set: the command runs" 00000 "$(all_five $lock)"
        matches "not in the bounding set: told" "*not in the bounding set*" "$(cat "$dir/err")"
        prlimit --memlock=65536:65536 $user "$with" --memlock=keep --require=memlock -- true 2>/dev/null
        same "--require=memlock without --keep-caps" 125 $?
        prlimit --memlock=65536:65536 $user "$with" --memlock=keep --require=memlock --keep-caps=ipc_lock -- true
        same "--require=memlock with it" 0 $?
        raised=$(prlimit --memlock=65536:262144 $user "$with" -- cat /proc/self/limits 2>"$dir/err" |
            sed -n 's/^Max locked memory *\([^ ]*\) *\([^ ]*\) .*/\1 \2/p')
        if [ "$has_resource" = 1 ]; then
            same "file capabilities: the hard limit goes up" "unlimited unlimited" "$raised"
            caps $user "$with" --drop-caps=unneeded --
            same "file capabilities: and CAP_SYS_RESOURCE is in the bounding set only" 00010 "$(all_five $resource)"
        else
            same "without CAP_SYS_RESOURCE in the bounding set: soft to hard" "262144 262144" "$raised"
            skip "file capabilities: the hard limit goes up" "CAP_SYS_RESOURCE is not in this bounding set"
        fi
    }
    if can unshare -m mount -t tmpfs -o nosuid none "$dir/file"; then
        # shellcheck disable=SC2016 # for the inner shell
        out=$(unshare -m sh -c 'mount -t tmpfs -o nosuid none "$1" && cp "$2" "$1" && setcap cap_ipc_lock=p "$1/nccl-init" &&
            exec setpriv --reuid=1000 --regid=1000 --clear-groups "$1/nccl-init" --keep-caps=ipc_lock -- cat /proc/self/status' \
            sh "$dir/file" "$bin" 2>"$dir/err")
        same "nosuid mount bars them" 00010 "$(all_five $lock)"
        matches "nosuid mount: told" "*caps.keep.missing*" "$(cat "$dir/err")"
    else
        skip "nosuid mount" "mount is not allowed"
    fi
else
    skip "file capabilities" "$(cat "$dir/err")"
fi

# ---- what cannot be kept undoes no drop, and nothing else that is kept -------------------------------

# holds WHO BINARY COMMAND...: each --keep-caps with each --drop-caps; COMMAND starts BINARY, with IPC_LOCK permitted
tried=0
holds() {
    who=$1 program=$2
    shift 2
    for keep in ipc_lock net_raw ipc_lock,sys_time sys_time,ipc_lock sys_time; do
        for drop in net_raw ipc_lock chown,net_raw setpcap,net_raw; do
            for mode in off tcp; do
                tried=$((tried + 1))
                caps "$@" "$program" --mode=$mode --keep-caps=$keep --drop-caps=$drop --
                said="$who: --mode=$mode --keep-caps=$keep --drop-caps=$drop"
                case $drop in
                *net_raw) gone=$raw ;;
                *) gone=$lock ;;
                esac
                case $(all_five $gone) in
                00000) ;;
                00010) [ "$who" != root ] || fail "$said" "capability $gone is still in the bounding set" ;;
                *) fail "$said" "capability $gone is still there: $(all_five $gone)" ;;
                esac
                case $keep,$gone in
                *ipc_lock*,$raw) [ "$(in_set Amb $lock)" = 1 ] || fail "$said" "IPC_LOCK is not kept" ;;
                esac
            done
        done
    done
}
can_time=$(own Prm 25)
if [ "$can_time" = 1 ]; then # another that this process lacks
    hide='setpriv --bounding-set=-sys_time --inh-caps=-sys_time'
else
    hide=
fi
# shellcheck disable=SC2086 # words
{
    holds root "$bin" $hide
    holds user "$bin" $hide $user --inh-caps=+ipc_lock,+net_raw --ambient-caps=+ipc_lock,+net_raw
    setcap cap_ipc_lock,cap_net_raw=p "$with" 2>/dev/null && holds "file capabilities" "$with" $hide $user setpriv
}
pass "$tried combinations"

# ---- a fresh user namespace: all capabilities, which count in it only ------------------------------

if can unshare -r true; then
    caps unshare -r "$bin" --
    same "user namespace, default: CAP_SYS_RESOURCE as ever" 01110 "$(all_five $resource)"
    caps unshare -r "$bin" --drop-caps=unneeded --
    same "user namespace, unneeded: gone from all five" 00000 "$(all_five $resource)"
    same "user namespace, unneeded: and nothing else" 01110 "$(all_five $lock)"
    caps unshare -r "$bin" --drop-caps=unneeded --keep-caps=sys_resource --
    same "user namespace: what is to be kept is needed" 11111 "$(all_five $resource)"
    prlimit --memlock=65536:65536 unshare -r "$bin" --require=memlock -- true 2>"$dir/err"
    same "user namespace: its CAP_IPC_LOCK is not enough for memlock" 125 $?
    matches "user namespace: why" "*command not started: --require=memlock, but only 64 KiB can be locked: *user namespace*" "$(cat "$dir/err")"
else
    skip "user namespace" "unshare -r is not allowed"
fi
if [ "$has_resource" = 1 ]; then
    caps prlimit --memlock=65536:65536 "$bin" --drop-caps=unneeded --
    same "unneeded goes once the limit is up" 00000 "$(all_five $resource)"
    out=$(prlimit --memlock=65536:65536 "$bin" --drop-caps=unneeded -- cat /proc/self/limits 2>&1)
    matches "and the limit is up" "*Max locked memory *unlimited *unlimited*" "$out"
else
    skip "unneeded goes once the limit is up" "this process has no CAP_SYS_RESOURCE"
fi

finish
