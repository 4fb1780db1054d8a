#!/bin/sh
# The image as pods use it: in front of a command, from an init container through a volume, with little allowed.
# SPDX-License-Identifier: Apache-2.0
set -u
PATH=$PATH:/usr/sbin:/sbin
here=$(cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=/dev/null
. "$here/../cli/lib"
# shellcheck source=/dev/null
. "$here/lib"
dir=${dir:?}
top=$(cd -- "$here/../.." && pwd)
for variant in caps plain; do
    "$top/container/build" "$variant" "localhost/nccl-init:$variant" amd64 >"$dir/log" 2>&1 ||
        fail "build $variant" "$(cat "$dir/log")"
done
lock=0000000000004000 none=0000000000000000

# What show says about NAME; of a set of capabilities, in $out.
value() { printf '%s\n' "$out" | sed -n "s/^$1:\{0,1\}[[:space:]]\{1,\}//p"; }

# ---- entry point -------------------------------------------------------------------------------

# as docs/start/install.md has it: FROM the user's image, COPY --from=nccl-init
for variant in caps plain; do
    mkdir -p "$dir/user"
    cat >"$dir/user/Containerfile" <<X
FROM localhost/show
COPY --from=localhost/nccl-init:$variant /nccl-init /usr/local/bin/
ENV PATH=/usr/local/bin
ENTRYPOINT ["nccl-init", "--"]
CMD ["/show"]
X
    buildah build --quiet --pull-never -t "localhost/user:$variant" "$dir/user" >"$dir/log" 2>&1 ||
        fail "COPY --from: $variant" "$(cat "$dir/log")"
done
mnt=$(podman image mount localhost/user:caps)
same "COPY --from keeps the file capabilities" "cap_ipc_lock,cap_sys_resource=p" \
    "$(getcap "$mnt/usr/local/bin/nccl-init" | sed 's/^[^ ]* //')"
podman image unmount localhost/user:caps >/dev/null
out=$(start localhost/user:caps 2>"$dir/err")
same "entry point: the command is PID 1" 1 "$(value pid)"
same "entry point: the decision" "NCCL_IB_DISABLE=1" "$(printf '%s\n' "$out" | grep '^NCCL')"
matches "entry point: one line" "*nccl-init: auto-detected TCP sockets, no RDMA; this pod was given no HCA; memlock *" "$(cat "$dir/err")"
start localhost/user:caps /none 2>"$dir/err"
same "entry point: no such command" 127 $?
start --entrypoint '["nccl-init", "--mode=rdma", "--"]' localhost/user:caps /show 2>"$dir/err"
same "entry point: refused" 125 $?
out=$(start --read-only localhost/user:caps 2>"$dir/err")
same "read-only root file system" "1 NCCL_IB_DISABLE=1" "$(value pid) $(printf '%s\n' "$out" | grep '^NCCL')"

# ---- another user --------------------------------------------------------------------------------

# ran NAME UID AMBIENT SOFT-LIMIT PATTERN ARG...: what the command finds, and what nccl-init says
ran() {
    name=$1 expected="$2 $3 $4" pattern=$5
    shift 5
    out=$(start "$@" 2>"$dir/err")
    same "$name: user, ambient set, limit" "$expected" "$(value uid) $(value CapAmb) $(value soft)"
    matches "$name: told" "$pattern" "$(cat "$dir/err")"
}
# of a container that has too little, as most clusters give it
low='--ulimit memlock=65536:65536'
# shellcheck disable=SC2086 # words
{
    ran "another user, default capabilities" 1000 $none 65536 "*TCP sockets, no RDMA*memlock 64 KiB*" \
        $low --user 1000:1000 localhost/user:caps
    # Kubernetes leaves the bounding set alone to other users than root; `show as` makes that of a root's container,
    # for podman itself would make them ambient.
    other="--cap-add ipc_lock --entrypoint /show localhost/user:caps as 1000"
    ran "Kubernetes' way, kept" 1000 $lock 65536 "*" $low $other nccl-init --keep-caps=ipc_lock -- /show
    ran "Kubernetes' way, not asked for" 1000 $none 65536 "*" $low $other nccl-init -- /show
    other="--cap-add ipc_lock --entrypoint /show localhost/user:plain as 1000"
    ran "no file capabilities" 1000 $none 65536 \
        "*caps.keep.missing: --keep-caps: CAP_IPC_LOCK: in the bounding set only*setcap*" \
        $low $other nccl-init --keep-caps=ipc_lock -- /show
    other="--cap-add ipc_lock --security-opt no-new-privileges --entrypoint /show localhost/user:caps as 1000"
    ran "no_new_privs: file capabilities do not count" 1000 $none 65536 "*caps.keep.missing*CAP_IPC_LOCK*" \
        $low $other nccl-init --keep-caps=ipc_lock -- /show
    ran "not in the bounding set: it starts all the same" 1000 $none 65536 "*caps.keep.missing*not in the bounding set*" \
        $low --entrypoint /show localhost/user:caps as 1000 nccl-init --keep-caps=ipc_lock -- /show
    ran "all capabilities dropped" 1000 $none 65536 "*" \
        $low --cap-drop all --security-opt no-new-privileges --read-only --user 1000:1000 localhost/user:caps
    # Ambient ones are lost where a file with capabilities is executed (capabilities(7)).
    other="--cap-add ipc_lock --user 1000:1000"
    ran "podman's way, no file capabilities" 1000 $lock 65536 "*" $low $other localhost/user:plain
    ran "podman's way, file capabilities" 1000 $none 65536 "*" $low $other localhost/user:caps
    ran "podman's way, kept" 1000 $lock 65536 "*" $low $other --env NCCLINIT_KEEP_CAPS=ipc_lock localhost/user:caps
}

# ---- the limit of locked memory ---------------------------------------------------------------------

out=$(start --ulimit memlock=65536:1048576 --user 1000:1000 localhost/user:caps 2>"$dir/err")
same "ulimit: soft up to hard" "1048576 1048576" "$(value soft) $(value hard)"
matches "ulimit: told" "*memlock 1 MiB*" "$(cat "$dir/err")"
if out=$(start --ulimit memlock=-1:-1 localhost/user:caps 2>"$dir/err"); then
    same "ulimit: unlimited" unlimited "$(value soft)"
    out=$(start --ulimit memlock=65536:65536 --cap-add sys_resource --entrypoint /show localhost/user:caps \
        as 1000 nccl-init -- /show 2>"$dir/err")
    same "file capabilities raise the hard limit" "1000 unlimited unlimited" "$(value uid) $(value soft) $(value hard)"
else
    skip "raising the hard limit" "root has no CAP_SYS_RESOURCE here: $(tail -n 1 "$dir/err")"
fi

# ---- init container and a volume ---------------------------------------------------------------------

# podman mounts volumes nosuid unless told otherwise; Kubernetes does not
podman volume create shared >/dev/null
start -v shared:/shared:suid localhost/nccl-init:caps install /shared 2>"$dir/err"
same "install: status" 0 $?
same "install: told" "nccl-init: installed /shared/nccl-init, mode 0755, with its file capabilities
nccl-init: installed /shared/nccl-init-try, for --try=image" "$(cat "$dir/err")"
mnt=$(podman volume inspect --format '{{.Mountpoint}}' shared)
same "install: the copy's capabilities" "cap_ipc_lock,cap_sys_resource=p" "$(getcap "$mnt/nccl-init" | sed 's/^[^ ]* //')"
out=$(start -v shared:/shared:ro --entrypoint /shared/nccl-init localhost/show -- /show 2>"$dir/err")
same "the copy in another image, read-only there" "1 NCCL_IB_DISABLE=1" "$(value pid) $(printf '%s\n' "$out" | grep '^NCCL')"
kept() { # VOLUME
    out=$(start -v "$1" --cap-add ipc_lock --entrypoint /show localhost/show as 1000 \
        /shared/nccl-init --keep-caps=ipc_lock -- /show 2>"$dir/err")
    echo "$(value uid) $(value CapAmb)"
}
same "the copy's capabilities work there" "1000 $lock" "$(kept shared:/shared:ro,suid)"
same "but not on a nosuid mount" "1000 $none" "$(kept shared:/shared:ro)"
start -v shared:/shared localhost/nccl-init:caps install /shared 2>"$dir/err"
matches "of which install warns" "*installed*warning: /shared/nccl-init: this file system is mounted nosuid;*" "$(cat "$dir/err")"
start -v shared:/shared:ro localhost/nccl-init:caps install /shared 2>"$dir/err"
same "read-only volume: status" 1 $?
matches "read-only volume: told" "*EROFS (*); mount the volume without readOnly*" "$(cat "$dir/err")"
start --read-only --cap-drop all -v shared:/shared --user 1000:1000 localhost/nccl-init:caps install /shared 2>"$dir/err"
same "not allowed to write: status" 1 $?
matches "not allowed to write: told" "*EACCES (*); run as a user that may write there, or set the pod's fsGroup*" "$(cat "$dir/err")"
chmod 777 "$mnt" # as an emptyDir is
start --read-only --cap-drop all -v shared:/shared --user 1000:1000 localhost/nccl-init:caps install --file /shared/mine 2>"$dir/err"
same "another user: status, owner, capabilities" "0 1000 755 " "$? $(stat -c '%u %a' "$mnt/mine") $(getcap "$mnt/mine")"
matches "another user: told" "*without the file capabilities of this program: EPERM (*); install as root with CAP_SETFCAP*" "$(cat "$dir/err")"
start --tmpfs /shared:rw,noexec,nosuid localhost/nccl-init:caps install /shared 2>"$dir/err"
same "a tmpfs: status" 0 $?
matches "a tmpfs: told" "*noexec*nosuid*" "$(cat "$dir/err")"

# the same by podman's own init containers
podman pod create --infra=false job >/dev/null 2>"$dir/err" &&
    podman create --pod job --init-ctr=once --pull=never --network=none --ulimit nofile=1024:1024 \
        --ulimit nproc=1024:1024 -v pod:/shared localhost/nccl-init:caps install /shared >/dev/null 2>"$dir/err" &&
    podman create --pod job --name train --pull=never --network=none --ulimit nofile=1024:1024 \
        --ulimit nproc=1024:1024 -v pod:/shared:ro --entrypoint /shared/nccl-init localhost/show -- /show \
        >/dev/null 2>"$dir/err" && podman pod start job >/dev/null 2>"$dir/err" && podman wait train >"$dir/status"
same "init container of a pod: status" 0 "$(cat "$dir/status" 2>/dev/null || cat "$dir/err")"
out=$(podman logs train 2>/dev/null)
same "init container of a pod: the command" "1 NCCL_IB_DISABLE=1" "$(value pid) $(printf '%s\n' "$out" | grep '^NCCL')"

finish
