/* SPDX-License-Identifier: Apache-2.0 */
/* door: what of a record says which machine it is, replaced. The same things get the same mask,
   different things different ones, and a GID still belongs to the MAC address that it was made
   from: so the replay gives the same plan. IP addresses stay, because the plan hangs on them. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "door.h"

/* Each kind counts for itself. */
enum kind { MAC, GUID, ID, KINDS };

enum { MAX_THINGS = 1 << 14, MAX_HOSTS = 4 };

struct ni_mask {
    unsigned n, n_of[KINDS], n_host;
    bool full;
    struct ni_span host[MAX_HOSTS];
    struct {
        uint64_t is;
        enum kind kind;
        uint32_t number;  /* 0: free */
    } at[2 * MAX_THINGS]; /* by hash */
};

/* ---- what stands for what ---- */

/* From 1; 0: there is none. */
static uint32_t number_of(struct ni_mask *m, enum kind kind, uint64_t is, bool make)
{
    size_t i = (is ^ kind) * 0x9e3779b97f4a7c15U >> 49; /* 2^15 places */

    for (; m->at[i].number; i = (i + 1) % NI_COUNT(m->at))
        if (m->at[i].kind == kind && m->at[i].is == is)
            return m->at[i].number;
    if (!make)
        return 0;
    m->full |= m->n == MAX_THINGS;
    if (m->full)
        return 0;
    m->n++;
    m->at[i].is = is;
    m->at[i].kind = kind;
    m->at[i].number = ++m->n_of[kind];
    return m->at[i].number;
}

#define MAC_BROADCAST 0xffffffffffffU
#define MAC_BASE      0x020000000000U /* locally administered: nobody's */
/* Neither of the form that a MAC gives (ff:fe in the middle) nor a small number. */
#define GUID_BASE 0x0200000300000000U
/* RFC 4291 appendix A: an interface id has the universal bit of the MAC or GUID turned over. */
#define UNIVERSAL (UINT64_C(1) << 57)

static uint64_t mask_mac(struct ni_mask *m, uint64_t mac)
{
    return mac == 0 || mac == MAC_BROADCAST ? mac : MAC_BASE + number_of(m, MAC, mac, true);
}

/* A GUID, or the low half of an address. sure: it is a GUID; else only if it was met as one. */
static uint64_t mask_guid(struct ni_mask *m, uint64_t guid, bool sure)
{
    if (((guid >> 24) & 0xffff) == 0xfffe) { /* made of a MAC address */
        uint64_t id = guid ^ UNIVERSAL;
        uint64_t mac = mask_mac(m, (id >> 40 << 24) | (id & 0xffffff));
        return ((mac >> 24 << 40) | (UINT64_C(0xfffe) << 24) | (mac & 0xffffff)) ^ UNIVERSAL;
    }
    if (guid >> 32 == 0) /* ::1, ::5: given by people */
        return guid;
    uint32_t number = number_of(m, GUID, guid, sure);
    if (number)
        return GUID_BASE + number;
    /* The address of an IPoIB interface (drivers/infiniband/ulp/ipoib: RFC 4391 section 8). */
    number = number_of(m, GUID, guid ^ UNIVERSAL, false);
    return number ? (GUID_BASE + number) ^ UNIVERSAL : guid;
}

static void mask_ip(struct ni_mask *m, uint8_t ip[NI_GID_BYTES], bool is_guid)
{
    uint64_t id = 0;

    for (unsigned i = 8; i < NI_GID_BYTES; i++)
        id = id << 8 | ip[i];
    if (!ni_ip_is_v4(ip))
        id = mask_guid(m, id, is_guid);
    for (unsigned i = NI_GID_BYTES; i-- > 8; id >>= 8)
        ip[i] = (uint8_t)id;
}

/* ---- words ---- */

static const char hex[] = "0123456789abcdefABCDEF";

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* How many bytes at the start are of the set. */
static size_t run_of(struct ni_span s, const char *set)
{
    size_t n = 0;

    while (n < s.n && s.p[n] && strchr(set, s.p[n]))
        n++;
    return n;
}

static size_t word_of(struct ni_span s)
{
    size_t n = 0;

    while (n < s.n && is_alnum(s.p[n]))
        n++;
    return n;
}

static uint64_t hex_value(const char *s, size_t n)
{
    uint64_t v = 0;

    (void)ni_parse_hex((struct ni_span){s, n}, UINT64_MAX, &v);
    return v;
}

/* FNV-1a */
static uint64_t hash_of(struct ni_span s)
{
    uint64_t h = 0xcbf29ce484222325U;

    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char)s.p[i]) * 0x100000001b3U;
    return h;
}

/* Each of these looks at the start of a word, puts the mask, and returns how many bytes that stands
   for; 0: it is something else. */

static size_t try_host(struct ni_mask *m, struct ni_span s, struct ni_bytes *ret)
{
    for (unsigned i = 0; i < m->n_host; i++) {
        size_t n = m->host[i].n;
        if (n <= s.n && memcmp(s.p, m->host[i].p, n) == 0 && (n == s.n || !is_alnum(s.p[n]))) {
            ni_bytes_putf(ret, "masked-host-%u", i + 1);
            return n;
        }
    }
    return 0;
}

/* 8-4-4-4-12 hex digits, with '-' or, in names of cgroups, '_'; it may be the end of a word:
   pod0b0f8c1c-... */
static size_t try_uuid(struct ni_mask *m, struct ni_span s, struct ni_bytes *ret)
{
    static const uint8_t group[] = {8, 4, 4, 4, 12};
    size_t front = word_of(s), at = front - 8;

    if (front < 8 || front >= s.n)
        return 0;
    char sep = s.p[front];
    for (unsigned i = 0; i < NI_COUNT(group); i++) {
        struct ni_span digits = {s.p + at, s.n - at};
        if (run_of(digits, hex) < group[i])
            return 0;
        at += group[i];
        if (i + 1 < NI_COUNT(group) && (at >= s.n || s.p[at++] != sep))
            return 0;
    }
    if ((sep != '-' && sep != '_') || (at < s.n && is_alnum(s.p[at])))
        return 0;
    struct ni_span id = {s.p + front - 8, at - front + 8};
    if (run_of(id, "0-_") == id.n)
        return 0;
    uint32_t number = number_of(m, ID, hash_of(id), true);
    ni_bytes_put(ret, s.p, front - 8);
    ni_bytes_putf(ret, "00000000%c0000%c4000%c8000%c%012x", sep, sep, sep, sep, number);
    return at;
}

/* Groups of hex digits. Six octets: Ethernet. Seven with dashes: BOOTIF= of a PXE boot, a type and
   Ethernet. Eight: a GUID. Twenty: IPoIB, flags and queue pair, then a GID (RFC 4391 section 9.1.1).
   Four groups of four: a GUID as sysfs writes it. */
static size_t try_groups(struct ni_mask *m, struct ni_span s, char sep, struct ni_bytes *ret)
{
    size_t all = run_of(s, sep == ':' ? "0123456789abcdefABCDEF:" : "0123456789abcdefABCDEF-");
    while (all > 0 && s.p[all - 1] == sep)
        all--;
    size_t size = run_of(s, hex), n = (all + 1) / (size + 1);
    uint64_t v = 0;

    if ((all < s.n && is_alnum(s.p[all])) || (all + 1) % (size + 1) != 0)
        return 0;
    for (size_t i = size; i < all; i++)
        if ((s.p[i] == sep) != (i % (size + 1) == size))
            return 0;
    size_t skip = n == 20 ? 12 : n == 7 && sep == '-' ? 1 : 0;
    bool guid = (size == 2 && n - skip == 8) || (size == 4 && n == 4 && sep == ':');
    if (!guid && (size != 2 || n - skip != 6))
        return 0;
    for (size_t i = skip; i < n; i++)
        v = v << (4 * size) | hex_value(s.p + i * (size + 1), size);
    v = guid ? mask_guid(m, v, true) : mask_mac(m, v);
    ni_bytes_put(ret, s.p, skip * (size + 1));
    for (size_t i = n - skip; i-- > 0;)
        ni_bytes_putf(ret, "%0*llx%s", (int)size,
                      (unsigned long long)(v >> (4 * size * i)) & ((1U << (4 * size)) - 1),
                      i > 0 ? (char[]){sep, '\0'} : "");
    return all;
}

/* IPv6 as people write it, and a GID as sysfs does. */
static size_t try_ipv6(struct ni_mask *m, struct ni_span s, bool is_guid, struct ni_bytes *ret)
{
    uint8_t ip[NI_GID_BYTES], was[NI_GID_BYTES];
    char text[NI_IP_TEXT];
    size_t n = run_of(s, "0123456789abcdefABCDEF:");

    if ((n < s.n && is_alnum(s.p[n])) || !ni_copyn(text, sizeof(text), s.p, n) ||
        inet_pton(AF_INET6, text, ip) != 1)
        return 0;
    memcpy(was, ip, sizeof(ip));
    mask_ip(m, ip, is_guid);
    if (memcmp(ip, was, sizeof(ip)) == 0)
        ni_bytes_put(ret, s.p, n);
    else if (n < 39)
        ni_bytes_put(ret, ni_ip_text(ip, text), strlen(ni_ip_text(ip, text)));
    for (unsigned i = 0; n == 39 && memcmp(ip, was, sizeof(ip)) != 0 && i < NI_GID_BYTES; i += 2)
        ni_bytes_putf(ret, "%s%02x%02x", i > 0 ? ":" : "", ip[i], ip[i + 1]);
    return n;
}

/* Long runs of hex digits: an address in proc/net, else the id of a container. */
static size_t try_hex(struct ni_mask *m, struct ni_span s, bool net, struct ni_bytes *ret)
{
    uint8_t ip[NI_GID_BYTES];
    size_t n = word_of(s);

    if (n < 32 || run_of(s, hex) != n || run_of(s, (char[]){*s.p, '\0'}) == n) /* a bit mask */
        return 0;
    if (net && ni_parse_hex_ip((struct ni_span){s.p, n}, ip) == 0) {
        mask_ip(m, ip, false);
        for (unsigned i = 0; i < NI_GID_BYTES; i++)
            ni_bytes_putf(ret, "%02x", ip[i]);
    } else {
        ni_bytes_putf(ret, "%0*x", (int)n,
                      number_of(m, ID, hash_of((struct ni_span){s.p, n}), true));
    }
    return n;
}

/* More than any address has, so that a long run of colons takes no time to speak of. */
enum { NEAR = 80 };

/* path "": a name or the target of a link. ib: in a GID table, the low half of a GID is a GUID. */
static void scan(struct ni_mask *m, const char *path, struct ni_span s, bool ib,
                 struct ni_bytes *ret)
{
    bool people = *path && !ni_has_prefix(path, "sys/");
    bool net = ni_has_prefix(path, "proc/") && strstr(path, "net/");
    bool inside = false; /* of a word */

    while (s.n > 0) {
        struct ni_span near = {s.p, s.n < NEAR ? s.n : NEAR};
        bool starts = !inside && (is_alnum(*s.p) || *s.p == ':');
        size_t n = starts && people && !net ? try_host(m, s, ret) : 0;
        n = n || !starts ? n : try_uuid(m, s, ret);
        n = n || !starts ? n : try_groups(m, near, ':', ret);
        n = n || !starts ? n : try_ipv6(m, near, ib, ret);
        n = n || !starts ? n : try_groups(m, near, '-', ret);
        n = n || !starts ? n : try_hex(m, s, net, ret);
        if (n == 0) {
            n = is_alnum(*s.p) ? word_of(s) : 1;
            ni_bytes_put(ret, s.p, n);
        }
        inside = is_alnum(s.p[n - 1]);
        s = (struct ni_span){s.p + n, s.n - n};
    }
}

/* /etc/hosts names other machines too. */
static void scan_hosts(struct ni_mask *m, struct ni_span s, struct ni_bytes *ret)
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
            ni_bytes_put(ret, "name", 4);
        s = (struct ni_span){s.p + n, s.n - n};
    }
}

/* ---- all ---- */

/* Whether the GID at this path, ".../ports/1/gids/0", is of an InfiniBand port. When nothing tells,
   it may be. */
static bool is_ib(const struct ni_tree *t, const char *path)
{
    char link[NI_TREE_PATH + 16], at[NI_TREE_PATH];
    const char *gids = strstr(path, "/gids/");
    const struct ni_entry *e;

    if (!gids || !ni_format(link, sizeof(link), "%.*s/link_layer", (int)(gids - path), path))
        return false;
    return ni_tree_find(t, link, true, at, &e) < 0 || e->kind != NI_ENTRY_FILE ||
           strcmp(e->value, "Ethernet") != 0;
}

static void add_host(struct ni_mask *m, struct ni_span s)
{
    s = ni_trim(s);
    if (s.n >= 2 && m->n_host < MAX_HOSTS && !ni_span_is(s, "localhost") &&
        run_of(s, "0123456789.") < s.n)
        m->host[m->n_host++] = s;
}

struct ni_mask *ni_mask_new(const struct ni_tree *t)
{
    struct ni_mask *m = calloc(1, sizeof(*m));
    struct ni_bytes waste = {0};

    for (size_t i = 0; m && i < t->n; i++) {
        const struct ni_entry *e = &t->at[i];
        struct ni_span value = {e->value, e->len};
        if (strcmp(e->path, "proc/sys/kernel/hostname") == 0 ||
            strcmp(e->path, "etc/hostname") == 0) {
            add_host(m, value);
            add_host(m, (struct ni_span){value.p, strcspn(value.p, ".")});
        }
        /* A GUID must be known as one before it is met inside an address. */
        if (e->kind == NI_ENTRY_FILE)
            scan(m, e->path, value, is_ib(t, e->path), &waste);
        waste.n = 0;
    }
    free(waste.p);
    return m;
}

void ni_mask_free(struct ni_mask *m)
{
    free(m);
}

void ni_mask_text(struct ni_mask *m, const char *path, struct ni_span s, struct ni_bytes *ret)
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
