#!/bin/bash
# nccl-init-hook as podman's hook, installed by one command, with runc and crun, stock SoftRoCE: --user, --cap-drop=ALL
# and no_new_privs; --init; a user namespace; a shared PID namespace; a limit in the spec; exec; and removed.
# hardware: nics=1 podman memory=2048
# seconds: 90
# shard: ship
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=/dev/null
. /lab/lib

container_node
mkdir -p /etc/containers /run/rootfs
mount --bind / /run/rootfs
cat >/etc/containers/containers.conf <<'CONF'
[engine]
no_pivot_root = true # an initrd cannot be pivoted away from
cgroup_manager = "cgroupfs"
events_logger = "none"
CONF
cat >/etc/containers/storage.conf <<'CONF'
[storage]
driver = "vfs"
runroot = "/run/containers/storage"
graphroot = "/var/lib/containers/storage"
CONF

pod=(--network=host --log-driver=none --user=1000:1000 --cap-drop=ALL --security-opt=no-new-privileges)
device=--device=/dev/infiniband/uverbs0
run() { # RUNTIME OPTION...: what the container says
    podman --runtime="$1" run --rm "${pod[@]}" "${@:2}" --rootfs /run/rootfs bash -c "$REGISTER" </dev/null 2>&1 | tail -n 3
}

section "installed by one command"
same "without the hook" "8192 errno 12" "$(run crun $device)"
works "--install" /lab/nccl-init-hook --install

for runtime in runc crun; do
    section "$runtime"
    same "uid 1000, no capability, no_new_privs" "unlimited ok" "$(run $runtime $device)"
    matches "the journal" "*raised locked memory from 8 MiB to unlimited: RDMA device rxe0 (*" "$(tail -n 1 /tmp/journal)"
    matches "no RDMA device" "*8192 " "$(run $runtime)"
    same "--init" "unlimited ok" "$(run $runtime $device --init --init-path=/usr/libexec/podman/catatonit)"
    mapped=$(run $runtime $device --uidmap=0:100000:65536 --gidmap=0:100000:65536)
    case $runtime in
    runc) same "a user namespace" "unlimited ok" "$mapped" ;;
    crun) # it tells / for its bundle (crun issue 2025)
        matches "a user namespace: crun 1.8.1 does not tell the bundle" "*8192 *" "$mapped"
        matches "... in the journal" "*config.json: ENOENT (*)" "$(tail -n 1 /tmp/journal)"
        ;;
    esac
    case $runtime in
    runc) same "--ulimit: runc sets it after the hook" "2048 errno 12" "$(run $runtime $device --ulimit=memlock=2097152)" ;;
    crun) same "--ulimit: crun sets it before the hook" "unlimited ok" "$(run $runtime $device --ulimit=memlock=2097152)" ;;
    esac
    same "opted out" "8192 errno 12" "$(run $runtime $device --annotation=nccl-init.io/memlock=keep)"

    podman --runtime=$runtime run --detach --name sleeper "${pod[@]}" $device --rootfs /run/rootfs sleep 300 >/dev/null
    same "a shared PID namespace" "unlimited ok" "$(run $runtime $device --pid=container:sleeper)"
    same "exec inherits the caller's limit" 8192 "$(podman exec sleeper bash -c 'ulimit -l')"
    matches "the container's process has the raised one" "*unlimited *unlimited *" \
        "$(podman exec sleeper grep 'Max locked memory' /proc/1/limits)"
    podman rm --force --time=0 sleeper >/dev/null
done

section "removed"
works "--remove" /lab/nccl-init-hook --remove
same "as before" "8192 errno 12" "$(run crun $device)"

section "from its package"
if [ -e /lab/hook.tar ]; then
    tar -x -f /lab/hook.tar -C / ./usr/libexec ./usr/share/containers
    for runtime in runc crun; do
        same "$runtime: uid 1000, no capability, no_new_privs" "unlimited ok" "$(run $runtime $device)"
        matches "$runtime: no RDMA device" "*8192 " "$(run $runtime)"
    done
    rm /usr/libexec/oci/hooks.d/nccl-init-hook /usr/share/containers/oci/hooks.d/50-nccl-init.json
    same "its files are gone: as before" "8192 errno 12" "$(run crun $device)"
else
    echo "skipped: from its package: no rpmbuild, which makes it"
fi
finish
