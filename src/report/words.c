/* SPDX-License-Identifier: Apache-2.0 */
#include "parts.h"

#include <inttypes.h>
#include <string.h>

const struct ni_words ni_source_words[] = {
    [NI_SRC_NONE] = {"none", "no source", "this pod was given no HCA"},
    [NI_SRC_OPTION] = {"option", "--hcas", "HCAs named by --hcas"},
    [NI_SRC_PCIDEVICE] = {"pcidevice", "PCIDEVICE",
                          "HCAs given by PCIDEVICE_* (SR-IOV device plugin)"},
    [NI_SRC_SRIOVNET] = {"sriovnet", "SRIOVNETWORK",
                         "HCAs given by SRIOVNETWORK_* (SR-IOV DRA driver)"},
    [NI_SRC_DRA] = {"dra", "DRA metadata", "HCAs given by DRA device metadata"},
    [NI_SRC_NETSTATUS] = {"network-status", "network-status",
                          "HCAs given by network-status (Multus)"},
    [NI_SRC_UVERBS] = {"uverbs", "/dev/infiniband", "HCAs whose /dev/infiniband/uverbsN opens"},
    [NI_SRC_NETDEV] = {"netdev", "network namespace",
                       "HCAs with an interface in this network namespace"},
    [NI_SRC_HOST] = {"host", "host network", "all HCAs of the host (host network)"},
};

const char *const ni_link_words[] = {
    [NI_LINK_UNKNOWN] = "unknown", [NI_LINK_IB] = "InfiniBand", [NI_LINK_ROCE] = "RoCE"};

const char *const ni_transport_words[] = {
    [NI_NET_OFF] = "off", [NI_NET_RDMA] = "rdma", [NI_NET_TCP] = "tcp", [NI_NET_OTHER] = "other"};

const char *ni_state_word(struct ni_num state)
{
    return state.known == NI_KNOWN ? ni_port_state_text(state.v) : NULL;
}

/* ---- for people ---- */

const char *ni_plural(unsigned n)
{
    return n == 1 ? "" : "s";
}

void ni_put_count(struct ni_text *t, unsigned n, const char *what)
{
    if (n == 0)
        ni_putf(t, "no %s", what);
    else
        ni_putf(t, "%u %s%s", n, what, ni_plural(n));
}

void ni_put_num(struct ni_text *t, struct ni_num n)
{
    if (n.known == NI_KNOWN)
        ni_putf(t, "%" PRId64, n.v);
    else
        ni_put(t, n.known == NI_UNSET ? "-" : ni_known_text(n.known));
}

void ni_put_bdf(struct ni_text *t, const struct ni_bdf *bdf)
{
    char buf[NI_BDF_TEXT];
    if (bdf)
        ni_put(t, ni_bdf_text(*bdf, buf));
}

void ni_put_address(struct ni_text *t, const struct ni_hca *hca)
{
    if (hca->aux[0])
        ni_quote(t, hca->aux);
    else
        ni_put_bdf(t, hca->has_bdf ? &hca->bdf : NULL);
}

void ni_put_origin(struct ni_text *t, const struct ni_view *view)
{
    ni_put(t, ni_source_words[view->inv->source].text);
    if (strcmp(view->root, "/") != 0) {
        ni_put(t, "; root ");
        ni_quote(t, view->root);
    }
    ni_put(t, "\n");
}

/* ---- in JSON ---- */

struct ni_json ni_json_report(struct ni_text *out)
{
    struct ni_json j = ni_json_on(out, true);
    ni_json_object(&j, NULL);
    ni_json_int(&j, "schema", NI_JSON_SCHEMA);
    return j;
}

void ni_json_list(struct ni_json *j, const char *key, const struct ni_view *view, int first,
                  unsigned n, ni_json_item *put)
{
    ni_json_array(j, key);
    for (unsigned i = 0; i < n; i++) {
        ni_json_object(j, NULL);
        put(j, view, (unsigned)first + i);
        ni_json_end(j);
    }
    ni_json_end(j);
}

void ni_json_yes_no(struct ni_json *j, const char *key, enum ni_known known)
{
    ni_json_bool_or_null(j, key, known == NI_KNOWN || known == NI_ABSENT, known == NI_KNOWN);
}

void ni_json_link(struct ni_json *j, enum ni_link link)
{
    static const char *const word[] = {
        [NI_LINK_UNKNOWN] = NULL, [NI_LINK_IB] = "infiniband", [NI_LINK_ROCE] = "roce"};
    ni_json_text(j, "link", word[link]);
}

void ni_json_bytes(struct ni_json *j, const char *key, struct ni_num n)
{
    if (n.known == NI_KNOWN && n.v == NI_UNLIMITED)
        ni_json_text(j, key, "unlimited");
    else
        ni_json_num(j, key, n);
}

void ni_put_use(struct ni_text *t, const struct ni_view *view, unsigned gpu)
{
    bool any = false;
    for (unsigned i = 0; i < view->plan->n_chosen; i++) {
        const struct ni_port *port = &view->inv->port[view->plan->chosen[i]];
        if (!(view->plan->gpu_ports[gpu] >> i & 1))
            continue;
        ni_put(t, any ? ", " : "");
        ni_quote(t, view->inv->hca[port->hca].name);
        ni_putf(t, "/%u", port->num);
        any = true;
    }
}

void ni_json_gpu(struct ni_json *j, const struct ni_view *view, unsigned at)
{
    const struct ni_gpu *gpu = &view->inv->gpu[at];
    ni_json_int(j, "gpu", at);
    ni_json_bdf(j, "pci", &gpu->bdf);
    ni_json_int_or_null(j, "minor", gpu->minor >= 0, gpu->minor);
    ni_json_text(j, "vendor", gpu->amd ? "amd" : "nvidia");
    ni_json_num(j, "numa", ni_numa(&gpu->pci));
    ni_json_array(j, "use");
    for (unsigned i = 0; i < view->plan->n_chosen; i++) {
        const struct ni_port *port = &view->inv->port[view->plan->chosen[i]];
        const struct ni_hca *hca = &view->inv->hca[port->hca];
        if (!(view->plan->gpu_ports[at] >> i & 1))
            continue;
        ni_json_object(j, NULL);
        ni_json_text(j, "hca", hca->name);
        ni_json_int(j, "port", port->num);
        ni_json_bdf(j, "pci", hca->has_bdf && !hca->aux[0] ? &hca->bdf : NULL);
        ni_json_end(j);
    }
    ni_json_end(j);
}

void ni_json_hca(struct ni_json *j, const struct ni_hca *hca)
{
    ni_json_text(j, "name", hca->name);
    ni_json_bdf(j, "pci", hca->has_bdf && !hca->aux[0] ? &hca->bdf : NULL);
    ni_json_text_or_null(j, "auxiliary", hca->aux);
    ni_json_bdf(j, "parent", ni_parent(hca));
    ni_json_num(j, "numa", ni_numa(&hca->pci));
}

/* ---- the plain data itself ---- */

enum ni_link ni_plan_link(const struct ni_view *view)
{
    const struct ni_plan *plan = view->plan;
    return plan->n_chosen > 0 ? view->inv->port[plan->chosen[0]].link : NI_LINK_UNKNOWN;
}

struct ni_num ni_numa(const struct ni_pci *pci)
{
    return pci->known == NI_KNOWN ? pci->numa : (struct ni_num){0, NI_UNSET};
}

const struct ni_bdf *ni_parent(const struct ni_hca *hca)
{
    if (hca->is_vf)
        return &hca->pf;
    /* a sub-function has no PCI address; the one it was read with is its parent's */
    return hca->has_bdf && hca->aux[0] ? &hca->bdf : NULL;
}

const struct ni_gid *ni_picked_gid(const struct ni_view *view, int port)
{
    const struct ni_port_plan *plan = &view->plan->port[port];
    return plan->rule && plan->gid >= 0 ? &view->inv->gid[plan->gid] : NULL;
}

unsigned ni_chosen_ports(const struct ni_view *view, const struct ni_hca *hca)
{
    unsigned n = 0;
    for (unsigned i = 0; i < hca->n_port; i++)
        n += view->plan->port[hca->first_port + (int)i].chosen;
    return n;
}

struct ni_shown ni_shown_hcas(const struct ni_view *view)
{
    enum { CHOSEN, GIVEN, OTHER, FEW = 8 };
    const struct ni_inventory *inv = view->inv;
    struct ni_shown shown = {.n = 0};
    for (int rank = CHOSEN; rank <= OTHER; rank++) {
        /* A pod without HCAs of its own: the others are all there is to show. */
        if (rank == OTHER && shown.n > 0 && inv->n_hca - shown.n > FEW)
            break;
        for (unsigned i = 0; i < inv->n_hca; i++) {
            const struct ni_hca *hca = &inv->hca[i];
            int its = ni_chosen_ports(view, hca) > 0 ? CHOSEN : ni_is_given(hca) ? GIVEN : OTHER;
            if (its == rank)
                shown.hca[shown.n++] = (int)i;
        }
        if (rank == CHOSEN)
            shown.n_chosen = shown.n;
        if (rank == GIVEN)
            shown.n_given = shown.n;
    }
    shown.n_hidden = inv->n_hca - shown.n;
    return shown;
}

void ni_put_hidden(struct ni_text *out, const struct ni_shown *shown)
{
    if (shown->n_hidden > 0)
        ni_putf(out, "  and %u others that are not the pod's: see --json\n", shown->n_hidden);
}
