/* SPDX-License-Identifier: Apache-2.0 */
/* door: what of a record says which machine it is, replaced. The same things get the same mask,
   different things different ones, so the replay gives the same plan. IP addresses stay, because the
   plan hangs on them, but for the half that is made of a MAC address or a GUID. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "door.h"

enum { MAX_THINGS = 1 << 14 };

struct ni_mask {
    unsigned n;
    struct ni_span host[2]; /* the host's name, and without its domain */
    uint64_t is[MAX_THINGS];
};

/* ---- what stands for what ---- */

/* From 1; 0: it was not met, and is not to be added, or there is no room. */
static uint32_t number_of(struct ni_mask *m, uint64_t is, bool add)
{
    for (unsigned i = 0; i < m->n; i++)
        if (m->is[i] == is)
            return i + 1;
    if (!add || m->n == MAX_THINGS)
        return 0;
    m->is[m->n++] = is;
    return m->n;
}

/* RFC 4291 appendix A: an interface id has the universal bit of the MAC address or GUID turned over. */
#define UNIVERSAL (UINT64_C(1) << 57)
#define ID_BASE   (UINT64_C(3) << 32) /* no small number, as people give them: ::1, ::5 */

/* The low half of an address that only this machine has: of a MAC address (ff:fe in the middle), of a
   link-local address, or a GUID. is_guid: it is one; else only if it was met as one. */
static void mask_ip(struct ni_mask *m, uint8_t ip[NI_GID_BYTES], bool is_guid)
{
    uint64_t id = 0;

    for (unsigned i = 8; i < NI_GID_BYTES; i++)
        id = id << 8 | ip[i];
    if (ni_ip_is_v4(ip) || id >> 32 == 0)
        return;
    bool own = is_guid || ni_ip_is_link_local(ip) || (id >> 24 & 0xffff) == 0xfffe;
    uint32_t number = number_of(m, id & ~UNIVERSAL, own);
    if (number > 0)
        id = (id & UNIVERSAL) | (ID_BASE + number);
    for (unsigned i = NI_GID_BYTES; i-- > 8; id >>= 8)
        ip[i] = (uint8_t)id;
}

/* ---- words ---- */

static bool is_alnum(char c)
{
    return ni_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Each of these looks at the start of s, puts the mask, and returns how many bytes that stands for;
   0: it is something else. */

static size_t try_host(struct ni_mask *m, struct ni_span s, struct ni_text *ret)
{
    for (unsigned i = 0; i < NI_COUNT(m->host); i++) {
        size_t n = m->host[i].n;
        if (n > 1 && n <= s.n && memcmp(s.p, m->host[i].p, n) == 0 &&
            (n == s.n || !is_alnum(s.p[n]))) {
            ni_putf(ret, "masked-host-%u", i + 1);
            return n;
        }
    }
    return 0;
}

/* x: a hex digit. */
static const struct {
    const char *form, *mask;
} forms[] = {
    /* UUIDs, of GPUs and disks */
    {"xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", "00000000-0000-4000-8000-000000000000"},
    /* MAC addresses: of IPoIB (RFC 4391 section 9.1.1), BOOTIF= of a PXE boot, Ethernet */
    {"xx:xx:xx:xx:xx:xx:xx:xx:xx:xx:xx:xx:xx:xx:xx:xx:xx:xx:xx:xx",
     "00:00:00:00:fe:80:00:00:00:00:00:00:00:00:00:00:00:00:00:00"},
    {"xx-xx-xx-xx-xx-xx-xx", "01-02-00-00-00-00-00"},
    {"xx:xx:xx:xx:xx:xx", "02:00:00:00:00:00"},
};

/* Whether s begins with the form, ends with it as a word, and does not repeat one digit: that is
   nobody's. */
static bool is_form(struct ni_span s, const char *form)
{
    bool varies = false;
    size_t i = 0;

    for (; form[i]; i++) {
        if (i == s.n || (form[i] == 'x' ? ni_hex_digit(s.p[i]) < 0 : s.p[i] != form[i]))
            return false;
        varies = varies || (form[i] == 'x' && s.p[i] != s.p[0]);
    }
    return varies && (i == s.n || !is_alnum(s.p[i]));
}

static size_t try_forms(struct ni_mask *m, struct ni_span s, struct ni_text *ret)
{
    char mask[64];

    for (size_t f = 0; f < NI_COUNT(forms); f++) {
        if (!is_form(s, forms[f].form))
            continue;
        size_t n = strlen(forms[f].form);
        (void)ni_copy(mask, sizeof(mask), forms[f].mask);
        uint32_t number = number_of(m, ni_hash(1, (struct ni_span){s.p, n}), true);
        for (size_t i = n; i-- > 0 && number > 0;) {
            if (forms[f].form[i] != 'x')
                continue;
            mask[i] = "0123456789abcdef"[number & 15];
            number >>= 4;
        }
        ni_putn(ret, mask, n);
        return n;
    }
    return 0;
}

/* IPv6 as people write it, and a GID as sysfs does. */
static size_t try_ipv6(struct ni_mask *m, struct ni_span s, bool is_guid, struct ni_text *ret)
{
    uint8_t ip[NI_GID_BYTES], was[NI_GID_BYTES];
    char text[NI_IP_TEXT];
    size_t n = 0;

    while (n < s.n && n < sizeof(text) && (ni_hex_digit(s.p[n]) >= 0 || s.p[n] == ':'))
        n++;
    if ((n < s.n && is_alnum(s.p[n])) || !ni_copyn(text, sizeof(text), s.p, n) ||
        inet_pton(AF_INET6, text, ip) != 1)
        return 0;
    memcpy(was, ip, sizeof(ip));
    mask_ip(m, ip, is_guid);
    if (memcmp(ip, was, sizeof(ip)) == 0)
        ni_putn(ret, s.p, n);
    else
        for (unsigned i = 0; i < NI_GID_BYTES; i += 2)
            ni_putf(ret, "%s%02x%02x", i > 0 ? ":" : "", ip[i], ip[i + 1]);
    return n;
}

/* An address in proc/net. */
static size_t try_hex(struct ni_mask *m, struct ni_span s, struct ni_text *ret)
{
    uint8_t ip[NI_GID_BYTES];
    enum { DIGITS = 2 * NI_GID_BYTES };

    if (s.n < DIGITS || (s.n > DIGITS && is_alnum(s.p[DIGITS])) ||
        ni_parse_hex_ip((struct ni_span){s.p, DIGITS}, ip) < 0)
        return 0;
    mask_ip(m, ip, false);
    for (unsigned i = 0; i < NI_GID_BYTES; i++)
        ni_putf(ret, "%02x", ip[i]);
    return DIGITS;
}

/* etc/hosts names other machines too. */
static size_t try_name(struct ni_span s, struct ni_text *ret)
{
    uint8_t ip[NI_GID_BYTES];
    size_t n = 0;

    while (n < s.n && !strchr(" \t\n", s.p[n]))
        n++;
    if (ni_parse_ipv4((struct ni_span){s.p, n}, ip) == 0 ||
        ni_span_is((struct ni_span){s.p, n}, "localhost"))
        ni_putn(ret, s.p, n);
    else
        ni_put(ret, "name");
    return n;
}

void ni_mask_text(struct ni_mask *m, const char *path, struct ni_span s, struct ni_text *ret)
{
    bool net = ni_has_prefix(path, "proc/") && strstr(path, "net/");
    bool people = *path && !net && !ni_has_prefix(path, "sys/"); /* who name hosts */
    bool names = strcmp(path, "etc/hosts") == 0;
    bool is_guid = strstr(path, "/gids/0"); /* the default GID of a port is made of one */
    bool inside = false;                    /* of a word */

    while (s.n > 0) {
        size_t n = 0;
        if (!inside && (is_alnum(*s.p) || *s.p == ':')) {
            n = people ? try_host(m, s, ret) : 0;
            n = n ? n : try_forms(m, s, ret);
            n = n ? n : try_ipv6(m, s, is_guid, ret);
            n = n || !net ? n : try_hex(m, s, ret);
            n = n || !names ? n : try_name(s, ret);
        }
        if (n == 0)
            ni_put_escaped(ret, (struct ni_span){s.p, n = 1}, !*path);
        inside = is_alnum(s.p[n - 1]);
        s = (struct ni_span){s.p + n, s.n - n};
    }
    ret->cut |= m->n == MAX_THINGS;
}

/* ---- all ---- */

struct ni_mask *ni_mask_new(const struct ni_entry *e, size_t n)
{
    struct ni_mask *m = calloc(1, sizeof(*m));
    char buf[1];
    struct ni_text waste = ni_text_on(buf, sizeof(buf)); /* keeps nothing */

    for (size_t i = 0; m && i < n; i++) {
        struct ni_span value = ni_trim((struct ni_span){e[i].value, e[i].len});
        const struct ni_span name = {value.p, strcspn(value.p, ".\n")};
        /* A number alone would be found everywhere. */
        if (strcmp(e[i].path, "proc/sys/kernel/hostname") == 0 &&
            strspn(value.p, "0123456789.") < value.n && !ni_span_is(value, "localhost")) {
            m->host[0] = value;
            if (strspn(name.p, "0123456789") < name.n && !ni_span_is(name, "localhost"))
                m->host[1] = name;
        }
        /* A GUID must be known as one before it is met inside an address. */
        if (e[i].kind == NI_ENTRY_FILE)
            ni_mask_text(m, e[i].path, value, &waste);
    }
    return m;
}
