/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of devices and interfaces, parsed and matched as NCCL does. */
#include <stdlib.h>
#include <string.h>

#include "nccl_init/nccl_list.h"
#include "nccl_init/text.h"

enum { MAX_ENTRIES = 32 }; /* MAX_IB_DEVS: the 33rd entry and later ones are dropped silently */

bool ni_split_port(struct ni_span entry, struct ni_span *ret_name, struct ni_span *ret_port)
{
    const char *colon = memchr(entry.p, ':', entry.n);

    *ret_name = entry;
    *ret_port = (struct ni_span){entry.p + entry.n, 0};
    if (!colon)
        return false;
    ret_name->n = (size_t)(colon - entry.p);
    *ret_port = (struct ni_span){colon + 1, entry.n - ret_name->n - 1};
    return true;
}

/* Returns true if the entry takes the device and port. The port is the number that NCCL's atoi
   reads: 0 without digits. -1 is any port; so is an empty one since 2.30.7 (before, it is 0, which
   nothing matches). The caller checks the spelling. */
static bool entry_matches(struct ni_span e, bool exact, const char *name, int port)
{
    struct ni_span device, digits;
    const bool has_port = ni_split_port(e, &device, &digits) && digits.n > 0 && *digits.p != ':';
    const bool same = exact ? ni_span_is(device, name) : strncmp(name, device.p, device.n) == 0;
    int wanted;

    if (!same || port < 0 || !has_port)
        return same;
    wanted = (int)strtol(digits.p, NULL, 10); /* it ends at the next ':' or ',' */
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
