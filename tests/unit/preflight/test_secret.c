/* SPDX-License-Identifier: Apache-2.0 */
/* The code of a message: HMAC-SHA-256 by the vectors of RFC 4231; and nothing but the next message of
   the other side of the same connection, whole, with the same secret, is taken. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "nccl_init/base.h"
#include "nccl_init/text.h"
#include "preflight/secret.h"
#include "preflight/wire.h"

/* ---- RFC 4231, section 4 ---- */

/* A repeated byte, or a text. */
struct bytes {
    const char *text;
    uint8_t byte;
    size_t n;
};

static size_t make(const struct bytes *b, uint8_t *to)
{
    if (b->text)
        memcpy(to, b->text, b->n);
    else
        memset(to, b->byte, b->n);
    return b->n;
}

#define TEXT(s)             \
    {                       \
        s, 0, sizeof(s) - 1 \
    }
#define MANY(c, n_) \
    {               \
        NULL, c, n_ \
    }

static void test_hmac(void **state)
{
    static const struct {
        struct bytes key, data;
        const char *code;
        size_t n; /* bytes of the code that the case has */
    } row[] = {
        {MANY(0x0b, 20), TEXT("Hi There"),
         "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7", 32},
        {TEXT("Jefe"), TEXT("what do ya want for nothing?"),
         "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843", 32},
        {MANY(0xaa, 20), MANY(0xdd, 50),
         "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe", 32},
        {TEXT("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14"
              "\x15\x16\x17\x18\x19"),
         MANY(0xcd, 50), "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b", 32},
        {MANY(0x0c, 20), TEXT("Test With Truncation"), "a3b6167473100ee06e0c796c2955552b", 16},
        {MANY(0xaa, 131), TEXT("Test Using Larger Than Block-Size Key - Hash Key First"),
         "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54", 32},
        {MANY(0xaa, 131),
         TEXT("This is a test using a larger than block-size key and a larger than block-size "
              "data. The key needs to be hashed before being used by the HMAC algorithm."),
         "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2", 32},
    };

    (void)state;
    for (size_t i = 0; i < NI_COUNT(row); i++) {
        uint8_t key[256], data[256], code[NI_CODE_BYTES];
        const size_t n = make(&row[i].data, data);
        struct ni_text hex = NI_TEXT(2 * NI_CODE_BYTES + 1);
        struct ni_secret secret;

        ni_make_secret(key, make(&row[i].key, key), &secret);
        for (size_t head = 0; head <= n; head += 7) { /* however the data is divided */
            ni_hmac(&secret, data, head, data + head, n - head, code);
            hex = ni_text_on(hex.buf, hex.cap);
            for (size_t k = 0; k < row[i].n; k++)
                ni_putf(&hex, "%02x", code[k]);
            assert_string_equal(hex.buf, row[i].code);
        }
    }
}

/* ---- messages ---- */

static struct ni_secret secret, other_secret;

/* Both sides of one connection. */
struct ends {
    struct ni_auth pod, hub;
};

static struct ends connect_ends(void)
{
    struct ends e;

    assert_int_equal(ni_auth_begin(&e.pod, NI_PARTICIPANT), 0);
    assert_int_equal(ni_auth_begin(&e.hub, NI_COORDINATOR), 0);
    memcpy(e.pod.nonce[NI_COORDINATOR], e.hub.nonce[NI_COORDINATOR], NI_NONCE_BYTES);
    memcpy(e.hub.nonce[NI_PARTICIPANT], e.pod.nonce[NI_PARTICIPANT], NI_NONCE_BYTES);
    e.pod.secret = e.hub.secret = &secret;
    return e;
}

struct sent {
    char bytes[256];
    size_t n;
};

/* What is sent after the head. */
static struct sent message_of(struct ni_auth *from, enum ni_message_type type)
{
    static struct ni_message m;
    char buf[NI_WIRE_HEAD + 256];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    struct sent ret = {.n = 0};

    m.type = type;
    (void)ni_copy(m.verdict.line, sizeof(m.verdict.line), "line");
    ni_message_put(&t, from, &m);
    ret.n = t.len - NI_WIRE_HEAD;
    memcpy(ret.bytes, buf + NI_WIRE_HEAD, ret.n);
    return ret;
}

static int open_at(struct ni_auth *to, const struct sent *s)
{
    static struct ni_message m;

    return ni_message_open(s->bytes, s->n, to, &m);
}

static void test_in_order(void **state)
{
    struct ends e = connect_ends();

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        const struct sent up = message_of(&e.pod, NI_MSG_WELCOME);
        const struct sent down = message_of(&e.hub, NI_MSG_NO);

        assert_int_equal(open_at(&e.hub, &up), 0);
        assert_int_equal(open_at(&e.pod, &down), 0);
    }
}

static void test_refused(void **state)
{
    struct ends e = connect_ends(), second = connect_ends();
    struct sent first = message_of(&e.pod, NI_MSG_WELCOME);
    const struct sent next = message_of(&e.pod, NI_MSG_WELCOME);
    const struct sent down = message_of(&e.hub, NI_MSG_WELCOME);
    const struct ni_auth before = e.hub;

    (void)state;
    assert_int_equal(open_at(&e.hub, &next), -EBADMSG);       /* another order */
    assert_int_equal(open_at(&e.pod, &first), -EBADMSG);      /* back to its sender */
    assert_int_equal(open_at(&e.hub, &down), -EBADMSG);       /* and to the other one */
    assert_int_equal(open_at(&second.hub, &first), -EBADMSG); /* in another connection */
    for (size_t i = 0; i < first.n; i++) {                    /* a changed bit, each of them */
        first.bytes[i] ^= (char)(1 << i % 8);
        assert_int_equal(open_at(&e.hub, &first), -EBADMSG);
        first.bytes[i] ^= (char)(1 << i % 8);
    }
    for (struct sent cut = first; cut.n > 0; cut.n--) { /* a shorter one */
        struct sent shorter = cut;

        shorter.n--;
        shorter.bytes[shorter.n] = '\0';
        assert_int_equal(open_at(&e.hub, &shorter), -EBADMSG);
    }
    e.hub.secret = &other_secret;
    assert_int_equal(open_at(&e.hub, &first), -EBADMSG); /* another secret */
    e.hub.secret = &secret;
    assert_memory_equal(&before, &e.hub, sizeof(before));
    assert_int_equal(open_at(&e.hub, &first), 0);        /* what was refused changed nothing */
    assert_int_equal(open_at(&e.hub, &first), -EBADMSG); /* once more */
    assert_int_equal(open_at(&e.hub, &next), 0);
}

/* Nonces of two connections differ, in all parts. */
static void test_nonces(void **state)
{
    const struct ends a = connect_ends(), b = connect_ends();

    (void)state;
    for (unsigned side = 0; side < 2; side++)
        for (size_t i = 0; i < NI_NONCE_BYTES; i += 8)
            assert_memory_not_equal(a.pod.nonce[side] + i, b.pod.nonce[side] + i, 8);
}

/* ---- the file ---- */

static char path[] = "/tmp/nccl-init-secret-XXXXXX";

static int read_of(const char *bytes, size_t n, struct ni_secret *ret, struct ni_text *why)
{
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    *why = ni_text_on(why->buf, why->cap);
    return ni_read_secret(path, ret, why);
}

static void test_file(void **state)
{
    static char bytes[NI_SECRET_MOST + 2];
    struct ni_text why = NI_TEXT(512);
    struct ni_secret of_file, of_bytes;
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    (void)close(fd);
    memset(bytes, 's', sizeof(bytes));
    bytes[5] = '\0'; /* any bytes */
    for (size_t n = 0; n < sizeof(bytes); n += n < 70 ? 1 : 119) {
        const bool fits = n >= NI_SECRET_LEAST && n <= NI_SECRET_MOST;

        if (read_of(bytes, n, &of_file, &why) != (fits ? 0 : -EINVAL))
            fail_msg("%zu bytes: %s", n, why.buf);
        assert_true(fits == (why.len == 0));
        ni_make_secret(bytes, n, &of_bytes);
        if (fits)
            assert_memory_equal(&of_file, &of_bytes, sizeof(of_file));
        else
            assert_non_null(strstr(why.buf, "it must have 16 to 1024 bytes; `head -c 32 "));
    }
    assert_int_equal(read_of(bytes, NI_SECRET_MOST, &of_file, &why), 0);
    assert_int_equal(read_of(bytes, NI_SECRET_MOST + 1, &of_file, &why), -EINVAL);
    /* a newline at the end is a byte of it */
    assert_int_equal(read_of("0123456789abcdef\n", 17, &of_file, &why), 0);
    assert_int_equal(read_of("0123456789abcdef", 16, &of_bytes, &why), 0);
    assert_memory_not_equal(&of_file, &of_bytes, sizeof(of_file));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(ni_read_secret(path, &of_file, &why), -ENOENT);
    assert_non_null(strstr(why.buf, "ENOENT"));
    assert_non_null(strstr(why.buf, "; mount the Secret of the job there"));
    why = ni_text_on(why.buf, why.cap);
    assert_int_equal(ni_read_secret("/tmp", &of_file, &why), -ENOTBLK);
    /* a pipe is not waited for, and what is in it may be a part */
    assert_int_equal(mkfifo(path, 0600), 0);
    fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(write(fd, bytes, NI_SECRET_LEAST), NI_SECRET_LEAST);
    why = ni_text_on(why.buf, why.cap);
    assert_int_equal(ni_read_secret(path, &of_file, &why), -ENOTBLK);
    assert_non_null(strstr(why.buf, "what is there is not a file"));
    (void)close(fd);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hmac),    cmocka_unit_test(test_in_order),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_nonces),
        cmocka_unit_test(test_file),
    };

    ni_make_secret("0123456789abcdef", 16, &secret);
    ni_make_secret("0123456789abcdeg", 16, &other_secret);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
