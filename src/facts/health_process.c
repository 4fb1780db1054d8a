/* SPDX-License-Identifier: Apache-2.0 */
/* The container around the process: shared memory, the mount that this program lies on, PID 1. */
#include <errno.h>
#include <string.h>

#include "probe.h"

struct mount {
    struct ni_span point, options, type, super;
};

/* "25 24 0:23 / /dev/shm rw,nosuid shared:1 - tmpfs shm rw,size=65536k"
   (Documentation/filesystems/proc.rst): optional fields end at the hyphen. */
static bool parse_mount(const char *line, struct mount *ret)
{
    struct ni_span word;
    unsigned n = 0, behind = 0;
    memset(ret, 0, sizeof(*ret));
    while (ni_split(&line, ' ', &word)) {
        if (behind > 0) {
            *(behind == 1 ? &ret->type : &ret->super) =
                word; /* the source, between them, is overwritten */
            behind++;
        } else if (n > 5 && ni_span_is(word, "-")) {
            behind = 1;
        } else if (n == 4) {
            ret->point = word;
        } else if (n == 5) {
            ret->options = word;
        }
        n++;
    }
    return behind == 4;
}

static bool has_option(struct ni_span list, const char *name, struct ni_span *ret_value)
{
    size_t n = strlen(name);
    const char *end = list.p + list.n;
    for (const char *p = list.p; p < end;) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        size_t len = (size_t)((comma ? comma : end) - p);
        if (len >= n && memcmp(p, name, n) == 0 && (len == n || name[n - 1] == '=')) {
            *ret_value = (struct ni_span){p + n, len - n};
            return true;
        }
        p += len + 1;
    }
    return false;
}

/* tmpfs prints kilobytes, and nothing for its default of half the memory (mm/shmem.c
   shmem_show_options). */
static struct ni_num shm_size(const struct mount *m)
{
    struct ni_span size;
    uint64_t kib;
    if (!ni_span_is(m->type, "tmpfs") || !has_option(m->super, "size=", &size))
        return (struct ni_num){NI_UNLIMITED, NI_KNOWN};
    if (size.n < 2 || size.p[size.n - 1] != 'k' ||
        ni_parse_u64((struct ni_span){size.p, size.n - 1}, INT64_MAX >> 10, &kib) < 0)
        return (struct ni_num){0, NI_BAD};
    return (struct ni_num){(int64_t)kib << 10, NI_KNOWN};
}

struct mounts {
    struct ni_health *health;
    const char *exe; /* NULL: not known */
    size_t longest;  /* mount point above exe */
};

static bool is_above(struct ni_span point, const char *path)
{
    if (point.n == 1)
        return true;
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
        c->health->shm = shm_size(&m); /* the last one is on top */
    if (c->exe && m.point.n >= c->longest && is_above(m.point, c->exe)) {
        c->longest = m.point.n;
        c->health->nosuid = has_option(m.options, "nosuid", &value) ? NI_KNOWN : NI_ABSENT;
    }
}

static void probe_mounts(struct ni_probe *p)
{
    char exe[NI_PATH];
    ssize_t n = ni_readlink(p->root, exe, sizeof(exe), "proc/self/exe");
    struct mounts c = {.health = &p->inv->health, .exe = n > 0 && exe[0] == '/' ? exe : NULL};
    if (ni_lines(p->root, mount_line, &c, "proc/self/mountinfo") == 0 &&
        c.health->shm.known == NI_UNSET)
        c.health->shm.known = NI_ABSENT;
}

struct hosts {
    struct ni_health *health;
    char name[NI_DEV_NAME + 1]; /* __NEW_UTS_LEN, include/uapi/linux/utsname.h */
};

/* "127.0.1.1  name alias # why" (hosts(5)); of two lines the first counts. */
static void hosts_line(void *ctx, const char *line)
{
    struct hosts *c = ctx;
    static const char blank[] = " \t";
    const char *end = line + strcspn(line, "#");
    struct ni_span ip = {line + strspn(line, blank), 0};
    ip.n = strcspn(ip.p, " \t#");
    for (const char *p = ip.p + ip.n; p < end && c->health->host_known != NI_KNOWN;) {
        p += strspn(p, blank);
        struct ni_span word = {p, strcspn(p, " \t#")};
        if (ni_span_is(word, c->name) &&
            ni_copyn(c->health->host_ip, sizeof(c->health->host_ip), ip.p, ip.n))
            c->health->host_known = NI_KNOWN;
        p += word.n;
    }
}

static void probe_host_name(struct ni_probe *p)
{
    static const char name[] = "proc/sys/kernel/hostname", hosts[] = "etc/hosts";
    struct hosts c = {.health = &p->inv->health};
    ssize_t n = ni_read(p->root, c.name, sizeof(c.name), "%s", name);
    if (n <= 0) {
        ni_note_unreadable(p, name, n < 0 ? (int)n : -EINVAL);
        return;
    }
    c.health->host_known = NI_ABSENT;
    int err = ni_lines(p->root, hosts_line, &c, "%s", hosts);
    if (err < 0)
        c.health->host_known =
            ni_known_of(ni_note_unreadable(p, hosts, err)) == NI_ABSENT ? NI_UNSET : NI_DENIED;
}

void ni_health_process(struct ni_probe *p)
{
    struct ni_health *health = &p->inv->health;
    probe_mounts(p);
    probe_host_name(p);
    if (p->inv->self.pid.known == NI_KNOWN && p->inv->self.pid.v == 1)
        return; /* that is us */
    ssize_t n = ni_read(p->root, health->init, sizeof(health->init), "proc/1/comm");
    health->init_known = n < 0 ? ni_known_of((int)n) : NI_KNOWN;
    if (n < 0)
        health->init[0] = '\0';
}
