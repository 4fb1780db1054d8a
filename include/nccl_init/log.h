/* SPDX-License-Identifier: Apache-2.0 */
/* log: what NCCL's log tells of a job. Lines go in one by one, from any number of processes, mixed;
   only what is counted and each text once is kept, whatever their number. Makes no system call. */
#ifndef NCCL_INIT_LOG_H
#define NCCL_INIT_LOG_H

#include "nccl_init/core.h"
#include "nccl_init/findings.h"

enum {
    NI_LOG_BUF = 1 << 17,    /* a longer line is read in pieces of this */
    NI_LOG_PROCESSES = 8192, /* as for the ranks, and the jobs that were seen have 4,096 */
    NI_LOG_VARS = 48,        /* of a process; NCCL 2.30.7 prints 20 in a job of many settings */
    NI_LOG_HCAS = 32,        /* MAX_IB_DEVS, NCCL 2.30.7 transport/net_ib/common.h */
    NI_LOG_WORDS = 32768,    /* different texts */
    NI_LOG_BYTES = 1 << 20,  /* all of them together */
    NI_LOG_HITS = 128,       /* different faults */
    NI_LOG_GROUPS = 64       /* of ranks that are alike; the last has the rest */
};

/* A text that is kept once: equal numbers are equal texts; 0: none. */
typedef uint16_t ni_kept;

/* Which way a rank's data went between nodes. */
enum ni_log_way {
    NI_WAY_UNKNOWN, /* the log does not say */
    NI_WAY_LOCAL,   /* one node: no network is needed */
    NI_WAY_RDMA,    /* IB, or a plugin of another network */
    NI_WAY_SOCKET
};

/* What NCCL says of a process. It is known by host and pid: the rank is in few of its lines. */
struct ni_log_process {
    uint32_t pid;
    uint32_t lines;
    ni_kept host;
    ni_kept version;
    ni_kept network;   /* "IB", "Socket", a plugin's; the last */
    ni_kept hcas;      /* "mlx5_6:1/RoCE,mlx5_7:1/RoCE" as NCCL numbers them */
    ni_kept boot;      /* "eth0:10.0.0.1", its first contact */
    uint16_t why;      /* the hit that told why it has no HCA, + 1 */
    ni_kept gid;       /* the address of the first queue pair's */
    int16_t gid_index; /* -1: not told */
    uint16_t n_var;
    ni_kept var[NI_LOG_VARS]; /* "NCCL_IB_HCA=mlx5" */
    int first;                /* its ranks: ni_log_rank.next; -1: none */
};

/* A GPU of a process, and its place in the largest communicator. */
struct ni_log_rank {
    int process, next;
    int dev;               /* NCCL's number of the GPU */
    int rank, size, nodes; /* -1, 0, 0: not told */
    uint64_t job, bus;     /* commId, the GPU's PCI address */
    uint32_t net, gdr;     /* ends of channels to other nodes, and those with GPUDirect RDMA */
    uint32_t sockets;      /* ends over sockets */
    bool started, met, complete, connected, ended;
    uint16_t on_hca[NI_LOG_HCAS]; /* ends on each of the list */
};

/* A fault, and the line in which it was seen first. */
struct ni_log_hit {
    unsigned row;    /* of the table of patterns */
    ni_kept subject; /* "mlx5_6:1" */
    ni_kept file;
    uint64_t line, count; /* of the first; of all such lines */
    uint64_t last;        /* of struct ni_log's lines: two patterns may fit one */
    char quote[168];
    unsigned n_by;
    int by[16]; /* the first processes that said so; -1: nobody's line */
};

struct ni_log_machine;

struct ni_log {
    struct ni_log_machine *machine; /* finds the patterns */
    char buf[NI_LOG_BUF];
    size_t len;
    ni_kept file;
    uint64_t line; /* of the file */
    uint64_t lines, nccl_lines, bytes;
    bool rccl;
    ni_kept version;  /* told by a line that names no process */
    unsigned dropped; /* what there was no room for */
    unsigned n_process, n_rank, n_hit;
    struct ni_log_process process[NI_LOG_PROCESSES];
    struct ni_log_rank rank[NI_LOG_PROCESSES];
    struct ni_log_hit hit[NI_LOG_HITS];
    uint16_t at[4 * NI_LOG_PROCESSES]; /* hash of host and pid: process + 1 */
    uint16_t word_at[2 * NI_LOG_WORDS];
    uint32_t word[NI_LOG_WORDS];
    unsigned n_word;
    char text[NI_LOG_BYTES];
    uint32_t text_len;
    /* by ni_log_judge: */
    int64_t order[NI_LOG_PROCESSES]; /* the ranks that count, by number: rank and index */
    unsigned n, left_out;
    ni_kept name[128]; /* the variables, each with one of its values */
    unsigned n_name;
    unsigned group[NI_LOG_PROCESSES],
        n_group; /* by the place in order: ranks of which all is equal */
    char sentence[512];
    bool failed; /* the exit status is 1 */
};

/* NULL: no memory. To be given to ni_log_free. */
struct ni_log *ni_log_new(void);
void ni_log_free(struct ni_log *log);

/* The next bytes of `file` are to be read to where this points, at most *room; ni_log_got takes
   them. n 0: its end. */
char *ni_log_room(struct ni_log *log, size_t *room);
void ni_log_got(struct ni_log *log, const char *file, size_t n);

/* What somebody expects, and what `plan` decided. */
struct ni_log_ask {
    bool rdma, gdr;
    const struct ni_env *plan; /* "NCCL_IB_HCA==mlx5_6:1"; NULL: none was given */
};

/* After the last byte: sorts, groups, reports. */
void ni_log_judge(struct ni_log *log, const struct ni_log_ask *ask, struct ni_findings *f);

const char *ni_log_word(const struct ni_log *log, ni_kept w);
const struct ni_log_process *ni_log_process_of(const struct ni_log *log, unsigned i); /* in order */
const struct ni_log_rank *ni_log_rank_of(const struct ni_log *log, unsigned i);
enum ni_log_way ni_log_way(const struct ni_log *log, const struct ni_log_rank *r);
/* The value that NCCL said it took; NULL: it said nothing. */
const char *ni_log_value(const struct ni_log *log, const struct ni_log_process *p,
                         const char *name);
/* NAME of NAME=VALUE; false: it is longer than any of NCCL's. */
bool ni_log_name(const char *var, char name[64]);
/* "ranks 0-7, 12 (node-a, node-b)": those of the order for which set[i] is value. */
void ni_log_put_ranks(struct ni_text *t, const struct ni_log *log, const unsigned *set,
                      unsigned value);

#endif
