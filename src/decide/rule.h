/* SPDX-License-Identifier: Apache-2.0 */
/* What the rules of this room share. */
#ifndef NCCL_INIT_DECIDE_RULE_H
#define NCCL_INIT_DECIDE_RULE_H

#include "nccl_init/decide.h"

/* ni_find_user_value, whatever its file. */
const char *ni_user_value(const struct ni_facts *facts, const char *name);
/* That value as NCCL reads an integer: strtoll base 0, garbage is 0; empty, unset or beyond 64 bits
   is `otherwise` (misc/param.cc). */
int64_t ni_user_int(const struct ni_facts *facts, const char *name, int64_t otherwise);

/* Decides one variable. value NULL: better left unset. Where the user or a conf file has set it,
   that stays, and the plan says what the rule would have said. The one place of the precedence. */
void ni_decide_value(const struct ni_facts *facts, struct ni_plan *plan, const char *rule,
                     const char *name, const char *value, struct ni_findings *f, const char *fmt,
                     ...) NI_PRINTF(7, 8);

void ni_keep(struct ni_plan *plan, int port, const char *rule, const char *fmt, ...)
    NI_PRINTF(4, 5);
void ni_drop(struct ni_plan *plan, int port, const char *rule, const char *fmt, ...)
    NI_PRINTF(4, 5);
/* "mlx5_6/1", the subject of findings about a port. Returns buf. */
const char *ni_port_text(const struct ni_inventory *inv, int port, char buf[NI_DEV_NAME + 8]);
const struct ni_gid *ni_port_gid(const struct ni_inventory *inv, const struct ni_port *port,
                                 unsigned i);

/* Sockets by the user's own choice: --mode, NCCL_IB_DISABLE, NCCL_NET (transport.c). */
bool ni_wants_tcp(const struct ni_facts *facts);
/* Left in by --hcas and by the user's NCCL_IB_HCA, where there are such (ports.c). */
bool ni_is_listed(const struct ni_facts *facts, int port);

/* NCCL uses a port that the plan leaves out, for the user's NCCL_IB_HCA takes it (ports.c). */
bool ni_takes_left_out(const struct ni_facts *facts, const struct ni_plan *plan, int port);

/* The HCAs that were not given to the pod, but open in it, and that the user's NCCL_IB_HCA takes: NCCL
   uses them (ports.c). false: none. */
bool ni_put_foreign(const struct ni_facts *facts, const struct ni_plan *plan, struct ni_text *t);

/* The interface of the default route, if it can serve; NULL (socket.c). */
const char *ni_pod_interface(const struct ni_facts *facts);

/* What is wrong with the HCA's device node, as a clause; false for nothing that is known
   (ports.c). */
bool ni_put_node(const struct ni_uverbs *node, struct ni_text *t);

/* How far apart NCCL will see two functions (distance.c). */
enum ni_distance ni_pci_distance(const struct ni_pci *a, const struct ni_pci *b);

/* Whether the node can do GPUDirect RDMA at all, given a GPU and a port; *ret_why where not, with a
   finding (gdr.c). */
bool ni_can_gdr(const struct ni_facts *facts, struct ni_findings *f, const char **ret_why);

/* NCCL's settings of its GID search (gid_search.c). */
struct ni_gid_search {
    bool v6;        /* NCCL_IB_ADDR_FAMILY=AF_INET6 */
    bool ranged;    /* NCCL_IB_ADDR_RANGE */
    bool nothing;   /* ... that no entry is in */
    bool bad_range; /* ... that NCCL ignores */
    uint8_t range[NI_GID_BYTES];
    unsigned bits;   /* of the 128 */
    int64_t version; /* NCCL_IB_ROCE_VERSION_NUM */
};

/* Puts the user's own settings of that search in place of those in *how, empty ones too, which are
   NCCL's defaults. Whether there is one that is not empty. */
bool ni_user_search(const struct ni_facts *facts, struct ni_gid_search *how);

/* Where NCCL 2.21.5 and later end for a port. */
struct ni_gid_end {
    unsigned index; /* always one, 0 when nothing fits */
    /* NCCL compares the type of an entry whose type cannot be read, a variable that it leaves unset
       then; or a row of the table could not be read */
    bool unproven;
    bool unread; /* such a type is asked for: NCCL before 2.26.2 aborts (NVIDIA/nccl#1573) */
};
struct ni_gid_end ni_nccl_gid_search(const struct ni_inventory *inv, const struct ni_port *port,
                                     const struct ni_gid_search *how);

/* The best entry of the port for this pod, the lowest index of equals, as NCCL's search prefers it;
   v6: of routable IPv6 ones. Index into the pool, -1 (gid_pick.c). */
int ni_best_gid(const struct ni_inventory *inv, const struct ni_port *port, bool v6);

/* The variable of NCCL's that `name` is one or two letters off, less "NCCL_"; NULL when it is
   known, or far from all. */
const char *ni_near_name(struct ni_span name);

/* The user's NCCL_SOCKET_IFNAME and NCCL_SOCKET_FAMILY against the interfaces (socket.c). */
void ni_check_user_sockets(const struct ni_facts *facts, struct ni_findings *f);

/* NCCL finds it nowhere on the PCI tree, and hangs it below the first CPU; after vf.merge. */
bool ni_has_no_place(const struct ni_facts *facts, const struct ni_plan *plan,
                     const struct ni_hca *h);

/* NCCL may make one NIC of both, with the settings in force; after nic.merge. */
bool ni_may_fuse(const struct ni_facts *facts, const struct ni_plan *plan, const struct ni_hca *a,
                 const struct ni_hca *b);

/* VFs or sub-functions of one port, or PF and such. Needs what ni_probe_physfns read. */
bool ni_share_port(const struct ni_hca *a, const struct ni_hca *b);

/* The rules, in the files of their subjects. */
void ni_rule_transport(const struct ni_facts *, struct ni_plan *, struct ni_findings *);
void ni_rule_ports(const struct ni_facts *, struct ni_plan *, struct ni_findings *);
void ni_rule_gids(const struct ni_facts *, struct ni_plan *, struct ni_findings *);
void ni_rule_ib_disable(const struct ni_facts *, struct ni_plan *, struct ni_findings *);
void ni_rule_hca_list(const struct ni_facts *, struct ni_plan *, struct ni_findings *);
void ni_rule_gid_index(const struct ni_facts *, struct ni_plan *, struct ni_findings *);
void ni_rule_sockets(const struct ni_facts *, struct ni_plan *, struct ni_findings *);
void ni_rule_rails(const struct ni_facts *, struct ni_plan *, struct ni_findings *);
void ni_rule_vf_merge(const struct ni_facts *, struct ni_plan *, struct ni_findings *);
void ni_rule_nic_merge(const struct ni_facts *, struct ni_plan *, struct ni_findings *);
void ni_rule_gdr(const struct ni_facts *, struct ni_plan *, struct ni_findings *);
void ni_rule_targets(const struct ni_facts *, struct ni_plan *, struct ni_findings *);
void ni_rule_user(const struct ni_facts *, struct ni_plan *, struct ni_findings *);
void ni_rule_memlock(const struct ni_facts *, struct ni_plan *, struct ni_findings *);
void ni_rule_caps(const struct ni_facts *, struct ni_plan *, struct ni_findings *);
void ni_rule_require(const struct ni_facts *, struct ni_plan *, struct ni_findings *);

#endif
