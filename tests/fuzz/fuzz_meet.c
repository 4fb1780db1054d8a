/* SPDX-License-Identifier: Apache-2.0 */
/* What comes from other pods and launchers. A message: what is read is written and read again as the
   same. With a '=' in front: the environment of a pod, an entry a line. With a '#' in front: what
   comes where the job has a secret; two bytes say which bit is changed on the way. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/fuzz.h"
#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/text.h"
#include "preflight/job.h"
#include "preflight/launcher.h"
#include "preflight/secret.h"
#include "preflight/wire.h"

static struct ni_auth plain; /* messages carry no code */

static bool prints(const char *s)
{
    for (; *s; s++)
        if (*s < ' ' || *s > '~')
            return false;
    return true;
}

static void check_message(const char *text, size_t n)
{
    static struct ni_message a, b;
    static char first[1 << 18], second[sizeof(first)];
    struct ni_text t = ni_text_on(first, sizeof(first)), again = ni_text_on(second, sizeof(second));

    if (!ni_message_take(text, n, &a))
        return;
    ni_message_put(&t, &plain, &a);
    FUZZ_CHECK(!t.cut, "cut");
    FUZZ_CHECK(prints(first + NI_WIRE_HEAD) || first[t.len - 1] == '\n', "control characters");
    memset(&b, 0xee, sizeof(b));
    FUZZ_CHECK(ni_message_take(first + NI_WIRE_HEAD, t.len - NI_WIRE_HEAD, &b), "%s",
               first + NI_WIRE_HEAD);
    ni_message_put(&again, &plain, &b);
    FUZZ_CHECK(again.len == t.len && memcmp(first, second, t.len) == 0, "%s, and %s",
               first + NI_WIRE_HEAD, second + NI_WIRE_HEAD);
}

/* Only the next message of the other side is taken, and only as it was. */
static void check_code(const char *text, size_t n)
{
    static struct ni_message m, got;
    static char sent[1 << 18];
    static struct ni_secret secret;
    struct ni_auth pod = {.secret = &secret, .own = NI_PARTICIPANT};
    struct ni_auth hub = {.secret = &secret, .own = NI_COORDINATOR};
    struct ni_text t = ni_text_on(sent, sizeof(sent));
    const size_t at = n < 2 ? 0 : (uint8_t)text[0] | (size_t)(uint8_t)text[1] << 8;
    char *bytes = sent + NI_WIRE_HEAD, *changed;

    FUZZ_CHECK(ni_message_open(text, n, &hub, &got) == -EBADMSG, "taken without the secret");
    if (n < 2 || !ni_message_take(text + 2, n - 2, &m))
        return;
    ni_message_put(&t, &pod, &m);
    FUZZ_CHECK(!t.cut, "cut");
    n = t.len - NI_WIRE_HEAD;
    changed = &bytes[at / 8 % n];
    *changed ^= (char)(1 << at % 8);
    FUZZ_CHECK(ni_message_open(bytes, n, &hub, &got) == -EBADMSG, "bit %zu changed", at);
    *changed ^= (char)(1 << at % 8);
    FUZZ_CHECK(ni_message_open(bytes, n, &pod, &got) == -EBADMSG, "its own");
    FUZZ_CHECK(ni_message_open(bytes, n, &hub, &got) == 0, "%s", bytes + NI_CODE_BYTES);
    FUZZ_CHECK(ni_message_open(bytes, n, &hub, &got) == -EBADMSG, "twice");
}

static void check_party(char *text)
{
    static const struct ni_party_options none = {.rank = -1, .ranks = -1, .port = 1};
    char *entry[64] = {NULL}, buf[512];
    const struct ni_env env = {entry};
    struct ni_text why = ni_text_on(buf, sizeof(buf));
    struct ni_party p;
    bool told;

    for (size_t n = 0; n < NI_COUNT(entry) - 1 && text; n++) {
        char *end = strchr(text, '\n');

        if (end)
            *end++ = '\0';
        entry[n] = text;
        text = end;
    }
    told = ni_find_party(&env, &none, &p, &why);
    FUZZ_CHECK(prints(buf), "%s", buf);
    FUZZ_CHECK(told == (why.len == 0), "%d %s", told, buf);
    if (!told || p.stand_aside)
        return;
    FUZZ_CHECK(p.rank < p.ranks && p.ranks <= NI_MAX_RANKS, "rank %u of %u", p.rank, p.ranks);
    FUZZ_CHECK(p.port > 0 && p.port <= UINT16_MAX, "port %u", p.port);
    FUZZ_CHECK(p.host[0] && prints(p.host) && prints(p.key), "%s, %s", p.host, p.key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    FUZZ_CHECK(text, "no memory");
    memcpy(text, data, size);
    text[size] = '\0';
    if (text[0] == '=')
        check_party(text + 1);
    else if (text[0] == '#')
        check_code(text + 1, size - 1);
    else
        check_message(text, size);
    free(text);
    return 0;
}
