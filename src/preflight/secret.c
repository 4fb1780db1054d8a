/* SPDX-License-Identifier: Apache-2.0 */
/* The secret of a job, and the code of each message. SHA-256 is libmd's. */
#include "preflight/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nccl_init/errno.h"
#include "nccl_init/text.h"

void ni_make_secret(const void *bytes, size_t n, struct ni_secret *ret)
{
    SHA2_CTX sha;

    memset(ret, 0, sizeof(*ret));
    if (n <= sizeof(ret->key)) {
        memcpy(ret->key, bytes, n);
        return;
    }
    SHA256Init(&sha);
    SHA256Update(&sha, bytes, n);
    SHA256Final(ret->key, &sha);
}

int ni_read_secret(const char *path, struct ni_secret *ret, struct ni_text *why)
{
    uint8_t bytes[NI_SECRET_MOST + 1];
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    /* a pipe may have a part of the secret now and the rest later */
    const bool other = fd >= 0 && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode);
    const ssize_t n = fd < 0 || other ? -1 : read(fd, bytes, sizeof(bytes));
    const int err = other ? ENOTBLK : errno;

    if (fd >= 0)
        (void)close(fd);
    if (n < 0) {
        ni_putf(why, "--job-secret: %.256s: %s; mount the Secret of the job there", path,
                NI_ERRNO(err));
        return -err;
    }
    if (n >= NI_SECRET_LEAST && n <= NI_SECRET_MOST) {
        ni_make_secret(bytes, (size_t)n, ret);
        explicit_bzero(bytes, sizeof(bytes));
        return 0;
    }
    explicit_bzero(bytes, sizeof(bytes));
    ni_putf(why,
            "--job-secret: %.256s: it must have %d to %d bytes; `head -c 32 /dev/urandom` makes "
            "such a secret",
            path, NI_SECRET_LEAST, NI_SECRET_MOST);
    return -EINVAL;
}

/* Hashes the key, each byte of it changed by `pad`, then head and body. */
static void hash(const struct ni_secret *secret, uint8_t pad, const void *head, size_t n_head,
                 const void *body, size_t n_body, uint8_t ret[NI_CODE_BYTES])
{
    struct ni_secret padded = *secret;
    SHA2_CTX sha;

    for (size_t i = 0; i < sizeof(padded.key); i++)
        padded.key[i] ^= pad;
    SHA256Init(&sha);
    SHA256Update(&sha, padded.key, sizeof(padded.key));
    SHA256Update(&sha, head, n_head);
    SHA256Update(&sha, body, n_body);
    SHA256Final(ret, &sha);
    explicit_bzero(&padded, sizeof(padded));
}

void ni_hmac(const struct ni_secret *secret, const void *head, size_t n_head, const void *body,
             size_t n_body, uint8_t ret[NI_CODE_BYTES])
{
    enum { INNER = 0x36, OUTER = 0x5c }; /* RFC 2104, section 2 */

    hash(secret, INNER, head, n_head, body, n_body, ret);
    hash(secret, OUTER, ret, NI_CODE_BYTES, "", 0, ret);
}

int ni_auth_begin(struct ni_auth *auth, enum ni_side own)
{
    uint8_t *nonce = auth->nonce[own];

    memset(auth, 0, sizeof(*auth));
    auth->own = own;
    return getrandom(nonce, NI_NONCE_BYTES, 0) < 0 ? -errno : 0; /* up to 256 bytes come whole */
}

/* Puts the code of the next message that a side sends. The head has a fixed size, so that the same
   bytes cannot be parted into another head and message. */
static void put_code(const struct ni_auth *auth, enum ni_side side, const void *body, size_t n,
                     uint8_t ret[NI_CODE_BYTES])
{
    struct {
        uint8_t nonce[2][NI_NONCE_BYTES];
        uint64_t number, side; /* the lowest byte first: wire.c asserts it */
    } head = {.number = auth->next[side], .side = side};

    memcpy(head.nonce, auth->nonce, sizeof(head.nonce));
    ni_hmac(auth->secret, &head, sizeof(head), body, n, ret);
}

void ni_auth_put(struct ni_auth *auth, const void *body, size_t n, uint8_t ret[NI_CODE_BYTES])
{
    put_code(auth, auth->own, body, n, ret);
    auth->next[auth->own]++;
}

bool ni_auth_takes(struct ni_auth *auth, const void *bytes, size_t n)
{
    const enum ni_side other = auth->own == NI_COORDINATOR ? NI_PARTICIPANT : NI_COORDINATOR;
    const uint8_t *told = bytes;
    uint8_t code[NI_CODE_BYTES], differs = 0;

    if (n < NI_CODE_BYTES)
        return false;
    put_code(auth, other, told + NI_CODE_BYTES, n - NI_CODE_BYTES, code);
    /* all bytes are compared, so that the time does not tell how many are right */
    for (size_t i = 0; i < NI_CODE_BYTES; i++)
        differs |= (uint8_t)(told[i] ^ code[i]);
    if (differs == 0)
        auth->next[other]++;
    return differs == 0;
}
