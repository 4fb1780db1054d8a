/* SPDX-License-Identifier: Apache-2.0 */
/* ideal env [DIR] | ideal run COMMAND [ARG...]: the reader that nccl-init is measured against. It gives the answer of
   `nccl-init env --format=docker [--root=DIR]` or of `nccl-init run --`, by the same rules, on the nodes that mkroot makes;
   where anything is not as there it gives up instead of dealing with it. It opens, by plain openat, exactly this:

   the node     root/.nccl.conf, etc/nccl.conf       a setting there would win (both are absent)
                etc/passwd, dev/kfd                  the home of older NCCL; no AMD GPUs (absent)
                proc/self/limits, status             how far memlock is to be raised, whether that will do
                proc/net/fib_trie                    which IPv4 addresses, hence which GIDs, are the pod's
                proc/net/route                       the pod network; whether a rail is a subnet of its own
                class/net/eth0/operstate             whether it can be named to NCCL
                dev/, proc/driver/nvidia/gpus/       which GPUs are the pod's: as many as device nodes
                proc/driver/nvidia/version,
                proc/sys/kernel/osrelease            GPUDirect by DMA-BUF; then nobody need ask for peermem
                .../cpu0/regs/.../midr_el1           not a Grace, where GDR is left to NCCL (absent)
   each device  bus/pci/devices/BDF                  (readlink) its place on the PCI tree
                class of function 0 of its bus       where NCCL will take it to be; once per bus
                BDF/infiniband/                      its name
                BDF/infiniband_verbs/                its device node, ...
                dev/infiniband/uverbsN               ... which opens
                ports/1/state, ports/1/link_layer    ACTIVE, RoCE
                ports/2/state                        that there is no second port (absent)
                gids/0 .. gids/3                     up to the right one: GIDs are searched from the lowest
                gid_attrs/types/2, types/3           of the IPv4 ones only
                gid_attrs/ndevs/3                    the interface of the right one
                class/net/NAME/operstate             whether it can be named to NCCL
   each GPU     bus/pci/devices/BDF                  (readlink)
   and, only where a GPU shares no switch with an HCA, the numa_node of both; only where devices share a bus, their
   physfn (readlink) until two are of one PF.

   Not needed here: rate (one link layer), types and owners of link-local GIDs, IPv6 addresses. */
#include <ctype.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_DEVICES = 128, MAX_NAMES = 256, CHAIN = 16, NAME = 64, BDF = 13, PAGE = 4096 };

struct place {
    char bdf[BDF], link[256];
    const char *at[CHAIN]; /* of link: the functions from the root port down */
    int depth;
};

struct device {
    struct place place;
    char name[NAME], ndev[NAME];
};

static struct device device[MAX_DEVICES];
static struct place gpu[MAX_DEVICES];
static unsigned devices, gpus;
static char local[MAX_NAMES][16]; /* 0a006706, as in a GID */
static unsigned locals;
static int root = -1; /* of DIR; -1: this machine */

__attribute__((noreturn)) static void give_up(const char *what)
{
    fprintf(stderr, "ideal: not made for this node: %s\n", what);
    exit(1);
}

/* ---- files ---- */

/* The parts up to a NULL, as one path. */
static const char *join(const char *part, ...)
{
    static char path[1024];
    char *end = path;
    va_list ap;

    va_start(ap, part);
    for (; part; part = va_arg(ap, const char *))
        end = stpcpy(end, part);
    va_end(ap);
    return path;
}

static int open_at(const char *path, int flags)
{
    return openat(root < 0 ? AT_FDCWD : root, root < 0 ? path : path + 1,
                  flags | O_RDONLY | O_CLOEXEC);
}

/* One read, which gives a whole attribute. Without the newline. -1: cannot be opened. */
static int try_read(const char *path, char *buf, size_t cap)
{
    int fd = open_at(path, 0);

    if (fd < 0)
        return -1;
    ssize_t n = read(fd, buf, cap - 1);
    close(fd);
    if (n < 0)
        give_up(path);
    if (n > 0 && buf[n - 1] == '\n')
        n--;
    buf[n] = '\0';
    return (int)n;
}

static void must_read(const char *path, char *buf, size_t cap)
{
    if (try_read(path, buf, cap) < 0)
        give_up(path);
}

static void must_be_absent(const char *path)
{
    int fd = open_at(path, 0);

    if (fd >= 0)
        give_up(path);
}

static void may_read(const char *path)
{
    char buf[4096];
    int fd = open_at(path, 0);

    if (fd >= 0 && (read(fd, buf, sizeof(buf)) < 0 || close(fd) < 0))
        give_up(path);
}

/* Calls `each` for the names in a directory. */
static void list(const char *path, void (*each)(const char *name))
{
    _Alignas(8) char buf[8192];
    int fd = open_at(path, O_DIRECTORY);
    long n;

    if (fd < 0)
        give_up(path);
    while ((n = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0) {
        unsigned short len;
        for (char *p = buf; p < buf + n; p += len) {
            memcpy(&len, p + 16, sizeof(len)); /* struct linux_dirent64 */
            if (p[19] != '.')
                each(p + 19);
        }
    }
    close(fd);
}

/* ---- the environment ---- */

static void add_device(const char *id, size_t n)
{
    if (n != BDF - 1 || devices == MAX_DEVICES)
        give_up(id);
    for (unsigned i = 0; i < devices; i++) {
        if (memcmp(device[i].place.bdf, id, n) == 0)
            return;
    }
    memcpy(device[devices++].place.bdf, id, n);
}

/* The keys of the outer object: an id may stand in the JSON alone. */
static void read_json(const char *s)
{
    int depth = 0;

    for (; *s; s++) {
        if (*s == '"') {
            const char *end = strchr(s + 1, '"');
            if (!end)
                give_up("JSON");
            if (depth == 1)
                add_device(s + 1, (size_t)(end - s) - 1);
            s = end;
        } else if (*s == '{') {
            depth++;
        } else if (*s == '}') {
            depth--;
        }
    }
}

static void read_list(const char *s)
{
    while (*s) {
        size_t n = strcspn(s, ",");
        add_device(s, n);
        s += n + (s[n] != '\0');
    }
}

static int by_bdf(const void *a, const void *b)
{
    return strcmp(((const struct place *)a)->bdf, ((const struct place *)b)->bdf);
}

static int device_by_bdf(const void *a, const void *b)
{
    return by_bdf(&((const struct device *)a)->place, &((const struct device *)b)->place);
}

static void read_environment(void)
{
    for (char **e = environ; *e; e++) {
        if (strncmp(*e, "NCCL", 4) == 0)
            give_up(*e);
        const char *value = strchr(*e, '=');
        if (strncmp(*e, "PCIDEVICE_", 10) != 0 || !value)
            continue;
        if (value[1] == '{')
            read_json(value + 1);
        else
            read_list(value + 1);
    }
    qsort(device, devices, sizeof(device[0]), device_by_bdf);
}

/* ---- the node ---- */

static rlim_t limit_soft, limit_hard;
static bool may_raise;

static rlim_t limit(const char **p)
{
    char *end;

    *p += strspn(*p, " ");
    rlim_t v = **p == 'u' ? RLIM_INFINITY : strtoull(*p, &end, 10);
    *p += strcspn(*p, " ");
    return v;
}

static void read_self(void)
{
    char buf[PAGE];

    must_read("/proc/self/limits", buf, sizeof(buf));
    const char *p = strstr(buf, "Max locked memory");
    if (!p)
        give_up("limits");
    p += 17;
    limit_soft = limit(&p);
    limit_hard = limit(&p);
    must_read("/proc/self/status", buf, sizeof(buf));
    p = strstr(buf, "CapEff:\t");
    if (!p)
        give_up("status");
    unsigned long caps = strtoul(p + 8, NULL, 16);
    may_raise = caps >> 24 & 1;
    if (!may_raise && limit_soft < 1u << 30 && !(caps >> 14 & 1))
        give_up("a low limit");
}

static void add_local(const char *p)
{
    static const char hex[] = "0123456789abcdef";
    char *to = local[locals];
    char *end;

    if (locals == MAX_NAMES)
        give_up("addresses");
    for (int i = 0; i < 4; i++) {
        unsigned long byte = strtoul(p, &end, 10);
        *to++ = hex[byte >> 4 & 15];
        *to++ = hex[byte & 15];
        p = end + 1;
    }
    *to = '\0';
    for (unsigned i = 0; i < locals; i++) {
        if (strcmp(local[i], local[locals]) == 0)
            return;
    }
    locals++;
}

/* A file of any length. */
static char *read_all(const char *path)
{
    static char buf[64 * PAGE];
    size_t n = 0;
    ssize_t got;
    int fd = open_at(path, 0);

    if (fd < 0)
        give_up(path);
    while ((got = read(fd, buf + n, sizeof(buf) - 1 - n)) > 0)
        n += (size_t)got;
    close(fd);
    buf[n] = '\0';
    return buf;
}

/* Of each leaf, "|-- 10.0.103.6", whose next line is "/32 host LOCAL". */
static void read_addresses(void)
{
    char *buf = read_all("/proc/net/fib_trie");

    for (char *leaf = strstr(buf, "|-- "); leaf; leaf = strstr(leaf + 4, "|-- ")) {
        char *next = strchr(leaf, '\n');
        if (!next)
            return;
        next += strspn(next, "\n ");
        if (memcmp(next, "/32 host LOCAL", 14) == 0)
            add_local(leaf + 4);
    }
}

static void find_place(struct place *place)
{
    const char *path = join("/sys/bus/pci/devices/", place->bdf, NULL);
    ssize_t n = readlinkat(root < 0 ? AT_FDCWD : root, root < 0 ? path : path + 1, place->link,
                           sizeof(place->link) - 1);

    if (n < 0)
        give_up(path);
    place->link[n] = '\0';
    const char *p = strstr(place->link, "/pci");
    if (!p)
        give_up(place->link);
    while ((p = strchr(p + 1, '/')) && place->depth < CHAIN)
        place->at[place->depth++] = p + 1;
}

/* ---- GPUs ---- */

static unsigned nodes;

static void count_node(const char *name)
{
    nodes += strncmp(name, "nvidia", 6) == 0 && isdigit((unsigned char)name[6]);
}

static void add_gpu(const char *name)
{
    if (gpus == MAX_DEVICES || strlen(name) != BDF - 1)
        give_up(name);
    memcpy(gpu[gpus++].bdf, name, BDF);
}

static void read_gpus(void)
{
    char buf[PAGE];

    list("/dev", count_node);
    list("/proc/driver/nvidia/gpus", add_gpu);
    if (gpus != nodes || gpus == 0)
        give_up("GPUs of others");
    qsort(gpu, gpus, sizeof(gpu[0]), by_bdf);
    for (unsigned i = 0; i < gpus; i++)
        find_place(&gpu[i]);
    must_be_absent("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1");
    must_read("/proc/driver/nvidia/version", buf, sizeof(buf));
    if (!strstr(buf, "Open Kernel Module"))
        give_up("the driver");
    must_read("/proc/sys/kernel/osrelease", buf, sizeof(buf));
    char *dot;
    unsigned long major = strtoul(buf, &dot, 10);
    if (major < 5 || (major == 5 && strtoul(dot + 1, NULL, 10) < 12))
        give_up("the kernel");
}

/* NCCL climbs two functions at a time: switches, without the root port. */
static bool shares_switch(const struct place *a, const struct place *b)
{
    for (int i = a->depth - 3; i >= 0; i -= 2) {
        for (int j = b->depth - 3; j >= 0; j -= 2) {
            if (memcmp(a->at[i], b->at[j], BDF - 1) == 0)
                return true;
        }
    }
    return false;
}

static bool same_bus(const struct place *a, const struct place *b)
{
    return memcmp(a->bdf, b->bdf, 8) == 0; /* "0000:03:" */
}

/* NCCL sets device and function of a VF's address to 0, and takes what is there for the NIC. */
static void check_merged(void)
{
    char buf[NAME], bdf[BDF];

    for (unsigned i = 0; i < devices; i++) {
        if (i > 0 && same_bus(&device[i].place, &device[i - 1].place))
            continue;
        memcpy(bdf, device[i].place.bdf, BDF);
        memcpy(bdf + 8, "00.0", 5);
        must_read(join("/sys/bus/pci/devices/", bdf, "/class", NULL), buf, sizeof(buf));
        if (strncmp(buf, "0x02", 4) != 0)
            give_up(bdf);
    }
}

static ssize_t read_physfn(const struct place *place, char *buf, size_t cap)
{
    const char *path = join("/sys/bus/pci/devices/", place->bdf, "/physfn", NULL);

    return readlinkat(root < 0 ? AT_FDCWD : root, root < 0 ? path : path + 1, buf, cap);
}

/* Two VFs of one PF. */
static bool is_fused(void)
{
    char a[256], b[256];

    for (unsigned i = 1; i < devices; i++) {
        if (!same_bus(&device[i].place, &device[i - 1].place))
            continue;
        ssize_t n = read_physfn(&device[i - 1].place, a, sizeof(a));
        if (n > 0 && read_physfn(&device[i].place, b, sizeof(b)) == n &&
            memcmp(a, b, (size_t)n) == 0)
            return true;
    }
    return false;
}

static int numa_of(const struct place *place)
{
    char buf[NAME];

    must_read(join("/sys/bus/pci/devices/", place->bdf, "/numa_node", NULL), buf, sizeof(buf));
    return atoi(buf);
}

/* How far the farthest GPU is from its nearest HCA. */
static const char *gdr_level(void)
{
    const char *level = "PXB";
    int numa[MAX_DEVICES];
    bool numa_read = false;

    for (unsigned g = 0; g < gpus; g++) {
        bool near = false;
        for (unsigned i = 0; i < devices && !near; i++)
            near = shares_switch(&gpu[g], &device[i].place);
        if (near)
            continue;
        for (unsigned i = 0; i < devices && !numa_read; i++)
            numa[i] = numa_of(&device[i].place);
        numa_read = true;
        int mine = numa_of(&gpu[g]);
        for (unsigned i = 0; i < devices && !near; i++)
            near = numa[i] == mine;
        if (!near)
            return "SYS";
        level = "PHB";
    }
    return level;
}

/* ---- HCAs ---- */

static char found[NAME];

static void keep_name(const char *name)
{
    size_t n = strlen(name);

    if (found[0] || n >= sizeof(found))
        give_up(name);
    memcpy(found, name, n + 1);
}

/* "0000:0000:0000:0000:0000:ffff:0a00:6706" */
static bool is_mine(const char *gid)
{
    if (memcmp(gid, "0000:0000:0000:0000:0000:ffff:", 30) != 0)
        return false;
    for (unsigned i = 0; i < locals; i++) {
        if (memcmp(local[i], gid + 30, 4) == 0 && memcmp(local[i] + 4, gid + 35, 4) == 0)
            return true;
    }
    return false;
}

static int find_gid(struct device *d, const char *port)
{
    char buf[PAGE], index[16];

    for (int i = 0; i < 256; i++) {
        snprintf(index, sizeof(index), "%d", i);
        must_read(join(port, "gids/", index, NULL), buf, sizeof(buf));
        if (!is_mine(buf))
            continue;
        must_read(join(port, "gid_attrs/types/", index, NULL), buf, sizeof(buf));
        if (strcmp(buf, "RoCE v2") != 0)
            continue;
        must_read(join(port, "gid_attrs/ndevs/", index, NULL), d->ndev, sizeof(d->ndev));
        return i;
    }
    give_up(port);
}

/* The index of its GID. */
static int read_device(struct device *d)
{
    char port[256], buf[PAGE];
    size_t n;

    find_place(&d->place);
    found[0] = '\0';
    list(join("/sys/bus/pci/devices/", d->place.bdf, "/infiniband", NULL), keep_name);
    memcpy(d->name, found, sizeof(found));
    found[0] = '\0';
    list(join("/sys/bus/pci/devices/", d->place.bdf, "/infiniband_verbs", NULL), keep_name);
    int node = open_at(join("/dev/infiniband/", found, NULL), O_RDWR);
    if (node < 0)
        give_up(found);
    close(node);
    const char *path =
        join("/sys/bus/pci/devices/", d->place.bdf, "/infiniband/", d->name, "/ports/1/", NULL);
    n = strlen(path);
    memcpy(port, path, n + 1);
    must_read(join(port, "state", NULL), buf, sizeof(buf));
    if (strcmp(buf, "4: ACTIVE") != 0)
        give_up(buf);
    must_read(join(port, "link_layer", NULL), buf, sizeof(buf));
    if (strcmp(buf, "Ethernet") != 0)
        give_up(buf);
    port[n - 2] = '2';
    must_be_absent(join(port, "state", NULL));
    port[n - 2] = '1';
    int index = find_gid(d, port);
    must_read(join("/sys/class/net/", d->ndev, "/operstate", NULL), buf, sizeof(buf));
    if (strcmp(buf, "up") != 0)
        give_up(buf);
    return index;
}

/* Each device's interface has a connected subnet that no other has, and no router. Returns the interface of the default
   route. */
static const char *check_rails(void)
{
    static const char *subnet[MAX_DEVICES]; /* "0067000A\t" */
    static char pod[NAME];

    for (char *line = strchr(read_all("/proc/net/route"), '\n'); line; line = strchr(line, '\n')) {
        line++;
        size_t n = strcspn(line, "\t");
        if (n < sizeof(pod) && strncmp(line + n + 1, "00000000", 8) == 0)
            memcpy(pod, line, n);
        for (unsigned i = 0; i < devices; i++) {
            if (strncmp(device[i].ndev, line, n) != 0 || device[i].ndev[n])
                continue;
            if (subnet[i] || strncmp(line + n + 10, "00000000", 8) != 0)
                give_up("routes");
            subnet[i] = line + n + 1;
        }
    }
    for (unsigned i = 0; i < devices; i++) {
        for (unsigned k = 0; k < i; k++) {
            if (!subnet[i] || memcmp(subnet[i], subnet[k], 8) == 0)
                give_up("subnets");
        }
    }
    return pod;
}

/* ---- the answer ---- */

static char hca[32 * NAME] = "NCCL_IB_HCA", gid_index[64] = "NCCL_IB_GID_INDEX=",
                     sockets[16 * NAME] = "NCCL_SOCKET_IFNAME",
                     gdr[64] = "NCCL_NET_GDR_LEVEL=", disable[] = "NCCL_IB_DISABLE=0",
                     cross[] = "NCCL_CROSS_NIC=0", merge[] = "NCCL_IB_MERGE_NICS=0",
                     merge_level[] = "NCCL_NET_MERGE_LEVEL=LOC";
static char *setting[9] = {disable, hca, gid_index, sockets};
static int settings = 4;

/* Separate rails carry no sockets: the pod network does. */
static void use_pod_network(const char *pod)
{
    char buf[NAME];

    must_read(join("/sys/class/net/", pod, "/operstate", NULL), buf, sizeof(buf));
    if (strcmp(buf, "up") != 0)
        give_up(buf);
    stpcpy(stpcpy(sockets, "NCCL_SOCKET_IFNAME=="), pod);
}

static void decide(void)
{
    char number[16], *end_hca = hca + strlen(hca), *end_socket = sockets + strlen(sockets);
    int index = -1;

    for (unsigned i = 0; i < devices && i < 32; i++) {
        int its = read_device(&device[i]);
        if (i > 0 && its != index)
            give_up("GID indexes differ");
        index = its;
        end_hca = stpcpy(stpcpy(stpcpy(end_hca, i ? "," : "=="), device[i].name), ":1");
        if (i < 16)
            end_socket = stpcpy(stpcpy(end_socket, i ? "," : "=="), device[i].ndev);
    }
    snprintf(number, sizeof(number), "%d", index);
    strcat(gid_index, number);
    if (devices > 1) {
        use_pod_network(check_rails());
        setting[settings++] = cross;
    }
    check_merged();
    if (is_fused()) {
        setting[settings++] = merge;
        setting[settings++] = merge_level;
    }
    strcat(gdr, gdr_level());
    setting[settings++] = gdr;
}

static void print(void)
{
    char out[8192], *end = out;

    for (int i = 0; i < settings; i++)
        end = stpcpy(stpcpy(end, setting[i]), "\n");
    if (write(STDOUT_FILENO, out, (size_t)(end - out)) < 0)
        give_up("standard output");
}

static void raise_limit(void)
{
    struct rlimit now;

    prlimit(0, RLIMIT_MEMLOCK, NULL, &now);
    if (may_raise)
        now.rlim_max = RLIM_INFINITY;
    now.rlim_cur = now.rlim_max;
    prlimit(0, RLIMIT_MEMLOCK, &now, NULL);
}

static void run(char *argv[])
{
    static char *envp[1024];
    char line[512], *end;
    size_t n = 0;

    raise_limit();
    end = stpcpy(line, "ideal: ");
    end = stpcpy(stpcpy(stpcpy(stpcpy(end, gid_index), " "), gdr), "\n");
    (void)!write(STDERR_FILENO, line, (size_t)(end - line));
    while (environ[n] && n < 1000) {
        envp[n] = environ[n];
        n++;
    }
    memcpy(envp + n, setting, sizeof(setting)); /* and the NULL behind them */
    execve(argv[0], argv, envp);
    give_up(argv[0]);
}

int main(int argc, char *argv[])
{
    if (argc < 2 || (strcmp(argv[1], "run") == 0 && argc < 3))
        give_up("usage: ideal env [DIR] | ideal run COMMAND [ARG...]");
    bool runs = strcmp(argv[1], "run") == 0;
    if (!runs && argc > 2) {
        root = open(argv[2], O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (root < 0)
            give_up(argv[2]);
    }
    must_be_absent("/root/.nccl.conf");
    must_be_absent("/etc/nccl.conf");
    may_read("/etc/passwd");
    must_be_absent("/dev/kfd");
    read_self();
    read_addresses();
    read_environment();
    read_gpus();
    decide();
    if (runs)
        run(argv + 2);
    print();
    return 0;
}
