/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that a launcher starts in one pod: local rank 0 does the preflight, and tells the
   others one byte. They meet at a UNIX socket with an abstract name, so no file is left, and what ends
   is gone. Processes of one pod share its network namespace, to which such a name belongs (unix(7)). */
#include "preflight/local.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "nccl_init/text.h"
#include "preflight/job.h"
#include "preflight/launcher.h"
#include "preflight/secret.h"
#include "system/process.h"

enum {
    WAITING = 4096,  /* processes of a pod that wait, at most */
    LOOK_MS = 100,   /* from one look to the next */
    TELL_MS = 10000, /* for others that have not come yet */
    LINGER_MS = 1000 /* ... of which nobody knows whether there are any */
};

/* Writes the name at which the processes of this pod meet: of this user, port and job, which a digest
   stands for, because everybody can list the names. Returns the length of the address. */
static socklen_t name_meeting(const struct ni_party *party, struct sockaddr_un *ret)
{
    static const struct ni_secret none;
    struct ni_text t = NI_TEXT(sizeof(ret->sun_path) - 1);
    uint8_t code[NI_CODE_BYTES];

    ni_hmac(&none, party->local, strlen(party->local), "", 0, code);
    ni_putf(&t, "nccl-init preflight %u %u ", (unsigned)geteuid(), party->port);
    for (unsigned i = 0; i < 16; i++)
        ni_putf(&t, "%02x", code[i]);
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(ret->sun_path + 1, t.buf, t.len); /* after a NUL: an abstract name */
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + t.len);
}

int ni_local_listen(const struct ni_party *party)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un name;
    const void *address = &name; /* gcc 12 with -O2 takes a cast for type punning */
    const socklen_t n = name_meeting(party, &name);

    if (fd < 0)
        return -errno;
    if (bind(fd, address, n) < 0 || listen(fd, WAITING) < 0) {
        const int err = -errno;

        (void)close(fd);
        return err;
    }
    return fd;
}

/* Returns true if the process at the other end has the same user. */
static bool is_own_user(int fd)
{
    struct ucred its = {.uid = (uid_t)-1};
    socklen_t size = sizeof(its);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &its, &size) == 0 && its.uid == geteuid();
}

void ni_local_tell(int fd, enum ni_outcome outcome, unsigned others)
{
    const int64_t until_ms = ni_now_ms() + (others > 0 ? TELL_MS : LINGER_MS);
    unsigned told = 0;
    bool over = false;
    struct ni_wait wait;

    ni_wait_begin(&wait);
    while (!over && (others == 0 || told < others)) {
        const int one = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        const char *byte = &ni_outcome_forms[outcome].byte;

        if (one >= 0 && is_own_user(one))
            told += send(one, byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
        if (one >= 0)
            (void)close(one);
        /* Strangers who come one after the other do not hold this process. */
        over = ni_now_ms() >= until_ms || ni_wait_ms(&wait, one >= 0 ? 0 : LOOK_MS);
    }
    (void)close(fd);
    ni_wait_end(&wait); /* a signal that came meanwhile may end the program here */
}

/* Connects to local rank 0. A descriptor; -1: it is not there, or somebody else has the name. */
static int find_first(const struct ni_party *party)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un name;
    const void *address = &name; /* gcc 12 with -O2 takes a cast for type punning */
    const socklen_t n = name_meeting(party, &name);

    if (fd < 0)
        return -1;
    if (connect(fd, address, n) == 0 && is_own_user(fd))
        return fd;
    (void)close(fd);
    return -1;
}

int ni_local_ask(const struct ni_party *party, int64_t within_ms, int64_t most_ms,
                 enum ni_outcome *ret)
{
    const int64_t begun_ms = ni_now_ms();
    struct ni_wait wait;
    int fd = -1, r = -EAGAIN;
    char byte;

    ni_wait_begin(&wait);
    while (r == -EAGAIN) {
        const int64_t limit_ms = fd >= 0 ? most_ms : within_ms;
        const bool over = ni_now_ms() - begun_ms >= limit_ms;

        if (fd < 0)
            fd = find_first(party);
        const ssize_t n = fd >= 0 ? recv(fd, &byte, 1, MSG_DONTWAIT) : -1;

        if (n == 1)
            r = 0;
        else if (n == 0 || (fd >= 0 && errno != EAGAIN && errno != EINTR))
            r = -ECONNRESET;
        else if (over || ni_wait_ms(&wait, LOOK_MS))
            r = -ETIMEDOUT;
    }
    if (fd >= 0)
        (void)close(fd);
    ni_wait_end(&wait);
    if (r < 0)
        return r;
    const enum ni_outcome outcome = ni_outcome_of_byte(byte);
    if (outcome >= NI_JOB_OUTCOMES)
        return -EPROTO;
    *ret = outcome;
    return 0;
}
