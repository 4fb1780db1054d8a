/* SPDX-License-Identifier: Apache-2.0 */
/* user.values: what the user set is never changed, only held against reality. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rule.h"

/* A value that NCCL would take as set: check_names tells of empty ones. */
static const char *value_of(const struct ni_facts *facts, const char *name)
{
    const char *v = ni_user_value(facts, name);
    return v && *v ? v : NULL;
}

/* Names that NCCL does not read, and empty values. Of one name the first entry counts; told by name,
   whatever the order of the environment. */
static void check_names(const struct ni_facts *facts, const struct ni_plan *plan,
                        struct ni_findings *f)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const unsigned before = f->n;
    for (char *const *e = facts->env->entry; *e; e++) {
        struct ni_span name;
        const char *value;
        char text[NI_DEV_NAME];
        if (!ni_has_prefix(*e, "NCCL_") || !ni_env_split(*e, &name, &value) ||
            !ni_copyn(text, sizeof(text), name.p, name.n) || ni_env_get(facts->env, text) != value)
            continue;
        const struct ni_span near = ni_near_name(name);
        if (near.n)
            ni_report(f, NI_F_USER_NAME_MISSPELT, text,
                      "NCCL reads no such variable; did you mean NCCL_%.*s?", (int)near.n, near.p);
        else if (text[strspn(text, plain)])
            ni_report(f, NI_F_USER_NAME_MISSPELT, text,
                      "NCCL reads no such variable: the name has an odd character");
        else if (strcmp(text, "NCCL_IB_CUDA_SUPPORT") == 0 ||
                 strcmp(text, "NCCL_IB_GDR_LEVEL") == 0)
            ni_report(f, NI_F_USER_NAME_OBSOLETE, text, "without effect since NCCL 2.4");
        if (!*value && !ni_plan_get(plan, text)) /* else told where it was decided */
            ni_report(f, NI_F_USER_VALUE_EMPTY, text, "set but empty, and left so");
    }
    ni_findings_sort(f, before);
}

static void check_gdr_level(const struct ni_facts *facts, struct ni_findings *f)
{
    static const char name[] = "NCCL_NET_GDR_LEVEL";
    const char *v = value_of(facts, name);
    if (!v)
        return;
    const enum ni_distance level = ni_parse_level(v);
    if (level == NI_DIST_UNKNOWN)
        ni_report(f, NI_F_USER_VALUE_IGNORED, name, "`%.40s` is no level: NCCL ignores it silently",
                  v);
    else if (level < NI_DIST_PIX)
        ni_report(f, NI_F_USER_GDR_OFF, name,
                  "%.40s switches GPUDirect RDMA off: no GPU is that near to an HCA", v);
    else if (facts->inv->gdr.c2c && level < NI_DIST_P2C)
        ni_report(f, NI_F_USER_GDR_C2C, name,
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
        const long long n = strtoll(v, &end, 0);
        if (end == v || *end)
            ni_report(f, NI_F_USER_VALUE_IGNORED, names[i], "`%.40s` is no number: NCCL reads %lld",
                      v, n);
    }
    const char *family = value_of(facts, "NCCL_SOCKET_FAMILY");
    if (family && strcmp(family, "AF_INET") != 0 && strcmp(family, "AF_INET6") != 0)
        ni_report(f, NI_F_USER_VALUE_IGNORED, "NCCL_SOCKET_FAMILY",
                  "`%.40s` is neither AF_INET nor AF_INET6", family);
}

/* ---- NCCL_IB_HCA ---- */

/* Whether the list takes an HCA of the pod; port: one of its ports. */
static bool takes_given(const struct ni_inventory *inv, const char *list, bool port)
{
    for (unsigned i = 0; i < inv->n_hca; i++) {
        const struct ni_hca *h = &inv->hca[i];
        if (!ni_is_given(h) || !ni_nccl_match(list, h->name, -1))
            continue;
        if (!port)
            return true;
        for (unsigned k = 0; k < h->n_port; k++) {
            if (ni_nccl_match(list, h->name, (int)inv->port[h->first_port + (int)k].num))
                return true;
        }
    }
    return false;
}

/* A prefix that ends in a digit and takes a longer number: mlx5_1 and mlx5_10. NULL: none. */
static const char *longer_match(const struct ni_inventory *inv, const char *prefix)
{
    const size_t n = strlen(prefix);
    if (n == 0 || !ni_is_digit(prefix[n - 1]))
        return NULL;
    for (unsigned i = 0; i < inv->n_hca; i++) {
        const char *name = inv->hca[i].name;
        if (ni_is_given(&inv->hca[i]) && strncmp(name, prefix, n) == 0 && ni_is_digit(name[n]))
            return name;
    }
    return NULL;
}

/* One entry of the user's list, as a list of its own: `=name`, `name`, each with `:port`. */
static void check_hca_entry(const struct ni_inventory *inv, struct ni_span e, bool exact,
                            struct ni_findings *f)
{
    static const char var[] = "NCCL_IB_HCA";
    char name[NI_DEV_NAME + 8], whole[NI_DEV_NAME + 16];
    const char *colon = memchr(e.p, ':', e.n);
    const size_t n = colon ? (size_t)(colon - e.p) : e.n;
    if (n == 0 || !ni_format(name, sizeof(name), "%s%.*s", exact ? "=" : "", (int)n, e.p) ||
        !ni_format(whole, sizeof(whole), "%s%.*s", exact ? "=" : "", (int)e.n, e.p))
        return;
    const char *longer = exact ? NULL : longer_match(inv, name);
    if (memchr(e.p, ' ', e.n) || memchr(e.p, '\t', e.n))
        ni_report(f, NI_F_USER_HCA_FOREIGN, var,
                  "`%s` has a blank, which NCCL takes as part of the name", name);
    else if (longer)
        ni_report(f, NI_F_USER_HCA_PREFIX, var, "`%s` without '=' also takes %s", name, longer);
    else if (!takes_given(inv, name, false))
        ni_report(f, NI_F_USER_HCA_FOREIGN, var, "`%s` names no HCA of this pod", name);
    else if (!takes_given(inv, whole, true))
        ni_report(f, NI_F_USER_HCA_FOREIGN, var, "`%s` names no port of this pod", whole);
    else if (n + 1 == e.n || (colon && colon[1] == ':'))
        ni_report(f, NI_F_USER_HCA_FOREIGN, var,
                  "`%s` has no port behind the colon: NCCL before 2.30.7 reads port 0, which no "
                  "HCA has",
                  whole);
}

static void check_hca_list(const struct ni_facts *facts, const struct ni_plan *plan,
                           struct ni_findings *f)
{
    static const char var[] = "NCCL_IB_HCA";
    const char *list = value_of(facts, var);
    if (!list || *list == '^' || plan->transport != NI_NET_RDMA)
        return;
    const bool exact = *list == '=';
    unsigned n = 0;
    struct ni_span e;
    for (list += exact; ni_split(&list, ',', &e); n += e.n > 0) {
        if (plan->n_chosen > 0) /* else hca.ports has told of the list as a whole */
            check_hca_entry(facts->inv, e, exact, f);
    }
    if (facts->inv->users_foreign_hca[0] && plan->n_chosen > 0)
        ni_report(f, NI_F_USER_HCA_PREFIX, var,
                  "without '=' the list also takes %s, which is not this pod's",
                  facts->inv->users_foreign_hca);
    if (n > NI_MAX_CHOSEN)
        ni_report(f, NI_F_USER_HCA_FOREIGN, var, "%u names; NCCL drops those beyond %d silently", n,
                  NI_MAX_CHOSEN);
}

static void user_values(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    const struct ni_inventory *inv = facts->inv;
    const char *topo = value_of(facts, "NCCL_TOPO_FILE");
    const char *plugin = value_of(facts, "NCCL_ENV_PLUGIN");
    char foreign[160];
    struct ni_text t = ni_text_on(foreign, sizeof(foreign));
    check_names(facts, plan, f);
    check_gdr_level(facts, f);
    check_numbers(facts, f);
    check_hca_list(facts, plan, f);
    if (ni_put_foreign(facts, plan, &t))
        ni_report(f, NI_F_USER_HCA_LEFT_OUT, "NCCL_IB_HCA",
                  "it takes HCAs that were not given to this pod, but open in it, and NCCL uses "
                  "them: %s",
                  foreign);
    for (unsigned i = 0; i < inv->n_port; i++) {
        char name[NI_DEV_NAME + 8];
        if (ni_takes_left_out(facts, plan, (int)i))
            ni_report(f, NI_F_USER_HCA_LEFT_OUT, ni_port_text(inv, (int)i, name),
                      "left out (%s), but your NCCL_IB_HCA takes it: NCCL uses it if it can",
                      plan->port[i].why);
    }
    ni_check_user_sockets(facts, plan, f);
    if (topo && inv->topo_file != NI_KNOWN && inv->topo_file != NI_UNSET)
        ni_report(f, NI_F_USER_TOPO_UNREADABLE, "NCCL_TOPO_FILE",
                  "`%.120s` is %s: NCCL goes on without it", topo, ni_known_text(inv->topo_file));
    /* NCCL 2.28.7 and later ask the plugin alone: NULL is unset, whatever the environment has
       (misc/param.cc ncclGetEnv, 2.30.7). */
    if (plugin && strcasecmp(plugin, "none") != 0)
        ni_report(f, NI_F_USER_ENV_PLUGIN, "NCCL_ENV_PLUGIN",
                  "NCCL asks `%.100s` for each variable: a setting made here counts only if that "
                  "library passes it on",
                  plugin);
}

const struct ni_rule ni_rule_user = {"user.values", "NCCL_* of the environment and nccl.conf",
                                     "findings only", user_values, false};
