/* SPDX-License-Identifier: Apache-2.0 */
/* What comes from other pods and launchers. A message: what is read is written and read again as the
   same. With a '=' in front: the environment of a pod, an entry a line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/fuzz.h"
#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/text.h"
#include "preflight/job.h"
#include "preflight/launcher.h"
#include "preflight/wire.h"

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
    ni_message_put(&t, &a);
    FUZZ_CHECK(!t.cut, "cut");
    FUZZ_CHECK(prints(first + NI_WIRE_HEAD) || first[t.len - 1] == '\n', "control characters");
    memset(&b, 0xee, sizeof(b));
    FUZZ_CHECK(ni_message_take(first + NI_WIRE_HEAD, t.len - NI_WIRE_HEAD, &b), "%s",
               first + NI_WIRE_HEAD);
    ni_message_put(&again, &b);
    FUZZ_CHECK(again.len == t.len && memcmp(first, second, t.len) == 0, "%s, and %s",
               first + NI_WIRE_HEAD, second + NI_WIRE_HEAD);
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
    else
        check_message(text, size);
    free(text);
    return 0;
}
