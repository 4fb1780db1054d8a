/* SPDX-License-Identifier: Apache-2.0 */
/* The rule user.values: values of the user stay, and are compared with the node. */
#include "rules/user.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "findings/setting.h"
#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/nccl_list.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rules/chosen.h"
#include "rules/decide.h"
#include "rules/gid_index.h"
#include "rules/gid_pick.h"
#include "rules/gid_search.h"
#include "rules/nccl_names.h"
#include "rules/ports.h"

/* Returns a value that NCCL takes as set. check_variables reports empty ones. */
static const char *user_value(const struct ni_work *w, const char *name)
{
    const char *v = ni_user_value(w, name);

    return v && *v ? v : NULL;
}

/* ---- names and numbers ---- */

static const char prefix[] = "NCCL_";

/* Returns the name without "NCCL_"; empty: it is the name of another program's variable, or too
   long. */
static struct ni_span without_prefix(struct ni_span name)
{
    const size_t head = sizeof(prefix) - 1;

    if (name.n < head || name.n - head > NI_EDITS_NAME || memcmp(name.p, prefix, head) != 0)
        return (struct ni_span){"", 0};
    return (struct ni_span){name.p + head, name.n - head};
}

static bool is_listed(struct ni_span word, const char *list)
{
    struct ni_span known;

    while (ni_split(&list, ' ', &known)) {
        if (known.n == word.n && memcmp(known.p, word.p, word.n) == 0)
            return true;
    }
    return false;
}

/* Looks for a known name with fewer than *best edits. */
static void find_near(struct ni_span word, const char *list, unsigned *best, struct ni_span *near)
{
    struct ni_span known;

    while (ni_split(&list, ' ', &known)) {
        const size_t gap = known.n > word.n ? known.n - word.n : word.n - known.n;
        const unsigned n = gap < *best ? ni_edits(word, known) : *best;

        if (n < *best) {
            *best = n;
            *near = known;
        }
    }
}

struct ni_span ni_near_name(struct ni_span name)
{
    const struct ni_span word = without_prefix(name);
    struct ni_span near = {NULL, 0};
    unsigned best = word.n >= 10 ? 3 : 2; /* a short word allows fewer slips */

    if (word.n <= 3 || ni_is_nccl_name(name))
        return near;
    find_near(word, ni_nccl_words, &best, &near);
    find_near(word, ni_nccl_numbers, &best, &near);
    return near;
}

bool ni_is_nccl_name(struct ni_span name)
{
    const struct ni_span word = without_prefix(name);

    return is_listed(word, ni_nccl_numbers) || is_listed(word, ni_nccl_words);
}

/* Puts the name in capitals. Returns true if NCCL reads that one, and not the name itself. */
static bool put_capitals(struct ni_span name, char ret[NI_DEV_NAME])
{
    const size_t head = sizeof(prefix) - 1;

    if (name.n < head || memcmp(name.p, prefix, head) == 0 ||
        strncasecmp(name.p, prefix, head) != 0 || !ni_copyn(ret, NI_DEV_NAME, name.p, name.n))
        return false;
    for (size_t i = 0; i < name.n; i++)
        ret[i] = (char)toupper((unsigned char)ret[i]);
    return ni_is_nccl_name(ni_span_of(ret));
}

bool ni_is_misspelt_nccl(struct ni_span name)
{
    char capitals[NI_DEV_NAME];

    return ni_near_name(name).n > 0 || put_capitals(name, capitals);
}

/* Returns true if NCCL reads the variable by strtoll (misc/param.cc ncclLoadParam), and the value is
   not exactly a number. */
static bool is_bad_number(struct ni_span name, const char *value)
{
    char *end = NULL;

    if (!*value || !is_listed(without_prefix(name), ni_nccl_numbers))
        return false;
    errno = 0;
    (void)strtoll(value, &end, 0);
    return end == value || *end || errno == ERANGE;
}

static void report_number(const struct ni_work *w, const char *name, const char *value)
{
    errno = 0;
    const long long n = strtoll(value, NULL, 0);

    if (errno == ERANGE)
        ni_report(w->f, NI_F_USER_VALUE_IGNORED, name,
                  "`%.40s` does not fit into 64 bits: NCCL uses its default", value);
    else if (ni_is_no_number(value))
        ni_report(w->f, NI_F_USER_VALUE_IGNORED, name,
                  "`%.40s` is not a number: NCCL up to 2.31.2 reads 0, 2.32.3 uses its default and "
                  "says so",
                  value);
    else
        ni_report(w->f, NI_F_USER_VALUE_IGNORED, name, "`%.40s` is not a number: NCCL reads %lld",
                  value, n);
}

/* Reports a variable of the user that is odd. file: the file that sets it; NULL: the environment.
   */
static void report_odd(const struct ni_work *w, const char *name, const char *value,
                       const char *file)
{
    const struct ni_span whole = ni_span_of(name), near = ni_near_name(whole);

    if (near.n > 0 && file)
        ni_report(w->f, NI_F_USER_NAME_MISSPELT, name,
                  "NCCL has no such variable, which is set in %s; did you mean NCCL_%.*s?", file,
                  (int)near.n, near.p);
    else if (near.n > 0)
        ni_report(w->f, NI_F_USER_NAME_MISSPELT, name,
                  "NCCL has no such variable; did you mean NCCL_%.*s?", (int)near.n, near.p);
    /* otherwise the rule that decided it has reported it */
    if (!*value && !ni_plan_get(w->plan, name))
        ni_report_empty(w, name, file);
    if (is_bad_number(whole, value))
        report_number(w, name, value);
}

/* Reports a variable of NCCL's that is written with small letters, which is another one. Returns true
   if it is. */
static bool check_case(const struct ni_work *w, const char *entry)
{
    struct ni_span name;
    const char *value;
    char text[NI_DEV_NAME], capitals[NI_DEV_NAME];

    if (!ni_env_split(entry, &name, &value) || !put_capitals(name, capitals) ||
        !ni_copyn(text, sizeof(text), name.p, name.n))
        return false;
    ni_report(w->f, NI_F_USER_NAME_MISSPELT, text,
              "NCCL has no such variable; did you mean %s, in capitals?", capitals);
    return true;
}

/* Reports names that NCCL does not read, empty values, and words in place of numbers. Of one name
   the first entry counts; they are reported by name, whatever the order of the environment. */
static void check_variables(const struct ni_work *w)
{
    const unsigned before = w->f->n;
    unsigned odd = 0;

    for (char *const *e = w->env->entry; *e; e++) {
        struct ni_span name;
        const char *value;
        char text[NI_DEV_NAME];

        if (odd <= NI_MAX_FINDINGS)
            odd += check_case(w, *e);
        if (!ni_has_prefix(*e, prefix) || !ni_env_split(*e, &name, &value) ||
            !ni_copyn(text, sizeof(text), name.p, name.n))
            continue;
        if (*value && !is_bad_number(name, value) && !ni_is_misspelt_nccl(name))
            continue;
        /* a search for the first entry of a name looks at every entry, and there is no room for
           more findings than these */
        odd++;
        if (odd > NI_MAX_FINDINGS) {
            w->f->dropped++;
            continue;
        }
        if (ni_env_get(w->env, text) == value)
            report_odd(w, text, value, NULL);
    }
    for (unsigned i = 0; i < w->inv->n_conf; i++) {
        const struct ni_conf_entry *e = &w->inv->conf[i];

        if (ni_has_prefix(e->name, prefix) && ni_user_value(w, e->name) == e->value)
            report_odd(w, e->name, e->value, e->file);
    }
    ni_findings_sort(w->f, before);
}

/* ---- values ---- */

/* Returns true if NCCL looks the level up by a negative number: it cuts the value to 32 bits, and
   knows an upper bound only (NCCL 2.30.7 graph/paths.cc ncclGetLevel). */
static bool is_beyond(const char *level)
{
    return ni_is_digit(*level) && (int)strtol(level, NULL, 0) < 0;
}

/* Returns true if the list, of words in lower case, has the word in any case. */
static bool has_word(const char *list, struct ni_span word)
{
    struct ni_span known;

    while (ni_split(&list, ' ', &known)) {
        if (known.n == word.n && strncasecmp(known.p, word.p, word.n) == 0)
            return true;
    }
    return false;
}

/* Takes the next token off the rest, as strtok_r does: empty ones do not count. */
static bool next_token(struct ni_span *rest, char separator, struct ni_span *ret)
{
    size_t n = 0;

    while (rest->n > 0 && *rest->p == separator)
        *rest = (struct ni_span){rest->p + 1, rest->n - 1};
    while (n < rest->n && rest->p[n] != separator)
        n++;
    *ret = (struct ni_span){rest->p, n};
    *rest = (struct ni_span){rest->p + n, rest->n - n};
    return n > 0;
}

/* Finds the first word that NCCL does not know in a value such as "tree;allreduce:^ring,tree" (2.30.7
   graph/tuning.cc parseList): of a function before a colon, or of those that `words` lists. */
static bool find_unknown(const char *value, const char *words, struct ni_span *ret)
{
    static const char functions[] = "broadcast reduce allgather reducescatter allreduce";
    struct ni_span rest = ni_span_of(value), entry, list;

    while (next_token(&rest, ';', &entry)) {
        if (!next_token(&entry, ':', ret))
            continue;
        if (!next_token(&entry, ':', &list))
            list = *ret; /* without a function */
        else if (!has_word(functions, *ret))
            return true;
        if (list.n > 0 && *list.p == '^')
            list = (struct ni_span){list.p + 1, list.n - 1};
        while (next_token(&list, ',', ret)) {
            if (!has_word(words, *ret))
                return true;
        }
    }
    return false;
}

/* Reports a word of NCCL_ALGO or NCCL_PROTO that NCCL does not know. RCCL has other ones. */
static void check_words(const struct ni_work *w)
{
    static const struct {
        const char *name, *words;
    } of[] = {
        {"NCCL_ALGO", "tree ring collnetdirect collnetchain nvls nvlstree pat"},
        {"NCCL_PROTO", "ll ll128 simple"},
    };

    if (w->inv->n_gpu > 0 && w->inv->gpu[0].amd)
        return;
    for (unsigned i = 0; i < NI_COUNT(of); i++) {
        const char *v = user_value(w, of[i].name);
        struct ni_span word;

        if (v && find_unknown(v, of[i].words, &word))
            ni_report(w->f, NI_F_USER_VALUE_IGNORED, of[i].name,
                      "NCCL does not know `%.*s`: 2.24.3 and later end with `Unrecognized element "
                      "token` or `prefix token`, older ones ignore it",
                      word.n < 40 ? (int)word.n : 40, word.p);
    }
}

static void check_levels(const struct ni_work *w)
{
    static const char gdr[] = "NCCL_NET_GDR_LEVEL";
    static const char *const names[] = {gdr, "NCCL_P2P_LEVEL"};

    for (unsigned i = 0; i < NI_COUNT(names); i++) {
        const char *v = user_value(w, names[i]);

        if (v && is_beyond(v))
            ni_report(w->f, NI_F_USER_VALUE_IGNORED, names[i],
                      "`%.40s` is too large: NCCL reads beyond its table of levels, and may crash",
                      v);
        else if (v && ni_parse_level(v) == NI_DIST_UNKNOWN)
            ni_report(w->f, NI_F_USER_VALUE_IGNORED, names[i],
                      "`%.40s` is not a level: NCCL ignores it silently", v);
    }
    const char *v = user_value(w, gdr);
    const enum ni_distance level = v ? ni_parse_level(v) : NI_DIST_UNKNOWN;
    const bool off = level < NI_DIST_PIX, c2c = w->inv->gdr.c2c && level < NI_DIST_P2C;

    if (level != NI_DIST_UNKNOWN && (off || c2c))
        ni_report(w->f, NI_F_USER_GDR_OFF, gdr, "%.40s switches GPUDirect RDMA off%s", v,
                  off ? "" : " on a machine with NVLink-C2C (NCCL 2.29.2)");
}

/* Reports a level or policy of fusing that NCCL does not know. NCCL compares the beginning of a
   level, and takes an unknown one for LOC (NCCL 2.30.7 graph/topo.cc nicPathKvList). The policy
   RAIL (2.30.7) fuses only NICs to which NCCL_IB_HCA gives one rail (ncclTopoAutoMerge). */
static void check_merging(const struct ni_work *w)
{
    static const char *const levels[] = {"LOC", "PORT", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS"};
    static const char level[] = "NCCL_NET_MERGE_LEVEL", policy[] = "NCCL_NET_MERGE_POLICY";
    const char *v = user_value(w, level), *rail = user_value(w, policy);
    const char *list = user_value(w, "NCCL_IB_HCA");
    bool known = v == NULL;

    for (unsigned i = 0; i < NI_COUNT(levels); i++)
        known = known || ni_has_prefix(v, levels[i]);
    if (!known)
        ni_report(w->f, NI_F_USER_VALUE_IGNORED, level,
                  "`%.40s` is not a level: NCCL takes it for LOC, and fuses no NICs", v);
    if (rail && strcasecmp(rail, "RAIL") == 0 && w->plan->n_chosen > 1 && !list)
        ni_report(w->f, NI_F_USER_VALUE_IGNORED, policy,
                  "RAIL fuses only NICs with the same rail in NCCL_IB_HCA (name:port:rail), and "
                  "the plan names no rails there: no NICs are fused");
}

/* Reports names that Gloo takes as they are: torch splits the value at commas only
   (ProcessGroupGloo.cpp createDefaultDevice), Gloo's own tools not even there. */
static void check_gloo(const struct ni_work *w)
{
    static const char name[] = "GLOO_SOCKET_IFNAME";
    const char *v = ni_env_get(w->env, name);

    if (v && (*v == '=' || *v == '^'))
        ni_report(w->f, NI_F_USER_VALUE_IGNORED, name,
                  "`%.40s` begins with a mark that only NCCL knows; Gloo takes it as part of the "
                  "name, and finds no such interface",
                  v);
}

static void check_families(const struct ni_work *w)
{
    static const char *const families[] = {"NCCL_SOCKET_FAMILY", "NCCL_IB_ADDR_FAMILY"};

    for (unsigned i = 0; i < NI_COUNT(families); i++) {
        const char *v = user_value(w, families[i]);

        if (v && strcmp(v, "AF_INET") != 0 && strcmp(v, "AF_INET6") != 0)
            ni_report(w->f, NI_F_USER_VALUE_IGNORED, families[i],
                      "`%.40s` is neither AF_INET nor AF_INET6", v);
    }
}

/* ---- NCCL_IB_HCA ---- */

static const char hca_list[] = "NCCL_IB_HCA";

/* Returns true if an entry of NCCL_IB_HCA, as a list of its own, takes a port of this pod's HCAs.
   *ret_longer: an HCA that a prefix takes beside the one that it names: mlx5_1 takes mlx5_10, too.
   */
static bool match_entry(const struct ni_inventory *inv, const char *whole, const char **ret_longer)
{
    const char *name = whole + (*whole == '=');
    const size_t n = strcspn(name, ":");
    bool takes_port = false;

    for (unsigned i = 0; i < inv->n_port; i++) {
        const struct ni_hca *h = &inv->hca[inv->port[i].hca];

        if (!ni_is_allocated(h) || !ni_nccl_match(whole, h->name, -1))
            continue;
        takes_port = takes_port || ni_nccl_match(whole, h->name, (int)inv->port[i].num);
        if (n > 0 && ni_is_digit(name[n - 1]) && strncmp(h->name, name, n) == 0 &&
            ni_is_digit(h->name[n]))
            *ret_longer = h->name;
    }
    return takes_port;
}

/* Returns true if no device has such a name: NCCL takes a blank and a quotation mark for a part of
   it. */
static bool is_no_name(struct ni_span name)
{
    bool odd = false;

    for (size_t i = 0; i < name.n; i++)
        odd = odd || strchr(" \t\r\n\"'", name.p[i]);
    return odd;
}

/* Reports a list of the user that looks as if it took something, and names nothing: NCCL skips
   entries without a name, and an empty list takes all (misc/utils.cc parseStringList,
   matchIfList). */
static void check_nameless(const struct ni_work *w, const char *list)
{
    if (*list != '^' && !ni_names_hcas(list))
        ni_report(w->f, NI_F_USER_VALUE_IGNORED, hca_list,
                  "`%.40s` names no HCA: NCCL takes each that it can open", list);
}

/* How the user's list is read: what stands at its start, before the entries. */
struct hca_list {
    bool all_but; /* '^' */
    bool exact;   /* '=' */
};

/* Reports an entry without '=' that also takes an HCA with a longer name. */
static void check_longer(const struct ni_work *w, struct hca_list how, struct ni_span device,
                         const char *longer)
{
    const int n = (int)device.n;

    if (how.exact || !longer)
        return;
    if (how.all_but)
        ni_report(w->f, NI_F_USER_HCA_PREFIX, hca_list, "`^%.*s` without '=' also leaves out %s", n,
                  device.p, longer);
    else
        ni_report(w->f, NI_F_USER_HCA_PREFIX, hca_list, "`%.*s` without '=' also takes %s", n,
                  device.p, longer);
}

/* Reports what NCCL reads otherwise than it looks in one entry that has a name. */
static void check_entry(const struct ni_work *w, struct hca_list how, struct ni_span e)
{
    char whole[NI_DEV_NAME + 16]; /* the entry as a list of its own */
    struct ni_span device, port;
    const bool has_port = ni_split_port(e, &device, &port);
    const char *longer = NULL, *start = how.exact ? "=" : "";

    if (device.n == 0 || !ni_format(whole, sizeof(whole), "%s%.*s", start, (int)e.n, e.p))
        return;
    const bool takes_port = match_entry(w->inv, whole, &longer);
    if (*e.p == '=' || *e.p == '^') {
        ni_report(w->f, NI_F_USER_HCA_FOREIGN, hca_list,
                  "`%.*s` matches no HCA: '=' and '^' count only at the start of the list",
                  (int)e.n, e.p);
        return;
    }
    check_longer(w, how, device, longer);
    if (how.all_but && is_no_name(device))
        ni_report(w->f, NI_F_USER_HCA_FOREIGN, hca_list,
                  "`%.*s` leaves out no HCA: NCCL takes blanks and quotation marks as part of the "
                  "name",
                  (int)e.n, e.p);
    if (!takes_port && !how.all_but)
        ni_report(w->f, NI_F_USER_HCA_FOREIGN, hca_list, "`%s` names no port of this pod's HCAs",
                  whole);
    else if (has_port && (port.n == 0 || *port.p == ':'))
        ni_report(w->f, NI_F_USER_HCA_FOREIGN, hca_list,
                  "`%s` has no port after the colon: NCCL before 2.30.7 reads port 0", whole);
}

/* Reports entries of the user's NCCL_IB_HCA that NCCL reads otherwise than they look. */
static void check_hca_list(const struct ni_work *w)
{
    const char *list = user_value(w, hca_list);
    struct ni_span e;

    /* if no port is chosen, hca.ports has reported the list as a whole */
    if (!list || w->plan->transport != NI_NET_RDMA || w->plan->n_chosen == 0)
        return;
    const bool all_but = *list == '^';
    const struct hca_list how = {all_but, list[all_but] == '='};
    check_nameless(w, list);
    list += how.all_but + how.exact;
    while (ni_split(&list, ',', &e))
        check_entry(w, how, e);
}

/* Returns the plane of an entry, name:port:rail:plane, as NCCL reads it: by atoi, into 16 bits; -1:
   it has none. */
static int plane_of(struct ni_span entry)
{
    for (unsigned colons = 0; colons < 3; colons++) {
        struct ni_span before;

        if (!ni_split_port(entry, &before, &entry))
            return -1;
    }
    return entry.n == 0 || *entry.p == ':' ? -1 : (int16_t)strtol(entry.p, NULL, 10);
}

/* Returns the plane that the user's list gives a port: that of the first entry that takes it. */
static int plane_of_port(const char *list, const char *hca, unsigned port)
{
    const bool exact = *list == '=';
    struct ni_span e;

    for (list += exact; ni_split(&list, ',', &e);) {
        char whole[NI_DEV_NAME + 32];

        if (e.n > 0 && *e.p != ':' &&
            ni_format(whole, sizeof(whole), "%s%.*s", exact ? "=" : "", (int)e.n, e.p) &&
            ni_nccl_match(whole, hca, (int)port))
            return plane_of(e);
    }
    return -1;
}

/* Reports a list with too many planes: NCCL 2.30.7 and later have room for 12, and use one bit of
   the number for themselves; a longer list ends the InfiniBand transport (transport/net_ib/init.cc
   ncclIbGetPlaneIndex). */
static void check_planes(const struct ni_work *w)
{
    enum { MOST = 12, OWN_BIT = 1 << 14 };
    const char *list = user_value(w, hca_list);
    int plane[NI_MAX_PORT];
    unsigned n = 0;

    if (!list || *list == '^')
        return;
    for (int i = 0; i < (int)w->inv->n_port; i++) {
        const struct ni_port *port = &w->inv->port[i];
        const int its =
            ni_is_taken(w, i) ? plane_of_port(list, w->inv->hca[port->hca].name, port->num) : -1;
        unsigned at = 0;

        if (its == -1)
            continue;
        if (its & OWN_BIT) {
            ni_report(w->f, NI_F_USER_HCA_NONE, hca_list,
                      "%s has plane %d, but NCCL 2.30.7 and later use bit 14 of that number "
                      "themselves, and then no HCA at all",
                      ni_port_name(w->inv, i).text, its);
            return;
        }
        while (at < n && plane[at] != its)
            at++;
        if (at == n)
            plane[n++] = its;
    }
    if (n > MOST)
        ni_report(w->f, NI_F_USER_HCA_NONE, hca_list,
                  "%u planes; NCCL 2.30.7 and later take at most %d, and with more they use no HCA "
                  "at all",
                  n, MOST);
}

/* Reports a port that NCCL takes although the plan leaves it out. The plan has one reason; another
   may be worse. */
static void tell_taken(const struct ni_work *w, int at)
{
    const struct ni_inventory *inv = w->inv;
    const struct ni_port *port = &inv->port[at];
    const struct ni_port *other = w->plan->n_chosen > 0 ? ni_chosen(w, 0).port : NULL;
    const int best = ni_best_gid(inv, port);
    const struct ni_gid *g = best < 0 ? NULL : &inv->gid[best];
    const bool good = port->link == NI_LINK_IB || ni_has_routable_gid(inv, port);
    const struct ni_gid_end end = ni_gid_end(inv, port, &w->plan->gid_selection);
    const char *harm = NULL;

    if (port->link != NI_LINK_IB && (!g || !end.gid || !ni_gid_is_right(inv, g)))
        w->plan->needs |= NI_NEED_WHOLE_GIDS;
    if (!other)
        harm = "the plan uses no port";
    else if (!ni_is_active(port) || !good)
        harm = "its connections may fail";
    else if (port->link != other->link)
        harm = "InfiniBand and RoCE together end the job";
    else if (port->link == NI_LINK_ROCE && !end.unproven &&
             !ni_is_as_good(end.gid, g, NI_ANY_FAMILY))
        harm = "the GID that NCCL takes there is wrong";
    else if (ni_is_softroce_beside(&inv->hca[port->hca], &inv->hca[other->hca]))
        harm = ni_softroce_mixed;
    const ni_finding_number id = harm ? NI_F_USER_HCA_LEFT_OUT : NI_F_USER_HCA_EXTRA;
    if (!harm)
        harm = "the job may be slow";
    ni_report(w->f, id, ni_port_name(inv, at).text,
              "NCCL_IB_HCA takes this port, which the plan leaves out (%s): %s",
              w->plan->port[at].why, harm);
}

/* Reports ports that the user's list has and the plan leaves out: NCCL uses them if it can. */
static void check_left_out(const struct ni_work *w)
{
    const struct ni_inventory *inv = w->inv;
    const char *list = ni_user_value(w, hca_list);
    struct ni_text foreign = NI_TEXT(160);

    if (!list || w->plan->transport != NI_NET_RDMA)
        return;
    for (unsigned i = 0; i < inv->n_allocation; i++) {
        const struct ni_allocation *c = &inv->allocation[i];

        if (c->source == NI_SRC_UVERBS && c->hca < 0 && ni_nccl_match(list, c->id, -1))
            ni_putf(&foreign, "%s%s", foreign.len ? ", " : "", c->id);
    }
    if (foreign.len)
        ni_report(w->f, NI_F_USER_HCA_LEFT_OUT, hca_list,
                  "your NCCL_IB_HCA takes HCAs that were not given to this pod but can be opened "
                  "in it: %s",
                  foreign.buf);
    for (int i = 0; i < (int)inv->n_port; i++) {
        if (!w->plan->port[i].chosen && ni_is_taken(w, i))
            tell_taken(w, i);
    }
}

void ni_rule_user(const struct ni_work *w)
{
    const struct ni_inventory *inv = w->inv;
    const char *topo = user_value(w, "NCCL_TOPO_FILE"), *plugin = user_value(w, "NCCL_ENV_PLUGIN");

    check_variables(w);
    check_levels(w);
    check_words(w);
    check_merging(w);
    check_families(w);
    check_gloo(w);
    check_hca_list(w);
    check_planes(w);
    check_left_out(w);
    if (topo && inv->topo_file != NI_KNOWN && inv->topo_file != NI_UNSET)
        ni_report(w->f, NI_F_USER_TOPO_UNREADABLE, "NCCL_TOPO_FILE",
                  "`%.120s` is %s: NCCL goes on without it", topo, ni_known_text(inv->topo_file));
    /* NCCL 2.28.7 and later ask the plugin alone: if it says NULL the variable is unset, whatever
       the environment has (misc/param.cc ncclGetEnv, 2.30.7) */
    if (plugin && strcasecmp(plugin, "none") != 0)
        ni_report(w->f, NI_F_USER_ENV_PLUGIN, "NCCL_ENV_PLUGIN",
                  "NCCL asks `%.100s` for each variable; a setting made here counts only if that "
                  "library passes it on",
                  plugin);
}
