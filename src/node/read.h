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
#include "sysroot/files.h"
#include "sysroot/root.h"

/* The facts that a verb asks for. Each of them costs files. */
struct ni_ask {
    const char *hcas;     /* --hcas list, or NULL */
    const char *own_conf; /* an nccl.conf that is being written now: ours, no administrator's */
    const char *network_status; /* a variable, or a path below the root; NULL: the usual places */
    const char *sockets;        /* --sockets list of interfaces to look at, or NULL */
    bool nvshmem;               /* nvshmem.conf files */
    bool gpus;                  /* the GPUs even where no HCA was given */
    bool all;    /* for people: all that a rule may want, and the HCAs that are not the pod's */
    bool health; /* also what only doctor looks at */
    bool off;    /* mode=off: nothing */
};

struct ni_probe {
    const struct ni_dir *root; /* &top */
    struct ni_dir top;
    const struct ni_env *env;
    const struct ni_ask *ask;
    struct ni_inventory *inv;
    struct ni_findings *f;
    enum ni_source source;  /* that is being asked */
    bool lost;              /* a source could not be read: no weaker one may decide */
    bool nodes;             /* device nodes count: on "/", and where the root has a dev/ */
    char path[2 * NI_PATH]; /* of the file last read, for what is said of its content */
    /* Listings, so that no prober keeps 80 KiB of its own. Who iterates over `names` may call what
       lists into `inner`, and that what lists into `files`; never the other way. */
    struct ni_names names, inner, files;
    char *text; /* a whole file, likewise: `room`, or the heap's where that is too small */
    char room[1 << 20];
};

enum ni_need {
    NI_OPTIONAL,   /* the file may be absent */
    NI_NOT_EINVAL, /* the same; and the driver answers EINVAL where it has nothing to tell: ABSENT */
    NI_UNTOLD,     /* the same; what fails was told of another file, and is not reported */
    NI_REQUIRED    /* the kernel always has it: its absence is reported, too */
};
/* A small file that holds one number. false: it has not that form. */
typedef bool ni_parse_fn(const char *text, int64_t *ret);
enum ni_known ni_read_file(struct ni_probe *p, const struct ni_dir *dir, enum ni_need need,
                           char *buf, size_t cap, const char *fmt, ...) NI_PRINTF(6, 7);
enum ni_known ni_read_names(struct ni_probe *p, const struct ni_dir *dir, enum ni_need need,
                            struct ni_names *ret, const char *fmt, ...) NI_PRINTF(5, 6);
/* Below the root. */
enum ni_known ni_read_link(struct ni_probe *p, enum ni_need need, char *buf, size_t cap,
                           const char *fmt, ...) NI_PRINTF(5, 6);
/* A whole file of any length, to p->text, which is "" on errors; unreported. */
ssize_t ni_read_whole(struct ni_probe *p, const struct ni_dir *dir, const char *path);
/* The same, below the root. */
enum ni_known ni_read_text(struct ni_probe *p, enum ni_need need, const char *path);
/* Cuts the first line off the text, without its newline; false: there is none. */
bool ni_line(char **rest, char **ret);
enum ni_known ni_is_there(struct ni_probe *p, const char *fmt, ...) NI_PRINTF(2, 3);
struct ni_num ni_read_num(struct ni_probe *p, const struct ni_dir *dir, enum ni_need need,
                          ni_parse_fn *parse, const char *fmt, ...) NI_PRINTF(5, 6);
bool ni_parse_int(struct ni_span s, int64_t max, int64_t *ret); /* digits alone */
bool ni_parse_number(const char *text, int64_t *ret);           /* a sign allowed */
bool ni_parse_0x(const char *text, int64_t *ret);               /* "0x15b3": 4, 6 or 16 digits */
/* "4: ACTIVE" (drivers/infiniband/core/sysfs.c state_show) */
bool ni_parse_state(const char *text, int64_t *ret);
/* "400 Gb/sec (4X NDR)", "2.5 GT/s PCIe", in thousandths */
bool ni_parse_rate(const char *text, int64_t *ret);
/* "7"; "unlimited" or "max"; else NI_BAD. */
struct ni_num ni_num_of(struct ni_span word);
/* The finding for p->path after a call of sysroot, whose answer it was: -errno, or not negative.
   */
enum ni_known ni_note(struct ni_probe *p, enum ni_need need, int64_t answer);
/* The finding FACT_UNREADABLE that what was read at p->path is not of the kernel's form. NI_BAD. */
enum ni_known ni_note_odd(struct ni_probe *p, const char *text);

#endif
