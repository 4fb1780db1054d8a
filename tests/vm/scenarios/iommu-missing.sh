#!/bin/bash
# A command line that asks for an IOMMU and iommu=pt, on a machine that has none: neither translated nor identity.
# hardware: igb iommu=missing
# seconds: 13
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=/dev/null
. /lab/lib
# shellcheck source=/dev/null
. /lab/iommu

hcas_of 0000:01:00.0

section "IOMMU"
matches "the command line says pt" "*intel_iommu=on iommu=pt*" "$(</proc/cmdline)"
same "groups, IOMMUs" "" "$(find /sys/kernel/iommu_groups/ /sys/class/iommu/ -mindepth 1)"
judged missing group group
wait_for 60 active mlx5_0
record iommu-missing
finish
