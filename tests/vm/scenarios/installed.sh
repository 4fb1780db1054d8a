#!/bin/bash
# What `install` puts into a volume, and what its file capabilities do for another user than root, where root is whole:
# the hard limit goes up, and only where bounding set, no_new_privs and mount allow it.
# seconds: 8
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=/dev/null
. /lab/lib

volume=/run/volume
mkdir -p /run/image "$volume"
mount -t tmpfs -o mode=777 tmpfs "$volume"
cp "$P" /run/image/nccl-init
chmod 755 /run/image/nccl-init
setcap cap_sys_resource,cap_ipc_lock=p /run/image/nccl-init
installed=$volume/nccl-init

limits() {
    # shellcheck disable=SC2016 # the inner shell's
    echo 'echo $(ulimit -S -l) $(ulimit -H -l)'
}

# The command of user 1000 finds soft and hard limit and the ambient set, as Kubernetes starts it: 64 KiB, the
# capabilities in the bounding set only.
finds() { # SETPRIV-OPTION... -- NCCL-INIT ARG...
    local options=()
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    # The shell between them leaves what setpriv keeps permitted until the next execve.
    prlimit --memlock=65536:65536 setpriv --reuid=1000 --regid=1000 --clear-groups "${options[@]}" \
        bash -c 'exec "$@"' bash "$@" \
        -- bash -c "$(limits) \$(sed -n 's/^CapAmb:[[:space:]]*//p' /proc/self/status)" 2>/run/said
}
lock=0000000000004000 none=0000000000000000

section "install"
works "as root" /run/image/nccl-init install "$volume"
same "the copy's capabilities" "cap_ipc_lock,cap_sys_resource=p" "$(getcap "$installed" | sed 's/^[^ ]* //')"

section "the copy's capabilities, not as root"
same "the hard limit goes up" "unlimited unlimited $none" "$(finds -- "$installed")"
same "CAP_IPC_LOCK is kept where asked for" "unlimited unlimited $lock" "$(finds -- "$installed" --keep-caps=ipc_lock)"
same "not in the bounding set" "64 64 $none" "$(finds --bounding-set=-sys_resource,-ipc_lock -- "$installed")"
same "no_new_privs" "64 64 $none" "$(finds --no-new-privs -- "$installed")"
mount -o remount,nosuid "$volume"
same "nosuid" "64 64 $none" "$(finds -- "$installed")"
matches "of which install warns" "*nosuid*" "$(/run/image/nccl-init install "$volume" 2>&1)"
mount -o remount,suid "$volume"
same "a copy that could not keep them" "64 64 $none" "$(
    setpriv --reuid=1000 --regid=1000 --clear-groups /run/image/nccl-init install --file "$volume/mine" 2>/dev/null
    finds -- "$volume/mine"
)"

section "limits of the container"
same "root, soft and hard" "unlimited unlimited" "$(prlimit --memlock=65536:65536 "$P" -- bash -c "$(limits)" 2>/run/said)"
finish
