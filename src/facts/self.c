/* SPDX-License-Identifier: Apache-2.0 */
/* This process as the kernel tells it in /proc/self: limits, capabilities, user namespace; and the
   kernel's version. */
#include <string.h>

#include "probe.h"

/* The word of that index, from 0; -1: the last. */
static struct ni_num number_at(const char *line, int index)
{
    struct ni_num ret = {0, NI_BAD};
    struct ni_span word;
    uint64_t v;
    for (int i = 0; (index < 0 || i <= index) && ni_word(&line, &word); i++) {
        if (index >= 0 && i < index)
            continue;
        if (ni_span_is(word, "unlimited"))
            ret = (struct ni_num){NI_UNLIMITED, NI_KNOWN};
        else if (ni_parse_u64(word, INT64_MAX, &v) == 0)
            ret = (struct ni_num){(int64_t)v, NI_KNOWN};
    }
    return ret;
}

/* A number that a line tells behind a name. */
struct number {
    const char *name;
    int index; /* as number_at counts */
    struct ni_num *num;
};

static void take_numbers(const char *line, const struct number *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (ni_has_prefix(line, numbers[i].name))
            *numbers[i].num = number_at(line + strlen(numbers[i].name), numbers[i].index);
    }
}

/* ---- limits ---- */

/* "Max locked memory         8388608              8388608              bytes" (fs/proc/base.c
   proc_pid_limits). */
static void limit_line(void *ctx, const char *line)
{
    struct ni_self *self = ctx;
    const struct number numbers[] = {
        {"Max locked memory", 0, &self->memlock_soft},
        {"Max locked memory", 1, &self->memlock_hard},
        {"Max open files", 0, &self->nofile_soft},
        {"Max open files", 1, &self->nofile_hard},
    };
    take_numbers(line, numbers, NI_COUNT(numbers));
}

static void probe_limits(struct ni_probe *p)
{
    struct ni_self *self = &p->inv->self;
    const enum ni_known known = ni_read_lines(p, NI_REQUIRED, limit_line, self, "proc/self/limits");
    if (known != NI_KNOWN)
        self->memlock_soft.known = self->memlock_hard.known = known;
    else if (self->memlock_soft.known != NI_KNOWN || self->memlock_hard.known != NI_KNOWN)
        ni_report(p->f, NI_F_FACT_UNREADABLE, p->path, "it tells no limit of locked memory");
}

/* ---- capabilities and user namespace ---- */

struct status {
    struct ni_self *self;
    unsigned caps; /* sets of capabilities that were met */
};

/* "CapEff:\t00000000a80425fb" (fs/proc/array.c task_cap), "Uid:\t" real, effective, saved, of the
   file system, "NSpid:\t" from the namespace of this /proc to the process's own. */
static void status_line(void *ctx, const char *line)
{
    struct status *status = ctx;
    struct ni_self *self = status->self;
    const struct {
        const char *name;
        uint64_t *set;
    } caps[] = {
        {"CapInh:", &self->cap_inh}, {"CapPrm:", &self->cap_prm}, {"CapEff:", &self->cap_eff},
        {"CapBnd:", &self->cap_bnd}, {"CapAmb:", &self->cap_amb},
    };
    const struct number numbers[] = {
        {"Uid:", 0, &self->real_uid},    {"Uid:", 1, &self->uid},
        {"Pid:", 0, &self->pid},         {"NSpid:", -1, &self->pid},
        {"Seccomp:", 0, &self->seccomp}, {"NoNewPrivs:", 0, &self->no_new_privs},
    };
    take_numbers(line, numbers, NI_COUNT(numbers));
    for (unsigned i = 0; i < NI_COUNT(caps); i++) {
        if (ni_has_prefix(line, caps[i].name) &&
            ni_parse_hex(ni_trim(ni_span_of(line + strlen(caps[i].name))), UINT64_MAX,
                         caps[i].set) == 0)
            status->caps++;
    }
}

static void probe_status(struct ni_probe *p)
{
    enum { ALL_CAPS = 4 }; /* without CapAmb, which came with Linux 4.3 */
    struct status status = {.self = &p->inv->self};
    const enum ni_known known =
        ni_read_lines(p, NI_REQUIRED, status_line, &status, "proc/self/status");
    if (known != NI_KNOWN || status.caps >= ALL_CAPS)
        p->inv->self.caps_known = known;
    else
        ni_report(p->f, NI_F_FACT_UNREADABLE, p->path, "it tells no capabilities");
}

struct uid_map {
    unsigned lines;
    bool odd;   /* a line that is none of the kernel's */
    bool whole; /* the one line that maps each id to itself */
};

/* "         0          0 4294967295" in the initial namespace (kernel/user_namespace.c uid_m_show).
   */
static void uid_map_line(void *ctx, const char *line)
{
    struct uid_map *map = ctx;
    map->odd = map->odd || number_at(line, 2).known != NI_KNOWN;
    map->whole = number_at(line, 0).v == 0 && number_at(line, 1).v == 0 &&
                 number_at(line, 2).v == UINT32_MAX;
    map->lines++;
}

/* The initial namespace has a number of its own (include/linux/proc_ns.h PROC_USER_INIT_INO): what
   has another one is not it, even if it maps each id to itself. */
static bool is_numbered_otherwise(struct ni_probe *p)
{
    char link[64];
    if (ni_read_link(p, NI_OPTIONAL, link, sizeof(link), "proc/self/ns/user") != NI_KNOWN)
        return false;
    const bool good = ni_has_prefix(link, "user:[") && link[strlen(link) - 1] == ']';
    if (!good)
        ni_note_odd(p, link);
    return good && strcmp(link, "user:[4026531837]") != 0;
}

/* Only who is short of locked memory need know why. */
static void probe_user_namespace(struct ni_probe *p)
{
    struct ni_self *self = &p->inv->self;
    struct uid_map map = {.lines = 0};
    if (!p->ask->health &&
        (self->memlock_soft.known != NI_KNOWN || self->memlock_soft.v == NI_UNLIMITED))
        return;
    if (ni_read_lines(p, NI_OPTIONAL, uid_map_line, &map, "proc/self/uid_map") != NI_KNOWN)
        return;
    if (map.lines == 0 || map.odd)
        ni_note_odd(p, "");
    else
        self->user_namespace = map.lines == 1 && map.whole && !is_numbered_otherwise(p)
                                   ? NI_USERNS_INITIAL
                                   : NI_USERNS_OWN;
}

void ni_probe_self(struct ni_probe *p)
{
    probe_limits(p);
    probe_status(p);
    probe_user_namespace(p);
}

/* "5.14.0-570.el9.x86_64" */
void ni_probe_kernel(struct ni_probe *p)
{
    struct ni_self *self = &p->inv->self;
    char buf[128];
    uint64_t major, minor;
    if (ni_read_file(p, p->root, NI_OPTIONAL, buf, sizeof(buf), "proc/sys/kernel/osrelease") !=
        NI_KNOWN)
        return;
    struct ni_text t = ni_text_on(self->kernel, sizeof(self->kernel));
    ni_put_quoted(&t, buf, strlen(buf), sizeof(self->kernel) / 2);
    size_t a = strspn(buf, "0123456789");
    size_t b = buf[a] == '.' ? strspn(buf + a + 1, "0123456789") : 0;
    if (ni_parse_u64((struct ni_span){buf, a}, 999, &major) < 0 ||
        ni_parse_u64((struct ni_span){buf + a + 1, b}, 9999, &minor) < 0) {
        ni_note_odd(p, buf);
        return;
    }
    self->kernel_major = (unsigned)major;
    self->kernel_minor = (unsigned)minor;
}
