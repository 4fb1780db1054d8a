/* SPDX-License-Identifier: Apache-2.0 */
/* user.values: what the user set is never changed, only held against reality. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rule.h"

/* A value that NCCL would take as set: check_names tells of empty ones. */
static const char *value_of(const struct ni_work *w, const char *name)
{
    const char *v = ni_user_value(w, name);
    return v && *v ? v : NULL;
}

/* ---- misspelt names ---- */

/* Names of NCCL's variables that people set, less "NCCL_", and those one or two letters off these, to
   be told from slips: of 2.30.7 (its NCCL_PARAM and ncclGetEnv calls), 2.31.2 (its library's strings,
   as others list them) and 2.32.3 (user guide, release notes). */
static const char known[] =
    "ALGO BUFFSIZE CFT_ENABLE COLLNET_ENABLE COMM_BLOCKING COMM_ID CONF_FILE CROSS_NIC "
    "CUMEM_ENABLE DEBUG DEBUG_FILE DEBUG_SUBSYS DMABUF_ENABLE ENV_PLUGIN GDRCOPY_ENABLE GIN_ENABLE "
    "GRAPH_DUMP_FILE GRAPH_FILE HOSTID IBVERBS_LIB IB_ADAPTIVE_ROUTING IB_ADDR_FAMILY "
    "IB_ADDR_RANGE IB_AR_THRESHOLD IB_CUDA_SUPPORT IB_DEVICE_PCI_ORDER IB_DISABLE IB_ECE_ENABLE "
    "IB_FIFO_TC IB_GID_INDEX IB_HCA IB_MERGE_NICS IB_MERGE_VFS IB_PCI_RELAXED_ORDERING IB_PKEY "
    "IB_PKEY_VALUE IB_QPS_PER_CONNECTION IB_RAIL_POLICY IB_RETRY_CNT IB_ROCE_VERSION_NUM IB_SL "
    "IB_SPLIT_DATA_ON_QPS IB_SUBNET_AWARE_ROUTING IB_TC IB_TIMEOUT IB_USE_INLINE "
    "IGNORE_CPU_AFFINITY LAUNCH_MODE LL128_BUFFSIZE LL_BUFFSIZE MAX_CTAS MAX_NCHANNELS MIN_CTAS "
    "MIN_NCHANNELS MNNVL_ENABLE NET NET_FORCE_MERGE NET_GDR_C2C NET_GDR_LEVEL NET_GDR_READ "
    "NET_MERGE_LEVEL NET_PLUGIN NET_SHARED_BUFFERS NSOCKS_PERTHREAD NTHREADS NVB_DISABLE "
    "NVLS_ENABLE NVLS_NCHANNELS NVTX_DISABLE OOB_NET_ENABLE OOB_NET_IFNAME P2P_DIRECT_DISABLE "
    "P2P_DISABLE P2P_LEVEL P2P_NET_CHUNKSIZE P2P_NVL_CHUNKSIZE PAT_ENABLE PROTO PXN_DISABLE "
    "RAS_ENABLE SHM_DISABLE SOCKET_FAMILY SOCKET_IFNAME SOCKET_NTHREADS SOCKET_RETRY_CNT "
    "TOPO_DUMP_FILE TOPO_FILE TREE_THRESHOLD TUNER_PLUGIN WIN_ENABLE";

struct ni_span ni_near_name(struct ni_span name)
{
    static const char prefix[] = "NCCL_";
    const size_t head = sizeof(prefix) - 1;
    struct ni_span near = {NULL, 0}, word;
    if (name.n <= head + 3 || name.n - head > NI_EDITS_NAME || memcmp(name.p, prefix, head) != 0)
        return near;
    const struct ni_span rest = {name.p + head, name.n - head};
    unsigned best = rest.n >= 10 ? 3 : 2; /* fewer letters, fewer slips */
    for (const char *cursor = known; ni_split(&cursor, ' ', &word);) {
        const size_t gap = word.n > rest.n ? word.n - rest.n : rest.n - word.n;
        const unsigned d = gap < best ? ni_edits(rest, word) : best;
        if (d == 0)
            return (struct ni_span){NULL, 0};
        if (d < best) {
            best = d;
            near = word;
        }
    }
    return near;
}

bool ni_is_nccl_name(struct ni_span name)
{
    static const char prefix[] = "NCCL_";
    const size_t head = sizeof(prefix) - 1;
    const char *cursor = known;
    struct ni_span word;

    if (name.n <= head || memcmp(name.p, prefix, head) != 0)
        return false;
    while (ni_split(&cursor, ' ', &word))
        if (word.n == name.n - head && memcmp(word.p, name.p + head, word.n) == 0)
            return true;
    return false;
}

bool ni_is_nccl_slip(struct ni_span name)
{
    return ni_near_name(name).n > 0;
}

/* Names that NCCL does not read, and empty values. Of one name the first entry counts; told by name,
   whatever the order of the environment. */
static void check_names(const struct ni_work *w)
{
    const unsigned before = w->f->n;
    unsigned odd = 0;

    for (char *const *e = w->env->entry; *e; e++) {
        struct ni_span name;
        const char *value;
        char text[NI_DEV_NAME];
        if (!ni_has_prefix(*e, "NCCL_") || !ni_env_split(*e, &name, &value) ||
            !ni_copyn(text, sizeof(text), name.p, name.n))
            continue;
        const struct ni_span near = ni_near_name(name);
        if (near.n == 0 && *value)
            continue;
        /* Whether it is the first of its name costs a look at every entry; more findings than these
           have no room. */
        if (++odd > NI_MAX_FINDINGS) {
            w->f->dropped++;
            continue;
        }
        if (ni_env_get(w->env, text) != value)
            continue;
        if (near.n)
            ni_report(w->f, NI_F_USER_NAME_MISSPELT, text,
                      "NCCL reads no such variable; did you mean NCCL_%.*s?", (int)near.n, near.p);
        if (!*value && !ni_plan_get(w->plan, text)) /* else told where it was decided */
            ni_report(w->f, NI_F_USER_VALUE_EMPTY, text, "set but empty, and left so");
    }
    ni_findings_sort(w->f, before);
}

/* ---- values ---- */

static void check_gdr_level(const struct ni_work *w)
{
    static const char name[] = "NCCL_NET_GDR_LEVEL";
    const char *v = value_of(w, name);
    if (!v)
        return;
    const enum ni_distance level = ni_parse_level(v);
    if (level == NI_DIST_UNKNOWN)
        ni_report(w->f, NI_F_USER_VALUE_IGNORED, name,
                  "`%.40s` is no level: NCCL ignores it silently", v);
    else if (level < NI_DIST_PIX || (w->inv->gdr.c2c && level < NI_DIST_P2C))
        ni_report(w->f, NI_F_USER_GDR_OFF, name, "%.40s switches GPUDirect RDMA off%s", v,
                  level < NI_DIST_PIX ? "" : " on a machine with NVLink-C2C (NCCL 2.29.2)");
}

/* Integers are read by strtoll: garbage is 0, which for a GID index is a value (misc/param.cc). */
static void check_numbers(const struct ni_work *w)
{
    static const char *const names[] = {
        "NCCL_IB_GID_INDEX", "NCCL_IB_DISABLE",    "NCCL_DMABUF_ENABLE", "NCCL_CROSS_NIC",
        "NCCL_IB_MERGE_VFS", "NCCL_IB_MERGE_NICS", "NCCL_IB_TIMEOUT",    "NCCL_IB_TC"};
    for (unsigned i = 0; i < NI_COUNT(names); i++) {
        const char *v = value_of(w, names[i]);
        char *end = NULL;
        const long long n = v ? strtoll(v, &end, 0) : 0;
        if (v && ni_user_int(w, names[i], 0) != ni_user_int(w, names[i], 1))
            ni_report(w->f, NI_F_USER_VALUE_IGNORED, names[i],
                      "`%.40s` does not fit into 64 bits: NCCL uses its default", v);
        else if (v && (end == v || *end))
            ni_report(w->f, NI_F_USER_VALUE_IGNORED, names[i],
                      "`%.40s` is no number: NCCL reads %lld", v, n);
    }
    static const char *const families[] = {"NCCL_SOCKET_FAMILY", "NCCL_IB_ADDR_FAMILY"};
    for (unsigned i = 0; i < NI_COUNT(families); i++) {
        const char *v = value_of(w, families[i]);
        if (v && strcmp(v, "AF_INET") != 0 && strcmp(v, "AF_INET6") != 0)
            ni_report(w->f, NI_F_USER_VALUE_IGNORED, families[i],
                      "`%.40s` is neither AF_INET nor AF_INET6", v);
    }
}

/* ---- NCCL_IB_HCA ---- */

static const char hca_list[] = "NCCL_IB_HCA";

static void check_hca_list(const struct ni_work *w)
{
    const struct ni_inventory *inv = w->inv;
    const char *list = value_of(w, hca_list);
    struct ni_span e;
    /* where nothing is chosen hca.ports has told of the list as a whole */
    if (!list || w->plan->transport != NI_NET_RDMA || w->plan->n_chosen == 0)
        return;
    const bool all_but = *list == '^', exact = list[all_but] == '=';
    for (list += all_but + exact; ni_split(&list, ',', &e);) {
        char whole[NI_DEV_NAME + 16]; /* the entry as a list of its own */
        const char *colon = memchr(e.p, ':', e.n), *longer = NULL;
        const size_t n = colon ? (size_t)(colon - e.p) : e.n;
        bool takes_port = all_but;
        if (n == 0 || !ni_format(whole, sizeof(whole), "%s%.*s", exact ? "=" : "", (int)e.n, e.p))
            continue;
        for (unsigned i = 0; i < inv->n_port; i++) {
            const struct ni_hca *h = &inv->hca[inv->port[i].hca];
            if (!ni_is_given(h) || !ni_nccl_match(whole, h->name, -1))
                continue;
            takes_port = takes_port || ni_nccl_match(whole, h->name, (int)inv->port[i].num);
            /* a prefix that ends in a digit and takes a longer number: mlx5_1 and mlx5_10 */
            if (!all_but && !exact && ni_is_digit(e.p[n - 1]) && strncmp(h->name, e.p, n) == 0 &&
                ni_is_digit(h->name[n]))
                longer = h->name;
        }
        if (*e.p == '=' || *e.p == '^')
            ni_report(w->f, NI_F_USER_HCA_FOREIGN, hca_list,
                      "`%.*s` matches no HCA: '=' and '^' count only at the start of the list",
                      (int)e.n, e.p);
        else if (longer)
            ni_report(w->f, NI_F_USER_HCA_PREFIX, hca_list, "`%.*s` without '=' also takes %s",
                      (int)n, e.p, longer);
        else if (!takes_port)
            ni_report(w->f, NI_F_USER_HCA_FOREIGN, hca_list,
                      "`%s` names no port of this pod's HCAs", whole);
        else if (colon && (n + 1 == e.n || colon[1] == ':'))
            ni_report(w->f, NI_F_USER_HCA_FOREIGN, hca_list,
                      "`%s` has no port behind the colon: NCCL before 2.30.7 reads port 0", whole);
    }
}

/* A port that the plan leaves out, for one reason, and NCCL takes: another may be worse. */
static void tell_taken(const struct ni_work *w, int at)
{
    const struct ni_inventory *inv = w->inv;
    const struct ni_port *port = &inv->port[at];
    const struct ni_port *other = w->plan->n_chosen > 0 ? ni_chosen(w, 0).port : NULL;
    const int best = ni_best_gid(inv, port, false);
    const struct ni_gid *g = best < 0 ? NULL : &inv->gid[best];
    const bool good =
        port->link == NI_LINK_IB || (g && g->type == NI_GID_V2 && !ni_ip_is_link_local(g->ip));
    const struct ni_gid_end end = ni_gid_end(inv, port, &w->plan->gid_way);
    const char *harm = NULL;
    if (port->link != NI_LINK_IB && (!g || !end.gid || !ni_gid_is_right(inv, g)))
        w->plan->wants |= NI_WANT_WHOLE_GIDS;
    if (!other)
        harm = "the plan uses no port";
    else if (!ni_is_active(port) || !good)
        harm = "its connections may fail";
    else if (port->link != other->link)
        harm = "InfiniBand and RoCE together kill the job";
    else if (port->link == NI_LINK_ROCE && !end.unproven && !ni_is_as_good(end.gid, g, true))
        harm = "the GID that NCCL takes there is not right";
    else if (inv->hca[port->hca].pci.none && !inv->hca[other->hca].pci.none)
        harm = "SoftRoCE beside a PCI HCA may crash NCCL before 2.29.7";
    ni_report(w->f, harm ? NI_F_USER_HCA_LEFT_OUT : NI_F_USER_HCA_EXTRA, ni_port_name(inv, at).text,
              "NCCL_IB_HCA takes this port, which the plan leaves out (%s): %s",
              w->plan->port[at].why, harm ? harm : "the job may be slow");
}

/* What the list takes although the plan does not: NCCL uses it if it can. */
static void check_left_out(const struct ni_work *w)
{
    const struct ni_inventory *inv = w->inv;
    const char *list = ni_user_value(w, hca_list);
    struct ni_text foreign = NI_TEXT(160);
    if (!list || w->plan->transport != NI_NET_RDMA)
        return;
    for (unsigned i = 0; i < inv->n_claim; i++) {
        const struct ni_claim *c = &inv->claim[i];
        if (c->source == NI_SRC_UVERBS && c->hca < 0 && ni_nccl_match(list, c->id, -1))
            ni_putf(&foreign, "%s%s", foreign.len ? ", " : "", c->id);
    }
    if (foreign.len)
        ni_report(w->f, NI_F_USER_HCA_LEFT_OUT, hca_list,
                  "your NCCL_IB_HCA takes HCAs that were not given to this pod, but open in it: %s",
                  foreign.buf);
    for (int i = 0; i < (int)inv->n_port; i++) {
        const struct ni_port *port = &inv->port[i];
        const struct ni_hca *h = &inv->hca[port->hca];
        const bool down = port->state.known == NI_KNOWN && !ni_is_active(port);
        if (!w->plan->port[i].chosen && ni_is_given(h) && !h->efa && !down &&
            ni_nccl_match(list, h->name, (int)port->num))
            tell_taken(w, i);
    }
}

void ni_rule_user(const struct ni_work *w)
{
    const struct ni_inventory *inv = w->inv;
    const char *topo = value_of(w, "NCCL_TOPO_FILE"), *plugin = value_of(w, "NCCL_ENV_PLUGIN");
    check_names(w);
    check_gdr_level(w);
    check_numbers(w);
    check_hca_list(w);
    check_left_out(w);
    if (topo && inv->topo_file != NI_KNOWN && inv->topo_file != NI_UNSET)
        ni_report(w->f, NI_F_USER_TOPO_UNREADABLE, "NCCL_TOPO_FILE",
                  "`%.120s` is %s: NCCL goes on without it", topo, ni_known_text(inv->topo_file));
    /* NCCL 2.28.7 and later ask the plugin alone: NULL is unset, whatever the environment has
       (misc/param.cc ncclGetEnv, 2.30.7). */
    if (plugin && strcasecmp(plugin, "none") != 0)
        ni_report(w->f, NI_F_USER_ENV_PLUGIN, "NCCL_ENV_PLUGIN",
                  "NCCL asks `%.100s` for each variable: a setting made here counts only if that "
                  "library passes it on",
                  plugin);
}
