/* SPDX-License-Identifier: Apache-2.0 */
/* What comes from other pods and launchers. A message: what is read is written and read again as the
   same. With a '=' in front: the environment of a pod, an entry a line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/fuzz.h"
#include "meet/wire.h"

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
    char buf[256];
    struct ni_text why = ni_text_on(buf, sizeof(buf)), t = ni_text_on(first, sizeof(first));
    struct ni_text again = ni_text_on(second, sizeof(second));
    const int r = ni_message_take(text, n, &a, &why);

    FUZZ_CHECK(r == 0 || r == -EPROTO, "%d", r);
    FUZZ_CHECK(prints(buf), "%s", buf);
    if (r != 0)
        return;
    for (unsigned i = 0; a.type == NI_MSG_VERDICT && i < a.findings.n; i++)
        if (a.findings.at[i].id == NI_F_COUNT)
            a.findings.at[i].id = 0;
    if (a.type == NI_MSG_HELLO && a.protocol != NI_MEET_PROTOCOL)
        return;
    ni_message_put(&t, &a);
    FUZZ_CHECK(!t.cut && ni_message_length((const uint8_t *)first) == t.len - NI_WIRE_HEAD, "head");
    FUZZ_CHECK(prints(first + NI_WIRE_HEAD) || first[t.len - 1] == '\n', "control characters");
    memset(&b, 0xee, sizeof(b));
    FUZZ_CHECK(ni_message_take(first + NI_WIRE_HEAD, t.len - NI_WIRE_HEAD, &b, &why) == 0, "%s",
               buf);
    ni_message_put(&again, &b);
    FUZZ_CHECK(again.len == t.len && memcmp(first, second, t.len) == 0, "%s, and %s",
               first + NI_WIRE_HEAD, second + NI_WIRE_HEAD);
}

static void check_party(char *text)
{
    static const struct ni_party_options none = {.rank = -1};
    char *entry[64] = {NULL}, buf[512];
    const struct ni_env env = {entry};
    struct ni_text why = ni_text_on(buf, sizeof(buf));
    struct ni_party p;
    int r;

    for (size_t n = 0; n < NI_COUNT(entry) - 1 && text; n++) {
        char *end = strchr(text, '\n');

        if (end)
            *end++ = '\0';
        entry[n] = text;
        text = end;
    }
    r = ni_find_party(&env, &none, &p, &why);
    FUZZ_CHECK(prints(buf), "%s", buf);
    FUZZ_CHECK(r == 0 ? why.len == 0 : (r == -ENOENT || r == -EINVAL) && why.len > 0, "%d %s", r,
               buf);
    if (r != 0 || p.stand_aside)
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
    else
        check_message(text, size);
    free(text);
    return 0;
}
