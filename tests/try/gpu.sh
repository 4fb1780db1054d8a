#!/bin/sh
# selftest --try=gpu on a node that is made up, with stand-ins for libibverbs and libcuda: what it says of healthy pairs, and
# of each planted fault. The bytes are moved by nccl-init-try, with the code of rails.
# SPDX-License-Identifier: Apache-2.0
set -u
# a limit of open files is tried below: what the caller left open would count
exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
top=$(cd -- "$(dirname -- "$0")/../.." && pwd)
bin=$(program)
node=$top/tests/try/gpu_node
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

why=$("$top/tests/gpu/hca.sh" "$dir/libs") || skip_all "$why"
cp -R "$dir/libs" "$dir/verbs"
"$top/tests/gpu/cuda.sh" "$dir/libs"
why=$("$node" "$dir/libs" true) || skip_all "$why"
cp "$bin" "$bin-try" "$dir"

# tried STATUS WHAT PATTERN [NAME=VALUE|-u NAME...] -- [ARG...]: its status, and its words, joined, have that pattern
tried() {
    expected=$1 what=$2 pattern=$3 status=0
    shift 3
    words=
    while [ "$1" != -- ]; do
        words="$words $1"
        shift
    done
    shift
    # shellcheck disable=SC2086 # words are wanted
    "$node" "$dir/libs" $words "$dir/nccl-init" "$@" >"$dir/said" 2>&1 || status=$?
    same "$what: status" "$expected" "$status"
    matches "$what: words" "*$pattern*" "$(tr -s ' \n' ' ' <"$dir/said")"
}
gpu='selftest --try=gpu'

# shellcheck disable=SC2086 # words
{
    tried 0 "healthy, DMA-BUF" "2 of 2 pairs of GPU and port passed; not tried: *GPU memory, by dma-buf, * 0000:1b:00.0 [0-9]*/* - 0000:43:00.0 - [0-9]*/*" -- $gpu
    tried 0 "every pair" "4 of 4 pairs" -- $gpu --pairs=all
    tried 0 "NCCL_DMABUF_ENABLE=0 leaves no way" "gdr.untried: * neither DMA-BUF nor nvidia-peermem" NCCL_DMABUF_ENABLE=0 -- $gpu
    tried 0 "an HCA without DMA-BUF" "neither DMA-BUF nor nvidia-peermem" HCA_DMABUF=0 -- $gpu
    PEERMEM=1
    export PEERMEM
    tried 0 "healthy, peer memory" "2 of 2 pairs*GPU memory, by peermem, " CUDA_FAULT=nodmabuf HCA_PEERMEM=1 -- $gpu
    tried 0 "by the user's choice" "2 of 2 pairs*GPU memory, by peermem, " NCCL_DMABUF_ENABLE=0 HCA_PEERMEM=1 -- $gpu
    tried 1 "peer memory is refused" "step \`register\` by peermem: EFAULT" CUDA_FAULT=nodmabuf -- $gpu
    unset PEERMEM
    tried 1 "the export is refused" "gdr.tried.failed: 0000:1b:00.0 mlx5_0/1, 0000:43:00.0 mlx5_1/1: step \`export\` by dma-buf: CUDA error 801 (not supported)" \
        CUDA_FAULT=export -- $gpu
    tried 1 "the registration is refused" "gdr.tried.failed: * step \`register\` by dma-buf: ENOMEM" HCA_REG=errno=12,on=gpu -- $gpu
    wrong='8192 of 1048576 bytes are wrong, also when they are moved again; the first is at 12288, where those of 20480 are'
    tried 1 "a page is swapped, for one GPU" "gdr.tried.bytes: 0000:43:00.0 mlx5_1/1: step \`host-to-gpu\` by dma-buf: $wrong *1 of 2 pairs" \
        CUDA_FAULT=swap@0000:43:00.0 -- $gpu
    tried 1 "a write lands 4 KiB off" "gdr.tried.bytes: 0000:1b:00.0 mlx5_0/1: * the first is at 4096, where those of 0 are" \
        CUDA_FAULT=shift@0000:1b:00.0 -- $gpu
    tried 1 "a page is swapped by the HCA" "gdr.tried.bytes: * step \`host-to-gpu\` *, where those of 20480 are" HCA_GPU=swap -- $gpu
    tried 0 "late bytes are not wrong" "warning: gdr.tried.late: 0000:1b:00.0 mlx5_0/1: by dma-buf*1 of 2 pairs" CUDA_FAULT=late@0000:1b:00.0 -- $gpu
    tried 0 "nor those of a late HCA" "warning: gdr.tried.late: *0 of 2 pairs" HCA_GPU=late -- $gpu
    tried 1 "a crash of one GPU's process" "gdr.tried.failed: 0000:1b:00.0 mlx5_0/1: step \`host-to-gpu\`: its process dies by signal 11*1 of 2 pairs" \
        CUDA_FAULT=crash@0000:1b:00.0 -- $gpu
    tried 1 "and its next pair goes on" "0000:1b:00.0 mlx5_0/1, 0000:1b:00.0 mlx5_1/1: *2 of 4 pairs" CUDA_FAULT=crash@0000:1b:00.0 -- $gpu --pairs=all
    tried 0 "a hang" "gdr.untried: * 0000:43:00.0 mlx5_1/1: it hung, or was not done, at step \`host-to-gpu\` when the deadline came*1 of 2 pairs" \
        CUDA_FAULT=hang@0000:43:00.0 -- $gpu --deadline=8
    tried 1 "a GID index beyond the table" "gdr.untried: * mlx5_0/1 has no GID at index 300" NCCL_IB_GID_INDEX=300 -- $gpu
    tried 0 "no memory" "gdr.untried: * 0000:1b:00.0 mlx5_0/1: step \`gpu-memory\`: the GPU: it has too little free memory" CUDA_FAULT=full -- $gpu
    tried 0 "another process has it" "GPU 0000:1b:00.0: another process has it" CUDA_FAULT=used -- $gpu
    tried 0 "compute mode" "GPU 0000:1b:00.0: its compute mode is PROHIBITED" CUDA_FAULT=mode -- $gpu
    tried 0 "in use" "GPU 0000:1b:00.0: it is in use: 2 processes; --busy tries it all the same" NVML_USE=processes -- $gpu
    tried 0 "in use, and tried" "2 of 2 pairs" NVML_USE=processes -- $gpu --busy
    tried 0 "MIG" "GPU 0000:1b:00.0: MIG divides it" NVML_USE=mig -- $gpu --busy
    tried 0 "PROHIBITED" "GPU 0000:1b:00.0: its compute mode is PROHIBITED" NVML_USE=prohibited -- $gpu
    tried 0 "too little memory" "GPU 0000:1b:00.0: too little GPU memory: 1 MiB are free, and a trial takes 700 MiB" NVML_USE=full -- $gpu
    tried 0 "hidden by CUDA" "GPU 0000:43:00.0: CUDA does not show it to this process*1 of 2 pairs" CUDA_GPUS=0000:1b:00.0 -- $gpu
    tried 0 "no libcuda" "the image has no CUDA that loads: libcuda.so.1: cannot open" LD_LIBRARY_PATH="$dir/verbs" -- $gpu --busy
    tried 1 "a completion error" "gdr.tried.failed: * step \`host-to-gpu\` by dma-buf: status 12 (IBV_WC_RETRY_EXC_ERR)" HCA_GPU=refuse -- $gpu
    tried 0 "of the port itself" "gdr.untried: * step \`host-to-host\` of the port itself: status 12 (IBV_WC_RETRY_EXC_ERR) (--try=ports)" \
        HCA_FAIL=status=12 -- $gpu
    tried 0 "no completion" "step \`host-to-host\` of the port itself: the HCA returns no completion" HCA_HANG=after=1 -- $gpu
    tried 0 "too slow for its time" "gdr.untried: * step \`host-to-host\`: too slow to be tried" HCA_SLOW=usec=120000 -- $gpu --deadline=60
    tried 0 "CUDA's own error" "gdr.untried: * step \`host-to-gpu\`: the GPU: CUDA reports an ECC error*1 of 2 pairs" \
        CUDA_FAULT=ecc@0000:1b:00.0 -- $gpu
    tried 1 "a library ends the process" "gdr.tried.failed: 0000:1b:00.0 mlx5_0/1: step \`host-to-gpu\`: EIO*1 of 2 pairs" \
        CUDA_FAULT=exit@0000:1b:00.0 -- $gpu
    tried 1 "the GPU cannot be opened again" "0000:1b:00.0 mlx5_1/1: its GPU could not be opened again: its process dies by signal 11" \
        CUDA_FAULT=reopen -- $gpu --pairs=all
    tried 0 "wrong once" "gdr.tried.late: * by dma-buf, 8192 bytes were wrong once, * right when they were moved again" CUDA_FAULT=once -- $gpu
    tried 1 "wrong in one buffer" "gdr.tried.bytes: * step \`host-to-gpu\` by dma-buf: $wrong" CUDA_FAULT=first -- $gpu
    tried 0 "a library's banner" "2 of 2 pairs" CUDA_FAULT=banner -- $gpu

    tried 1 "the picture" "" CUDA_FAULT=swap@0000:43:00.0 -- $gpu --svg="$dir/picture.svg"
    matches "has a way and rates, and the wrong bytes" "*>dma-buf</text>*>WRONG</text>*>at 12288</text>*</svg>" "$(cat "$dir/picture.svg")"
    tried 1 "it cannot be written" "error: $dir/no/picture.svg: ENOENT*gdr.tried.bytes" CUDA_FAULT=swap -- $gpu --svg="$dir/no/picture.svg"

    # before a command
    tried 0 "the command starts as decided" "self-test: GPU memory: 2 of 2 pairs of GPU and port passed*NCCL_NET_GDR_LEVEL=PXB" -- --try=gpu -- env
    tried 0 "wrong bytes switch it off" "wrong bytes, so GPUDirect RDMA is switched off: NCCL_NET_GDR_LEVEL=LOC*NCCL_NET_GDR_LEVEL=LOC" \
        CUDA_FAULT=swap@0000:43:00.0 -- --try=gpu -- env
    tried 0 "for UCX, too" "NCCL_NET_GDR_LEVEL=LOC, UCX_IB_GPU_DIRECT_RDMA=n *UCX_IB_GPU_DIRECT_RDMA=n" \
        CUDA_FAULT=swap -- --try=gpu --for=nccl,ucx -- env
    tried 0 "not against the user" "error: self-test: *is NOT switched off: you set NCCL_NET_GDR_LEVEL=SYS; the job will compute*NCCL_NET_GDR_LEVEL=SYS" \
        CUDA_FAULT=swap NCCL_NET_GDR_LEVEL=SYS -- --try=gpu -- env
    tried 0 "a pair that NCCL does not use" "a pair with wrong bytes is farther than NCCL_NET_GDR_LEVEL allows" \
        CUDA_FAULT=swap@0000:1b:00.0 -- --try=gpu --hcas=mlx5_1 -- env
    tried 0 "but UCX may" "farther than NCCL_NET_GDR_LEVEL allows*switched off: UCX_IB_GPU_DIRECT_RDMA=n *UCX_IB_GPU_DIRECT_RDMA=n" \
        CUDA_FAULT=swap@0000:1b:00.0 -- --try=gpu --hcas=mlx5_1 --for=nccl,ucx -- env
    tried 125 "no process can be started" "--require=gdr-tried, but GPU memory: the trial could not be started" \
        prlimit --nofile=5 -- --require=gdr-tried --try=ports,gpu -- env
    tried 125 "the proof of what is off" "--require=gdr-tried, but --gdr=off switches it off" -- --require=gdr-tried --gdr=off -- env
    tried 125 "the proof of what the user switches off" "--require=gdr-tried, but *NCCL_NET_GDR_LEVEL" \
        NCCL_NET_GDR_LEVEL=LOC -- --require=gdr-tried -- env
    tried 0 "the proof is demanded, and there" "2 of 2 pairs*GDR_LEVEL=PXB" -- --require=gdr-tried -- env
    tried 125 "the proof fails" "command not started: --require=gdr-tried, but GPU memory: 0 of 2 pairs of GPU and port passed" \
        CUDA_FAULT=swap -- --require=gdr-tried -- env
    tried 125 "late is no proof" "command not started: --require=gdr-tried, but GPU memory: 0 of 2" CUDA_FAULT=late -- --require=gdr-tried -- env
    tried 125 "not tried is no proof" "--require=gdr-tried, but GPU memory: 0 of 2 pairs of GPU and port passed, 2 not tried (first: " \
        CUDA_FAULT=full -- --require=gdr-tried -- env
    tried 125 "require" "--selftest=require, but GPU memory: 0 of 2" CUDA_FAULT=swap -- --try=gpu --selftest=require -- env
}
finish
