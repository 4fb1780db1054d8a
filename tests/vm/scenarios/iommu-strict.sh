#!/bin/bash
# An IOMMU that flushes at each unmap, and one group that does not.
# hardware: igb iommu=strict
# seconds: 17
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=/dev/null
. /lab/lib
# shellcheck source=/dev/null
. /lab/iommu
functions=()

hcas_of 0000:01:00.0

section "IOMMU"
judged strict DMA DMA
echo DMA-FQ >"/sys/bus/pci/devices/${functions[0]}/iommu_group/type"
judged "one is lazy" DMA-FQ DMA

section "no NUMA node"
numa -1 -1
wait_for 60 active mlx5_0
record iommu-strict
finish
