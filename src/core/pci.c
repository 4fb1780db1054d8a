/* SPDX-License-Identifier: Apache-2.0 */
/* Places on the PCI tree. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/known.h"
#include "nccl_init/number.h"
#include "nccl_init/pci.h"
#include "nccl_init/text.h"

/* Returns the index of the switch above at[i]; -1: the CPU. */
static int above(int i)
{
    return i >= 2 ? i - 2 : -1;
}

/* NCCL climbs two functions at a time, so that a switch (upstream and downstream port) is one step
   and a root port none (NCCL 2.30.7 graph/xml.cc ncclTopoGetXmlFromSys). The same first switch is
   PIX, more switches PXB, one CPU PHB, two SYS (graph/paths.cc ncclTopoSetPaths). */
enum ni_distance ni_pci_distance(const struct ni_pci *a, const struct ni_pci *b)
{
    if (a->known != NI_KNOWN || b->known != NI_KNOWN)
        return NI_DIST_UNKNOWN;
    const int first_a = above(a->depth - 1), first_b = above(b->depth - 1);
    for (int i = first_a; i >= 0; i = above(i)) {
        for (int j = first_b; j >= 0; j = above(j)) {
            if (ni_bdf_cmp(a->at[i], b->at[j]) == 0)
                return i == first_a && j == first_b ? NI_DIST_PIX : NI_DIST_PXB;
        }
    }
    if (a->numa.known != NI_KNOWN || b->numa.known != NI_KNOWN)
        return NI_DIST_UNKNOWN;
    return a->numa.v == b->numa.v ? NI_DIST_PHB : NI_DIST_SYS;
}

const char *ni_distance_text(enum ni_distance d)
{
    static const char *const text[] = {"-",   "LOC", "NVL", "NVB", "C2C", "PIX",
                                       "PXB", "P2C", "PXN", "PHB", "SYS"};

    return text[d];
}

enum ni_distance ni_parse_level(const char *text)
{
    static const enum ni_distance old[] = {NI_DIST_LOC, NI_DIST_PIX, NI_DIST_PXB, NI_DIST_PHB};

    for (enum ni_distance d = NI_DIST_LOC; d <= NI_DIST_SYS; d++) {
        if (strcmp(text, ni_distance_text(d)) == 0)
            return d;
    }
    if (!ni_is_digit(*text))
        return NI_DIST_UNKNOWN;
    const int n = (int)strtol(text, NULL, 0); /* NCCL also cuts it to 32 bits */

    if (n < 0)
        return NI_DIST_UNKNOWN;
    return n < (int)NI_COUNT(old) ? old[n] : NI_DIST_SYS;
}

/* ---- vital product data ---- */

/* Finds the value of a keyword in the read-only part: two letters, a length, the value. */
static bool find_keyword(struct ni_span part, const char *keyword, struct ni_span *ret)
{
    while (part.n >= 3) {
        const size_t n = (unsigned char)part.p[2];

        if (n > part.n - 3)
            return false;
        *ret = (struct ni_span){part.p + 3, n};
        if (memcmp(part.p, keyword, 2) == 0)
            return true;
        part = (struct ni_span){part.p + 3 + n, part.n - 3 - n};
    }
    return false;
}

/* A part is large, with a tag of 0x80 and above and two bytes of length, or small, with the length
   in the tag. */
bool ni_vpd_uuid(struct ni_span vpd, char ret[NI_VPD_UUID])
{
    enum { LARGE = 0x80, READ_ONLY = 0x90, END = 0x78 };
    struct ni_span value;

    while (vpd.n > 0 && (unsigned char)*vpd.p != END) {
        const unsigned tag = (unsigned char)*vpd.p;
        const size_t head = tag & LARGE ? 3 : 1;

        if (vpd.n < head)
            return false;
        const size_t n =
            tag & LARGE ? (unsigned char)vpd.p[1] | (size_t)(unsigned char)vpd.p[2] << 8 : tag & 7;
        if (n > vpd.n - head)
            return false;
        if (tag == READ_ONLY && find_keyword((struct ni_span){vpd.p + head, n}, "V3", &value))
            return value.n > 0 && !memchr(value.p, '\0', value.n) &&
                   ni_copyn(ret, NI_VPD_UUID, value.p, value.n);
        vpd = (struct ni_span){vpd.p + head + n, vpd.n - head - n};
    }
    return false;
}

/* Puts a number in hexadecimal, with at least that many digits. */
static void put_hex(struct ni_text *t, unsigned v, unsigned digits)
{
    char text[8];
    unsigned n = 0;

    while (n < digits || v > 0) {
        n++;
        text[sizeof(text) - n] = "0123456789abcdef"[v % 16];
        v /= 16;
    }
    ni_putn(t, text + sizeof(text) - n, n);
}

/* Without printf, which took a twentieth of what `run` does. */
const char *ni_bdf_text(struct ni_bdf bdf, char buf[NI_BDF_TEXT])
{
    struct ni_text t = ni_text_on(buf, NI_BDF_TEXT);

    put_hex(&t, bdf.domain, 4);
    ni_put(&t, ":");
    put_hex(&t, bdf.bus, 2);
    ni_put(&t, ":");
    put_hex(&t, bdf.dev, 2);
    ni_put(&t, ".");
    put_hex(&t, bdf.fn & 7u, 1);
    return buf;
}

int ni_parse_bdf(struct ni_span s, struct ni_bdf *ret)
{
    /* the tail ":bb:dd.f" has a fixed length; the domain stands before it */
    if (s.n < 12 || s.n > 16)
        return -EINVAL;
    const char *t = s.p + s.n - 8;
    if (t[0] != ':' || t[3] != ':' || t[6] != '.')
        return -EINVAL;
    uint64_t domain, bus, dev, fn;
    if (ni_parse_hex((struct ni_span){s.p, s.n - 8}, UINT32_MAX, &domain) < 0 ||
        ni_parse_hex((struct ni_span){t + 1, 2}, 0xff, &bus) < 0 ||
        ni_parse_hex((struct ni_span){t + 4, 2}, 0x1f, &dev) < 0 ||
        ni_parse_hex((struct ni_span){t + 7, 1}, 7, &fn) < 0)
        return -EINVAL;
    *ret = (struct ni_bdf){(uint32_t)domain, (uint8_t)bus, (uint8_t)dev, (uint8_t)fn};
    return 0;
}

static uint64_t bdf_key(struct ni_bdf b)
{
    return (uint64_t)b.domain << 24 | (uint64_t)b.bus << 16 | (uint64_t)b.dev << 8 | b.fn;
}

int ni_bdf_cmp(struct ni_bdf a, struct ni_bdf b)
{
    uint64_t x = bdf_key(a), y = bdf_key(b);

    return x < y ? -1 : x > y;
}

bool ni_is_aux_id(struct ni_span s)
{
    if (!ni_is_name(s, NI_DEV_NAME))
        return false;
    const char *end = s.p + s.n, *name = memchr(s.p, '.', s.n);
    const char *number = name ? memchr(name + 1, '.', (size_t)(end - name - 1)) : NULL;
    uint64_t id;
    return number && name > s.p && number > name + 1 &&
           ni_parse_u64((struct ni_span){number + 1, (size_t)(end - number - 1)}, UINT32_MAX,
                        &id) == 0;
}

int ni_pci_order(struct ni_bdf a, const char *a_name, struct ni_bdf b, const char *b_name)
{
    const int order = ni_bdf_cmp(a, b);

    return order != 0 ? order : ni_natural_cmp(a_name, b_name);
}
