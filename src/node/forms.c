/* SPDX-License-Identifier: Apache-2.0 */
/* The forms of the kernel's files, each of them once. */
#include "node/forms.h"

#include <arpa/inet.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"

/* ---- words ---- */

/* drivers/infiniband/core/sysfs.c link_layer_show */
const char ni_link_layers[] = "InfiniBand|Ethernet|Unspecified|Unknown";
const char ni_gid_types[] = "RoCE v2|RoCE v1|IB/RoCE v1";
/* net/core/net-sysfs.c operstates */
const char ni_operstates[] = "unknown|notpresent|down|lowerlayerdown|testing|dormant|up";
/* drivers/iommu/iommu.c iommu_group_show_type, since Linux 4.11 */
const char ni_iommu_types[] = "identity|DMA|DMA-FQ|blocked|unmanaged|unknown";
const char ni_netns_modes[] = "Y|N";

bool ni_is_one_of(struct ni_span s, const char *words)
{
    struct ni_span word;

    while (ni_split(&words, '|', &word)) {
        if (ni_is_same_span(word, s))
            return true;
    }
    return false;
}

/* ---- numbers ---- */

bool ni_parse_int(struct ni_span s, int64_t max, int64_t *ret)
{
    uint64_t v;
    const bool good = ni_parse_u64(s, (uint64_t)max, &v) == 0;

    if (good)
        *ret = (int64_t)v;
    return good;
}

struct ni_num ni_num_of(struct ni_span word)
{
    struct ni_num num = {NI_UNLIMITED, NI_KNOWN};

    if (!ni_span_is(word, "unlimited") && !ni_span_is(word, "max") &&
        !ni_parse_int(word, INT64_MAX, &num.v))
        num.known = NI_BAD;
    return num;
}

bool ni_parse_number(const char *text, int64_t *ret)
{
    struct ni_span s = ni_trim(ni_span_of(text));
    const bool minus = s.n > 0 && s.p[0] == '-';
    const bool good = ni_parse_int((struct ni_span){s.p + minus, s.n - minus}, INT64_MAX, ret);

    if (good && minus)
        *ret = -*ret;
    return good;
}

bool ni_parse_state(const char *text, int64_t *ret)
{
    const char *colon = strchr(text, ':');

    return colon && ni_parse_int((struct ni_span){text, (size_t)(colon - text)}, 15, ret);
}

bool ni_parse_rate(const char *text, int64_t *ret)
{
    const size_t digits = strspn(text, "0123456789");
    const char *rest = text + digits;
    int64_t whole, tenth = 0;

    if (!ni_parse_int((struct ni_span){text, digits}, 1000000, &whole))
        return false;
    if (rest[0] == '.' && ni_is_digit(rest[1])) {
        tenth = rest[1] - '0';
        rest += 2;
    }
    if (!ni_has_prefix(rest, " Gb/sec") && !ni_has_prefix(rest, " GT/s"))
        return false;
    *ret = whole * 1000 + tenth * 100;
    return true;
}

bool ni_parse_0x(const char *text, int64_t *ret)
{
    const size_t n = strlen(text);
    uint64_t v;

    if ((n != 6 && n != 8 && n != 18) || !ni_has_prefix(text, "0x") ||
        ni_parse_hex(ni_span_of(text + 2), INT64_MAX, &v) < 0)
        return false;
    *ret = (int64_t)v;
    return true;
}

bool ni_parse_guid(const char *text, int64_t *ret)
{
    enum { LENGTH = 19 };
    const size_t n = strlen(text);
    const char *rest = n >= LENGTH ? text + n - LENGTH : "";
    struct ni_span group;
    uint64_t guid = 0, v;

    while (ni_split(&rest, ':', &group)) {
        if (group.n != 4 || ni_parse_hex(group, UINT16_MAX, &v) < 0)
            return false;
        guid = guid << 16 | v;
    }
    *ret = (int64_t)guid;
    return n >= LENGTH;
}

bool ni_parse_uptime(const char *text, int64_t *ret)
{
    return ni_parse_int((struct ni_span){text, strcspn(text, ".")}, INT32_MAX, ret);
}

/* Cuts the digits off the front of the text. */
static struct ni_span cut_digits(struct ni_span *text)
{
    struct ni_span digits = {text->p, 0};

    while (digits.n < text->n && ni_is_digit(text->p[digits.n]))
        digits.n++;
    *text = (struct ni_span){text->p + digits.n, text->n - digits.n};
    return digits;
}

bool ni_parse_kernel(struct ni_span text, unsigned *ret_major, unsigned *ret_minor,
                     struct ni_span *ret_rest)
{
    int64_t major, minor;

    if (!ni_parse_int(cut_digits(&text), 999, &major) || !ni_begins(text, "."))
        return false;
    *ret_rest = (struct ni_span){text.p + 1, text.n - 1};
    if (!ni_parse_int(cut_digits(ret_rest), INT32_MAX, &minor))
        return false;
    *ret_major = (unsigned)major;
    *ret_minor = (unsigned)minor;
    return true;
}

/* Parses a range of a list: "0-1" or "3". */
static bool parse_range(struct ni_span range, int64_t *ret_from, int64_t *ret_to)
{
    const char *dash = memchr(range.p, '-', range.n);
    struct ni_span first = range, last = range;

    if (dash) {
        first.n = (size_t)(dash - range.p);
        last = (struct ni_span){dash + 1, range.n - first.n - 1};
    }
    return ni_parse_int(first, INT32_MAX, ret_from) && ni_parse_int(last, INT32_MAX, ret_to);
}

enum ni_known ni_find_in_list(struct ni_span list, int64_t number)
{
    const char *at = list.p, *const end = list.p + list.n;
    enum ni_known is = NI_ABSENT;
    const char *comma;
    int64_t from, to;

    do {
        comma = memchr(at, ',', (size_t)(end - at));
        const char *range_end = comma ? comma : end;

        if (!parse_range((struct ni_span){at, (size_t)(range_end - at)}, &from, &to))
            return NI_BAD;
        if (number >= from && number <= to)
            is = NI_KNOWN;
        at = range_end + 1;
    } while (comma);
    return is;
}

/* ---- lines ---- */

bool ni_cut_word(struct ni_span *line, struct ni_span *ret)
{
    const char *p = line->p, *const end = line->p + line->n;

    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    *ret = (struct ni_span){p, 0};
    while (p < end && *p != ' ' && *p != '\t')
        p++;
    ret->n = (size_t)(p - ret->p);
    *line = (struct ni_span){p, (size_t)(end - p)};
    return ret->n > 0;
}

unsigned ni_split_line(struct ni_span line, struct ni_span word[], unsigned most)
{
    unsigned n = 0;

    while (n < most && ni_cut_word(&line, &word[n]))
        n++;
    return n;
}

bool ni_begins(struct ni_span s, const char *with)
{
    const size_t n = strlen(with);

    return s.n >= n && memcmp(s.p, with, n) == 0;
}

const struct ni_self_form ni_self_lines[NI_SELF_N] = {
    [NI_SELF_MEMLOCK] = {"Max locked memory", 2, false},
    [NI_SELF_UID] = {"Uid:", 2, false},
    [NI_SELF_PID] = {"Pid:", 1, false},
    [NI_SELF_NSPID] = {"NSpid:", 32, false}, /* include/linux/pid_namespace.h MAX_PID_NS_LEVEL */
    [NI_SELF_NO_NEW_PRIVS] = {"NoNewPrivs:", 1, false},
    [NI_SELF_SECCOMP] = {"Seccomp:", 1, false},
    [NI_SELF_CAP_INH] = {"CapInh:", 1, true},
    [NI_SELF_CAP_PRM] = {"CapPrm:", 1, true},
    [NI_SELF_CAP_EFF] = {"CapEff:", 1, true},
    [NI_SELF_CAP_BND] = {"CapBnd:", 1, true},
    [NI_SELF_CAP_AMB] = {"CapAmb:", 1, true},
};

/* Parses the size among the options of a mount, which gives kilobytes (mm/shmem.c
   shmem_show_options). */
static struct ni_num mount_size(struct ni_span options)
{
    static const char key[] = "size=";
    struct ni_num kib = {0, NI_ABSENT};
    const char *at = memmem(options.p, options.n, key, strlen(key));
    const char *end = options.p + options.n;

    if (!at)
        return kib;
    struct ni_span digits = {at + strlen(key), 0};
    while (digits.p + digits.n < end && ni_is_digit(digits.p[digits.n]))
        digits.n++;
    const bool k = digits.p + digits.n < end && digits.p[digits.n] == 'k';
    kib.known = k && ni_parse_int(digits, INT64_MAX >> 10, &kib.v) ? NI_KNOWN : NI_BAD;
    return kib;
}

bool ni_parse_mount(struct ni_span line, struct ni_mount *ret)
{
    static const char hyphen[] = " - ";
    struct ni_span word[6]; /* numbers, root; the mount point; its options */

    if (ni_split_line(line, word, NI_COUNT(word)) < NI_COUNT(word))
        return false;
    const struct ni_span options = word[5];
    const char *rest = options.p + options.n, *const end = line.p + line.n;
    const char *type = memmem(rest, (size_t)(end - rest), hyphen, strlen(hyphen));
    *ret = (struct ni_mount){.point = word[4], .has_type = type};
    ret->nosuid = memmem(options.p, options.n, "nosuid", strlen("nosuid"));
    if (type)
        ret->tmpfs = ni_begins((struct ni_span){type, (size_t)(end - type)}, " - tmpfs ");
    ret->kib = mount_size((struct ni_span){rest, (size_t)(end - rest)});
    return true;
}

bool ni_is_mount_of(struct ni_span point, const char *path)
{
    return strncmp(path, point.p, point.n) == 0 && (point.n == 1 || path[point.n] == '/');
}

const char *const ni_cgroup_limits[NI_CGROUP_N] = {
    [NI_CGROUP_HANDLES] = "hca_handle=",
    [NI_CGROUP_OBJECTS] = "hca_object=",
};

bool ni_names_iommu(struct ni_span word)
{
    return memmem(word.p, word.n, "iommu", 5) || memmem(word.p, word.n, "smmu", 4);
}

bool ni_parse_host(struct ni_span line, const char *name, struct ni_span *ret_ip)
{
    struct ni_span word;

    if (!ni_cut_word(&line, ret_ip) || *ret_ip->p == '#')
        return false;
    while (ni_cut_word(&line, &word) && *word.p != '#') {
        if (ni_span_is(word, name))
            return true;
    }
    return false;
}

bool ni_parse_passwd(const char *line, struct ni_passwd_line *ret)
{
    enum { UID = 2, HOME = 5, FIELDS = 7 };
    struct ni_span field[FIELDS];
    unsigned n = 0;

    while (n < FIELDS && ni_split(&line, ':', &field[n]))
        n++;
    if (n < FIELDS || !ni_parse_int(field[UID], UINT32_MAX, &ret->uid))
        return false;
    ret->home = field[HOME];
    return true;
}

enum ni_cpu_line ni_parse_cpu_line(struct ni_span line, struct ni_span *ret_value)
{
    const char *colon = memchr(line.p, ':', line.n);
    const size_t n = colon ? (size_t)(colon - line.p) + 1 : line.n;
    int64_t number;

    *ret_value = ni_trim((struct ni_span){line.p + n, line.n - n});
    if (ni_begins(line, "vendor_id"))
        return NI_CPU_VENDOR;
    const bool family = ni_begins(line, "cpu family");
    const bool model = ni_begins(line, "model") && !ni_begins(line, "model name");
    if ((family || model) && ni_parse_int(*ret_value, INT32_MAX, &number))
        return family ? NI_CPU_FAMILY : NI_CPU_MODEL;
    return NI_CPU_NO_LINE;
}

const char ni_global_tclass[] = "Global tclass=";

/* ---- addresses and routes ---- */

/* Returns the kind of a heading of proc/net/fib_trie (fib_table_print). */
static enum ni_fib_kind parse_fib_heading(struct ni_span line)
{
    if (ni_span_is(line, "Main:"))
        return NI_FIB_MAIN;
    if (ni_span_is(line, "Local:"))
        return NI_FIB_LOCAL;
    if (!ni_begins(line, "Id "))
        return NI_FIB_ODD;
    struct ni_span id = {line.p + 3, line.n - 3};
    return cut_digits(&id).n > 0 && ni_span_is(id, ":") ? NI_FIB_POLICY : NI_FIB_ODD;
}

/* The scope may be a number, "scope=200" (rtn_scope). */
bool ni_parse_fib_route(struct ni_span text, struct ni_span word[3])
{
    static const char scopes[] = "host|link|universe|site|nowhere";
    static const char types[] = "LOCAL|UNICAST|BROADCAST|ANYCAST|MULTICAST|BLACKHOLE|UNREACHABLE|"
                                "PROHIBIT|THROW|NAT|XRESOLVE|UNSPEC";
    static const char number[] = "scope=";
    int64_t v;

    if (ni_split_line(text, word, 3) < 3)
        return false;
    const struct ni_span bits = {word[0].p + 1, word[0].n - 1}, scope = word[1];
    if (!ni_parse_int(bits, 32, &v) || !ni_is_one_of(word[2], types))
        return false;
    if (ni_is_one_of(scope, scopes))
        return true;
    const size_t n = strlen(number);
    return ni_begins(scope, number) &&
           ni_parse_int((struct ni_span){scope.p + n, scope.n - n}, UINT8_MAX, &v);
}

static bool parse_fib_leaf(struct ni_span text, uint8_t ip[NI_GID_BYTES])
{
    static const char begin[] = "|-- ";
    const size_t n = sizeof(begin) - 1;

    return ni_begins(text, begin) &&
           ni_parse_ipv4((struct ni_span){text.p + n, text.n - n}, ip) == 0;
}

enum ni_fib_kind ni_parse_fib_line(struct ni_span line, struct ni_fib_line *ret)
{
    struct ni_span text = line;

    while (text.n > 0 && *text.p == ' ')
        text = (struct ni_span){text.p + 1, text.n - 1};
    ret->text = text;
    if (text.n == 0)
        return line.n == 0 ? NI_FIB_EMPTY : NI_FIB_ODD;
    switch (*text.p) {
    case '+':
        return NI_FIB_NODE;
    case '|':
        return parse_fib_leaf(text, ret->ip) ? NI_FIB_LEAF : NI_FIB_ODD;
    case '/':
        return NI_FIB_ROUTE;
    default:
        return text.n == line.n ? parse_fib_heading(line) : NI_FIB_ODD;
    }
}

bool ni_is_route_heading(struct ni_span line)
{
    return ni_begins(line, "Iface\tDestination\t") && memmem(line.p, line.n, "\tIRTT", 5);
}

/* Parses a metric. The kernel prints this u32 with %d until about Linux 6.15, so the highest are
   negative. */
static int parse_metric(struct ni_span s, uint64_t *ret)
{
    uint64_t minus;

    *ret = UINT32_MAX;
    return s.n > 1 && s.p[0] == '-'
               ? ni_parse_u64((struct ni_span){s.p + 1, s.n - 1}, UINT32_MAX, &minus)
               : ni_parse_u64(s, UINT32_MAX, ret);
}

/* Parses an address of proc/net/route: eight hex digits. The kernel prints the four bytes, which
   are in network order, as one number of this CPU: on x86, 10.0.103.6 is 0667000A. *ret: the
   address in the CPU's order, 0x0A006706. */
static int parse_route_address(struct ni_span s, uint32_t *ret)
{
    uint64_t v;

    if (s.n != 8 || ni_parse_hex(s, UINT32_MAX, &v) < 0)
        return -1;
    *ret = ntohl((uint32_t)v);
    return 0;
}

bool ni_parse_route(struct ni_span line, struct ni_route_line *ret)
{
    struct ni_span *w = ret->word;

    return ni_split_line(line, w, NI_COUNT(ret->word)) == NI_COUNT(ret->word) &&
           w[0].n < NI_IF_NAME && parse_route_address(w[1], &ret->dest) == 0 &&
           parse_route_address(w[2], &ret->gateway) == 0 &&
           ni_parse_hex(w[3], UINT32_MAX, &ret->flags) == 0 &&
           parse_metric(w[6], &ret->metric) == 0 && parse_route_address(w[7], &ret->mask) == 0;
}

/* Returns true if all words are hexadecimal numbers. */
static bool are_hex(const struct ni_span word[], unsigned n)
{
    uint64_t v;

    for (unsigned i = 0; i < n; i++) {
        if (ni_parse_hex(word[i], UINT64_MAX, &v) < 0)
            return false;
    }
    return true;
}

bool ni_parse_address6(struct ni_span line, struct ni_address6_line *ret)
{
    struct ni_span *w = ret->word;

    return ni_split_line(line, w, NI_COUNT(ret->word)) == NI_COUNT(ret->word) &&
           ni_parse_hex_ip(w[0], ret->ip) == 0 && are_hex(w + 1, 4) && w[5].n < NI_IF_NAME &&
           ni_parse_hex(w[4], UINT32_MAX, &ret->flags) == 0;
}

bool ni_parse_route6(struct ni_span line, struct ni_route6_line *ret)
{
    struct ni_span *w = ret->word;
    uint8_t source[NI_GID_BYTES];

    memset(ret->word, 0, sizeof(ret->word));
    return ni_split_line(line, w, NI_COUNT(ret->word)) >= NI_COUNT(ret->word) - 1 &&
           ni_parse_hex_ip(w[0], ret->dest) == 0 && ni_parse_hex(w[1], 128, &ret->len) == 0 &&
           ni_parse_hex_ip(w[2], source) == 0 && are_hex(w + 3, 1) &&
           ni_parse_hex_ip(w[4], ret->gateway) == 0 &&
           ni_parse_hex(w[5], UINT32_MAX, &ret->metric) == 0 && are_hex(w + 6, 2) &&
           ni_parse_hex(w[8], UINT32_MAX, &ret->flags) == 0;
}

/* ---- the driver of NVIDIA ---- */

/* Returns true for "GPU-" and 36 hex digits, hyphens and question marks. */
static bool is_driver_uuid(struct ni_span s)
{
    static const char head[] = "GPU-", digits[] = "0123456789abcdef-?";
    const size_t n = strlen(head);

    if (s.n != n + 36 || !ni_begins(s, head))
        return false;
    for (size_t i = n; i < s.n; i++) {
        if (!s.p[i] || !strchr(digits, s.p[i]))
            return false;
    }
    return true;
}

enum ni_gpu_line ni_parse_gpu_line(struct ni_span line, struct ni_span *ret_value)
{
    const char *colon = memchr(line.p, ':', line.n);
    const size_t n = colon ? (size_t)(colon - line.p) + 1 : line.n;
    const struct ni_span value = ni_trim((struct ni_span){line.p + n, line.n - n});
    int64_t minor;

    *ret_value = value;
    if (ni_begins(line, "Model:") && value.n > 0)
        return NI_GPU_MODEL;
    if (ni_begins(line, "GPU UUID:") && is_driver_uuid(value))
        return NI_GPU_UUID;
    if (ni_begins(line, "Device Minor:") && ni_parse_int(value, 63, &minor))
        return NI_GPU_MINOR;
    return NI_GPU_NO_LINE;
}

bool ni_is_open_driver(struct ni_span text)
{
    static const char words[] = "Open Kernel Module";

    return memmem(text.p, text.n, words, strlen(words));
}

bool ni_maps_peers(struct ni_span line)
{
    static const char word[] = "PeerMappingOverride=1";

    return ni_begins(line, "RegistryDwords:") && memmem(line.p, line.n, word, strlen(word));
}
