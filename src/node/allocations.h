/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations: device ids and names, as each source adds them. */
#ifndef NCCL_INIT_NODE_ALLOCATIONS_H
#define NCCL_INIT_NODE_ALLOCATIONS_H

#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/pci.h"
#include "nccl_init/text.h"
#include "node/read.h"

/* Adds the allocations of one source, p->source. */
typedef void ni_source_fn(struct ni_probe *p);

/* A device id as somebody wrote it, parsed. */
struct ni_device_id {
    enum ni_allocated_by by; /* NI_BY_NOTHING: neither a PCI address nor an auxiliary name */
    struct ni_bdf bdf;       /* NI_LAST_BDF: none */
    char text
        /* as the kernel spells it: lower case, four digits of domain; another form is quoted */
        [NI_DEV_NAME];
};
struct ni_device_id ni_parse_device_id(struct ni_span s);

/* Finds the allocation with that id; NULL. */
struct ni_allocation *ni_find_allocation(struct ni_probe *p, const struct ni_device_id *id);
/* Adds the id, or finds it. An id whose form is not known is reported, and kept. NULL: no room. */
struct ni_allocation *ni_add_allocation(struct ni_probe *p, const char *from,
                                        const struct ni_device_id *id);
/* Ids of a list, separated by `,`, `;` or blanks. */
void ni_add_allocations(struct ni_probe *p, const char *from, const char *list);
/* Adds a device that the source knows by its RDMA name. */
void ni_add_allocation_name(struct ni_probe *p, const char *from, const char *name);
/* Notes the source's name for the RDMA device of an allocation. A value that is not a device name
   is reported. */
void ni_note_rdma_dev(struct ni_probe *p, struct ni_allocation *c, const char *from,
                      const char *name);

#endif
