/* SPDX-License-Identifier: Apache-2.0 */
/* What doctor asks of the process's surroundings: kernel command line, shared memory, the mount that
   this program lies on, the host's name, PID 1. */
#include <string.h>

#include "probe.h"

/* Whatever names an IOMMU: iommu=pt, intel_iommu=on, iommu.passthrough=1,
   arm-smmu-v3.disable_bypass=0. */
static void probe_cmdline(struct ni_probe *p)
{
    struct ni_self *self = &p->inv->self;
    struct ni_text t = ni_text_on(self->cmdline, sizeof(self->cmdline));
    char buf[NI_PAGE];
    ssize_t n = ni_read(p->root, buf, sizeof(buf), "proc/cmdline");
    const char *rest = n < 0 ? NULL : buf;
    struct ni_span word;
    self->cmdline_known = ni_known_of(n);
    while (ni_split(&rest, ' ', &word)) {
        if (!memmem(word.p, word.n, "iommu", 5) && !memmem(word.p, word.n, "smmu", 4))
            continue;
        ni_put(&t, t.len > 0 ? " " : "");
        ni_put_quoted(&t, word.p, word.n, 40);
    }
}

/* "12345.67 ..." */
static void probe_uptime(struct ni_probe *p)
{
    char buf[64];
    uint64_t v;
    if (ni_read(p->root, buf, sizeof(buf), "proc/uptime") > 0 &&
        ni_parse_u64((struct ni_span){buf, strcspn(buf, ".")}, INT32_MAX, &v) == 0)
        p->inv->self.uptime = (struct ni_num){(int64_t)v, NI_KNOWN};
}

/* ---- mounts ---- */

struct mount {
    struct ni_span point, options, type, super;
};

/* "25 24 0:23 / /dev/shm rw,nosuid shared:1 - tmpfs shm rw,size=65536k"
   (Documentation/filesystems/proc.rst): optional fields end at the hyphen. A source may be empty. */
static bool parse_mount(const char *line, struct mount *ret)
{
    struct ni_span word;
    for (unsigned i = 0; i < 4; i++)
        (void)ni_split(&line, ' ', &word);
    (void)ni_split(&line, ' ', &ret->point);
    if (!ni_split(&line, ' ', &ret->options))
        return false;
    do {
        if (!ni_split(&line, ' ', &word))
            return false;
    } while (!ni_span_is(word, "-"));
    return ni_split(&line, ' ', &ret->type) && ni_split(&line, ' ', &word) &&
           ni_split(&line, ' ', &ret->super) && !line;
}

/* An option by its name, or by "name=" for its value. */
static bool find_option(struct ni_span list, const char *name, struct ni_span *ret_value)
{
    const size_t n = strlen(name);
    const char *cursor = list.p, *const end = list.p + list.n;
    struct ni_span option;
    while (ni_split(&cursor, ',', &option) && option.p < end) {
        if (option.n > (size_t)(end - option.p))
            option.n = (size_t)(end - option.p);
        if (option.n >= n && memcmp(option.p, name, n) == 0 &&
            (option.n == n || name[n - 1] == '=')) {
            *ret_value = (struct ni_span){option.p + n, option.n - n};
            return true;
        }
    }
    return false;
}

/* tmpfs prints kilobytes, and nothing for its default of half the memory (mm/shmem.c
   shmem_show_options). */
static struct ni_num shm_size(const struct mount *m)
{
    struct ni_span size;
    uint64_t kib;
    if (!ni_span_is(m->type, "tmpfs") || !find_option(m->super, "size=", &size))
        return (struct ni_num){NI_UNLIMITED, NI_KNOWN};
    if (size.n < 2 || size.p[size.n - 1] != 'k' ||
        ni_parse_u64((struct ni_span){size.p, size.n - 1}, INT64_MAX >> 10, &kib) < 0)
        return (struct ni_num){0, NI_BAD};
    return (struct ni_num){(int64_t)kib << 10, NI_KNOWN};
}

struct mounts {
    struct ni_self *self;
    char exe[NI_PATH]; /* this program; "": not known */
    size_t longest;    /* mount point above it */
};

static bool is_above(struct ni_span point, const char *path)
{
    if (point.n == 1)
        return path[0] == '/';
    return strncmp(path, point.p, point.n) == 0 && (path[point.n] == '/' || path[point.n] == '\0');
}

static void mount_line(void *ctx, const char *line)
{
    struct mounts *c = ctx;
    struct mount m;
    struct ni_span value;
    if (!parse_mount(line, &m) || m.point.n == 0 || m.point.p[0] != '/')
        return;
    if (ni_span_is(m.point, "/dev/shm"))
        c->self->shm = shm_size(&m); /* the last one is on top */
    if (m.point.n >= c->longest && is_above(m.point, c->exe)) {
        c->longest = m.point.n;
        c->self->nosuid = find_option(m.options, "nosuid", &value) ? NI_KNOWN : NI_ABSENT;
    }
}

static void probe_mounts(struct ni_probe *p)
{
    struct ni_self *self = &p->inv->self;
    struct mounts c = {.self = self};
    if (ni_readlink(p->root, c.exe, sizeof(c.exe), "proc/self/exe") < 0)
        c.exe[0] = '\0';
    if (ni_lines(p->root, mount_line, &c, "proc/self/mountinfo") == 0 &&
        self->shm.known == NI_UNSET)
        self->shm.known = NI_ABSENT;
}

/* ---- host name and PID 1 ---- */

struct hosts {
    struct ni_self *self;
    char name[NI_DEV_NAME + 1]; /* __NEW_UTS_LEN, include/uapi/linux/utsname.h */
};

/* "127.0.1.1  name alias # why" (hosts(5)); of two lines the first counts. */
static void hosts_line(void *ctx, const char *line)
{
    struct hosts *c = ctx;
    char buf[NI_PAGE];
    const char *rest = buf;
    struct ni_span ip, name;
    if (!ni_copyn(buf, sizeof(buf), line, strcspn(line, "#")) || !ni_word(&rest, &ip))
        return;
    while (c->self->host_known != NI_KNOWN && ni_word(&rest, &name)) {
        if (ni_span_is(name, c->name) &&
            ni_copyn(c->self->host_ip, sizeof(c->self->host_ip), ip.p, ip.n))
            c->self->host_known = NI_KNOWN;
    }
}

static void probe_host_name(struct ni_probe *p)
{
    struct ni_self *self = &p->inv->self;
    struct hosts c = {.self = self};
    if (ni_read_file(p, p->root, NI_OPTIONAL, c.name, sizeof(c.name), "proc/sys/kernel/hostname") !=
        NI_KNOWN)
        return;
    self->host_known = NI_ABSENT;
    const enum ni_known known = ni_read_lines(p, NI_OPTIONAL, hosts_line, &c, "etc/hosts");
    if (known != NI_KNOWN)
        self->host_known = known == NI_ABSENT ? NI_UNSET : NI_DENIED;
}

void ni_health_container(struct ni_probe *p)
{
    struct ni_self *self = &p->inv->self;
    if (!self->kernel[0])
        ni_probe_kernel(p);
    probe_cmdline(p);
    probe_uptime(p);
    probe_mounts(p);
    probe_host_name(p);
    if (self->pid.known == NI_KNOWN && self->pid.v == 1)
        return; /* that is us */
    ssize_t n = ni_read(p->root, self->init, sizeof(self->init), "proc/1/comm");
    self->init_known = ni_known_of(n);
    if (n < 0)
        self->init[0] = '\0';
}
