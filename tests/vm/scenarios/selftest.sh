#!/bin/bash
# The self-test on SoftRoCE: passes where all is well, and fails with the right words, in time, where it is not.
# hardware: nics=2
# seconds: 30
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=/dev/null disable=SC2016,SC2086 # quoted for another shell; words are wanted
. /lab/lib
stock
up eth0 10.1.0.1/24
up eth1 10.2.0.1/24
rxe rxe0 eth0
rxe rxe1 eth1

small='--size=1M --bytes=256K'

# words WHAT PATTERN COMMAND...: fails with status 1, before its deadline, and says PATTERN, its lines joined
words() {
    local what=$1 pattern=$2 status=0 begin=$SECONDS
    shift 2
    "$@" >/tmp/said 2>&1 || status=$?
    same "$what: status" 1 "$status"
    matches "$what: words" "*$pattern*" "$(tr -s ' \n' ' ' </tmp/said)"
    # a second to be killed, one to start; what waits for ever is later on a busy machine, too
    if [ $((SECONDS - begin)) -gt 40 ]; then
        fail "$what: in time" "expected 10 s, saw $((SECONDS - begin))"
    fi
}

# the link-local address and the IPv4 one; the kernel adds them from a work queue
all_gids() { [ "$(gids rxe0 | wc -l)" = 2 ] && [ "$(gids rxe1 | wc -l)" = 2 ]; }
wait_for 60 all_gids

section 'all is well'
passes 'defaults' 2 "$P" selftest --all
"$P" selftest --all --json $small >/tmp/json
same 'both ports passed' 2 "$(jq .passed /tmp/json)"
same 'with the address of the pod' '10.1.0.1 10.2.0.1' "$(jq -r '[.ports[].gid] | join(" ")' /tmp/json)"
for hca in rxe0 rxe1; do
    same "$hca: index of that address" "$(gids "$hca" | awk '$2 ~ /::ffff:/ && $3 == "v2" { print $1 }' | head -n 1)" \
        "$(jq -r --arg hca "$hca" '.ports[] | select(.name == $hca).gid_index' /tmp/json)"
done
same 'measured' true \
    "$(jq -r '[.ports[] | .write_mbps, .read_mbps, .latency_ns] | all(. > 0)' /tmp/json)"
same 'SoftRoCE has no DMA-BUF' 'false false' "$(jq -r '[.ports[].dmabuf] | join(" ")' /tmp/json)"
same 'max_qp is that of ibv_devinfo' "$(ibv_devinfo -v -d rxe0 | awk '$1 == "max_qp:" { print $2 }')" \
    "$("$P" doctor --probe --json | jq -r '.selftest.ports[0].max_qp')"
same 'nothing to say' 0 "$(jq -r '[.findings[] | select(.severity != "info")] | length' /tmp/json)"

section 'locked memory'
limited() { # LIMIT-IN-KIB COMMAND...: without the right to raise it or to ignore it
    local kib=$1
    shift
    (ulimit -l "$kib" && setpriv --bounding-set=-ipc_lock,-sys_resource --inh-caps=-ipc_lock,-sys_resource "$@")
}
fails 'the kernel lets no program register so much' '65536 KiB: errno 12' limited 64 /lab/mr rxe0 65536
words '64 KiB, no capability' 'verbs.memlock: RLIMIT_MEMLOCK step `register`: ENOMEM: 64 MiB to register, and only 64 KiB can be locked: CAP_SYS_RESOURCE is not in the bounding set' \
    limited 64 "$P" selftest --all
matches 'no port is called failed' '*2 ports passed in *, 2 not tried: 64 MiB to register, and only 64 KiB can be locked*' "$(</tmp/said)"
same 'within the limit both pass' 2 "$(limited 64 "$P" selftest --all --size=48K --bytes=16K --json | jq .passed || true)"
userns() { (ulimit -l 64 && unshare -Ur "$@"); }
same 'a user namespace shows CAP_IPC_LOCK' 1 "$(userns sh -c 'e=$(sed -n "s/^CapEff:.//p" /proc/self/status); echo $((0x$e >> 14 & 1))')"
fails 'which the kernel does not count' '65536 KiB: errno 12' userns /lab/mr rxe0 65536
words 'a user namespace' 'capabilities do not count: the pod has a user namespace of its own' userns "$P" selftest --all
raised() { (ulimit -l 64 && "$@"); }
passes 'with the right to raise it' 2 raised "$P" selftest --all --bytes=1M

section 'a link that is down'
ip link set eth1 down
words 'of two, one' 'verbs.port: rxe1/1 step `port`: ENETDOWN: the port is not ACTIVE: NCCL leaves it out' "$P" selftest --all --hcas=rxe0,rxe1 $small
matches 'the other passed' '*1 of 2 ports passed*' "$(</tmp/said)"
ip link set eth1 up
wait_for 60 active rxe1

section 'an interface without address'
ip addr flush dev eth1
words 'no GID' 'verbs.gid: rxe1/1 step `gid`: index -1: ERANGE: -1 is not a RoCE GID of this pod;' "$P" selftest --all --hcas=rxe1 $small
up eth1 10.2.0.1/24

section 'a wrong index'
NCCL_IB_GID_INDEX=77 words 'an empty one' 'verbs.gid: rxe0/1 step `gid`: index 77: ENODATA: it is empty' "$P" selftest --all --hcas=rxe0 $small
NCCL_IB_GID_INDEX=300 words 'one that no queue pair carries' 'index 300: ERANGE: -1 is not a RoCE GID of this pod; a queue pair can hold at most 255' \
    "$P" selftest --all --hcas=rxe0 $small

section 'time'
words 'what does not end is killed' 'verbs.process: rxe0/1 step `bulk writes`: its process died, or hung until the time was over' \
    "$P" selftest --all --hcas=rxe0 --bytes=1024G --deadline=2
"$P" selftest --all --hcas=rxe0 --bytes=1024G --deadline=60 >/dev/null 2>&1 &
parent=$!
children() { # PID
    grep -l "^PPid:[[:space:]]$1\$" /proc/[0-9]*/status 2>/dev/null | cut -d / -f 3
}
wait_for 60 children "$parent"
child=$(children "$parent")
kill -KILL "$parent"
wait "$parent" 2>/dev/null || true
gone() { ! [ -e "/proc/$1" ]; }
works 'a trial does not outlive its parent' wait_for 5 gone "$child"

section 'before the command'
left() { # OPTION...
    "$P" --log-level=error "$@" -- bash -c "$LOOK" 2>&1
}
same 'nothing is left of it' "$(left --hcas=rxe0)" "$(left --hcas=rxe0 --selftest=require $small)"
started() { "$P" --hcas=rxe0 $small "$@" -- echo started; }
matches 'require, and passed' '*self-test: 1 of 1 port passed*started' "$(started --selftest=require 2>&1)"
matches 'from the environment' '*self-test: 1 of 1 port passed*started' "$(NCCLINIT_SELFTEST=warn started 2>&1)"
matches 'one self-test, also of a preflight of one pod' '*preflight: good: one pod takes part: 1 of 1 port passed*started' \
    "$(started --selftest=warn --preflight=require --peers=localhost --rank=0 --ranks=1 2>&1)"
export NCCL_IB_GID_INDEX=77
matches 'warn starts it' '*warning: self-test: 0 of 1 port passed*verbs.gid*started' "$(started --selftest=warn 2>&1)"
status=0
started --selftest=require >/tmp/said 2>&1 || status=$?
same 'require does not: status' 125 "$status"
matches 'require does not: words' '*--selftest=require, but 0 of 1 port passed*' "$(</tmp/said)"
unset NCCL_IB_GID_INDEX
finish
