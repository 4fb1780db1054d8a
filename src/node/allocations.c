/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations: device ids and names, as each source adds them. */
#include "node/allocations.h"

#include <string.h>

#include "findings/device.h"
#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/pci.h"
#include "nccl_init/text.h"
#include "node/pci.h"
#include "node/read.h"

struct ni_device_id ni_parse_device_id(struct ni_span s)
{
    struct ni_device_id id = {.by = NI_BY_NOTHING, .bdf = NI_LAST_BDF};
    struct ni_text t = ni_text_on(id.text, sizeof(id.text));

    if (ni_parse_bdf(s, &id.bdf) == 0) {
        id.by = NI_BY_BDF;
        (void)ni_bdf_text(id.bdf, id.text);
        return id;
    }
    id.bdf = NI_LAST_BDF;
    if (ni_is_aux_id(s))
        id.by = NI_BY_AUX;
    ni_put_quoted(&t, s.p, s.n, sizeof(id.text) - 8);
    return id;
}

static struct ni_allocation *find_allocation(struct ni_probe *p, const char *id)
{
    for (unsigned i = 0; i < p->inv->n_allocation; i++) {
        struct ni_allocation *c = &p->inv->allocation[i];

        if (c->source == p->source && strcmp(id, c->id) == 0)
            return c;
    }
    return NULL;
}

struct ni_allocation *ni_find_allocation(struct ni_probe *p, const struct ni_device_id *id)
{
    return find_allocation(p, id->text);
}

static struct ni_allocation *new_allocation(struct ni_probe *p, const char *from,
                                            enum ni_allocated_by by, const char *id,
                                            struct ni_bdf bdf)
{
    struct ni_inventory *inv = p->inv;

    if (inv->n_allocation == NI_MAX_ALLOCATION) {
        ni_report(p->f, NI_F_ALLOC_TOO_MANY, from, "more than %d device ids; the rest is ignored",
                  NI_MAX_ALLOCATION);
        return NULL;
    }
    struct ni_allocation *c = &inv->allocation[inv->n_allocation++];
    *c = (struct ni_allocation){.source = p->source, .by = by, .bdf = bdf, .hca = -1};
    struct ni_text t = ni_text_on(c->from, sizeof(c->from));
    ni_put_quoted(&t, from, strlen(from), sizeof(c->from) - 8);
    ni_copy(c->id, sizeof(c->id), id);
    if (by == NI_BY_NOTHING)
        ni_report(p->f, NI_F_ALLOC_ID_INVALID, c->from,
                  "`%s` is neither a PCI address nor an auxiliary name", c->id);
    return c;
}

struct ni_allocation *ni_add_allocation(struct ni_probe *p, const char *from,
                                        const struct ni_device_id *id)
{
    struct ni_allocation *c = find_allocation(p, id->text);

    return c ? c : new_allocation(p, from, id->by, id->text, id->bdf);
}

void ni_add_allocation_name(struct ni_probe *p, const char *from, const char *name)
{
    if (ni_is_name(ni_span_of(name), NI_DEV_NAME) && !find_allocation(p, name))
        (void)new_allocation(p, from, NI_BY_NAME, name, ni_class_bdf(p, name));
}

/* Splits a list, "0000:03:00.2,0000:23:00.2". In the first versions of the plugin the separator was
   a blank, then ';'. */
void ni_add_allocations(struct ni_probe *p, const char *from, const char *list)
{
    static const char separators[] = ",; ";

    while (*list) {
        size_t n = strcspn(list, separators);
        const struct ni_span item = ni_trim((struct ni_span){list, n});
        const struct ni_device_id id = ni_parse_device_id(item);

        list += n;
        if (*list)
            list++;
        if (item.n == 0)
            continue;
        if (!ni_add_allocation(p, from, &id))
            return; /* there is no room for the rest */
    }
}

void ni_note_rdma_dev(struct ni_probe *p, struct ni_allocation *c, const char *from,
                      const char *name)
{
    if (name && ni_is_name(ni_span_of(name), NI_DEV_NAME)) {
        ni_copy(c->rdma_dev, sizeof(c->rdma_dev), name);
        return;
    }
    if (!name || name[0] == '\0')
        ni_report(p->f, NI_F_ALLOC_INFO_INVALID, from, "the RDMA device of %s has no name", c->id);
    else
        ni_report(p->f, NI_F_ALLOC_INFO_INVALID, from,
                  "the name of the RDMA device of %s is invalid: `%.40s`", c->id, name);
}
