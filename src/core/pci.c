/* SPDX-License-Identifier: Apache-2.0 */
/* Places on the PCI tree. */
#include "nccl_init/inventory.h"

/* Index of the switch above at[i], -1: the CPU. */
static int above(int i)
{
    return i >= 2 ? i - 2 : -1;
}

int ni_pci_switch(const struct ni_pci *a, const struct ni_pci *b)
{
    if (a->known != NI_KNOWN || b->known != NI_KNOWN)
        return 0;
    int first_a = above(a->depth - 1), first_b = above(b->depth - 1);
    for (int i = first_a; i >= 0; i = above(i)) {
        for (int j = first_b; j >= 0; j = above(j)) {
            if (ni_bdf_cmp(a->at[i], b->at[j]) == 0)
                return i == first_a && j == first_b ? 1 : 2;
        }
    }
    return 0;
}

/* n hex digits of v at p. */
static char *put_hex(char *p, uint32_t v, unsigned n)
{
    static const char digits[] = "0123456789abcdef";
    for (unsigned i = n; i > 0; i--)
        *p++ = digits[v >> (4 * (i - 1)) & 0xf];
    return p;
}

/* By hand: it is on the way of each path, and musl's snprintf takes a third of the program's
   instructions. */
const char *ni_bdf_text(struct ni_bdf bdf, char buf[NI_BDF_TEXT])
{
    unsigned width = 4;
    while (width < 8 && bdf.domain >> (4 * width))
        width++;
    char *p = put_hex(buf, bdf.domain, width);
    *p++ = ':';
    p = put_hex(p, bdf.bus, 2);
    *p++ = ':';
    p = put_hex(p, bdf.dev, 2);
    *p++ = '.';
    p = put_hex(p, bdf.fn & 7u, 1);
    *p = '\0';
    return buf;
}
