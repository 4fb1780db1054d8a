/* SPDX-License-Identifier: Apache-2.0 */
/* What the probers of this room share. Each prober reads one subject and fills its part of the
   inventory. */
#ifndef NCCL_INIT_FACTS_PROBE_H
#define NCCL_INIT_FACTS_PROBE_H

#include "nccl_init/facts.h"

struct ni_probe {
    const struct ni_dir *root; /* &top */
    struct ni_dir top;
    const struct ni_env *env;
    const struct ni_ask *ask;
    struct ni_inventory *inv;
    struct ni_findings *f;
    bool lost;       /* a source could not be read: no weaker one may decide */
    bool gpus_found; /* gpu.c: they were looked for */
    bool nodes;      /* device nodes count: on "/", and where the root has a dev/ */
    /* Listings, so that no prober keeps 80 KiB of its own. Who iterates over `names` may call what
       lists into `inner`, and that what lists into `files`; never the other way. */
    struct ni_names names, inner, files;
    char text[65536];       /* a whole file, likewise */
    char path[2 * NI_PATH]; /* of the last ni_read_file, for what is said of its content */
};

/* read.c: a small file below `dir`, as ni_read; a failure is told, and buf is "". */
enum ni_absence {
    NI_ABSENCE_IS_FINE,
    NI_ABSENCE_TELLS /* the kernel always has the file */
};
ssize_t ni_read_file(struct ni_probe *p, const struct ni_dir *dir, enum ni_absence absence,
                     char *buf, size_t cap, const char *fmt, ...) NI_PRINTF(6, 7);
/* The number of a state such as "4: ACTIVE" (drivers/infiniband/core/sysfs.c state_show). */
struct ni_num ni_read_state(struct ni_probe *p, const struct ni_dir *dir, enum ni_absence absence,
                            const char *name);

/* sources.c: which HCAs are the pod's; the first source that yields one decides, the others
   cross-check. */
void ni_probe_sources(struct ni_probe *p);
/* What opens, where another source decided. */
void ni_probe_uverbs(struct ni_probe *p);

/* The sources, in order of trust. Each adds claims; the ones that know HCAs only by name add
   those. */
void ni_source_option(struct ni_probe *p);
void ni_source_pcidevice(struct ni_probe *p);
void ni_source_sriovnet(struct ni_probe *p);
void ni_source_dra(struct ni_probe *p);
void ni_source_netstatus(struct ni_probe *p);
void ni_source_uverbs(struct ni_probe *p);
void ni_source_netdevs(struct ni_probe *p);
void ni_source_host(struct ni_probe *p);

/* A source's claim by its id, however spelt; NULL. */
struct ni_claim *ni_find_claim(struct ni_inventory *inv, enum ni_source source, struct ni_span id);
/* Adds one id; an id of no known form is reported and kept as such. NULL when there is no room. */
struct ni_claim *ni_add_claim(struct ni_probe *p, enum ni_source source, const char *from,
                              struct ni_span id);
/* Ids of a list, separated by `,`, `;` or blanks. */
void ni_add_claims(struct ni_probe *p, enum ni_source source, const char *from, const char *list);
/* A device that the source knows by its RDMA name. */
void ni_add_claim_name(struct ni_probe *p, enum ni_source source, const char *from,
                       const char *name);
/* What the source calls the RDMA device of a claim; a value that is no device name is reported. */
void ni_note_rdma_dev(struct ni_probe *p, struct ni_claim *c, const char *from, const char *name);

/* The entries of the environment that begin with prefix, sorted; how many. */
enum { NI_MAX_VARS = 256 };
unsigned ni_sorted_vars(struct ni_probe *p, const char *prefix, const char *vars[NI_MAX_VARS]);

/* rdma.c: claims to HCAs and ports; gid.c: the GID tables. */
void ni_resolve_claim(struct ni_probe *p, int claim);
void ni_probe_visible(struct ni_probe *p);
void ni_probe_pfs(struct ni_probe *p);
void ni_probe_rates(struct ni_probe *p);
/* Adds the HCA `name` with its ports, or finds it. Index, or -1 when there is no room. `claim`: by
   which it was given, -1; sole: its function has no other. */
int ni_add_hca(struct ni_probe *p, const char *name, int claim, const struct ni_dir *function,
               bool sole);
/* The directory of one HCA below the root. */
const char *ni_hca_dir(const struct ni_inventory *inv, const struct ni_hca *hca, char buf[NI_PATH]);
/* The directory of a port of inv->hca[hca]. */
enum { NI_PORT_PATH = NI_PATH + 32 };
const char *ni_port_dir(const struct ni_inventory *inv, int hca, unsigned port,
                        char buf[NI_PORT_PATH]);
/* The directory of its function; false for SoftRoCE, which has none. */
bool ni_function_dir(const struct ni_hca *h, char dir[NI_PATH]);
/* The RDMA device of /dev/infiniband/NODE, as ni_read; whether the node opens, as ni_openable. */
ssize_t ni_read_ibdev(struct ni_probe *p, enum ni_absence absence, const char *node,
                      char ibdev[NI_DEV_NAME]);
int ni_open_node(struct ni_probe *p, const char *node);
/* uverbsN */
bool ni_is_uverbs(const char *node);
/* What NCCL takes for the HCAs with NCCL_IB_MERGE_VFS=0. */
void ni_probe_unmerged(struct ni_probe *p);
/* The table of a given RoCE port, whose directory is `dir`, up to its first right entry. */
void ni_probe_first_gids(struct ni_probe *p, struct ni_port *port, const struct ni_dir *dir);
/* ... and to their ends: anew. */
void ni_probe_whole_gids(struct ni_probe *p);

/* gather.c: the function's own netdev, if it is in this namespace. */
void ni_probe_own_netdev(struct ni_probe *p, struct ni_hca *h);

/* pci.c: the chain of functions that a link below sys/ spells. */
void ni_probe_chain(struct ni_probe *p, struct ni_pci *pci, const char *fmt, ...) NI_PRINTF(3, 4);
/* The highest PCI address there is: stands for none, and sorts last. */
#define NI_LAST_BDF ((struct ni_bdf){UINT32_MAX, 0xff, 0xff, 0xff})
/* The PCI address of an RDMA device; NI_LAST_BDF when it has none. */
struct ni_bdf ni_class_bdf(struct ni_probe *p, const char *name);
void ni_probe_numa(struct ni_probe *p);

/* net.c */
void ni_probe_addresses(struct ni_probe *p); /* IPv4 of this namespace */
void ni_probe_routes(
    struct ni_probe *p); /* IPv4 routes, and by them the interfaces of the addresses */
void ni_probe_ipv6(struct ni_probe *p); /* IPv6 addresses and default route */
int ni_add_netdev(struct ni_probe *p, const char *name);
bool ni_is_local(const struct ni_inventory *inv, const uint8_t ip[NI_GID_BYTES]);

/* gpu.c: the pod's GPUs; false: AMD's are asked for, and it has none. */
bool ni_has_amd(struct ni_probe *p);
void ni_probe_gpus(struct ni_probe *p);    /* and one way of GPUDirect RDMA, if there is one */
void ni_probe_all_gdr(struct ni_probe *p); /* all ways */
void ni_probe_self(struct ni_probe *p);    /* self.c */
void ni_probe_kernel(struct ni_probe *p);  /* its version */
/* What only doctor asks for; after all the others. */
void ni_health_rdma(struct ni_probe *p);
void ni_health_pci(struct ni_probe *p);
void ni_health_drivers(struct ni_probe *p);
void ni_health_container(struct ni_probe *p);
void ni_probe_conf(struct ni_probe *p); /* conf.c */
/* The root for paths that a user chose. */
struct ni_dir ni_named_root(const struct ni_probe *p);
/* Whether a file that the user names can be read. */
enum ni_known ni_probe_readable(struct ni_probe *p, const char *path);
/* ni_find_user_value, once those files were read. */
const char *ni_users(const struct ni_probe *p, const char *name);

/* One small text file as a number; base 10, a sign allowed. */
struct ni_num ni_read_num(const struct ni_dir *dir, const char *path);
/* The same, and a finding where it is denied or malformed. */
struct ni_num ni_note_num(struct ni_probe *p, const char *path);
/* A number with one decimal at most and its unit, such as " Gb/sec", in thousandths. */
struct ni_num ni_read_rate(struct ni_probe *p, const char *path, const char *unit);
/* A finding FACT_UNREADABLE unless the file is just absent. Returns err. */
int ni_note_unreadable(struct ni_probe *p, const char *path, int err);
/* The same where the kernel always has the file: its absence is told too. */
int ni_note_missing(struct ni_probe *p, const char *path, int err);
/* Whether the path leads to something; a finding where that cannot be told. */
enum ni_known ni_is_there(struct ni_probe *p, const char *path);
/* A finding FACT_UNREADABLE: what was read has not the form that the kernel gives it. */
void ni_note_odd(struct ni_probe *p, const char *path, const char *text);

#endif
