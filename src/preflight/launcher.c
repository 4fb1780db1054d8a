/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's variables: number of pods, this pod's number, the address of pod 0, the job's
   key. One row for each launcher; the first that fits decides. */
#include "preflight/launcher.h"

#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"
#include "preflight/hosts.h"
#include "preflight/job.h"

/* The variables of one launcher. */
static const struct row {
    const char *id;
    /* if this is set it is this launcher, which must give all; NULL: nothing marks it */
    const char *when;
    const char *host, *or_host, *rank, *or_rank, *ranks;
    const char *unless; /* if this is set the row does not count */
    bool lists;         /* `host` is a list of all nodes, in the order of the ranks */
    const char *local;  /* `rank` and `ranks` count processes, of which each pod has so many */
    const char *key[3]; /* the job's id and its attempt; those that are set are joined */
} rows[] = {
    {.id = "peers"}, /* the options alone */
    /* inside workers: GROUP_* count agents, RANK and WORLD_SIZE workers (PyTorch
       elastic/agent/server/local_elastic_agent.py) */
    {"torchrun", .host = "MASTER_ADDR", .rank = "GROUP_RANK", .ranks = "GROUP_WORLD_SIZE",
     .key = {"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"}},
    /* around torchrun. Within c10d it has another rank; this one only names pods (PyTorch
       elastic/rendezvous, dynamic rendezvous) */
    {"pet", .when = "PET_NNODES", .host = "PET_RDZV_ENDPOINT", .or_host = "PET_MASTER_ADDR",
     .rank = "PET_NODE_RANK", .or_rank = "JOB_COMPLETION_INDEX", .ranks = "PET_NNODES",
     .key = {"PET_RDZV_ID"}},
    {"lws", .when = "LWS_GROUP_SIZE", .host = "LWS_LEADER_ADDRESS", .rank = "LWS_WORKER_INDEX",
     .ranks = "LWS_GROUP_SIZE"},
    /* a step only: a batch script has the job's numbers, and is alone */
    {"slurm", .when = "SLURM_STEP_ID", .host = "SLURM_STEP_NODELIST", .rank = "SLURM_NODEID",
     .ranks = "SLURM_STEP_NUM_NODES", .lists = true,
     .key = {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"}},
    /* of one string: the nodes' addresses, the head's first (SkyPilot docs, Distributed Multi-Node
       Jobs) */
    {"skypilot", .when = "SKYPILOT_NUM_NODES", .host = "SKYPILOT_NODE_IPS",
     .rank = "SKYPILOT_NODE_RANK", .ranks = "SKYPILOT_NUM_NODES", .lists = true,
     .key = {"SKYPILOT_TASK_ID"}},
    {"master", .host = "MASTER_ADDR", .rank = "NODE_RANK", .ranks = "NNODES"},
    {"master", .host = "MASTER_ADDR", .rank = "CROSS_RANK", .ranks = "CROSS_SIZE"},
    /* these count pods, if no launcher of processes is there (PyTorchJob, Volcano's plugin) */
    {"master", .host = "MASTER_ADDR", .rank = "RANK", .ranks = "WORLD_SIZE",
     .unless = "LOCAL_RANK"},
    /* the rank of an Indexed Job's pod, and so of a JobSet's; the user tells the rest */
    {"index", .when = "JOB_COMPLETION_INDEX", .host = "MASTER_ADDR", .rank = "JOB_COMPLETION_INDEX",
     .ranks = "NNODES"},
    /* mpirun -x MASTER_ADDR tells where pod 0 is */
    {"mpi", .when = "OMPI_COMM_WORLD_RANK", .host = "MASTER_ADDR", .rank = "OMPI_COMM_WORLD_RANK",
     .ranks = "OMPI_COMM_WORLD_SIZE", .local = "OMPI_COMM_WORLD_LOCAL_SIZE",
     .key = {"PMIX_NAMESPACE"}},
    {"mpi", .when = "PMI_RANK", .rank = "PMI_RANK", .ranks = "PMI_SIZE",
     .local = "MPI_LOCALNRANKS"},
    /* these give too little, so the message names them */
    {"KubeRay", .when = "KUBERAY_GEN_RAY_START_CMD"},
    {"Ray", .when = "RAY_ADDRESS"},
    {"PMIx, of a process", .when = "PMIX_RANK"},
    {"the MPI operator, not mpirun", .when = "K_MPI_JOB_ROLE"},
    {"DLRover", .when = "DLROVER_MASTER_ADDR"}, /* its master is not pod 0 */
    {"Volcano, pods of one task", .when = "VC_TASK_INDEX"},
    {"a Slurm batch script; use srun", .when = "SLURM_JOB_ID"},
    {"set NODE_RANK and NNODES, too", .when = "MASTER_ADDR"},
};

/* The search of one invocation. */
struct search {
    const struct ni_env *env;
    const struct ni_party_options *options;
    struct ni_party *to;
    struct ni_text *why; /* not empty: a value is wrong or missing */
};

static const char *get(const struct search *s, const char *name)
{
    const char *v = name ? ni_env_get(s->env, name) : NULL;

    return v && v[0] ? v : NULL;
}

/* Refuses a variable; the first refusal counts. */
static void refuse_variable(const struct search *s, const char *name, const char *value,
                            const char *what)
{
    if (s->why->len > 0)
        return;
    ni_putf(s->why, "%s=", name);
    ni_put_quoted(s->why, value, strlen(value), 64);
    ni_putf(s->why, " %s", what);
}

/* Returns the number of an option (-1: not given) or of a variable. It counts pods, or processes of
   which each pod has `local`. -1: there is none, or it was refused. */
static int64_t read_number(const struct search *s, const char *name, int given, uint64_t local,
                           const char *refusal)
{
    const char *v = get(s, name), *colon = v ? strchr(v, ':') : NULL;
    uint64_t n;

    if (given >= 0 || !v)
        return given;
    /* Kubeflow writes 4:4 for a fixed number (training-operator 1.9 pytorch/elastic.go). */
    if (colon && strlen(colon + 1) == (size_t)(colon - v) && ni_has_prefix(v, colon + 1))
        v = colon + 1;
    if (ni_parse_u64(ni_span_of(v), INT32_MAX, &n) == 0 && n % local == 0)
        return (int64_t)(n / local);
    refuse_variable(s, name, v, refusal);
    return -1;
}

/* Takes the port off HOST:PORT or [V6]:PORT, and the brackets off an IPv6 address. *port stays if
   there is none. Returns false if what stands in its place is not a port. */
static bool take_port(char *host, uint64_t *port)
{
    char *colon = strchr(host, ':');
    bool right = true;

    if (colon && strchr(colon + 1, ':')) { /* an IPv6 address, which has brackets before a port */
        char *bracket = strstr(colon, "]:");

        colon = bracket ? bracket + 1 : NULL;
    }
    if (colon) {
        right = ni_parse_u64(ni_span_of(colon + 1), UINT16_MAX, port) == 0 && *port != 0;
        *colon = '\0';
    }
    if (host[0] == '[' && host[strlen(host) - 1] == ']') {
        host[strlen(host) - 1] = '\0';
        memmove(host, host + 1, strlen(host));
    }
    return right;
}

/* Returns true if the text can be a host's name or address. */
static bool may_be_host(const char *host)
{
    for (const char *c = host; *c; c++) {
        if (*c <= ' ' || *c > '~' || *c == '[' || *c == ']')
            return false;
    }
    return host[0] != '\0';
}

/* Takes the address of pod 0: HOST, HOST:PORT, [V6]:PORT or V6. Only --peers gives its port; a
   launcher's port belongs to another program. false: nothing names it. */
static bool take_host(const struct search *s, const struct row *row)
{
    const char *given = s->options->peers;
    const char *set = get(s, row->host) ? row->host : row->or_host;
    const char *name = given ? "--peers" : set;
    const char *told = given ? given : get(s, name);
    char *host = s->to->host;
    struct ni_text t;
    uint64_t port = s->to->port;

    if (!told)
        return false;
    t = ni_text_on(host, sizeof(s->to->host));
    ni_put_first_host(&t, told);
    if (!given && row->lists)
        s->to->hosts = told;
    if (!take_port(host, &port))
        refuse_variable(s, name, told, "names no port");
    if (given)
        s->to->port = (unsigned)port;
    if (t.cut || !may_be_host(host))
        refuse_variable(s, name, told, "names no host");
    return true;
}

/* Returns the name of the thing that is missing; NULL: all are there. A pod that is alone needs
   neither rank nor host. */
static const char *take_three(const struct search *s, const struct row *row)
{
    const struct ni_party_options *o = s->options;
    const int64_t told = read_number(
        s, row->local, -1, 1, "is no number of processes; --rank=N and --ranks=N win over it");
    const uint64_t local = told > 0 ? (uint64_t)told : 1;
    const int64_t rank = read_number(s, get(s, row->rank) ? row->rank : row->or_rank, o->rank,
                                     local, "is no pod's rank; --rank=N wins over it");
    int64_t ranks;
    bool alone;

    if (rank < 0 && !row->when) /* these variables belong to something else */
        return "which pod this is";
    ranks =
        read_number(s, row->ranks, o->ranks, local, "is no number of pods; --ranks=N wins over it");
    alone = row->when && ranks == 1;
    if (ranks < 0)
        return "how many pods there are";
    if (rank < 0 && !alone)
        return "which pod this is";
    if (!take_host(s, row) && !alone)
        return "where pod 0 is";
    s->to->rank = rank < 0 ? 0 : (unsigned)rank;
    s->to->ranks = (unsigned)ranks;
    return NULL;
}

static bool is_loopback(const char *host)
{
    return strcmp(host, "localhost") == 0 || strcmp(host, "::1") == 0 ||
           ni_has_prefix(host, "127.");
}

/* Puts the name of pod 0 as all pods know it, so without the domain, which only some have, and
   without the zone of a link-local address, which is an interface of this pod (RFC 4007 11). If a
   pod is only given localhost, as in older PyTorchJobs, its own name is the one that the others
   have. */
static void put_pod_0(struct ni_text *t, const struct search *s)
{
    const char *self = s->options->self ? s->options->self : "";
    const char *name = is_loopback(s->to->host) ? self : s->to->host;
    const bool address = strchr(name, ':') || name[strspn(name, "0123456789.")] == '\0';

    ni_putn(t, name, strcspn(name, address ? "%" : "."));
}

/* Writes bytes that are not printable ASCII as \xHH, since pod 0 reads only these (wire.c
   take_text). Different names stay different keys. */
static void spell_in_ascii(struct ni_text *key)
{
    struct ni_text ascii = NI_TEXT(4 * sizeof(((struct ni_party *)NULL)->key));

    ni_put_quoted(&ascii, key->buf, key->len, key->len);
    if (ascii.len == key->len)
        return;
    key->len = 0;
    ni_put(key, ascii.buf);
}

/* Makes the job's key: equal in all pods, and if possible another one in the next attempt. Messages
   never quote it. */
static void make_key(const struct search *s, const struct row *row)
{
    struct ni_text t = ni_text_on(s->to->key, sizeof(s->to->key));
    const char *id = s->options->job ? s->options->job : get(s, row->key[0]);

    s->to->named = !id || strcmp(id, "none") == 0; /* torchrun's default */
    if (s->to->named)
        put_pod_0(&t, s);
    else
        ni_put(&t, id);
    for (size_t i = 1; i < NI_COUNT(row->key) && !s->options->job; i++) {
        const char *attempt = get(s, row->key[i]);

        if (attempt)
            ni_putf(&t, ".%s", attempt);
    }
    spell_in_ascii(&t);
    if (s->why->len > 0 || s->to->ranks <= 1)
        return;
    if (t.cut)
        ni_putf(s->why, "the key of the job is longer than %zu characters; --job=KEY gives another",
                sizeof(s->to->key) - 1);
    if (t.len == 0)
        ni_putf(s->why,
                "the job has no key, because pod 0 has no name but localhost; --job=KEY gives "
                "one");
}

/* Returns true if this process is not the first that its launcher started in the pod. */
static bool is_aside(const struct search *s, const struct ni_launcher *local)
{
    const char *number = local ? get(s, local->rank) : NULL;

    return number && strcmp(number, "0") != 0;
}

/* Puts what all processes of this pod have in common, whatever rank each has, and other pods have not:
   on a host's network those of one job, and of other jobs, meet in one namespace. */
static void put_common(struct ni_text *t, const struct search *s, const struct row *row)
{
    const struct ni_party_options *o = s->options;
    const char *host = get(s, row->host) ? get(s, row->host) : get(s, row->or_host);
    const char *rank = get(s, row->rank) ? get(s, row->rank) : get(s, row->or_rank);
    /* two jobs of one host cannot have one port for their ranks to meet */
    const char *port = get(s, "MASTER_PORT");

    ni_put(t, o->job ? o->job : row->id);
    for (size_t i = 0; i < NI_COUNT(row->key); i++) {
        const char *part = get(s, row->key[i]);

        if (part)
            ni_putf(t, ".%s", part);
    }
    if (o->rank >= 0)
        ni_putf(t, " %d", o->rank);
    else if (rank && !row->local) /* that counts pods */
        ni_putf(t, " %s", rank);
    if (port)
        ni_putf(t, " %s", port);
    if (o->peers)
        ni_putf(t, " %s", o->peers);
    else if (host)
        ni_putf(t, " %s", host);
}

/* Notes how many processes of the pod wait for this one, and what they have in common. Slurm's numbers
   of nodes that differ do not say which is this node's: "8(x2),4". */
static void note_processes(const struct search *s, const struct row *row,
                           const struct ni_launcher *local)
{
    struct ni_text t = ni_text_on(s->to->local, sizeof(s->to->local));
    const char *size = local ? get(s, local->size) : NULL;
    uint64_t n = 0;

    put_common(&t, s, row);
    if (!local || !get(s, local->rank) || is_aside(s, local))
        return;
    if (size && !strchr(size, ','))
        (void)ni_parse_u64((struct ni_span){size, strcspn(size, "(")}, UINT16_MAX, &n);
    s->to->first = n != 1;
    s->to->others = n > 1 ? (unsigned)n - 1 : 0;
}

bool ni_find_party(const struct ni_env *env, const struct ni_party_options *options,
                   struct ni_party *ret, struct ni_text *why)
{
    const struct search s = {env, options, ret, why};
    const struct ni_launcher *local = ni_find_launcher(env);

    for (const struct row *row = rows; row < rows + NI_COUNT(rows); row++) {
        const char *lacks;

        if ((row->when && !get(&s, row->when)) || get(&s, row->unless))
            continue;
        *ret = (struct ni_party){.source = row->id, .host = "localhost", .port = options->port};
        lacks = take_three(&s, row);
        if (lacks && !row->when && why->len == 0)
            continue;
        make_key(&s, row);
        note_processes(&s, row, local);
        if (lacks && why->len == 0)
            ni_putf(why,
                    "%s is set (%s), but it is not known %s. Give what is missing of --peers=HOST, "
                    "--rank=N and --ranks=N",
                    row->when, row->id, lacks);
        else if (why->len == 0 && (ret->rank >= ret->ranks || ret->ranks > NI_MAX_RANKS))
            ni_putf(why,
                    "%s: rank %u of %u pods; ranks are 0 to one less than the number, at most %u",
                    ret->source, ret->rank, ret->ranks, (unsigned)NI_MAX_RANKS - 1);
        if (!is_aside(&s, local))
            return why->len == 0;
        *why = ni_text_on(why->buf, why->cap); /* local rank 0 reports the mistake */
        ret->stand_aside = true;
        return true;
    }
    ni_put(why, "it is not known which pods take part. Give all of --peers=HOST, --rank=N and "
                "--ranks=N, or set what launchers set: PET_NNODES with PET_NODE_RANK and "
                "PET_MASTER_ADDR, LWS_LEADER_ADDRESS, MASTER_ADDR with NODE_RANK and NNODES, or "
                "the variables of a Slurm step");
    return false;
}
