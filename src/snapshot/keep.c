/* SPDX-License-Identifier: Apache-2.0 */
/* Files in a masked recording: a row for each file that the probers read says which part of its
   content is kept. A file without a row is recorded without its content. */
#include "snapshot/keep.h"

#include <arpa/inet.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/image.h"
#include "nccl_init/ip.h"
#include "nccl_init/number.h"
#include "nccl_init/pci.h"
#include "nccl_init/text.h"
#include "node/conf.h"
#include "node/forms.h"
#include "rules/init_process.h"
#include "snapshot/keep_env.h"
#include "snapshot/keep_forms.h"
#include "snapshot/keep_json.h"
#include "snapshot/mask.h"

/* ---- what several forms need ---- */

/* Puts a text as long as the refused one, with as many lines, so that a reader refuses it, too. */
static void put_refused(struct ni_span s, struct ni_text *ret)
{
    enum { MOST = 1 << 16 };

    for (size_t i = 0; i < s.n && i < MOST; i++)
        ni_putn(ret, s.p[i] == '\n' || s.p[i] == '\0' ? s.p + i : "?", 1);
}

/* Finds the next line of *rest; false after the last. */
static bool next_line(struct ni_span *rest, struct ni_span *ret)
{
    const char *end = memchr(rest->p, '\n', rest->n);

    if (rest->n == 0)
        return false;
    ret->p = rest->p;
    ret->n = end ? (size_t)(end - rest->p) : rest->n;
    *rest = (struct ni_span){rest->p + ret->n + (end != NULL), rest->n - ret->n - (end != NULL)};
    return true;
}

static struct ni_span skip_bytes(struct ni_span s, size_t n)
{
    return (struct ni_span){s.p + n, s.n - n};
}

static bool is_decimal(struct ni_span s)
{
    uint64_t v;

    return ni_parse_u64(s, UINT64_MAX, &v) == 0;
}

/* Puts the text if it has its form, else "?", which readers refuse. */
static void put_if(bool good, struct ni_span s, struct ni_text *ret)
{
    if (good)
        ni_putn(ret, s.p, s.n);
    else
        ni_put(ret, "?");
}

static bool is_hex(struct ni_span s)
{
    uint64_t v;

    return ni_parse_hex(s, UINT64_MAX, &v) == 0;
}

/* ---- attributes of sysfs, sysctls ---- */

static void keep_nothing(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                         struct ni_text *ret)
{
    (void)k;
    (void)m;
    (void)s;
    (void)ret;
}

/* Returns true if the reader of such a file parses the text. */
static bool is_parsed(ni_parse_fn *parse, struct ni_span s)
{
    char text[64]; /* as much as ni_read_num takes */
    int64_t v;

    return ni_copyn(text, sizeof(text), s.p, s.n) && parse(text, &v);
}

static void keep_number(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                        struct ni_text *ret)
{
    const struct ni_span digits = ni_trim(s);

    (void)k;
    (void)m;
    if (is_parsed(ni_parse_number, s))
        ni_putn(ret, digits.p, digits.n);
    else
        put_refused(s, ret);
}

/* Keeps a hexadecimal number: "0x15b3". */
static void keep_0x(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                    struct ni_text *ret)
{
    (void)k;
    (void)m;
    if (is_parsed(ni_parse_0x, s))
        ni_putn(ret, s.p, s.n);
    else
        put_refused(s, ret);
}

/* Keeps a state: "4: ACTIVE". Readers read the number. */
static void keep_state(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                       struct ni_text *ret)
{
    static const char states[] =
        "NOP|DOWN|INIT|ARMED|ACTIVE|ACTIVE_DEFER|No state change|Sleep|Polling|Disabled|"
        "PortConfigurationTraining|LinkUp|LinkErrorRecovery|Phy Test|<unknown>";
    const char *colon = memchr(s.p, ':', s.n);
    const size_t n = colon ? (size_t)(colon - s.p) : 0;

    (void)k;
    (void)m;
    if (!is_parsed(ni_parse_state, s)) {
        put_refused(s, ret);
        return;
    }
    ni_putn(ret, s.p, n + 1);
    if (s.n > n + 2 && ni_is_one_of(skip_bytes(s, n + 2), states))
        ni_putn(ret, s.p + n + 1, s.n - n - 1);
}

/* Keeps the rate of "100 Gb/sec (4X EDR)", "32.0 GT/s PCIe", "Unknown". */
static void keep_rate(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                      struct ni_text *ret)
{
    static const char *const units[] = {" Gb/sec", " GT/s PCIe", " GT/s"};
    size_t n = 0;

    (void)k;
    (void)m;
    if (ni_begins(s, "Unknown")) {
        ni_put(ret, "Unknown");
        return;
    }
    while (n < s.n && (ni_is_digit(s.p[n]) || s.p[n] == '.'))
        n++;
    for (size_t i = 0; i < NI_COUNT(units) && is_parsed(ni_parse_rate, s); i++) {
        if (!ni_begins(skip_bytes(s, n), units[i]))
            continue;
        ni_putn(ret, s.p, n + strlen(units[i]));
        return;
    }
    put_refused(s, ret);
}

/* Keeps of a node's GUID whether it is 0. */
static void keep_guid(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                      struct ni_text *ret)
{
    static const char none[] = "0000:0000:0000:0000";

    (void)k;
    (void)m;
    if (s.n != sizeof(none) - 1 || !is_parsed(ni_parse_guid, s))
        put_refused(s, ret);
    else
        ni_put(ret, memcmp(s.p, none, s.n) == 0 ? none : "0200:00ff:fe00:0001");
}

static void keep_gid(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                     struct ni_text *ret)
{
    uint8_t ip[NI_GID_BYTES];

    (void)k;
    (void)m;
    if (ni_parse_gid(s, ip) == 0)
        ni_putn(ret, s.p, s.n);
    else
        put_refused(s, ret);
}

static void keep_device(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                        struct ni_text *ret)
{
    (void)k;
    if (ni_is_name(s, NI_DEV_NAME))
        ni_keep_device(m, s, ret);
    else
        put_refused(s, ret);
}

/* Keeps a version: numbers and single letters, as "28.37.1014", "23.10-1.1.9", "1.117.5-a-56". No
   rule reads the rest. */
static void keep_version(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                         struct ni_text *ret)
{
    enum { MOST = 24 };
    size_t good = 0;

    (void)k;
    (void)m;
    for (size_t at = 0; at < s.n && at < MOST;) {
        size_t end = at;

        while (end < s.n && s.p[end] != '.' && s.p[end] != '-')
            end++;
        const struct ni_span part = {s.p + at, end - at};
        const bool letter = part.n == 1 && *part.p >= 'a' && *part.p <= 'z';
        if (!letter && !is_decimal(part))
            break;
        good = end;
        at = end + 1;
    }
    ni_putn(ret, s.p, good);
    if (good == 0)
        put_refused(s, ret);
}

/* Keeps a model: "MT4129", "BCM57608". */
static void keep_model_number(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                              struct ni_text *ret)
{
    const size_t letters = ni_begins(s, "BCM") ? 3 : 2;
    const bool good =
        (ni_begins(s, "MT") || letters == 3) && s.n <= 8 && is_decimal(skip_bytes(s, letters));

    (void)k;
    (void)m;
    if (good || ni_is_one_of(s, "Pollara 400|EFA|rxe"))
        ni_putn(ret, s.p, s.n);
    else
        put_refused(s, ret);
}

/* Keeps a list of CPUs: "0-15,32-47". */
static void keep_cpus(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                      struct ni_text *ret)
{
    (void)k;
    (void)m;
    if (ni_find_in_list(s, 0) != NI_BAD)
        ni_putn(ret, s.p, s.n);
    else
        put_refused(s, ret);
}

/* Keeps the first line, if it is such as "Global tclass=106". */
static void keep_traffic_class(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                               struct ni_text *ret)
{
    struct ni_span rest = s, line = {s.p, 0};

    (void)k;
    (void)m;
    (void)next_line(&rest, &line);
    if (!ni_begins(line, ni_global_tclass))
        return;
    const struct ni_span digits = skip_bytes(line, strlen(ni_global_tclass));
    ni_put(ret, ni_global_tclass);
    put_if(is_decimal(digits), digits, ret);
}

/* Keeps the version of the kernel and its flavour: "5.14.0-570.el9.x86_64". */
static void keep_kernel(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                        struct ni_text *ret)
{
    static const char flavours[] =
        "x86_64|aarch64|amd64|arm64|generic|default|cloud|aws|azure|gcp|gke|oracle|nvidia|64k|"
        "lowlatency|rt|el8|el8_6|el9|el9_2|el9_4|el9_6|el10|el10_0|bclinux|cos|flatcar|talos|hwe";
    unsigned major, minor;
    struct ni_span rest;

    (void)k;
    (void)m;
    if (!ni_parse_kernel(s, &major, &minor, &rest)) {
        put_refused(s, ret);
        return;
    }
    ni_putn(ret, s.p, (size_t)(rest.p - s.p));
    while (rest.n > 0) {
        size_t n = 1; /* a separator, and the part behind it */

        while (n < rest.n && !strchr("-.+~", rest.p[n]))
            n++;
        const struct ni_span part = {rest.p + 1, n - 1};
        const bool number = part.n <= 6 && is_decimal(part);
        if (!strchr("-.+~", *rest.p) || (part.n > 0 && !number && !ni_is_one_of(part, flavours)))
            break;
        ni_putn(ret, rest.p, n);
        rest = skip_bytes(rest, n);
    }
}

static void keep_hostname(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                          struct ni_text *ret)
{
    (void)k;
    (void)m;
    if (s.n <= NI_DEV_NAME) /* a longer one is refused by the reader */
        ni_put(ret, "masked-host-1");
    else
        put_refused(s, ret);
}

/* ---- tables ---- */

/* Puts a limit of the RDMA cgroup that is read: " hca_handle=2". */
static void put_cgroup_limit(struct ni_span word, struct ni_text *ret)
{
    for (unsigned i = 0; i < NI_CGROUP_N; i++) {
        const char *key = ni_cgroup_limits[i];

        if (!ni_begins(word, key))
            continue;
        const struct ni_span value = skip_bytes(word, strlen(key));
        ni_putf(ret, " %s", key);
        put_if(ni_num_of(value).known == NI_KNOWN, value, ret);
    }
}

/* Keeps limits of the RDMA cgroup: "mlx5_0 hca_handle=2 hca_object=max". */
static void keep_rdma_cgroup(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                             struct ni_text *ret)
{
    struct ni_span line, word[8];

    (void)k;
    while (next_line(&s, &line)) {
        const unsigned n = ni_split_line(line, word, NI_COUNT(word));

        if (n == 0 || !ni_is_name(word[0], NI_DEV_NAME))
            continue;
        ni_keep_device(m, word[0], ret);
        for (unsigned i = 1; i < n; i++) {
            put_cgroup_limit(word[i], ret);
        }
        ni_put(ret, "\n");
    }
}

/* Returns the form of a line that the probers read; NULL: they do not. */
static const struct ni_self_form *find_self_line(struct ni_span line)
{
    for (unsigned i = 0; i < NI_SELF_N; i++) {
        if (ni_begins(line, ni_self_lines[i].name))
            return &ni_self_lines[i];
    }
    return NULL;
}

/* Keeps the lines of proc/self/limits and status that the probers read, and their numbers. */
static void keep_self(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                      struct ni_text *ret)
{
    struct ni_span line, word[32];

    (void)k;
    (void)m;
    while (next_line(&s, &line)) {
        const struct ni_self_form *form = find_self_line(line);

        if (!form)
            continue;
        const unsigned n = ni_split_line(skip_bytes(line, strlen(form->name)), word, form->words);
        ni_put(ret, form->name);
        for (unsigned w = 0; w < n; w++) {
            const bool good = form->hex ? is_hex(word[w]) : ni_num_of(word[w]).known == NI_KNOWN;

            ni_put(ret, w > 0 || !form->hex ? " " : "\t");
            put_if(good, word[w], ret);
        }
        ni_put(ret, "\n");
    }
}

/* Keeps the mounts of this program and of /dev/shm: the mount point, nosuid, a tmpfs and its size.
   */
static void keep_mounts(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                        struct ni_text *ret)
{
    struct ni_span line;
    struct ni_mount mount;

    while (next_line(&s, &line)) {
        if (!ni_parse_mount(line, &mount))
            continue;
        const bool shm = ni_span_is(mount.point, "/dev/shm");
        if (!shm && !ni_is_mount_of(mount.point, k->exe))
            continue;
        ni_put(ret, "0 0 0:0 / ");
        ni_mask_path(m, mount.point, ret);
        ni_put(ret, mount.nosuid ? " nosuid" : " rw");
        if (shm && mount.has_type)
            ni_put(ret, mount.tmpfs ? " - tmpfs tmpfs rw" : " - other other rw");
        if (shm && mount.kib.known == NI_KNOWN)
            ni_putf(ret, ",size=%" PRId64 "k", mount.kib.v);
        else if (shm && mount.kib.known == NI_BAD)
            ni_put(ret, ",size=?k");
        ni_put(ret, "\n");
    }
}

/* Puts the values of a word about the IOMMU, "=on,sm_on"; "?" for each unknown one. */
static void put_iommu_values(struct ni_span list, struct ni_text *ret)
{
    static const char values[] =
        "|0|1|on|off|pt|nopt|y|n|sm_on|sm_off|igfx_off|strict|nostrict|forcedac|nobounce|"
        "tboot_noforce|force|noforce|soft|allowdac|noallowdac|merge|nomerge|biomerge|panic|nopanic|"
        "usedac|noagp|"
        "fullflush|force_isolation|force_enable|pgtbl_v1|pgtbl_v2|irtcachedis|legacy|vapic|memaper";
    const char *before = "=";

    for (size_t at = 0, len = 0; at <= list.n; at += len + 1) {
        const struct ni_span rest = skip_bytes(list, at);
        const char *comma = memchr(rest.p, ',', rest.n);

        len = comma ? (size_t)(comma - rest.p) : rest.n;
        const struct ni_span value = {rest.p, len};
        ni_put(ret, before);
        before = ",";
        put_if(ni_is_one_of(value, values), value, ret);
    }
}

/* Keeps the words about the IOMMU, with values that are known. */
static void keep_cmdline(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                         struct ni_text *ret)
{
    static const char names[] =
        "iommu|intel_iommu|amd_iommu|amd_iommu_intr|iommu.passthrough|iommu.strict|iommu.forcedac|"
        "arm-smmu.disable_bypass|arm-smmu-v3.disable_bypass|arm-smmu-v3.disable_msipolling";
    struct ni_span word;
    bool any = false;

    (void)k;
    (void)m;
    if (s.n >= NI_PAGE || memchr(s.p, '\0', s.n)) { /* the reader refuses it */
        put_refused(s, ret);
        return;
    }
    for (const char *rest = s.p; ni_word(&rest, &word);) {
        const char *equals = memchr(word.p, '=', word.n);
        const size_t n = equals ? (size_t)(equals - word.p) : word.n;

        if (!ni_names_iommu(word))
            continue;
        ni_put(ret, any ? " " : "");
        any = true;
        if (!ni_is_one_of((struct ni_span){word.p, n}, names)) {
            ni_put(ret, "iommu.?");
            continue;
        }
        ni_putn(ret, word.p, n);
        if (equals)
            put_iommu_values(skip_bytes(word, n + 1), ret);
    }
}

/* Keeps the whole seconds of "12345.67 ...". */
static void keep_uptime(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                        struct ni_text *ret)
{
    size_t n = 0;

    (void)k;
    (void)m;
    if (!is_parsed(ni_parse_uptime, s)) {
        put_refused(s, ret);
        return;
    }
    while (n < s.n && ni_is_digit(s.p[n]))
        n++;
    ni_putn(ret, s.p, n);
}

/* Keeps the addresses of this machine's own name in etc/hosts. */
static void keep_hosts(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                       struct ni_text *ret)
{
    struct ni_span line, ip;

    (void)m;
    while (k->host[0] && next_line(&s, &line)) {
        if (!ni_parse_host(line, k->host, &ip))
            continue;
        put_if(ni_is_address(ip), ip, ret);
        ni_put(ret, " masked-host-1\n");
    }
}

/* Keeps the name of the first process if it is an init, or one that is not secret. */
static void keep_comm(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                      struct ni_text *ret)
{
    static const char others[] = "sh|bash|dash|ash|sleep|python|python3|torchrun|mpirun|sshd|ray";
    char name[NI_DEV_NAME];

    (void)k;
    if ((ni_copyn(name, sizeof(name), s.p, s.n) && ni_is_init(name)) || ni_is_one_of(s, others))
        ni_putn(ret, s.p, s.n);
    else if (s.n > 0)
        ni_mask_name(m, s, ret);
}

/* ---- addresses and routes ---- */

/* Puts the line of a node: "+-- 10.0.0.0/8 2 0 2". Its form stands here, since readers read none. */
static void put_fib_node(struct ni_span text, struct ni_text *ret)
{
    struct ni_span word[6];
    uint8_t ip[NI_GID_BYTES];
    const unsigned n = ni_split_line(text, word, NI_COUNT(word));
    const char *slash = n > 1 ? memchr(word[1].p, '/', word[1].n) : NULL;
    bool good = n == 5 && slash;

    if (good) {
        const struct ni_span address = {word[1].p, (size_t)(slash - word[1].p)};

        good = ni_parse_ipv4(address, ip) == 0 && is_decimal(skip_bytes(word[1], address.n + 1));
    }
    for (unsigned i = 2; i < n; i++)
        good = good && is_decimal(word[i]);
    if (good)
        ni_putn(ret, text.p, text.n);
    else
        ni_put(ret, "+-- ");
}

/* Puts the line of a route: "/32 host LOCAL". */
static void put_fib_route(struct ni_span text, struct ni_text *ret)
{
    struct ni_span word[3];

    if (ni_parse_fib_route(text, word))
        ni_putn(ret, text.p, (size_t)(word[2].p + word[2].n - text.p));
    else
        ni_put(ret, "/");
}

/* Keeps proc/net/fib_trie. */
static void keep_fib_trie(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                          struct ni_text *ret)
{
    struct ni_fib_line l;
    struct ni_span line;

    (void)k;
    (void)m;
    while (next_line(&s, &line)) {
        const enum ni_fib_kind kind = ni_parse_fib_line(line, &l);

        ni_putn(ret, line.p, line.n - l.text.n); /* the blanks */
        if (kind == NI_FIB_ODD)
            put_refused(l.text, ret);
        else if (kind == NI_FIB_NODE)
            put_fib_node(l.text, ret);
        else if (kind == NI_FIB_ROUTE)
            put_fib_route(l.text, ret);
        else
            ni_putn(ret, l.text.p, l.text.n);
        ni_put(ret, "\n");
    }
}

/* Puts the words, each with a blank or a tab after it. */
static void join_words(const struct ni_span word[], unsigned n, char between, struct ni_text *ret)
{
    for (unsigned i = 0; i < n; i++) {
        ni_putn(ret, word[i].p, word[i].n);
        ni_putn(ret, &between, 1);
    }
}

/* Puts an interface. A name that NCCL's lists cannot carry is refused, as by the readers. */
static void put_masked_interface(struct ni_mask *m, struct ni_span name, struct ni_text *ret)
{
    if (ni_is_name(name, NI_IF_NAME))
        ni_keep_device(m, name, ret);
    else
        put_refused(name, ret);
}

static void keep_route(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                       struct ni_text *ret)
{
    static const char head[] =
        "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT";
    struct ni_route_line r;
    struct ni_span line;

    (void)k;
    while (next_line(&s, &line)) {
        if (ni_is_route_heading(line)) {
            ni_put(ret, head);
        } else if (ni_parse_route(line, &r)) {
            put_masked_interface(m, r.word[0], ret);
            ni_put(ret, "\t");
            join_words(r.word + 1, 3, '\t', ret);
            ni_put(ret, "0\t0\t");
            join_words(r.word + 6, 2, '\t', ret);
            ni_put(ret, "0\t0\t0");
        } else {
            put_refused(line, ret);
        }
        ni_put(ret, "\n");
    }
}

static void keep_if_inet6(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                          struct ni_text *ret)
{
    struct ni_address6_line a;
    struct ni_span line;

    (void)k;
    while (next_line(&s, &line)) {
        if (ni_parse_address6(line, &a)) {
            join_words(a.word, 5, ' ', ret);
            put_masked_interface(m, a.word[5], ret);
        } else {
            put_refused(line, ret);
        }
        ni_put(ret, "\n");
    }
}

static void keep_ipv6_route(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                            struct ni_text *ret)
{
    struct ni_route6_line r;
    struct ni_span line;

    (void)k;
    while (next_line(&s, &line)) {
        if (ni_parse_route6(line, &r)) {
            join_words(r.word, 9, ' ', ret);
            if (r.word[9].n > 0)
                put_masked_interface(m, r.word[9], ret);
        } else {
            put_refused(line, ret);
        }
        ni_put(ret, "\n");
    }
}

/* ---- the driver of NVIDIA ---- */

/* Returns true for "H100", "80GB", "HBM3": one to four digits, after at most three capital letters
   and before at most two other characters. */
static bool is_product(struct ni_span s)
{
    size_t i = 0, others = 0;

    while (i < s.n && i < 3 && s.p[i] >= 'A' && s.p[i] <= 'Z')
        i++;
    const size_t digits = i;
    while (i < s.n && ni_is_digit(s.p[i]))
        i++;
    if (i == digits || i - digits > 4)
        return false;
    while (i < s.n && others < 2 && s.p[i] > ' ' && !ni_is_digit(s.p[i])) {
        i++;
        others++;
    }
    return i == s.n;
}

/* Returns true for a word that NVIDIA uses in the models of GPUs. */
static bool is_model_word(struct ni_span word)
{
    static const char words[] =
        "NVIDIA|Tesla|Quadro|GeForce|TITAN|RTX|GTX|Ada|Generation|PCIe|PCIE|SXM|NVL|Graphics|"
        "Device|Grace|Hopper|Blackwell|Rubin|Server|Workstation|Edition|Max-Q|PRO|Super|SUPER|Ti|D|"
        "Laptop|GPU";

    return ni_is_one_of(word, words) || is_product(word);
}

/* Returns true for a text whose parts between hyphens are such words: "A100-SXM4-80GB". */
static bool has_model_words(struct ni_span s)
{
    size_t len;

    for (size_t at = 0; at < s.n; at += len + 1) {
        const char *hyphen = memchr(s.p + at, '-', s.n - at);

        len = hyphen ? (size_t)(hyphen - s.p) - at : s.n - at;
        if (!is_model_word((struct ni_span){s.p + at, len}))
            return false;
    }
    return true;
}

/* Keeps the words of a GPU's model that NVIDIA uses; masks the others. */
static void put_model(struct ni_mask *m, struct ni_span s, struct ni_text *ret)
{
    struct ni_span word[12];
    const unsigned n = ni_split_line(s, word, NI_COUNT(word));

    for (unsigned i = 0; i < n; i++) {
        ni_put(ret, i > 0 ? " " : "");
        if (is_model_word(word[i]) || has_model_words(word[i]))
            ni_putn(ret, word[i].p, word[i].n);
        else
            ni_mask_name(m, word[i], ret);
    }
}

/* Keeps the lines of a GPU that the probers read. */
static void keep_gpu(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                     struct ni_text *ret)
{
    struct ni_span line, value;

    (void)k;
    while (next_line(&s, &line)) {
        switch (ni_parse_gpu_line(line, &value)) {
        case NI_GPU_NO_LINE:
            continue;
        case NI_GPU_MODEL:
            ni_put(ret, "Model: \t\t ");
            put_model(m, value, ret);
            break;
        case NI_GPU_UUID:
            ni_put(ret, "GPU UUID: \t ");
            ni_putn(ret, value.p, value.n);
            break;
        case NI_GPU_MINOR:
            ni_put(ret, "Device Minor: \t ");
            ni_putn(ret, value.p, value.n);
            break;
        }
        ni_put(ret, "\n");
    }
}

static void keep_driver(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                        struct ni_text *ret)
{
    (void)k;
    (void)m;
    ni_put(ret, ni_is_open_driver(s) ? "NVRM version: NVIDIA UNIX Open Kernel Module"
                                     : "NVRM version: NVIDIA UNIX Kernel Module");
}

static void keep_params(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                        struct ni_text *ret)
{
    struct ni_span line;

    (void)k;
    (void)m;
    while (next_line(&s, &line)) {
        if (ni_maps_peers(line))
            ni_put(ret, "RegistryDwords: \"PeerMappingOverride=1;\"\n");
    }
}

/* ---- settings ---- */

/* Puts a variable that the program does not know, with its name and value masked, because such
   variables are counted. */
static void put_stranger(struct ni_mask *m, struct ni_span name, const char *prefix,
                         struct ni_span value, struct ni_text *ret)
{
    ni_put(ret, prefix);
    ni_mask_name(m, name, ret);
    ni_put(ret, "=");
    if (value.n > 0) {
        ni_put(ret, "?");
        ni_mask_name(m, value, ret);
    }
}

/* Puts NAME=VALUE. prefix: that of the variables of the library or program that reads it. */
static void put_masked_setting(const struct ni_keep_facts *k, struct ni_mask *m,
                               struct ni_span name, struct ni_span value, const char *prefix,
                               struct ni_text *ret)
{
    ni_form_fn *form = ni_variable_form(k, name);

    if (form) {
        ni_putn(ret, name.p, name.n);
        ni_put(ret, "=");
        form(k, m, value, ret);
    } else {
        put_stranger(m, name, prefix, value, ret);
    }
}

/* Splits NAME=VALUE. false: there is no name. */
static bool split_setting(struct ni_span s, struct ni_span *name, struct ni_span *value)
{
    const char *equals = memchr(s.p, '=', s.n);

    if (!equals || equals == s.p)
        return false;
    *name = (struct ni_span){s.p, (size_t)(equals - s.p)};
    *value = skip_bytes(s, name->n + 1);
    return true;
}

/* Keeps the name at the beginning of a line without `=`, which a finding tells. */
static void keep_skipped(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span line,
                         struct ni_text *ret)
{
    struct ni_span name = {line.p, 0};

    while (name.n < line.n && !strchr(" \t:\r", line.p[name.n]))
        name.n++;
    if (!ni_begins(name, "NCCL_") || !ni_is_name(name, NI_DEV_NAME) || memchr(line.p, '=', line.n))
        return;
    if (ni_variable_form(k, name)) {
        ni_putn(ret, name.p, name.n);
    } else {
        ni_put(ret, "NCCL_");
        ni_mask_name(m, name, ret);
    }
    ni_put(ret, "\n");
}

/* Keeps the settings of an nccl.conf. NCCL does not take blanks off, so a name after a blank is
   another name, which a finding tells. */
static void keep_nccl_conf(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                           struct ni_text *ret)
{
    struct ni_conf_line set;
    struct ni_span line;
    bool export;

    while (next_line(&s, &line)) {
        if (!ni_parse_conf(line, false, &set)) {
            keep_skipped(k, m, line, ret);
            continue;
        }
        const struct ni_span meant = ni_conf_meant(set.name, "NCCL_", &export);
        if (meant.n > 0)
            ni_put(ret, export ? "export " : " ");
        else if (!ni_begins(set.name, "NCCL_") || !ni_is_name(set.name, NI_DEV_NAME))
            continue;
        put_masked_setting(k, m, meant.n > 0 ? meant : set.name, set.value, "NCCL_", ret);
        ni_put(ret, set.crlf ? "\r\n" : "\n");
    }
}

/* Keeps the settings of an nvshmem.conf. */
static void keep_nvshmem_conf(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                              struct ni_text *ret)
{
    struct ni_conf_line set;
    struct ni_span line;

    while (next_line(&s, &line)) {
        if (!ni_parse_conf(line, true, &set))
            continue;
        if (!ni_begins(set.name, "NVSHMEM_") || !ni_is_name(set.name, NI_DEV_NAME))
            continue;
        put_masked_setting(k, m, set.name, set.value, "NVSHMEM_", ret);
        ni_put(ret, "\n");
    }
}

/* Keeps the variables that the program reads. The number of unknown variables of NCCL's and our own
   stays. */
static void keep_environ(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                         struct ni_text *ret)
{
    for (size_t n; s.n > 0; s = skip_bytes(s, n)) {
        struct ni_span name, value;

        n = strnlen(s.p, s.n);
        const bool good = split_setting((struct ni_span){s.p, n}, &name, &value);
        n += n < s.n;
        if (!good)
            continue;
        const char *prefix = ni_begins(name, NI_OWN_PREFIX) ? NI_OWN_PREFIX : "NCCL_";
        if (!ni_begins(name, prefix) && !ni_variable_form(k, name))
            continue;
        if (k->renames_status && ni_span_is(name, k->network_status)) {
            ni_put(ret, NI_STATUS_RENAMED "=");
            ni_keep_json(k, m, value, ret);
            ni_putn(ret, "", 1);
            continue;
        }
        put_masked_setting(k, m, name, value, prefix, ret);
        ni_putn(ret, "", 1);
    }
}

/* Keeps the user's number and home directory, masked: "x:x:7:0::/home/me:". */
static void keep_passwd(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                        struct ni_text *ret)
{
    struct ni_passwd_line user;

    (void)k;
    if (!ni_parse_passwd(s.p, &user))
        return;
    ni_putf(ret, "x:x:%" PRId64 ":0::", user.uid);
    ni_mask_path(m, user.home, ret);
    ni_put(ret, ":\n");
}

/* Keeps of the vital product data, which have serial numbers, only a name for the UUID that pairs
   two functions. */
static void keep_vpd(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                     struct ni_text *ret)
{
    enum { READ_ONLY = 0x90, END = 0x78 };
    struct ni_text name = NI_TEXT(NI_VPD_UUID);
    char uuid[NI_VPD_UUID];

    (void)k;
    if (!ni_vpd_uuid(s, uuid))
        return;
    ni_mask_name(m, ni_span_of(uuid), &name);
    const char head[] = {(char)READ_ONLY, (char)(name.len + 3), 0, 'V', '3', (char)name.len};
    const char end[] = {END};
    ni_putn(ret, head, sizeof(head));
    ni_put(ret, name.buf);
    ni_putn(ret, end, sizeof(end));
}

/* Keeps vendor, family and model of the first CPU. */
static void keep_cpuinfo(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                         struct ni_text *ret)
{
    static const char vendors[] = "GenuineIntel|AuthenticAMD|HygonGenuine|CentaurHauls";
    struct ni_span line, value;

    (void)k;
    (void)m;
    while (next_line(&s, &line) && line.n > 0) {
        switch (ni_parse_cpu_line(line, &value)) {
        case NI_CPU_NO_LINE:
            break;
        case NI_CPU_VENDOR:
            if (ni_is_one_of(value, vendors))
                ni_putf(ret, "vendor_id\t: %.*s\n", (int)value.n, value.p);
            break;
        case NI_CPU_FAMILY:
            ni_putf(ret, "cpu family\t: %.*s\n", (int)value.n, value.p);
            break;
        case NI_CPU_MODEL:
            ni_putf(ret, "model\t\t: %.*s\n", (int)value.n, value.p);
            break;
        }
    }
}

/* Keeps the driver that a file of libibverbs names, if rdma-core has it: "driver mlx5". */
static void keep_driver_name(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                             struct ni_text *ret)
{
    static const char driver[] = "driver ";

    (void)k;
    (void)m;
    if (ni_begins(s, driver) && ni_is_provider(skip_bytes(s, strlen(driver))))
        ni_putn(ret, s.p, s.n);
    else
        put_refused(s, ret);
}

/* ---- the list ---- */

static const struct row {
    const char *path; /* a pattern of fnmatch(3); `*` also matches '/' */
    ni_form_fn *form;
    const char *words; /* the content is one of these; NULL: the form decides */
} rows[] = {
    /* RDMA devices, their ports */
    {"sys/*/ports/*/state", keep_state, NULL},
    {"sys/*/ports/*/phys_state", keep_state, NULL},
    {"sys/*/ports/*/link_layer", NULL, ni_link_layers},
    {"sys/*/ports/*/rate", keep_rate, NULL},
    {"sys/*/ports/*/gids/*", keep_gid, NULL},
    {"sys/*/ports/*/pkeys/*", keep_0x, NULL},
    {"sys/*/node_guid", keep_guid, NULL},
    {"sys/*/ports/*/gid_attrs/types/*", NULL, ni_gid_types},
    {"sys/*/ports/*/gid_attrs/ndevs/*", keep_device, NULL},
    {"sys/*/ports/*/counters/*", keep_number, NULL},
    {"sys/*/ports/*/hw_counters/*", keep_number, NULL},
    {"sys/*/tc/*/traffic_class", keep_traffic_class, NULL},
    {"sys/*/fw_ver", keep_version, NULL},
    {"sys/*/hca_type", keep_model_number, NULL},
    {"sys/class/infiniband_verbs/*/ibdev", keep_device, NULL},
    {"sys/module/ib_core/parameters/netns_mode", NULL, ni_netns_modes},
    {"sys/module/*/version", keep_version, NULL},
    {"sys/fs/cgroup/*rdma.max", keep_rdma_cgroup, NULL},
    /* PCI functions, CPUs */
    {"sys/bus/pci/devices/*/vendor", keep_0x, NULL},
    {"sys/bus/pci/devices/*/device", keep_0x, NULL},
    {"sys/bus/pci/devices/*/class", keep_0x, NULL},
    {"sys/bus/pci/devices/*/numa_node", keep_number, NULL},
    {"sys/bus/pci/devices/*/*_link_width", keep_number, NULL},
    {"sys/bus/pci/devices/*/*_link_speed", keep_rate, NULL},
    {"sys/bus/pci/devices/*/vpd", keep_vpd, NULL},
    {"sys/bus/pci/devices/*/local_cpulist", keep_cpus, NULL},
    {"sys/bus/pci/devices/*/iommu_group/type", NULL, ni_iommu_types},
    {"sys/devices/system/cpu/*/midr_el1", keep_0x, NULL},
    {"sys/devices/system/node/has_*", keep_cpus, NULL},
    {"proc/cpuinfo", keep_cpuinfo, NULL},
    /* interfaces, addresses, routes */
    {"sys/class/net/*/operstate", NULL, ni_operstates},
    {"sys/class/net/*/mtu", keep_number, NULL},
    {"sys/class/net/*/ifindex", keep_number, NULL},
    {"proc/net/fib_trie", keep_fib_trie, NULL},
    {"proc/net/route", keep_route, NULL},
    {"proc/net/if_inet6", keep_if_inet6, NULL},
    {"proc/net/ipv6_route", keep_ipv6_route, NULL},
    /* this process, the container, the kernel */
    {"proc/self/environ", keep_environ, NULL},
    {"proc/self/limits", keep_self, NULL},
    {"proc/self/status", keep_self, NULL},
    {"proc/self/mountinfo", keep_mounts, NULL},
    {"proc/1/comm", keep_comm, NULL},
    {"proc/cmdline", keep_cmdline, NULL},
    {"proc/uptime", keep_uptime, NULL},
    {"proc/sys/kernel/hostname", keep_hostname, NULL},
    {"proc/sys/kernel/osrelease", keep_kernel, NULL},
    {"proc/driver/nvidia/gpus/*/information", keep_gpu, NULL},
    {"proc/driver/nvidia/version", keep_driver, NULL},
    {"proc/driver/nvidia/params", keep_params, NULL},
    /* files of people */
    {"*etc/libibverbs.d/*", keep_driver_name, NULL},
    {"etc/hosts", keep_hosts, NULL},
    {"etc/passwd", keep_passwd, NULL},
    {"etc/nccl.conf", keep_nccl_conf, NULL},
    {"etc/rccl.conf", keep_nccl_conf, NULL},
    {"etc/nvshmem.conf", keep_nvshmem_conf, NULL},
    {"etc/topology.xml", keep_nothing, NULL}, /* the program checks only that it can be read */
    {"var/run/nvidia-topologyd/virtualTopology.xml", keep_nothing, NULL}, /* as above */
    {"etc/podinfo/network-status", ni_keep_json, NULL},
    {"var/run/*dra-device-attributes/*metadata.json", ni_keep_json, NULL},
};

static bool may_hold_nuls(ni_form_fn *form)
{
    return form == keep_environ || form == keep_vpd;
}

/* Returns the row of a file; NULL: it has none. */
static const struct row *find_row(const char *asked)
{
    for (size_t i = 0; i < NI_COUNT(rows); i++)
        if (fnmatch(rows[i].path, asked, 0) == 0)
            return &rows[i];
    return NULL;
}

bool ni_keeps_file(const char *asked)
{
    return find_row(asked) != NULL;
}

void ni_keep_file(void *ctx, struct ni_mask *m, const char *asked, struct ni_span content,
                  struct ni_text *ret)
{
    const struct row *row = find_row(asked);

    if (!row)
        return;
    if (!may_hold_nuls(row->form) && memchr(content.p, '\0', content.n))
        ni_putn(ret, "", 1); /* readers refuse it */
    else if (row->form)
        row->form(ctx, m, content, ret);
    else if (ni_is_one_of(content, row->words))
        ni_putn(ret, content.p, content.n);
    else
        put_refused(content, ret);
}
