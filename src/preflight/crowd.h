/* SPDX-License-Identifier: Apache-2.0 */
/* The crowd: the connections of pod 0. Each has a number: those of pods their rank; those that are
   not welcome yet, and strangers, the numbers from there on. A connection cannot disturb another
   one by what it sends. */
#ifndef NCCL_INIT_PREFLIGHT_CROWD_H
#define NCCL_INIT_PREFLIGHT_CROWD_H

#include <stdbool.h>
#include <stdint.h>

#include "nccl_init/ip.h"
#include "nccl_init/rdma.h"
#include "preflight/secret.h"
#include "preflight/wire.h"

enum {
    NI_HELLO_MS = 5000, /* from accept to a whole hello, and from there to the facts */
    NI_LOOK_MS = 250    /* between two looks for slow connections */
};

struct ni_conn {
    int fd;                   /* -1: none */
    int64_t due_ms;           /* when what it must send next must have come; INT64_MAX: no limit */
    uint8_t ip[NI_GID_BYTES]; /* where it comes from; zero: this pod */
    struct ni_auth auth;
};

struct ni_crowd {
    int epoll, listen;
    unsigned ranks, n_conn;
    struct ni_conn *conn;           /* of n_conn numbers */
    unsigned strangers;             /* the number of hellos without the key or the secret */
    char stranger[NI_IP_TEXT];      /* where the last of them came from */
    const struct ni_secret *secret; /* NULL: nothing is authenticated */
    struct ni_message in, out;      /* the last one that came; the next one to send */
    struct ni_wire_room room;       /* of the one that is sent or received now */
    /* Takes a message of connection `at`. NULL: a pod sent something that is no message. */
    void (*take)(void *arg, unsigned at, const struct ni_message *m);
    /* Notes that a pod has no connection any more. */
    void (*leave)(void *arg, unsigned rank);
    void *arg;
};

/* Makes room for the connections of so many pods; ranks, secret, take, leave and arg are set. 0,
   -EMFILE: too few descriptors for them, or -errno. */
int ni_crowd_begin(struct ni_crowd *c);
/* Listens on all addresses of this machine. 0, -EADDRINUSE: another process has the port, or
   -errno. */
int ni_crowd_listen(struct ni_crowd *c, uint16_t port);
/* Adds a connection that this process has made itself. */
void ni_crowd_add(struct ni_crowd *c, unsigned at, const struct ni_conn *conn);
/* Waits so long at most, accepts who comes, and takes what was sent. */
void ni_crowd_wait(struct ni_crowd *c, int most_ms);
/* Ends the connections whose message is overdue. */
void ni_crowd_drop_late(struct ni_crowd *c, int64_t now);

bool ni_crowd_has(const struct ni_crowd *c, unsigned at);
/* Ends a connection. */
void ni_crowd_drop(struct ni_crowd *c, unsigned at);
/* Sends c->out. The kernel keeps what the pod has not read yet; a pod that leaves more unread than
   the kernel has room for is dropped. NI_MSG_NO ends the connection. */
void ni_crowd_send(struct ni_crowd *c, unsigned at, enum ni_message_type type);
/* Refuses who sends: tells him why, and ends the connection. */
void ni_crowd_refuse(struct ni_crowd *c, unsigned at, const char *why);
/* The same for one without key or secret, who is counted. Anybody who reaches the port can say
   hello; he learns nothing, and no text of his is repeated. */
void ni_crowd_refuse_stranger(struct ni_crowd *c, unsigned at, const char *why);
/* Gives the connection the number of its rank; an earlier connection of that rank is dropped. */
void ni_crowd_seat(struct ni_crowd *c, unsigned at, unsigned rank);
/* Writes the address from which a connection comes, or "this pod". */
void ni_crowd_write_sender(const struct ni_crowd *c, unsigned at, char ret[NI_IP_TEXT]);

#endif
