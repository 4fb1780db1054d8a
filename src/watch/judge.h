/* SPDX-License-Identifier: Apache-2.0 */
/* What rails and interfaces carried, from looks at their counters, and the verdict. Pure. */
#ifndef NCCL_INIT_WATCH_JUDGE_H
#define NCCL_INIT_WATCH_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "nccl_init/base.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "nccl_init/traffic.h"

enum {
    /* bytes a second, on average, from which on something carries data: what keeps a pod alive (DNS,
       logs, a store's heartbeat) is less */
    NI_CARRIES = 1000000,
    NI_MAX_GID_CHANGE = 32
};

/* The growth of a counter over all looks between which it was known and did not go back. */
struct ni_gain {
    int64_t sum;
    int64_t ms; /* the time of these looks; 0: nothing is known */
    bool back;  /* it once was less than before: a reset; what it counted then is not in sum */
    bool gone;  /* it once was known, and later was not */
};

/* A row of a GID table that is not what it was at the first look. */
struct ni_gid_change {
    unsigned rail;
    struct ni_watched_gid was, is; /* all zero: the row was, or is, empty */
};

struct ni_watched_rail {
    struct ni_gain out, in;
    struct ni_gain counter[NI_N_TRAFFIC_COUNTER];
};
struct ni_watched_if {
    char name[NI_IF_NAME];
    bool ipoib;
    struct ni_gain out, in, errors;
};

/* All looks so far. Zeroed before the first one. */
struct ni_watch {
    unsigned looks;
    int64_t ms; /* from the first to the last one */
    unsigned n_rail, n_if, n_change;
    bool changes_cut;
    bool ifs_cut;      /* there were more interfaces than are watched */
    bool ifs_unlisted; /* at a look they could not be listed */
    struct ni_watched_rail rail[NI_MAX_PORT];
    struct ni_watched_if netif[NI_MAX_WATCHED_IF];
    struct ni_gid_change change[NI_MAX_GID_CHANGE];
    struct ni_traffic first, last;
};

/* Lists the pod's rails, as indexes of ports: those that NCCL is to use, or would if they were up; if
   the rules chose none, as with NCCL_IB_DISABLE=1, all ports that the pod was given. Returns their
   number. */
unsigned ni_watch_rails(const struct ni_inventory *inv, const struct ni_plan *plan,
                        int rail[NI_MAX_PORT]);

/* Adds a look. All looks have the same rails; of interfaces that come later those are added for which
   there is room. */
void ni_watch_add(struct ni_watch *w, const struct ni_traffic *now);
/* Returns the rate in bytes a second; -1: nothing is known. */
int64_t ni_gain_rate(const struct ni_gain *g);

/* The reason for which a rail's bytes cannot be told. */
enum ni_untold {
    NI_TOLD,
    NI_UNTOLD_SOFTWARE,   /* SoftRoCE, siw: its bytes are those of its interface */
    NI_UNTOLD_NAMESPACE,  /* no counters are shown in this network namespace */
    NI_UNTOLD_NO_COUNTER, /* its driver has no counter of bytes, or its firmware has none for a VF */
    NI_UNTOLD_UNREADABLE, /* there, but it cannot be read, or is no number */
    NI_UNTOLD_FULL,       /* a 32 bit counter stands at its most */
    NI_UNTOLD_LOST,       /* it is gone, or for most of the time was not there or went back */
    NI_N_UNTOLD
};
enum ni_untold ni_rail_untold(const struct ni_watch *w, const struct ni_inventory *inv,
                              unsigned rail);
/* Returns the reason in words, a clause. */
const char *ni_untold_text(enum ni_untold why);
/* Returns true if the port's counters may have the bytes of other pods: a whole HCA of which nothing
   says that it was given to this pod alone. */
bool ni_rail_is_shared(const struct ni_watch *w, const struct ni_inventory *inv, unsigned rail);

enum ni_carrier {
    NI_CARRIED_BY_RAILS,
    NI_CARRIED_BY_SOCKETS, /* an interface carries data, no rail does */
    NI_CARRIED_BY_NOTHING,
    NI_CARRIER_UNKNOWN /* no rail is seen to carry data, but of some it cannot be told; or nothing is,
                          but not all interfaces were watched */
};

struct ni_watch_verdict {
    enum ni_carrier by;
    unsigned n_rail, carrying, untold;
    unsigned n_stranger; /* HCAs, none of which is known to be the pod's */
    int64_t out, in; /* bytes a second of all rails that can be told; of one that is lost, none */
    int busiest;     /* the interface that carries most, and enough; -1: none does */
    bool by_ip;      /* the rails carry the IP packets of IPoIB, and little else */
    int64_t trouble[NI_N_TROUBLE];
    unsigned shared; /* carrying rails that may have counted others */
};
struct ni_watch_verdict ni_watch_judge(const struct ni_watch *w, const struct ni_inventory *inv);
/* Puts one sentence, without the full stop. */
void ni_put_watch_sentence(struct ni_text *t, const struct ni_watch *w,
                           const struct ni_inventory *inv, const struct ni_watch_verdict *v);
/* Returns true if rails carry the data, but --strict is not content: a rail carries none, or an
   interface carries more than all rails. */
bool ni_watch_is_half(const struct ni_watch *w, const struct ni_watch_verdict *v);

/* Returns how often a counter of that kind grew on the rail, of all its counters. */
int64_t ni_rail_trouble(const struct ni_watch *w, unsigned rail, enum ni_trouble kind);
/* Puts bytes a second with three digits: "9.51 GB/s"; -1: "?". */
void ni_put_rate(struct ni_text *t, int64_t rate);

#endif
