/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of sysroot as the probers use them: a fact that cannot be read gets its state and its
   finding. */
#ifndef NCCL_INIT_NODE_READ_H
#define NCCL_INIT_NODE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/text.h"
#include "node/forms.h"
#include "sysroot/files.h"
#include "sysroot/root.h"

/* The facts that a verb asks for. Each of them costs files. */
struct ni_ask {
    const char *hcas;     /* --hcas list, or NULL */
    const char *nccl;     /* --nccl: the file of NCCL's library, or NULL */
    const char *own_conf; /* an nccl.conf that nccl-init is writing now, not an administrator's */
    const char *network_status; /* a variable, or a path below the root; NULL: the usual places */
    const char *sockets;        /* --sockets list of interfaces to look at, or NULL */
    bool nvshmem;               /* nvshmem.conf files */
    bool gpus;                  /* the GPUs even where no HCA was given */
    bool gpu_facts; /* what people and launchers read of a GPU: number, NUMA node, CPUs near it */
    bool all;       /* for people: all that a rule may want, and the HCAs that are not the pod's */
    bool health;    /* also what only doctor looks at */
    bool image;     /* what the image brings for NCCL */
    bool drivers;   /* which driver each of the pod's HCAs has; with `image`, too */
    bool off;       /* mode=off: nothing */
};

struct ni_probe {
    const struct ni_dir *root; /* &top */
    struct ni_dir top;
    const struct ni_env *env;
    const struct ni_ask *ask;
    struct ni_inventory *inv;
    struct ni_findings *f;
    enum ni_source source;  /* the source that is asked now */
    bool lost;              /* a source could not be read: no weaker one may decide */
    bool has_dev;           /* the root shows device nodes: it is "/", or it has a dev/ */
    char path[2 * NI_PATH]; /* of the file that was read last, for findings about it */
    /* Listings, so that no prober needs 80 KiB of its own. Code that iterates over `names` may call
       code that lists into `inner`, and that may call code that lists into `files`; never the other
       way. */
    struct ni_names names, inner, files;
    char *text; /* a whole file: in `room`, or on the heap if that is too small */
    char room[1 << 20];
};

enum ni_need {
    NI_OPTIONAL, /* the file may be absent */
    /* the same; EINVAL is the driver's answer for a fact that it does not have: ABSENT */
    NI_NOT_EINVAL,
    NI_UNTOLD,  /* the same; a failure is not reported, since it was reported of another file */
    NI_REQUIRED /* the kernel always has it: its absence is reported, too */
};
enum ni_known ni_read_file(struct ni_probe *p, const struct ni_dir *dir, enum ni_need need,
                           char *buf, size_t cap, const char *fmt, ...) NI_PRINTF(6, 7);
enum ni_known ni_read_names(struct ni_probe *p, const struct ni_dir *dir, enum ni_need need,
                            struct ni_names *ret, const char *fmt, ...) NI_PRINTF(5, 6);
/* Reads a link below the root. */
enum ni_known ni_read_link(struct ni_probe *p, enum ni_need need, char *buf, size_t cap,
                           const char *fmt, ...) NI_PRINTF(5, 6);
/* Reads a whole file of any length into p->text, which is "" after an error. Reports nothing. */
ssize_t ni_read_whole(struct ni_probe *p, const struct ni_dir *dir, const char *path);
/* Reads a whole file below the root into p->text, and reports errors. */
enum ni_known ni_read_text(struct ni_probe *p, enum ni_need need, const char *path);
/* Cuts the first line off the text, without its newline; false: there is none. */
bool ni_line(char **rest, char **ret);
enum ni_known ni_is_there(struct ni_probe *p, const char *fmt, ...) NI_PRINTF(2, 3);
struct ni_num ni_read_num(struct ni_probe *p, const struct ni_dir *dir, enum ni_need need,
                          ni_parse_fn *parse, const char *fmt, ...) NI_PRINTF(5, 6);
/* Reports an error of reading p->path. answer: that of sysroot, -errno or not negative. */
enum ni_known ni_note(struct ni_probe *p, enum ni_need need, int64_t answer);
/* Reports that the text of p->path does not have the kernel's form (FACT_UNREADABLE). NI_BAD. */
enum ni_known ni_note_odd(struct ni_probe *p, const char *text);

#endif
