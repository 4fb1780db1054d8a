/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a log while it is read and after: texts, each kept once; ranks, settings, notes. */
#ifndef NCCL_INIT_LOG_STATE_H
#define NCCL_INIT_LOG_STATE_H

#include "log/patterns.h"
#include "log/set.h"
#include "nccl_init/findings.h"
#include "nccl_init/text.h"

struct ni_log_rank;

/* A text that is kept once: equal numbers are equal texts; 0: none. */
typedef uint32_t ni_log_text;

enum {
    NI_LOG_BUF = 1 << 17, /* a longer line is read in pieces of this */
    NI_LOG_GPUS = 128,    /* GPUs of one process; 8 MI300X in CPX mode are 64 */
    /* names of variables; NCCL 2.30.7 prints 20 in a job of many settings */
    NI_LOG_NAMES = 64,
    NI_LOG_VERSION = 0,      /* the place of NCCL's version among them */
    NI_LOG_HCAS = 64,        /* 32, MAX_IB_DEVS of NCCL 2.30.7, and as many fused ones */
    NI_LOG_WORDS = 1 << 20,  /* different texts: eight for each rank */
    NI_LOG_PLACES = 1 << 12, /* of the hash table, at first: it is doubled before it is half full */
    NI_LOG_BYTES = 1 << 25,  /* bytes of all texts */
    NI_LOG_HITS = 64,        /* different faults */
    NI_LOG_NOTES = 1 << 18,  /* notes of programs and launchers: two for each process */
    NI_LOG_TRACES = 16,      /* Python's tracebacks whose last line is still to come */
    NI_LOG_LAST = 112,       /* bytes of the last line of a process */
    NI_LOG_NO_RANK = -2      /* lines of one process name several */
};

/* A quoted line. */
struct ni_log_quote {
    ni_log_text file, text;
    uint32_t line;
};

/* Kinds of notes about a rank, by its program or by its launcher. */
enum ni_log_said {
    NI_SAID_EXCEPTION, /* the last line of a traceback, what() of C++ */
    NI_SAID_ERROR,     /* a line that says in words of its own that something failed */
    NI_SAID_END,       /* an exit status, or a signal */
    NI_SAID_TERM,      /* the launcher itself was ended by a signal */
    NI_SAID_WAIT,      /* torch's watchdog: a collective that did not end in time */
    NI_SAID_BROKEN,    /* a collective that an error ended */
    NI_SAID_P2P,       /* torch makes a communicator for a send or a receive */
    NI_SAID_DONE       /* the number of the last collective that the rank called */
};

struct ni_log_note {
    enum ni_log_said said;
    int rank;           /* the rank in the line; -1: it has none */
    int pid;            /* the pid in the line; -1: it has none */
    ni_log_text stream; /* the launcher's prefix of the line, without times */
    struct ni_log_quote quote;
    bool follows;  /* another rank's fault, or one that NCCL names, is the cause */
    bool first;    /* the launcher says that this one failed first */
    bool is_fault; /* a pattern of a fault fits the exception's own line */
    bool weak;     /* of NI_SAID_ERROR: its words also stand in lines that do not matter */
    enum ni_log_stage stage; /* of NI_SAID_ERROR: that which its file had shown before it */
    /* the exit status, or the signal as a negative number; or the collective's number */
    int number;
    int waited; /* milliseconds */
    ni_log_text collective, group;
    uint64_t in, out; /* elements */
    /* of NI_SAID_EXCEPTION: the cause that its words tell; NULL: none, or one of any program's own */
    const char *meaning;
    ni_log_text host; /* of NI_SAID_END: where the process ran; 0: the line does not say it */
    /* ---- by ni_log_judge ---- */
    struct ni_log_rank *who; /* NULL: its process of NCCL is not known */
    bool told;
};

/* A line that may explain others. */
struct ni_log_mark {
    ni_log_text file; /* 0: there is none */
    uint32_t line;
    uint64_t time; /* in front of it, YYYYMMDDhhmmss; 0: it has none */
};

/* An open traceback of Python: it shows which lines may belong to it. */
struct ni_log_trace {
    ni_log_text stream;
    int rank;
    unsigned blanks; /* blanks in front of its first line */
    unsigned lines;  /* lines that it may still have; 0: it is closed */
};

/* A process, known by host and pid, and one GPU of it, as NCCL describes them: few of its lines
   have the rank. Each further GPU of the process has another of these, without the members about
   the process. */
struct ni_log_rank {
    struct ni_log_rank *process, *next; /* the first of the process; NULL after the last */
    ni_log_text name;                   /* "host:pid", by which it is found */
    ni_log_text host;
    ni_log_text network; /* "IB", "Socket", a plugin's; the last one in the log */
    bool tcp;            /* the plugin's libfabric uses TCP */
    ni_log_text hcas;    /* "mlx5_6:1/RoCE,mlx5_7:1/RoCE" as NCCL numbers them */
    ni_log_text boot;    /* "eth0:10.0.0.1", its first contact */
    ni_log_text gid;     /* the GID of the first queue pair */
    int gid_index;       /* -1: not told */
    /* the values that it took, by ni_log.name, and its version; 0: not known */
    ni_log_text value[NI_LOG_NAMES];
    uint64_t said;            /* the bits of the hits */
    ni_log_text file, stream; /* file and stream of its first line */
    uint32_t line;
    uint32_t until; /* its last line in that file */
    /* the last line before its first one, in the same file, that tells of an exception or an end */
    uint32_t fault_before;
    bool fell; /* the launcher names its pid and says how it ended */
    /* the times in front of its first line and of its last, YYYYMMDDhhmmss; 0: there is none */
    uint64_t since, till;
    enum ni_log_step step;
    /* the step to which the source files of its first WARN and of the way back from the error
       belong; NI_STEP_NONE: they do not tell */
    enum ni_log_step place;
    int attempt; /* the number in torchrun's path of its file, "attempt_1/"; 0: there is none */
    bool nvls, collnet;       /* collectives may use these, whose connections no line shows */
    struct ni_log_quote warn; /* its first NCCL WARN */
    bool unknown_warn;        /* no pattern fits that warning */
    bool returned;            /* the line after it shows that NCCL returned an error */
    ni_log_text last_file;    /* its last line */
    uint32_t last_line;
    char last[NI_LOG_LAST];
    /* ---- of the GPU, in the process's largest communicator ---- */
    int dev;               /* NCCL's number of the GPU; -1: not told */
    int rank, size, nodes; /* -1, 0, 0: not told */
    ni_log_text job, bus;  /* commId, the GPU's PCI address */
    uint32_t net, gdr;     /* ends of channels to other nodes, and those with GPUDirect RDMA */
    uint32_t sockets;      /* ends over sockets */
    uint16_t on_hca[NI_LOG_HCAS]; /* ends on each HCA of the list */
    bool several; /* communicators with different commIds: other ranks of the job may have others */
    bool started, complete, connected, ended;
    bool called_again; /* a collective after the first one */
    bool aborted;      /* ncclCommAbort, or an exit without ncclCommDestroy */
    /* a further communicator whose initialisation has begun and not ended; 0: none */
    ni_log_text begun, begun_job; /* its pointer, its commId */
    ni_log_text again;            /* the last one that began after all had ended; 0: none */
    int begun_size;
    struct ni_log_quote begun_at;
    /* ---- by ni_log_judge ---- */
    const struct ni_log_note *exception, *end, *wait; /* its first notes; NULL: none */
    const struct ni_log_note *p2p, *error;            /* likewise */
    int called;        /* the last collective that it called; -1: not told */
    ni_log_text group; /* group of the collective in which it waits; 0: not known */
    unsigned is;
    int nth;      /* its place in ni_log.order; -1: it does not count */
    bool earlier; /* of an attempt before the last one */
    bool later;   /* an earlier attempt had this rank */
    bool stale;   /* its communicator is that of the attempt before */
    bool met;     /* a rank of its communicator came farther than the bootstrap */
};

/* A fault, and the line in which it was seen first. */
struct ni_log_hit {
    const struct ni_pattern *row;
    unsigned flags;      /* the row's flags that apply to the line */
    ni_log_text subject; /* "mlx5_6:1" */
    ni_log_text file;
    uint64_t line, count; /* number of the first such line; count of all */
    uint64_t last;        /* the last such line: two patterns may fit one line */
    char quote[168];
    uint64_t bit;
    /* the last such line that names no process; file 0: there is none */
    ni_log_text nobodys_file;
    uint32_t nobodys_line;
};

struct ni_log {
    char buf[NI_LOG_BUF];
    size_t len;
    ni_log_text file;
    uint64_t line;  /* number of the present line in the file */
    uint64_t lines; /* of the files that were read to their end */
    uint64_t
        records; /* lines, parts of one between carriage returns, parts of one that is too long */
    bool rccl;
    uint32_t libraries;             /* a bit for each that printed a line: enum ni_log_library */
    bool info;                      /* it has a line of NCCL_DEBUG=INFO */
    ni_log_text version;            /* version in a line that names no process */
    ni_log_text name[NI_LOG_NAMES]; /* the variables; the first is at NI_LOG_VERSION + 1 */
    ni_log_text plan[NI_LOG_NAMES]; /* the values of the plan */
    bool planned;
    unsigned dropped; /* how much was dropped for lack of room */
    unsigned n_rank, n_hit, n_name, n_word;
    struct ni_log_rank rank[NI_LOG_RANKS];
    struct ni_log_hit hit[NI_LOG_HITS];
    uint32_t process_of[NI_LOG_WORDS];  /* of "host:pid": its place in rank + 1 */
    uint64_t seed;                      /* the seed of the hash; 0: not made yet */
    uint32_t places;                    /* places of the hash table that are in use; 0: none yet */
    uint32_t word_at[2 * NI_LOG_WORDS]; /* the places of the hash table */
    uint32_t word[NI_LOG_WORDS], text_len;
    char text[NI_LOG_BYTES];
    unsigned n_note;
    struct ni_log_note note[NI_LOG_NOTES];
    uint32_t note_of[NI_LOG_WORDS]; /* by the key of a note: its place + 1 */
    struct ni_log_trace trace[NI_LOG_TRACES];
    unsigned n_trace;         /* tracebacks that began; the next one gets n_trace % NI_LOG_TRACES */
    ni_log_text result_file;  /* the last file with ranks and a result of nccl-tests */
    unsigned n_result;        /* ranks that were looked at for a result */
    int members;              /* processes that are to announce themselves; 0: not told */
    struct ni_log_set member; /* the numbers of those that did */
    bool job_ran[NI_LOG_WORDS]; /* by commId: its collectives ran; 0: of a job not known */
    unsigned open;              /* tracebacks in `trace` whose end was not seen yet */
    uint64_t ignored; /* the last line that says that the program ignores an exception; 0: none */
    struct {
        ni_log_text file;
        int rank;
        bool first;
    } launcher; /* torchrun's list of failures, while it is read */
    struct {
        ni_log_text file;
        uint32_t line;
    } fault; /* the last exception or end */
    /* how often a process of NCCL began after an exception or an end: notes of the same kind count
       anew */
    uint32_t generation, generation_line;
    struct {
        ni_log_text file;
        enum ni_log_stage stage; /* the last one that a line of the file shows */
    } reached;
    struct ni_log_mark clue[NI_CLUE_END]; /* the last line of each kind, before `timeout` */
    struct ni_log_mark timeout;           /* the first line about a collective's time-out */
    bool boxed; /* a line of dashes began a message of Open MPI's, which another one ends */
    uint64_t boxed_at;
    ni_log_text cut_file; /* the file that ends within a line of NCCL */
    /* by ni_log_judge: */
    struct ni_log_set raised;        /* the numbers of the ranks with an exception */
    uint32_t owner_of[NI_LOG_WORDS]; /* by file or stream: the process's place in rank + 1 */
    struct ni_log_rank *order[NI_LOG_RANKS];   /* the ranks that count, by number */
    struct ni_log_rank *of_host[NI_LOG_RANKS]; /* the same ranks, by host */
    /* by the name of an HCA: the host, as the place of its first rank + 1 */
    uint32_t hca_of[NI_LOG_WORDS];
    unsigned n;
    unsigned attempts; /* of the job, as far as the log shows them: at least 1 */
    unsigned jobs;     /* jobs, or attempts whose order the log does not show; 0: a single one */
    bool at_once;      /* they ran at the same time: they are jobs */
    uint64_t job_since[NI_LOG_WORDS]; /* by commId: the first time of it; 0: not known */
    uint64_t job_till[NI_LOG_WORDS];  /* by commId: the last time of it */
    bool old_in_order;                /* all ranks of the earlier ones ended in order */
    unsigned alone; /* processes, if there are several and each is a job of its own; else 0 */
    bool job_failed[NI_LOG_WORDS];   /* by commId: a rank of it failed */
    bool job_over[NI_LOG_WORDS];     /* by commId: an earlier attempt */
    bool job_met[NI_LOG_WORDS];      /* by commId: a rank of it came farther than the bootstrap */
    bool old_in[NI_LOG_WORDS];       /* by file: it has processes of an earlier attempt */
    uint32_t now_last[NI_LOG_WORDS]; /* by file: first line of the last process that counts */
    uint32_t now_from[NI_LOG_WORDS]; /* by file: first line of a process that counts; 0: none */
    /* by file: the number of the only rank in it + 1, UINT32_MAX: of several */
    uint32_t only_rank[NI_LOG_WORDS];
    unsigned net, gdr; /* the sums */
    /* the first exception and the first exit that were reported, and the rank whose unknown warning
       was; NULL: none */
    const struct ni_log_note *exception, *exit;
    const struct ni_log_rank *warned;
    /* a line that says in words of its own that something failed, although nothing shows that the job
       did; NULL: there is none */
    const struct ni_log_quote *doubt;
    const struct ni_finding *untold; /* log.none, which says what else the log tells; NULL */
    const struct ni_finding *cause;  /* the finding that the sentence begins with; NULL: none */
    char sentence[1024];
    size_t job_at, job_end; /* the part of the sentence that tells of the job, behind the cause */
    bool fatal[NI_F_END];   /* findings from which the job died, whatever their severity */
    bool died;      /* NCCL returned an error in a process whose communicator is not complete */
    bool unmet;     /* what --expect demands does not hold */
    bool failed;    /* the exit status is 1 */
    bool not_known; /* it is 1 because nothing shows how the job fared */
};

/* Keep a text and return its number, 0: no room; return the text of a number. */
ni_log_text ni_log_keep(struct ni_log *log, struct ni_span s);
const char *ni_log_word(const struct ni_log *log, ni_log_text w);
/* Returns the pid of a process; -1: its name has none. */
int ni_log_pid(const struct ni_log *log, const struct ni_log_rank *process);

#endif
