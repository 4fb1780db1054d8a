/* SPDX-License-Identifier: Apache-2.0 */
/* The secret of a job, and the code by which each message of a connection is proven with it:
   HMAC-SHA-256 (RFC 2104) over the nonces of both sides, the message's number, its sender, and the
   message. */
#ifndef NCCL_INIT_PREFLIGHT_SECRET_H
#define NCCL_INIT_PREFLIGHT_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nccl_init/rdma.h"
#include "nccl_init/text.h"

enum {
    NI_SECRET_LEAST = 16, /* bytes; fewer can be guessed */
    NI_SECRET_MOST = 1024,
    NI_CODE_BYTES = 32,
    NI_NONCE_BYTES = NI_GID_BYTES /* as messages carry it */
};

struct ni_secret {
    uint8_t key[64]; /* a block of SHA-256, as HMAC takes it */
};

/* The sides of a connection. */
enum ni_side { NI_PARTICIPANT, NI_COORDINATOR };

/* What both sides of a connection know. */
struct ni_auth {
    const struct ni_secret *secret; /* NULL: messages carry no code */
    enum ni_side own;
    uint8_t nonce[2][NI_NONCE_BYTES]; /* by side */
    uint64_t next[2]; /* the number of the next message, by the side that sends it */
};

/* Makes the key from a secret of n bytes. */
void ni_make_secret(const void *bytes, size_t n, struct ni_secret *ret);
/* Reads the file whose bytes, all of them, are the secret. 0; or -errno (-EINVAL: too few bytes or
   too many), `why` says what to do, and *ret must not be used. */
int ni_read_secret(const char *path, struct ni_secret *ret, struct ni_text *why);

/* Puts HMAC-SHA-256 of head and body together. */
void ni_hmac(const struct ni_secret *secret, const void *head, size_t n_head, const void *body,
             size_t n_body, uint8_t ret[NI_CODE_BYTES]);

/* Begins a connection of this side: makes its own nonce. 0 or -errno. */
int ni_auth_begin(struct ni_auth *auth, enum ni_side own);
/* Puts the code of the next message that this side sends. */
void ni_auth_put(struct ni_auth *auth, const void *body, size_t n, uint8_t ret[NI_CODE_BYTES]);
/* Returns true if n bytes are a code, and the next message of the other side after it. */
bool ni_auth_takes(struct ni_auth *auth, const void *bytes, size_t n);

#endif
