/* SPDX-License-Identifier: Apache-2.0 */
/* Findings: what the program reports to people. The catalogue (src/findings) has a row for each;
   docs/reference/findings.md has a heading for each id. */
#ifndef NCCL_INIT_FINDINGS_H
#define NCCL_INIT_FINDINGS_H

#include <stdbool.h>

#include "nccl_init/base.h"

struct ni_span;
struct ni_text;

/* ---- the catalogue ---- */

enum ni_severity { NI_INFO, NI_WARNING, NI_ERROR };

/* What a finding costs the job. */
enum ni_cost {
    NI_COST_FAILS,    /* it ends, hangs or computes nonsense */
    NI_COST_RDMA,     /* NCCL goes over TCP, or cannot open an HCA that it is to use */
    NI_COST_DEMAND,   /* what was asked for is not met */
    NI_COST_SLOWER,   /* a rail, GPUDirect RDMA or speed is lost */
    NI_COST_MAY_FAIL, /* with another version, later, or with another load */
    NI_COST_IGNORED,  /* a setting, a file or a device counts as if it were not there */
    NI_COST_NOTHING,  /* worth knowing */
};

/* The number of a finding. It is not seen outside, and changes with the catalogue; its id is
   permanent. Each subject has a range of them, and the names in a header of its own
   (findings/device.h: NI_F_HCA_NONE), so that a new one is compiled only where its subject is
   known. */
typedef unsigned ni_finding_number;

enum {
    NI_F_NONE = 0, /* no finding */
    NI_FINDINGS_DEVICE = 1,
    NI_FINDINGS_POD = 128,
    NI_FINDINGS_SETTING = 160,
    NI_FINDINGS_JOB = 224,
    NI_FINDINGS_VERBS = 288,
    NI_FINDINGS_LOG = 320,
    NI_F_END = 416
};

/* A row of the catalogue. The hint, who does what, has up to four parts; a part is whole
   sentences. */
struct ni_finding_kind {
    ni_finding_number number;
    const char *id; /* permanent, dotted; never renamed or reused */
    enum ni_cost cost;
    const char *note;  /* for everybody, and said first; NULL: nothing */
    const char *user;  /* what the user does; NULL: nothing */
    const char *admin; /* what the cluster admin does; NULL: nothing */
    bool admin_first;  /* the cluster admin's part is the better one, and comes before the user's */
    const char *trial; /* what --try=gpu tells here, and said last; NULL: nothing */
    /* a command to paste, behind who runs it: "In the pod: unset {user}"; src/print/command.c has the
       places for names. Several, each on a line: the first whose names are known. NULL: none */
    const char *command;
};

enum {
    NI_MAX_KINDS = 240, /* each takes room in all tables of findings */
    NI_MAX_AGAIN = 256,
    NI_MAX_FINDINGS = NI_MAX_KINDS + NI_MAX_AGAIN,
    NI_MAX_ADVICE = 4,
    NI_FINDING_MESSAGE = 480, /* names of two pods and their nodes, of 63 letters each, and why */
    NI_FINDING_HINT = 480
};

/* Returns the row of a finding; that of NI_F_NONE, without id and hint, if there is none of this
   number. */
const struct ni_finding_kind *ni_finding_kind(ni_finding_number number);
/* Return the id and the severity of a finding of the catalogue. */
const char *ni_finding_id(ni_finding_number number);
enum ni_severity ni_finding_severity(ni_finding_number number);
const char *ni_severity_text(enum ni_severity severity); /* "info", "warning", "error" */
const char *ni_cost_text(enum ni_cost cost);             /* "the job is slower" */
/* Returns the finding that has this permanent id; NI_F_NONE: none has. */
ni_finding_number ni_finding_named(struct ni_span id);
/* Lists all findings in the order of their ids, as people read them. Returns their number. */
unsigned ni_list_finding_kinds(ni_finding_number ret[NI_MAX_KINDS]);

/* ---- the findings of a run ---- */

struct ni_finding {
    ni_finding_number id;
    char subject[96]; /* "mlx5_6/1", "PCIDEVICE_X", a path */
    char message[NI_FINDING_MESSAGE];
    bool in_refusal;  /* the plan's reason to refuse the command says the same */
    const char *user; /* what the user does here, in place of the catalogue's part: whole sentences,
                         never freed; NULL: that one; "": nothing */
    const char *admin; /* likewise the cluster admin */
    bool no_command;   /* the catalogue's command does not help here */
    bool no_trial;     /* as in struct ni_findings */
};

/* A part of a hint. */
struct ni_advice {
    const char *who;   /* "user", "cluster admin"; NULL: everybody */
    const char *label; /* the same before the text: "User: ", "" */
    const char *text;
};

/* Lists the parts of a finding's hint, in the order in which they are said. Returns their number. */
unsigned ni_finding_advice(const struct ni_finding *f, struct ni_advice ret[NI_MAX_ADVICE]);
/* Puts the whole hint: "The rest is ignored. User: restart the pod." */
void ni_put_hint(struct ni_text *t, const struct ni_finding *f);

/* The findings, in the order in which they were reported. There is always room for the first of
   each id, so that its severity counts, and for NI_MAX_AGAIN others; later ones are only counted.
   */
struct ni_findings {
    unsigned n;
    unsigned dropped;
    bool no_trial; /* for those that follow: GPU memory cannot be tried here */
    struct ni_finding at[NI_MAX_FINDINGS];
};

/* Adds a finding. Subject and arguments may be untrusted: bytes other than printable ASCII become
   \xHH. The same id, subject and message are kept once. Returns the one that is kept; NULL: it was
   only counted. */
struct ni_finding *ni_report(struct ni_findings *f, ni_finding_number id, const char *subject,
                             const char *fmt, ...) NI_PRINTF(4, 5);
/* Sorts the findings from index `from` on by subject, id and message, for a caller that found them
   in an order without a meaning. */
void ni_findings_sort(struct ni_findings *f, unsigned from);
/* Returns the number of findings of exactly this severity. */
unsigned ni_findings_count(const struct ni_findings *f, enum ni_severity severity);
bool ni_findings_has(const struct ni_findings *f, ni_finding_number id);
/* Takes out each finding about a fact of which a stronger one tells. */
void ni_findings_drop_weaker(struct ni_findings *f);

#endif
