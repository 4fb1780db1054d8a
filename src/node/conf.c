/* SPDX-License-Identifier: Apache-2.0 */
/* The files in which people set variables for NCCL, RCCL and NVSHMEM. NCCL: what NCCL_CONF_FILE
   names, or else .nccl.conf in the user's home; then /etc/nccl.conf. The environment wins, then the
   first definition (NCCL 2.30.7 misc/param.cc initEnvFunc, setEnvFile). RCCL has the same under
   names of its own (2.30.4 misc/param.cc) and reads none of NCCL's. NVSHMEM: all three, from /etc
   on, and the last definition wins, even over the environment (3.6.5 env_defs_internal.h
   nvshmemi_conf_get). */
#include "node/conf.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "findings/device.h"
#include "findings/setting.h"
#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/errno.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/text.h"
#include "node/gpu.h"
#include "node/read.h"
#include "sysroot/files.h"
#include "sysroot/record.h"
#include "sysroot/root.h"

struct library {
    const char *name, *named_by, *file, *prefix;
    bool overrides; /* its files win over the environment, and their last definition counts */
};

static const struct library nccl = {"NCCL", "NCCL_CONF_FILE", "nccl.conf", "NCCL_", false},
                            rccl = {"RCCL", "NCCL_CONF_FILE", "rccl.conf", "NCCL_", false},
                            nvshmem = {"NVSHMEM", "NVSHMEM_CONF_FILE", "nvshmem.conf", "NVSHMEM_",
                                       true};

struct conf_ctx {
    struct ni_probe *p;
    const struct library *lib;
    unsigned first;                                       /* entries before this one do not count */
    char file[sizeof(((struct ni_conf_entry *)0)->file)]; /* as findings show it */
    bool crlf;                                            /* a variable's line ends in CR LF */
};

/* Returns a value as NVSHMEM reads it: up to a '#' after a blank, without blanks around it. */
static struct ni_span without_comment(struct ni_span s)
{
    for (size_t i = 1; i < s.n; i++) {
        if (s.p[i] == '#' && (s.p[i - 1] == ' ' || s.p[i - 1] == '\t'))
            s.n = i;
    }
    return ni_trim(s);
}

/* Keeps a setting. Of one name the first counts; of a library that lets its files override the
   environment, the last. */
static void keep_conf(struct conf_ctx *c, struct ni_span name, struct ni_span value)
{
    struct ni_inventory *inv = c->p->inv;
    unsigned at = c->first;

    while (at < inv->n_conf && !ni_span_is(name, inv->conf[at].name))
        at++;
    if (at < inv->n_conf && !c->lib->overrides)
        return;
    if (at == NI_MAX_CONF) {
        ni_report(c->p->f, NI_F_FACT_TRUNCATED, c->file, "more than %d settings", NI_MAX_CONF);
        return;
    }
    inv->n_conf += at == inv->n_conf;
    struct ni_conf_entry *e = &inv->conf[at];
    e->overrides = c->lib->overrides;
    ni_copyn(e->name, sizeof(e->name), name.p, name.n);
    ni_copyn(e->value, sizeof(e->value), value.p,
             value.n < sizeof(e->value) ? value.n : sizeof(e->value) - 1);
    ni_copy(e->file, sizeof(e->file), c->file);
}

struct ni_span ni_conf_meant(struct ni_span name, const char *begin, bool *ret_export)
{
    static const char export[] = "export ";
    struct ni_span meant = ni_trim(name);

    *ret_export = meant.n >= sizeof(export) && memcmp(meant.p, export, sizeof(export) - 1) == 0;
    if (*ret_export) {
        meant.p += sizeof(export) - 1;
        meant.n -= sizeof(export) - 1;
        meant = ni_trim(meant);
    }
    if (meant.n == name.n || !ni_is_name(meant, NI_DEV_NAME) || !ni_has_prefix(meant.p, begin))
        return (struct ni_span){"", 0};
    return meant;
}

/* Says where the user corrects such a line. found: NULL: it was only counted. */
static void tell_where(struct ni_finding *found)
{
    if (found)
        found->user = "correct the line in that file; until then it has no effect.";
}

/* Reports a name that has more in it than people see. */
static void check_name(const struct conf_ctx *c, struct ni_span name)
{
    bool export;
    const struct ni_span meant = ni_conf_meant(name, c->lib->prefix, &export);
    char text[NI_DEV_NAME];

    if (meant.n > 0 && ni_copyn(text, sizeof(text), meant.p, meant.n))
        tell_where(ni_report(
            c->p->f, NI_F_USER_NAME_MISSPELT, text,
            "in %s there is %s the name; %s takes it as part of the name, and reads "
            "no such variable",
            c->file, export ? "`export` before" : "a blank before or behind", c->lib->name));
}

bool ni_parse_conf(struct ni_span line, bool by_nvshmem, struct ni_conf_line *ret)
{
    while (by_nvshmem && line.n > 0 && (*line.p == ' ' || *line.p == '\t'))
        line = (struct ni_span){line.p + 1, line.n - 1};
    const char *equals = memchr(line.p, '=', line.n);
    if (!equals || equals == line.p || *line.p == '#')
        return false;
    ret->name = (struct ni_span){line.p, (size_t)(equals - line.p)};
    ret->value = (struct ni_span){equals + 1, line.n - ret->name.n - 1};
    ret->crlf = ret->value.n > 0 && ret->value.p[ret->value.n - 1] == '\r';
    ret->value.n -= ret->crlf;
    if (by_nvshmem) {
        ret->name = ni_trim(ret->name);
        ret->value = without_comment(ret->value);
    }
    return true;
}

/* Reports a line that begins with a variable's name and has no `=`: the library skips it. */
static void check_skipped(const struct conf_ctx *c, const char *line)
{
    const struct ni_span name = {line, strcspn(line, " \t:\r")};
    char text[NI_DEV_NAME];

    if (!ni_is_name(name, NI_DEV_NAME) || !ni_begins(name, c->lib->prefix) || strchr(line, '=') ||
        !ni_copyn(text, sizeof(text), name.p, name.n))
        return;
    tell_where(ni_report(c->p->f, NI_F_USER_NAME_MISSPELT, text,
                         "in %s there is no `=` behind the name; %s skips the line", c->file,
                         c->lib->name));
}

/* Takes a line of a configuration file. */
static void conf_line(struct conf_ctx *c, const char *line)
{
    const bool by_nvshmem = c->lib->overrides;
    struct ni_conf_line set;

    if (!ni_parse_conf(ni_span_of(line), by_nvshmem, &set)) {
        if (!by_nvshmem)
            check_skipped(c, line);
        return;
    }
    if (!by_nvshmem)
        check_name(c, set.name);
    if (!ni_is_name(set.name, NI_DEV_NAME) || !ni_begins(set.name, c->lib->prefix))
        return; /* the library reads this file too late for other variables */
    if (set.crlf && !by_nvshmem)
        c->crlf = true;
    keep_conf(c, set.name, set.value);
}

/* Returns where the user's path begins, the root or the working directory, and takes the slashes
   off its front. as: the usual name of such a file. */
static struct ni_dir named_dir(const struct ni_probe *p, const char **path, const char *as)
{
    struct ni_dir dir = **path == '/' ? *p->root : ni_dir_at(p->root, "proc/self/cwd");

    *path += strspn(*path, "/");
    dir.named = true;
    dir.as = as;
    return dir;
}

void ni_probe_topo_file(struct ni_probe *p)
{
    const char *path = ni_find_user_value(p->env, p->inv, "NCCL_TOPO_FILE", NULL);
    char first[16];

    /* NCCL loads this one by itself, on the cloud machines that have it (2.30.7 graph/topo.cc
       ncclTopoGetSystem) */
    if (!path && p->inv->n_hca > 0)
        p->inv->system_topo_file =
            ni_is_there(p, "var/run/nvidia-topologyd/virtualTopology.xml") == NI_KNOWN;
    if (!path || !*path)
        return;
    const struct ni_dir dir = named_dir(p, &path, "etc/topology.xml");
    const ssize_t n = ni_read(&dir, first, sizeof(first), "%s", path);
    p->inv->topo_file = n == -EOVERFLOW || n == -EILSEQ ? NI_KNOWN : ni_known_of(n);
}

/* Reads one configuration file of a library. */
static void read_conf(struct ni_probe *p, const struct library *lib, const char *path,
                      unsigned first)
{
    enum { ELLIPSIS = 8 }; /* bytes for the "..." of a path that is cut */
    struct conf_ctx c = {.p = p, .lib = lib, .first = first};
    struct ni_text shown = ni_text_on(c.file, sizeof(c.file));
    char usual[32];

    ni_put_quoted(&shown, path, strlen(path), sizeof(c.file) - ELLIPSIS);
    (void)ni_format(usual, sizeof(usual), "etc/%s", lib->file);
    const struct ni_dir dir = named_dir(p, &path, usual);
    if (p->ask->own_conf && ni_is_at(&dir, p->ask->own_conf, "%s", path))
        return;
    const ssize_t n = ni_read_whole(p, &dir, path);
    if (n < 0) {
        if (ni_known_of(n) != NI_ABSENT)
            ni_report(p->f, NI_F_CONF_UNREADABLE, c.file, "%s", NI_ERRNO((int)n));
        return;
    }
    for (char *rest = p->text, *line; ni_line(&rest, &line);)
        conf_line(&c, line);
    /* 2.30.3 strips the CR (misc/param.cc setEnvFile). A CR behind a number does no harm. */
    if (c.crlf)
        ni_report(p->f, NI_F_CONF_CRLF, c.file,
                  "lines end in CR LF, and %s before 2.30.3 keeps the CR in each value: no "
                  "interface or HCA has such a name, and the job dies or runs without RDMA",
                  lib->name);
}

/* ---- the user's home ---- */

static const char passwd[] = "etc/passwd";

/* Adds the user's line to a recording, without names. */
static void record_home(const struct ni_probe *p, int64_t uid, const char *home)
{
    char line[NI_PATH + 64];

    if (ni_format(line, sizeof(line), "x:x:%" PRId64 ":0::%s:\n", uid, home))
        (void)ni_record_add(p->root->root, passwd, line, strlen(line));
}

/* Finds the user's home, as getpwuid(getuid()) does from a file. "": the file has no such
   user, as with LDAP; NULL: not known. A recording gets the one line that counts. */
static const char *home_of_user(struct ni_probe *p, char home[NI_PATH])
{
    const struct ni_num *uid = &p->inv->self.real_uid;
    struct ni_dir root = *p->root;

    root.unrecorded = true;
    home[0] = '\0';
    if (uid->known != NI_KNOWN)
        return NULL;
    const enum ni_known known = ni_note(p, NI_OPTIONAL, ni_read_whole(p, &root, passwd));
    if (known != NI_KNOWN && known != NI_ABSENT)
        return NULL;
    for (char *rest = p->text, *line; !home[0] && ni_line(&rest, &line);) {
        struct ni_passwd_line user;

        if (ni_parse_passwd(line, &user) && user.uid == uid->v)
            (void)ni_copyn(home, NI_PATH, user.home.p, user.home.n);
    }
    if (home[0])
        record_home(p, uid->v, home);
    return home;
}

/* Makes the path of the library's file in that home. false, and path "": there is no home. */
static bool conf_in(const struct library *lib, const char *home, char path[NI_PATH])
{
    size_t n = home ? strlen(home) : 0;

    while (n > 1 && home[n - 1] == '/')
        n--;
    const bool whole = n > 0 && ni_format(path, NI_PATH, "%.*s/.%s", (int)n, home, lib->file);
    if (!whole)
        path[0] = '\0';
    return whole;
}

/* Reads the file in a home. If a folder above it is closed to this process, it is so to the
   library, too, which then reads no file: HOME=/root in a pod of another user is harmless. */
static void read_conf_in_home(struct ni_probe *p, const struct library *lib, const char *path,
                              unsigned first)
{
    const char *below = path;
    struct ni_dir dir = named_dir(p, &below, NULL);

    dir.unrecorded = true;
    if (ni_look_up(&dir, "%s", below) != -EACCES)
        read_conf(p, lib, path, first);
}

/* e: the settings of two files, one file's after the other's. Returns the name of the first setting
   that only one file has, or has with another value; NULL: the files say the same. */
static const char *find_difference(const struct ni_conf_entry *e, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        unsigned alike = 0;

        for (unsigned k = 0; k < n; k++)
            alike += strcmp(e[k].name, e[i].name) == 0 && strcmp(e[k].value, e[i].value) == 0;
        if (alike == 1)
            return e[i].name;
    }
    return NULL;
}

/* Reads the files in the user's home. That is $HOME to NCCL 2.30.3 and later; from 2.18.5 to 2.29.7
   it was the home of the user database (misc/param.cc userHomeDir). Which NCCL will run is not
   known, so both files count. */
static void read_homes(struct ni_probe *p, const struct library *lib)
{
    struct ni_inventory *inv = p->inv;
    char newer[NI_PATH], older[NI_PATH], buf[NI_PATH]; /* the file that such an NCCL reads */
    const unsigned first = inv->n_conf;

    if (conf_in(lib, ni_env_get(p->env, "HOME"), newer))
        read_conf_in_home(p, lib, newer, first);
    const char *home = home_of_user(p, buf);
    if (!home)
        return;
    const bool has_older = conf_in(lib, home, older);
    if (strcmp(newer, older) == 0)
        return;
    if (has_older)
        read_conf_in_home(p, lib, older, inv->n_conf);
    const char *odd = find_difference(inv->conf + first, inv->n_conf - first);
    if (!odd)
        return;
    const char *by_newer = newer[0] ? newer : "no file";
    const char *by_older = older[0] ? older : "no file";
    ni_report(p->f, NI_F_CONF_HOME_DIFFERS, odd,
              "%s 2.30.3 and later reads %s ($HOME), older versions read %s (/etc/passwd); "
              "nccl-init sets nothing that one of them sets",
              lib->name, by_newer, by_older);
}

/* ---- the libraries ---- */

/* Reads the file that NCCL_CONF_FILE names instead of the one in the user's home: NCCL does so
   since 2.23.4 (misc/param.cc initEnvFunc; 2.22.3 initEnv does not read the variable). */
static void read_named(struct ni_probe *p, const struct library *lib, const char *path)
{
    const struct ni_inventory *inv = p->inv;
    const unsigned first = inv->n_conf;

    read_conf(p, lib, path, first);
    if (inv->n_conf == first)
        return;
    const unsigned others = inv->n_conf - first - 1;
    char more[32] = "";
    if (others > 0)
        (void)ni_format(more, sizeof(more), " and %u more", others);
    ni_report(p->f, NI_F_CONF_FILE_OLD, lib->named_by,
              "%s before 2.23.4 does not read %s: it runs without %s%s, which nccl-init leaves "
              "alone because of that file",
              lib->name, inv->conf[first].file, inv->conf[first].name, more);
}

static void read_library(struct ni_probe *p, const struct library *lib)
{
    const unsigned first = p->inv->n_conf;
    const char *named = ni_env_get(p->env, lib->named_by);
    const bool is_named = named && *named;
    char path[NI_PATH];

    if (!lib->overrides && is_named)
        read_named(p, lib, named);
    else if (!lib->overrides)
        read_homes(p, lib);
    if (ni_format(path, sizeof(path), "/etc/%s", lib->file))
        read_conf(p, lib, path, first);
    if (lib->overrides && conf_in(lib, ni_env_get(p->env, "HOME"), path))
        read_conf_in_home(p, lib, path, first);
    if (lib->overrides && is_named)
        read_conf(p, lib, named, first);
}

void ni_probe_conf(struct ni_probe *p)
{
    read_library(p, ni_has_amd(p) ? &rccl : &nccl);
    if (p->ask->nvshmem)
        read_library(p, &nvshmem);
}
