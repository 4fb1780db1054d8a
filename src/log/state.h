/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a log while it is read and after: texts, each kept once; ranks, settings, notes. */
#ifndef NCCL_INIT_LOG_STATE_H
#define NCCL_INIT_LOG_STATE_H

#include "log/patterns.h"
#include "nccl_init/findings.h"
#include "nccl_init/text.h"

struct ni_log_rank;

/* A text that is kept once: equal numbers are equal texts; 0: none. */
typedef uint16_t ni_log_text;

enum {
    NI_LOG_BUF = 1 << 17,   /* a longer line is read in pieces of this */
    NI_LOG_RANKS = 8192,    /* the jobs that were seen have 4,096 */
    NI_LOG_GPUS = 128,      /* of one process; 8 MI300X in CPX mode are 64 */
    NI_LOG_NAMES = 64,      /* of variables; NCCL 2.30.7 prints 20 in a job of many settings */
    NI_LOG_HCAS = 64,       /* 32, MAX_IB_DEVS of NCCL 2.30.7, and what it fuses of them */
    NI_LOG_WORDS = 32768,   /* different texts */
    NI_LOG_BYTES = 1 << 20, /* all of them together */
    NI_LOG_HITS = 64,       /* different faults */
    NI_LOG_NOTES = 16384,   /* what programs and launchers said: two for each process */
    NI_LOG_TRACES = 16,     /* Python's tracebacks of which the last line is still to come */
    NI_LOG_LAST = 112,      /* of the last line of a process */
    NI_LOG_RAISED = 65536,  /* ranks, of which it is known whether they raised an exception */
    NI_LOG_NO_RANK = -2     /* lines of one process name several */
};

/* A line that is quoted. */
struct ni_log_quote {
    ni_log_text file, text;
    uint32_t line;
};

/* Kinds of notes about a rank, by its program or by its launcher. */
enum ni_log_said {
    NI_SAID_EXCEPTION, /* the last line of a traceback, what() of C++ */
    NI_SAID_END,       /* an exit status, or a signal */
    NI_SAID_TERM,      /* the launcher itself was ended by a signal */
    NI_SAID_WAIT,      /* torch's watchdog: a collective that did not end in time */
    NI_SAID_BROKEN,    /* a collective that an error ended */
    NI_SAID_DONE       /* the number of the last collective that the rank called */
};

struct ni_log_note {
    enum ni_log_said said;
    int rank;           /* as the line says; -1: it does not */
    int pid;            /* likewise */
    ni_log_text stream; /* what the launcher put in front of the line, without times */
    struct ni_log_quote quote;
    bool follows; /* another rank's fault, or one that NCCL names, is the cause */
    bool first;   /* the launcher saw this one first */
    int number;   /* the exit status, or the signal as a negative number; of a collective */
    int waited;   /* milliseconds */
    ni_log_text collective, group;
    uint64_t in, out; /* elements */
    /* ---- by ni_log_judge ---- */
    struct ni_log_rank *who; /* NULL: no process of NCCL is known for it */
    bool told;
};

/* A traceback of Python: which lines may be its own. */
struct ni_log_trace {
    ni_log_text stream;
    int rank;
    unsigned blanks; /* in front of its first line */
    unsigned lines;  /* that it may still have; 0: none is open here */
};

/* A process, known by host and pid, and its GPU, as NCCL describes them: few of its lines have the
   rank. A further GPU of the process is a further one of these, without what is told of the
   process. */
struct ni_log_rank {
    struct ni_log_rank *process, *next; /* the first of the process; NULL after the last */
    ni_log_text name;                   /* "host:pid", by which it is found */
    ni_log_text host;
    ni_log_text network; /* "IB", "Socket", a plugin's; the last */
    bool tcp;            /* what the plugin's libfabric uses */
    ni_log_text hcas;    /* "mlx5_6:1/RoCE,mlx5_7:1/RoCE" as NCCL numbers them */
    ni_log_text boot;    /* "eth0:10.0.0.1", its first contact */
    ni_log_text gid;     /* the address of the first queue pair's */
    int gid_index;       /* -1: not told */
    ni_log_text
        value[NI_LOG_NAMES];  /* its version; then what it took, by ni_log.name; 0: not told */
    uint64_t said;            /* the bits of the hits */
    ni_log_text file, stream; /* of its first line */
    uint32_t line;
    enum ni_log_step step;
    struct ni_log_quote warn; /* its first NCCL WARN */
    bool unknown_warn;        /* no pattern fits that */
    ni_log_text last_file;    /* its last line */
    uint32_t last_line;
    char last[NI_LOG_LAST];
    /* ---- of the GPU, in the process's largest communicator ---- */
    int dev;               /* NCCL's number of the GPU; -1: not told */
    int rank, size, nodes; /* -1, 0, 0: not told */
    ni_log_text job, bus;  /* commId, the GPU's PCI address */
    uint32_t net, gdr;     /* ends of channels to other nodes, and those with GPUDirect RDMA */
    uint32_t sockets;      /* ends over sockets */
    uint16_t on_hca[NI_LOG_HCAS]; /* ends on each of the list */
    bool several; /* communicators with different commIds: other ranks of the job may have others */
    bool started, complete, connected, ended;
    bool aborted; /* ncclCommAbort, or an exit without ncclCommDestroy */
    /* ---- by ni_log_judge ---- */
    const struct ni_log_note *exception, *end, *wait; /* its first ones; NULL: none */
    int called;        /* the last collective that it called; -1: not told */
    ni_log_text group; /* of the collective in which it waits; 0: not told */
    unsigned is, mark;
    bool earlier, later; /* a later process has its host, GPU and rank; an earlier one had */
};

/* A fault, and the line in which it was seen first. */
struct ni_log_hit {
    const struct ni_pattern *row;
    unsigned flags;      /* the row's that hold for the line */
    ni_log_text subject; /* "mlx5_6:1" */
    ni_log_text file;
    uint64_t line, count; /* of the first; of all such lines */
    uint64_t last;        /* of struct ni_log's lines: two patterns may fit one */
    char quote[168];
    uint64_t bit;
    bool nobodys; /* in a line that names no process */
};

struct ni_log {
    char buf[NI_LOG_BUF];
    size_t len;
    ni_log_text file;
    uint64_t line; /* of the file */
    uint64_t lines;
    bool rccl;
    ni_log_text version; /* told by a line that names no process */
    ni_log_text name[NI_LOG_NAMES],
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
    unsigned n_note;
    struct ni_log_note note[NI_LOG_NOTES];
    uint16_t note_of[NI_LOG_WORDS]; /* of what a note is about: its place + 1 */
    struct ni_log_trace trace[NI_LOG_TRACES];
    unsigned n_trace, open; /* how many there were; of the last ones those without their end */
    uint64_t ignored;       /* the line that says that the next traceback is of no importance */
    struct {
        ni_log_text file;
        int rank;
        bool first;
    } launcher;           /* torchrun's list of failures, while it is read */
    ni_log_text cut_file; /* ends within a line of NCCL */
    /* by ni_log_judge: */
    uint64_t raised[NI_LOG_RAISED / 64]; /* a bit for each rank with an exception */
    uint16_t owner_of[NI_LOG_WORDS]; /* of a file, of a stream: the process's place in rank + 1 */
    struct ni_log_rank *order[NI_LOG_RANKS];   /* those that count, by number */
    struct ni_log_rank *of_host[NI_LOG_RANKS]; /* the same, by host */
    uint16_t hca_of[NI_LOG_WORDS]; /* of a name: the host, as its first of these and 1 */
    unsigned n, left_out;
    unsigned net, gdr;              /* the sums */
    const struct ni_finding *cause; /* the finding that the sentence begins with; NULL: none */
    char sentence[1024], who[96];
    bool failed; /* the exit status is 1 */
};

/* The number of the text, 0 when there is no room; the text of the number. */
ni_log_text ni_log_keep(struct ni_log *log, struct ni_span s);
const char *ni_log_word(const struct ni_log *log, ni_log_text w);

#endif
