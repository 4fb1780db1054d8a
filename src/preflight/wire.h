/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between coordinator and participants: a length of four bytes, the highest first, and
   one JSON object. Members that are zero, empty or unknown are not written. Where the job has a
   secret, both sides exchange nonces first, and then the code of the message stands before its
   object. */
#ifndef NI_MEET_WIRE_H
#define NI_MEET_WIRE_H

#include "nccl_init/text.h"
#include "preflight/job.h"
#include "preflight/launcher.h"
#include "preflight/secret.h"
#include "rail/step.h"
#include "rail/task.h"

enum ni_message_type {
    NI_MSG_NONCE, /* from each side, with a secret: before all others, and without a code */
    /* participant to coordinator */
    NI_MSG_HELLO,
    NI_MSG_FACTS, /* the pod */
    NI_MSG_DONE,  /* items: how each went, and the ends that were made */
    /* coordinator to participant */
    NI_MSG_WELCOME,
    NI_MSG_ALIVE, /* every NI_ALIVE_MS; whether waiting for pods is over */
    NI_MSG_NO,    /* the coordinator refuses, and ends the connection */
    NI_MSG_DO,    /* items: the rails that do `work`, with their partners */
    NI_MSG_VERDICT,
    NI_MSG_TYPES
};

enum {
    /* 1: ends and results of items were lists; 2: nobody was alive; 3: a verdict was good or not,
       and a pair had one queue pair */
    NI_MEET_PROTOCOL = 4,
    NI_MEET_HELLO = 1024,     /* bytes of the first message, at most */
    NI_MEET_MESSAGE = 131072, /* bytes of a later message, at most */
    NI_WIRE_HEAD = 4,
    NI_ALIVE_MS = 1000,
    NI_WIRE_ITEMS = NI_MAX_RAILS * NI_ROLES
};

/* One rail of one pod in one role. */
struct ni_item {
    unsigned rail, role, partner;
    unsigned own;           /* the number that the pod itself gives the rail; rail is the job's */
    unsigned queues;        /* DO: the queue pairs that take part, as bits; 0: all */
    unsigned batch;         /* DO: of these move at once */
    struct ni_rail_end end; /* DO: the partner's; DONE: its own, of new or begun queue pairs */
    struct ni_pair_result result; /* DONE; pair, round and at_to are known to the coordinator */
};

struct ni_message {
    enum ni_message_type type;
    uint8_t nonce[NI_NONCE_BYTES]; /* NONCE */
    /* HELLO: the same in all protocols */
    unsigned protocol;
    char version[24];
    struct ni_party party; /* rank, ranks, key */
    int64_t within_ms;     /* HELLO: how long this pod still waits for the others; 0: not known */
    bool begun;            /* ALIVE: waiting for pods is over */
    struct ni_verdict verdict; /* VERDICT; NO: its line; ALIVE: in it, for whom pod 0 waits */
    /* DO, and sent back by DONE: what becomes of the tasks */
    enum ni_rail_work work;
    uint64_t session;
    int64_t bytes;
    int move_ms;
    unsigned small; /* timed writes of each queue pair */
    unsigned n_item;
    struct ni_item item[NI_WIRE_ITEMS];
    /* FACTS: the pod; its arrays are the members below */
    struct ni_pod pod;
    struct ni_rail rail[NI_MAX_RAILS];
    struct ni_pod_setting setting[NI_MAX_POD_SETTINGS];
};

/* Room for one message as it is sent: head, code and object, and a NUL. The caller keeps it, for it is
   large; what was in it does not matter. */
struct ni_wire_room {
    char bytes[NI_WIRE_HEAD + NI_CODE_BYTES + NI_MEET_MESSAGE + 1];
};

/* Puts head, code and message into t; t->cut: it has no room. */
void ni_message_put(struct ni_text *t, struct ni_auth *auth, const struct ni_message *m);
/* Sends the message. Never waits. false: not all of it could be sent. */
bool ni_message_send(int fd, struct ni_wire_room *room, struct ni_auth *auth,
                     const struct ni_message *m);
/* Reads the object of n bytes, which a NUL follows. Texts in *ret are printable ASCII, numbers are
   within the bounds of their kind, `rail` and `role` within their tables. false: it is no such
   message. */
bool ni_message_take(const char *text, size_t n, struct ni_message *ret);
/* Reads what comes after the head: n bytes, which a NUL follows. 0; -EBADMSG: the code is not that
   of the next message of this connection; -EPROTO: it is no message. */
int ni_message_open(const char *bytes, size_t n, struct ni_auth *auth, struct ni_message *ret);

/* Receives one message of at most `most` bytes, which stays in the socket until it is whole. Never
   waits. 1: *ret is the message; 0: a part of it is there; -EAGAIN: nothing is there; -EPROTO and
   -EBADMSG: as above; -ECONNRESET: the other end closed; or another -errno. */
int ni_message_receive(int fd, size_t most, struct ni_wire_room *room, struct ni_auth *auth,
                       struct ni_message *ret);
/* Waits for all of one message of at most NI_MEET_MESSAGE bytes, until then, however it comes. 0,
   -ETIMEDOUT, or as above. */
int ni_message_await(int fd, int64_t until_ms, struct ni_wire_room *room, struct ni_auth *auth,
                     struct ni_message *ret);

/* Sets up a new socket: no message is delayed, there is room for one, and a pod whose node is gone
   is noticed. Accepted sockets inherit that. */
void ni_socket_set_up(int fd);

#endif
