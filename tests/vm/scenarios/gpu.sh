#!/bin/bash
# --try=gpu on real verbs, SoftRoCE's, by the way of peer memory: the matrix, and a registration and an export that are refused.
# hardware: nics=4
# seconds: 40
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=/dev/null disable=SC2016,SC2086,SC2154 # a step is in backquotes; words; of gpus
. /lab/lib
. /lab/gpus

section 'no peer memory'
tried 0 'SoftRoCE has no DMA-BUF' 'gdr.untried: * neither DMA-BUF nor nvidia-peermem' -- $one
refused none 'not tried'
peermem

section 'all is well'
tried 0 'every pair' '4 of 4 pairs of GPU and port passed' -- $gpu
cat /tmp/said
# on a busy machine one may be slow
matches 'the matrix' "*GPU memory, by peermem, *GPU mlx5_0/1 mlx5_1/1 $first $rate $rate $second $rate $rate*" \
    "$(tr -s ' \n' ' ' </tmp/said | sed 's/ slow / /g')"
"$P" $gpu --json >/tmp/json
same 'JSON' '4 passed peermem true' "$(jq -r '[.gpu.passed, ([.gpu.pairs[].result] | unique[]), ([.gpu.pairs[].way] | unique[]),
    ([.gpu.pairs[] | .to_gpu_mbps > 0 and .from_gpu_mbps > 0] | all)] | join(" ")' /tmp/json)"
same 'the libibverbs of the image' "$(readlink -f /usr/lib/x86_64-linux-gnu/libibverbs.so.1)" "$(jq -r .gpu.library /tmp/json)"
tried 0 'the demand is met' 'GPU memory: 4 of 4 pairs*started' -- --require=gdr-tried --deadline=60 -- echo started

section 'the registration is refused'
tried 1 'no HCA can register it' "gdr.tried.failed: $first mlx5_0/1: step \`register\` by peermem: EFAULT*1 of 2 pairs" \
    CUDA_FAULT=pin@$first -- $one
refused pin 'failed'

section 'CUDA exports no DMA-BUF'
tried 0 'then peer memory is the way, as for NCCL' 'GPU memory, by peermem, ' CUDA_FAULT=export -- $one
mv /sys/module/nvidia_peermem /sys/module/other
tried 0 'without peer memory there is none' 'gdr.untried: * neither DMA-BUF nor nvidia-peermem' CUDA_FAULT=export -- $one
refused export 'not tried'
mv /sys/module/other /sys/module/nvidia_peermem

section 'what is left'
left() { "$P" --hcas=mlx5_0 --deadline=60 "$@" -- bash -c "$LOOK" 2>/dev/null; }
same 'nothing, after all is well' "$(left)" "$(left --require=gdr-tried)"
export CUDA_FAULT=crash
same 'nor after a crash' "$(left)" "$(left --try=gpu)"
finish
