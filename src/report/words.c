/* SPDX-License-Identifier: Apache-2.0 */
#include "words.h"

#include <inttypes.h>
#include <string.h>

const char *ni_word_source(enum ni_source source)
{
    static const char *const word[] = {
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
    return word[source];
}

const char *ni_say_source(enum ni_source source)
{
    static const char *const words[] = {
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
    return words[source];
}

const char *ni_say_source_short(enum ni_source source)
{
    static const char *const words[] = {
        [NI_SRC_NONE] = "no source",         [NI_SRC_OPTION] = "--hcas",
        [NI_SRC_PCIDEVICE] = "PCIDEVICE",    [NI_SRC_SRIOVNET] = "SRIOVNETWORK",
        [NI_SRC_DRA] = "DRA metadata",       [NI_SRC_NETSTATUS] = "network-status",
        [NI_SRC_UVERBS] = "/dev/infiniband", [NI_SRC_NETDEV] = "network namespace",
        [NI_SRC_HOST] = "host network",
    };
    return words[source];
}

const char *ni_word_claim(enum ni_claim_state state)
{
    static const char *const word[] = {
        [NI_CLAIM_BAD_ID] = "bad-id",
        [NI_CLAIM_NO_DEVICE] = "no-device",
        [NI_CLAIM_NOT_RDMA] = "not-rdma",
        [NI_CLAIM_UNREAD] = "unread",
        [NI_CLAIM_OK] = "ok",
    };
    return word[state];
}

const char *ni_say_claim(enum ni_claim_state state)
{
    static const char *const words[] = {
        [NI_CLAIM_BAD_ID] = "is neither a PCI address nor an auxiliary name",
        [NI_CLAIM_NO_DEVICE] = "is not on this node",
        [NI_CLAIM_NOT_RDMA] = "has no RDMA device: no NIC, vfio, or no RDMA driver",
        [NI_CLAIM_UNREAD] = "its directory in sysfs cannot be read",
        [NI_CLAIM_OK] = "is there, but gave no usable device name",
    };
    return words[state];
}

const char *ni_word_link(enum ni_link link)
{
    static const char *const word[] = {
        [NI_LINK_UNKNOWN] = "unknown",
        [NI_LINK_IB] = "infiniband",
        [NI_LINK_ROCE] = "roce",
    };
    return word[link];
}

const char *ni_say_link(enum ni_link link)
{
    static const char *const words[] = {
        [NI_LINK_UNKNOWN] = "unknown",
        [NI_LINK_IB] = "InfiniBand",
        [NI_LINK_ROCE] = "RoCE",
    };
    return words[link];
}

const char *ni_word_gid_type(enum ni_gid_type type)
{
    static const char *const word[] = {
        [NI_GID_UNREAD] = "unread",
        [NI_GID_V1] = "v1",
        [NI_GID_V2] = "v2",
    };
    return word[type];
}

const char *ni_word_transport(enum ni_transport transport)
{
    static const char *const word[] = {
        [NI_NET_OFF] = "off",
        [NI_NET_RDMA] = "rdma",
        [NI_NET_TCP] = "tcp",
        [NI_NET_OTHER] = "other",
    };
    return word[transport];
}

const char *ni_word_origin(enum ni_origin origin)
{
    static const char *const word[] = {
        [NI_FROM_RULE] = "rule",
        [NI_FROM_USER] = "user",
        [NI_FROM_CONF] = "conf",
        [NI_LEFT_UNSET] = "unset",
    };
    return word[origin];
}

void ni_say_num(struct ni_text *t, struct ni_num n)
{
    if (n.known == NI_KNOWN)
        ni_putf(t, "%" PRId64, n.v);
    else
        ni_put(t, n.known == NI_UNSET ? "-" : ni_known_text(n.known));
}

void ni_say_state(struct ni_text *t, struct ni_num state)
{
    const char *word = state.known == NI_KNOWN ? ni_port_state_text(state.v) : NULL;
    if (word)
        ni_put(t, word);
    else
        ni_say_num(t, state);
}

void ni_say_rate(struct ni_text *t, struct ni_num mbps)
{
    if (mbps.known != NI_KNOWN)
        ni_say_num(t, mbps);
    else if (mbps.v % 1000 == 0)
        ni_putf(t, "%" PRId64 "G", mbps.v / 1000);
    else /* sysfs has one decimal at most (drivers/infiniband/core/sysfs.c rate_show) */
        ni_putf(t, "%" PRId64 ".%" PRId64 "G", mbps.v / 1000, mbps.v % 1000 / 100);
}

void ni_say_port(struct ni_text *t, const struct ni_hca *hca, unsigned port)
{
    ni_quote(t, hca->name);
    if (port > 0)
        ni_putf(t, "/%u", port);
}

enum ni_link ni_plan_link(const struct ni_inventory *inv, const struct ni_plan *plan)
{
    return plan->n_chosen > 0 ? inv->port[plan->chosen[0]].link : NI_LINK_UNKNOWN;
}
