/* SPDX-License-Identifier: Apache-2.0 */
/* This process as the kernel tells it in /proc/self: the locked-memory limit and the capabilities.
   */
#include <string.h>

#include "probe.h"

static struct ni_num limit_value(struct ni_span s)
{
    uint64_t v;
    if (ni_span_is(s, "unlimited"))
        return (struct ni_num){NI_UNLIMITED, NI_KNOWN};
    if (ni_parse_u64(s, INT64_MAX, &v) < 0)
        return (struct ni_num){0, NI_BAD};
    return (struct ni_num){(int64_t)v, NI_KNOWN};
}

static void limit(const char *line, const char *name, struct ni_num *soft, struct ni_num *hard)
{
    if (!ni_has_prefix(line, name))
        return;
    const char *p = line + strlen(name);
    struct ni_num *const out[] = {soft, hard};
    for (unsigned i = 0; i < NI_COUNT(out); i++) {
        p += strspn(p, " ");
        size_t n = strcspn(p, " ");
        *out[i] = limit_value((struct ni_span){p, n});
        p += n;
    }
}

/* "Max locked memory         8388608              8388608              bytes" (fs/proc/base.c
   proc_pid_limits). */
static void limit_line(void *ctx, const char *line)
{
    struct ni_self *self = ctx;
    limit(line, "Max locked memory", &self->memlock_soft, &self->memlock_hard);
    limit(line, "Max open files", &self->nofile_soft, &self->nofile_hard);
}

/* The word of that index, from 0, behind the name; -1: the last. */
static struct ni_num status_number(const char *line, const char *name, int index)
{
    const char *p = line + strlen(name);
    struct ni_num ret = {0, NI_BAD};
    for (int i = 0; index < 0 || i <= index; i++) {
        uint64_t v;
        p += strspn(p, "\t ");
        size_t n = strcspn(p, "\t ");
        if (n == 0)
            break;
        if ((index < 0 || i == index) && ni_parse_u64((struct ni_span){p, n}, INT64_MAX, &v) == 0)
            ret = (struct ni_num){(int64_t)v, NI_KNOWN};
        p += n;
    }
    return ret;
}

enum { ALL_CAPS = 4 }; /* without CapAmb, which came with Linux 4.3 */

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
    const struct {
        const char *name;
        int index;
        struct ni_num *num;
    } nums[] = {
        {"Uid:", 0, &self->real_uid},    {"Uid:", 1, &self->uid},
        {"Pid:", 0, &self->pid},         {"NSpid:", -1, &self->pid},
        {"Seccomp:", 0, &self->seccomp}, {"NoNewPrivs:", 0, &self->no_new_privs},
    };
    for (unsigned i = 0; i < NI_COUNT(nums); i++) {
        if (ni_has_prefix(line, nums[i].name))
            *nums[i].num = status_number(line, nums[i].name, nums[i].index);
    }
    for (unsigned i = 0; i < NI_COUNT(caps); i++) {
        if (ni_has_prefix(line, caps[i].name) &&
            ni_parse_hex(ni_trim(ni_span_of(line + strlen(caps[i].name))), UINT64_MAX,
                         caps[i].set) == 0)
            status->caps++;
    }
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
    map->odd = map->odd || status_number(line, "", 2).known != NI_KNOWN;
    map->whole = status_number(line, "", 0).v == 0 && status_number(line, "", 1).v == 0 &&
                 status_number(line, "", 2).v == UINT32_MAX;
    map->lines++;
}

/* The initial namespace has a number of its own (include/linux/proc_ns.h PROC_USER_INIT_INO): what
   has another one is not it, even if it maps each id to itself. */
static bool is_numbered_otherwise(struct ni_probe *p)
{
    static const char path[] = "proc/self/ns/user";
    char link[64];
    ssize_t n = ni_readlink(p->root, link, sizeof(link), "%s", path);
    if (n < 0)
        ni_note_unreadable(p, path, (int)n);
    bool good = n > 0 && ni_has_prefix(link, "user:[") && link[n - 1] == ']' &&
                link[strlen(link) - 1] == ']';
    if (n >= 0 && !good)
        ni_note_odd(p, path, link);
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
    int err = ni_lines(p->root, uid_map_line, &map, "proc/self/uid_map");
    if (err < 0)
        ni_note_unreadable(p, "proc/self/uid_map", err);
    else if (map.lines == 0 || map.odd)
        ni_note_odd(p, "proc/self/uid_map", "");
    else
        self->user_namespace = map.lines == 1 && map.whole && !is_numbered_otherwise(p)
                                   ? NI_USERNS_INITIAL
                                   : NI_USERNS_OWN;
}

void ni_probe_self(struct ni_probe *p)
{
    struct ni_self *self = &p->inv->self;
    int err = ni_lines(p->root, limit_line, self, "proc/self/limits");
    if (err < 0)
        self->memlock_soft.known = self->memlock_hard.known =
            ni_known_of(ni_note_missing(p, "proc/self/limits", err));
    else if (self->memlock_soft.known != NI_KNOWN || self->memlock_hard.known != NI_KNOWN)
        ni_report(p->f, NI_F_FACT_UNREADABLE, "proc/self/limits",
                  "it tells no limit of locked memory");
    struct status status = {.self = self};
    err = ni_lines(p->root, status_line, &status, "proc/self/status");
    if (err < 0)
        self->caps_known = ni_known_of(ni_note_missing(p, "proc/self/status", err));
    else if (status.caps >= ALL_CAPS)
        self->caps_known = NI_KNOWN;
    else
        ni_report(p->f, NI_F_FACT_UNREADABLE, "proc/self/status", "it tells no capabilities");
    probe_user_namespace(p);
}
