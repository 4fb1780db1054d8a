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

/* Names that NCCL does not read, and empty values. Of one name the first entry counts; told by name,
   whatever the order of the environment. */
static void check_names(const struct ni_work *w)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const unsigned before = w->f->n;
    for (char *const *e = w->env->entry; *e; e++) {
        struct ni_span name;
        const char *value;
        char text[NI_DEV_NAME];
        if (!ni_has_prefix(*e, "NCCL_") || !ni_env_split(*e, &name, &value) ||
            !ni_copyn(text, sizeof(text), name.p, name.n) || ni_env_get(w->env, text) != value)
            continue;
        const struct ni_span near = ni_near_name(name);
        if (near.n)
            ni_report(w->f, NI_F_USER_NAME_MISSPELT, text,
                      "NCCL reads no such variable; did you mean NCCL_%.*s?", (int)near.n, near.p);
        else if (text[strspn(text, plain)])
            ni_report(w->f, NI_F_USER_NAME_MISSPELT, text,
                      "NCCL reads no such variable: the name has an odd character");
        else if (strcmp(text, "NCCL_IB_CUDA_SUPPORT") == 0 ||
                 strcmp(text, "NCCL_IB_GDR_LEVEL") == 0)
            ni_report(w->f, NI_F_USER_NAME_OBSOLETE, text, "without effect since NCCL 2.4");
        if (!*value && !ni_plan_get(w->plan, text)) /* else told where it was decided */
            ni_report(w->f, NI_F_USER_VALUE_EMPTY, text, "set but empty, and left so");
    }
    ni_findings_sort(w->f, before);
}

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
    else if (level < NI_DIST_PIX)
        ni_report(w->f, NI_F_USER_GDR_OFF, name,
                  "%.40s switches GPUDirect RDMA off: no GPU is that near to an HCA", v);
    else if (w->inv->gdr.c2c && level < NI_DIST_P2C)
        ni_report(w->f, NI_F_USER_GDR_C2C, name,
                  "%.40s switches GPUDirect over NVLink-C2C off (NCCL 2.29.2)", v);
}

/* Integers are read by strtoll: garbage is 0, which for a GID index is a value (misc/param.cc). */
static void check_numbers(const struct ni_work *w)
{
    static const char *const names[] = {
        "NCCL_IB_GID_INDEX", "NCCL_IB_DISABLE",    "NCCL_DMABUF_ENABLE", "NCCL_CROSS_NIC",
        "NCCL_IB_MERGE_VFS", "NCCL_IB_MERGE_NICS", "NCCL_IB_TIMEOUT",    "NCCL_IB_TC"};
    for (unsigned i = 0; i < NI_COUNT(names); i++) {
        const char *v = value_of(w, names[i]);
        char *end;
        if (!v)
            continue;
        const long long n = strtoll(v, &end, 0);
        if (end == v || *end)
            ni_report(w->f, NI_F_USER_VALUE_IGNORED, names[i],
                      "`%.40s` is no number: NCCL reads %lld", v, n);
    }
    const char *family = value_of(w, "NCCL_SOCKET_FAMILY");
    if (family && strcmp(family, "AF_INET") != 0 && strcmp(family, "AF_INET6") != 0)
        ni_report(w->f, NI_F_USER_VALUE_IGNORED, "NCCL_SOCKET_FAMILY",
                  "`%.40s` is neither AF_INET nor AF_INET6", family);
}

/* ---- NCCL_IB_HCA ---- */

static const char hca_list[] = "NCCL_IB_HCA";

/* Whether the list takes an HCA of the pod; port: one of its ports. */
static bool takes_given(const struct ni_inventory *inv, const char *list, bool port)
{
    for (unsigned i = 0; i < inv->n_hca; i++) {
        const struct ni_hca *h = &inv->hca[i];
        bool takes = ni_is_given(h) && !port && ni_nccl_match(list, h->name, -1);
        for (unsigned k = 0; ni_is_given(h) && port && k < h->n_port; k++)
            takes =
                takes || ni_nccl_match(list, h->name, (int)inv->port[h->first_port + (int)k].num);
        if (takes)
            return true;
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
static void check_hca_entry(const struct ni_work *w, struct ni_span e, bool exact)
{
    const struct ni_inventory *inv = w->inv;
    const enum ni_finding_id foreign = NI_F_USER_HCA_FOREIGN;
    char name[NI_DEV_NAME + 8], whole[NI_DEV_NAME + 16];
    const char *colon = memchr(e.p, ':', e.n);
    const size_t n = colon ? (size_t)(colon - e.p) : e.n;
    if (n == 0 || !ni_format(name, sizeof(name), "%s%.*s", exact ? "=" : "", (int)n, e.p) ||
        !ni_format(whole, sizeof(whole), "%s%.*s", exact ? "=" : "", (int)e.n, e.p))
        return;
    const char *longer = exact ? NULL : longer_match(inv, name);
    if (memchr(e.p, ' ', e.n) || memchr(e.p, '\t', e.n))
        ni_report(w->f, foreign, hca_list, "`%s` has a blank, which NCCL takes as part of the name",
                  name);
    else if (longer)
        ni_report(w->f, NI_F_USER_HCA_PREFIX, hca_list, "`%s` without '=' also takes %s", name,
                  longer);
    else if (!takes_given(inv, name, false))
        ni_report(w->f, foreign, hca_list, "`%s` names no HCA of this pod", name);
    else if (!takes_given(inv, whole, true))
        ni_report(w->f, foreign, hca_list, "`%s` names no port of this pod", whole);
    else if (n + 1 == e.n || (colon && colon[1] == ':'))
        ni_report(w->f, foreign, hca_list,
                  "`%s` has no port behind the colon: NCCL before 2.30.7 reads port 0, which no "
                  "HCA has",
                  whole);
}

static void check_hca_list(const struct ni_work *w)
{
    const char *list = value_of(w, hca_list);
    if (!list || *list == '^' || w->plan->transport != NI_NET_RDMA)
        return;
    const bool exact = *list == '=', any_chosen = w->plan->n_chosen > 0;
    unsigned n = 0;
    struct ni_span e;
    for (list += exact; ni_split(&list, ',', &e); n += e.n > 0) {
        if (any_chosen) /* else hca.ports has told of the list as a whole */
            check_hca_entry(w, e, exact);
    }
    if (!exact && any_chosen)
        w->plan->wants |= NI_WANT_USERS_FOREIGN_HCA;
    if (!exact && any_chosen && w->inv->users_foreign_hca[0])
        ni_report(w->f, NI_F_USER_HCA_PREFIX, hca_list,
                  "without '=' the list also takes %s, which is not this pod's",
                  w->inv->users_foreign_hca);
    if (n > NI_MAX_CHOSEN)
        ni_report(w->f, NI_F_USER_HCA_FOREIGN, hca_list,
                  "%u names; NCCL drops those beyond %d silently", n, NI_MAX_CHOSEN);
}

void ni_rule_user(const struct ni_work *w)
{
    const struct ni_inventory *inv = w->inv;
    const char *topo = value_of(w, "NCCL_TOPO_FILE"), *plugin = value_of(w, "NCCL_ENV_PLUGIN");
    char foreign[160];
    struct ni_text t = ni_text_on(foreign, sizeof(foreign));
    check_names(w);
    check_gdr_level(w);
    check_numbers(w);
    check_hca_list(w);
    if (ni_put_foreign(w, &t))
        ni_report(w->f, NI_F_USER_HCA_LEFT_OUT, hca_list,
                  "it takes HCAs that were not given to this pod, but open in it, and NCCL uses "
                  "them: %s",
                  foreign);
    for (int i = 0; i < (int)inv->n_port; i++) {
        if (ni_takes_left_out(w, i))
            ni_report(w->f, NI_F_USER_HCA_LEFT_OUT, ni_port_name(inv, i).text,
                      "left out (%s), but your NCCL_IB_HCA takes it: NCCL uses it if it can",
                      w->plan->port[i].why);
    }
    ni_check_user_sockets(w);
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
