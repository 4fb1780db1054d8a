/* SPDX-License-Identifier: Apache-2.0 */
#include "sources.h"

#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/inventory.h"
#include "nccl_init/pci.h"
#include "nccl_init/rdma.h"
#include "node/read.h"
#include "node/sources.h"
#include "sysroot/root.h"
#include <string.h>

struct ni_root *sources_node(void)
{
    static struct ni_root root;

    if (!root.tree)
        root = slots_open("tests/fuzz/node.tree");
    return &root;
}

struct pod *sources_pod(enum pod_slot slot)
{
    struct pod *pod = pod_new(slot);

    pod->ctx.root = *sources_node();
    return pod;
}

void sources_ask(struct pod *pod)
{
    static struct ni_probe p; /* its listings are large */
    static const struct ni_ask ask;

    const struct ni_dir top = ni_dir_top(&pod->ctx.root);
    p.root = &top;
    p.env = &pod->ctx.env;
    p.ask = &ask;
    p.inv = &pod->ctx.inventory;
    p.f = &pod->ctx.findings;
    p.lost = false;
    ni_probe_sources(&p);
    check_findings(&pod->ctx.findings);
    check_inventory(&pod->ctx.inventory);
}

void sources_named(const struct pod *pod, enum ni_source source, const char *text)
{
    const struct ni_inventory *inv = &pod->ctx.inventory;

    for (unsigned i = 0; i < inv->n_hca && inv->source == source; i++) {
        const struct ni_hca *h = &inv->hca[i];
        char bdf[NI_BDF_TEXT];
        const char *id = h->aux[0] ? h->aux : ni_bdf_text(h->bdf, bdf);
        /* JSON may write a character by its number. */
        FUZZ_CHECK(h->allocation < 0 || strcasestr(text, id) || strchr(text, '\\'),
                   "%s (%s) was not given", h->name, id);
    }
}

bool sources_flat(const char *text, size_t n)
{
    unsigned opened = 0;

    for (size_t i = 0; i < n; i++)
        opened += text[i] == '{' || text[i] == '[';
    return opened <= 16;
}

void sources_found(const struct pod *pod, const char *id)
{
    static const char *const rdma[] = {"0000:03:00.2", "0000:23:00.2", "mlx5_core.sf.4"};
    const struct ni_inventory *inv = &pod->ctx.inventory;
    bool found = false, known = false;

    for (unsigned i = 0; id && i < NI_COUNT(rdma); i++)
        known = known || strcmp(id, rdma[i]) == 0;
    for (unsigned i = 0; known && i < inv->n_allocation && !found; i++)
        found = strcmp(inv->allocation[i].id, id) == 0 && inv->allocation[i].hca >= 0;
    FUZZ_CHECK(!known || found || inv->n_allocation == NI_MAX_ALLOCATION,
               "%s is named, and not found", id);
}
