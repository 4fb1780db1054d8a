/* SPDX-License-Identifier: Apache-2.0 */
/* The messages between hub and leaves: a length of four bytes, the highest first, and one JSON
   object. */
#ifndef NI_MEET_WIRE_H
#define NI_MEET_WIRE_H

#include "nccl_init/findings.h"
#include "nccl_init/meet.h"

enum ni_message_type {
    /* leaf to hub */
    NI_MSG_HELLO,
    NI_MSG_FACTS,     /* the pod */
    NI_MSG_ENDS,      /* items: an end, or what failed */
    NI_MSG_CONNECTED, /* items: those that failed */
    NI_MSG_RESULTS,   /* items: how the pairs went that this pod began */
    /* hub to leaf */
    NI_MSG_WELCOME,
    NI_MSG_NO,    /* and the hub hangs up */
    NI_MSG_ROUND, /* items: the pairs of this pod, with its partners */
    NI_MSG_PEERS, /* items: the partners' ends */
    NI_MSG_GO,    /* items: the pairs to move on, as NI_ROLE_FROM */
    NI_MSG_STOP,
    NI_MSG_VERDICT,
    NI_MSG_TYPES
};

enum {
    NI_WIRE_HEAD = 4,
    NI_WIRE_ITEMS = NI_MAX_RAILS * NI_ROLES,
    NI_WIRE_FINDINGS = 64,
    NI_GRACE_MS = 3000 /* that the hub waits longer for an answer than the rails may take */
};

/* One rail of one pod in one role. */
struct ni_item {
    unsigned rail, role, partner;
    bool has_end, has_result;
    struct ni_rail_end end;
    struct ni_pair_result result; /* its pair and round are not sent */
};

struct ni_wire_setting {
    char name[48], value[64];
};

struct ni_message {
    enum ni_message_type type;
    /* HELLO; of another protocol only the first three */
    unsigned protocol;
    char version[24], host[NI_POD_NAME];
    unsigned rank, ranks;
    char key[128];
    /* WELCOME */
    uint64_t session;
    int64_t within_ms; /* that pod 0 still waits, at most */
    /* NO, VERDICT */
    char line[512];
    bool good;                   /* VERDICT */
    bool again;                  /* NO: trying again later makes sense */
    struct ni_findings findings; /* VERDICT: the first NI_WIRE_FINDINGS; unknown ones: NI_F_COUNT */
    /* ENDS to STOP */
    unsigned round;
    int64_t bytes; /* ROUND */
    int move_ms;   /* ROUND */
    unsigned n_item;
    struct ni_item item[NI_WIRE_ITEMS];
    /* FACTS: the pod, but its rank and arrays, which lie below */
    struct ni_pod pod;
    struct ni_rail rail[NI_MAX_RAILS];
    struct ni_wire_setting setting[NI_MAX_POD_SETTINGS];
};

/* Adds head and message to t; t->cut: it has no room. */
void ni_message_put(struct ni_text *t, const struct ni_message *m);
/* Reads the object of n bytes, behind which is a NUL. Texts in *ret are printable ASCII, numbers
   within the bounds of their kind, `rail` and `role` those of a table. 0; or -EPROTO after saying
   why. */
int ni_message_take(const char *text, size_t n, struct ni_message *ret, struct ni_text *why);
/* The length in the head. */
size_t ni_message_length(const uint8_t head[NI_WIRE_HEAD]);

/* Settings of a new socket: none waits, and a pod whose node is gone is noticed. */
void ni_socket_set_up(int fd);

#endif
