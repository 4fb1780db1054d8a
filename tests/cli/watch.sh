#!/bin/sh
# The verb watch from outside, where there is no RDMA: usage, statuses, signals, a closed pipe, a full disk, metrics; the
# bytes of an interface within a tenth of what was sent.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/lib"
bin=$(program)
here=$(absolute "$0")

# The pair eth0 and eth1 of a network namespace of its own: datagrams that eth0 sends, 20 MB of payload a second.
if [ "${1:-}" = traffic ]; then
    ip neigh replace 10.0.0.9 lladdr "$(cat /sys/class/net/eth1/address)" dev eth0
    python3 -c 'import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("10.0.0.9", 9))
begin, sent = time.monotonic(), 0
while time.monotonic() < begin + 10:
    while sent < (time.monotonic() - begin) * 20e6:
        sent += s.send(bytes(1400))
    time.sleep(0.001)' &
    sleep 1
    "$bin" watch --for=3 --json
    status=$?
    kill $!
    exit $status
fi

own_network
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

ls /sys/class/infiniband/* >/dev/null 2>&1 && skip_all "this machine has HCAs"

# ---- usage -------------------------------------------------------------------------------------

usage "a recording" "*cannot watch a recording*" watch --root="$(nodes)/h100-12dev.tree"
NCCLINIT_ROOT=/tmp usage "a recording, by its variable" "*cannot watch a recording*" watch
usage "two on standard output" "*--json and --prometheus=-*" watch --json --prometheus=-
usage "an operand" "*takes no operands*" watch mlx5_6
usage "the libraries" "*--for: ?nccl? is not *" watch --for=nccl
usage "another verb's option" "*--gdr? is not an option of ?watch?, but of *" watch --gdr=PHB
usage "the option of watch" "*--for: ?10s? is not *" plan --for=10s
for wrong in for=0 for=86401 for=1d for=-1 every=0 every=0.05 every=61 every=x; do
    usage "--$wrong" "--${wrong%%=*}: \`${wrong#*=}\` is not *" watch "--$wrong"
done
NCCLINIT_WATCH_FOR=x usage "NCCLINIT_WATCH_FOR" "NCCLINIT_WATCH_FOR: ?x? is not *" watch
# a pod's variable for the other verbs does not disturb this one
out=$(NCCLINIT_FOR=nccl,ucx NCCLINIT_MODE=tcp "$bin" watch --for=1 --every=0.2 2>err) && status=0 || status=$?
matches "nothing carries data" "1 Watched for 1.* s, * looks; this pod was given no HCA*nothing carries data: *" "$status $out"
same "... and nothing on standard error" "" "$(grep -v sanitizer err)"

# ---- output ------------------------------------------------------------------------------------

"$bin" watch --for=1 --json >json 2>err && status=0 || status=$?
same "JSON: status" 1 "$status"
if command -v python3 >/dev/null; then
    said=$(python3 -c 'import json; j = json.load(open("json")); print(j["schema"], j["carried_by"], j["rails"])')
    same "JSON: parses" "1 nothing []" "$said"
fi
"$bin" watch --for=1 >/dev/full 2>err && status=0 || status=$?
matches "a full disk" "1 *standard output: *" "$status $(cat err)"
timeout 20 "$bin" watch --every=0.2 >/dev/full 2>err && status=0 || status=$?
matches "a full disk, while it lasts" "1 *standard output: *" "$status $(cat err)"
"$bin" watch --for=1 --prometheus="$dir/none/metrics" >out 2>err && status=0 || status=$?
matches "a file that cannot be written" "1 *none/metrics: *" "$status $(cat err)"
"$bin" watch --for=1 --prometheus=metrics >out 2>err
same "metrics: a file" "nccl_init_watch_rails 0" "$(grep '^nccl_init_watch_rails ' metrics)"
same "metrics: nothing is left beside it" "" "$(find . -name '.nccl-init*')"
"$bin" watch --for=1 --prometheus=- >out 2>err
same "metrics: each line has the form" "" \
    "$(grep -v -e '^# \(HELP\|TYPE\) nccl_init_watch_[a-z_]* .' -e '^nccl_init_watch_[a-z_]*\({[a-z]*="[^"]*"\(,[a-z]*="[^"]*"\)*}\)\{0,1\} [0-9]*$' out)"

# ---- the end -----------------------------------------------------------------------------------

# ended SIGNAL: the status and the last line of a watch that the signal ends after a look
ended() {
    rm -f lines
    # a command in the background of a shell without job control ignores SIGINT: the helper gives it back
    python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$bin" watch --every=0.2 >lines 2>err &
    pid=$!
    n=0
    while ! [ -s lines ] && [ $n -lt 100 ]; do
        sleep 0.1
        n=$((n + 1))
    done
    kill "-$1" $pid
    wait $pid && status=0 || status=$?
    echo "$status $(tail -n 1 lines)"
}
if command -v python3 >/dev/null; then
    matches "SIGINT: the sentence so far, then the signal" "130 nothing carries data: *" "$(ended INT)"
    matches "SIGTERM: the same" "143 nothing carries data: *" "$(ended TERM)"
    matches "before it a line for each look" "[0-2][0-9]:[0-5][0-9]:[0-5][0-9]Z  * out * in" "$(head -n 1 lines)"
fi
# nobody reads any more: it ends by itself
"$bin" watch --every=0.1 2>err | head -n 2 >out
same "a closed pipe" 2 "$(wc -l <out)"

# ---- what an interface carries -----------------------------------------------------------------

# shellcheck disable=SC2016 # the inner shell's
if command -v python3 >/dev/null && unshare -n -m true 2>/dev/null; then
    NCCL_INIT=$bin unshare -n -m sh -ec 'mount -t sysfs none /sys
        ip link add eth0 type veth peer name eth1
        ip address add 10.0.0.2/24 dev eth0
        for name in lo eth0 eth1; do ip link set "$name" up; done
        exec "$0" traffic' "$here" >json && status=0 || status=$?
    same "sockets: status" 1 "$status"
    # of the 1442 bytes of a frame 1400 are payload
    said=$(python3 -c 'import json
j = json.load(open("json"))
rate = next(i["out_bytes_per_second"] for i in j["interfaces"] if i["name"] == "eth0") * 1400 / 1442
print(j["carried_by"], "within a tenth" if 18e6 < rate < 22e6 else rate, j["sentence"])')
    matches "sockets: the rate" "sockets within a tenth eth[01] carries 2?.? MB/s; there is no HCA" "$said"
fi

finish
