#!/bin/bash
# --try=image on SoftRoCE: the guest's libibverbs, an older one, one without providers, none, no glibc, no helper.
# hardware: nics=2
# seconds: 60
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=/dev/null disable=SC2016,SC2086 # quoted for another shell; words are wanted
. /lab/lib
stock
up eth0 10.1.0.1/24
up eth1 10.2.0.1/24
rxe rxe0 eth0
rxe rxe1 eth1
small='--size=1M --bytes=64K'

# said STATUS WHAT PATTERN COMMAND...: it ends with that status, and says PATTERN, its lines joined
said() {
    local expected=$1 what=$2 pattern=$3 status=0
    shift 3
    "$@" >/tmp/said 2>&1 || status=$?
    same "$what: status" "$expected" "$status"
    matches "$what: words" "*$pattern*" "$(tr -s ' \n' ' ' </tmp/said)"
}

section 'the helper is not there'
said 0 'not tried' "image.untried: --try=image the image's libibverbs was not tried: nccl-init-try is not beside this program" \
    "$P" selftest --all --try=image
matches 'the last line' "the image's libibverbs drives 0 of 2 HCAs; not tried: nccl-init-try is not beside this program; not tried: the ports (--try=ports)" \
    "$(tail -n 1 /tmp/said)"
said 0 'without --try nothing of it' "2 of 2 ports passed in * s; not tried: the image's libibverbs (--try=image)" "$P" selftest --all $small
said 125 'a demand is not met' "--selftest=require, but the image's libibverbs drives 0 of 2 HCAs; not tried: nccl-init-try is not beside" \
    "$P" --try=image --selftest=require -- true
sed 's/nccl-init-try version /nccl-init-try version 9./' /lab/nccl-init-try >/usr/bin/nccl-init-try
chmod 755 /usr/bin/nccl-init-try
said 0 'that of another version' 'nccl-init-try is of version 9.*, not ' "$P" selftest --all --try=image
cp /lab/nccl-init-try /usr/bin

section "the guest's libibverbs"
said 0 'it drives both' "2 of 2 ports passed in * s; the image's libibverbs drives 2 of 2 HCAs" "$P" selftest --all --try=all $small
"$P" selftest --all --try=image --json >/tmp/json
same 'JSON' "2 passed passed $(readlink -f /usr/lib/x86_64-linux-gnu/libibverbs.so.1)" \
    "$(jq -r '[.image.passed, .image.hcas[].result, .image.library] | join(" ")' /tmp/json)"
echo "time: $(jq .image.took_ms /tmp/json) ms"
user() { (ulimit -l 64 && exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all "$@"); }
# that limit is an error of its own
said 1 'any user, 64 KiB of locked memory' 'drives 2 of 2 HCAs' user "$P" selftest --all --try=image
said 0 'a root that is read-only' 'drives 2 of 2 HCAs' unshare -m sh -c "mount -o remount,bind,ro / && exec $P selftest --all --try=image"
said 0 'where nothing may be executed but the program' "nccl-init-try cannot be executed: EACCES" \
    unshare -m sh -c "mkdir /other && mount -t tmpfs none /other && cp $P /lab/nccl-init-try /other && mount --bind /other/nccl-init /other/nccl-init && mount -o remount,noexec /other && exec /other/nccl-init selftest --try=image"

section 'before the command'
left() { "$P" --log-level=error "$@" -- bash -c "$LOOK" 2>&1; }
same 'nothing is left of it' "$(left)" "$(left --try=all --selftest=require $small)"
matches 'told' "*self-test: the image's libibverbs drives 2 of 2 HCAs*started" "$("$P" --try=image -- echo started 2>&1)"

# image NAME: a root of packages, with this machine's devices
image() {
    mkdir -p "/images/$1"
    tar -x -f "/lab/$1.tar" -C "/images/$1"
    mkdir -p "/images/$1"/{dev,sys,proc,bin}
    cp /usr/bin/nccl-init /usr/bin/nccl-init-try "/images/$1/bin"
    mount --rbind /dev "/images/$1/dev"
    mount --rbind /sys "/images/$1/sys"
    mount -t proc none "/images/$1/proc"
}
inside() { # NAME COMMAND...
    local name=$1
    shift
    chroot "/images/$name" "$@"
}

section 'an older rdma-core (33) beside this kernel'
image bullseye
said 0 'it drives both' "drives 2 of 2 HCAs" inside bullseye /bin/nccl-init selftest --all --try=all $small
matches 'and is the one of the image' "*The image's libibverbs, /usr/lib/x86_64-linux-gnu/libibverbs.so.1.*.33.*" "$(tr '\n' ' ' </tmp/said)"

section 'no providers'
image bookworm-bare
said 1 'both are named' 'image.provider.missing: rxe0* this image cannot drive rxe0: its /usr/lib/x86_64-linux-gnu/libibverbs.so.1.*.44.* was loaded, and shows no such HCA' \
    inside bookworm-bare /bin/nccl-init selftest --all --try=image
said 1 'beside the ports, which pass' "nccl-init's own libibverbs opens it" inside bookworm-bare /bin/nccl-init selftest --all --try=all $small
matches 'the last line' "2 of 2 ports passed in * s; the image's libibverbs drives 0 of 2 HCAs*" "$(tail -n 1 /tmp/said)"
said 125 'a demand is not met' "--selftest=require, but the image's libibverbs drives 0 of 2 HCAs" \
    inside bookworm-bare /bin/nccl-init --try=image --selftest=require -- /bin/nccl-init --version

section 'no libibverbs, no glibc'
image bookworm-glibc
said 0 'no libibverbs' 'image.untried: --try=image *not tried: none is complete on the loader?s path; *libibverbs.so.1: cannot open shared object file' \
    inside bookworm-glibc /bin/nccl-init selftest --all --try=image
image musl
said 0 'musl' 'not tried: this image has no glibc (/lib64/ld-linux-x86-64.so.2), which nccl-init-try needs' \
    inside musl /bin/nccl-init selftest --all --try=image
finish
