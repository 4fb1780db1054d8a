/* SPDX-License-Identifier: Apache-2.0 */
/* What the pods of a job told, compared: each disagreement is one finding, which groups the pods by
   value and names the fewest first. */
#include <stdlib.h>
#include <string.h>

#include "job.h"

bool ni_is_here(const struct ni_job *job, unsigned rank)
{
    return job->pod[rank].here && job->missing[rank] == NI_POD_CAME;
}

const struct ni_rail *ni_rail_of(const struct ni_job *job, unsigned rank, unsigned rail)
{
    const struct ni_pod *pod = &job->pod[rank];
    return pod->here && rail < pod->n_rail ? &pod->rail[rail] : NULL;
}

void ni_put_numbers(struct ni_text *to, const char *one, ni_has_fn *has, const void *of, unsigned n)
{
    enum { MOST = 12 }; /* runs that a message has room for */
    unsigned runs = 0, total = 0, told = 0;
    for (unsigned i = 0; i < n; i++)
        total += has(of, i);
    ni_putf(to, "%s%s ", one, total == 1 ? "" : "s");
    for (unsigned i = 0; i < n && runs < MOST; i++) {
        unsigned last = i;
        if (!has(of, i))
            continue;
        while (last + 1 < n && has(of, last + 1))
            last++;
        ni_putf(to, "%s%u", runs++ ? ", " : "", i);
        if (last > i)
            ni_putf(to, last > i + 1 ? "-%u" : ", %u", last);
        told += last - i + 1;
        i = last;
    }
    if (told < total)
        ni_putf(to, " and %u more", total - told);
}

static bool has_bit(const void *of, unsigned i)
{
    return *(const uint32_t *)of >> i & 1;
}

void ni_put_rails(struct ni_text *to, uint32_t rails)
{
    ni_put_numbers(to, "rail", has_bit, &rails, NI_MAX_RAILS);
}

/* ---- a census: which values there are, and who has them ---- */

enum { GROUPS = 8, NAMED = 3, VALUE = 80, MESSAGE = 320 };

struct group {
    char value[VALUE];
    unsigned n, who[NAMED]; /* the first ones */
};

struct question {
    const struct ni_job *job;
    unsigned rail;
    const struct ni_job_setting *setting;
    const struct ni_rail *reference; /* of the subnet */
    size_t at;                       /* of a member of struct ni_pod */
};

/* Puts the pod's value; false: not known, and not compared. */
typedef bool answer_fn(const struct question *q, const struct ni_pod *pod, struct ni_text *t);

struct census {
    unsigned n, known, more; /* groups; pods that told; pods whose values had no room */
    struct group group[GROUPS];
};

static int fewest_first(const void *x, const void *y)
{
    const struct group *a = x, *b = y;
    const int order = (a->n > b->n) - (a->n < b->n);
    return order ? order : (a->who[0] < b->who[0]) - (a->who[0] > b->who[0]);
}

static void ask_all(const struct question *q, answer_fn *answer, struct census *c)
{
    *c = (struct census){.n = 0};
    for (unsigned p = 0; p < q->job->ranks; p++) {
        char value[VALUE];
        struct ni_text t = ni_text_on(value, sizeof(value));
        struct group *g = c->group;
        if (!q->job->pod[p].here || !answer(q, &q->job->pod[p], &t))
            continue;
        c->known++;
        while (g < c->group + c->n && strcmp(g->value, value) != 0)
            g++;
        if (g == c->group + GROUPS) {
            c->more++;
            continue;
        }
        if (g == c->group + c->n) {
            (void)ni_copy(g->value, sizeof(g->value), value);
            c->n++;
        }
        if (g->n < NAMED)
            g->who[g->n] = p;
        g->n++;
    }
    qsort(c->group, c->n, sizeof(c->group[0]), fewest_first);
}

static void put_who(struct ni_text *t, const struct ni_job *job, const struct group *g, bool last)
{
    if (last && g->n > 1) {
        ni_putf(t, "%u others", g->n);
        return;
    }
    const unsigned named = g->n <= NAMED ? g->n : NAMED - 1;
    for (unsigned i = 0; i < named; i++) {
        ni_put(t, i ? ", " : "");
        ni_put_pod(t, job, g->who[i]);
    }
    if (named < g->n)
        ni_putf(t, " and %u more", g->n - named);
}

/* "MTU 1500 on trainer-17 (node-b3), 9000 on 127 others"; "" where all agree. */
static void put_groups(const struct ni_job *job, const struct census *c, const char *what,
                       struct ni_text *t)
{
    enum { TOLD = 3 }; /* values that a message has room for */
    for (unsigned i = 0; c->n > 1 && i < c->n; i++) {
        if (c->n > TOLD && i >= TOLD - 1 && i + 1 < c->n)
            continue;
        if (c->n > TOLD && i + 1 == c->n)
            ni_putf(t, ", %u other values", c->n - TOLD + (c->more > 0));
        ni_putf(t, "%s%s on ", i ? ", " : what, c->group[i].value);
        put_who(t, job, &c->group[i], i + 1 == c->n);
    }
}

/* ---- what a pod has ---- */

static bool transport(const struct question *q, const struct ni_pod *pod, struct ni_text *t)
{
    static const char *const text[] = {[NI_NET_OFF] = "undecided (--mode=off)",
                                       [NI_NET_RDMA] = "RDMA",
                                       [NI_NET_TCP] = "sockets",
                                       [NI_NET_OTHER] = "another plugin"};
    (void)q;
    ni_put(t, text[pod->transport]);
    return true;
}

/* One of its numbers; rails are told where it has any use for them. */
static bool number(const struct question *q, const struct ni_pod *pod, struct ni_text *t)
{
    ni_putf(t, "%u", *(const unsigned *)(const void *)((const char *)pod + q->at));
    return q->at != offsetof(struct ni_pod, n_rail) || pod->transport == NI_NET_RDMA;
}

/* One of its texts, where it is known. */
static bool text(const struct question *q, const struct ni_pod *pod, struct ni_text *t)
{
    const char *s = (const char *)pod + q->at;
    ni_put(t, s);
    return s[0] != '\0';
}

static const char *setting_of(const struct ni_pod *pod, const struct ni_job_setting *row)
{
    for (unsigned i = 0; i < pod->n_setting; i++) {
        if (strcmp(pod->setting[i].name, row->name) == 0)
            return pod->setting[i].value;
    }
    return NULL;
}

static bool setting(const struct question *q, const struct ni_pod *pod, struct ni_text *t)
{
    const char *value = setting_of(pod, q->setting);
    ni_put(t, value ? value : "unset");
    if (!value && q->setting->otherwise[0])
        ni_putf(t, " (which is %s)", q->setting->otherwise);
    return true;
}

/* ---- what a rail has ---- */

static const struct ni_rail *rail_of(const struct question *q, const struct ni_pod *pod)
{
    return q->rail < pod->n_rail ? &pod->rail[q->rail] : NULL;
}

static bool link_layer(const struct question *q, const struct ni_pod *pod, struct ni_text *t)
{
    const struct ni_rail *r = rail_of(q, pod);
    ni_put(t, r && r->link == NI_LINK_IB ? "InfiniBand" : "RoCE");
    return r && r->link != NI_LINK_UNKNOWN;
}

static bool gid_kind(const struct question *q, const struct ni_pod *pod, struct ni_text *t)
{
    const struct ni_rail *r = rail_of(q, pod);
    if (!r || r->link != NI_LINK_ROCE || ni_ip_is_zero(r->gid))
        return false;
    ni_putf(t, "RoCE %s %s", r->v2 ? "v2" : "v1", ni_ip_is_v4(r->gid) ? "IPv4" : "IPv6");
    return true;
}

static bool mtu(const struct question *q, const struct ni_pod *pod, struct ni_text *t)
{
    const struct ni_rail *r = rail_of(q, pod);
    ni_putf(t, "%lld", r ? (long long)r->netdev_mtu.v : 0);
    return r && r->netdev_mtu.known == NI_KNOWN;
}

/* Where it says more: InfiniBand has no interface. */
static bool path_mtu(const struct question *q, const struct ni_pod *pod, struct ni_text *t)
{
    const struct ni_rail *r = rail_of(q, pod);
    ni_putf(t, "%u", r ? r->path_mtu : 0);
    return r && r->asked && r->path_mtu > 0 && r->netdev_mtu.known != NI_KNOWN;
}

static bool rate(const struct question *q, const struct ni_pod *pod, struct ni_text *t)
{
    const struct ni_rail *r = rail_of(q, pod);
    if (!r || r->mbps.known != NI_KNOWN)
        return false;
    ni_putf(t, "%lld", (long long)r->mbps.v / 1000);
    if (r->mbps.v % 1000)
        ni_putf(t, ".%lld", (long long)r->mbps.v % 1000 / 100);
    ni_put(t, " Gb/s");
    return true;
}

/* The highest bit tells full members from limited ones (IBTA 10.9.1). */
static bool partition(const struct question *q, const struct ni_pod *pod, struct ni_text *t)
{
    const struct ni_rail *r = rail_of(q, pod);
    ni_putf(t, "0x%04x", r ? r->pkey & 0x7fffU : 0);
    return r && r->asked && r->pkey != 0;
}

static bool firmware(const struct question *q, const struct ni_pod *pod, struct ni_text *t)
{
    const struct ni_rail *r = rail_of(q, pod);
    ni_put(t, r ? r->firmware : "");
    return t->len > 0;
}

/* ---- subnets ---- */

bool ni_leads_to(const struct ni_rail *from, const struct ni_rail *to)
{
    for (unsigned i = 0; i < from->n_subnet; i++) {
        if (ni_ip_same_prefix(from->subnet[i].ip, to->gid, from->subnet[i].bits))
            return true;
    }
    return false;
}

static bool put_subnet(struct ni_text *t, const struct ni_rail *r)
{
    char ip[NI_IP_TEXT];
    if (!r || r->n_subnet == 0)
        return false;
    const bool v4 = ni_ip_is_v4(r->subnet[0].ip);
    ni_putf(t, "%s/%d", ni_ip_text(r->subnet[0].ip, ip), r->subnet[0].bits - (v4 ? 96 : 0));
    return true;
}

static bool own_subnet(const struct question *q, const struct ni_pod *pod, struct ni_text *t)
{
    return put_subnet(t, rail_of(q, pod));
}

/* That of most, if routes lead there and back. */
static bool reached_subnet(const struct question *q, const struct ni_pod *pod, struct ni_text *t)
{
    const struct ni_rail *r = rail_of(q, pod);
    if (!r || r->n_subnet == 0 || ni_ip_is_v4(r->gid) != ni_ip_is_v4(q->reference->gid))
        return false; /* of another family: that is told of the GIDs */
    return put_subnet(t, ni_leads_to(r, q->reference) && ni_leads_to(q->reference, r) ? q->reference
                                                                                      : r);
}

/* Without a subnet that most are in, each has its own: such fabrics are routed, by tables that
   cannot be read here. */
static void compare_subnets(struct question *q, struct census *c)
{
    ask_all(q, own_subnet, c);
    if (c->n < 2)
        return;
    const struct group *most = &c->group[c->n - 1];
    q->reference = ni_rail_of(q->job, most->who[0], q->rail);
    if (c->known > 2 && most->n * 2 <= c->known)
        c->n = 0;
    else
        ask_all(q, reached_subnet, c);
}

/* ---- all of them ---- */

static void compare_pods(const struct ni_job *job, struct ni_findings *f)
{
    static const struct {
        enum ni_finding_id id;
        const char *subject;
        answer_fn *answer;
        size_t at;
    } rows[] = {
        {NI_F_JOB_TRANSPORT_DIFFERS, "network", transport, 0},
        {NI_F_JOB_RAILS_DIFFER, "rails", number, offsetof(struct ni_pod, n_rail)},
        {NI_F_JOB_GPUS_DIFFER, "GPUs", number, offsetof(struct ni_pod, n_gpu)},
        {NI_F_JOB_DRIVER_DIFFERS, "GPU driver", text, offsetof(struct ni_pod, gpu_driver)},
        {NI_F_JOB_CPU_DIFFERS, "CPU", text, offsetof(struct ni_pod, cpu)},
        {NI_F_JOB_VERSIONS_DIFFER, "nccl-init", text, offsetof(struct ni_pod, version)},
        {NI_F_JOB_VERSIONS_DIFFER, "kernel", text, offsetof(struct ni_pod, kernel)},
    };
    for (size_t i = 0; i < NI_COUNT(rows); i++) {
        const struct question q = {.job = job, .at = rows[i].at};
        char message[MESSAGE];
        struct ni_text t = ni_text_on(message, sizeof(message));
        struct census c;
        ask_all(&q, rows[i].answer, &c);
        put_groups(job, &c, "", &t);
        if (t.len > 0)
            ni_report(f, rows[i].id, rows[i].subject, "%s", message);
    }
}

/* One finding for all rails that differ alike. */
static void compare_rails(const struct ni_job *job, struct ni_findings *f)
{
    static const struct {
        enum ni_finding_id id;
        const char *what;
        answer_fn *answer; /* NULL: subnets */
    } rows[] = {
        {NI_F_JOB_LINK_DIFFERS, "", link_layer},
        {NI_F_JOB_GID_DIFFERS, "", gid_kind},
        {NI_F_JOB_SUBNET_DIFFERS, "", NULL},
        {NI_F_JOB_MTU_DIFFERS, "MTU ", mtu},
        {NI_F_JOB_MTU_DIFFERS, "path MTU ", path_mtu},
        {NI_F_JOB_RATE_DIFFERS, "", rate},
        {NI_F_JOB_PKEY_DIFFERS, "P_Key ", partition},
        {NI_F_JOB_VERSIONS_DIFFER, "firmware ", firmware},
    };
    for (size_t i = 0; i < NI_COUNT(rows); i++) {
        char message[NI_MAX_RAILS][MESSAGE], subject[96];
        for (unsigned r = 0; r < job->n_rail; r++) {
            struct question q = {.job = job, .rail = r};
            struct ni_text t = ni_text_on(message[r], sizeof(message[r]));
            struct census c;
            if (rows[i].answer)
                ask_all(&q, rows[i].answer, &c);
            else
                compare_subnets(&q, &c);
            put_groups(job, &c, rows[i].what, &t);
        }
        for (unsigned r = 0; r < job->n_rail; r++) {
            struct ni_text s = ni_text_on(subject, sizeof(subject));
            uint32_t alike = 0;
            if (!message[r][0])
                continue;
            for (unsigned k = job->n_rail; k-- > r;) {
                if (strcmp(message[k], message[r]) == 0)
                    alike |= 1U << k;
            }
            ni_put_rails(&s, alike);
            ni_report(f, rows[i].id, subject, "%s", message[r]);
            for (unsigned k = r + 1; k < job->n_rail; k++) {
                if (alike >> k & 1)
                    message[k][0] = '\0';
            }
        }
    }
}

static void compare_settings(const struct ni_job *job, struct ni_findings *f)
{
    for (unsigned i = 0; i < NI_N_JOB_SETTING; i++) {
        const struct question q = {.job = job, .setting = &ni_job_settings[i]};
        char message[MESSAGE];
        struct ni_text t = ni_text_on(message, sizeof(message));
        struct census c;
        if (q.setting->id == NI_F_JOB_HOSTID_SAME)
            continue;
        ask_all(&q, setting, &c);
        put_groups(job, &c, "", &t);
        if (t.len > 0)
            ni_report(f, q.setting->id, q.setting->name, "%s", message);
    }
}

static const char *hostid_of(const struct ni_pod *pod)
{
    return setting_of(pod, ni_find_job_setting("NCCL_HOSTID"));
}

/* Of each two pods: the node they share, and NCCL_HOSTID, which only such pods may share. Each is
   looked for among those before it: beyond so many pods that takes too long. */
static void compare_hosts(const struct ni_job *job, struct ni_findings *f)
{
    enum { MOST = 4096 };
    const char *shared = NULL;
    bool told = false;
    for (unsigned p = 1; job->ranks <= MOST && p < job->ranks; p++) {
        const struct ni_pod *a = &job->pod[p];
        const char *id = a->here ? hostid_of(a) : NULL;
        for (unsigned k = 0; a->here && k < p; k++) {
            const struct ni_pod *b = &job->pod[k];
            const bool same = b->here && a->node[0] && strcmp(a->node, b->node) == 0;
            char message[MESSAGE];
            struct ni_text t = ni_text_on(message, sizeof(message));
            shared = same && !shared ? a->node : shared;
            if (!id || same || told || !b->here || !hostid_of(b) || strcmp(id, hostid_of(b)) != 0)
                continue;
            ni_putf(&t, "%s on ", id);
            ni_put_pod(&t, job, k);
            ni_put(&t, " and ");
            ni_put_pod(&t, job, p);
            ni_report(f, NI_F_JOB_HOSTID_SAME, "NCCL_HOSTID", "%s", message);
            told = true; /* the first two are enough to look for it */
        }
    }
    if (shared)
        ni_report(f, NI_F_JOB_NODE_SHARED, shared, "has more than one pod of the job");
}

static bool never_came(const void *of, unsigned i)
{
    return ((const struct ni_job *)of)->missing[i] == NI_POD_NEVER_CAME;
}

static void note_missing(const struct ni_job *job, struct ni_findings *f)
{
    char message[MESSAGE];
    struct ni_text t = ni_text_on(message, sizeof(message));
    unsigned n = 0;
    for (unsigned p = 0; p < job->ranks; p++)
        n += never_came(job, p);
    if (n == 0)
        return;
    ni_putf(&t, "%u of %u pods never came: ", n, job->ranks);
    ni_put_numbers(&t, "rank", never_came, job, job->ranks);
    ni_report(f, NI_F_JOB_MISSING, "", "%s", message);
}

/* No rail anywhere, and nobody chose another network. */
static void note_no_rdma(const struct ni_job *job, const struct ni_policy *policy,
                         struct ni_findings *f)
{
    for (unsigned p = 0; p < job->ranks; p++) {
        const struct ni_pod *pod = &job->pod[p];
        if (pod->here && (pod->n_rail > 0 || pod->transport == NI_NET_OTHER))
            return;
    }
    if (policy->require & NI_REQUIRE_RDMA)
        ni_report(f, NI_F_REQUIRE_RDMA, "--require", "no pod of the job has a rail");
    else
        ni_report(f, NI_F_JOB_RDMA_NONE, "", "no pod has a rail");
}

void ni_compare_pods(const struct ni_job *job, const struct ni_policy *policy,
                     struct ni_findings *f)
{
    note_missing(job, f);
    note_no_rdma(job, policy, f);
    compare_pods(job, f);
    compare_rails(job, f);
    compare_settings(job, f);
    compare_hosts(job, f);
    if (job->ranks == 1)
        ni_report(f, NI_F_JOB_ALONE, "", "the job has one pod: no pair to try");
}
