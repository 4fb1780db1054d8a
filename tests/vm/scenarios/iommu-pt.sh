#!/bin/bash
# An IOMMU with iommu=pt; then the group of one VF translates all the same. The group tells, not the command line.
# hardware: igb iommu=pt
# seconds: 15
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=/dev/null
. /lab/lib
# shellcheck source=/dev/null
. /lab/iommu
functions=()

hcas_of 0000:01:00.0
vf=${functions[1]}

section "IOMMU"
matches "the command line says pt" "*iommu=pt*" "$(</proc/cmdline)"
judged pt identity identity

section "a VF's group translates"
# which takes a function without a driver
echo "$vf" >/sys/bus/pci/drivers/igbvf/unbind
echo DMA >"/sys/bus/pci/devices/$vf/iommu_group/type"
echo "$vf" >/sys/bus/pci/drivers/igbvf/bind
wait_for 60 netdev_of "$vf"
up "$(netdev_of "$vf")" 10.7.0.1/24
rdma link add mlx5_1 type rxe netdev "$(netdev_of "$vf")"
judged "one VF" identity DMA
matches "doctor knows the command line" "*(although the kernel command line says intel_iommu=on iommu=pt)*" "$(</tmp/doctor)"
wait_for 60 active mlx5_0
record iommu-pt
finish
