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

/* One way of telling. */
struct row {
    const char *id;
    const char *when, *unless;       /* it counts where this is set, and that is not */
    const char *host, *rank, *ranks; /* "": only options tell it */
    const char *key[3];              /* joined; where the first is set */
    const char *local; /* `rank` and `ranks` count processes, of which each pod has so many */
    int (*find)(const struct search *s); /* instead of the three */
    const char *lacks; /* what else is needed where not all is told; NULL: the next row is asked */
};

static const char *get(const struct search *s, const char *name)
{
    const char *v = name ? ni_env_get(s->env, name) : NULL;

    return v && v[0] ? v : NULL;
}

static int refuse(const struct search *s, const char *name, const char *value, const char *what)
{
    ni_putf(s->why, "%s=", name);
    ni_put_quoted(s->why, value, strlen(value), 64);
    ni_putf(s->why, " %s", what);
    return -EINVAL;
}

/* What a variable tells, unless an option does (-1: not): 0. -ENOENT: it tells nothing. */
static int take(const struct search *s, const char *name, int given, unsigned *ret)
{
    const char *v = get(s, name);
    uint64_t n = (uint64_t)given;

    if (given < 0 && !v)
        return -ENOENT;
    if (given < 0 && ni_parse_u64(ni_span_of(v), INT32_MAX, &n) < 0)
        return refuse(s, name, v, "is not a number");
    *ret = (unsigned)n;
    return 0;
}

static int take_rank(const struct search *s, const char *name)
{
    return take(s, name, s->options->rank, &s->to->rank);
}

static int take_ranks(const struct search *s, const char *name)
{
    return take(s, name, s->options->ranks > 0 ? s->options->ranks : -1, &s->to->ranks);
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

/* Pod 0 of a list of names; its port only from --peers, for elsewhere it is another program's. */
static int take_first(const struct search *s, const char *name)
{
    const char *v = s->options->peers ? s->options->peers : get(s, name), *cursor = v;
    char buf[NI_MEET_PEERS];
    struct ni_text slurms = ni_text_on(buf, sizeof(buf));
    struct ni_span first;

    if (!v)
        return -ENOENT;
    if (s->options->peers)
        name = "--peers";
    (void)ni_split(&cursor, ',', &first);
    if (strcmp(name, "SLURM_STEP_NODELIST") == 0)
        first = first_of_hostlist(v, &slurms) ? ni_span_of(buf) : ni_span_of("");
    return take_host(s, first, s->options->peers) == 0 ? 0 : refuse(s, name, v, "names no host");
}

/* What is told of the three, all or nothing: -ENOENT if one is missing. */
static int take_three(const struct search *s, const char *host, const char *rank, const char *ranks)
{
    int r = take_rank(s, rank);

    if (r == 0)
        r = take_ranks(s, ranks);
    return r == 0 ? take_first(s, host) : r;
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
    return refuse(s, "PET_NNODES", v,
                  "is not one number of pods: with an elastic job nobody knows who will come; "
                  "--ranks=N says how many to wait for");
}

/* Of torchrun around it. Its own rank within c10d is another one: there this one only names pods
   (PyTorch elastic/rendezvous, dynamic rendezvous). */
static int by_pet(const struct search *s)
{
    const char *backend = get(s, "PET_RDZV_BACKEND");
    const bool elastic = backend && strcmp(backend, "static") != 0;
    int r = take_nnodes(s);

    if (r == 0)
        r = take_rank(s, "PET_NODE_RANK");
    if (r == -ENOENT)
        r = take_rank(s, "JOB_COMPLETION_INDEX");
    if (r == -ENOENT && s->to->ranks == 1)
        r = 0;
    if (r != 0)
        return r;
    r = take_first(s, elastic ? "PET_RDZV_ENDPOINT" : "PET_MASTER_ADDR");
    if (r == -ENOENT)
        r = take_first(s, elastic ? "PET_MASTER_ADDR" : "PET_RDZV_ENDPOINT");
    if (r == -ENOENT && s->to->ranks == 1)
        r = take_host(s, ni_span_of("localhost"), false);
    return r;
}

/* VC_<TASK>_HOSTS and _NUM of a job with one task; VC_TASK_INDEX counts within a task. */
static int by_volcano(const struct search *s)
{
    char hosts[NI_PATH] = "", num[NI_PATH];
    struct ni_span name;
    const char *value;
    unsigned tasks = 0;

    for (char *const *e = s->env->entry; *e; e++) {
        if (!ni_env_split(*e, &name, &value) || name.n < 9 || !ni_has_prefix(name.p, "VC_") ||
            memcmp(name.p + name.n - 6, "_HOSTS", 6) != 0)
            continue;
        tasks++;
        (void)ni_copyn(hosts, sizeof(hosts), name.p, name.n);
    }
    if (tasks != 1 || !ni_format(num, sizeof(num), "%.*s_NUM", (int)strlen(hosts) - 6, hosts))
        return -ENOENT;
    return take_three(s, hosts, "VC_TASK_INDEX", num);
}

static int by_options(const struct search *s)
{
    return s->options->peers && s->options->rank >= 0 && s->options->ranks > 0
               ? take_three(s, NULL, NULL, NULL)
               : -ENOENT;
}

static const struct row rows[] = {
    {.id = "peers", .find = by_options},
    /* in its workers: GROUP_* count agents, RANK and WORLD_SIZE workers (PyTorch
       elastic/agent/server/local_elastic_agent.py) */
    {.id = "torchrun",
     .when = "TORCHELASTIC_RUN_ID",
     .host = "MASTER_ADDR",
     .rank = "GROUP_RANK",
     .ranks = "GROUP_WORLD_SIZE",
     .key = {"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"}},
    {.id = "pet",
     .when = "PET_NNODES",
     .key = {"PET_RDZV_ID"},
     .find = by_pet,
     .lacks = "how many pods there are; but which one this is must tell PET_NODE_RANK or --rank=N "
              "(NCCLINIT_RANK, by the downward API from the label "
              "training.kubeflow.org/replica-index), and where pod 0 is PET_MASTER_ADDR, "
              "PET_RDZV_ENDPOINT or --peers=HOST"},
    {.id = "lws",
     .when = "LWS_GROUP_SIZE",
     .host = "LWS_LEADER_ADDRESS",
     .rank = "LWS_WORKER_INDEX",
     .ranks = "LWS_GROUP_SIZE"},
    /* a step, never the job around it: a batch script has the job's numbers, and is alone */
    {.id = "slurm",
     .when = "SLURM_STEP_ID",
     .host = "SLURM_STEP_NODELIST",
     .rank = "SLURM_NODEID",
     .ranks = "SLURM_STEP_NUM_NODES",
     .key = {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"}},
    {.id = "master", .host = "MASTER_ADDR", .rank = "NODE_RANK", .ranks = "NNODES"},
    {.id = "master", .host = "MASTER_ADDR", .rank = "GROUP_RANK", .ranks = "GROUP_WORLD_SIZE"},
    {.id = "master", .host = "MASTER_ADDR", .rank = "CROSS_RANK", .ranks = "CROSS_SIZE"},
    /* these count pods where no launcher of processes is about (PyTorchJob, Volcano's plugin) */
    {.id = "master",
     .unless = "LOCAL_RANK",
     .host = "MASTER_ADDR",
     .rank = "RANK",
     .ranks = "WORLD_SIZE"},
    {.id = "volcano",
     .when = "VC_TASK_INDEX",
     .find = by_volcano,
     .lacks = "the place within one task: with several tasks, or without the svc plugin's "
              "VC_<TASK>_HOSTS, --peers=HOST --rank=N --ranks=N must tell the rest"},
    {.id = "index",
     .when = "JOB_COMPLETION_INDEX",
     .rank = "JOB_COMPLETION_INDEX",
     .lacks = "which pod this is; --peers=<job>-0.<service> --ranks=N must tell the rest"},
    {.id = "mpi",
     .when = "OMPI_COMM_WORLD_RANK",
     .rank = "OMPI_COMM_WORLD_RANK",
     .ranks = "OMPI_COMM_WORLD_SIZE",
     .key = {"PMIX_NAMESPACE"},
     .local = "OMPI_COMM_WORLD_LOCAL_SIZE",
     .lacks = "no host: --peers=HOST of the first pod"},
    {.id = "mpi",
     .when = "PMI_RANK",
     .rank = "PMI_RANK",
     .ranks = "PMI_SIZE",
     .local = "MPI_LOCALNRANKS",
     .lacks = "no host: --peers=HOST of the first pod"},
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

/* From processes to pods, where each pod has as many, and their ranks follow each other. */
static int count_pods(const struct search *s, const char *name)
{
    struct ni_party *p = s->to;
    const bool own_rank = s->options->rank < 0, own_ranks = s->options->ranks <= 0;
    unsigned local = 1;

    if (take(s, name, -1, &local) == -EINVAL)
        return -EINVAL;
    if (local == 0 || (own_rank && p->rank % local) || (own_ranks && p->ranks % local)) {
        ni_putf(s->why,
                "%s=%u: process %u of %u is not the first of a pod of many alike: --rank=N "
                "--ranks=N",
                name, local, p->rank, p->ranks);
        return -EINVAL;
    }
    p->rank /= own_rank ? local : 1;
    p->ranks /= own_ranks ? local : 1;
    return 0;
}

/* 0, -ENOENT: not this way; -EINVAL after saying why. */
static int ask(const struct search *s, const struct row *row)
{
    int r;

    if ((row->when && !get(s, row->when)) || (row->unless && ni_env_get(s->env, row->unless)))
        return -ENOENT;
    r = row->find ? row->find(s) : take_three(s, row->host, row->rank, row->ranks);
    if (r == 0 && row->local)
        r = count_pods(s, row->local);
    if (r == -ENOENT && row->lacks) {
        ni_putf(s->why, "%s tells %s", row->when, row->lacks);
        return -EINVAL;
    }
    return r;
}

/* What all pods have alike, and the next attempt has not, if possible. */
static void make_key(const struct search *s, const struct row *row)
{
    struct ni_text t = ni_text_on(s->to->key, sizeof(s->to->key));
    const char *first = get(s, row->key[0]);

    if (s->options->job) {
        ni_put(&t, s->options->job);
    } else if (!first || (!row->key[1] && strcmp(first, "none") == 0)) {
        /* pod 0 may know itself by another name than the others do, as in older PyTorchJobs */
        if (s->to->rank > 0 ||
            (strcmp(s->to->host, "localhost") != 0 && !ni_has_prefix(s->to->host, "127.")))
            ni_put(&t, s->to->host);
    } else {
        for (size_t i = 0; i < NI_COUNT(row->key) && row->key[i]; i++) {
            const char *v = get(s, row->key[i]);

            ni_putf(&t, "%s%s", i > 0 ? "." : "", v ? v : "0");
        }
    }
    for (char *c = s->to->key; *c; c++) /* it is told to others */
        *c = *c < ' ' || *c > '~' ? '?' : *c;
}

int ni_find_party(const struct ni_env *env, const struct ni_party_options *options,
                  struct ni_party *ret, struct ni_text *why)
{
    const struct search s = {env, options, ret, why};
    const size_t said = why->len;

    for (size_t i = 0; i < NI_COUNT(rows); i++) {
        int r;

        *ret = (struct ni_party){.source = rows[i].id, .stand_aside = is_second(env)};
        r = ask(&s, &rows[i]);
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
        make_key(&s, &rows[i]);
        if (ret->rank < ret->ranks && ret->ranks <= NI_MAX_RANKS)
            return 0;
        ni_putf(why, "%s: rank %u of %u pods; ranks are 0 to one less than the number, at most %u",
                ret->source, ret->rank, ret->ranks, (unsigned)NI_MAX_RANKS - 1);
        return -EINVAL;
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
