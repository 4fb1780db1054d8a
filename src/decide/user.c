/* SPDX-License-Identifier: Apache-2.0 */
/* user.values: what the user set is never changed, only held against reality. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rule.h"

/* A value that NCCL would take as set: empty ones are spoken of by check_names. */
static const char *value_of(const struct ni_facts *facts, const char *name)
{
    const char *v = ni_user_value(facts, name);
    return v && *v ? v : NULL;
}

static bool is_plain_name(struct ni_span s)
{
    for (size_t i = 0; i < s.n; i++) {
        bool ok =
            (s.p[i] >= 'A' && s.p[i] <= 'Z') || (s.p[i] >= '0' && s.p[i] <= '9') || s.p[i] == '_';
        if (!ok)
            return false;
    }
    return true;
}

/* Names: odd, one letter off, without effect; values: empty. By name, whatever the order of the
   environment; of one name the first entry counts. */
static void check_names(const struct ni_facts *facts, const struct ni_plan *plan,
                        struct ni_findings *f)
{
    unsigned before = f->n;
    for (char *const *e = facts->env->entry; *e; e++) {
        struct ni_span name;
        const char *value;
        char text[NI_DEV_NAME];
        if (!ni_has_prefix(*e, "NCCL_") || !ni_env_split(*e, &name, &value) ||
            !ni_copyn(text, sizeof(text), name.p, name.n) || ni_env_get(facts->env, text) != value)
            continue;
        const char *near = ni_near_name(name);
        if (near)
            ni_report(f, NI_F_USER_NAME_MISSPELT, text,
                      "NCCL reads no such variable; did you mean NCCL_%s?", near);
        else if (!is_plain_name(name))
            ni_report(f, NI_F_USER_NAME_MISSPELT, text,
                      "NCCL reads no such variable: the name has an odd character");
        else if (strcmp(text, "NCCL_IB_CUDA_SUPPORT") == 0 ||
                 strcmp(text, "NCCL_IB_GDR_LEVEL") == 0)
            ni_report(f, NI_F_USER_NAME_OBSOLETE, text, "without effect since NCCL 2.4");
        if (!*value && !ni_plan_get(plan, text)) /* else told where it was decided */
            ni_report(f, NI_F_USER_VALUE_EMPTY, text, "set but empty; it stays so");
    }
    ni_findings_sort(f, before);
}

/* NCCL takes these names, near to far, exactly; in front of them old digits: 0 is LOC, 1 PIX, 2 PXB.
   Anything else is ignored without a word (2.30.7 graph/paths.cc ncclGetLevel). */
static void check_gdr_level(const struct ni_facts *facts, struct ni_findings *f)
{
    static const char *const levels[] = {"LOC", "NVL", "NVB", "C2C", "PIX",
                                         "PXB", "P2C", "PXN", "PHB", "SYS"};
    enum { PIX = 4, PXB, P2C, SYS = 9 };
    const char *v = value_of(facts, "NCCL_NET_GDR_LEVEL");
    unsigned level = 0;
    if (!v)
        return;
    while (level < NI_COUNT(levels) && strcmp(v, levels[level]) != 0)
        level++;
    if (level == NI_COUNT(levels) && *v >= '0' && *v <= '9') {
        long old = strtol(v, NULL, 0);
        level = old == 0 ? 0 : old == 1 ? PIX : old == 2 ? PXB : SYS;
    }
    if (level == NI_COUNT(levels))
        ni_report(f, NI_F_USER_VALUE_IGNORED, "NCCL_NET_GDR_LEVEL",
                  "`%.40s` is no level: NCCL ignores it silently", v);
    else if (level < PIX)
        ni_report(f, NI_F_USER_GDR_OFF, "NCCL_NET_GDR_LEVEL",
                  "%.40s switches GPUDirect RDMA off: no GPU is that near to an HCA", v);
    else if (facts->inv->gdr.c2c && level < P2C)
        ni_report(f, NI_F_USER_GDR_C2C, "NCCL_NET_GDR_LEVEL",
                  "%.40s switches GPUDirect over NVLink-C2C off (NCCL 2.29.2)", v);
}

/* Integers are read by strtoll: garbage is 0, which for a GID index is a value (misc/param.cc). */
static void check_numbers(const struct ni_facts *facts, struct ni_findings *f)
{
    static const char *const names[] = {
        "NCCL_IB_GID_INDEX", "NCCL_IB_DISABLE",    "NCCL_DMABUF_ENABLE", "NCCL_CROSS_NIC",
        "NCCL_IB_MERGE_VFS", "NCCL_IB_MERGE_NICS", "NCCL_IB_TIMEOUT",    "NCCL_IB_TC"};
    for (unsigned i = 0; i < NI_COUNT(names); i++) {
        const char *v = value_of(facts, names[i]);
        char *end;
        if (!v)
            continue;
        (void)strtoll(v, &end, 0);
        if (end == v || *end)
            ni_report(f, NI_F_USER_VALUE_IGNORED, names[i], "`%.40s` is no number: NCCL reads %lld",
                      v, (long long)strtoll(v, NULL, 0));
    }
    const char *family = value_of(facts, "NCCL_SOCKET_FAMILY");
    if (family && strcmp(family, "AF_INET") != 0 && strcmp(family, "AF_INET6") != 0)
        ni_report(f, NI_F_USER_VALUE_IGNORED, "NCCL_SOCKET_FAMILY",
                  "`%.40s` is neither AF_INET nor AF_INET6", family);
}

/* port: by a port that the HCA has, too. */
static bool names_pod_hca(const struct ni_inventory *inv, const char *list, bool port)
{
    for (unsigned i = 0; i < inv->n_hca; i++) {
        const struct ni_hca *h = &inv->hca[i];
        if (!ni_is_given(h) || !ni_nccl_match(list, h->name, -1))
            continue;
        bool any = !port;
        for (unsigned k = 0; k < h->n_port; k++)
            any = any || ni_nccl_match(list, h->name, (int)inv->port[h->first_port + (int)k].num);
        if (any)
            return true;
    }
    return false;
}

/* A prefix that ends in a digit and takes a longer number: mlx5_1 and mlx5_10. NULL: none. */
static const char *longer_match(const struct ni_inventory *inv, const char *prefix)
{
    size_t n = strlen(prefix);
    for (unsigned i = 0; i < inv->n_hca; i++) {
        const char *name = inv->hca[i].name;
        bool digits = ni_is_given(&inv->hca[i]) && n > 0 && prefix[n - 1] >= '0' &&
                      prefix[n - 1] <= '9' && name[n] >= '0' && name[n] <= '9';
        if (strncmp(name, prefix, n) == 0 && digits)
            return name;
    }
    return NULL;
}

/* One entry of the user's NCCL_IB_HCA as a list of its own: `=name`, `name`, each with `:port`. */
static void check_hca_entry(const struct ni_inventory *inv, struct ni_span e, bool exact,
                            struct ni_findings *f)
{
    char one[NI_DEV_NAME + 8], whole[NI_DEV_NAME + 16];
    struct ni_text t = ni_text_on(one, sizeof(one)), w = ni_text_on(whole, sizeof(whole));
    const char *colon = memchr(e.p, ':', e.n);
    size_t n = colon ? (size_t)(colon - e.p) : e.n;
    ni_put(&t, exact ? "=" : "");
    ni_putn(&t, e.p, n);
    ni_put(&w, exact ? "=" : "");
    ni_putn(&w, e.p, e.n);
    if (n == 0 || t.cut || w.cut)
        return;
    const char *longer = exact ? NULL : longer_match(inv, one);
    if (memchr(e.p, ' ', e.n) || memchr(e.p, '\t', e.n))
        ni_report(f, NI_F_USER_HCA_FOREIGN, "NCCL_IB_HCA",
                  "`%s` has a blank, which NCCL takes as part of the name", one);
    else if (longer)
        ni_report(f, NI_F_USER_HCA_PREFIX, "NCCL_IB_HCA", "`%s` without '=' also takes %s", one,
                  longer);
    else if (!names_pod_hca(inv, one, false))
        ni_report(f, NI_F_USER_HCA_FOREIGN, "NCCL_IB_HCA", "`%s` names no HCA of this pod", one);
    else if (!names_pod_hca(inv, whole, true))
        ni_report(f, NI_F_USER_HCA_FOREIGN, "NCCL_IB_HCA", "`%s` names no port of this pod", whole);
    else if (n + 1 == e.n || (colon && colon[1] == ':'))
        ni_report(
            f, NI_F_USER_HCA_FOREIGN, "NCCL_IB_HCA",
            "`%s` has no port behind the colon: NCCL before 2.30.7 reads port 0, which no HCA "
            "has",
            whole);
}

static void check_hca_list(const struct ni_facts *facts, const struct ni_plan *plan,
                           struct ni_findings *f)
{
    const char *list = value_of(facts, "NCCL_IB_HCA");
    if (!list || *list == '^' || plan->transport != NI_NET_RDMA)
        return;
    bool none = plan->n_chosen == 0; /* said as a whole by hca.ports */
    bool exact = *list == '=';
    unsigned n = 0;
    struct ni_span e;
    list += exact;
    while (ni_split(&list, ',', &e)) {
        if (!none)
            check_hca_entry(facts->inv, e, exact, f);
        n += e.n > 0;
    }
    if (facts->inv->users_foreign_hca[0] && !none)
        ni_report(f, NI_F_USER_HCA_PREFIX, "NCCL_IB_HCA",
                  "without '=' the list also takes %s, which is not this pod's",
                  facts->inv->users_foreign_hca);
    if (n > NI_MAX_CHOSEN)
        ni_report(f, NI_F_USER_HCA_FOREIGN, "NCCL_IB_HCA",
                  "%u names; NCCL drops those beyond %d silently", n, NI_MAX_CHOSEN);
}

static void check_left_out(const struct ni_facts *facts, const struct ni_plan *plan,
                           struct ni_findings *f)
{
    char name[NI_DEV_NAME + 8], names[160];
    struct ni_text t = ni_text_on(names, sizeof(names));
    if (ni_put_foreign(facts, plan, &t))
        ni_report(f, NI_F_USER_HCA_LEFT_OUT, "NCCL_IB_HCA",
                  "it takes HCAs that were not given to this pod, but open in it, and NCCL uses "
                  "them: %s",
                  names);
    for (unsigned i = 0; i < facts->inv->n_port; i++) {
        if (ni_takes_left_out(facts, plan, (int)i))
            ni_report(f, NI_F_USER_HCA_LEFT_OUT, ni_port_text(facts->inv, (int)i, name),
                      "left out (%s), but your NCCL_IB_HCA takes it: NCCL uses it if it can",
                      plan->port[i].why);
    }
}

void ni_rule_user(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    const char *topo = value_of(facts, "NCCL_TOPO_FILE");
    const char *plugin = value_of(facts, "NCCL_ENV_PLUGIN");
    check_names(facts, plan, f);
    check_gdr_level(facts, f);
    check_numbers(facts, f);
    check_hca_list(facts, plan, f);
    check_left_out(facts, plan, f);
    ni_check_user_sockets(facts, f);
    if (topo && facts->inv->topo_file != NI_KNOWN && facts->inv->topo_file != NI_UNSET)
        ni_report(f, NI_F_USER_TOPO_UNREADABLE, "NCCL_TOPO_FILE",
                  "`%.120s` is %s: NCCL goes on without it", topo,
                  ni_known_text(facts->inv->topo_file));
    /* NCCL 2.28.7 and later ask it alone: NULL is unset, whatever the environment has (misc/param.cc
       ncclGetEnv, 2.30.7). */
    if (plugin && strcasecmp(plugin, "none") != 0)
        ni_report(
            f, NI_F_USER_ENV_PLUGIN, "NCCL_ENV_PLUGIN",
            "NCCL asks `%.100s` for each variable: what is set here counts only as far as that "
            "library hands it on",
            plugin);
}
