/* SPDX-License-Identifier: Apache-2.0 */
/* What the rules and checks of this room share. */
#ifndef NCCL_INIT_DECIDE_RULE_H
#define NCCL_INIT_DECIDE_RULE_H

#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/net.h"
#include "nccl_init/plan.h"
#include "nccl_init/process.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rules/rules.h"

/* The rules, in the order of the table (rules.c). */
typedef void ni_rule_fn(const struct ni_work *w);
ni_rule_fn ni_rule_transport, ni_rule_ports, ni_rule_gids, ni_rule_ib_disable, ni_rule_hca_list,
    ni_rule_gid_index, ni_rule_sockets, ni_rule_rails, ni_rule_vf_merge, ni_rule_nic_merge,
    ni_rule_gdr, ni_rule_gpu_hcas, ni_rule_libraries, ni_rule_user, ni_rule_memlock, ni_rule_caps,
    ni_rule_require;

/* ---- rules.c ---- */

const char *ni_user_value(const struct ni_work *w, const char *name);

/* Decides one variable for the running rule; the rest is the reason, one sentence. value NULL:
   better left unset. Where the user or a conf file has set it, that stays, and the plan says what
   the rule would have said. The one place of the precedence. */
void ni_decide_value(const struct ni_work *w, const char *name, const char *value, const char *fmt,
                     ...) NI_PRINTF(4, 5);

/* The running rule leaves the port out; the rest is the reason, which the finding gives, too.
   NI_F_COUNT: no finding. */
void ni_leave_out(const struct ni_work *w, unsigned port, enum ni_finding_id id, const char *fmt,
                  ...) NI_PRINTF(4, 5);

/* "mlx5_6/1", the subject of findings about a port. */
struct ni_port_name {
    char text[NI_DEV_NAME + 8];
};
struct ni_port_name ni_port_name(const struct ni_inventory *inv, int port);
bool ni_is_active(const struct ni_port *port); /* known to be so */
/* Entry i of those read of the port's GID table. */
const struct ni_gid *ni_port_gid(const struct ni_inventory *inv, const struct ni_port *port,
                                 unsigned i);
/* The one of that index; NULL: none was read. */
const struct ni_gid *ni_gid_at(const struct ni_inventory *inv, const struct ni_port *port,
                               unsigned index);

/* Number i of the chosen ports, 0 to n_chosen - 1, and what belongs to it. */
struct ni_chosen {
    int at; /* in the inventory */
    const struct ni_port *port;
    const struct ni_hca *hca;
    struct ni_port_plan *plan;
    const struct ni_gid *best, *gid; /* NULL: none */
};
struct ni_chosen ni_chosen(const struct ni_work *w, unsigned i);
bool ni_is_chosen(const struct ni_work *w, int hca); /* one of its ports */

/* ---- transport.c ---- */

/* By what the user chose sockets; NULL: by nothing. */
const char *ni_tcp_cause(const struct ni_work *w);

/* ---- ports.c ---- */

/* Left in by --hcas and by the user's NCCL_IB_HCA, where there are such. */
bool ni_is_listed(const struct ni_work *w, int port);
/* NCCL will use the port if it can: it is chosen, or the user's NCCL_IB_HCA takes it whatever the plan
   says. */
bool ni_is_taken(const struct ni_work *w, int port);
/* Lists the chosen ports in plan->chosen: in PCI order, as many as NCCL takes. */
void ni_list_chosen(const struct ni_work *w);
/* The HCA's device node is known not to be there, or not to open. */
bool ni_lacks_node(const struct ni_uverbs *node);
/* What is wrong with the HCA's device node, as a clause; false for nothing that is known. */
bool ni_put_node(const struct ni_uverbs *node, struct ni_text *t);

/* ---- gid_pick.c, gid_search.c ---- */

/* The best entry of the port for this pod, the lowest index of equals, as NCCL's search prefers it;
   v6: of routable IPv6 ones. Index into the inventory's GIDs, -1. */
int ni_best_gid(const struct ni_inventory *inv, const struct ni_port *port, bool v6);

/* Whether the entry (NULL: none) serves as well as `best`: of its type, as much this pod's, as
   routable, and of its family unless any_family. */
bool ni_is_as_good(const struct ni_gid *g, const struct ni_gid *best, bool any_family);

/* Puts the user's own settings in place of those in *way, empty ones too, which are NCCL's defaults.
   Whether there is one of the search that is not empty. */
bool ni_user_way(const struct ni_work *w, struct ni_gid_way *way);

/* Where NCCL 2.21.5 and later end for a port. */
struct ni_gid_end {
    unsigned index;           /* always one, 0 when nothing fits */
    const struct ni_gid *gid; /* the entry there; NULL: none was read, or it is unproven */
    /* NCCL compares the type of an entry whose type cannot be read, a variable that it leaves unset
       then; or a row of the table could not be read */
    bool unproven;
};
struct ni_gid_end ni_gid_end(const struct ni_inventory *inv, const struct ni_port *port,
                             const struct ni_gid_way *way);

/* ---- rails.c, socket.c ---- */

/* The most specific IPv4 route of the main table over that interface that holds the address; NULL.
   gateway: through a router; else connected. */
const struct ni_route *ni_route_to(const struct ni_net *net, const char *ifname,
                                   const uint8_t ip[NI_GID_BYTES], bool gateway);

/* One end of a connection: an interface of this pod, and an address that it has. */
struct ni_end {
    const char *ifname;
    const uint8_t *ip; /* NI_GID_BYTES */
};

enum ni_path { NI_PATH_UNKNOWN, NI_PATH_NONE, NI_PATH_THERE };

/* Whether what leaves through one interface can come to the network of the other: they share a subnet,
   or a route of one leads through a router to the other. UNKNOWN where a table of policy rules
   (`ip rule`) may do so. The other pods are built alike. IPv6 needs NI_WANT_ROUTES6. */
enum ni_path ni_path_between(const struct ni_net *net, const struct ni_end *a,
                             const struct ni_end *b);

/* Two chosen ports or more, and no path is known between any two of them, though a table of a policy rule,
   which /proc does not show, may have one. */
bool ni_rails_may_be_apart(const struct ni_work *w);

/* The interface of the default route, if it can serve; NULL. */
const char *ni_pod_interface(const struct ni_work *w);
/* None of the interfaces in force has an IPv4 address. */
bool ni_sockets_are_v6(const struct ni_work *w);

/* ---- pci_quirks.c, gdr.c ---- */

/* VFs or sub-functions of one port, or PF and such. Needs NI_WANT_PFS. */
bool ni_share_port(const struct ni_hca *a, const struct ni_hca *b);
/* Whether the node can do GPUDirect RDMA at all, given a GPU and a port; *ret_why where not, with a
   finding. */
bool ni_can_gdr(const struct ni_work *w, const char **ret_why);
/* The file from which NCCL takes distances instead of the PCI tree: its path, or the variable that names
   it; NULL: there is none that can be read. */
const char *ni_topo_file(const struct ni_inventory *inv);
/* Wants the NUMA nodes, which tell PHB from SYS, and Data Direct functions, if a GPU has no chosen HCA
   below a switch of both. */
void ni_want_numa(const struct ni_work *w);

/* ---- gpu_hcas.c ---- */

/* The GPU of this process, where a launcher has started one for each GPU; else -1. *why: how that is
   known, or what is in the way; empty: there is no such launcher. */
int ni_rank_gpu(const struct ni_work *w, struct ni_text *why);

/* ---- privileges.c ---- */

/* Why RLIMIT_MEMLOCK cannot be raised, from the process's own state, and what of the pod to change:
   a clause. */
void ni_memlock_why(const struct ni_work *w, struct ni_text *t);
/* The hard limit may be raised: CAP_SYS_RESOURCE is effective, or permitted, and counts. */
bool ni_may_raise_memlock(const struct ni_self *s);
/* CAP_IPC_LOCK will be effective in the command, and counts: locked memory is not limited
   (mm/mlock.c can_do_mlock, drivers/infiniband/core/umem.c ib_umem_get). */
bool ni_command_may_lock(const struct ni_work *w);
uint64_t ni_command_caps(const struct ni_work *w);
/* Bytes of locked memory below which NCCL gets into trouble, and cannot even begin. */
extern const int64_t ni_memlock_enough, ni_memlock_hopeless;

/* ---- left_unset.c ---- */

/* Says of each variable that a rule may set, and none has, that it stays unset and why; and what NCCL
   does by itself with those that do. */
void ni_say_left_unset(const struct ni_work *w);

/* ---- nccl_names.c ---- */

/* The variables of NCCL and RCCL, less "NCCL_", a blank between two: those that are read as numbers, and
   the others. */
extern const char ni_nccl_numbers[], ni_nccl_words[];

/* ---- user.c ---- */

/* The variable of NCCL's that `name` is one or two letters off, less "NCCL_"; empty when it is known,
   or far from all. */
struct ni_span ni_near_name(struct ni_span name);

#endif
