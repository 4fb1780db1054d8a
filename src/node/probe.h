/* SPDX-License-Identifier: Apache-2.0 */
/* What the probers of this room share. Each prober reads one subject and fills its part of the
   inventory. */
#ifndef NCCL_INIT_FACTS_PROBE_H
#define NCCL_INIT_FACTS_PROBE_H

#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/given.h"
#include "nccl_init/inventory.h"
#include "nccl_init/pci.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "node/node.h"
#include "sysroot/sysroot.h"

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

/* ---- read.c: the door's calls. What fails is reported as FACT_UNREADABLE, and buf is "" ---- */

enum ni_need {
    NI_OPTIONAL,   /* the file may be absent */
    NI_NOT_EINVAL, /* the same; and the driver answers EINVAL where it has nothing to tell: ABSENT */
    NI_UNTOLD,     /* the same; what fails was told of another file, and is not reported */
    NI_REQUIRED    /* the kernel always has it: its absence is reported, too */
};
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
/* Cuts the first line off the text, without its newline; NULL: there is none. */
char *ni_line(char **rest);
enum ni_known ni_is_there(struct ni_probe *p, const char *fmt, ...) NI_PRINTF(2, 3);
/* A small file that holds one number. false: it has not that form. */
typedef bool ni_parse_fn(const char *text, int64_t *ret);
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
/* The finding for p->path after a call of the door, whose answer it was: -errno, or not negative. */
enum ni_known ni_note(struct ni_probe *p, enum ni_need need, int64_t answer);
/* The finding FACT_UNREADABLE that what was read at p->path is not of the kernel's form. NI_BAD. */
enum ni_known ni_note_odd(struct ni_probe *p, const char *text);

/* ---- sources.c: which HCAs are the pod's. The first source that yields one decides, the others
        cross-check ---- */

void ni_probe_sources(struct ni_probe *p);
void ni_probe_uverbs(struct ni_probe *p); /* what opens, where another source decided */

/* The sources, in order of trust. Each adds claims. */
typedef void ni_source_fn(struct ni_probe *p);
ni_source_fn ni_source_option, ni_source_pcidevice, ni_source_sriovnet, ni_source_dra,
    ni_source_netstatus, ni_source_uverbs, ni_source_netdevs, ni_source_host;

/* Claims, all of p->source. Its claim by that id, however spelt; NULL. */
struct ni_claim *ni_find_claim(struct ni_probe *p, struct ni_span id);
/* Adds the id, or finds it; one of no known form is reported and kept as such. NULL: no room. */
struct ni_claim *ni_add_claim(struct ni_probe *p, const char *from, struct ni_span id);
/* Ids of a list, separated by `,`, `;` or blanks. */
void ni_add_claims(struct ni_probe *p, const char *from, const char *list);
/* A device that the source knows by its RDMA name. */
void ni_add_claim_name(struct ni_probe *p, const char *from, const char *name);
/* What the source calls the RDMA device of a claim; a value that is no device name is reported. */
void ni_note_rdma_dev(struct ni_probe *p, struct ni_claim *c, const char *from, const char *name);

/* ---- rdma.c: claims to HCAs and ports ---- */

void ni_resolve_claim(struct ni_probe *p, int claim);
void ni_probe_visible(struct ni_probe *p);
/* NI_WANT_UNMERGED, NI_WANT_PFS, NI_WANT_RATES. */
void ni_probe_hcas(struct ni_probe *p, unsigned wants);
/* uverbsN; its RDMA device. */
bool ni_is_uverbs(const char *node);
enum ni_known ni_read_ibdev(struct ni_probe *p, enum ni_need need, const char *node,
                            char ibdev[NI_DEV_NAME]);

/* ---- gid.c: a given RoCE port's table, up to its first right entry; all to their ends ---- */

void ni_probe_first_gids(struct ni_probe *p, struct ni_port *port, const struct ni_dir *dir);
void ni_probe_whole_gids(struct ni_probe *p);

/* ---- pci.c ---- */

/* The chain of functions that the link at `path` below the root spells. */
void ni_probe_chain(struct ni_probe *p, struct ni_pci *pci, const char *path);
/* The PCI address of an RDMA device; NI_LAST_BDF when it has none. */
struct ni_bdf ni_class_bdf(struct ni_probe *p, const char *name);
void ni_probe_numa(struct ni_probe *p);

/* ---- data_direct.c: of the pod's HCAs; after their PFs ---- */

void ni_probe_data_direct(struct ni_probe *p);

/* ---- net.c ---- */

void ni_probe_addresses(struct ni_probe *p); /* IPv4 */
void ni_probe_routes(struct ni_probe *p);    /* and by them the interfaces of the addresses */
void ni_probe_ipv6(struct ni_probe *p);      /* addresses and default route */
void ni_probe_routes6(struct ni_probe *p);
/* Adds the interface, or finds it. Its index; -1: no room, or no name. */
int ni_add_netdev(struct ni_probe *p, const char *name);

/* Somebody says that the interface was given to the pod. */
void ni_note_given_netdev(struct ni_probe *p, const char *name);

/* ---- gpu.c ---- */

bool ni_has_amd(struct ni_probe *p);       /* the container has AMD's compute node */
void ni_probe_gpus(struct ni_probe *p);    /* and one way of GPUDirect RDMA, if there is one */
void ni_probe_all_gdr(struct ni_probe *p); /* all ways */
void ni_probe_gpu_ids(struct ni_probe *p);

/* ---- conf.c ---- */

void ni_probe_conf(struct ni_probe *p);
void ni_probe_topo_file(struct ni_probe *p); /* whether it can be read */

/* ---- self.c ---- */

void ni_probe_self(struct ni_probe *p);
void ni_probe_kernel(struct ni_probe *p); /* its version */

/* ---- health.c: what only doctor asks for; after all the others ---- */

void ni_probe_health(struct ni_probe *p);

#endif
