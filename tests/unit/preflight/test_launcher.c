/* SPDX-License-Identifier: Apache-2.0 */
/* What launchers tell their pods, and each of their traps, a row for each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/text.h"
#include "preflight/hosts.h"
#include "preflight/launcher.h"
#include <cmocka.h>

/* Options of a row: text as people would write it, none if NULL or 0. */
struct row {
    const char *what;
    const char *env[10];
    const char *peers, *job;
    int rank, ranks; /* one more than is given; 0: not given */
    unsigned port;
    /* expected: of a party, or of a refusal */
    const char *source, *host;
    unsigned at, of, on; /* rank, ranks, port (0: the usual) */
    const char *key;     /* NULL: the host without its domain, so only the name of pod 0 */
    bool named;          /* it is only that in spite of `key` */
    const char *self;    /* NULL: own-name.domain */
    const char *why;     /* part of it; NULL: a party */
    bool aside, first;
    unsigned others; /* processes of the pod that wait for this one */
};

enum { PORT = 18555 };

#define TEN      "0123456789"
#define LONG     TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN "0123456"
#define ENV(...) .env = {__VA_ARGS__}

static const struct row rows[] = {
    /* ---- options ---- */
    {"all by options", .peers = "trainer-0.trainer", .rank = 1 + 2, .ranks = 1 + 4,
     .source = "peers", .host = "trainer-0.trainer", .at = 2, .of = 4},
    {"a port with the name", .peers = "trainer-0:4000", .rank = 1, .ranks = 1 + 2, .port = 5000,
     .source = "peers", .host = "trainer-0", .of = 2, .on = 4000},
    {"a port beside it", .peers = "trainer-0", .rank = 1, .ranks = 1 + 2, .port = 5000,
     .source = "peers", .host = "trainer-0", .of = 2, .on = 5000},
    {"IPv6 in brackets", .peers = "[fd00::1]:4000", .rank = 1, .ranks = 1 + 2, .source = "peers",
     .host = "fd00::1", .of = 2, .on = 4000},
    {"IPv6 in brackets, no port", .peers = "[fd00::1]", .rank = 1, .ranks = 1 + 2,
     .source = "peers", .host = "fd00::1", .of = 2},
    {"bare IPv6 has no port", .peers = "fd00::1:4000", .rank = 1, .ranks = 1 + 2, .source = "peers",
     .host = "fd00::1:4000", .of = 2},
    {"the zone is this pod's own, and not in the key", .peers = "fe80::1%net1", .rank = 1,
     .ranks = 1 + 2, .source = "peers", .host = "fe80::1%net1", .of = 2, .key = "fe80::1",
     .named = true},
    {"... in brackets, by its number", .peers = "[fe80::1%3]:4000", .rank = 1, .ranks = 1 + 2,
     .source = "peers", .host = "fe80::1%3", .of = 2, .on = 4000, .key = "fe80::1", .named = true},
    {"... of a launcher", ENV("PET_NNODES=2", "PET_NODE_RANK=1", "PET_MASTER_ADDR=fe80::1%eth0"),
     .source = "pet", .host = "fe80::1%eth0", .at = 1, .of = 2, .key = "fe80::1", .named = true},
    {"a list: its first", .peers = "a-0,a-1,a-2", .rank = 1 + 1, .ranks = 1 + 3, .source = "peers",
     .host = "a-0", .at = 1, .of = 3},
    {"no host", .peers = ":4000", .rank = 1, .ranks = 1 + 2, .why = "no host"},
    {"an open bracket", .peers = "[fd00::1", .rank = 1, .ranks = 1 + 2, .why = "--peers"},
    {"port 0", .peers = "a:0", .rank = 1, .ranks = 1 + 2, .why = "a:0 names no port"},
    {"port beyond", .peers = "a:65536", .rank = 1, .ranks = 1 + 2, .why = "a:65536 names no port"},
    {"a list with blanks: its first", .peers = "a b", .rank = 1 + 1, .ranks = 1 + 2,
     .source = "peers", .host = "a", .at = 1, .of = 2},
    {"a list as Slurm writes it", .peers = "gpu[08-11]:4000", .rank = 1, .ranks = 1 + 2,
     .source = "peers", .host = "gpu08", .of = 2, .on = 4000},
    {"a host that does not print", .peers = "a\x1b[2J", .rank = 1, .ranks = 1 + 2,
     .why = "--peers=a"},
    {"an own key", .peers = "a", .rank = 1, .ranks = 1 + 2, .job = "uid.7", .source = "peers",
     .host = "a", .of = 2, .key = "uid.7"},
    {"a key that does not print", .peers = "a", .rank = 1, .ranks = 1 + 2, .job = "\x1b[2J",
     .source = "peers", .host = "a", .of = 2, .key = "\\x1b[2J"},
    {"rank beyond the number", .peers = "a", .rank = 1 + 4, .ranks = 1 + 4, .why = "rank 4 of 4"},
    {"nothing", .why = "PET_NNODES"},
    {"no number of pods", .peers = "a", .rank = 1, .why = "Give all of --peers=HOST, --rank=N"},
    {"nothing but a second process", ENV("LOCAL_RANK=1"), .why = "it is not known which pods"},
    {"an empty number is that of no process", ENV("LOCAL_RANK="), .peers = "a", .rank = 1,
     .ranks = 1 + 2, .source = "peers", .host = "a", .of = 2},
    {"a second process of what the options tell", ENV("LOCAL_RANK=1"), .peers = "a", .rank = 1,
     .ranks = 1 + 2, .aside = true},

    /* ---- torchrun around it ---- */
    {"Kubeflow Trainer v2",
     ENV("PET_NNODES=4", "PET_NPROC_PER_NODE=8", "PET_NODE_RANK=3",
         "PET_MASTER_ADDR=job-node-0-0.job", "PET_MASTER_PORT=29500"),
     .source = "pet", .host = "job-node-0-0.job", .at = 3, .of = 4},
    {"n:n is fixed", ENV("PET_NNODES=4:4", "PET_NODE_RANK=1", "PET_MASTER_ADDR=m"), .source = "pet",
     .host = "m", .at = 1, .of = 4},
    {"elastic is refused", ENV("PET_NNODES=3:4", "PET_NODE_RANK=1", "PET_MASTER_ADDR=m"),
     .why = "PET_NNODES=3:4 is no number of pods; --ranks=N"},
    {"elastic, but the user knows", ENV("PET_NNODES=3:4", "PET_NODE_RANK=1", "PET_MASTER_ADDR=m"),
     .ranks = 1 + 3, .source = "pet", .host = "m", .at = 1, .of = 3},
    {"a word for a number", ENV("PET_NNODES=four", "PET_NODE_RANK=1", "PET_MASTER_ADDR=m"),
     .why = "PET_NNODES=four"},
    {"an empty number is none", ENV("PET_NNODES=", "PET_NODE_RANK=1", "PET_MASTER_ADDR=m"),
     .why = "it is not known which pods"},
    {"PyTorchJob v1: RANK counts pods, WORLD_SIZE processes",
     ENV("MASTER_ADDR=job-master-0", "MASTER_PORT=23456", "RANK=3", "WORLD_SIZE=32", "PET_NNODES=4",
         "PET_NODE_RANK=3", "PET_MASTER_ADDR=job-master-0", "PET_NPROC_PER_NODE=8"),
     .source = "pet", .host = "job-master-0", .at = 3, .of = 4},
    {"PyTorchJob v1 elastic: the rank is not told",
     ENV("PET_RDZV_BACKEND=c10d", "PET_RDZV_ENDPOINT=job-worker-0:23456", "PET_NNODES=4:4"),
     .why = "which pod this is"},
    {"... and is, by the downward API",
     ENV("PET_RDZV_BACKEND=c10d", "PET_RDZV_ENDPOINT=job-worker-0:23456", "PET_NNODES=4:4",
         "PET_RDZV_ID=7"),
     .rank = 1 + 2, .source = "pet", .host = "job-worker-0", .at = 2, .of = 4, .key = "7"},
    {"c10d in an Indexed Job",
     ENV("PET_RDZV_BACKEND=c10d", "PET_RDZV_ENDPOINT=[fd00::1]:29400", "PET_NNODES=4",
         "JOB_COMPLETION_INDEX=1", "PET_RDZV_ID=none"),
     .source = "pet", .host = "fd00::1", .at = 1, .of = 4},
    {"c10d: the endpoint and not MASTER_ADDR",
     ENV("PET_RDZV_BACKEND=c10d", "PET_RDZV_ENDPOINT=e:29400", "PET_MASTER_ADDR=127.0.0.1",
         "PET_NNODES=2", "PET_NODE_RANK=0"),
     .source = "pet", .host = "e", .of = 2},
    {"an Indexed Job that is told where and how many",
     ENV("JOB_COMPLETION_INDEX=2", "MASTER_ADDR=job-0.job", "NNODES=4"), .source = "index",
     .host = "job-0.job", .at = 2, .of = 4},
    {"... and NODE_RANK wins",
     ENV("JOB_COMPLETION_INDEX=2", "MASTER_ADDR=job-0.job", "NNODES=4", "NODE_RANK=1"),
     .source = "master", .host = "job-0.job", .at = 1, .of = 4},
    {"mpirun -x MASTER_ADDR",
     ENV("OMPI_COMM_WORLD_RANK=8", "OMPI_COMM_WORLD_SIZE=16", "OMPI_COMM_WORLD_LOCAL_SIZE=8",
         "OMPI_COMM_WORLD_LOCAL_RANK=0", "MASTER_ADDR=w-0", "PMIX_NAMESPACE=prte.1"),
     .source = "mpi", .host = "w-0", .at = 1, .of = 2, .key = "prte.1", .others = 7},
    {"SkyPilot",
     ENV("SKYPILOT_NUM_NODES=2", "SKYPILOT_NODE_RANK=1", "SKYPILOT_NODE_IPS=10.0.0.7\n10.0.0.9",
         "SKYPILOT_TASK_ID=sky-7"),
     .source = "skypilot", .host = "10.0.0.7", .at = 1, .of = 2, .key = "sky-7"},
    {"torchtune: no master", ENV("PET_NNODES=2", "PET_NODE_RANK=0"), .why = "--peers"},
    {"one pod needs neither rank nor master", ENV("PET_NNODES=1"), .source = "pet",
     .host = "localhost", .of = 1, .key = "own-name", .named = true},
    {"... but what is told is read", ENV("PET_NNODES=1", "PET_NODE_RANK=one"),
     .why = "PET_NODE_RANK=one is no pod's rank; --rank=N"},
    {"... of Slurm, too",
     ENV("SLURM_STEP_ID=0", "SLURM_STEP_NUM_NODES=1", "SLURM_STEP_NODELIST=[", "SLURM_NODEID=0"),
     .why = "SLURM_STEP_NODELIST="},
    {"one pod of an Indexed Job", ENV("JOB_COMPLETION_INDEX=0"), .ranks = 1 + 1, .source = "index",
     .host = "localhost", .of = 1, .key = "own-name", .named = true},
    {"text behind a bracket", .peers = "[fd00::1]4000", .rank = 1, .ranks = 1 + 2,
     .why = "--peers"},
    {"a colon without a port", .peers = "a:", .rank = 1, .ranks = 1 + 2, .why = "names no port"},
    {"pod 0 calls itself localhost: the others know its name",
     ENV("PET_NNODES=2", "PET_NODE_RANK=0", "PET_MASTER_ADDR=localhost"), .source = "pet",
     .host = "localhost", .of = 2, .key = "own-name", .named = true},
    {"... also by its address", ENV("PET_NNODES=2", "PET_NODE_RANK=0", "PET_MASTER_ADDR=127.0.0.1"),
     .source = "pet", .host = "127.0.0.1", .of = 2, .key = "own-name", .named = true},
    {"... and has no name", ENV("PET_NNODES=2", "PET_NODE_RANK=0", "PET_MASTER_ADDR=::1"),
     .self = "", .why = "no name but localhost; --job=KEY"},
    {"an address is a name, whole",
     ENV("PET_NNODES=2", "PET_NODE_RANK=0", "PET_MASTER_ADDR=10.1.2.3"), .source = "pet",
     .host = "10.1.2.3", .of = 2, .key = "10.1.2.3", .named = true},
    {"a key that is too long is not cut", .peers = "a", .rank = 1, .ranks = 1 + 2, .job = LONG "x",
     .why = "longer than 127 characters"},
    {"... and one that fits", .peers = "a", .rank = 1, .ranks = 1 + 2, .job = LONG,
     .source = "peers", .host = "a", .of = 2, .key = LONG},
    {"a key in other letters is not mixed up with another such", .peers = "a", .rank = 1,
     .ranks = 1 + 2, .job = "\xe8\xa8\x93", .source = "peers", .host = "a", .of = 2,
     .key = "\\xe8\\xa8\\x93"},
    {"... which may then be too long", .peers = "a", .rank = 1, .ranks = 1 + 2,
     .job = TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN "\xe8\xa8",
     .why = "longer than 127 characters"},
    {"mpirun with a number of processes that is none",
     ENV("OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_LOCAL_SIZE=x"),
     .peers = "a", .why = "is no number of processes"},
    {"MASTER_ADDR in brackets", ENV("PET_NNODES=2", "PET_NODE_RANK=0", "PET_MASTER_ADDR=[fd00::1]"),
     .source = "pet", .host = "fd00::1", .of = 2},
    {"rank beyond, not repaired", ENV("PET_NNODES=2", "PET_NODE_RANK=2", "PET_MASTER_ADDR=m"),
     .why = "rank 2 of 2"},
    {"a negative rank", ENV("PET_NNODES=2", "PET_NODE_RANK=-1", "PET_MASTER_ADDR=m"),
     .why = "PET_NODE_RANK=-1"},
    {"too many", ENV("PET_NNODES=99999999999", "PET_NODE_RANK=1", "PET_MASTER_ADDR=m"),
     .why = "PET_NNODES"},

    /* ---- in a worker of torchrun ---- */
    {"inside torchrun: groups are pods",
     ENV("TORCHELASTIC_RUN_ID=none", "TORCHELASTIC_RESTART_COUNT=2", "MASTER_ADDR=m", "RANK=24",
         "WORLD_SIZE=32", "GROUP_RANK=3", "GROUP_WORLD_SIZE=4", "LOCAL_RANK=0"),
     .source = "torchrun", .host = "m", .at = 3, .of = 4, .key = "m.2", .named = true},
    {"another worker of the pod steps aside",
     ENV("TORCHELASTIC_RUN_ID=x", "MASTER_ADDR=m", "RANK=25", "WORLD_SIZE=32", "GROUP_RANK=3",
         "GROUP_WORLD_SIZE=4", "LOCAL_RANK=1"),
     .aside = true},

    {"... whatever the rest of it says",
     ENV("TORCHELASTIC_RUN_ID=x", "GROUP_RANK=3", "GROUP_WORLD_SIZE=four", "LOCAL_RANK=1"),
     .aside = true},
    {"... or lacks", ENV("PET_NNODES=2", "LOCAL_RANK=1"), .aside = true},
    {"an empty number hides no other",
     ENV("LOCAL_RANK=", "OMPI_COMM_WORLD_LOCAL_RANK=3", "OMPI_COMM_WORLD_RANK=3",
         "OMPI_COMM_WORLD_SIZE=16", "OMPI_COMM_WORLD_LOCAL_SIZE=8"),
     .aside = true},

    /* ---- others ---- */
    {"LeaderWorkerSet",
     ENV("LWS_LEADER_ADDRESS=l-0.l.ns", "LWS_GROUP_SIZE=4", "LWS_WORKER_INDEX=0"), .source = "lws",
     .host = "l-0.l.ns", .of = 4},
    {"NODE_RANK and NNODES", ENV("MASTER_ADDR=m", "NODE_RANK=1", "NNODES=2"), .source = "master",
     .host = "m", .at = 1, .of = 2},
    {"Volcano's pytorch plugin: both count pods",
     ENV("MASTER_ADDR=j-master-0.j", "MASTER_PORT=23456", "WORLD_SIZE=4", "RANK=2"),
     .source = "master", .host = "j-master-0.j", .at = 2, .of = 4},
    {"RANK of processes is not believed",
     ENV("MASTER_ADDR=m", "WORLD_SIZE=32", "RANK=8", "LOCAL_RANK=0"),
     .why = "MASTER_ADDR is set (set NODE_RANK and NNODES, too), but it is not known how "
            "many"},
    {"DeepSpeed",
     ENV("MASTER_ADDR=m", "WORLD_SIZE=32", "RANK=8", "LOCAL_RANK=0", "CROSS_RANK=1",
         "CROSS_SIZE=4"),
     .source = "master", .host = "m", .at = 1, .of = 4},
    {"RANK not below WORLD_SIZE", ENV("MASTER_ADDR=m", "WORLD_SIZE=4", "RANK=4"),
     .why = "rank 4 of 4"},
    {"a Slurm step",
     ENV("SLURM_JOB_ID=12", "SLURM_STEP_ID=0", "SLURM_NODEID=1", "SLURM_STEP_NUM_NODES=2",
         "SLURM_NNODES=8", "SLURM_STEP_NODELIST=gpu[08-11,20]", "SLURM_LOCALID=0"),
     .source = "slurm", .host = "gpu08", .at = 1, .of = 2, .key = "12.0"},
    {"... requeued",
     ENV("SLURM_JOB_ID=12", "SLURM_STEP_ID=3", "SLURM_RESTART_COUNT=1", "SLURM_NODEID=0",
         "SLURM_STEP_NUM_NODES=2", "SLURM_STEP_NODELIST=a,b"),
     .source = "slurm", .host = "a", .of = 2, .key = "12.3.1"},
    {"one process of a node acts",
     ENV("SLURM_JOB_ID=12", "SLURM_STEP_ID=0", "SLURM_NODEID=1", "SLURM_STEP_NUM_NODES=2",
         "SLURM_STEP_NODELIST=a,b", "SLURM_LOCALID=3"),
     .aside = true},
    {"MPICH's processes of one task of srun, which inherit its number",
     ENV("SLURM_JOB_ID=12", "SLURM_STEP_ID=0", "SLURM_NODEID=1", "SLURM_STEP_NUM_NODES=2",
         "SLURM_STEP_NODELIST=a,b", "SLURM_LOCALID=0", "MPI_LOCALRANKID=1"),
     .aside = true},
    {"a batch script is no step",
     ENV("SLURM_JOB_ID=12", "SLURM_NODEID=0", "SLURM_NNODES=8", "SLURM_JOB_NODELIST=gpu[1-8]"),
     .why = "SLURM_JOB_ID is set (a Slurm batch script"},
    {"Slurm's list cannot be read, --peers can",
     ENV("SLURM_JOB_ID=12", "SLURM_STEP_ID=0", "SLURM_NODEID=1", "SLURM_STEP_NUM_NODES=2",
         "SLURM_STEP_NODELIST=gpu[8-"),
     .peers = "other", .source = "slurm", .host = "other", .at = 1, .of = 2, .key = "12.0"},
    {"an Indexed Job tells its index", ENV("JOB_COMPLETION_INDEX=2"),
     .why = "how many pods there are. Give what is missing of --peers=HOST, "},
    {"... and the user the rest", ENV("JOB_COMPLETION_INDEX=2"), .peers = "j-0.j", .ranks = 1 + 4,
     .source = "index", .host = "j-0.j", .at = 2, .of = 4},
    {"Open MPI",
     ENV("OMPI_COMM_WORLD_RANK=8", "OMPI_COMM_WORLD_SIZE=32", "OMPI_COMM_WORLD_LOCAL_SIZE=8",
         "OMPI_COMM_WORLD_LOCAL_RANK=0", "PMIX_NAMESPACE=prte-1"),
     .peers = "w-0", .source = "mpi", .host = "w-0", .at = 1, .of = 4, .key = "prte-1",
     .others = 7},
    {"Open MPI without --peers",
     ENV("OMPI_COMM_WORLD_RANK=8", "OMPI_COMM_WORLD_SIZE=32", "OMPI_COMM_WORLD_LOCAL_SIZE=8",
         "OMPI_COMM_WORLD_LOCAL_RANK=0"),
     .why = "--peers"},
    {"Open MPI, its other processes",
     ENV("OMPI_COMM_WORLD_RANK=9", "OMPI_COMM_WORLD_SIZE=32", "OMPI_COMM_WORLD_LOCAL_SIZE=8",
         "OMPI_COMM_WORLD_LOCAL_RANK=1"),
     .aside = true},
    {"Open MPI by node: ranks do not follow each other",
     ENV("OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=32", "OMPI_COMM_WORLD_LOCAL_SIZE=8",
         "OMPI_COMM_WORLD_LOCAL_RANK=0"),
     .peers = "w-0", .why = "OMPI_COMM_WORLD_RANK=1 is no pod's rank"},
    {"Open MPI, uneven",
     ENV("OMPI_COMM_WORLD_RANK=8", "OMPI_COMM_WORLD_SIZE=12", "OMPI_COMM_WORLD_LOCAL_SIZE=8",
         "OMPI_COMM_WORLD_LOCAL_RANK=0"),
     .peers = "w-0", .why = "OMPI_COMM_WORLD_SIZE=12 is no number of pods; --ranks=N"},
    {"MPICH", ENV("PMI_RANK=8", "PMI_SIZE=16", "MPI_LOCALNRANKS=8", "MPI_LOCALRANKID=0"),
     .peers = "w-0", .source = "mpi", .host = "w-0", .at = 1, .of = 2, .others = 7},
    {"options beside the launcher's", ENV("PMIX_RANK=3", "PMIX_NAMESPACE=x"), .peers = "w-0",
     .rank = 1 + 3, .ranks = 1 + 4, .source = "peers", .host = "w-0", .at = 3, .of = 4},
    {"an option wins over the launcher",
     ENV("PET_NNODES=4", "PET_NODE_RANK=3", "PET_MASTER_ADDR=m"), .peers = "p:4000", .rank = 1 + 1,
     .source = "pet", .host = "p", .at = 1, .of = 4, .on = 4000},

    /* ---- who tells too little ---- */
    {"Volcano's svc plugin", ENV("VC_TASK_INDEX=1", "VC_WORKER_HOSTS=a,b", "VC_WORKER_NUM=2"),
     .why = "Volcano"},
    {"KubeRay", ENV("RAY_ADDRESS=h:6379", "KUBERAY_GEN_RAY_START_CMD=x"), .why = "KubeRay"},
    {"PMIx alone", ENV("PMIX_RANK=3", "PMIX_NAMESPACE=x"), .why = "PMIx"},
    {"the MPI operator's pods", ENV("K_MPI_JOB_ROLE=worker"), .why = "MPI operator"},
    {"local rank 0 of eight",
     ENV("PET_NNODES=4", "PET_NODE_RANK=3", "PET_MASTER_ADDR=m", "LOCAL_RANK=0",
         "LOCAL_WORLD_SIZE=8"),
     .source = "pet", .host = "m", .at = 3, .of = 4, .first = true, .others = 7},
    {"... of one",
     ENV("PET_NNODES=4", "PET_NODE_RANK=3", "PET_MASTER_ADDR=m", "LOCAL_RANK=0",
         "LOCAL_WORLD_SIZE=1"),
     .source = "pet", .host = "m", .at = 3, .of = 4},
    {"... of a step of Slurm, on nodes that differ",
     ENV("SLURM_STEP_ID=0", "SLURM_JOB_ID=7", "SLURM_STEP_NODELIST=n[1-3]", "SLURM_NODEID=2",
         "SLURM_STEP_NUM_NODES=3", "SLURM_LOCALID=0", "SLURM_STEP_TASKS_PER_NODE=8(x2),4"),
     .source = "slurm", .host = "n1", .key = "7.0", .at = 2, .of = 3, .first = true},
    {"... on nodes that do not",
     ENV("SLURM_STEP_ID=0", "SLURM_JOB_ID=7", "SLURM_STEP_NODELIST=n[1-3]", "SLURM_NODEID=2",
         "SLURM_STEP_NUM_NODES=3", "SLURM_LOCALID=0", "SLURM_STEP_TASKS_PER_NODE=8(x3)"),
     .source = "slurm", .host = "n1", .key = "7.0", .at = 2, .of = 3, .first = true, .others = 7},
    {"... of which local rank 0 tells", ENV("RAY_ADDRESS=h:6379", "LOCAL_RANK=1"), .aside = true},
    {"DLRover", ENV("DLROVER_MASTER_ADDR=m:50001", "NODE_RANK=1", "NODE_NUM=2"), .why = "DLRover"},
};

static void check_row(const struct row *row)
{
    const struct ni_env env = {(char *const *)(uintptr_t)row->env};
    const struct ni_party_options options = {.peers = row->peers,
                                             .job = row->job,
                                             .self = row->self ? row->self : "own-name.domain",
                                             .rank = row->rank - 1,
                                             .ranks = row->ranks - 1,
                                             .port = row->port ? row->port : PORT};
    char buf[512], key[128];
    struct ni_text why = ni_text_on(buf, sizeof(buf));
    struct ni_party p;
    const bool told = ni_find_party(&env, &options, &p, &why);

    if (told == (row->why != NULL) || (row->why && !strstr(buf, row->why)))
        fail_msg("%s: %d, %s", row->what, told, buf);
    if (!told)
        return;
    if (why.len > 0 || p.stand_aside != row->aside)
        fail_msg("%s: %s", row->what, buf);
    if (row->aside)
        return;
    if ((row->first && !p.first) || p.others != row->others)
        fail_msg("%s: %d, %u others", row->what, p.first, p.others);
    if (strcmp(p.source, row->source) != 0)
        fail_msg("%s: source %s", row->what, p.source);
    (void)ni_format(key, sizeof(key), "%.*s", (int)strcspn(row->host, "."), row->host);
    if (strcmp(p.host, row->host) != 0 || p.rank != row->at || p.ranks != row->of ||
        p.port != (row->on ? row->on : PORT) || strcmp(p.key, row->key ? row->key : key) != 0)
        fail_msg("%s: %s port %u, rank %u of %u, key %s", row->what, p.host, p.port, p.rank,
                 p.ranks, p.key);
    if (p.named != (row->named || !row->key))
        fail_msg("%s: %d", row->what, p.named);
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < NI_COUNT(rows); i++)
        check_row(&rows[i]);
}

/* Slurm's lists of hosts (src/common/hostlist.c); NULL: refused. */
static void test_hostlists(void **state)
{
    static const struct {
        const char *list, *first;
    } all[] = {
        {"a", "a"},
        {"a,b", "a"},
        {"\ta\nb", "a"},
        {" , a", "a"},
        {"gpu[1-4]", "gpu1"},
        {"gpu[08-11]", "gpu08"},
        {"gpu[3,1-2]", "gpu3"},
        {"gpu[7]", "gpu7"},
        {"r[1-2]n[05-06]", "r1n05"},
        {"gpu[1-4]-ib,x", "gpu1-ib"},
        {"gpu[-1]", NULL},
        {"gpu[]", NULL},
        {"gpu[1", NULL},
        {"gpu[1-", NULL},
        {"gpu[a]", NULL},
        {"gpu1]", NULL},
        {"gpu[1]2]", NULL},
        {"gpu[[1]]", NULL},
        {"", NULL},
        {",", NULL},
    };

    (void)state;
    for (size_t i = 0; i < NI_COUNT(all); i++) {
        char list[128], buf[512];
        char *entry[] = {(char *)(uintptr_t) "SLURM_STEP_ID=0",
                         (char *)(uintptr_t) "SLURM_NODEID=0",
                         (char *)(uintptr_t) "SLURM_STEP_NUM_NODES=2", list, NULL};
        const struct ni_env env = {entry};
        const struct ni_party_options options = {.rank = -1, .ranks = -1, .port = PORT};
        struct ni_text why = ni_text_on(buf, sizeof(buf));
        struct ni_party p;
        bool told;

        (void)ni_format(list, sizeof(list), "SLURM_STEP_NODELIST=%s", all[i].list);
        told = ni_find_party(&env, &options, &p, &why);
        if (all[i].first ? !told || strcmp(p.host, all[i].first) != 0 : told)
            fail_msg("%s: %d, %s, %s", all[i].list, told, p.host, buf);
    }
}

/* Writes what the processes of the pod have in common. */
static void find_common(char *const entries[], const char *ret[1], struct ni_party *p)
{
    const struct ni_env env = {entries};
    const struct ni_party_options options = {.self = "own", .rank = -1, .ranks = -1, .port = PORT};
    char buf[512];
    struct ni_text why = ni_text_on(buf, sizeof(buf));

    (void)ni_find_party(&env, &options, p, &why);
    ret[0] = p->local;
}

#define S(text) (char *)(uintptr_t)(text)

/* The processes of a pod have one name to meet at; pods that share a host's network do not. */
static void test_common(void **state)
{
    char *const pods[][8] = {
        {S("MASTER_ADDR=a"), S("GROUP_RANK=3"), S("GROUP_WORLD_SIZE=8"), S("LOCAL_RANK=0"), NULL},
        {S("MASTER_ADDR=a"), S("GROUP_RANK=3"), S("GROUP_WORLD_SIZE=8"), S("LOCAL_RANK=1"), NULL},
        {S("MASTER_ADDR=a"), S("GROUP_RANK=4"), S("GROUP_WORLD_SIZE=8"), S("LOCAL_RANK=1"), NULL},
        {S("MASTER_ADDR=b"), S("GROUP_RANK=3"), S("GROUP_WORLD_SIZE=8"), S("LOCAL_RANK=1"), NULL},
        {S("MASTER_ADDR=a"), S("GROUP_RANK=3"), S("GROUP_WORLD_SIZE=8"), S("LOCAL_RANK=1"),
         S("MASTER_PORT=29501"), NULL},
        /* ranks of processes differ within a pod */
        {S("OMPI_COMM_WORLD_RANK=8"), S("OMPI_COMM_WORLD_SIZE=16"), S("MASTER_ADDR=a"),
         S("OMPI_COMM_WORLD_LOCAL_SIZE=8"), S("OMPI_COMM_WORLD_LOCAL_RANK=0"), NULL},
        {S("OMPI_COMM_WORLD_RANK=9"), S("OMPI_COMM_WORLD_SIZE=16"), S("MASTER_ADDR=a"),
         S("OMPI_COMM_WORLD_LOCAL_SIZE=8"), S("OMPI_COMM_WORLD_LOCAL_RANK=1"), NULL},
    };
    static struct ni_party party[NI_COUNT(pods)];
    const char *common[NI_COUNT(pods)];

    (void)state;
    for (size_t i = 0; i < NI_COUNT(pods); i++)
        find_common(pods[i], &common[i], &party[i]);
    assert_string_equal(common[0], common[1]);
    assert_string_not_equal(common[0], common[2]); /* another pod of the job */
    assert_string_not_equal(common[0], common[3]); /* another job */
    assert_string_not_equal(common[0], common[4]);
    assert_string_equal(common[5], common[6]);
}

/* The names of all nodes, by their ranks. */
static void test_hosts_of_ranks(void **state)
{
    static const struct {
        const char *list, *host[4]; /* "": the list does not say it */
    } all[] = {
        {"a,b", {"a", "b", "", ""}},
        {"10.0.0.1\n10.0.0.2", {"10.0.0.1", "10.0.0.2", "", ""}},
        {"gpu[08-11]", {"gpu08", "gpu09", "gpu10", "gpu11"}},
        {"gpu[9-10,3]-ib,x", {"gpu9-ib", "gpu10-ib", "gpu3-ib", "x"}},
        {"a,r[1-2]n[05-06]", {"a", "", "", ""}}, /* of two brackets the order is not known */
        {"gpu[3-1],a", {"", "", "", ""}},
        {"gpu[1-],a", {"", "", "", ""}},
        {"gpu[1,,2]", {"gpu1", "", "", ""}},
        {"gpu[1", {"", "", "", ""}},
        {"gpu[x],a", {"", "", "", ""}},
        {"", {"", "", "", ""}},
    };

    (void)state;
    for (size_t i = 0; i < NI_COUNT(all); i++)
        for (unsigned rank = 0; rank < 4; rank++) {
            struct ni_text t = NI_TEXT(64);

            ni_put_host_of(&t, all[i].list, rank);
            assert_string_equal(t.buf, all[i].host[rank]);
        }
    struct ni_text t = NI_TEXT(64);

    ni_put_host_of(&t, "gpu[0-4294967295]", 16383);
    assert_string_equal(t.buf, "gpu16383");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_common),
        cmocka_unit_test(test_hostlists),
        cmocka_unit_test(test_hosts_of_ranks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
