/* SPDX-License-Identifier: Apache-2.0 */
/* Fault injection at the door: what the parts of this program share. docs/dev/fault-injection.md says
   what is injected and how an outcome is judged. */
#ifndef NCCL_INIT_TEST_INJECT_H
#define NCCL_INIT_TEST_INJECT_H
#include "cli/context.h"
#include "doctor/checks.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "sysroot/root.h"

/* ---- faults.c: what is injected ---- */

enum call { CALL_READ, CALL_LINK, CALL_LIST, CALL_EXISTS, CALL_OPEN, CALLS };

enum fault {
    FAULT_ENOENT,
    FAULT_EACCES,
    FAULT_EIO,
    FAULT_EINVAL,
    FAULT_MIDWAY, /* a listing: the first half, then EIO */
    FAULT_HALF,
    FAULT_EMPTY,
    FAULT_BINARY,
    FAULT_NUL,
    FAULT_LONG,
    FAULT_FORMAT,
    FAULT_NUMBER,
    FAULT_SEPARATORS,
    FAULT_DOTS,
    FAULT_BLANK,
    FAULT_EXTRA, /* a listing: what is there, and names that cannot be */
    FAULTS
};

const char *fault_name(enum fault f);

struct passed {
    enum call call;
    const char *path; /* below the root, without the first slash */
    bool gives;       /* a text, a target or names */
};

/* -errno of a fault that is an error; 0. */
int fault_error(enum fault f);
/* What a file or link holds then. Until the next call. */
struct ni_span fault_text(enum fault f, struct ni_span value);
/* The names of a listing that are not there. */
void fault_names(enum fault f, ni_take_fn *take, void *ctx);
/* Whether the fault can happen to this call, and what then comes is not what may be there. */
bool fault_can_happen(const struct passed *at, enum fault f);

/* ---- door.c: counts what passes the door, and fails one of it ---- */

enum { MAX_PASSED = 16384 };

/* Opens the .tree that all runs from now on read. 0 or -errno. */
int door_open(const char *tree);
/* The next run passes unharmed, and tells how much of the GID tables is in use: see cut_table. */
void door_measure(void);
/* The next run passes unharmed, and what passes is noted. */
void door_note(void);
/* The next run's read number `n`, from 0, fails so. */
void door_fail(unsigned n, enum fault f);
/* What was noted; *ret_n of it. */
const struct passed *door_passed(unsigned *ret_n);
/* Whether the fault happened. */
bool door_failed(void);
/* What the program has written to standard output since the last door_note or door_fail. */
struct ni_span door_output(void);

/* ---- cases.c: the golden cases ---- */

enum { MAX_ENTRIES = 2048, MAX_ARGS = 16 };

struct golden {
    char name[64], tree[128];
    char args[256]; /* words, NUL after each */
    char *arg[MAX_ARGS];
    unsigned n_arg;
    char text[1 << 18]; /* of the environment */
    char *env[MAX_ENTRIES + 1];
};

/* Names of all cases, sorted. */
unsigned golden_names(char names[][64], unsigned max);
bool golden_read(const char *name, struct golden *ret);

/* ---- one run of the program, and what came of it ---- */

struct result {
    int status;
    struct ni_plan plan;
    struct ni_findings findings;
    struct ni_diagnosis diagnosis;
};

/* Of the last run, if it was doctor's. */
extern struct ni_diagnosis diagnosis;

/* ---- judge.c ---- */

/* WITHOUT: as on a node that lacks what is said not to be there. */
enum verdict { SAME, LESS, DIFFERENT, WITHOUT, REFUSED, WRONG, VERDICTS };

/* What is so on the node: from the program's own look at it when nothing failed, which the golden
   tests hold to what people agreed to. */
struct truth {
    struct ni_inventory inv; /* of `plan`: whole tables */
    struct ni_plan plan;
};

/* What a run with a fault came to, beside the same run without. why: the reason of WRONG. */
enum verdict judge(const struct truth *truth, const struct result *clean,
                   const struct ni_context *ctx, int status, const struct passed *at,
                   enum fault fault, struct ni_text *why);

/* ---- settings.c, settings_gids.c: whether settings are right on the node ---- */

/* SAME, LESS, DIFFERENT but still true, or WRONG. */
enum verdict judge_settings(const struct truth *truth, const struct ni_plan *clean,
                            const struct ni_context *ctx, bool without, struct ni_text *why);

/* ---- words.c: whether a finding is about what failed ---- */

/* Whether what comes then may be so on a sound node, word for word: nobody can tell. */
bool may_be_so(const struct passed *at, enum fault fault);

bool names_fault(const struct truth *truth, const struct ni_finding *finding,
                 const struct passed *at);

#endif
