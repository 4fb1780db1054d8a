/* SPDX-License-Identifier: Apache-2.0 */
/* The rule for.libraries: the same choice for the other libraries that --for names. */
#include "rules/libraries.h"

#include <string.h>

#include "findings/setting.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/nccl_list.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rules/chosen.h"
#include "rules/decide.h"
#include "rules/gpu_hcas.h"
#include "rules/socket.h"
#include "rules/socket_pod.h"

/* The facts from which all variables are decided. */
struct asked {
    const struct ni_work *w;
    /* ports as bits: all chosen ones; those of this process's GPU, or all; those for the present
       variable */
    uint32_t all, rank, ports;
    /* those of `all` that no GPU is to use, as each that has them near found them slow or wrong when
       they were tried; those that a GPU is not to use because of that; what `rank` lacks so */
    uint32_t shunned, lacking, rank_lacks;
    bool is_rank; /* the GPU of this process is known */
    /* how that is known, or why not; "": no launcher started the process */
    struct ni_text rank_why;
    struct ni_text by_vllm; /* the variables that vLLM sets by itself, because of the map */
};

static const char ucx_devices[] = "UCX_NET_DEVICES", nvshmem_list[] = "NVSHMEM_HCA_LIST",
                  nvshmem_mapping[] = "NVSHMEM_HCA_PE_MAPPING";
static const char vllm_map[] = "VLLM_GPU_NIC_PCIE_MAPPING",
                  vllm_selection[] = "VLLM_NIC_SELECTION_VARS";

/* Decides one variable. With a value and a reason it is set; with a reason alone it is better left
   unset; with neither the plan says nothing. */
typedef void put_fn(const struct asked *a, struct ni_text *value, struct ni_text *why);

/* Returns true if vLLM sets the variable: its list is NAME or NAME:SUFFIX, with commas and blanks
   (vllm_net_devices.py parse_nic_selection_vars). */
static bool is_by_vllm(const struct asked *a, const char *name)
{
    const char *rest = a->by_vllm.buf;
    struct ni_span entry, suffix;

    while (ni_split(&rest, ',', &entry)) {
        struct ni_span of = ni_trim(entry);

        (void)ni_split_port(of, &of, &suffix);
        if (ni_span_is(of, name))
            return true;
    }
    return false;
}

/* Puts the ports: "mlx5_6:1,mlx5_7:1". */
static void put_ports(const struct asked *a, struct ni_text *value)
{
    for (unsigned i = 0; i < a->w->plan->n_chosen; i++) {
        const struct ni_chosen c = ni_chosen(a->w, i);

        if (a->ports >> i & 1)
            ni_putf(value, "%s%s:%u", value->len > 0 ? "," : "", c.hca->name, c.port->num);
    }
}

/* Puts the HCAs of the ports, each once: "mlx5_6,mlx5_7". */
static void put_hca_names(const struct asked *a, struct ni_text *value)
{
    const struct ni_hca *last = NULL;

    for (unsigned i = 0; i < a->w->plan->n_chosen; i++) {
        const struct ni_hca *h = ni_chosen(a->w, i).hca;

        if (!(a->ports >> i & 1) || h == last)
            continue;
        ni_putf(value, "%s%s", last ? "," : "", h->name);
        last = h;
    }
}

/* Puts the index of the right GIDs if all have one index, whatever the user has set for NCCL. */
static void put_index(const struct asked *a, struct ni_text *value, struct ni_text *why)
{
    const struct ni_gid *first = NULL;
    uint32_t left = a->ports;

    for (unsigned i = 0; left; i++, left >>= 1) {
        const struct ni_gid *g = ni_chosen(a->w, i).gid;

        if (!(left & 1))
            continue;
        first = first ? first : g;
        if (!g || g->index != first->index) {
            ni_put(why, "no index is right for all ports; the library chooses by itself");
            return;
        }
    }
    if (first) {
        ni_put_u64(value, first->index);
        ni_put(why, "the index that is right for every chosen port");
    }
}

/* Puts that ports were left out because of a trial of GPU memory. */
static void put_tried(const struct asked *a, uint32_t left_out, struct ni_text *why)
{
    const struct ni_gdr_tried *tried = &a->w->inv->gdr_tried;
    uint32_t slow = 0, wrong = 0;

    for (unsigned g = 0; g < a->w->inv->n_gpu; g++) {
        slow |= tried->slow[g] & left_out;
        wrong |= tried->wrong[g] & left_out;
    }
    if (slow && wrong)
        ni_put(why, "; tried, and slow and wrong ones left out");
    else if (slow || wrong)
        ni_putf(why, "; tried, and %s ones left out", slow ? "slow" : "wrong");
}

/* ---- vLLM: one map for the pod, from which each worker takes its GPU's NIC ---- */

/* Puts vLLM's map, GPU=NIC by PCI addresses. vLLM finds the HCA by the address of its function,
   which a sub-function does not have, and writes one suffix for all. If the map cannot be right for
   each GPU there is none, and *why says so: a worker whose GPU is not in the map does not start. */
static void put_map(const struct asked *a, struct ni_text *map, struct ni_text *why)
{
    const struct ni_work *w = a->w;
    char gpu[NI_BDF_TEXT], nic[NI_BDF_TEXT];
    uint32_t taken = 0;

    if (a->is_rank)
        ni_putf(why, "%s: this process has no workers on other GPUs", a->rank_why.buf);
    else if (w->inv->n_gpu == 0 || !a->all)
        ni_put(why, w->inv->n_gpu == 0 ? "the pod has no GPU" : "no RDMA port is in use");
    for (unsigned i = 0; i < w->plan->n_chosen && !why->len; i++) {
        const struct ni_chosen c = ni_chosen(w, i);

        if (c.port->num != 1 || c.hca->aux[0] || !c.hca->has_bdf)
            ni_putf(why, "port %u of %s is in use, and vLLM takes only port 1 of PCI functions",
                    c.port->num, c.hca->name);
    }
    for (unsigned g = 0; g < w->inv->n_gpu && !why->len; g++) {
        const uint32_t own = w->plan->gpu_ports[g] & -w->plan->gpu_ports[g];
        const struct ni_hca *h = own ? ni_chosen(w, (unsigned)__builtin_ctz(own)).hca : NULL;

        ni_bdf_text(w->inv->gpu[g].bdf, gpu);
        if (!h || taken & own || ni_pci_distance(&h->pci, &w->inv->gpu[g].pci) == NI_DIST_SYS)
            ni_putf(why, "GPU %s has no HCA of its own that is known to be near", gpu);
        else
            ni_putf(map, "%s%s=%s", g ? "," : "", gpu, ni_bdf_text(h->bdf, nic));
        taken |= own;
    }
}

/* Decides the variables of vLLM. It puts the worker's NIC in front of a value that is set
   (set_worker_gpu_nic_mapping), so a value of the user stays as it is. It takes both variables or
   neither; empty ones are as good as unset (set_worker_net_device). */
static void decide_vllm(struct asked *a)
{
    static const char by_pe_name[] = "NVSHMEM_HCA_PE_MAPPING";
    const char *users_map = ni_user_value(a->w, vllm_map),
               *vars = ni_user_value(a->w, vllm_selection);
    struct ni_text map = NI_TEXT(NI_VALUE), why = NI_TEXT(NI_REASON), ours = NI_TEXT(64);

    put_map(a, &map, &why);
    if (!ni_user_value(a->w, ucx_devices))
        ni_putf(&ours, "%s:1", ucx_devices);
    const char *list = ni_user_value(a->w, nvshmem_list), *by_pe = ni_user_value(a->w, by_pe_name);
    if (a->w->policy->targets & NI_FOR_NVSHMEM && !list && !(by_pe && *by_pe))
        ni_putf(&ours, "%s%s:1", ours.len ? "," : "", nvshmem_list);
    const bool whole = why.len == 0;
    const bool has_map = users_map ? *users_map : whole;
    if (has_map)
        ni_put(&a->by_vllm, vars ? vars : ours.buf);
    if (a->by_vllm.len == 0) {
        if (whole)
            ni_put(&why, "your own values leave vLLM no choice");
        ni_decide_value(a->w, vllm_map, NULL, "%s", why.buf);
        ni_decide_value(a->w, vllm_selection, NULL, "vLLM takes it only together with the map");
        return;
    }
    if (whole) {
        ni_put(&why, "each GPU's own HCA");
        put_tried(a, a->lacking, &why);
    }
    ni_decide_value(a->w, vllm_map, whole ? map.buf : NULL, "%s", why.buf);
    ni_decide_value(a->w, vllm_selection, ours.len ? ours.buf : NULL,
                    "vLLM sets it in each worker, from the map");
}

/* ---- UCX ---- */

static void put_ucx_devices(const struct asked *a, struct ni_text *value, struct ni_text *why)
{
    put_ports(a, value);
    if (value->len > 0) {
        ni_put(why, a->is_rank ? "the nearest to this process's GPU" : "the chosen ports");
        put_tried(a, a->rank_lacks, why);
        if (a->rank_why.len > 0)
            ni_putf(why, "; %s", a->rank_why.buf);
    } else if (*a->w->plan->sockets) {
        ni_put(why, "the socket interface, because no RDMA port is in use");
        ni_put(value, a->w->plan->sockets);
    }
}

/* Limits UCX to the nearest HCAs if the distances are known. UCX registers the memory of NVIDIA's
   GPUs with each HCA, or only with those at the least distance (1.21.0 ucp_mm.c
   ucp_memh_apply_reg_policy). */
static void put_ucx_limit(const struct asked *a, struct ni_text *value, struct ni_text *why)
{
    const struct ni_work *w = a->w;
    bool known = true;

    if (w->inv->n_gpu == 0 || w->inv->gpu[0].amd || (a->rank & (a->rank - 1)) == 0 ||
        is_by_vllm(a, ucx_devices))
        return;
    for (unsigned g = 0; g < w->inv->n_gpu; g++)
        known = known && w->plan->gpu_ports[g];
    for (unsigned i = 0; i < w->plan->n_chosen; i++)
        known = known && ni_chosen(w, i).hca->has_bdf && !ni_chosen(w, i).hca->aux[0];
    if (known)
        ni_put(value, "auto");
    ni_put(why, known ? "a GPU's memory goes through the HCAs nearest to it (UCX 1.21 and later)"
                      : "it is not known which HCAs are near a GPU");
}

/* Switches UCX's GPUDirect RDMA off where wrong bytes came. */
static void put_ucx_gdr(const struct asked *a, struct ni_text *value, struct ni_text *why)
{
    for (unsigned g = 0; g < a->w->inv->n_gpu && value->len == 0; g++) {
        if (a->w->inv->gdr_tried.wrong[g] == 0)
            continue;
        ni_put(value, "n");
        ni_put(why, "tried: an HCA returned wrong bytes of GPU memory");
    }
}

/* ---- NVSHMEM: takes the nearest of the list itself ---- */

static void put_nvshmem_list(const struct asked *a, struct ni_text *value, struct ni_text *why)
{
    put_ports(a, value);
    if (value->len == 0)
        return;
    ni_put(why, "the chosen ports");
    put_tried(a, a->shunned, why);
}

/* Puts the text that the names of IBGDA's HCAs must contain; unset it is "mlx5" (NVSHMEM 3.4.5
   ibgda.cpp). */
static void put_nvshmem_prefix(const struct asked *a, struct ni_text *value, struct ni_text *why)
{
    bool usual = true;
    const char *first = "";
    size_t same = 0;

    for (unsigned i = 0; i < a->w->plan->n_chosen; i++) {
        const char *name = ni_chosen(a->w, i).hca->name;

        if (i == 0) {
            first = name;
            same = strcspn(name, "0123456789");
        }
        usual = usual && strstr(name, "mlx5");
        while (strncmp(first, name, same) != 0)
            same--;
    }
    if (usual)
        return;
    ni_putn(value, first, same);
    ni_put(why, same ? "the HCAs' names begin with it; IBGDA takes only names that contain it"
                     : "the HCAs' names do not begin alike; IBGDA takes those with mlx5");
}

/* Puts the interfaces for NVSHMEM's bootstrap. NCCL's code reads them (NVSHMEM 3.4.5
   bootstrap/uid/ncclSocket), where a name without `=` is a prefix. */
static void put_uid_sockets(const struct asked *a, struct ni_text *value, struct ni_text *why)
{
    if (!*a->w->plan->sockets)
        return;
    ni_putf(value, "=%s", a->w->plan->sockets);
    ni_put(why, "as NCCL_SOCKET_IFNAME");
}

/* Puts the address family of NVSHMEM's bootstrap. NVSHMEM takes AF_INET if the variable is unset,
   where NCCL takes any family. */
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
    put_hca_names(a, value);
    ni_put(why, value->len ? "the HCAs of the chosen ports" : "");
}

static void put_mooncake_port(const struct asked *a, struct ni_text *value, struct ni_text *why)
{
    bool same = true;

    if (!a->all)
        return;
    for (unsigned i = 0; i < a->w->plan->n_chosen; i++)
        same = same && ni_chosen(a->w, i).port->num == ni_chosen(a->w, 0).port->num;
    if (same)
        ni_put_u64(value, ni_chosen(a->w, 0).port->num);
    ni_put(why, same ? "the port of all HCAs"
                     : "the port numbers differ, and Mooncake takes one number for all HCAs");
}

/* ---- Gloo, and PyTorch's RPC, which takes one name as well ---- */

/* Puts one interface: each further name opens one more full mesh, which must be routed and have the
   same place in each pod's list (torch ProcessGroupGloo.cpp). An interface that somebody named
   comes first, then the pod's own network, which reaches all pods. */
static void put_socket_interface(const struct asked *a, struct ni_text *value, struct ni_text *why)
{
    const struct ni_work *w = a->w;
    const char *users = ni_user_value(w, "NCCL_SOCKET_IFNAME"), *list = w->plan->sockets;
    /* NCCL takes a list of one character as unset */
    const bool is_named = w->policy->sockets || (users && strlen(users) > 1);
    const char *pod = is_named ? NULL : ni_pod_interface(w);

    if (!*list)
        return;
    const char *first = pod ? pod : list;
    ni_putn(value, first, strcspn(first, ","));
    ni_put(why, pod ? ni_pod_interface_text(w) : "the first of NCCL_SOCKET_IFNAME");
}

/* ---- the table ---- */

static const struct variable {
    const char *name;
    unsigned whose; /* NI_FOR_* */
    put_fn *put;
    const char *unless; /* if the user has set this variable, the library goes by it instead */
    /* the list of ports to which the value belongs: one of the user's own may have them all */
    const char *list;
} variables[] = {
    {ucx_devices, NI_FOR_OVER_UCX, .put = put_ucx_devices},
    {"UCX_IB_GID_INDEX", NI_FOR_OVER_UCX, .put = put_index, .unless = "UCX_IB_ROCE_SUBNETS",
     .list = ucx_devices},
    {"UCX_MAX_HCA_PER_GPU", NI_FOR_UCX | NI_FOR_NIXL, .put = put_ucx_limit},
    {"UCX_IB_GPU_DIRECT_RDMA", NI_FOR_OVER_UCX, .put = put_ucx_gdr},
    {nvshmem_list, NI_FOR_NVSHMEM, .put = put_nvshmem_list, .unless = nvshmem_mapping},
    {"NVSHMEM_HCA_PREFIX", NI_FOR_NVSHMEM, .put = put_nvshmem_prefix},
    {"NVSHMEM_IB_GID_INDEX", NI_FOR_NVSHMEM, .put = put_index, .unless = "NVSHMEM_IB_ADDR_RANGE",
     .list = nvshmem_list},
    {"NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", NI_FOR_NVSHMEM, .put = put_uid_sockets},
    {"NVSHMEM_BOOTSTRAP_UID_SOCK_FAMILY", NI_FOR_NVSHMEM, .put = put_uid_family},
    {"MC_TE_FILTERS", NI_FOR_MOONCAKE, .put = put_mooncake_names},
    {"MC_IB_PORT", NI_FOR_MOONCAKE, .put = put_mooncake_port},
    {"MC_GID_INDEX", NI_FOR_MOONCAKE, .put = put_index},
    {"GLOO_SOCKET_IFNAME", NI_FOR_GLOO, .put = put_socket_interface},
    {"TP_SOCKET_IFNAME", NI_FOR_GLOO, .put = put_socket_interface},
};

void ni_put_library_variables(struct ni_text *t)
{
    ni_putf(t, "%s, %s", vllm_map, vllm_selection);
    for (unsigned i = 0; i < NI_COUNT(variables); i++)
        ni_putf(t, ", %s", variables[i].name);
}

/* Reports a value of nvshmem.conf that differs from the one in the environment. The setting stays
   for NVSHMEM before 3.6.5, which reads no such file. */
static void check_override(const struct ni_work *w, const char *name)
{
    const struct ni_conf_entry *e = ni_find_overriding_conf(w->inv, name);
    const struct ni_setting *s = ni_plan_get(w->plan, name);
    struct ni_text theirs = NI_TEXT(272);

    if (!e || !s || strcmp(e->value, s->value) == 0)
        return;
    ni_put_quoted(&theirs, e->value, strlen(e->value), 64);
    ni_report(w->f, NI_F_CONF_NVSHMEM, name,
              "%s sets it to `%s`, and NVSHMEM 3.6.5 and later takes that", e->file, theirs.buf);
}

/* Finds the ports that a trial of GPU memory takes out. A library that takes the nearest of a list by
   itself has one list for all GPUs: a port that is good for one of them stays. */
static void find_bad_ports(struct asked *a)
{
    const struct ni_gdr_tried *tried = &a->w->inv->gdr_tried;
    uint32_t good = 0, any = 0, near;

    for (unsigned g = 0; g < a->w->inv->n_gpu; g++)
        any |= tried->slow[g] | tried->wrong[g];
    for (unsigned g = 0; any && g < a->w->inv->n_gpu; g++) {
        const uint32_t bad = ni_bad_ports(a->w, g, &near);

        a->lacking |= bad;
        good |= near & ~bad;
    }
    a->shunned = a->lacking & ~good;
}

/* Finds the ports of this process: those of its GPU, if a launcher gave it one; else all. */
static void find_rank_ports(struct asked *a)
{
    const struct ni_plan *plan = a->w->plan;
    uint32_t near;

    a->rank = a->all & ~a->shunned;
    a->rank_lacks = a->shunned;
    if (!a->all || !(a->w->policy->targets & NI_FOR_BY_GPU))
        return;
    const int gpu = ni_rank_gpu(a->w, &a->rank_why);
    a->is_rank = gpu >= 0 && plan->gpu_ports[gpu];
    if (a->is_rank) {
        a->rank = plan->gpu_ports[gpu];
        a->rank_lacks = ni_bad_ports(a->w, (unsigned)gpu, &near);
    } else if (gpu >= 0) {
        ni_put(&a->rank_why, ": which HCA is the nearest is not known");
    }
}

/* Returns true if the user chose the ports: by that list, or by NVSHMEM's other one. */
static bool is_users_list(const struct ni_work *w, const char *list)
{
    const char *users = ni_user_value(w, list);

    if (!users && strcmp(list, nvshmem_list) == 0)
        users = ni_user_value(w, nvshmem_mapping);
    return users && *users;
}

/* Decides one variable, or says nothing of it (put_fn). */
static void decide_variable(struct asked *a, const struct variable *v)
{
    struct ni_text value = NI_TEXT(NI_VALUE), why = NI_TEXT(NI_REASON);
    const char *users = v->unless ? ni_user_value(a->w, v->unless) : NULL;

    a->ports = a->all;
    if (v->whose & NI_FOR_BY_GPU)
        a->ports = a->rank;
    else if (v->whose == NI_FOR_NVSHMEM)
        a->ports &= ~a->shunned;
    if (v->list && is_users_list(a->w, v->list))
        a->ports = a->all;
    if (users && *users)
        ni_putf(&why, "%s is set", v->unless);
    else if (is_by_vllm(a, v->name))
        ni_put(&why, "vLLM sets it in each worker, in front of what is there");
    else
        v->put(a, &value, &why);
    if (why.len)
        ni_decide_value(a->w, v->name, value.len ? value.buf : NULL, "%s", why.buf);
    if (v->whose == NI_FOR_NVSHMEM)
        check_override(a->w, v->name);
}

void ni_rule_libraries(const struct ni_work *w)
{
    const unsigned targets = w->policy->targets;

    if (!(targets & ~(unsigned)NI_FOR_NCCL))
        return; /* the next structure costs some KiB to clear */
    struct asked a = {.w = w, .rank_why = NI_TEXT(NI_REASON / 2), .by_vllm = NI_TEXT(NI_VALUE)};
    a.all = w->plan->n_chosen ? UINT32_MAX >> (32 - w->plan->n_chosen) : 0;
    find_bad_ports(&a);
    find_rank_ports(&a);
    if (targets & NI_FOR_VLLM)
        decide_vllm(&a);
    for (const struct variable *v = variables; v < variables + NI_COUNT(variables); v++) {
        if (v->whose & targets)
            decide_variable(&a, v);
    }
}
