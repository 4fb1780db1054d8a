/* SPDX-License-Identifier: Apache-2.0 */
/* Masking: what identifies the machine or its owner is replaced in a recording. The same thing
   always gets the same mask, different things get different ones, so the replay gives the same
   plan. IP addresses stay, because the plan depends on them, but for the half that is made of a
   MAC address or a GUID. */
#include "snapshot/mask.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/image.h"
#include "nccl_init/index.h"
#include "nccl_init/ip.h"
#include "nccl_init/number.h"
#include "nccl_init/pci.h"
#include "nccl_init/text.h"
#include "sysroot/tree.h"

enum { MAX_THINGS = 1 << 14 };

struct ni_mask {
    unsigned n;
    size_t n_shown;
    const char **shown; /* names in sysfs, sorted; the record owns them */
    uint64_t is[MAX_THINGS];
    uint32_t place[2 * MAX_THINGS]; /* places of an index of the things */
    uint64_t seed;                  /* the seed of the index */
};

/* ---- what stands for what ---- */

static struct ni_span thing_bytes(const void *things, uint32_t number)
{
    const uint64_t *is = things;

    return (struct ni_span){(const char *)&is[number - 1], sizeof(*is)};
}

/* Whether a thing that was not met yet gets a number. */
enum unmet { LEAVE_UNMET, NUMBER_UNMET };

/* Returns the number of a thing, from 1; 0: it has none, or there is no room. */
static uint32_t thing_number(struct ni_mask *m, uint64_t is, enum unmet unmet)
{
    const struct ni_index index = {m->place, NI_COUNT(m->place), m->seed};
    const struct ni_span bytes = {(const char *)&is, sizeof(is)};
    uint32_t *place = ni_index_find(&index, bytes, thing_bytes, m->is);

    if (*place > 0)
        return *place;
    if (unmet == LEAVE_UNMET || m->n == MAX_THINGS)
        return 0;
    m->is[m->n++] = is;
    *place = m->n;
    return m->n;
}

/* RFC 4291 appendix A: an interface id has the universal bit of its MAC address or GUID inverted */
#define UNIVERSAL (UINT64_C(1) << 57)
#define ID_BASE   (UINT64_C(3) << 32) /* a large number, for people choose small ones: ::1, ::5 */

/* Masks the low half of an address if only this machine has it: that of a MAC address (ff:fe in the
   middle), of a link-local address, or a GUID. is_guid: it is a GUID; otherwise it counts as one
   only if it was met as one. */
static void mask_ip(struct ni_mask *m, uint8_t ip[NI_GID_BYTES], bool is_guid)
{
    uint64_t id = 0;

    for (unsigned i = 8; i < NI_GID_BYTES; i++)
        id = id << 8 | ip[i];
    if (ni_ip_is_v4(ip) || id >> 32 == 0)
        return;
    bool own = is_guid || ni_ip_is_link_local(ip) || (id >> 24 & 0xffff) == 0xfffe;
    uint32_t number = thing_number(m, id & ~UNIVERSAL, own ? NUMBER_UNMET : LEAVE_UNMET);
    if (number > 0)
        id = (id & UNIVERSAL) | (ID_BASE + number);
    for (unsigned i = NI_GID_BYTES; i-- > 8; id >>= 8)
        ip[i] = (uint8_t)id;
}

/* ---- ids ---- */

static bool is_alnum(char c)
{
    return ni_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
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

/* Returns true if s begins with the form as a whole word. An id that repeats one digit belongs to
   nobody, and does not count. */
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
        uint32_t number = thing_number(m, ni_hash(1, (struct ni_span){s.p, n}), NUMBER_UNMET);
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

/* ---- names ---- */

/* Masks a name by one of the same length, so that a masked path is too long if the real one was. */
void ni_mask_name(struct ni_mask *m, struct ni_span name, struct ni_text *ret)
{
    enum { LONG = 32 };
    const size_t before = ret->len;

    ni_putf(ret, "name-%u", thing_number(m, ni_hash(1, name), NUMBER_UNMET));
    while (name.n > LONG && ret->len - before < name.n && !ret->cut)
        ni_put(ret, "x");
}

static int by_text(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;

    return strcmp(*x, *y);
}

const char *ni_mask_shown(const struct ni_mask *m, struct ni_span beginning)
{
    size_t low = 0, high = m->n_shown; /* bounds of the first name that is not less */

    while (low < high) {
        const size_t mid = low + (high - low) / 2;

        if (strncmp(m->shown[mid], beginning.p, beginning.n) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    const bool shown = beginning.n > 0 && low < m->n_shown &&
                       strncmp(m->shown[low], beginning.p, beginning.n) == 0;
    return shown ? m->shown[low] : NULL;
}

/* Returns the number of hex digits at the start of s. */
static size_t count_hex(struct ni_span s)
{
    size_t n = 0;

    while (n < s.n && ni_hex_digit(s.p[n]) >= 0)
        n++;
    return n;
}

/* Puts hex digits that stand for so many others, the same for the same. */
static void put_hex_id(struct ni_mask *m, struct ni_span id, struct ni_text *ret)
{
    ni_putf(ret, "02%0*x", (int)id.n - 2, thing_number(m, ni_hash(1, id), NUMBER_UNMET));
}

/* Whether an id that ni_mask_text finds is masked at once, or by that function later. */
enum when { NOW, LATER };

/* Puts a name of sysfs. udev can make one of a MAC address (enx..., systemd 255 udev-builtin-net_id.c
   names_mac) or a GUID (rocex..., rdma-core 50 kernel-boot/rdma_rename.c by_guid), Azure makes the
   UUID of a device of a MAC address. */
static void put_device(struct ni_mask *m, struct ni_span name, enum when when, struct ni_text *ret)
{
    enum { ID_DIGITS = 12 }; /* of a MAC address; a GUID has more */
    bool inside = false;     /* inside a word, where ni_mask_text finds no id */

    while (name.n > 0) {
        struct ni_text id = NI_TEXT(64);
        size_t n = try_forms(m, name, &id);
        const size_t digits = count_hex(name);

        if (n > 0) {
            ni_putn(ret, when == LATER && !inside ? name.p : id.buf, n);
        } else if (digits >= ID_DIGITS) {
            n = digits;
            put_hex_id(m, (struct ni_span){name.p, n}, ret);
        } else {
            n = 1;
            ni_putn(ret, name.p, n);
        }
        inside = is_alnum(name.p[n - 1]);
        name = (struct ni_span){name.p + n, name.n - n};
    }
}

void ni_mask_device(struct ni_mask *m, const char *name, size_t n, struct ni_text *ret)
{
    struct ni_text whole = NI_TEXT(NI_DEV_NAME);
    const struct ni_span all = ni_span_of(name);

    put_device(m, all, n < all.n ? NOW : LATER, &whole);
    ni_putn(ret, whole.buf, n < whole.len ? n : whole.len);
}

/* ---- paths ---- */

/* Names of directories and files that each machine has, or that are a convention. x: digits. */
static const char *const usual[] = {
    "",
    ".",
    "..",
    "..data",
    ".nccl.conf",
    ".nvshmem.conf",
    ".rccl.conf",
    "bin",
    "comm",
    "cpuinfo",
    "cwd",
    "dev",
    "dra-device-attributes",
    "dri",
    "driver",
    "environ",
    "etc",
    "exe",
    "fib_trie",
    "gdrdrv",
    "gpus",
    "home",
    "hostname",
    "hosts",
    "if_inet6",
    "infiniband",
    "information",
    "ipv6_route",
    "kernel",
    "kfd",
    "kubernetes.io",
    "lib",
    "lib64",
    "limits",
    "local",
    "mnt",
    "mountinfo",
    "nccl",
    "nccl-init",
    "nccl.conf",
    "net",
    "netdev_max_backlog",
    "network-status",
    "ns",
    "nvidia",
    "nvidia-caps-imex-channels",
    "nvidia-topologyd",
    "nvidia-uvm",
    "nvidiactl",
    "nvshmem.conf",
    "opt",
    "osrelease",
    "params",
    "passwd",
    "podinfo",
    "proc",
    "rccl.conf",
    "resourceclaims",
    "resourceclaimtemplates",
    "root",
    "route",
    "run",
    "sbin",
    "self",
    "shm",
    "status",
    "sys",
    "tmp",
    "uptime",
    "user",
    "usr",
    "var",
    "version",
    "virtualTopology.xml",
    "channelx",
    "cmdline",
    "core",
    "issmx",
    "nvidiax",
    "rdma_cm",
    "renderDx",
    "umadx",
    "uverbsx",
};

static bool is_usual(struct ni_span name)
{
    uint64_t number;
    struct ni_bdf bdf;

    for (size_t i = 0; i < NI_COUNT(usual); i++) {
        const size_t n = strlen(usual[i]);
        const bool numbered = n > 0 && usual[i][n - 1] == 'x';

        if (ni_span_is(name, usual[i]))
            return true;
        if (numbered && name.n >= n && memcmp(name.p, usual[i], n - 1) == 0 &&
            ni_parse_u64((struct ni_span){name.p + n - 1, name.n - n + 1}, 9999, &number) == 0)
            return true;
    }
    return ni_parse_u64(name, 9999, &number) == 0 || ni_parse_bdf(name, &bdf) == 0;
}

static bool ends_in_text(struct ni_span s, const char *end)
{
    const size_t n = strlen(end);

    return s.n >= n && memcmp(s.p + s.n - n, end, n) == 0;
}

/* Returns true if the text may be a version in the name of a file: "12-2.21.5", or empty. */
static bool is_file_version(struct ni_span s)
{
    enum { LONGEST = 15 }; /* more may be an id, as well as ... */
    enum { MOST = 5 };     /* ... more digits in a part: librccl.so.1.0.60304 */
    size_t digits = 0;

    for (size_t i = 0; i < s.n; i++) {
        digits = ni_is_digit(s.p[i]) ? digits + 1 : 0;
        if (digits > MOST || (digits == 0 && s.p[i] != '.' && s.p[i] != '-'))
            return false;
    }
    return s.n <= LONGEST;
}

/* Returns true if the file is one of the libraries that NCCL needs, or a folder or file that shows
   its version: names that are everywhere the same, but for numbers. */
static bool is_of_image(struct ni_span name)
{
    static const struct {
        const char *begin, *end;
    } names[] = {
        {"libibverbs.so.", ""},
        {"libnccl.so", ""},
        {"librccl.so", ""},
        {"libcuda.so.", ""},
        {"libnccl-net.so", ""},
        {"libnccl-net-ofi.so", ""},
        {"libnccl-tuner.so", ""},
        {"libnccl-tuner-ofi.so", ""},
        {"libnccl-env.so", ""},
        {"libnccl-profiler.so", ""},
        {"libnccl-net_gib.so", ""},
        {"librccl-net.so", ""},
        {"libnccl-gin.so", ""},
        {"nvidia_nccl_cu", ".dist-info"},
        {"cuda", ""},
        {"python3", ""},
        {"x86_64-linux-gnu", ""},
        {"aarch64-linux-gnu", ""},
        {"compat", ""},
        {"site-packages", ""},
        {"dist-packages", ""},
        {"libibverbs", ""},
        {"libibverbs.d", ""},
        {"venv", ""},
        {".venv", ""},
        {"conda", ""},
        {"conda-meta", ""},
        {"envs", ""},
        {"gib", ""},
        {"hpcx", ""},
        {"nccl_rdma_sharp_plugin", ""},
        {"nccl-rdma-sharp-plugins", ""},
    };
    const char *suffix = memmem(name.p, name.n, "-rdmav", 6);

    for (size_t i = 0; i < NI_COUNT(names); i++) {
        const size_t n = strlen(names[i].begin), rest = strlen(names[i].end);

        if (name.n < n + rest || memcmp(name.p, names[i].begin, n) != 0)
            continue;
        if (is_file_version((struct ni_span){name.p + n, name.n - n - rest}) &&
            memcmp(name.p + name.n - rest, names[i].end, rest) == 0)
            return true;
    }
    if (suffix && name.n > 3 && memcmp(name.p, "lib", 3) == 0)
        return ni_is_provider((struct ni_span){name.p + 3, (size_t)(suffix - name.p) - 3});
    return ends_in_text(name, ".driver") &&
           ni_is_provider((struct ni_span){name.p, name.n - strlen(".driver")});
}

/* Returns true if the kernel gives such a name in sysfs. */
static bool is_of_sysfs(struct ni_span name)
{
    for (size_t i = 0; i < name.n; i++)
        if (!is_alnum(name.p[i]) && !strchr("_.:@+-", name.p[i]))
            return false;
    return name.n < NI_DEV_NAME;
}

/* Puts a component of a path, masked. Readers of the recording must still judge it as they judge
   the real one: `uverbs` stays in front of a device node, the ending by which files of DRA are
   found stays, and `?` marks a name that no device can have. device: the place is one of devices.
   */
static void put_component(struct ni_mask *m, struct ni_span name, bool device, struct ni_text *ret)
{
    static const char uverbs[] = "uverbs", metadata[] = "metadata.json";

    if (device && name.n >= sizeof(uverbs) - 1 && memcmp(name.p, uverbs, sizeof(uverbs) - 1) == 0)
        ni_put(ret, uverbs);
    if (device && !ni_is_name(name, NI_DEV_NAME))
        ni_put(ret, "?");
    ni_mask_name(m, name, ret);
    if (ends_in_text(name, metadata))
        ni_put(ret, ends_in_text(name, "-metadata.json") ? "-metadata.json" : metadata);
}

/* Where a path lies: in sys/, in dev/infiniband/, or elsewhere. */
enum place { ELSEWHERE, IN_SYSFS, IN_DEVICES };

/* Returns true if the name may stand in a path below that folder. A user can be called as folders
   are: home/etc. */
static bool may_stand(struct ni_span folder, struct ni_span name, enum place place)
{
    uint64_t number;

    if (ni_span_is(folder, "home"))
        return name.n == 0 || *name.p == '.';
    if (place == IN_SYSFS && ni_span_is(folder, "iommu_groups"))
        return ni_parse_u64(name, UINT32_MAX, &number) == 0;
    return is_usual(name) || (place == IN_SYSFS && is_of_sysfs(name)) ||
           (place == ELSEWHERE && is_of_image(name));
}

static void put_masked_path(struct ni_mask *m, struct ni_span path, enum place place,
                            struct ni_text *ret)
{
    struct ni_span folder = {"", 0};

    for (;;) {
        const char *slash = memchr(path.p, '/', path.n);
        const struct ni_span name = {path.p, slash ? (size_t)(slash - path.p) : path.n};

        if (!may_stand(folder, name, place))
            put_component(m, name, place != ELSEWHERE, ret);
        else if (place == IN_SYSFS)
            put_device(m, name, NOW, ret);
        else
            ni_putn(ret, name.p, name.n);
        folder = name;
        if (!slash)
            return;
        ni_put(ret, "/");
        path = (struct ni_span){slash + 1, path.n - name.n - 1};
    }
}

void ni_mask_path(struct ni_mask *m, struct ni_span path, struct ni_text *ret)
{
    put_masked_path(m, path, ELSEWHERE, ret);
}

/* Entries of dev/ that nobody reads are left out, for they show the node. */
bool ni_mask_entry_path(struct ni_mask *m, const struct ni_entry *e, struct ni_text *ret)
{
    const bool device = ni_has_prefix(e->path, "dev/infiniband/");
    const struct ni_span name = ni_span_of(e->name);
    const bool foreign = device ? !ni_has_prefix(e->name, "uverbs") && ni_is_name(name, NI_DEV_NAME)
                                : ni_has_prefix(e->path, "dev/");
    enum place place = ni_has_prefix(e->path, "sys/") ? IN_SYSFS : ELSEWHERE;

    if (foreign && e->kind == NI_ENTRY_DIR && e->sure == 0 && !is_usual(name))
        return false;
    if (device)
        place = IN_DEVICES;
    put_masked_path(m, ni_span_of(e->path), place, ret);
    return true;
}

void ni_mask_target(struct ni_mask *m, const struct ni_entry *e, struct ni_text *ret)
{
    static const char user[] = "user:[";
    const struct ni_span target = {e->value, e->len};
    uint64_t number;

    if (ni_has_prefix(e->value, user) && e->value[e->len - 1] == ']' &&
        ni_parse_u64((struct ni_span){e->value + strlen(user), e->len - strlen(user) - 1},
                     UINT32_MAX, &number) == 0)
        ni_putn(ret, target.p, target.n);
    else
        put_masked_path(m, target, ni_has_prefix(e->path, "sys/") ? IN_SYSFS : ELSEWHERE, ret);
}

/* ---- words ---- */

/* Masks IPv6 as people write it, and a GID as sysfs does. Returns its bytes in s; 0: it is
   something else. */
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

/* Masks an address in proc/net. Returns its bytes in s; 0: it is something else. */
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

void ni_mask_text(struct ni_mask *m, const char *asked, struct ni_span s, struct ni_text *ret)
{
    bool net = ni_has_prefix(asked, "proc/") && strstr(asked, "net/");
    bool is_guid = strstr(asked, "/gids/0"); /* the default GID of a port contains its GUID */
    bool inside = false;                     /* the present byte is inside a word */

    while (s.n > 0) {
        size_t n = 0;

        if (!inside && (is_alnum(*s.p) || *s.p == ':')) {
            n = try_forms(m, s, ret);
            n = n ? n : try_ipv6(m, s, is_guid, ret);
            n = n || !net ? n : try_hex(m, s, ret);
        }
        if (n == 0) {
            n = 1;
            ni_putn(ret, s.p, n);
        }
        inside = is_alnum(s.p[n - 1]);
        s = (struct ni_span){s.p + n, s.n - n};
    }
}

/* ---- all ---- */

bool ni_mask_is_full(const struct ni_mask *m)
{
    return m->n == MAX_THINGS;
}

/* Names of existing entries stay; those of entries that were looked for in vain do not. */
struct ni_mask *ni_mask_new(const struct ni_tree *t)
{
    struct ni_mask *m = calloc(1, sizeof(*m));

    if (m)
        m->shown = malloc((t->n + 1) * sizeof(*m->shown));
    if (!m || !m->shown) {
        ni_mask_free(m);
        return NULL;
    }
    m->seed = ni_seed();
    for (size_t i = 0; i < t->n; i++) {
        const struct ni_entry *e = &t->at[i];

        if (ni_has_prefix(e->path, "sys/") && (e->above || ni_is_met(e)))
            m->shown[m->n_shown++] = e->name;
    }
    qsort(m->shown, m->n_shown, sizeof(*m->shown), by_text);
    return m;
}

void ni_mask_free(struct ni_mask *m)
{
    if (m)
        free(m->shown);
    free(m);
}
