/* SPDX-License-Identifier: Apache-2.0 */
#include "words.h"

#include <inttypes.h>
#include <string.h>

/* ---- for programs ---- */

const char *const ni_word_source[] = {
    [NI_SRC_NONE] = "none",
    [NI_SRC_OPTION] = "option",
    [NI_SRC_PCIDEVICE] = "pcidevice",
    [NI_SRC_SRIOVNET] = "sriovnet",
    [NI_SRC_DRA] = "dra",
    [NI_SRC_NETSTATUS] = "network-status",
    [NI_SRC_UVERBS] = "uverbs",
    [NI_SRC_NETDEV] = "netdev",
    [NI_SRC_HOST] = "host",
};

const char *const ni_word_claim[] = {
    [NI_CLAIM_BAD_ID] = "bad-id",
    [NI_CLAIM_NO_DEVICE] = "no-device",
    [NI_CLAIM_NOT_RDMA] = "not-rdma",
    [NI_CLAIM_UNREAD] = "unread",
    [NI_CLAIM_OK] = "ok",
};

const char *const ni_word_link[] = {
    [NI_LINK_UNKNOWN] = NULL, [NI_LINK_IB] = "infiniband", [NI_LINK_ROCE] = "roce"};

const char *const ni_word_gid_type[] = {
    [NI_GID_UNREAD] = "unread", [NI_GID_V1] = "v1", [NI_GID_V2] = "v2"};

const char *const ni_word_transport[] = {
    [NI_NET_OFF] = "off", [NI_NET_RDMA] = "rdma", [NI_NET_TCP] = "tcp", [NI_NET_OTHER] = "other"};

const char *const ni_word_origin[] = {
    [NI_FROM_RULE] = "rule",
    [NI_FROM_USER] = "user",
    [NI_FROM_CONF] = "conf",
    [NI_LEFT_UNSET] = "unset",
};

const char *ni_word_state(struct ni_num state)
{
    return state.known == NI_KNOWN ? ni_port_state_text(state.v) : NULL;
}

/* ---- for people ---- */

const char *const ni_say_source[] = {
    [NI_SRC_NONE] = "nothing gives this pod an HCA",
    [NI_SRC_OPTION] = "HCAs named by --hcas",
    [NI_SRC_PCIDEVICE] = "HCAs given by PCIDEVICE_* (SR-IOV device plugin)",
    [NI_SRC_SRIOVNET] = "HCAs given by SRIOVNETWORK_* (SR-IOV DRA driver)",
    [NI_SRC_DRA] = "HCAs given by DRA device metadata",
    [NI_SRC_NETSTATUS] = "HCAs given by network-status (Multus)",
    [NI_SRC_UVERBS] = "HCAs whose /dev/infiniband/uverbsN opens",
    [NI_SRC_NETDEV] = "HCAs with an interface in this network namespace",
    [NI_SRC_HOST] = "all HCAs of the host (host network)",
};

const char *const ni_say_source_short[] = {
    [NI_SRC_NONE] = "no source",         [NI_SRC_OPTION] = "--hcas",
    [NI_SRC_PCIDEVICE] = "PCIDEVICE",    [NI_SRC_SRIOVNET] = "SRIOVNETWORK",
    [NI_SRC_DRA] = "DRA metadata",       [NI_SRC_NETSTATUS] = "network-status",
    [NI_SRC_UVERBS] = "/dev/infiniband", [NI_SRC_NETDEV] = "network namespace",
    [NI_SRC_HOST] = "host network",
};

const char *const ni_say_claim[] = {
    [NI_CLAIM_BAD_ID] = "is neither a PCI address nor an auxiliary name",
    [NI_CLAIM_NO_DEVICE] = "is not on this node",
    [NI_CLAIM_NOT_RDMA] = "has no RDMA device: not a NIC, bound to vfio, or without an RDMA driver",
    [NI_CLAIM_UNREAD] = "its directory in sysfs cannot be read",
    [NI_CLAIM_OK] = "is there, but gave no usable device name",
};

const char *const ni_say_link[] = {
    [NI_LINK_UNKNOWN] = "unknown", [NI_LINK_IB] = "InfiniBand", [NI_LINK_ROCE] = "RoCE"};

const char *ni_plural(unsigned n)
{
    return n == 1 ? "" : "s";
}

void ni_put_num(struct ni_text *t, struct ni_num n)
{
    if (n.known == NI_KNOWN)
        ni_putf(t, "%" PRId64, n.v);
    else
        ni_put(t, n.known == NI_UNSET ? "-" : ni_known_text(n.known));
}

void ni_put_state(struct ni_text *t, struct ni_num state)
{
    const char *word = ni_word_state(state);
    if (word)
        ni_put(t, word);
    else
        ni_put_num(t, state);
}

void ni_put_rate(struct ni_text *t, struct ni_num mbps)
{
    if (mbps.known != NI_KNOWN)
        ni_put_num(t, mbps);
    else if (mbps.v % 1000 == 0)
        ni_putf(t, "%" PRId64 "G", mbps.v / 1000);
    else /* sysfs has one decimal at most (drivers/infiniband/core/sysfs.c rate_show) */
        ni_putf(t, "%" PRId64 ".%" PRId64 "G", mbps.v / 1000, mbps.v % 1000 / 100);
}

void ni_put_port(struct ni_text *t, const struct ni_hca *hca, unsigned port)
{
    ni_quote(t, hca->name);
    if (port > 0)
        ni_putf(t, "/%u", port);
}

void ni_put_address(struct ni_text *t, const struct ni_hca *hca)
{
    char bdf[NI_BDF_TEXT];
    if (hca->aux[0])
        ni_quote(t, hca->aux);
    else if (hca->has_bdf)
        ni_put(t, ni_bdf_text(hca->bdf, bdf));
}

void ni_put_numa(struct ni_text *t, const struct ni_pci *pci)
{
    if (pci->known == NI_KNOWN)
        ni_put_num(t, pci->numa);
}

void ni_put_origin(struct ni_text *t, const struct ni_view *view)
{
    ni_put(t, ni_say_source[view->inv->source]);
    if (strcmp(view->root, "/") != 0) {
        ni_put(t, "; root ");
        ni_quote(t, view->root);
    }
    ni_put(t, "\n");
}

/* ---- in JSON ---- */

void ni_json_yes_no(struct ni_json *j, const char *key, enum ni_known known)
{
    ni_json_bool_or_null(j, key, known == NI_KNOWN || known == NI_ABSENT, known == NI_KNOWN);
}

void ni_json_bytes(struct ni_json *j, const char *key, struct ni_num n)
{
    if (n.known == NI_KNOWN && n.v == NI_UNLIMITED)
        ni_json_text(j, key, "unlimited");
    else
        ni_json_num(j, key, n);
}

static void numa_json(struct ni_json *j, const struct ni_pci *pci)
{
    ni_json_int_or_null(j, "numa", pci->known == NI_KNOWN && pci->numa.known == NI_KNOWN,
                        pci->numa.v);
}

void ni_json_gpu(struct ni_json *j, unsigned index, const struct ni_gpu *gpu)
{
    ni_json_int(j, "gpu", index);
    ni_json_bdf(j, "pci", &gpu->bdf);
    ni_json_int_or_null(j, "minor", gpu->minor >= 0, gpu->minor);
    ni_json_text(j, "vendor", gpu->amd ? "amd" : "nvidia");
    numa_json(j, &gpu->pci);
}

void ni_json_hca(struct ni_json *j, const struct ni_hca *hca)
{
    ni_json_text(j, "name", hca->name);
    ni_json_bdf(j, "pci", hca->has_bdf && !hca->aux[0] ? &hca->bdf : NULL);
    ni_json_text_or_null(j, "auxiliary", hca->aux);
    ni_json_bdf(j, "parent", ni_parent(hca));
    numa_json(j, &hca->pci);
}

/* ---- the plain data itself ---- */

enum ni_link ni_plan_link(const struct ni_inventory *inv, const struct ni_plan *plan)
{
    return plan->n_chosen > 0 ? inv->port[plan->chosen[0]].link : NI_LINK_UNKNOWN;
}

const struct ni_bdf *ni_parent(const struct ni_hca *hca)
{
    if (hca->is_vf)
        return &hca->pf;
    /* a sub-function has no PCI address; the one it was read with is its parent's */
    return hca->has_bdf && hca->aux[0] ? &hca->bdf : NULL;
}

const struct ni_port_plan *ni_decision(const struct ni_plan *plan, const struct ni_hca *hca,
                                       unsigned i)
{
    if (i >= hca->n_port || !plan->port[hca->first_port + (int)i].rule)
        return NULL;
    return &plan->port[hca->first_port + (int)i];
}

const char *ni_why(const struct ni_hca *hca, const struct ni_port_plan *decision)
{
    if (decision)
        return decision->why;
    if (hca->n_port == 0)
        return "sysfs shows no port";
    return ni_is_given(hca) ? "nothing was decided" : "not the pod's";
}

unsigned ni_chosen_ports(const struct ni_plan *plan, const struct ni_hca *hca)
{
    unsigned n = 0;
    for (unsigned i = 0; i < hca->n_port; i++) {
        const struct ni_port_plan *decision = ni_decision(plan, hca, i);
        n += decision && decision->chosen;
    }
    return n;
}

bool ni_has_near(const struct ni_near *near)
{
    return near->index >= 0 && near->distance != NI_DIST_UNKNOWN;
}
