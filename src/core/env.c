/* SPDX-License-Identifier: Apache-2.0 */
/* The environment view, and NCCL's own reading of its device lists. */
#include <stdlib.h>
#include <string.h>

#include "nccl_init/core.h"

enum { MAX_ENTRIES = 32 }; /* MAX_IB_DEVS: the 33rd entry and later ones are dropped silently */

bool ni_env_split(const char *entry, struct ni_span *ret_name, const char **ret_value)
{
    const char *eq = strchr(entry, '=');
    if (!eq || eq == entry)
        return false;
    *ret_name = (struct ni_span){entry, (size_t)(eq - entry)};
    *ret_value = eq + 1;
    return true;
}

const char *ni_env_get(const struct ni_env *env, const char *name)
{
    for (char *const *e = env->entry; *e; e++) {
        const char *s = *e, *n = name;
        while (*n && *s == *n) {
            s++;
            n++;
        }
        if (!*n && *s == '=')
            return s + 1;
    }
    return NULL;
}

/* A port is what NCCL's atoi reads: no digits are 0. -1 is any port, and so is an empty one since
   2.30.7 (0 before: nothing matches); the caller checks the spelling. */
static bool entry_matches(struct ni_span e, bool exact, const char *name, int port)
{
    const char *colon = memchr(e.p, ':', e.n), *end = e.p + e.n;
    size_t n = colon ? (size_t)(colon - e.p) : e.n;
    bool same = exact ? strlen(name) == n && memcmp(name, e.p, n) == 0 : strncmp(name, e.p, n) == 0;
    if (!same || port < 0 || !colon || colon + 1 == end || colon[1] == ':')
        return same;
    int wanted = (int)strtol(colon + 1, NULL, 10); /* to the next ':' or ',' at most */
    return wanted == -1 || wanted == port;
}

/* most: beyond it NCCL drops entries. */
static bool matches(const char *list, const char *name, int port, unsigned most)
{
    bool invert = *list == '^';
    list += invert;
    bool exact = *list == '=';
    list += exact;
    bool any = false;
    unsigned n = 0;
    struct ni_span e;
    while (n < most && ni_split(&list, ',', &e)) {
        if (e.n == 0 || e.p[0] == ':') /* NCCL skips entries without a name */
            continue;
        n++;
        any = any || entry_matches(e, exact, name, port);
    }
    if (n == 0)
        return !invert;
    return any != invert;
}

bool ni_nccl_match(const char *list, const char *name, int port)
{
    return matches(list, name, port, MAX_ENTRIES);
}

bool ni_nccl_match_if(const char *list, const char *ifname)
{
    return matches(list, ifname, -1, NI_MAX_IFS);
}
