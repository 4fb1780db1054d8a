/* SPDX-License-Identifier: Apache-2.0 */
/* door: what of a record says which machine it is, replaced. The same things get the same mask,
   different things different ones, so the replay gives the same plan. IP addresses stay, because the
   plan hangs on them, but for the half that is made of a MAC address or a GUID. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "door.h"

enum { MAX_THINGS = 1 << 14, MAX_HOSTS = 2 };

struct ni_mask {
    unsigned n, n_host;
    bool full;
    struct ni_span host[MAX_HOSTS];
    struct {
        uint64_t is;
        uint32_t number;  /* 0: free */
    } at[2 * MAX_THINGS]; /* by hash */
};

/* ---- what stands for what ---- */

/* FNV-1a */
static uint64_t hash(const char *s, size_t n)
{
    uint64_t h = 0xcbf29ce484222325U;

    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * 0x100000001b3U;
    return h ^ (h >> 32);
}

/* From 1; 0: it was not met, and is not to be added, or there is no room. */
static uint32_t number_of(struct ni_mask *m, uint64_t is, bool add)
{
    size_t i = is * 0x9e3779b97f4a7c15U >> 49; /* 2^15 places */

    for (; m->at[i].number; i = (i + 1) % NI_COUNT(m->at))
        if (m->at[i].is == is)
            return m->at[i].number;
    m->full |= add && m->n == MAX_THINGS;
    if (!add || m->full)
        return 0;
    m->at[i].is = is;
    m->at[i].number = ++m->n;
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

static bool is_hex(char c)
{
    return ni_hex_digit(c) >= 0;
}

/* Each of these looks at the start of s, puts the mask, and returns how many bytes that stands for;
   0: it is something else. */

static size_t try_host(struct ni_mask *m, struct ni_span s, struct ni_text *ret)
{
    for (unsigned i = 0; i < m->n_host; i++) {
        size_t n = m->host[i].n;
        if (n <= s.n && memcmp(s.p, m->host[i].p, n) == 0 && (n == s.n || !is_alnum(s.p[n]))) {
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
    /* UUIDs; in names of cgroups with '_', and behind other letters: pod0b0f8c1c_... */
    {"xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", "00000000-0000-4000-8000-000000000000"},
    {"xxxxxxxx_xxxx_xxxx_xxxx_xxxxxxxxxxxx", "00000000_0000_4000_8000_000000000000"},
    /* MAC addresses: of IPoIB (RFC 4391 section 9.1.1), BOOTIF= of a PXE boot, Ethernet */
    {"xx:xx:xx:xx:xx:xx:xx:xx:xx:xx:xx:xx:xx:xx:xx:xx:xx:xx:xx:xx",
     "00:00:00:00:fe:80:00:00:00:00:00:00:00:00:00:00:00:00:00:00"},
    {"xx-xx-xx-xx-xx-xx-xx", "01-02-00-00-00-00-00"},
    {"xx:xx:xx:xx:xx:xx", "02:00:00:00:00:00"},
};
enum { UUIDS = 2 };

/* Whether s begins with the form, ends with it as a word, and does not repeat one digit: that is
   nobody's. */
static bool is_form(struct ni_span s, const char *form)
{
    bool varies = false;
    size_t i = 0;

    for (; form[i]; i++) {
        if (i == s.n || (form[i] == 'x' ? !is_hex(s.p[i]) : s.p[i] != form[i]))
            return false;
        varies = varies || (form[i] == 'x' && s.p[i] != s.p[0]);
    }
    return varies && (i == s.n || !is_alnum(s.p[i]));
}

static size_t try_forms(struct ni_mask *m, struct ni_span s, bool inside, struct ni_text *ret)
{
    char mask[64];

    for (size_t f = 0; f < (inside ? UUIDS : NI_COUNT(forms)); f++) {
        if (!is_form(s, forms[f].form))
            continue;
        size_t n = strlen(forms[f].form);
        (void)ni_copy(mask, sizeof(mask), forms[f].mask);
        uint32_t number = number_of(m, hash(s.p, n), true);
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

    while (n < s.n && n < sizeof(text) && (is_hex(s.p[n]) || s.p[n] == ':'))
        n++;
    if ((n < s.n && is_alnum(s.p[n])) || !ni_copyn(text, sizeof(text), s.p, n) ||
        inet_pton(AF_INET6, text, ip) != 1)
        return 0;
    memcpy(was, ip, sizeof(ip));
    mask_ip(m, ip, is_guid);
    if (memcmp(ip, was, sizeof(ip)) == 0)
        ni_putn(ret, s.p, n);
    else if (n < 39)
        ni_putf(ret, "%s", ni_ip_text(ip, text));
    else
        for (unsigned i = 0; i < NI_GID_BYTES; i += 2)
            ni_putf(ret, "%s%02x%02x", i > 0 ? ":" : "", ip[i], ip[i + 1]);
    return n;
}

/* Long runs of hex digits: an address in proc/net, else the id of a container. */
static size_t try_hex(struct ni_mask *m, struct ni_span s, bool net, struct ni_text *ret)
{
    uint8_t ip[NI_GID_BYTES];
    bool varies = false;
    size_t n = 0;

    for (; n < s.n && is_hex(s.p[n]); n++)
        varies = varies || s.p[n] != s.p[0];
    if (n < 32 || !varies || (n < s.n && is_alnum(s.p[n]))) /* ffff...: a bit mask */
        return 0;
    if (net && ni_parse_hex_ip((struct ni_span){s.p, n}, ip) == 0) {
        mask_ip(m, ip, false);
        for (unsigned i = 0; i < NI_GID_BYTES; i++)
            ni_putf(ret, "%02x", ip[i]);
    } else {
        ni_putf(ret, "%0*x", (int)n, number_of(m, hash(s.p, n), true));
    }
    return n;
}

/* path "": a name or the target of a link. is_guid: the low half of a GID is one. */
static void scan(struct ni_mask *m, const char *path, struct ni_span s, bool is_guid,
                 struct ni_text *ret)
{
    bool net = ni_has_prefix(path, "proc/") && strstr(path, "net/");
    bool people = *path && !net && !ni_has_prefix(path, "sys/"); /* who name hosts */
    bool inside = false;                                         /* of a word */

    while (s.n > 0) {
        bool starts = !inside && (is_alnum(*s.p) || *s.p == ':');
        size_t n = starts && people ? try_host(m, s, ret) : 0;
        n = n ? n : try_forms(m, s, inside, ret);
        n = n || !starts ? n : try_ipv6(m, s, is_guid, ret);
        n = n || !starts ? n : try_hex(m, s, net, ret);
        if (n == 0)
            ni_put_escaped(ret, (struct ni_span){s.p, n = 1}, !*path);
        inside = is_alnum(s.p[n - 1]);
        s = (struct ni_span){s.p + n, s.n - n};
    }
}

/* /etc/hosts names other machines too. */
static void scan_hosts(struct ni_mask *m, struct ni_span s, struct ni_text *ret)
{
    uint8_t ip[NI_GID_BYTES];

    while (s.n > 0) {
        struct ni_span word = {s.p, strcspn(s.p, " \t\n")};
        word.n = word.n < s.n ? word.n : s.n;
        size_t n = word.n > 0 ? word.n : 1;
        if (word.n == 0 || memchr(word.p, ':', word.n) || ni_parse_ipv4(word, ip) == 0 ||
            ni_span_is(word, "localhost"))
            scan(m, "etc/hosts", (struct ni_span){s.p, n}, false, ret);
        else if (try_host(m, word, ret) < word.n)
            ni_putn(ret, "name", 4);
        s = (struct ni_span){s.p + n, s.n - n};
    }
}

/* ---- all ---- */

/* Whether e is a GID, ".../ports/1/gids/0", of an InfiniBand port. When nothing tells, it may be. What
   tells stands behind it in the order of paths. */
static bool is_ib(const struct ni_entry *e, const struct ni_entry *end)
{
    const char *gids = strstr(e->path, "/gids/");
    size_t n = gids ? (size_t)(gids - e->path) : 0;

    for (const struct ni_entry *at = e; gids && at < end && strncmp(at->path, e->path, n) == 0;
         at++)
        if (strcmp(at->path + n, "/link_layer") == 0 && at->kind == NI_ENTRY_FILE)
            return strcmp(at->value, "Ethernet") != 0;
    return gids != NULL;
}

/* The host's name, and without its domain. */
static void add_host(struct ni_mask *m, struct ni_span s)
{
    size_t digits = 0;

    while (digits < s.n && (ni_is_digit(s.p[digits]) || s.p[digits] == '.'))
        digits++;
    if (s.n >= 2 && m->n_host < MAX_HOSTS && !ni_span_is(s, "localhost") && digits < s.n)
        m->host[m->n_host++] = s;
}

struct ni_mask *ni_mask_new(const struct ni_tree *t)
{
    struct ni_mask *m = calloc(1, sizeof(*m));
    char buf[1];
    struct ni_text waste = ni_text_on(buf, sizeof(buf)); /* keeps nothing */

    for (size_t i = 0; m && i < t->n; i++) {
        const struct ni_entry *e = &t->at[i];
        struct ni_span value = ni_trim((struct ni_span){e->value, e->len});
        if (strcmp(e->path, "proc/sys/kernel/hostname") == 0) {
            add_host(m, value);
            add_host(m, (struct ni_span){value.p, strcspn(value.p, ".\n")});
        }
        /* A GUID must be known as one before it is met inside an address. */
        if (e->kind == NI_ENTRY_FILE)
            scan(m, e->path, value, is_ib(e, t->at + t->n), &waste);
    }
    return m;
}

void ni_mask_free(struct ni_mask *m)
{
    free(m);
}

void ni_mask_text(struct ni_mask *m, const char *path, struct ni_span s, struct ni_text *ret)
{
    if (strcmp(path, "etc/hosts") == 0)
        scan_hosts(m, s, ret);
    else
        scan(m, path, s, false, ret);
}

int ni_mask_error(const struct ni_mask *m)
{
    return m->full ? -EFBIG : 0;
}
