/* SPDX-License-Identifier: Apache-2.0 */
/* facts: finds in a text what says which machine it is. Each `try` function looks at the start of a
   word; it hands the mask on and returns how many bytes that stands for, or 0. */
#include <stdio.h>
#include <string.h>

#include "mask.h"

struct scan {
    struct ni_mask *m;
    const struct ni_mask_place *place;
    ni_sink_fn *sink;
    void *ctx;
};

/* ---- characters ---- */

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static size_t hex_run(struct ni_span s)
{
    size_t n = 0;

    while (n < s.n && is_hex(s.p[n]))
        n++;
    return n;
}

static size_t word_len(struct ni_span s)
{
    size_t n = 0;

    while (n < s.n && is_alnum(s.p[n]))
        n++;
    return n;
}

static struct ni_span tail(struct ni_span s, size_t from)
{
    return (struct ni_span){s.p + from, s.n - from};
}

static uint64_t hex_value(const char *s, size_t n)
{
    uint64_t v = 0;

    (void)ni_parse_hex((struct ni_span){s, n}, UINT64_MAX, &v);
    return v;
}

static void NI_PRINTF(2, 3) say(const struct scan *sc, const char *fmt, ...)
{
    char buf[320];
    struct ni_text text = ni_text_on(buf, sizeof(buf));
    va_list ap;

    va_start(ap, fmt);
    ni_vputf(&text, fmt, ap);
    va_end(ap);
    sc->sink(sc->ctx, buf, text.len);
}

/* ---- host names ---- */

static size_t try_host(const struct scan *sc, struct ni_span s)
{
    const struct ni_mask_hosts *hosts = ni_mask_hosts_of(sc->m);

    for (unsigned i = 0; i < hosts->n; i++) {
        const struct ni_mask_host *host = &hosts->host[i];
        size_t n = host->name.n;
        if (n > s.n || memcmp(s.p, host->name.p, n) != 0 || (n < s.n && is_alnum(s.p[n])))
            continue;
        if (sc->place->kernel && !host->distinctive)
            continue;
        say(sc, "masked-host-%u", host->number);
        return n;
    }
    return 0;
}

/* ---- 8-4-4-4-12, with '-' or, in names of cgroups, '_' ---- */

enum { UUID_LEN = 36 };

static bool is_uuid(const char *s)
{
    static const uint8_t group[] = {8, 4, 4, 4, 12};
    char sep = s[8];

    if (sep != '-' && sep != '_')
        return false;
    for (size_t i = 0; i < NI_COUNT(group); i++) {
        for (size_t k = 0; k < group[i]; k++)
            if (!is_hex(*s++))
                return false;
        if (i + 1 < NI_COUNT(group) && *s++ != sep)
            return false;
    }
    return true;
}

/* It may be the end of a word: pod0b0f8c1c-... */
static size_t try_uuid(const struct scan *sc, struct ni_span s)
{
    size_t word = word_len(s);

    if (word < 8 || s.n < word - 8 + UUID_LEN)
        return 0;
    struct ni_span id = tail(s, word - 8);
    if (!is_uuid(id.p) || (id.n > UUID_LEN && is_alnum(id.p[UUID_LEN])))
        return 0;
    uint64_t hi = hex_value(id.p, 8) << 32 | hex_value(id.p + 9, 4) << 16 | hex_value(id.p + 14, 4);
    uint64_t lo = hex_value(id.p + 19, 4) << 48 | hex_value(id.p + 24, 12);
    char sep = id.p[8];
    sc->sink(sc->ctx, s.p, word - 8);
    if (hi == 0 && lo == 0)
        sc->sink(sc->ctx, id.p, UUID_LEN);
    else
        say(sc, "00000000%c0000%c4000%c8000%c%012x", sep, sep, sep, sep,
            ni_mask_number(sc->m, NI_MASK_UUID, hi, lo, (struct ni_span){0}));
    return word - 8 + UUID_LEN;
}

/* ---- groups of hex digits with colons or dashes ---- */

enum { MAX_GROUPS = 20 };

struct groups {
    uint8_t len[MAX_GROUPS];
    uint8_t octet[MAX_GROUPS]; /* of groups of two */
    unsigned n;
    size_t total; /* bytes */
    bool all_two, all_four;
};

/* As many groups as there are. A group that runs into other letters is none: aa:bb:cc:port. */
static bool read_groups(struct ni_span s, char sep, struct groups *g)
{
    *g = (struct groups){.all_two = true, .all_four = true};
    for (size_t at = 0;;) {
        size_t len = hex_run(tail(s, at));
        if (len == 0 || len > 4 || (at + len < s.n && is_alnum(s.p[at + len])))
            return g->n > 0;
        if (g->n == MAX_GROUPS)
            return false;
        g->octet[g->n] = (uint8_t)hex_value(s.p + at, len);
        g->len[g->n++] = (uint8_t)len;
        g->all_two &= len == 2;
        g->all_four &= len == 4;
        g->total = at + len;
        at += len;
        if (at + 1 >= s.n || s.p[at] != sep)
            return true;
        at++;
    }
}

static uint64_t octets(const struct groups *g, unsigned from, unsigned n)
{
    uint64_t v = 0;

    for (unsigned i = from; i < from + n; i++)
        v = v << 8 | g->octet[i];
    return v;
}

static void say_octets(const struct scan *sc, uint64_t v, unsigned n, char sep)
{
    for (unsigned i = n; i-- > 0;) {
        say(sc, "%02x", (unsigned)(v >> (8 * i)) & 0xff);
        if (i > 0)
            sc->sink(sc->ctx, &sep, 1);
    }
}

/* Six octets: Ethernet. Eight: a GUID. Twenty: IPoIB, flags and queue pair, then a GID (RFC 4391
   section 9.1.1). Seven with dashes: BOOTIF= of a PXE boot, hardware type and Ethernet. */
static size_t try_octets(const struct scan *sc, struct ni_span s, const struct groups *g, char sep)
{
    unsigned from = g->n == 20 ? 12 : g->n == 7 && sep == '-' ? 1 : 0;
    unsigned n = g->n - from;

    if (!g->all_two || (n != 6 && n != 8))
        return 0;
    sc->sink(sc->ctx, s.p, (size_t)from * 3);
    uint64_t v = octets(g, from, n);
    say_octets(sc, n == 6 ? ni_mask_mac(sc->m, v) : ni_mask_guid(sc->m, v, true), n, sep);
    return g->total;
}

static void say_hex_ip(const struct scan *sc, const uint8_t ip[NI_GID_BYTES], bool colons)
{
    for (unsigned i = 0; i < NI_GID_BYTES; i += 2)
        say(sc, "%s%02x%02x", colons && i > 0 ? ":" : "", ip[i], ip[i + 1]);
}

/* node_guid, and a GID as sysfs writes it. */
static size_t try_fours(const struct scan *sc, struct ni_span s, const struct groups *g)
{
    uint8_t ip[NI_GID_BYTES];

    if (!g->all_four)
        return 0;
    if (g->n == 8 && ni_parse_gid((struct ni_span){s.p, g->total}, ip) == 0) {
        ni_mask_ip(sc->m, ip, sc->place->gid_ib);
        say_hex_ip(sc, ip, true);
        return g->total;
    }
    if (g->n != 4)
        return 0;
    uint64_t v = 0;
    for (unsigned i = 0; i < 4; i++)
        v = v << 16 | hex_value(s.p + (size_t)i * 5, 4);
    v = ni_mask_guid(sc->m, v, true);
    for (unsigned i = 4; i-- > 0;)
        say(sc, "%04x%s", (unsigned)(v >> (16 * i)) & 0xffff, i > 0 ? ":" : "");
    return g->total;
}

/* ---- IPv6 as people write it ---- */

/* Groups before or after the "::" into 16-bit words. */
static unsigned read_words(struct ni_span s, uint16_t word[8], size_t *ret_len)
{
    unsigned n = 0;
    size_t at = 0;

    *ret_len = 0;
    for (;;) {
        size_t len = hex_run(tail(s, at));
        if (len == 0 || len > 4 || n == 8 || (at + len < s.n && is_alnum(s.p[at + len])))
            return n;
        word[n++] = (uint16_t)hex_value(s.p + at, len);
        at += len;
        *ret_len = at;
        if (at + 1 >= s.n || s.p[at] != ':' || s.p[at + 1] == ':')
            return n;
        at++;
    }
}

static size_t try_ipv6(const struct scan *sc, struct ni_span s)
{
    uint16_t head[8] = {0}, rest[8] = {0};
    uint8_t ip[NI_GID_BYTES] = {0}, masked[NI_GID_BYTES];
    char text[NI_IP_TEXT];
    size_t n = 0, more = 0;
    unsigned n_rest = 0;
    unsigned n_head = read_words(s, head, &n);

    if (s.n >= n + 2 && memcmp(s.p + n, "::", 2) == 0) {
        n_rest = read_words(tail(s, n + 2), rest, &more);
        n += 2 + more;
    } else if (n_head != 8) {
        return 0;
    }
    if (n_head + n_rest > 8)
        return 0;
    for (unsigned i = 0; i < n_head; i++) {
        ip[2 * i] = (uint8_t)(head[i] >> 8);
        ip[2 * i + 1] = (uint8_t)head[i];
    }
    for (unsigned i = 0; i < n_rest; i++) {
        ip[2 * (8 - n_rest + i)] = (uint8_t)(rest[i] >> 8);
        ip[2 * (8 - n_rest + i) + 1] = (uint8_t)rest[i];
    }
    memcpy(masked, ip, sizeof(ip));
    ni_mask_ip(sc->m, masked, false);
    if (memcmp(masked, ip, sizeof(ip)) == 0)
        sc->sink(sc->ctx, s.p, n); /* as it was written */
    else
        say(sc, "%s", ni_ip_text(masked, text));
    return n;
}

static size_t try_groups(const struct scan *sc, struct ni_span s)
{
    struct groups g;
    size_t used = 0;

    if (read_groups(s, ':', &g)) {
        used = try_octets(sc, s, &g, ':');
        if (used == 0)
            used = try_fours(sc, s, &g);
    }
    if (used == 0)
        used = try_ipv6(sc, s);
    if (used == 0 && read_groups(s, '-', &g))
        used = try_octets(sc, s, &g, '-');
    return used;
}

/* ---- long runs of hex digits: an address in proc/net, else an id of a container ---- */

static size_t try_hex(const struct scan *sc, struct ni_span s)
{
    uint8_t ip[NI_GID_BYTES];
    size_t n = word_len(s);
    size_t same = 1;

    if (n < 32 || n > 256 || hex_run(s) != n)
        return 0;
    if (sc->place->net && n == 32 && ni_parse_hex_ip((struct ni_span){s.p, n}, ip) == 0) {
        ni_mask_ip(sc->m, ip, false);
        say_hex_ip(sc, ip, false);
        return n;
    }
    while (same < n && s.p[same] == s.p[0])
        same++;
    if (same == n) /* a bit mask */
        sc->sink(sc->ctx, s.p, n);
    else
        say(sc, "%0*x", (int)n, ni_mask_number(sc->m, NI_MASK_HEX, n, 0, (struct ni_span){s.p, n}));
    return n;
}

/* ---- all ---- */

static size_t try_all(const struct scan *sc, struct ni_span s)
{
    size_t used = try_host(sc, s);

    if (used == 0)
        used = try_uuid(sc, s);
    if (used == 0)
        used = try_groups(sc, s);
    if (used == 0)
        used = try_hex(sc, s);
    return used;
}

void ni_mask_scan(struct ni_mask *m, const struct ni_mask_place *place, struct ni_span s,
                  ni_sink_fn *sink, void *ctx)
{
    struct scan sc = {.m = m, .place = place, .sink = sink, .ctx = ctx};
    bool inside = false; /* of a word */

    if (place->opaque && s.n > 0) {
        say(&sc, "masked-%u", ni_mask_number(m, NI_MASK_OPAQUE, 0, 0, s));
        return;
    }
    while (s.n > 0) {
        bool starts = !inside && (is_alnum(*s.p) || *s.p == ':');
        size_t used = starts ? try_all(&sc, s) : 0;
        if (used == 0) {
            used = is_alnum(*s.p) ? word_len(s) : 1;
            sink(ctx, s.p, used);
        }
        inside = is_alnum(s.p[used - 1]);
        s = tail(s, used);
    }
}
