/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns: the one place that has the wording of NCCL and of programs beside it. */
#ifndef NCCL_INIT_LOG_PATTERNS_H
#define NCCL_INIT_LOG_PATTERNS_H

#include "nccl_init/findings.h"
#include "nccl_init/text.h"

/* The use of a line that fits. */
enum ni_log_take {
    NI_TAKE_FAULT,
    NI_TAKE_HEADER,  /* host:pid:tid [dev] of a record */
    NI_TAKE_DIAG,    /* ranks, communicator, a variable that differs between them */
    NI_TAKE_PROGRAM, /* a program or a launcher printed it: row->flags is an enum ni_log_program */
    NI_TAKE_RESULT,  /* the collectives of nccl-tests have run */
    NI_TAKE_MILD,    /* a warning by which nothing is lost */
    NI_TAKE_CLUE,    /* it explains other lines: row->flags is the enum ni_log_clue */
    NI_TAKE_VERSION,
    NI_TAKE_VALUE, /* the variable's name stands before the text, its value after it */
    NI_TAKE_BOOT,
    NI_TAKE_HCAS,
    NI_TAKE_NETWORK,
    NI_TAKE_COMM,
    NI_TAKE_NODES,
    NI_TAKE_CHANNEL,
    NI_TAKE_CONNECTED,
    NI_TAKE_COLLNET,
    NI_TAKE_CALL, /* a collective is called: the number of those before it */
    NI_TAKE_GID,
    NI_TAKE_ABORT,
    NI_TAKE_STEP, /* row->flags is the enum ni_log_step */
    NI_TAKE_ERROR /* it says that something failed; row->flags: WEAK, or 0 */
};

/* Who prints a line. */
enum ni_log_library {
    NI_LIBRARY_NCCL,
    NI_LIBRARY_RCCL,
    NI_LIBRARY_GIB,
    NI_LIBRARY_GLOO,
    NI_LIBRARY_HOROVOD,
    NI_LIBRARY_JAX,
    NI_LIBRARY_KUBERNETES,
    NI_LIBRARY_LIBC,
    NI_LIBRARY_LIGHTNING,
    NI_LIBRARY_MOONCAKE,
    NI_LIBRARY_MPI,
    NI_LIBRARY_NVSHMEM,
    NI_LIBRARY_OFI,
    NI_LIBRARY_PROGRAM,
    NI_LIBRARY_PYTHON,
    NI_LIBRARY_RAY,
    NI_LIBRARY_SHELL,
    NI_LIBRARY_SLURM,
    NI_LIBRARY_SSH,
    NI_LIBRARY_TESTS,
    NI_LIBRARY_TORCH,
    NI_LIBRARY_UCX,
    NI_LIBRARY_VERBS,
    NI_LIBRARY_VLLM,
    NI_LIBRARY_END
};

/* The life of a job, in this order. */
enum ni_log_stage {
    NI_STAGE_ANY,       /* of a line: it may be in several */
    NI_STAGE_LAUNCHER,  /* processes are started on the nodes */
    NI_STAGE_NAMES,     /* the name of rank 0's host is looked up */
    NI_STAGE_STORE,     /* the processes meet at rank 0's store */
    NI_STAGE_BOOTSTRAP, /* NCCL's ranks meet */
    NI_STAGE_INIT,      /* NCCL chooses networks, reads the topology, computes channels */
    NI_STAGE_NETWORK,   /* NCCL connects the ranks */
    NI_STAGE_RUNNING,   /* collectives run */
    NI_STAGE_END        /* the communicators were destroyed in order */
};

/* Lines beside NCCL's, for program.c. */
enum ni_log_program {
    NI_PROGRAM_TRACEBACK,
    NI_PROGRAM_IGNORED,  /* the next traceback is of no importance */
    NI_PROGRAM_THROWN,   /* the rest is an exception's text */
    NI_PROGRAM_WAIT,     /* number, name, elements in, elements out, milliseconds */
    NI_PROGRAM_SHORT,    /* the same without elements */
    NI_PROGRAM_GROUP,    /* its group, rank in it, number, last called */
    NI_PROGRAM_CALLED,   /* the last called */
    NI_PROGRAM_P2P,      /* a send or a receive makes a communicator of its own */
    NI_PROGRAM_FIRST,    /* torchrun's root cause follows */
    NI_PROGRAM_RANK,     /* the rank to which the next lines belong */
    NI_PROGRAM_EXITCODE, /* its exit status, and pid */
    NI_PROGRAM_FAILED,   /* exit status, local rank, pid */
    NI_PROGRAM_MEMBER,   /* its rank, its number from 1, how many there are to be */
    NI_PROGRAM_MET,      /* all of them have come */
    NI_PROGRAM_DIED,     /* pid, exit status or signal */
    NI_PROGRAM_TERM,     /* pid of the launcher, signal */
    NI_PROGRAM_TASK,     /* Slurm: number of the task, how it ended */
    NI_PROGRAM_EXITED,   /* mpirun: rank, pid, host, signal */
    NI_PROGRAM_CAUGHT,   /* the signal that a handler of UCX or MPI reports, behind "[host:pid" */
    NI_PROGRAM_SIGNAL_4,
    NI_PROGRAM_SIGNAL_7,
    NI_PROGRAM_SIGNAL_8,
    NI_PROGRAM_SIGNAL_9,
    NI_PROGRAM_SIGNAL_11
};

/* Steps of NCCL's initialisation that its lines show, in this order. */
enum ni_log_step {
    NI_STEP_NONE,
    NI_STEP_DRIVER,   /* it has CUDA's driver */
    NI_STEP_BOOT,     /* its first contact: it has an interface */
    NI_STEP_START,    /* it has a network */
    NI_STEP_MET,      /* all ranks have met */
    NI_STEP_TOPOLOGY, /* it has read the topology */
    NI_STEP_RANKS,    /* it has all ranks' topology */
    NI_STEP_CHANNELS, /* it has computed the channels */
    NI_STEP_RINGS,    /* it has connected its rings, or its trees */
    NI_STEP_NVLS,     /* it has begun NVLink multicast */
    NI_STEP_LAST,     /* what remains is the last barrier */
    NI_STEP_COMPLETE
};

/* Lines that say nothing of a fault, and explain one of another line. */
enum ni_log_clue {
    NI_CLUE_FILE_INIT,  /* the ranks meet by a file: init_method file:// */
    NI_CLUE_GID_LOCAL,  /* an HCA is used with a link-local GID */
    NI_CLUE_CHECKPOINT, /* a checkpoint is written */
    NI_CLUE_END
};

/* Flags of a fault. */
enum {
    FOLLOWS = 1,           /* usually another rank's fault is the cause */
    NO_GDR = 2,            /* harmless if its channels have GPUDirect RDMA */
    NI_PATTERN_LAST = 4,   /* not if the line says that NCCL or torch tries again */
    WARN = 8,              /* not of an INFO line: NCCL only tried something */
    NI_PATTERN_INDEX = 16, /* if the user set NCCL_IB_GID_INDEX, that is the cause */
    /* a reason why there is no RDMA; harmless if RDMA is not needed, or is used */
    WHY = 32,
    LATE = 64, /* harmless if torch only warns of it, and the ranks have met */
    /* not for a process over sockets: NCCL prints it about interfaces, too */
    OF_NET = 128,
    /* NCCL returns an error after it: if the job died, it is a cause, although others only warn of
       it */
    FATAL = 256,
    MORE = 512,       /* other words of the line say which fault it is: ni_log_narrow */
    GAVE_UP = 1024,   /* the store closed before all ranks had come */
    NO_STORE = 2048,  /* a rank found no store */
    IF_FAILED = 4096, /* harmless unless something raised an exception or ended with an error */
    GENERAL = 8192,   /* not if another pattern knows the line */
    WEAK = 16384,     /* its words also stand in lines that do not matter */
    /* whole words: no letter, digit, '_' or '=' stands beside them */
    WORD = 32768,
    IN_ORDER = 65536, /* harmless if all ranks ended in order and nothing failed */
    /* the line is not what the rows of other libraries take it for: none of them counts */
    ALONE = 131072,
    JOB_ENDED = 262144, /* the launcher ended the whole job: other ranks' losses follow from it */
    NAMED = 524288,     /* its first word is the host or the process that the line is about */
    /* what is left of a job when another process has ended; alone it shows no failure */
    AFTERMATH = 1048576,
    /* those by which other lines of the log may make it harmless */
    NI_PATTERN_DEPENDS = NO_GDR | WHY | LATE | OF_NET | IF_FAILED | NI_PATTERN_LAST | IN_ORDER
};

enum {
    NI_PATTERN_WORDS = 320, /* between the braces of all rows */
    /* bytes of a word, or of the rest of a line: PATH_MAX, a list of 128 HCAs */
    NI_PATTERN_FAR = 4096
};

struct ni_pattern {
    /* %s is a word, %d a number, %x a hex number, %{a|b} anything up to one of these, %r the rest.
       A pattern begins with the words by which it is found; its end is open, for NCCL adds to its
       lines. */
    const char *text;
    enum ni_log_library library; /* that prints it */
    const char *versions;        /* of that library whose source has it, or whose log showed it */
    enum ni_log_stage stage;     /* of a fault: where in a job's life it stands */
    enum ni_log_take take;
    ni_finding_number id; /* of a fault */
    unsigned flags;
    const char *cause; /* the meaning of this line; NULL: that of its finding, ni_log_cause */
    /* what the user and the cluster admin do; both NULL: what the finding says */
    const char *user, *admin;
};

/* The names of the libraries. */
extern const char *const ni_log_library[NI_LIBRARY_END];
/* What the user does who sees an error of a library: how it tells more; NULL: nothing special. */
extern const char *const ni_log_ask[NI_LIBRARY_END];
/* The meaning of each finding in a log: a sentence without a full stop. */
extern const char *const ni_log_cause[NI_F_END];
extern const struct ni_pattern ni_patterns[];
extern const unsigned ni_patterns_count;

/* A place that a pattern fits; of several patterns that begin there the first in the table. capture
   has the text of %s, %d, %x and %r. */
struct ni_found {
    const struct ni_pattern *row;
    const char *at;
    struct ni_span capture[8];
};
/* Finds all places in the line, from the left, up to max. */
unsigned ni_patterns_find(const char *p, const char *end, struct ni_found found[], unsigned max);

/* Returns the row that fits the line better than this one, which its other words choose: the code of
   CUDA, the GIDs of both ends. It lasts. The row itself if there is none. */
const struct ni_pattern *ni_log_narrow(const struct ni_pattern *row, struct ni_span line,
                                       const char *at);

/* Returns the row of the code of CUDA that the text has, by number or by words; NULL: it has none
   that is known. It lasts. */
const struct ni_pattern *ni_log_cuda(struct ni_span text);

/* Returns true if the text only says that another rank or NCCL failed; NCCL's own lines say why. */
bool ni_log_is_consequence(struct ni_span text);

/* Returns true if that network is sockets. tcp: libfabric has nothing else. */
bool ni_log_is_sockets(struct ni_span network, bool tcp);

#endif
