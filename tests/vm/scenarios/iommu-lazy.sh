#!/bin/bash
# An IOMMU as the kernel uses it when nobody says anything: it translates. Two cards, each on a NUMA node.
# hardware: igb=2 iommu=lazy numa
# seconds: 19
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=/dev/null
. /lab/lib
# shellcheck source=/dev/null
. /lab/iommu

hcas_of 0000:21:00.0 0000:41:00.0

section "IOMMU"
same "the command line does not mention it" "" "$(grep -o 'iommu[^ ]*' /proc/cmdline || true)"
judged lazy DMA-FQ DMA-FQ DMA-FQ

section "NUMA nodes"
numa 0 0 1
for hca in mlx5_0 mlx5_1 mlx5_2; do wait_for 60 active $hca; done
record iommu-lazy
finish
