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

/* ---- PCIe links ---- */

/* Parses the speed of a link, in thousandths of GT/s; the kernel may not know it
   (drivers/pci/probe.c pci_speed_string). */
static bool parse_speed(const char *text, int64_t *ret)
{
    *ret = 0;
    return ni_has_prefix(text, "Unknown") || ni_parse_rate(text, ret);
}

/* Reads the most that a function can do: its lanes, and the speed of each in 100 Mb/s as NCCL
   counts it (2.30.7 graph/topo.cc kvDictPciGen): 60 for 8 GT/s. */
static struct ni_lanes read_lanes(struct ni_probe *p, struct ni_bdf at)
{
    enum { MOST_LANES = 32, GEN3 = 8000 };
    char bdf[NI_BDF_TEXT];
    const struct ni_num n =
        ni_read_num(p, p->root, NI_OPTIONAL, ni_parse_number,
                    "sys/bus/pci/devices/%s/max_link_width", ni_bdf_text(at, bdf));
    const struct ni_num speed = ni_read_num(p, p->root, NI_OPTIONAL, parse_speed,
                                            "sys/bus/pci/devices/%s/max_link_speed", bdf);

    if (n.known != NI_KNOWN || n.v < 1 || n.v > MOST_LANES || speed.known != NI_KNOWN ||
        speed.v < 1 || speed.v > INT32_MAX)
        return (struct ni_lanes){0, 0};
    const int64_t each = speed.v < GEN3 ? speed.v * 6 / 1000 : speed.v * 15 / 2000;
    return (struct ni_lanes){(uint16_t)n.v, (uint16_t)(each > UINT16_MAX ? 0 : each)};
}

/* Reads the links that NCCL counts, those of every second function of the chain (ni_pci_distance):
   the lesser of both ends (2.30.7 graph/xml.cc ncclTopoGetXmlFromSys). device: the function at the
   end; that of a VF is its PF. */
static void read_links(struct ni_probe *p, struct ni_pci *pci, struct ni_bdf device)
{
    if (pci->known != NI_KNOWN)
        return;
    for (int i = pci->depth - 1; i >= 0; i -= 2) {
        const struct ni_lanes own = read_lanes(p, i == pci->depth - 1 ? device : pci->at[i]);
        const struct ni_lanes other = i > 0 ? read_lanes(p, pci->at[i - 1]) : own;

        pci->link[i] = own;
        if (other.n > 0 && other.n < own.n)
            pci->link[i].n = other.n;
        if (other.n > 0 && other.each < own.each)
            pci->link[i].each = other.each;
    }
}

void ni_probe_links(struct ni_probe *p)
{
    for (unsigned i = 0; i < p->inv->n_gpu; i++)
        read_links(p, &p->inv->gpu[i].pci, p->inv->gpu[i].bdf);
    for (unsigned i = 0; i < p->inv->n_hca; i++) {
        struct ni_hca *h = &p->inv->hca[i];

        if (h->has_bdf)
            read_links(p, &h->pci, h->is_vf ? h->pf : h->bdf);
    }
}

/* ---- the CPU ---- */

static void take_cpu(struct ni_cpu *cpu, const char *line)
{
    struct ni_span value;

    switch (ni_parse_cpu_line(ni_span_of(line), &value)) {
    case NI_CPU_NO_LINE:
        break;
    case NI_CPU_VENDOR:
        (void)ni_copyn(cpu->vendor, sizeof(cpu->vendor), value.p, value.n);
        break;
    case NI_CPU_FAMILY:
        (void)ni_parse_int(value, INT32_MAX, &cpu->family);
        break;
    case NI_CPU_MODEL:
        (void)ni_parse_int(value, INT32_MAX, &cpu->model);
        break;
    }
}

void ni_probe_cpu(struct ni_probe *p)
{
    char *rest, *line;

    (void)ni_read_text(p, NI_OPTIONAL, "proc/cpuinfo");
    rest = p->text;
    while (ni_line(&rest, &line) && *line) /* the first CPU; an empty line ends it */
        take_cpu(&p->inv->cpu, line);
}
