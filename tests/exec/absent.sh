#!/bin/sh
# Where /proc or /sys or both are not mounted, or nothing at all is there: the command starts, and each fact that is missing
# is named. A root file system with the program and the command alone, in mounts of its own.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
own_network
if readelf -l "$(program)" 2>/dev/null | grep -q INTERP; then
    skip_all "the program under test needs shared libraries, which an empty root has not"
fi
if [ -z "${ABSENT_MOUNTS:-}" ]; then
    unshare -m mount -t tmpfs none /mnt 2>/dev/null || skip_all "unshare or mount is not allowed"
    ABSENT_MOUNTS=yes exec unshare -m "$0"
fi
bin=$(program)
bare=$(tool bare)
dir=$(mktemp -d)
trap 'cd / && umount -R "$dir"; rm -rf "$dir"' EXIT
mount -t tmpfs none "$dir" && cd "$dir" || exit 1
cp "$bin" nccl-init && cp "$bare" bare || exit 1
mkdir proc sys dev
touch dev/null
mount --bind /dev/null dev/null || skip_all "mount --bind is not allowed"
chroot . /bare || skip_all "chroot is not allowed"
export RAN=yes NCCLINIT_LOG_LEVEL=info
unset NCCL_CONF_FILE 2>/dev/null || :

# here WHAT FINDINGS ABSENT: each verb in the root as it is; run, plan and doctor tell that FINDINGS are not mounted, and not
# so of ABSENT
here() {
    what=$1 findings=$2 absent=$3
    for mode in auto tcp; do
        out=$(timeout 60 chroot . /nccl-init --mode=$mode -- /bare RAN= 2>/tmp/absent.$$) && status=0 || status=$?
        err=$(cat /tmp/absent.$$; rm /tmp/absent.$$)
        same "$what: run --mode=$mode: the command runs" "0 RAN=yes" "$status $out"
        matches "$what: run --mode=$mode: told" "nccl-init: auto-detected *" "$err"
        findings_of "run --mode=$mode" "$err"
    done
    out=$(timeout 60 chroot . /nccl-init --mode=off -- /bare RAN= 2>&1)
    same "$what: run --mode=off" "RAN=yes" "$out"
    for verb in env plan topo doctor snapshot; do
        out=$(timeout 60 chroot . /nccl-init $verb 2>&1) && status=0 || status=$?
        case $verb,$status in
        *,0 | doctor,1) pass "$what: $verb" ;;
        *) fail "$what: $verb" "status $status: $out" ;;
        esac
        [ $verb = plan ] || [ $verb = doctor ] || continue
        findings_of $verb "$out"
    done
}
findings_of() { # VERB OUTPUT
    for finding in $findings; do
        matches "$what: $1: $finding" "*fact.unreadable[: ] $finding*not mounted*" "$2"
    done
    for finding in $absent; do
        case $2 in
        *"fact.unreadable"[:\ ]" $finding"*) fail "$what: $1" "it complains of $finding, which is there" ;;
        esac
    done
}

here "neither /proc nor /sys" "proc sys" ""
mount -t proc none proc && here "no /sys" sys proc
umount proc
mount --rbind /sys sys && here "no /proc" proc sys
same "run says what limit there is all the same" 1 "$(chroot . /nccl-init -- /bare 2>&1 | grep -c 'memlock [0-9u]')"
mount -t proc none proc && here "both" "" "proc sys"

finish
