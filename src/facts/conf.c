/* SPDX-License-Identifier: Apache-2.0 */
/* The files in which people set variables for NCCL, RCCL and NVSHMEM. NCCL: what NCCL_CONF_FILE
   names, or else .nccl.conf in the user's home; then /etc/nccl.conf. The environment wins, then the
   first definition (NCCL 2.30.7 misc/param.cc initEnvFunc, setEnvFile). RCCL has the same under
   names of its own (2.30.4 misc/param.cc) and reads none of NCCL's. NVSHMEM: all three, from /etc
   on, and the last definition wins, even over the environment (3.6.5 env_defs_internal.h
   nvshmemi_conf_get). */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "probe.h"

struct library {
    const char *name, *named_by, *file, *prefix;
    bool overrides;
};

static const struct library nccl = {"NCCL", "NCCL_CONF_FILE", "nccl.conf", "NCCL_", false},
                            rccl = {"RCCL", "NCCL_CONF_FILE", "rccl.conf", "NCCL_", false},
                            nvshmem = {"NVSHMEM", "NVSHMEM_CONF_FILE", "nvshmem.conf", "NVSHMEM_",
                                       true};

struct conf_ctx {
    struct ni_probe *p;
    const struct library *lib;
    unsigned first; /* entries before this one do not count */
    const char *file;
};

static struct ni_conf_entry *find_entry(struct ni_inventory *inv, unsigned first,
                                        struct ni_span name)
{
    for (unsigned i = first; i < inv->n_conf; i++) {
        if (ni_span_is(name, inv->conf[i].name))
            return &inv->conf[i];
    }
    return NULL;
}

/* NVSHMEM's: cut at a '#' behind a blank, without blanks around it. */
static struct ni_span without_comment(struct ni_span s)
{
    for (size_t i = 1; i < s.n; i++) {
        if (s.p[i] == '#' && (s.p[i - 1] == ' ' || s.p[i - 1] == '\t'))
            s.n = i;
    }
    return ni_trim(s);
}

static void conf_line(void *ctx, const char *line)
{
    struct conf_ctx *c = ctx;
    struct ni_inventory *inv = c->p->inv;
    struct ni_span name;
    const char *rest;
    if (c->lib->overrides)
        line += strspn(line, " \t");
    if (line[0] == '#' || !ni_env_split(line, &name, &rest))
        return;
    struct ni_span value = ni_span_of(rest);
    if (value.n > 0 && rest[value.n - 1] == '\r')
        value.n--;
    if (c->lib->overrides) {
        name = ni_trim(name);
        value = without_comment(value);
    }
    if (!ni_is_name(name, NI_DEV_NAME) || !ni_has_prefix(name.p, c->lib->prefix))
        return; /* for others the file is read too late */
    struct ni_conf_entry *e = find_entry(inv, c->first, name);
    if (e && !c->lib->overrides)
        return;
    if (!e && inv->n_conf == NI_MAX_CONF) {
        ni_report(c->p->f, NI_F_FACT_TRUNCATED, c->file, "more than %d settings", NI_MAX_CONF);
        return;
    }
    if (!e)
        e = &inv->conf[inv->n_conf++];
    e->overrides = c->lib->overrides;
    ni_copyn(e->name, sizeof(e->name), name.p, name.n);
    ni_copyn(e->value, sizeof(e->value), value.p,
             value.n < sizeof(e->value) ? value.n : sizeof(e->value) - 1);
    ni_copy(e->file, sizeof(e->file), c->file);
}

struct ni_dir ni_named_dir(const struct ni_probe *p, const char *path)
{
    struct ni_dir dir = path[0] == '/' ? *p->root : ni_dir_at(p->root, "proc/self/cwd");
    dir.named = true;
    return dir;
}

enum ni_known ni_probe_readable(struct ni_probe *p, const char *path)
{
    char first[16];
    const struct ni_dir dir = ni_named_dir(p, path);
    ssize_t n = ni_read(&dir, first, sizeof(first), "%s", path + strspn(path, "/"));
    return n == -EOVERFLOW || n == -EILSEQ ? NI_KNOWN : ni_known_of(n);
}

/* As findings show it: a path of people's choosing. */
typedef char shown_path[sizeof(((struct ni_conf_entry *)0)->file)];

static const char *show(const char *path, shown_path buf)
{
    struct ni_text t = ni_text_on(buf, sizeof(shown_path));
    ni_put_quoted(&t, path, strlen(path), sizeof(shown_path) - 8);
    return buf;
}

static void read_conf(struct ni_probe *p, const struct library *lib, const char *path,
                      unsigned first)
{
    shown_path file;
    struct conf_ctx c = {.p = p, .lib = lib, .first = first, .file = show(path, file)};
    const struct ni_dir dir = ni_named_dir(p, path);
    const char *below = path + strspn(path, "/");
    if (p->ask->own_conf && ni_is_at(&dir, p->ask->own_conf, "%s", below))
        return;
    int err = ni_lines(&dir, conf_line, &c, "%s", below);
    if (err < 0 && ni_known_of(err) != NI_ABSENT)
        ni_report(p->f, NI_F_CONF_UNREADABLE, file, "%s", ni_errno_text(err));
}

/* ---- the user's home ---- */

struct user {
    uint64_t uid;
    char home[NI_PATH]; /* "": none */
};

/* "name:password:uid:gid:words:home:shell" */
static void passwd_line(void *ctx, const char *line)
{
    struct user *user = ctx;
    struct ni_span field[7];
    unsigned n = 0;
    uint64_t uid;
    while (n < NI_COUNT(field) && ni_split(&line, ':', &field[n]))
        n++;
    if (!user->home[0] && n == NI_COUNT(field) && ni_parse_u64(field[2], UINT32_MAX, &uid) == 0 &&
        uid == user->uid)
        (void)ni_copyn(user->home, sizeof(user->home), field[5].p, field[5].n);
}

/* getpwuid(getuid()), as far as it is a file: "" also for users of LDAP and the like; NULL: not
   known. A record gets the one line that counts, without names. */
static const char *home_of_user(struct ni_probe *p, struct user *user)
{
    static const char path[] = "etc/passwd";
    const struct ni_num *uid = &p->inv->self.real_uid;
    struct ni_dir root = *p->root;
    char line[NI_PATH + 64];
    root.unrecorded = true;
    *user = (struct user){.uid = (uint64_t)uid->v};
    if (uid->known != NI_KNOWN)
        return NULL;
    ni_copy(p->path, sizeof(p->path), path);
    const enum ni_known known = ni_note(p, NI_OPTIONAL, ni_lines(&root, passwd_line, user, path));
    if (known != NI_KNOWN && known != NI_ABSENT)
        return NULL;
    if (p->root->root->record && user->home[0] &&
        ni_format(line, sizeof(line), "x:x:%" PRIu64 ":0::%s:\n", user->uid, user->home))
        (void)ni_record_add(p->root->root, path, line, strlen(line));
    return user->home;
}

/* false, and path "": none. */
static bool conf_in(const struct library *lib, const char *home, char path[NI_PATH])
{
    const bool whole = home && *home && ni_format(path, NI_PATH, "%s/.%s", home, lib->file);
    if (!whole)
        path[0] = '\0';
    return whole;
}

/* The first of n entries that the m others do not have alike; NULL. */
static const char *missing_in(const struct ni_conf_entry *e, unsigned n,
                              const struct ni_conf_entry *others, unsigned m)
{
    for (unsigned i = 0; i < n; i++) {
        bool same = false;
        for (unsigned k = 0; k < m && !same; k++)
            same =
                strcmp(others[k].name, e[i].name) == 0 && strcmp(others[k].value, e[i].value) == 0;
        if (!same)
            return e[i].name;
    }
    return NULL;
}

/* The user's home is $HOME to NCCL 2.30.3 and later; from 2.18.5 to 2.29.7 it was that of the user
   database (misc/param.cc userHomeDir). Which NCCL will run is not known: both files count. */
static void read_homes(struct ni_probe *p, const struct library *lib)
{
    struct ni_inventory *inv = p->inv;
    char now[NI_PATH], before[NI_PATH];
    shown_path shown_now, shown_before;
    struct user user;
    const unsigned a = inv->n_conf;
    if (conf_in(lib, ni_env_get(p->env, "HOME"), now))
        read_conf(p, lib, now, a);
    const unsigned b = inv->n_conf;
    const char *home = home_of_user(p, &user);
    if (!home || (conf_in(lib, home, before) && strcmp(now, before) == 0))
        return;
    if (before[0])
        read_conf(p, lib, before, b);
    const struct ni_conf_entry *x = inv->conf + a, *y = inv->conf + b;
    const char *odd = missing_in(x, b - a, y, inv->n_conf - b);
    if (!odd)
        odd = missing_in(y, inv->n_conf - b, x, b - a);
    if (odd)
        ni_report(p->f, NI_F_CONF_HOME_DIFFERS, odd,
                  "%s 2.30.3 and later reads %s ($HOME), older ones %s (/etc/passwd), and they do "
                  "not set it alike; nothing is exported for it",
                  lib->name, now[0] ? show(now, shown_now) : "no file",
                  before[0] ? show(before, shown_before) : "no file");
}

/* ---- the libraries ---- */

static void read_library(struct ni_probe *p, const struct library *lib)
{
    const unsigned first = p->inv->n_conf;
    const char *named = ni_env_get(p->env, lib->named_by);
    const bool is_named = named && *named;
    char path[NI_PATH];
    if (!lib->overrides && is_named)
        read_conf(p, lib, named, first);
    else if (!lib->overrides)
        read_homes(p, lib);
    if (ni_format(path, sizeof(path), "/etc/%s", lib->file))
        read_conf(p, lib, path, first);
    if (lib->overrides && conf_in(lib, ni_env_get(p->env, "HOME"), path))
        read_conf(p, lib, path, first);
    if (lib->overrides && is_named)
        read_conf(p, lib, named, first);
}

void ni_probe_conf(struct ni_probe *p)
{
    read_library(p, ni_has_amd(p) ? &rccl : &nccl);
    if (p->ask->nvshmem)
        read_library(p, &nvshmem);
}

const char *ni_users(const struct ni_probe *p, const char *name)
{
    return ni_find_user_value(p->env, p->inv, name, NULL);
}
