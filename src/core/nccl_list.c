/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's own reading of its lists of devices and interfaces. */
#include <stdlib.h>
#include <string.h>

#include "nccl_init/nccl_list.h"
#include "nccl_init/text.h"

enum { MAX_ENTRIES = 32 }; /* MAX_IB_DEVS: the 33rd entry and later ones are dropped silently */

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

bool ni_nccl_match(const char *list, const char *name, int port)
{
    const bool invert = *list == '^', exact = list[invert] == '=';
    bool any = false;
    list += invert + exact;
    unsigned n = 0;
    for (struct ni_span e; n < MAX_ENTRIES && ni_split(&list, ',', &e);) {
        if (e.n == 0 || e.p[0] == ':') /* NCCL skips entries without a name */
            continue;
        n++;
        any = any || entry_matches(e, exact, name, port);
    }
    return (n == 0 || any) != invert;
}

bool ni_names_hcas(const char *list)
{
    return *list == '^' || !ni_nccl_match(list, "", -1);
}
