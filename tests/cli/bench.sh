#!/bin/sh
# k8s/charts/job/allreduce.py without GPUs: three ranks over gloo. Skipped where Python has no torch.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/lib"

bench=$(absolute "$(dirname -- "$0")/../../k8s/charts/job/allreduce.py")
python=${PYTHON:-python3}
"$python" -c 'import torch.distributed' 2>/dev/null || skip_all "$python has no torch"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# ranks SCRIPT ARG...: three ranks; output and status
ranks() {
    OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo timeout 120 "$python" -m torch.distributed.run --nproc-per-node=3 \
        --master-addr=127.0.0.1 --master-port="$((20000 + $$ % 10000))" "$@" >"$tmp/out" 2>"$tmp/err"
}

for op in all_reduce all_gather reduce_scatter; do
    for dtype in float32 bfloat16; do
        ranks "$bench" --backend=gloo --op=$op --dtype=$dtype --min-bytes=96K --max-bytes=300K --factor=3 --iters=3
        status=$?
        if [ $status -ne 0 ] && grep -q "reduce_scatter\|not supported\|does not support" "$tmp/err"; then
            skip "$op of $dtype" "gloo of this torch has none"
            continue
        fi
        same "$op of $dtype: status" 0 $status
        same "$op of $dtype: sizes" "98304
294912" "$(sed -n 's/^op=.* bytes=\([0-9]*\) .*/\1/p' "$tmp/out")"
        same "$op of $dtype: nothing wrong" 2 "$(grep -c ' ranks=3 iters=3 .* wrong=0$' "$tmp/out")"
        # the formula of the bus bandwidth, to the digits printed
        factor='2*2/3'
        [ $op = all_reduce ] || factor='2/3'
        same "$op of $dtype: bandwidths" 2 "$(sed 's/[a-zA-Z_]*=//g' "$tmp/out" | awk '/^(all_|reduce_)/ {
            alg = $2 / $6 / 1e3
            bus = alg * '"$factor"'
            if (($7 - alg) ^ 2 < (0.001 + alg / 100) ^ 2 && ($8 - bus) ^ 2 < (0.001 + bus / 100) ^ 2) good++
        } END { print good + 0 }')"
    done
done

# one wrong value on one rank fails the job and is named
cat >"$tmp/spoil.py" <<'PYTHON'
import os, runpy, sys
import torch.distributed as dist

real = dist.all_reduce

def spoilt(tensor, *args, **kwargs):
    done = real(tensor, *args, **kwargs)
    if os.environ["RANK"] == "1" and tensor.numel() > 7:
        tensor[7] += 1
    return done

dist.all_reduce = spoilt
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
PYTHON
ranks "$tmp/spoil.py" "$bench" --backend=gloo --bytes=4K --iters=1 --warmup=0
same "a wrong value: status" 1 $?
matches "a wrong value: counted" "*wrong=2*" "$(grep '^op=' "$tmp/out")"
matches "a wrong value: named" "*rank 1 on *: 1 wrong values; at 7 *" "$(cat "$tmp/err")"

"$python" "$bench" --backend=gloo >"$tmp/out" 2>"$tmp/err"
same "without torchrun: status" 2 $?
matches "without torchrun: reason" "*is not set; start it by: torchrun*" "$(cat "$tmp/err")"
"$python" "$bench" --bytes=3x >"$tmp/out" 2>"$tmp/err"
same "no size: status" 2 $?
finish
