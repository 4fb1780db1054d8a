#!/bin/bash
# nccl-init-hook under runc and crun by themselves, stock SoftRoCE: a container of uid 1000 without any capability and
# with no_new_privs registers 64 MiB; who keeps its limit; a limit in the spec; a user namespace; what exec gets.
# hardware: nics=1 podman memory=2048
# seconds: 70
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=/dev/null
. /lab/lib

container_node
cp /lab/nccl-init-hook /usr/bin

uverbs="{path: \"/dev/infiniband/uverbs0\", type: \"c\", major: $((0x$(stat -c %t /dev/infiniband/uverbs0))), minor: $((0x$(stat -c %T /dev/infiniband/uverbs0))), fileMode: 438}"

# bundle [JQ-FILTER] [HOOK-OPTION...]: in /run/bundle; the filter changes config.json
bundle() {
    local filter=$1
    shift
    n=$((n + 1))
    mkdir -p /run/bundle/rootfs
    mountpoint -q /run/bundle/rootfs || mount --bind / /run/bundle/rootfs
    # shellcheck disable=SC2016 # jq's
    jq -n --arg does "$REGISTER" '
        def tmpfs(to): {destination: to, type: "tmpfs", source: "tmpfs", options: ["nosuid", "mode=1777"]};
        '"$uverbs"' as $uverbs | {
            ociVersion: "1.0.2",
            root: {path: "rootfs", readonly: false},
            process: {user: {uid: 1000, gid: 1000}, cwd: "/", noNewPrivileges: true, args: ["bash", "-c", $does],
                env: ["PATH=/usr/sbin:/usr/bin:/busybox", "HOME=/tmp"],
                capabilities: {bounding: [], permitted: [], effective: [], inheritable: [], ambient: []}},
            mounts: [{destination: "/proc", type: "proc", source: "proc"}, tmpfs("/dev"), tmpfs("/tmp"),
                {destination: "/sys", type: "bind", source: "/sys", options: ["rbind", "ro"]}],
            hooks: {createRuntime: [{path: "/usr/bin/nccl-init-hook", args: (["nccl-init-hook"] + $ARGS.positional),
                timeout: 10}]},
            linux: {devices: [$uverbs], namespaces: [{type: "pid"}, {type: "ipc"}, {type: "mount"}],
                resources: {devices: [{allow: false, access: "rwm"}, {allow: true, type: "c", access: "m"},
                    {allow: true, type: "c", major: 1, access: "rwm"},
                    {allow: true, type: "c", major: $uverbs.major, minor: $uverbs.minor, access: "rw"}]}}
        } | '"$filter" --args -- "$@" >/run/bundle/config.json
}

user_namespace() {
    # shellcheck disable=SC2016 # jq's
    echo '[{containerID: 0, hostID: 100000, size: 65536}] as $map | .linux.namespaces += [{type: "user"}] |
        .linux.uidMappings = $map | .linux.gidMappings = $map'
}

n=0
start() { # RUNTIME [OPTION...]: what the container says
    # an initrd cannot be pivoted away from
    cd /run/bundle && "$1" run "${@:2}" --no-pivot -b /run/bundle "c$n" </dev/null 2>&1
}

for runtime in runc crun; do
    section "$runtime: $($runtime --version | head -n 1)"
    same "the kernel's own limit" 8192 "$(ulimit -l)"
    bundle 'del(.hooks)' --strict
    same "without the hook" "8192 errno 12" "$(start $runtime)"
    bundle . --strict
    same "uid 1000, no capability, no_new_privs" "unlimited ok" "$(start $runtime)"
    matches "the journal" "*nccl-init-hook\[*\]: container c$n: raised locked memory from 8 MiB to unlimited: RDMA device rxe0 (*:*)" \
        "$(tail -n 1 /tmp/journal)"
    lines=$(wc -l </tmp/journal)
    bundle 'del(.linux.devices) | del(.linux.resources.devices[3])' --strict
    matches "no RDMA device" "*8192 " "$(start $runtime)"
    bundle '.annotations = {"nccl-init.io/memlock": "keep"}' --strict
    same "opted out" "8192 errno 12" "$(start $runtime)"
    bundle '.linux.resources.devices = [{allow: true, access: "rwm"}]' --strict
    same "privileged" "8192 errno 12" "$(start $runtime)"
    same "no line for these" "$lines" "$(wc -l </tmp/journal)"
    bundle '.linux.resources.devices = [{allow: true, access: "rwm"}]' --strict --privileged
    same "privileged, --privileged" "unlimited ok" "$(start $runtime)"
    bundle . --strict --memlock=64M
    same "--memlock=64M" "65536 ok" "$(start $runtime)"
    bundle . --strict --memlock=4M
    same "never lowered" "8192 errno 12" "$(start $runtime)"

    bundle '.process.rlimits = [{type: "RLIMIT_MEMLOCK", soft: 2097152, hard: 2097152}]' --strict
    case $runtime in
    runc) same "a limit in the spec: runc sets it after the hook" "2048 errno 12" "$(start $runtime)" ;;
    crun) same "a limit in the spec: crun sets it before the hook" "unlimited ok" "$(start $runtime)" ;;
    esac
    matches "... which the journal says" "*config.json lists RLIMIT_MEMLOCK 2 MiB, which runc sets after this hook" "$(tail -n 1 /tmp/journal)"

    bundle "$(user_namespace)"
    case $runtime in
    runc) same "a user namespace" "unlimited ok" "$(start $runtime)" ;;
    crun) # it tells / for its bundle (crun issue 2025)
        matches "a user namespace: crun 1.8.1 does not tell the bundle" "*8192 *" "$(start $runtime)"
        matches "... in the journal" "*config.json: ENOENT (*)" "$(tail -n 1 /tmp/journal)"
        ;;
    esac

    section "$runtime: exec"
    bundle '.process.args = ["sleep", "60"]' --strict
    start $runtime --detach >/dev/null
    same "exec inherits the caller's limit" 8192 "$($runtime exec "c$n" bash -c 'ulimit -l')"
    matches "the container's process has the raised one" "Max locked memory *unlimited *unlimited *" \
        "$($runtime exec "c$n" grep 'Max locked memory' /proc/1/limits)"
    matches "--dry-run of a running container" "container c$n: locked memory stays as it is: it is already that high" \
        "$($runtime state "c$n" | nccl-init-hook --dry-run)"
    $runtime delete --force "c$n"

    section "$runtime: a hook that cannot work stops nothing"
    bundle . --no-such-option
    same "wrong arguments" "8192 errno 12" "$(start $runtime)"
    matches "... in the journal" "*wrong arguments*" "$(tail -n 1 /tmp/journal)"
    bundle . --strict --no-such-option
    fails "wrong arguments and --strict" "*" "$runtime" run --no-pivot -b /run/bundle "wrong$n"
    # the state that runc and crun give to these stages has another pid
    bundle '.hooks = {createContainer: .hooks.createRuntime}'
    same "in the stage createContainer" "8192 errno 12" "$(start $runtime)"
    matches "... in the journal" "*locked memory stays as it is: *" "$(tail -n 1 /tmp/journal)"
done
finish
