#!/bin/bash
# --try=gpu on real verbs, SoftRoCE's: wrong bytes, late ones, a hang, a crash, no memory; each is named, and the demand refuses.
# hardware: nics=4
# seconds: 45
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=/dev/null disable=SC2016,SC2086,SC2154 # a step is in backquotes; words; of gpus
. /lab/lib
. /lab/gpus

peermem
section 'wrong bytes'
wrong='8192 of 1048576 bytes are wrong, also when they are moved again; the first is at 12288, where those of 20480 are'
tried 1 'a page is swapped, for one GPU' \
    "gdr.tried.bytes: $second mlx5_0/1: step \`host-to-gpu\` by peermem: $wrong*WRONG BYTES*1 of 2 pairs" \
    CUDA_FAULT=swap@$second -- $one
matches 'the other GPU has its rates' "*$first $rate $second*" "$(tr -s ' \n' ' ' </tmp/said)"
refused swap 'wrong bytes'
tried 1 'a write lands 4 KiB off' "gdr.tried.bytes: $first mlx5_0/1: * the first is at 4096, where those of 0 are" \
    CUDA_FAULT=shift@$first -- $one
refused shift 'wrong bytes'
tried 0 'before a command it is switched off' "wrong bytes, so GPUDirect RDMA is switched off: NCCL_NET_GDR_LEVEL=LOC*NCCL_NET_GDR_LEVEL=LOC" \
    CUDA_FAULT=swap -- --try=gpu --hcas=mlx5_0 --deadline=60 -- env

section 'bytes that arrive late'
tried 0 'are never called wrong' "warning: gdr.tried.late: $first mlx5_0/1: by peermem*1 of 2 pairs" CUDA_FAULT=late@$first -- $one
same 'no word of wrong bytes' 0 "$(grep -ci 'wrong' /tmp/said || true)"
refused late 'late'

section 'a hang, a crash, no memory'
tried 0 'a hang' 'it hung, or was not done, at step `host-to-gpu` when the deadline came (--deadline)' \
    CUDA_FAULT=hang@$second -- selftest --try=gpu --hcas=mlx5_0 --deadline=15 --json
same 'the GPU that hangs is not tried, the other one passed' 'passed, not tried at host-to-gpu' \
    "$(jq -r '[.gpu.pairs[] | if .result == "passed" then .result else "\(.result) at \(.step)" end] | join(", ")' /tmp/said)"
SECONDS=0
tried 125 'hang: the demand refuses, after its deadline' '--require=gdr-tried, but GPU memory: 0 of 2 pairs * when the deadline came' \
    CUDA_FAULT=hang -- --require=gdr-tried --hcas=mlx5_0 --deadline=5 -- echo started
same 'and not much later' yes "$([ $SECONDS -lt 40 ] && echo yes || echo "after $SECONDS s")"
tried 1 'a crash' "gdr.tried.failed: $first mlx5_0/1: step \`host-to-gpu\`: its process dies by signal 11*1 of 2 pairs" \
    CUDA_FAULT=crash@$first -- $one
refused crash 'failed'
tried 0 'no memory' "gdr.untried: * $first mlx5_0/1: step \`gpu-memory\`: the GPU: it has too little free memory*1 of 2 pairs" CUDA_FAULT=full@$first -- $one
refused full 'not tried'

finish
