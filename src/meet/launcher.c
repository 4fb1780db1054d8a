/* SPDX-License-Identifier: Apache-2.0 */
/* Who takes part: what launchers tell their pods. One row for each way of telling; the first that
   tells decides. */
#include <errno.h>
#include <string.h>

#include "nccl_init/meet.h"

/* What is being found, of one invocation. */
struct search {
    const struct ni_env *env;
    const struct ni_party_options *options;
    struct ni_party *to;
    struct ni_text *why;
};

static const char *get(const struct search *s, const char *name)
{
    const char *v = ni_env_get(s->env, name);

    return v && v[0] ? v : NULL;
}

/* A member of the party that a variable tells, unless an option does: 0. -ENOENT: it tells nothing;
   -EINVAL: it is no such number. */
static int take(const struct search *s, const char *name, int given, unsigned max, unsigned *ret)
{
    const char *v = get(s, name);
    uint64_t n;

    if (given >= 0) {
        *ret = (unsigned)given;
        return 0;
    }
    if (!v)
        return -ENOENT;
    if (ni_parse_u64(ni_span_of(v), max, &n) == 0) {
        *ret = (unsigned)n;
        return 0;
    }
    ni_putf(s->why, "%s=", name);
    ni_put_quoted(s->why, v, strlen(v), 64);
    ni_putf(s->why, " is not a number up to %u", max);
    return -EINVAL;
}

static int take_rank(const struct search *s, const char *name)
{
    return take(s, name, s->options->rank, NI_MAX_RANKS, &s->to->rank);
}

static int take_ranks(const struct search *s, const char *name)
{
    return take(s, name, s->options->ranks > 0 ? s->options->ranks : -1, NI_MAX_RANKS,
                &s->to->ranks);
}

/* HOST, HOST:PORT, [V6]:PORT, V6. */
static int take_host(const struct search *s, struct ni_span v, bool with_port)
{
    struct ni_span host = ni_trim(v), port = {NULL, 0};
    const char *end = host.p + host.n, *colon = memchr(host.p, ':', host.n);
    uint64_t n;

    if (host.n > 0 && host.p[0] == '[') {
        const char *close = memchr(host.p, ']', host.n);

        if (!close || (close + 1 < end && close[1] != ':'))
            return -EINVAL;
        if (close + 1 < end)
            port = (struct ni_span){close + 2, (size_t)(end - close - 2)};
        host = (struct ni_span){host.p + 1, (size_t)(close - host.p - 1)};
    } else if (colon && !memchr(colon + 1, ':', (size_t)(end - colon - 1))) {
        port = (struct ni_span){colon + 1, (size_t)(end - colon - 1)};
        host.n = (size_t)(colon - host.p);
    }
    if (port.p && (ni_parse_u64(port, UINT16_MAX, &n) < 0 || n == 0))
        return -EINVAL;
    if (port.p && with_port)
        s->to->port = (unsigned)n;
    for (size_t i = 0; i < host.n; i++) {
        if (host.p[i] <= ' ' || host.p[i] > '~')
            return -EINVAL;
    }
    return host.n > 0 && ni_copyn(s->to->host, sizeof(s->to->host), host.p, host.n) ? 0 : -EINVAL;
}

/* Pod 0 of a list of names; its port only from --peers, for elsewhere it is another program's. */
static int take_first(const struct search *s, const char *name)
{
    const char *v = s->options->peers ? s->options->peers : get(s, name);
    struct ni_span first;

    if (!v)
        return -ENOENT;
    (void)ni_split(&v, ',', &first);
    if (take_host(s, first, s->options->peers) == 0)
        return 0;
    ni_putf(s->why, "%s names no host: ", s->options->peers ? "--peers" : name);
    ni_put_quoted(s->why, first.p, first.n, 64);
    return -EINVAL;
}

/* What is told of the three, all or nothing: -ENOENT if one is missing. */
static int take_three(const struct search *s, const char *host, const char *rank, const char *ranks)
{
    int r = take_rank(s, rank);

    if (r == 0)
        r = take_ranks(s, ranks);
    return r == 0 ? take_first(s, host) : r;
}

/* -ENOENT of a launcher that is certainly there becomes a refusal. */
static int lacks(const struct search *s, int r, const char *who, const char *what)
{
    if (r != -ENOENT)
        return r;
    ni_putf(s->why, "%s tells %s", who, what);
    return -EINVAL;
}

static void put_key(const struct search *s, const char *what)
{
    struct ni_text t = ni_text_on(s->to->key, sizeof(s->to->key));

    ni_put(&t, what);
}

/* ---- the rows ---- */

static int by_options(const struct search *s)
{
    return s->options->peers && s->options->rank >= 0 && s->options->ranks > 0
               ? take_three(s, "", "", "")
               : -ENOENT;
}

/* In a worker that torchrun started: GROUP_* count agents, RANK and WORLD_SIZE workers (PyTorch
   elastic/agent/server/local_elastic_agent.py). */
static int by_torchrun(const struct search *s)
{
    const char *id = get(s, "TORCHELASTIC_RUN_ID"), *count = get(s, "TORCHELASTIC_RESTART_COUNT");

    if (!id)
        return -ENOENT;
    (void)ni_format(s->to->key, sizeof(s->to->key), "%.100s.%.16s", id, count ? count : "0");
    return take_three(s, "MASTER_ADDR", "GROUP_RANK", "GROUP_WORLD_SIZE");
}

/* PET_NNODES is N or MIN:MAX; Kubeflow writes 4:4 for a fixed number (training-operator 1.9
   pytorch/elastic.go). */
static int take_nnodes(const struct search *s)
{
    const char *v = get(s, "PET_NNODES"), *cursor = v;
    struct ni_span min, max;
    uint64_t n;

    if (s->options->ranks > 0)
        return take_ranks(s, "");
    (void)ni_split(&cursor, ':', &min);
    max = cursor ? ni_span_of(cursor) : min;
    if (ni_parse_u64(max, NI_MAX_RANKS, &n) == 0 && max.n == min.n &&
        memcmp(max.p, min.p, max.n) == 0) {
        s->to->ranks = (unsigned)n;
        return 0;
    }
    ni_put(s->why, "PET_NNODES=");
    ni_put_quoted(s->why, v, strlen(v), 64);
    ni_put(s->why, " is not one number of pods: with an elastic job nobody knows who will come; "
                   "--ranks=N says how many to wait for");
    return -EINVAL;
}

/* Of torchrun around it. Its own rank within c10d is another one: there this one only names pods
   (PyTorch elastic/rendezvous, dynamic rendezvous). */
static int by_pet(const struct search *s)
{
    const char *id = get(s, "PET_RDZV_ID"), *backend = get(s, "PET_RDZV_BACKEND");
    const bool elastic = backend && strcmp(backend, "static") != 0;
    int r;

    if (!get(s, "PET_NNODES"))
        return -ENOENT;
    if (id && strcmp(id, "none") != 0)
        put_key(s, id);
    r = take_nnodes(s);
    if (r == 0)
        r = take_rank(s, "PET_NODE_RANK");
    if (r == -ENOENT)
        r = take_rank(s, "JOB_COMPLETION_INDEX");
    if (r == -ENOENT && s->to->ranks == 1)
        r = 0;
    r = lacks(s, r, "PET_NNODES",
              "how many pods there are, but no PET_NODE_RANK which one this is: "
              "--rank=N (NCCLINIT_RANK by the downward API, from the label "
              "training.kubeflow.org/replica-index)");
    if (r == 0)
        r = take_first(s, elastic ? "PET_RDZV_ENDPOINT" : "PET_MASTER_ADDR");
    if (r == -ENOENT)
        r = take_first(s, elastic ? "PET_MASTER_ADDR" : "PET_RDZV_ENDPOINT");
    if (r == -ENOENT && s->to->ranks == 1)
        return take_host(s, ni_span_of("localhost"), false);
    return lacks(s, r, "PET_NNODES",
                 "how many pods there are, but neither PET_MASTER_ADDR nor "
                 "PET_RDZV_ENDPOINT where pod 0 is: --peers=HOST");
}

static int by_lws(const struct search *s)
{
    return take_three(s, "LWS_LEADER_ADDRESS", "LWS_WORKER_INDEX", "LWS_GROUP_SIZE");
}

/* RANK and WORLD_SIZE count pods where no launcher of processes is about (PyTorchJob, Volcano's
   pytorch plugin); beside LOCAL_RANK they count processes. */
static int by_master(const struct search *s)
{
    static const char *const names[][2] = {{"NODE_RANK", "NNODES"},
                                           {"GROUP_RANK", "GROUP_WORLD_SIZE"},
                                           {"CROSS_RANK", "CROSS_SIZE"},
                                           {"RANK", "WORLD_SIZE"}};

    if (!get(s, "MASTER_ADDR"))
        return -ENOENT;
    for (size_t i = 0; i < NI_COUNT(names) - (ni_env_get(s->env, "LOCAL_RANK") ? 1 : 0); i++) {
        int r = take_three(s, "MASTER_ADDR", names[i][0], names[i][1]);

        if (r != -ENOENT)
            return r;
    }
    return -ENOENT;
}

/* The first name of a list of hosts, `trainer[08-11,20]-x,other` (Slurm src/common/hostlist.c): of
   each bracket the lower bound of the first range. */
static bool first_of_hostlist(const char *list, struct ni_text *ret)
{
    enum { MOST = 65536 }; /* MAX_RANGE */

    for (list += strspn(list, ", \t\n"); *list && !strchr(", \t\n", *list);) {
        size_t n = strcspn(list, "[, \t\n");
        uint64_t lo, hi;

        ni_putn(ret, list, n);
        list += n;
        if (*list != '[')
            continue;
        n = strspn(++list, "0123456789");
        if (ni_parse_u64((struct ni_span){list, n}, INT64_MAX, &lo) < 0)
            return false;
        ni_putn(ret, list, n);
        list += n;
        if (*list == '-') {
            n = strspn(++list, "0123456789");
            if (ni_parse_u64((struct ni_span){list, n}, INT64_MAX, &hi) < 0 || hi < lo ||
                hi - lo >= MOST)
                return false;
            list += n;
        }
        n = strspn(list, "0123456789-,");
        if (list[n] != ']' || (n > 0 && *list != ','))
            return false;
        list += n + 1;
    }
    return ret->len > 0 && !ret->cut && !strchr(ret->buf, ']');
}

/* A step, never the job around it: a batch script has the job's numbers, and is alone. */
static int by_slurm(const struct search *s)
{
    const char *job = get(s, "SLURM_JOB_ID"), *step = get(s, "SLURM_STEP_ID");
    const char *list = get(s, "SLURM_STEP_NODELIST"), *restarts = get(s, "SLURM_RESTART_COUNT");
    char buf[NI_MEET_PEERS];
    struct ni_text first = ni_text_on(buf, sizeof(buf));
    int r;

    if (!step || !list)
        return -ENOENT;
    (void)ni_format(s->to->key, sizeof(s->to->key), "%.40s.%.40s.%.20s", job ? job : "", step,
                    restarts ? restarts : "0");
    r = take_rank(s, "SLURM_NODEID");
    if (r == 0)
        r = take_ranks(s, "SLURM_STEP_NUM_NODES");
    if (r != 0 || s->options->peers)
        return r != 0 ? r : take_first(s, "");
    if (first_of_hostlist(list, &first) && take_host(s, ni_span_of(buf), false) == 0)
        return 0;
    ni_put(s->why, "SLURM_STEP_NODELIST cannot be read: ");
    ni_put_quoted(s->why, list, strlen(list), 64);
    return -EINVAL;
}

/* VC_<TASK>_HOSTS and _NUM of a job with one task; VC_TASK_INDEX counts within a task. */
static int by_volcano(const struct search *s)
{
    char hosts[NI_PATH] = "", num[NI_PATH];
    struct ni_span name;
    const char *value;
    unsigned tasks = 0;

    if (!get(s, "VC_TASK_INDEX"))
        return -ENOENT;
    for (char *const *e = s->env->entry; *e; e++) {
        if (!ni_env_split(*e, &name, &value) || name.n < 9 || !ni_has_prefix(name.p, "VC_") ||
            memcmp(name.p + name.n - 6, "_HOSTS", 6) != 0)
            continue;
        tasks++;
        (void)ni_copyn(hosts, sizeof(hosts), name.p, name.n);
    }
    if (tasks == 1 && ni_format(num, sizeof(num), "%.*s_NUM", (int)strlen(hosts) - 6, hosts))
        return take_three(s, hosts, "VC_TASK_INDEX", num);
    return lacks(s, by_options(s), "Volcano",
                 tasks == 0 ? "VC_TASK_INDEX but no VC_<TASK>_HOSTS: the job needs the svc plugin"
                            : "of several tasks, and VC_TASK_INDEX counts within one: --peers=HOST "
                              "--rank=N --ranks=N");
}

static int by_index(const struct search *s)
{
    if (!get(s, "JOB_COMPLETION_INDEX"))
        return -ENOENT;
    return lacks(s, take_three(s, "", "JOB_COMPLETION_INDEX", ""), "JOB_COMPLETION_INDEX",
                 "which pod this is, but nothing who pod 0 is and how many there are: "
                 "--peers=<job>-0.<service> --ranks=N");
}

/* mpirun counts processes. Where each pod has as many, and its ranks follow each other, the pod's
   number is the quotient. */
static int by_mpi(const struct search *s)
{
    static const char *const names[][3] = {
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
        {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"},
    };
    const char *space = get(s, "PMIX_NAMESPACE");

    if (space)
        put_key(s, space);
    for (size_t i = 0; i < NI_COUNT(names); i++) {
        unsigned rank, ranks, local = 1;
        int r = take(s, names[i][0], -1, INT32_MAX, &rank);

        if (r == 0)
            r = take(s, names[i][1], -1, INT32_MAX, &ranks);
        if (r == 0 && get(s, names[i][2]))
            r = take(s, names[i][2], -1, INT32_MAX, &local);
        if (r == -ENOENT)
            continue;
        if (r == 0 && s->options->rank < 0 && (local == 0 || ranks % local || rank % local)) {
            ni_putf(s->why,
                    "%s=%u of %u processes, %u of them here, is not the first of a pod of "
                    "many alike: --rank=N --ranks=N",
                    names[i][0], rank, ranks, local);
            r = -EINVAL;
        }
        if (r == 0) {
            s->to->rank = s->options->rank >= 0 ? (unsigned)s->options->rank : rank / local;
            s->to->ranks = s->options->ranks > 0 ? (unsigned)s->options->ranks : ranks / local;
            r = take_first(s, "");
        }
        return lacks(s, r, names[i][0], "no host: --peers=HOST of the first pod");
    }
    return -ENOENT;
}

static const struct {
    const char *id;
    int (*find)(const struct search *s);
} rows[] = {
    {"peers", by_options},   {"torchrun", by_torchrun}, {"pet", by_pet},
    {"lws", by_lws},         {"slurm", by_slurm},       {"master", by_master},
    {"volcano", by_volcano}, {"index", by_index},       {"mpi", by_mpi},
};

/* Launchers that tell less than is needed. */
static const struct {
    const char *variable, *why;
} silent[] = {
    {"KUBERAY_GEN_RAY_START_CMD", "KubeRay tells pods neither rank nor number"},
    {"RAY_ADDRESS", "Ray tells pods neither rank nor number"},
    {"PMIX_RANK", "PMIx tells the rank of a process, not of a pod"},
    {"K_MPI_JOB_ROLE", "the MPI operator tells its pods nothing; mpirun tells what it starts"},
    {"DLROVER_MASTER_ADDR", "DLRover's master is not pod 0"},
    {"SLURM_JOB_ID", "a batch script runs on one node only: srun nccl-init ..."},
    {"MASTER_ADDR", "MASTER_ADDR alone tells neither rank nor number: NODE_RANK and NNODES"},
};

/* One process of a pod acts: the first of these that is set is that process's number. */
static bool is_second(const struct ni_env *env)
{
    static const char *const names[] = {
        "LOCAL_RANK",      "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID",
        "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK",  "PALS_LOCAL_RANKID",
    };

    for (size_t i = 0; i < NI_COUNT(names); i++) {
        const char *v = ni_env_get(env, names[i]);

        if (v && v[0])
            return strcmp(v, "0") != 0;
    }
    return false;
}

static int check(const struct search *s)
{
    const struct ni_party *p = s->to;

    if (p->ranks > 0 && p->ranks <= NI_MAX_RANKS && p->rank < p->ranks)
        return 0;
    ni_putf(s->why,
            "source `%s`: rank %u of %u pods; ranks are 0 to one less than the number, at "
            "most %u",
            p->source, p->rank, p->ranks, (unsigned)NI_MAX_RANKS - 1);
    return -EINVAL;
}

int ni_find_party(const struct ni_env *env, const struct ni_party_options *options,
                  struct ni_party *ret, struct ni_text *why)
{
    const struct search s = {env, options, ret, why};
    const size_t said = why->len;

    for (size_t i = 0; i < NI_COUNT(rows); i++) {
        int r;

        *ret = (struct ni_party){.source = rows[i].id, .stand_aside = is_second(env)};
        r = rows[i].find(&s);
        if (r == -ENOENT)
            continue;
        if (ret->stand_aside) { /* whatever else is told */
            why->len = said;
            why->buf[said] = '\0';
            return 0;
        }
        if (r != 0)
            return r;
        if (ret->port == 0)
            ret->port = options->port ? options->port : NI_MEET_PORT;
        if (options->job)
            put_key(&s, options->job);
        else if (ret->key[0] == '\0')
            put_key(&s, ret->host);
        for (char *c = ret->key; *c; c++) /* it is told to others */
            *c = *c < ' ' || *c > '~' ? '?' : *c;
        return check(&s);
    }
    ni_put(why, "nothing tells who takes part");
    for (size_t i = 0; i < NI_COUNT(silent); i++) {
        if (get(&s, silent[i].variable)) {
            ni_putf(why, ": %s", silent[i].why);
            break;
        }
    }
    ni_put(why, ". Give --peers=HOST --rank=N --ranks=N, or what launchers set: PET_NNODES with "
                "PET_NODE_RANK and PET_MASTER_ADDR, LWS_LEADER_ADDRESS, MASTER_ADDR with NODE_RANK "
                "and NNODES, or a Slurm step's");
    return -ENOENT;
}
