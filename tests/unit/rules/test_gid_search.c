/* SPDX-License-Identifier: Apache-2.0 */
/* Where NCCL's own GID search ends: what is known of it as a table, then against a second reading
   of its steps over many small tables. */
#include "lib/rules_node.h"
#include "lib/trials.h"
#include "nccl_init/base.h"
#include "nccl_init/ip.h"
#include "nccl_init/number.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rules/gid_search.h"

struct how {
    const char *range; /* NULL: none */
    bool v6;
    int version;
};

/* "fe80::1/1 - 10.0.0.1/2 fd00::1/?": an entry per index, `-` is empty, `?` a type that cannot be
   read. */
static void set_table(const char *table)
{
    struct ni_span e;
    unsigned index = 0;
    node_reset(NULL);
    node_hca("mlx5_0");
    for (; table && *table && ni_split(&table, ' ', &e); index++) {
        char ip[NI_IP_TEXT];
        if (ni_span_is(e, "-"))
            continue;
        char type = e.p[e.n - 1];
        assert_true(ni_copyn(ip, sizeof(ip), e.p, e.n - 2));
        node_gid(index, ip,
                 type == '1'   ? NI_GID_V1
                 : type == '2' ? NI_GID_V2
                               : NI_GID_UNREAD,
                 NI_OWNER_POD, "net1");
    }
    node.inv.port[0].gids_read = index;
}

static struct ni_gid_selection search_of(const struct how *how)
{
    struct ni_gid_selection s = {
        .index = -1, .v6 = how->v6, .version = how->version ? how->version : 2};
    if (how->range) {
        const char *slash = strchr(how->range, '/');
        char ip[NI_IP_TEXT];
        uint64_t bits = 0;
        assert_true(ni_copyn(ip, sizeof(ip), how->range, (size_t)(slash - how->range)));
        node_ip(ip, s.range);
        assert_int_equal(ni_parse_u64(ni_span_of(slash + 1), 128, &bits), 0);
        s.bits = (unsigned)bits + (ni_ip_is_v4(s.range) ? 96 : 0);
        s.ranged = true;
    }
    return s;
}

struct row {
    const char *table;
    struct how how;
    unsigned want;
};

static void check(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        set_table(rows[i].table);
        struct ni_gid_selection s = search_of(&rows[i].how);
        unsigned got = ni_gid_end(&node.inv, &node.inv.port[0], &s).index;
        if (got != rows[i].want)
            fail_msg("row %zu, `%s`: %u, not %u", i, rows[i].table, got, rows[i].want);
    }
}

#define V4    NULL, false, 0
#define V6    NULL, true, 0
#define LOCAL "fe80::1/1 fe80::1/2 "

static void test_known_outcomes(void **state)
{
    static const struct row rows[] = {
        {"", {V4}, 0},
        {"10.0.0.1/2", {V4}, 0},
        {LOCAL "10.0.0.1/1 10.0.0.1/2", {V4}, 3},
        /* the lowest index wins: later equal ones replace nothing */
        {LOCAL "10.0.0.1/1 10.0.0.1/2 10.0.0.2/1 10.0.0.2/2", {V4}, 3},
        {LOCAL "10.0.0.1/2 10.0.0.1/1 10.0.0.2/2", {V4}, 2},
        {"10.0.0.1/2 10.0.0.1/1 10.0.0.2/2", {V4}, 0},
        /* link-local only: index 0, also with AF_INET6; a v2 entry at 1 is never chosen */
        {"fe80::1/1 fe80::1/2", {V4}, 0},
        {"fe80::1/1 fe80::1/2", {V6}, 0},
        {"fe80::/1 fe80::1/2", {V6}, 0},
        /* 169.254/16 is not link-local to NCCL, ULA is valid */
        {LOCAL "169.254.1.1/1 169.254.1.1/2", {V4}, 3},
        {LOCAL "fd00::1/1 fd00::1/2", {V6}, 3},
        /* IPv6 only */
        {LOCAL "fd00::1/1 fd00::1/2", {V4}, 0},
        {LOCAL "2001:db8::1/1 2001:db8::1/2", {V6}, 3},
        {"fd00::1/1 fd00::1/2", {V6}, 1},
        /* no v2 in the family: the first v1 in the family */
        {LOCAL "10.0.0.1/1 10.0.0.2/1", {V4}, 2},
        {"fe80::1/1 10.0.0.1/1 fd00::1/2", {V4}, 1},
        /* the first of the family is taken without a look at its version, and kept when it is v2 */
        {"fe80::1/1 10.0.0.1/2 10.0.0.1/1", {V4}, 1},
        {"fe80::1/1 10.0.0.1/? 10.0.0.2/?", {V4}, 1},
        /* AF_INET6 while index 0 is IPv4 and index 1 is empty */
        {"10.0.0.1/2 -", {V6}, 1},
        {"10.0.0.1/2 - fe80::1/2", {V6}, 1},
        {"10.0.0.1/2 - fd00::1/2", {V6}, 2},
        {"10.0.0.1/2 - fd00::1/1", {V6}, 1},
        {"10.0.0.1/2 fe80::1/2 fd00::1/2", {V6}, 2},
        /* sparse tables */
        {"- - - - fe80::1/1 fe80::1/2 10.0.103.6/1 10.0.103.6/2", {V4}, 7},
        {"- - - - fe80::1/1 fe80::1/2 10.0.103.6/? 10.0.103.6/2", {V4}, 7},
        {"- fd00::1/2", {V6}, 1},
        {"- - 10.0.0.1/2", {V4}, 2},
        /* an entry whose type cannot be read has no version */
        {LOCAL "10.0.0.1/? 10.0.0.2/2", {V4}, 3},
        {LOCAL "10.0.0.1/1 10.0.0.2/? 10.0.0.3/2", {V4}, 4},
        {LOCAL "10.0.0.1/1 10.0.0.2/?", {V4}, 2},
        /* other pods' entries are entries like any */
        {LOCAL "10.9.9.9/1 10.9.9.9/2 10.0.0.1/1 10.0.0.1/2", {V4}, 3},
    };
    (void)state;
    check(rows, NI_COUNT(rows));
}

static void test_range_and_version(void **state)
{
    static const struct row rows[] = {
        {LOCAL "10.0.0.1/1 10.0.0.1/2 10.1.0.1/1 10.1.0.1/2", {"10.1.0.0/16", false, 0}, 5},
        {LOCAL "10.0.0.1/1 10.0.0.1/2", {"10.1.0.0/16", false, 0}, 0},
        {LOCAL "10.0.0.1/1 10.0.0.1/2", {"10.0.0.0/8", false, 0}, 3},
        {LOCAL "10.0.0.1/1 10.0.0.1/2", {"10.0.0.1/32", false, 0}, 3},
        {LOCAL "10.0.0.1/1 10.0.0.1/2", {"10.0.0.2/31", false, 0}, 0},
        {LOCAL "10.0.0.1/1 10.0.0.1/2", {"0.0.0.0/0", false, 0}, 3},
        {LOCAL "fd00::1/2 fd01::1/2", {"fd01::/16", true, 0}, 3},
        {LOCAL "fd00::1/2 fd01::1/2", {"fd02::/16", true, 0}, 0},
        {LOCAL "fd00::1/2 fd01::1/2", {"fc00::/7", true, 0}, 2},
        {LOCAL "10.0.0.1/1 10.0.0.1/2", {NULL, false, 1}, 2},
        {LOCAL "10.0.0.1/2 10.0.0.1/1", {NULL, false, 1}, 3},
        {LOCAL "10.0.0.1/1 10.0.0.1/2", {NULL, false, 3}, 2},
    };
    (void)state;
    check(rows, NI_COUNT(rows));
}

/* NCCL calls only fe80::/64 link-local. */
static void test_edges_of_family_and_validity(void **state)
{
    static const struct row rows[] = {
        {LOCAL "fe80:0:0:1::5/2", {NULL, true, 0}, 2},
        {LOCAL "fe90::5/2", {NULL, true, 0}, 2},
    };
    (void)state;
    check(rows, NI_COUNT(rows));
}

/* Where the outcome hangs on a type that cannot be read. */
static void test_unread_types(void **state)
{
    static const struct {
        const char *table;
        struct how how;
        bool unproven;
    } rows[] = {
        {LOCAL "10.0.0.1/1 10.0.0.1/2", {V4}, false},
        {LOCAL "10.0.0.1/? 10.0.0.2/2", {V4}, true},
        {LOCAL "10.0.0.1/? 10.0.0.2/1", {V4}, false}, /* not the wanted version */
        {LOCAL "10.0.0.1/1 10.0.0.2/? 10.0.0.3/2", {V4}, false},
        {LOCAL "10.0.0.1/? fd00::1/2", {V4}, false}, /* another family is not looked at */
        {LOCAL "192.168.0.1/? 10.0.0.2/2", {"10.0.0.0/8", false, 0}, false},
        {"- fd00::1/2", {V6}, false}, /* an empty entry is not valid: its type is no matter */
        {"fe80::1/? fd00::1/2", {V6}, false},
        {"fd00::9/? fd00::1/2", {V6}, true},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(rows); i++) {
        set_table(rows[i].table);
        struct ni_gid_selection s = search_of(&rows[i].how);
        struct ni_gid_end end = ni_gid_end(&node.inv, &node.inv.port[0], &s);
        if (end.unproven != rows[i].unproven)
            fail_msg("row %zu, `%s`", i, rows[i].table);
        node.inv.port[0].gids_lost = true;
        assert_true(ni_gid_end(&node.inv, &node.inv.port[0], &s).unproven);
    }
}

/* ---- a second reading ---- */

enum { MAX_TABLE = 9 };

struct model {
    uint8_t ip[MAX_TABLE][16];
    int version[MAX_TABLE]; /* 0: none can be read */
    unsigned n;
    bool v6, ranged;
    uint8_t range[16];
    unsigned bits;
    int wanted;
};

static bool model_is_v4(const uint8_t ip[16])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    return memcmp(ip, mapped, 12) == 0;
}

static bool model_valid(const uint8_t ip[16])
{
    static const uint8_t empty[16], local[8] = {0xfe, 0x80};
    return memcmp(ip, empty, 16) != 0 && memcmp(ip, local, 8) != 0;
}

static bool model_in_range(const struct model *m, unsigned i)
{
    for (unsigned bit = 0; m->ranged && bit < m->bits; bit++) {
        if ((m->ip[i][bit / 8] ^ m->range[bit / 8]) & 1u << (7 - bit % 8))
            return false;
    }
    return true;
}

static unsigned model_search(const struct model *m)
{
    unsigned cur = 0;
    for (unsigned cand = 1; cand < m->n; cand++) {
        bool cur_v6 = !model_is_v4(m->ip[cur]), cand_v6 = !model_is_v4(m->ip[cand]);
        if (cand_v6 != cur_v6 && cand_v6 == m->v6 && model_in_range(m, cand)) {
            cur = cand;
        } else if (cand_v6 == m->v6 && model_valid(m->ip[cand]) && model_in_range(m, cand)) {
            if ((m->version[cur] != m->version[cand] || !model_valid(m->ip[cur])) &&
                m->version[cand] == m->wanted)
                cur = cand;
        }
    }
    return cur;
}

static uint64_t seed;

static unsigned next(unsigned below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(seed >> 33) % below;
}

/* The same table and settings in both forms. */
static struct ni_gid_selection random_case(struct model *m)
{
    static const char *const pool[] = {
        "::",       "fe80::1", "fe80::2",     "fe80::", "10.0.0.1",    "10.0.0.2",
        "10.1.0.1", "fd00::1", "169.254.0.1", "::",     "2001:db8::1", "fd00:0:0:1::1",
    };
    static const struct {
        const char *ip;
        unsigned bits;
    } ranges[] = {{"10.0.0.0", 112}, {"10.0.0.2", 127}, {"10.0.0.0", 104},
                  {"fd00::", 64},    {"fd00::", 16},    {"192.168.0.0", 112}};
    static const enum ni_gid_type types[] = {NI_GID_UNREAD, NI_GID_V1, NI_GID_V2};
    memset(m, 0, sizeof(*m));
    node_reset(NULL);
    node_hca("mlx5_0");
    m->n = 1 + next(MAX_TABLE);
    for (unsigned i = 0; i < m->n; i++) {
        const char *ip = pool[next(NI_COUNT(pool))];
        node_ip(ip, m->ip[i]);
        if (strcmp(ip, "::") == 0)
            continue;
        m->version[i] = (int)(next(8) == 0 ? 0 : 1 + next(2));
        node_gid(i, ip, types[m->version[i]], NI_OWNER_POD, "net1");
    }
    node.inv.port[0].gids_read = m->n;
    m->v6 = next(2);
    m->ranged = next(3) == 0;
    m->wanted = (int)(next(8) == 0 ? 1 : 2);
    unsigned r = next(NI_COUNT(ranges));
    node_ip(ranges[r].ip, m->range);
    m->bits = ranges[r].bits;
    struct ni_gid_selection how = {
        .index = -1, .v6 = m->v6, .ranged = m->ranged, .bits = m->bits, .version = m->wanted};
    memcpy(how.range, m->range, sizeof(how.range));
    return how;
}

static void test_against_a_second_reading(void **state)
{
    (void)state;
    seed = 20;
    unsigned ends[MAX_TABLE] = {0};
    for (unsigned i = 0; i < TRIALS(100000); i++) {
        static struct model m;
        struct ni_gid_selection how = random_case(&m);
        unsigned want = model_search(&m);
        unsigned got = ni_gid_end(&node.inv, &node.inv.port[0], &how).index;
        if (got != want)
            fail_msg("case %u: %u, not %u", i, got, want);
        ends[got]++;
    }
    for (unsigned i = 0; i < MAX_TABLE; i++)
        assert_true(ends[i] > TRIALS(100)); /* the cases are no trivial ones */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_outcomes),
        cmocka_unit_test(test_range_and_version),
        cmocka_unit_test(test_edges_of_family_and_validity),
        cmocka_unit_test(test_unread_types),
        cmocka_unit_test(test_against_a_second_reading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
