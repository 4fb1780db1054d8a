#!/bin/sh
# The helper's steps of NCCL and its questions to NVML, by stand-ins (false.c): the whole way, and each fault: what is missing,
# refused, dies, hangs, sums wrong, or says what it should not. At the end nothing is left.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
top=$(cd -- "$(dirname -- "$0")/../.." && pwd)
bin=$(program)
version=$(sed -n 's/^project(.*VERSION \([0-9.]*\).*/\1/p' "$top/CMakeLists.txt")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/lib"
${CC:-gcc} -shared -fPIC -O1 -o "$dir/lib/libcuda.so.1" "$top/tests/try/false.c" || skip_all "no compiler"
ln "$dir/lib/libcuda.so.1" "$dir/lib/libnccl.so.2"
ln "$dir/lib/libcuda.so.1" "$dir/lib/libnvidia-ml.so.1"
bus=0000:06:00.0

# helped FAULTS ARGUMENT...: the helper's words, joined, without times, in $words, those of NCCL in $dir/errors
helped() {
    faults=$1
    shift
    status=0
    LD_LIBRARY_PATH=$dir/lib FALSE=$faults timeout 120 "$bin-try" "$version" "$@" >"$dir/said" 2>"$dir/errors" || status=$?
    words=$(sed -E '/^at /d; s/^(done .*) [0-9]+$/\1/' "$dir/said" | tr '\n' ';')
}

# ---- NVML ----
helped "" gpus $bus
same "an idle GPU" "0 version $version;nvml 0;gpu $bus mode=0 mig=0 used=4 free=140000 processes=0;end;" "$status $words"
helped "mode=3 mig=-1 processes=2 used=9000 free=50" gpus $bus
same "exclusive, in use, before MIG" "version $version;nvml 0;gpu $bus mode=3 used=9000 free=50 processes=2;end;" "$words"
helped "handle=6" gpus $bus
same "a GPU that NVML does not know" "version $version;nvml 0;gpu $bus error=6;end;" "$words"
helped "nvml=9" gpus $bus
same "no driver" "version $version;nvml 9;end;" "$words"

# ---- NCCL ----
helped "" nccl - 60000 $bus==mlx5_0:1
same "status" 0 "$status"
for rank in 0 1; do
    for step in load gpu memory id join connect sum compare leave; do
        matches "rank $rank: $step" "*;done 0 $rank $step;*" "$words"
    done
done
matches "the library" "*;library 0 22809 */libnccl.so.2;*" "$words"
matches "two nodes" "*0 vm:*NCCL_HOSTID set by environment to nccl-init-try-0*" "$(cat "$dir/errors")"
matches "two nodes" "*0 vm:*NCCL_HOSTID set by environment to nccl-init-try-1*" "$(cat "$dir/errors")"
matches "the GPU's HCAs" "*NCCL_IB_HCA set to =mlx5_0:1*" "$(cat "$dir/errors")"
helped "" nccl - 60000 0000:06:00.0 0000:07:00.0 0000:08:00.0
same "three GPUs" "6 6" "$(grep -c 'leave [0-9]' "$dir/said") $(grep -c '^[012] vm.*HOSTID' "$dir/errors")"

helped "cuInit=100" nccl - 60000 $bus
same "cuInit" "failed 0 0 gpu cuInit 100;failed 0 1 gpu cuInit 100;" "$(grep ^failed "$dir/said" | sort | tr '\n' ';')"
helped "cuDevicePrimaryCtxRetain=2" nccl - 60000 $bus
matches "no GPU memory" "*;failed 0 ? gpu cuDevicePrimaryCtxRetain 2;*" "$words"
helped "ncclCommInitRank=5" nccl - 60000 $bus
matches "refused" "*;failed 0 0 join ncclCommInitRank 5;*" "$words"
matches "why" "*NCCL WARN Failed to initialize any NET plugin*" "$(cat "$dir/errors")"
helped "wrong" nccl - 60000 $bus
matches "wrong sums" "*;wrong 0 1 4193280 4096;failed 0 1 compare sums 84;*" "$words"
helped "die=ncclCommInitRank" nccl - 60000 $bus
matches "a rank dies: the other is stopped" "*;died 0 1 11;stopped 0 0;end;" "$words"
begin=$(date +%s)
helped "hang=ncclAllReduce" nccl - 1500 $bus
matches "a rank hangs" "*;stopped 0 0;stopped 0 1;end;" "$words"
same "at the deadline" 1 "$(($(date +%s) - begin < 5))"
helped "noise" nccl - 60000 $bus
matches "noise of a library" "*;done 0 0 leave;*" "$words"
same "noise: each line is of the pair" "" "$(grep -v '^0 ' "$dir/errors")"
helped "flood=mlx5_7" nccl - 60000 $bus==mlx5_7:1 0000:07:00.0==mlx5_1:1
matches "a pair that prints much" "*;cut 0;*" "$words"
same "... takes nothing from the other one" "2 0" "$(grep -c '^1 vm.*HOSTID' "$dir/errors") $(grep -c '^cut 1' "$dir/said")"
same "... and all of it has room" 1 "$(($(wc -c <"$dir/errors") < 512 * 1024))"
helped "" nccl "$dir/none.so" 60000 $bus
matches "a library that is not there" "*;unloaded $dir/none.so: cannot open shared object file: No such file or directory;failed 0 0 load dlopen 79;*" "$words"
helped "" nccl "$dir/said" 60000 $bus
matches "no library" "*;unloaded $dir/said: *;failed 0 0 load dlopen 79;*" "$words"

# ---- the whole program, on a node that is made up, whose plan is RDMA ----
cp "$bin" "$bin-try" "$dir"
# tried STATUS WHAT PATTERN [NAME=VALUE...]
tried() {
    expected=$1 what=$2 pattern=$3 status=0
    shift 3
    "$top/tests/try/gpu_node" "$dir/lib" "$@" "$dir/nccl-init" selftest --try=nccl >"$dir/said" 2>&1 || status=$?
    same "$what: status" "$expected" "$status"
    matches "$what: words" "*$pattern*" "$(tr -s ' \n' ' ' <"$dir/said")"
}
if why=$("$top/tests/try/gpu_node" "$dir/lib" true); then
    tried 0 "it says its network" "the image's NCCL works on 2 of 2 GPUs"
    tried 0 "a silent one does not pass" "works on 0 of 2 GPUs; not tried: what NCCL printed does not show over which network" FALSE=silent
    tried 0 "nor one that prints too much" "works on 1 of 2 GPUs; not tried: what NCCL printed does not show" FALSE=flood=mlx5_1
    tried 0 "NCCL_ALGO=nvls" "not tried: NCCL_ALGO=nvls, a value for several GPUs of a node" NCCL_ALGO=nvls
else
    echo "not tried: $why"
fi
rm "$dir/lib/libcuda.so.1"
helped "" nccl - 60000 $bus
matches "no libcuda" "*;unloaded libcuda.so.1: *;failed 0 0 gpu dlopen 79;*" "$words"
rm "$dir/lib/libnvidia-ml.so.1"
helped "" gpus $bus
matches "no NVML" "version $version;unloaded libnvidia-ml.so.1: *;end;" "$words"
same "no process is left" "" "$(pgrep -f "^$bin-try" || true)"
finish
