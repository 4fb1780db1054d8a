/* SPDX-License-Identifier: Apache-2.0 */
/* for.libraries: the same choice in the words of the libraries beside NCCL, where --for asks for
   them. */
#include <string.h>

#include "rule.h"

/* What all variables are decided from. */
struct asked {
    const struct ni_work *w;
    uint32_t all, rank;       /* the chosen ports, as bits; those of this process's GPU, else all */
    bool is_rank;             /* it is known which that GPU is */
    struct ni_text rank_why;  /* how, or why not; "": no launcher started it */
    struct ni_text map, vars; /* what the rule says for vLLM; map "": none can be made */
    struct ni_text no_map;    /* why */
    bool vllm_off;            /* by an empty value of the user's */
    const char *in_force;     /* the variables that vLLM sets itself, as it is told; NULL */
};

static const char map_name[] = "VLLM_GPU_NIC_PCIE_MAPPING", vars_name[] = "VLLM_NIC_SELECTION_VARS";
static const char ucx_devices[] = "UCX_NET_DEVICES", nvshmem_list[] = "NVSHMEM_HCA_LIST";

/* Decides one variable: the value and the reason; a reason alone: better left unset; neither: nothing
   is said of it. */
typedef void put_fn(const struct asked *a, struct ni_text *value, struct ni_text *why);

static void put_ports(const struct asked *a, uint32_t ports, struct ni_text *value)
{
    for (unsigned i = 0; i < a->w->plan->n_chosen; i++) {
        const struct ni_chosen c = ni_chosen(a->w, i);
        if (ports >> i & 1)
            ni_putf(value, "%s%s:%u", value->len ? "," : "", c.hca->name, c.port->num);
    }
}

/* The index of the right GIDs where it is one, whatever the user has told NCCL. */
static void put_index(const struct asked *a, uint32_t ports, struct ni_text *value,
                      struct ni_text *why)
{
    const struct ni_gid *first = NULL;
    bool any = false, same = true;
    for (unsigned i = 0; i < a->w->plan->n_chosen; i++) {
        const struct ni_gid *g = ni_chosen(a->w, i).gid;
        if (!(ports >> i & 1))
            continue;
        if (!any)
            first = g;
        any = true;
        same = same && first && g && g->index == first->index;
    }
    if (any && same)
        ni_put_u64(value, first->index);
    if (any)
        ni_put(why, same ? "the index that is right for every chosen port"
                         : "no one index for all ports: left to the library's own choice");
}

/* ---- vLLM: one map for the pod, from which each worker takes its GPU's NIC ---- */

/* NAME or NAME:SUFFIX in the list (vllm_net_devices.py parse_nic_selection_vars). */
static bool lists(const char *list, const char *name)
{
    struct ni_span item;
    while (list && ni_split(&list, ',', &item)) {
        const char *colon = memchr(item.p, ':', item.n);
        if (ni_span_is(ni_trim((struct ni_span){item.p, colon ? (size_t)(colon - item.p) : item.n}),
                       name))
            return true;
    }
    return false;
}

/* A chosen HCA that is no PCI function, NULL. */
static const struct ni_hca *without_address(const struct ni_work *w)
{
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const struct ni_hca *h = ni_chosen(w, i).hca;
        if (h->aux[0] || !h->has_bdf)
            return h;
    }
    return NULL;
}

/* GPU=NIC by PCI addresses. vLLM finds the HCA by its function's address, which a sub-function has
   not, and writes one suffix for all. Where the map cannot be right for each GPU there is none: a
   worker whose GPU is not in it does not start. */
static void make_map(struct asked *a)
{
    const struct ni_work *w = a->w;
    char gpu[NI_BDF_TEXT], nic[NI_BDF_TEXT];
    const struct ni_hca *odd = without_address(w);
    uint32_t taken = 0;
    if (a->is_rank)
        ni_putf(&a->no_map, "%s: this process has no workers on other GPUs", a->rank_why.buf);
    else if (w->inv->n_gpu == 0 || w->plan->n_chosen == 0)
        ni_put(&a->no_map, w->inv->n_gpu == 0 ? "the pod has no GPU" : "no RDMA port is in use");
    else if (odd)
        ni_putf(&a->no_map, "%s is no PCI function", odd->name);
    for (unsigned i = 0; i < w->plan->n_chosen && !a->no_map.len; i++) {
        if (ni_chosen(w, i).port->num != 1)
            ni_putf(&a->no_map, "port %u of %s is in use, and vLLM writes one number for all",
                    ni_chosen(w, i).port->num, ni_chosen(w, i).hca->name);
    }
    for (unsigned g = 0; g < w->inv->n_gpu && !a->no_map.len; g++) {
        const uint32_t ports = w->plan->gpu_ports[g], own = ports & -ports;
        unsigned i = 0;
        ni_bdf_text(w->inv->gpu[g].bdf, gpu);
        while (i + 1 < w->plan->n_chosen && own >> i != 1)
            i++;
        const struct ni_hca *h = ni_chosen(w, i).hca;
        if (!own)
            ni_putf(&a->no_map, "which HCA is the nearest to GPU %s is not known", gpu);
        else if (taken & own)
            ni_putf(&a->no_map, "GPU %s has no HCA of its own: another GPU has %s", gpu, h->name);
        else if (ni_pci_distance(&h->pci, &w->inv->gpu[g].pci) == NI_DIST_SYS)
            ni_putf(&a->no_map, "GPU %s has no HCA on its NUMA node", gpu);
        taken |= own;
        ni_putf(&a->map, "%s%s=%s", g ? "," : "", gpu, ni_bdf_text(h->bdf, nic));
    }
    if (a->no_map.len)
        a->map = ni_text_on(a->map.buf, a->map.cap);
}

/* vLLM puts the worker's NIC in front of a value that is there (set_worker_gpu_nic_mapping): what the
   user has set is left to the user. It takes both variables or neither, empty ones as none
   (set_worker_net_device). */
static void ask_vllm(struct asked *a)
{
    static const char *const names[] = {ucx_devices, nvshmem_list};
    const unsigned asked_by[] = {NI_FOR_VLLM, NI_FOR_NVSHMEM};
    const char *map = ni_user_value(a->w, map_name), *vars = ni_user_value(a->w, vars_name);
    make_map(a);
    for (unsigned i = 0; i < NI_COUNT(names); i++) {
        if (a->w->policy->targets & asked_by[i] && !ni_user_value(a->w, names[i]))
            ni_putf(&a->vars, "%s%s:1", a->vars.len ? "," : "", names[i]);
    }
    a->vllm_off = (map && !*map) || (vars && !*vars);
    const bool has_map = !a->vllm_off && (map || a->map.len);
    const bool has_vars = !a->vllm_off && (vars || a->vars.len);
    a->in_force = has_map && has_vars ? vars ? vars : a->vars.buf : NULL;
    if (has_map != has_vars && (map || vars))
        ni_report(a->w->f, NI_F_USER_VLLM_HALF, map ? map_name : vars_name,
                  "it is set without %s, and %s: vLLM does not start its workers",
                  map ? vars_name : map_name,
                  map ? "the variables that could be in that are set already" : a->no_map.buf);
}

static void put_map(const struct asked *a, struct ni_text *value, struct ni_text *why)
{
    if (a->in_force)
        ni_put(value, a->map.buf);
    ni_put(why, a->in_force && a->map.len ? "each GPU's own HCA"
                : a->no_map.len           ? a->no_map.buf
                : a->vllm_off             ? "switched off by your empty value"
                                          : "you have set what vLLM would set from it");
}

static void put_vars(const struct asked *a, struct ni_text *value, struct ni_text *why)
{
    if (a->in_force)
        ni_put(value, a->vars.buf);
    ni_put(why, a->in_force ? "what vLLM sets in each worker, from the map"
                            : "vLLM takes it only together with the map");
}

static bool set_by_vllm(const struct asked *a, const char *name, struct ni_text *why)
{
    const bool sets = lists(a->in_force, name);
    if (sets)
        ni_put(why, "vLLM sets it in each worker, in front of what is there");
    return sets;
}

/* ---- UCX ---- */

static void put_ucx_devices(const struct asked *a, struct ni_text *value, struct ni_text *why)
{
    if (set_by_vllm(a, ucx_devices, why))
        return;
    put_ports(a, a->rank, value);
    if (value->len && a->rank_why.len)
        ni_putf(why, "%s; %s",
                a->is_rank ? "the nearest to this process's GPU" : "the chosen ports",
                a->rank_why.buf);
    else if (value->len)
        ni_put(why, "the chosen ports");
    else if (*a->w->plan->sockets)
        ni_put(why, "no RDMA port: the socket interface");
    if (!value->len)
        ni_put(value, a->w->plan->sockets);
}

static void put_ucx_index(const struct asked *a, struct ni_text *value, struct ni_text *why)
{
    put_index(a, lists(a->in_force, ucx_devices) ? a->all : a->rank, value, why);
}

/* UCX registers the memory of NVIDIA's GPUs with each HCA, or only with those at the least distance
   (1.21.0 ucp_mm.c ucp_memh_apply_reg_policy), which says something where the distances do. */
static void put_ucx_limit(const struct asked *a, struct ni_text *value, struct ni_text *why)
{
    const struct ni_work *w = a->w;
    const struct ni_hca *odd = without_address(w);
    if (w->inv->n_gpu == 0 || w->inv->gpu[0].amd || (a->rank & (a->rank - 1)) == 0 ||
        lists(a->in_force, ucx_devices))
        return;
    if (odd) {
        ni_putf(why, "%s is no PCI function", odd->name);
        return;
    }
    for (unsigned g = 0; g < w->inv->n_gpu; g++) {
        if (!w->plan->gpu_ports[g]) {
            ni_put(why, "which HCAs are near to a GPU is not known");
            return;
        }
    }
    ni_put(value, "auto");
    ni_put(why, "a GPU's memory goes through the HCAs nearest to it (UCX 1.21 and later)");
}

/* ---- NVSHMEM: takes the nearest of the list itself ---- */

static void put_nvshmem_list(const struct asked *a, struct ni_text *value, struct ni_text *why)
{
    if (a->all == 0 || set_by_vllm(a, nvshmem_list, why))
        return;
    put_ports(a, a->all, value);
    ni_put(why, "the chosen ports");
}

/* IBGDA takes HCAs whose names contain this, "mlx5" where it is unset (NVSHMEM 3.4.5 ibgda.cpp). */
static void put_nvshmem_prefix(const struct asked *a, struct ni_text *value, struct ni_text *why)
{
    const struct ni_hca *first = NULL;
    size_t same = 0;
    bool usual = true;
    for (unsigned i = 0; i < a->w->plan->n_chosen; i++) {
        const struct ni_hca *h = ni_chosen(a->w, i).hca;
        if (!first) {
            first = h;
            same = strlen(h->name);
        }
        usual = usual && strstr(h->name, "mlx5");
        while (strncmp(first->name, h->name, same) != 0)
            same--;
    }
    if (!first || usual)
        return;
    while (same > 0 && ni_is_digit(first->name[same - 1]))
        same--;
    ni_putn(value, first->name, same);
    ni_put(why, same ? "the HCAs' names begin so: IBGDA takes only names that contain it"
                     : "the HCAs' names begin with nothing in common; IBGDA takes those with mlx5");
}

static void put_all_index(const struct asked *a, struct ni_text *value, struct ni_text *why)
{
    put_index(a, a->all, value, why);
}

/* Read by NCCL's code (NVSHMEM 3.4.5 bootstrap/uid/ncclSocket), where a name without `=` is a
   prefix. */
static void put_uid_sockets(const struct asked *a, struct ni_text *value, struct ni_text *why)
{
    if (!*a->w->plan->sockets)
        return;
    ni_putf(value, "=%s", a->w->plan->sockets);
    ni_put(why, "as NCCL_SOCKET_IFNAME");
}

/* AF_INET where it is unset, unlike NCCL's. */
static void put_uid_family(const struct asked *a, struct ni_text *value, struct ni_text *why)
{
    if (!ni_sockets_are_v6(a->w))
        return;
    ni_put(value, "AF_INET6");
    ni_put(why, "the interfaces have no IPv4 address");
}

/* ---- Mooncake: takes near ones of the list itself ---- */

static void put_mooncake_names(const struct asked *a, struct ni_text *value, struct ni_text *why)
{
    const struct ni_hca *last = NULL;
    for (unsigned i = 0; i < a->w->plan->n_chosen; i++) {
        const struct ni_hca *h = ni_chosen(a->w, i).hca;
        if (h != last)
            ni_putf(value, "%s%s", last ? "," : "", h->name);
        last = h;
    }
    ni_put(why, last ? "the HCAs of the chosen ports" : "");
}

static void put_mooncake_port(const struct asked *a, struct ni_text *value, struct ni_text *why)
{
    const unsigned first = a->all ? ni_chosen(a->w, 0).port->num : 0;
    bool same = a->all;
    for (unsigned i = 0; i < a->w->plan->n_chosen; i++)
        same = same && ni_chosen(a->w, i).port->num == first;
    if (same)
        ni_put_u64(value, first);
    if (a->all)
        ni_put(why, same ? "the port of all HCAs"
                         : "the ports differ, and Mooncake takes one number for all HCAs");
}

/* ---- Gloo, and PyTorch's RPC, which takes one name as well ---- */

/* One name: each opens one more full mesh, which must be routed and have the same place in each
   pod's list (torch ProcessGroupGloo.cpp). The pod's own network reaches all pods; what somebody
   named comes first. */
static void put_interface(const struct asked *a, struct ni_text *value, struct ni_text *why)
{
    const struct ni_work *w = a->w;
    const char *pod = ni_pod_interface(w), *list = w->plan->sockets;
    const bool named = w->policy->sockets || ni_user_value(w, "NCCL_SOCKET_IFNAME");
    if (!*list)
        return;
    if (pod && !named)
        ni_put(value, pod);
    else
        ni_putn(value, list, strcspn(list, ","));
    ni_put(why,
           pod && !named ? "interface of the default route" : "the first of NCCL_SOCKET_IFNAME");
}

/* ---- the table ---- */

static const struct variable {
    const char *name;
    unsigned whose; /* NI_FOR_* */
    put_fn *put;
} variables[] = {
    {map_name, NI_FOR_VLLM, put_map},
    {vars_name, NI_FOR_VLLM, put_vars},
    {ucx_devices, NI_FOR_UCX | NI_FOR_NIXL | NI_FOR_VLLM, put_ucx_devices},
    {"UCX_IB_GID_INDEX", NI_FOR_UCX | NI_FOR_NIXL | NI_FOR_VLLM, put_ucx_index},
    {"UCX_MAX_HCA_PER_GPU", NI_FOR_UCX | NI_FOR_NIXL, put_ucx_limit},
    {nvshmem_list, NI_FOR_NVSHMEM, put_nvshmem_list},
    {"NVSHMEM_HCA_PREFIX", NI_FOR_NVSHMEM, put_nvshmem_prefix},
    {"NVSHMEM_IB_GID_INDEX", NI_FOR_NVSHMEM, put_all_index},
    {"NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", NI_FOR_NVSHMEM, put_uid_sockets},
    {"NVSHMEM_BOOTSTRAP_UID_SOCK_FAMILY", NI_FOR_NVSHMEM, put_uid_family},
    {"MC_TE_FILTERS", NI_FOR_MOONCAKE, put_mooncake_names},
    {"MC_IB_PORT", NI_FOR_MOONCAKE, put_mooncake_port},
    {"MC_GID_INDEX", NI_FOR_MOONCAKE, put_all_index},
    {"GLOO_SOCKET_IFNAME", NI_FOR_GLOO, put_interface},
    {"TP_SOCKET_IFNAME", NI_FOR_GLOO, put_interface},
};

/* What of nvshmem.conf says otherwise than the environment will. The setting stays for NVSHMEM before
   3.6.5, which reads no such file. */
static void check_override(const struct ni_work *w, const char *name)
{
    const struct ni_conf_entry *e = ni_find_override(w->inv, name);
    const struct ni_setting *s = ni_plan_get(w->plan, name);
    struct ni_text theirs = NI_TEXT(272), ours = NI_TEXT(272);
    if (!e || !s || strcmp(e->value, s->value) == 0)
        return;
    ni_put_quoted(&theirs, e->value, strlen(e->value), 64);
    ni_put_quoted(&ours, s->value, strlen(s->value), 64);
    ni_report(w->f, NI_F_CONF_NVSHMEM, name,
              "%s sets it to `%s`, and NVSHMEM 3.6.5 and later takes that in place of `%s`",
              e->file, theirs.buf, ours.buf);
}

void ni_rule_libraries(const struct ni_work *w)
{
    const unsigned targets = w->policy->targets;
    if (!(targets & ~(unsigned)NI_FOR_NCCL))
        return; /* what follows is some KiB to clear */
    struct asked a = {.w = w,
                      .rank_why = NI_TEXT(NI_REASON / 2),
                      .map = NI_TEXT(NI_VALUE),
                      .vars = NI_TEXT(64),
                      .no_map = NI_TEXT(NI_REASON / 2)};
    for (unsigned i = 0; i < w->plan->n_chosen; i++)
        a.all |= UINT32_C(1) << i;
    a.rank = a.all;
    if (a.all && targets & (NI_FOR_UCX | NI_FOR_NIXL | NI_FOR_VLLM)) {
        const int gpu = ni_rank_gpu(w, &a.rank_why);
        a.is_rank = gpu >= 0 && w->plan->gpu_ports[gpu];
        if (a.is_rank)
            a.rank = w->plan->gpu_ports[gpu];
        else if (gpu >= 0)
            ni_put(&a.rank_why, ": which HCA is the nearest is not known");
    }
    if (targets & NI_FOR_VLLM)
        ask_vllm(&a);
    for (const struct variable *v = variables; v < variables + NI_COUNT(variables); v++) {
        struct ni_text value = NI_TEXT(NI_VALUE), why = NI_TEXT(NI_REASON);
        if (!(v->whose & targets))
            continue;
        v->put(&a, &value, &why);
        if (why.len)
            ni_decide_value(w, v->name, value.len ? value.buf : NULL, "%s", why.buf);
        if (v->whose == NI_FOR_NVSHMEM)
            check_override(w, v->name);
    }
}
