/* SPDX-License-Identifier: Apache-2.0 */
/* core: what every room uses. Strict parsers, bounded text, names. No system call, no heap
   (tests/lint/purity.sh). Each subject has a header of its own.

   Words, here and everywhere:
   HCA       an RDMA device, `mlx5_6`; VF, PF, sub-function: the PCI or auxiliary function behind it
   port      of an HCA, `mlx5_6/1`; what NCCL_IB_HCA lists
   netdev    a network interface; an HCA's own: the one of the same function
   given     the HCA belongs to this pod: somebody said so (a claim, from a source), or the device
             node opens. Others are only visible
   chosen    a given port that NCCL is to use; the others are left out, with a rule and a reason
   rail      a chosen port with a cable of its own; two VFs of one PF port are one rail
   entry     a row of a port's GID table: index, GID, type (RoCE v1 or v2), netdev
   own       of an entry: ours (an address of this network namespace), foreign, unknown
   index     of an entry; one number for all ports, or NCCL searches on each (the GID search)
   fact      what was read; known, absent, denied, malformed or never read (enum ni_known)
   rule      one decision; sets a setting (a variable with value and reason) or judges ports
   check     what doctor looks at; finding: what people are told, with an id and a hint
   the user  who wrote the pod's environment and nccl.conf; what is set there stays
   distance  between GPU and HCA, in NCCL's words: PIX, PXB, PHB, SYS
   door      what reads files; root: what it reads them from. */
#ifndef NCCL_INIT_CORE_H
#define NCCL_INIT_CORE_H

#endif
