/* SPDX-License-Identifier: Apache-2.0 */
/* PCI functions: one readlink shows the chain of bridges above a function; its NUMA node is read if
   a rule needs it. */
#include "node/pci.h"

#include <errno.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/known.h"
#include "nccl_init/number.h"
#include "nccl_init/pci.h"
#include "nccl_init/text.h"
#include "node/read.h"
#include "sysroot/files.h"

/* Parses "pci0000:00", a host bridge (drivers/pci/probe.c pci_register_host_bridge). */
static bool parse_host_bridge(const char *part, struct ni_pci *pci)
{
    struct ni_span name[2];
    uint64_t domain, bus;

    part += ni_has_prefix(part, "pci") ? 3 : strlen(part);
    if (!ni_split(&part, ':', &name[0]) || !ni_split(&part, '/', &name[1]) ||
        ni_parse_hex(name[0], UINT32_MAX, &domain) < 0 || ni_parse_hex(name[1], 0xff, &bus) < 0)
        return false;
    pci->root_domain = (uint32_t)domain;
    pci->root_bus = (uint8_t)bus;
    return true;
}

/* Parses the functions below the last host bridge:
   ".../devices/pci0000:00/0000:00:01.1/0000:01:00.0[/more]". VMD and Hyper-V put a host bridge
   below other devices, so the last one counts. */
static void parse_chain(const char *target, struct ni_pci *pci)
{
    bool under_bridge = false;
    struct ni_span part;

    while (ni_split(&target, '/', &part)) {
        struct ni_bdf bdf;

        if (parse_host_bridge(part.p, pci)) {
            under_bridge = true;
            pci->depth = 0;
        } else if (under_bridge && ni_parse_bdf(part, &bdf) == 0) {
            if (pci->depth == NI_MAX_DEPTH) {
                pci->known = NI_BAD;
                return;
            }
            pci->at[pci->depth++] = bdf;
        } else if (under_bridge && pci->depth > 0) {
            /* below the function: infiniband/, net/, an auxiliary device */
            if (ni_is_aux_id(part))
                (void)ni_copyn(pci->aux, sizeof(pci->aux), part.p, part.n);
            break;
        }
    }
    pci->known = pci->depth > 0 ? NI_KNOWN : NI_BAD;
}

/* Returns true if the link of a function or of an RDMA device ends in its own name, as it must. */
static bool ends_in_name(const char *target, const char *path)
{
    const char *own = strrchr(path, '/'), *end = strrchr(target, '/');

    return end && strcmp(own ? own + 1 : path, end + 1) == 0;
}

void ni_probe_chain(struct ni_probe *p, struct ni_pci *pci, const char *path)
{
    char target[NI_PAGE];

    pci->known = ni_read_link(p, NI_REQUIRED, target, sizeof(target), "%s", path);
    if (pci->known != NI_KNOWN)
        return;
    const bool itself = ends_in_name(target, path);
    if (itself)
        parse_chain(target, pci);
    pci->none = itself && pci->known == NI_BAD && strstr(target, "/virtual/");
    if (!itself || (pci->known == NI_BAD && !pci->none))
        pci->known = ni_note_odd(p, target);
}

struct ni_bdf ni_class_bdf(struct ni_probe *p, const char *name)
{
    struct ni_pci pci = {.known = NI_UNSET};
    char target[NI_PAGE];

    /* a link that cannot be read is reported later, when somebody looks at the device */
    if (ni_readlink(p->root, target, sizeof(target), "sys/class/infiniband/%s", name) > 0 &&
        ends_in_name(target, name))
        parse_chain(target, &pci);
    return pci.known == NI_KNOWN ? pci.at[pci.depth - 1] : NI_LAST_BDF;
}

static void read_numa(struct ni_probe *p, struct ni_pci *pci)
{
    char bdf[NI_BDF_TEXT];

    if (pci->known == NI_KNOWN && pci->numa.known == NI_UNSET)
        pci->numa = ni_read_num(p, p->root, NI_OPTIONAL, ni_parse_number,
                                "sys/bus/pci/devices/%s/numa_node",
                                ni_bdf_text(pci->at[pci->depth - 1], bdf));
}

void ni_probe_numa(struct ni_probe *p)
{
    for (unsigned i = 0; i < p->inv->n_gpu; i++)
        read_numa(p, &p->inv->gpu[i].pci);
    for (unsigned i = 0; i < p->inv->n_hca; i++)
        read_numa(p, &p->inv->hca[i].pci);
}
