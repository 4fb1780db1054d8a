/* SPDX-License-Identifier: Apache-2.0 */
/* PCI distance as NCCL sees it: the same first switch is PIX, more switches PXB, one CPU PHB, two
   SYS (NCCL 2.30.7 graph/paths.cc ncclTopoSetPaths). A CPU is a NUMA node. */
#include "rule.h"

enum ni_distance ni_pci_distance(const struct ni_pci *a, const struct ni_pci *b)
{
    if (a->known != NI_KNOWN || b->known != NI_KNOWN)
        return NI_DIST_UNKNOWN;
    int shared = ni_pci_switch(a, b);
    if (shared)
        return shared == 1 ? NI_DIST_PIX : NI_DIST_PXB;
    if (a->numa.known != NI_KNOWN || b->numa.known != NI_KNOWN)
        return NI_DIST_UNKNOWN;
    return a->numa.v == b->numa.v ? NI_DIST_PHB : NI_DIST_SYS;
}
