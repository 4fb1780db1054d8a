#!/bin/bash
# After a preflight the command has no child, no zombie and no pending SIGCHLD that it would not have had, whenever the
# child of preflight is killed: as the process that adopts the rest (a subreaper here, PID 1 in a pod), with SIGCHLD
# blocked. What was there before stays: a child of the caller, a pending SIGCHLD, the flag of a subreaper.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
bin=$(program)
python=$(python3 -c 'import sys; print(sys.executable)') # not a script that starts it
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export NCCLINIT_TERMINATION_LOG="$dir/none"
port=$((20000 + $$ % 10000))

# What the command sees of itself.
cat >look <<'EOF'
import ctypes, os, signal, time
flag = ctypes.c_int()
ctypes.CDLL(None).prctl(37, ctypes.byref(flag), 0, 0, 0)
pending = signal.SIGCHLD in signal.sigpending()
children = []
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        name, rest = open(f"/proc/{pid}/stat").read().split("(", 1)[1].rsplit(")", 1)
    except OSError:
        continue
    if int(rest.split()[1]) == os.getpid():
        children.append(name + "/" + rest.split()[0])
print("children", *sorted(children), "pending", pending, "subreaper", flag.value)
EOF
# A caller that blocks SIGCHLD. Words: subreaper, child (one that sleeps), dead (one that has ended), pending, daemon
# (one that sleeps, and below it a process whose parent ends during the preflight).
cat >caller <<'EOF'
import ctypes, os, signal, sys, time
words, command = sys.argv[1].split(","), sys.argv[2:]
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
if "subreaper" in words:
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
if "child" in words and os.fork() == 0:
    os.execvp("sleep", ["sleep", "30"])
if "daemon" in words and os.fork() == 0:
    if os.fork() == 0:
        if os.fork() == 0:
            os.execvp("sleep", ["sleep", "5"])
        time.sleep(0.5)
        os._exit(0)
    os.execvp("sleep", ["sleep", "30"])
if "dead" in words:
    if os.fork() == 0:
        os._exit(0)
    while signal.SIGCHLD not in signal.sigpending():
        time.sleep(0.01)
if "pending" in words:
    os.kill(os.getpid(), signal.SIGCHLD)
os.execv(command[0], command)
EOF

# left WHAT WORDS EXPECTED KILL [OPTION...]: KILL is a command that gets the pid of nccl-init
left() {
    local what=$1 words=$2 expected=$3 kill=$4 caller
    shift 4
    "$python" caller "$words" "$bin" --preflight=warn --mode=tcp --peers="localhost:$port" --job=x "$@" -- \
        "$python" look >out 2>err &
    caller=$!
    "$kill" "$caller"
    wait "$caller"
    same "$what" "$expected" "$(cat out)"
    pkill -P "$caller" 2>/dev/null
    same "$what: nothing is left" "" "$(pgrep -f -- "--peers=localhost:$port " || true)"
}
nobody() { :; }
# The child of preflight, beside the caller's own.
child_of() {
    pgrep -P "$1" -x nccl-init | head -n 1
}
after() { # SECONDS: kills the child of preflight so long after it is there
    local child=
    until child=$(child_of "$2") && [ -n "$child" ] || ! kill -0 "$2" 2>/dev/null; do sleep 0.01; done
    sleep "$1"
    kill -KILL "$child" 2>/dev/null
}
at_once() { after 0 "$1"; }
soon() { after 0.05 "$1"; }
late() { after 0.5 "$1"; }

two=(--rank=0 --ranks=2 --within=2)
for moment in nobody at_once soon late; do
    left "killed: $moment" subreaper "children pending False subreaper 1" $moment "${two[@]}"
    left "no subreaper, killed: $moment" none "children pending False subreaper 0" $moment "${two[@]}"
done
left "rank 1, killed" subreaper "children pending False subreaper 1" soon --rank=1 --ranks=2 --within=2
left "a child of the caller stays" subreaper,child "children sleep/S pending False subreaper 1" soon "${two[@]}"
left "one that has ended, too" subreaper,dead "children $(basename "$python" | cut -c1-15)/Z pending True subreaper 1" soon "${two[@]}"
left "an orphan of others is no child" daemon "children sleep/S pending False subreaper 0" nobody "${two[@]}"
left "a pending signal stays" pending "children pending True subreaper 0" soon "${two[@]}"
left "nobody is killed: a pending signal stays" pending "children pending True subreaper 0" nobody "${two[@]}"

# A stopped child is killed when its time is over.
stopped() {
    local child=
    until child=$(child_of "$1") && [ -n "$child" ] && grep -q '^State:.S' "/proc/$child/status"; do sleep 0.01; done
    kill -STOP "$child"
}
start=$SECONDS
left "stopped" subreaper "children pending False subreaper 1" stopped "${two[@]}"
same "in time" yes "$([ $((SECONDS - start)) -le 30 ] && echo yes)"
matches "what is said" "*its process did not answer within *; was it stopped?*" "$(cat err)"
finish
