#!/bin/sh
# --require: refused with 125, a reason on standard error and in the termination log, in text and as JSON.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/lib"
own_network
bin=$(program)
nodes=$(nodes)
golden=$(absolute "$(dirname -- "$0")/../golden")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
PATH=/usr/local/bin:/usr/bin:/bin # a directory that this user may not search would count
unset NCCLINIT_REQUIRE NCCLINIT_MODE
export HOME=/

# refused NAME ARG...: run does not start the command
refused() {
    name=$1
    shift
    : >log
    rm -f ran
    "$bin" --termination-log="$dir/log" "$@" -- touch ran >out 2>err && status=0 || status=$?
    same "$name: status" "125 " "$status $(ls ran 2>/dev/null)"
    same "$name: stdout" "" "$(cat out)"
}
# mode=tcp has no HCA whatever the machine has.
refused "rdma" --mode=tcp --require=rdma
matches "rdma: finding, below it, with a command" "nccl-init: error: require.rdma: User: *. Run: nccl-init plan --all *" "$(sed -n 2p err)"
same "rdma: the verdict, last" "nccl-init: error: command not started; more: nccl-init explain require.rdma" "$(tail -n 1 err)"
same "rdma: the reason, first" "nccl-init: error: command not started: --require=rdma, but --mode=tcp chooses sockets" "$(head -n 1 err)"
same "rdma: termination log" "nccl-init: error: command not started: --require=rdma, but --mode=tcp chooses sockets" "$(head -n 1 log)"
matches "rdma: termination log, what to do" "*nccl-init: error: require.rdma: *User: request an RDMA resource*" "$(cat log)"
same "rdma: the reason, once" 1 "$(grep -c "chooses sockets" err)"
same "rdma: no summary" 0 "$(grep -c auto-detected err)"
refused "several" --mode=tcp --require=roce-v2,rails=2,rdma
matches "several: all of them" "*--require=rdma, *; --require=rails=2, *; --require=roce-v2, *" "$(head -n 1 log)"
same "several: a finding each" 3 "$(grep -c '^nccl-init: error: require\.' err)"
refused "error level" --mode=tcp --require=rdma --log-level=error
matches "error level: told all the same" "*require.rdma*" "$(cat err)"

refused "JSON" --mode=tcp --require=roce-v2,rails=2,rdma --log-format=json
same "JSON: every line an object" "$(wc -l <err)" "$(grep -c '^{.*}$' err)"
same "JSON: the termination log too" "$(wc -l <log)" "$(grep -c '^{.*}$' log)"
matches "JSON: the reason comes first" '{"severity": "error", "message": "command not started: --require=rdma, *}' "$(head -n 1 log)"
same "JSON: all findings" 3 "$(grep -c '"id": "require\.' log)"
# More findings than 4096 bytes hold.
i=0
set --
while [ "$i" -lt 60 ]; do
    set -- "$@" "NCCLINIT_\"$i=\\"
    i=$((i + 1))
done
for format in text json; do
    : >log
    env "$@" "$bin" --termination-log="$dir/log" --mode=off --require=gpus --log-format=$format -- true 2>/dev/null
    bytes=$(wc -c <log)
    same "$format: as much as fits: $bytes of 4096 bytes" true "$([ "$bytes" -le 4096 ] && [ "$bytes" -gt 3500 ] && echo true)"
    same "$format: no line is cut" "$(grep -c "" log)" "$(grep -Ec '^({.*}|nccl-init: error: .*|nccl-init: warning: .*[.])$' log)"
    matches "$format: the reason comes first" "*--require=gpus*" "$(head -n 1 log)"
done
: >log
"$bin" --termination-log="$dir/log" --mode=off --log-format=json -- no-such-command 2>err
same "a command that is not there" 127 $?
# shellcheck disable=SC2016 # backquotes of a message
matches "a command that is not there: JSON" '{"severity": "error", "message": "command not started: `no-such-command`*"}' "$(cat err)"

# ---- how it is asked for ---------------------------------------------------------------------

(NCCLINIT_REQUIRE=rdma && export NCCLINIT_REQUIRE && exec "$bin" --mode=tcp -- true) 2>err
same "NCCLINIT_REQUIRE" 125 $?
(NCCLINIT_REQUIRE=rdma && export NCCLINIT_REQUIRE && exec "$bin" --mode=tcp --require=none -- true) 2>err
same "the command line takes it back" 0 $?
"$bin" --mode=tcp --require=frob -- true 2>err
same "wrong on the command line: refused" 125 $?
for mode in rdma gdr memlock roce-v2 rails=1 gpus selftest preflight; do
    refused "mode=off cannot judge $mode" --mode=off --require=$mode
    matches "mode=off, $mode: why" "*--require=$mode, but --mode=off*" "$(cat log)"
done

# ---- what holds ------------------------------------------------------------------------------

if [ "$(id -u)" -eq 0 ] && [ -r /proc/self/uid_map ]; then
    "$bin" --mode=tcp --require=memlock -- true 2>err && status=0 || status=$?
    if grep -q 4294967295 /proc/self/uid_map && setpriv -d 2>/dev/null | grep -q 'bounding.*ipc_lock'; then
        same "memlock holds: CAP_IPC_LOCK" 0 "$status"
    else
        skip "memlock holds: CAP_IPC_LOCK" "a user namespace, or the capability is not there"
    fi
else
    skip "memlock holds: CAP_IPC_LOCK" "not root"
fi
if setpriv --reuid=65534 --clear-groups true 2>/dev/null; then
    cp "$bin" nccl-init
    chmod 755 . nccl-init
    limited() { # HARD ARG...: as a user without capabilities
        hard=$1
        shift
        prlimit --memlock=65536:"$hard" setpriv --reuid=65534 --clear-groups --inh-caps=-all ./nccl-init --mode=tcp --require=memlock "$@"
    }
    limited 262144 -- true 2>err
    same "memlock does not hold: status" 125 $?
    matches "memlock does not hold: the limit as raised" "*only 256 KiB can be locked: *require.memlock: *" "$(cat err)"
    limited 262144 --memlock=keep -- true 2>err
    same "memlock with --memlock=keep: status" 125 $?
    matches "memlock with --memlock=keep: the limit as it is" "*only 64 KiB*" "$(cat err)"
    if prlimit --memlock=65536:1073741824 true 2>/dev/null; then
        limited 1073741824 -- true 2>err
        same "memlock holds once the soft limit is raised" 0 $?
    else
        skip "memlock holds once the soft limit is raised" "the hard limit here is below 1 GiB, and CAP_SYS_RESOURCE missing"
    fi
else
    skip "memlock as another user" "setpriv cannot change the user"
fi

# ---- other verbs, on recorded nodes ------------------------------------------------------------

on() { # CASE NODE VERB ARG...
    case=$1 node=$2 verb=$3
    shift 3
    # shellcheck disable=SC2046 # one word a line
    env -i $(grep -v '^#' "$golden/$case/env") "$bin" "$verb" --root="$nodes/$node.tree" "$@"
}
all=--require=rdma,gdr,memlock,roce-v2,rails=4,gpus
out=$(on h100-12dev h100-12dev env $all 2>err)
same "env, all hold" 0 $?
matches "env, all hold: written" "*NCCL_IB_HCA*" "$out"
echo old >file
on h100-12dev h100-12dev env --require=rails=5 -o file 2>err
same "env, rails=5" 125 $?
same "env, rails=5: nothing written" old "$(cat file)"
matches "env, rails=5: why" "*nccl-init: error: settings not written: --require=rails=5, but only 4 usable rails from 4 HCAs of the pod*" "$(cat err)"
# GPUs are looked for even where there is no HCA.
{
    cat "$nodes/no-rdma.tree"
    printf 'f dev/nvidia0 \nf dev/nvidiactl \nf dev/nvidia-uvm \nf proc/driver/nvidia/gpus/0000:06:00.0/information Device Minor: 0\n'
} >gpu-only.tree
"$bin" env --root=gpu-only.tree --require=gpus >/dev/null 2>err
same "gpus without an HCA hold" "0 0" "$? $(grep -c require err)"
for node in nvidia0 nvidiactl nvidia-uvm; do # one that is denied, by the device cgroup say
    sed "s|^f dev/$node .*|e dev/$node EPERM|" gpu-only.tree >gpu-denied.tree
    "$bin" env --root=gpu-denied.tree --require=gpus >/dev/null 2>err
    same "gpus, $node denied" 125 $?
    matches "gpus, $node denied: why" "*--require=gpus, but opening /dev/$node gives EPERM*" "$(cat err)"
done
sed 's|^f dev/nvidia0 .*|&\ne dev/nvidia1 EPERM|' gpu-only.tree >gpu-two.tree # the other one is not the pod's
"$bin" env --root=gpu-two.tree --require=gpus >/dev/null 2>err
same "gpus, one of two nodes denied" 0 $?
"$bin" env --root="$nodes/no-rdma.tree" --require=gpus >/dev/null 2>err
same "no gpus" 125 $?
out=$(on h100-12dev h100-12dev plan --all --require=rails=5 2>err)
same "plan, rails=5: shown, no failure" 0 $?
matches "plan, rails=5" "*The command would not be started: --require=rails=5*error: require.rails: *" "$out"
out=$(on h100-12dev h100-12dev plan --require=rails=5 --json 2>err)
matches "plan, JSON" '*"refuse": "--require=rails=5, *' "$out"
out=$(on h100-12dev h100-12dev doctor --require=rails=5 2>err)
same "doctor, rails=5" 1 $?
matches "doctor, rails=5" "*require.rails*" "$out"

# What the user has set counts: ports that the plan leaves out, empty variables.
while read -r case node demand why; do
    out=$(on "$case" "$node" plan --all --require="$demand" 2>err)
    matches "$case" "*The command would not be started: --require=$demand, but $why*" "$out"
done <<'EOF'
user-hca-left-out vf-no-netdev rdma NCCL_IB_HCA takes this port, which the plan leaves out (no RoCE GID of this pod among 4 entries)
user-hca-left-out-all gid-empty rdma NCCL_IB_HCA takes this port, which the plan leaves out (no RoCE GID of this pod among 0 entries)
user-hca-left-out-link ib-and-roce rails=1 NCCL_IB_HCA takes this port, which the plan leaves out (RoCE, while the ports that stay are InfiniBand)
user-empty-family gid-ipv6-differs rdma NCCL takes index 0, which is link-local (mlx5_6/1)
user-empty-range gid-differs-range rdma NCCL takes index 3, which is another pod's (mlx5_6/1)
EOF

# ---- a snapshot of the node that refused ----------------------------------------------------------

refused "--snapshot-on-refusal" --mode=tcp --require=rdma --snapshot-on-refusal="$dir/node.tree"
matches "it is a recording" "# recorded by nccl-init*" "$(head -n 1 node.tree)"
"$bin" plan --all --root="$dir/node.tree" --mode=tcp --require=rdma >out 2>&1
matches "it replays" "*The command would not be started: --require=rdma*" "$(cat out)"
rm -f node.tree
NCCLINIT_SNAPSHOT_ON_REFUSAL=$dir/node.tree "$bin" --mode=off --require=gpus --wait=3 -- true 2>err && status=0 || status=$?
same "NCCLINIT_SNAPSHOT_ON_REFUSAL" "125 1" "$status $(grep -c '^# recorded' node.tree)"
rm -f node.tree
refused "where it cannot be written" --mode=tcp --require=rdma --snapshot-on-refusal="$dir/none/node.tree"
matches "that is told" "*$dir/none/node.tree: ENOENT*" "$(cat err)"
"$bin" --mode=off --snapshot-on-refusal="$dir/node.tree" -- true
same "not refused: no snapshot" "0 " "$? $(ls node.tree 2>/dev/null)"
finish
