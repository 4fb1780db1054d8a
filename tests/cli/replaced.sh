#!/bin/sh
# Pods that are replaced while the others run, as processes with the variables that each controller gives: the ways of
# docs/reference/preflight.md end in pods that run, never in a crash loop. Each job has a key, for this machine looks like a
# host network. NCCL_INIT_TORCHRUN=1 adds the real torchrun, if a python3 has torch.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/lib"
bin=$(program)
dir=$(mktemp -d)
cd "$dir" || exit 1
export NCCLINIT_TERMINATION_LOG="$dir/none"
outside_jobs
port=$((30000 + $$ % 10000))
pods=

# shellcheck disable=SC2317 # the trap calls it
tidy() {
    # shellcheck disable=SC2086 # words
    kill $pods 2>/dev/null
    wait
    rm -rf "$dir"
}
trap tidy EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# pod NAME VARIABLE=VALUE... [OPTION...]: a pod in the background. Its command writes NAME.ran and runs on.
pod() {
    name=$1
    shift
    rm -f "$name.ran" "$name.status"
    variables=
    while [ $# -gt 0 ]; do
        case $1 in
        -*) break ;;
        esac
        variables="$variables $1"
        shift
    done
    {
        # shellcheck disable=SC2086 # words
        env $variables "$bin" --mode=tcp --preflight=require --port=$port "$@" -- \
            sh -c ": >$name.ran; exec sleep 120" >"$name.out" 2>"$name.err" &
        child=$!
        trap 'kill $child' TERM
        wait $child
        echo $? >"$name.status"
    } &
    pods="$pods $!"
    echo $! >"$name.pid"
}

# delete NAME...: as `kubectl delete pod`
delete() {
    for name in "$@"; do
        kill "$(cat "$name.pid")" 2>/dev/null
        wait "$(cat "$name.pid")" 2>/dev/null
    done
}

# how NAME...: `runs`, or the status with which it ended, of each, within 15 s
how() {
    words=
    for name in "$@"; do
        n=0
        until [ -e "$name.ran" ] || [ -e "$name.status" ] || [ $n -ge 150 ]; do
            sleep 0.1
            n=$((n + 1))
        done
        if [ -e "$name.ran" ]; then
            words="$words runs"
        else
            words="$words $(cat "$name.status" 2>/dev/null || echo waits)"
        fi
    done
    echo "${words# }"
}

late='*nccl-init: warning: preflight: not tested: no other pod was found within 1 s; this pod starts late: *'

# ---- an Indexed Job ------------------------------------------------------------------------------------

indexed() { # NAME INDEX OPTION...
    name=$1 index=$2
    shift 2
    pod "$name" JOB_COMPLETION_INDEX="$index" MASTER_ADDR=localhost NNODES=3 NCCLINIT_JOB=5f2a "$@"
}
for i in 0 1 2; do
    indexed "job-$i" $i --once="once.$i"
done
same "Indexed Job: three pods" "runs runs runs" "$(how job-0 job-1 job-2)"
delete job-1
indexed job-1 1 --once=once.1 --within=1
same "... a container that starts again, with --once" runs "$(how job-1)"
delete job-1
indexed job-1 1 --within=1
same "... a new pod without a way ends" 125 "$(how job-1)"
indexed job-1 1 --within=1 --late=selftest
same "... with --late=selftest" runs "$(how job-1)"
matches "... which is said" "$late" "$(cat job-1.err)"
delete job-0 job-1 job-2

# ---- a StatefulSet -------------------------------------------------------------------------------------

ordinal() { # NAME ORDINAL OPTION...
    name=$1 ordinal=$2
    shift 2
    pod "$name" NCCLINIT_RANK="$ordinal" --peers=localhost --ranks=3 --job=train --late=selftest "$@"
}
for i in 0 1 2; do
    ordinal "set-$i" $i
done
same "StatefulSet: three pods" "runs runs runs" "$(how set-0 set-1 set-2)"
for i in 2 1 0; do
    delete "set-$i"
    ordinal "set-$i" $i --within=1
    same "... pod $i is replaced" runs "$(how "set-$i")"
    matches "... which it says" "$late" "$(cat "set-$i.err")"
done
delete set-0 set-1 set-2

# ---- a JobSet restarts all ------------------------------------------------------------------------------

attempt() { # NAME INDEX ATTEMPT OPTION...
    name=$1 index=$2 attempt=$3
    shift 3
    pod "$name" JOB_COMPLETION_INDEX="$index" MASTER_ADDR=localhost NNODES=3 NCCLINIT_JOB="7c1e-$attempt" "$@"
}
for i in 0 1 2; do
    attempt "jobset-$i" $i 0
done
same "JobSet: three pods" "runs runs runs" "$(how jobset-0 jobset-1 jobset-2)"
delete jobset-0 jobset-1 jobset-2
attempt straggler 1 0 --within=3
for i in 0 1 2; do
    attempt "jobset-$i" $i 1
done
same "... all of the next attempt" "runs runs runs" "$(how jobset-0 jobset-1 jobset-2)"
same "... a pod of the last attempt takes no place" 125 "$(how straggler)"
delete jobset-0 jobset-1 jobset-2

# ---- a LeaderWorkerSet makes the group anew --------------------------------------------------------------

worker() { # NAME INDEX
    pod "$1" LWS_LEADER_ADDRESS=localhost LWS_WORKER_INDEX="$2" LWS_GROUP_SIZE=3 NCCLINIT_JOB=lws-7
}
for turn in "LeaderWorkerSet: three pods" "... the group is made anew"; do
    for i in 0 1 2; do
        worker "lws-$i" $i
    done
    same "$turn" "runs runs runs" "$(how lws-0 lws-1 lws-2)"
    delete lws-0 lws-1 lws-2
done

# ---- torchrun, elastic: a node goes and another one comes -------------------------------------------------

# torchrun of Debian 12 (torch 1.13 with Python 3.11) takes the default of --tee for nothing, and stops.
torchrun="
from torch.distributed.elastic.multiprocessing.api import Std
from torch.distributed.run import main
Std.from_str = classmethod(lambda cls, text: Std(int(text)))
main()"

# agent NAME: torchrun of one node, whose worker is the program with a command. torchrun makes one dollar of two.
agent() {
    rm -f "$1.ran"
    "$python" -c "$torchrun" --nnodes=1:2 --nproc_per_node=1 --max_restarts=3 --rdzv_backend=c10d \
        --rdzv_endpoint=localhost:$((port + 1)) --rdzv_id=elastic --rdzv_conf=last_call_timeout=10 --no_python \
        "$bin" --mode=tcp --preflight=require --port=$port --late=selftest --within=5 -- \
        sh -c "sh -c 'echo \$PPID' >$1.worker; echo \$GROUP_WORLD_SIZE >$1.ran; exec sleep 120" >"$1.out" 2>"$1.err" &
    pods="$pods $!"
    echo $! >"$1.pid"
}

# nodes_of NAME NUMBER: waits two minutes until the worker of this agent runs in a group of so many nodes
nodes_of() {
    n=0
    until [ "$(cat "$1.ran" 2>/dev/null)" = "$2" ] || [ $n -ge 1200 ]; do
        sleep 0.1
        n=$((n + 1))
    done
    cat "$1.ran" 2>/dev/null
}
python=
# It takes a minute or two, and on a busy machine torchrun forms its groups in other ways.
for python in ${NCCL_INIT_TORCHRUN:+python3 /usr/bin/python3}; do
    "$python" -c 'import torch.distributed.run' 2>/dev/null && break
    python=
done
if [ -n "$python" ]; then
    agent one
    agent two
    same "torchrun: two nodes" "2 2" "$(nodes_of one 2) $(nodes_of two 2)"
    kill -KILL "$(cat two.pid)" "$(cat two.worker)" # the node is lost
    rm -f one.ran
    agent three
    same "... one is replaced, and the other one starts again" "2 2" "$(nodes_of one 2) $(nodes_of three 2)"
else
    skip "torchrun" "NCCL_INIT_TORCHRUN is not set, or python3 has no torch"
fi
finish
