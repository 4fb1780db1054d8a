/* SPDX-License-Identifier: Apache-2.0 */
/* facts: what stands for what in a masked record. Same things get the same mask, different things
   different ones, and a GID still belongs to the MAC address that it was made from: so the replay
   gives the same plan. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "mask.h"

enum { SLOTS = 1 << 15, MAX_ENTRIES = SLOTS / 2 };

struct entry {
    uint64_t a, b;
    struct ni_span key;
    uint32_t number; /* 0: free */
    enum ni_mask_kind kind;
};

struct ni_mask {
    const struct ni_tree *t;
    struct ni_mask_hosts hosts;
    uint32_t last[NI_MASK_OPAQUE + 1];
    uint32_t n;
    int failed;
    struct entry entry[SLOTS];
};

/* ---- the table ---- */

static uint32_t hash_of(enum ni_mask_kind kind, uint64_t a, uint64_t b, struct ni_span key)
{
    uint64_t h = (a ^ (b << 1) ^ (uint64_t)kind) * 0x9e3779b97f4a7c15U;

    for (size_t i = 0; i < key.n; i++)
        h = (h ^ (unsigned char)key.p[i]) * 0x100000001b3U;
    return (uint32_t)(h >> 40) & (SLOTS - 1);
}

/* The entry, or the free place for it. */
static struct entry *find(struct ni_mask *m, enum ni_mask_kind kind, uint64_t a, uint64_t b,
                          struct ni_span key)
{
    uint32_t i = hash_of(kind, a, b, key);

    for (;; i = (i + 1) & (SLOTS - 1)) {
        struct entry *e = &m->entry[i];
        if (e->number == 0)
            return e;
        if (e->kind == kind && e->a == a && e->b == b && e->key.n == key.n &&
            (key.n == 0 || memcmp(e->key.p, key.p, key.n) == 0))
            return e;
    }
}

uint32_t ni_mask_number(struct ni_mask *m, enum ni_mask_kind kind, uint64_t a, uint64_t b,
                        struct ni_span key)
{
    struct entry *e = find(m, kind, a, b, key);

    if (e->number)
        return e->number;
    if (m->n == MAX_ENTRIES) {
        m->failed = -ENOSPC;
        return 0;
    }
    m->n++;
    *e = (struct entry){.kind = kind, .a = a, .b = b, .key = key, .number = ++m->last[kind]};
    return e->number;
}

/* ---- MAC addresses, GUIDs, addresses made of them ---- */

#define MAC_BROADCAST 0xffffffffffffU
#define MAC_BASE      0x020000000000U /* locally administered: nobody's */
/* Neither of the form that a MAC gives (ff:fe in the middle) nor a small number. */
#define GUID_BASE 0x0200000300000000U
/* RFC 4291 appendix A: an interface id has the universal bit of the MAC or GUID turned over. */
#define UNIVERSAL (UINT64_C(1) << 57)

uint64_t ni_mask_mac(struct ni_mask *m, uint64_t mac)
{
    if (mac == 0 || mac == MAC_BROADCAST)
        return mac;
    return MAC_BASE + ni_mask_number(m, NI_MASK_MAC, mac, 0, (struct ni_span){0});
}

static bool is_eui64(uint64_t id)
{
    return ((id >> 24) & 0xffff) == 0xfffe;
}

static bool is_known_guid(struct ni_mask *m, uint64_t guid)
{
    return find(m, NI_MASK_GUID, guid, 0, (struct ni_span){0})->number != 0;
}

uint64_t ni_mask_guid(struct ni_mask *m, uint64_t guid, bool add)
{
    if (is_eui64(guid)) {
        uint64_t flipped = guid ^ UNIVERSAL;
        uint64_t mac = ni_mask_mac(m, (flipped >> 40 << 24) | (flipped & 0xffffff));
        return ((mac >> 24 << 40) | (UINT64_C(0xfffe) << 24) | (mac & 0xffffff)) ^ UNIVERSAL;
    }
    if (guid >> 32 == 0) /* ::1, ::5: given by people */
        return guid;
    if (add || is_known_guid(m, guid))
        return GUID_BASE + ni_mask_number(m, NI_MASK_GUID, guid, 0, (struct ni_span){0});
    /* The address of an IPoIB interface (drivers/infiniband/ulp/ipoib: RFC 4391 section 8). */
    if (is_known_guid(m, guid ^ UNIVERSAL))
        return ni_mask_guid(m, guid ^ UNIVERSAL, true) ^ UNIVERSAL;
    return guid;
}

void ni_mask_ip(struct ni_mask *m, uint8_t ip[NI_GID_BYTES], bool is_guid)
{
    uint64_t id = 0;

    if (ni_ip_is_v4(ip))
        return;
    for (unsigned i = 8; i < NI_GID_BYTES; i++)
        id = id << 8 | ip[i];
    id = ni_mask_guid(m, id, is_guid);
    for (unsigned i = NI_GID_BYTES; i-- > 8; id >>= 8)
        ip[i] = (uint8_t)id;
}

/* ---- files ---- */

/* Names of attributes that tell one machine from another and are nothing else. */
static bool is_opaque(const char *name)
{
    static const char *const opaque[] = {"phys_switch_id", "phys_port_id", "unique_id", "vpd",
                                         "node_desc",      "wwid",         "machine-id"};

    return ni_is_any(name, opaque, NI_COUNT(opaque)) || strstr(name, "serial") ||
           strstr(name, "asset_tag");
}

/* Whether the GID table at `path` ("/sys/.../ports/1/gids/0") is of an InfiniBand port. When
   nothing tells, it may be. */
static bool is_ib(const struct ni_tree *t, const char *path)
{
    char link[NI_TREE_PATH + 16];
    const char *gids = strstr(path, "/gids/");
    uint32_t at;

    if (!gids)
        return false;
    struct ni_text text = ni_text_on(link, sizeof(link));
    ni_putn(&text, path, (size_t)(gids - path));
    ni_put(&text, "/link_layer");
    if (ni_tree_find(t, link, true, &at) < 0 || t->node[at].kind != NI_NODE_FILE)
        return true;
    return !ni_span_is(ni_tree_value(t, at), "Ethernet");
}

static struct ni_mask_place place_of(const struct ni_mask *m, const char *path)
{
    const char *name = strrchr(path, '/');
    bool sys = ni_has_prefix(path, "/sys/");
    bool net = ni_has_prefix(path, "/proc/") && strstr(path, "/net/");

    return (struct ni_mask_place){.kernel = sys || net,
                                  .net = net,
                                  .gid_ib = is_ib(m->t, path),
                                  .opaque = name && is_opaque(name + 1)};
}

/* /etc/hosts names other machines too: of its names only those that are masked elsewhere, and so
   keep their meaning, are told apart. */
static void mask_hosts(struct ni_mask *m, const struct ni_mask_place *place, struct ni_span s,
                       ni_sink_fn *sink, void *ctx)
{
    static const char blank[] = " \t\n";
    while (s.n > 0) {
        size_t n = 0, gap = 0;
        while (n < s.n && !strchr(blank, s.p[n]))
            n++;
        struct ni_span word = {s.p, n};
        uint8_t ip[NI_GID_BYTES];
        bool known = n == 0 || memchr(word.p, ':', n) || ni_parse_ipv4(word, ip) == 0;
        for (unsigned i = 0; i < m->hosts.n; i++)
            known = known || (m->hosts.host[i].name.n == n &&
                              memcmp(m->hosts.host[i].name.p, word.p, n) == 0);
        if (known)
            ni_mask_scan(m, place, word, sink, ctx);
        else
            sink(ctx, "name", 4);
        while (n + gap < s.n && strchr(blank, s.p[n + gap]))
            gap++;
        sink(ctx, s.p + n, gap);
        s = (struct ni_span){s.p + n + gap, s.n - n - gap};
    }
}

void ni_mask_value(struct ni_mask *m, const char *path, struct ni_span s, ni_sink_fn *sink,
                   void *ctx)
{
    struct ni_mask_place place = place_of(m, path);

    if (strcmp(path, "/etc/hosts") == 0)
        mask_hosts(m, &place, s, sink, ctx);
    else
        ni_mask_scan(m, &place, s, sink, ctx);
}

void ni_mask_name(struct ni_mask *m, struct ni_span s, ni_sink_fn *sink, void *ctx)
{
    struct ni_mask_place place = {.kernel = true};

    ni_mask_scan(m, &place, s, sink, ctx);
}

const struct ni_mask_hosts *ni_mask_hosts_of(const struct ni_mask *m)
{
    return &m->hosts;
}

static void drop(void *ctx, const char *s, size_t n)
{
    (void)ctx;
    (void)s;
    (void)n;
}

/* First pass: a GUID must be known as one before it is met inside an address. */
static void gather(struct ni_mask *m)
{
    char path[NI_TREE_PATH];

    for (uint32_t i = 1; i < m->t->n; i++) {
        const struct ni_node *node = &m->t->node[i];
        struct ni_span name = {ni_tree_name(m->t, i), node->name_len};
        ni_mask_name(m, name, drop, NULL);
        if (node->kind == NI_NODE_LINK)
            ni_mask_name(m, ni_tree_value(m->t, i), drop, NULL);
        else if (node->kind == NI_NODE_FILE)
            ni_mask_value(m, ni_tree_path(m->t, node->parent, name, path) ? path : "/",
                          ni_tree_value(m->t, i), drop, NULL);
    }
}

int ni_mask_new(const struct ni_tree *t, struct ni_mask **ret)
{
    void *map = mmap(NULL, sizeof(struct ni_mask), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (map == MAP_FAILED)
        return -ENOMEM;
    struct ni_mask *m = map;
    m->t = t;
    ni_mask_find_hosts(t, &m->hosts);
    gather(m);
    int r = m->hosts.full ? -ENOSPC : m->failed;
    if (r < 0)
        ni_mask_free(m);
    else
        *ret = m;
    return r;
}

void ni_mask_free(struct ni_mask *m)
{
    if (m)
        (void)munmap(m, sizeof(*m));
}

int ni_mask_error(const struct ni_mask *m)
{
    return m->failed;
}
