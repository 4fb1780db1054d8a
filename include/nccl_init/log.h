/* SPDX-License-Identifier: Apache-2.0 */
/* log: what NCCL's log tells of a job. Lines go in one by one, from any number of processes, mixed;
   only what is counted and each text once is kept, whatever their number. Makes no system call. */
#ifndef NCCL_INIT_LOG_H
#define NCCL_INIT_LOG_H

#include "nccl_init/core.h"
#include "nccl_init/findings.h"

enum {
    NI_LOG_BUF = 1 << 17,   /* a longer line is read in pieces of this */
    NI_LOG_RANKS = 8192,    /* the jobs that were seen have 4,096 */
    NI_LOG_GPUS = 128,      /* of one process; 8 MI300X in CPX mode are 64 */
    NI_LOG_NAMES = 64,      /* of variables; NCCL 2.30.7 prints 20 in a job of many settings */
    NI_LOG_HCAS = 64,       /* 32, MAX_IB_DEVS of NCCL 2.30.7, and what it fuses of them */
    NI_LOG_WORDS = 32768,   /* different texts */
    NI_LOG_BYTES = 1 << 20, /* all of them together */
    NI_LOG_HITS = 64        /* different faults */
};

/* A text that is kept once: equal numbers are equal texts; 0: none. */
typedef uint16_t ni_kept;

/* What NCCL says of a process, known by host and pid, and of its GPU: the rank is in few of its lines.
   A further GPU of the process is a further one of these, without what is told of the process. */
struct ni_log_rank {
    struct ni_log_rank *process, *next; /* the first of the process; NULL after the last */
    ni_kept name;                       /* "host:pid", by which it is found */
    ni_kept host;
    ni_kept network;             /* "IB", "Socket", a plugin's; the last */
    bool tcp;                    /* what the plugin's libfabric uses */
    ni_kept hcas;                /* "mlx5_6:1/RoCE,mlx5_7:1/RoCE" as NCCL numbers them */
    ni_kept boot;                /* "eth0:10.0.0.1", its first contact */
    ni_kept gid;                 /* the address of the first queue pair's */
    int gid_index;               /* -1: not told */
    ni_kept value[NI_LOG_NAMES]; /* its version; then what it took, by ni_log.name; 0: not told */
    uint64_t said;               /* the bits of the hits */
    /* ---- of the GPU, in the process's largest communicator ---- */
    int dev;               /* NCCL's number of the GPU; -1: not told */
    int rank, size, nodes; /* -1, 0, 0: not told */
    ni_kept job, bus;      /* commId, the GPU's PCI address */
    uint32_t net, gdr;     /* ends of channels to other nodes, and those with GPUDirect RDMA */
    uint32_t sockets;      /* ends over sockets */
    uint16_t on_hca[NI_LOG_HCAS]; /* ends on each of the list */
    bool several; /* communicators with different commIds: other ranks of the job may have others */
    bool started, complete, connected, ended;
    /* ---- by ni_log_judge ---- */
    unsigned is, mark;
    bool earlier; /* a later process has its host, GPU and rank */
};

/* A fault, and the line in which it was seen first. */
struct ni_log_hit {
    const struct ni_pattern *row;
    unsigned flags;  /* the row's that hold for the line */
    ni_kept subject; /* "mlx5_6:1" */
    ni_kept file;
    uint64_t line, count; /* of the first; of all such lines */
    uint64_t last;        /* of struct ni_log's lines: two patterns may fit one */
    char quote[168];
    uint64_t bit;
    bool nobodys; /* in a line that names no process */
};

struct ni_log {
    char buf[NI_LOG_BUF];
    size_t len;
    ni_kept file;
    uint64_t line; /* of the file */
    uint64_t lines;
    bool rccl;
    ni_kept version; /* told by a line that names no process */
    ni_kept name[NI_LOG_NAMES],
        plan[NI_LOG_NAMES]; /* the variables, from 1, and what `plan` decided */
    bool planned;
    unsigned dropped; /* what there was no room for */
    unsigned n_rank, n_hit, n_name, n_word;
    struct ni_log_rank rank[NI_LOG_RANKS];
    struct ni_log_hit hit[NI_LOG_HITS];
    uint16_t process_of[NI_LOG_WORDS];  /* of "host:pid": its place in rank + 1 */
    uint64_t seed;                      /* of the index of words; 0: not made yet */
    uint32_t word_at[2 * NI_LOG_WORDS]; /* its places */
    uint32_t word[NI_LOG_WORDS], text_len;
    char text[NI_LOG_BYTES];
    /* by ni_log_judge: */
    struct ni_log_rank *order[NI_LOG_RANKS];   /* those that count, by number */
    struct ni_log_rank *of_host[NI_LOG_RANKS]; /* the same, by host */
    uint16_t hca_of[NI_LOG_WORDS]; /* of a name: the host, as its first of these and 1 */
    unsigned n, left_out;
    unsigned net, gdr; /* the sums */
    char sentence[512], who[96];
    bool failed; /* the exit status is 1 */
};

/* The next bytes of `file` are to be read to where this points, at most *room; ni_log_got takes
   them. n 0: its end. The log is all zeros at first. */
char *ni_log_room(struct ni_log *log, size_t *room);
void ni_log_got(struct ni_log *log, const char *file, size_t n);
/* One line, without its end and without escape sequences; of one that is cut only faults count. */
void ni_log_line(struct ni_log *log, const char *p, const char *end, bool cut);
/* NCCL said that the process took this value; p NULL: `plan` decided it. */
void ni_log_take_value(struct ni_log *log, struct ni_log_rank *p, struct ni_span name,
                       struct ni_span value);

/* After the last byte: sorts and reports. rdma, gdr: somebody expects that; gdr is rdma, too. */
void ni_log_judge(struct ni_log *log, bool rdma, bool gdr, struct ni_findings *f);

/* The number of the text, 0 when there is no room; the text of the number. */
ni_kept ni_log_keep(struct ni_log *log, struct ni_span s);
const char *ni_log_word(const struct ni_log *log, ni_kept w);
/* "ranks 0-7, 12 (node-a, node-b)": those with this mark. */
void ni_log_put_ranks(struct ni_text *t, const struct ni_log *log, unsigned mark);
/* What its channels number so: "mlx5_6:1/RoCE", "a:1/IB+b:1/IB"; "fused number 8" behind its list,
   "number 0" without one. Returns whether the list names it. */
bool ni_log_put_hca(struct ni_text *t, const struct ni_log *log, const struct ni_log_rank *r,
                    unsigned number);

#endif
