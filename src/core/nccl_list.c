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

/* Returns true if the entry takes the device and port; port -1: the name alone decides. NCCL reads
   the entry's port with atoi: without digits it is 0, which no port has. An entry with port -1
   takes each port. So does one with an empty port, "mlx5_0:" or "mlx5_0::1", since 2.30.7; NCCL
   before that reads 0, and the rule user.values reports it. */
static bool entry_matches(struct ni_span e, bool exact, const char *name, int port)
{
    struct ni_span device, text;

    (void)ni_split_port(e, &device, &text);
    const bool takes_device =
        exact ? ni_span_is(device, name) : strncmp(name, device.p, device.n) == 0;
    if (!takes_device || port < 0)
        return takes_device;
    if (text.n == 0 || *text.p == ':')
        return true;
    const int wanted = (int)strtol(text.p, NULL, 10); /* it ends at the next ':' or ',' */
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
