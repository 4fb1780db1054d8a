/* SPDX-License-Identifier: Apache-2.0 */
/* The nccl.conf files that NCCL would read, in its order and by its syntax (NCCL 2.30.7
   misc/param.cc initEnvFunc, setEnvFile): NCCL_CONF_FILE, or else $HOME/.nccl.conf; then
   /etc/nccl.conf. The first definition wins. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "probe.h"

struct conf_ctx {
    struct ni_probe *p;
    const char *file;
};

static bool known_already(const struct ni_inventory *inv, struct ni_span name)
{
    for (unsigned i = 0; i < inv->n_conf; i++) {
        if (ni_span_is(name, inv->conf[i].name))
            return true;
    }
    return false;
}

static void conf_line(void *ctx, const char *line)
{
    struct conf_ctx *c = ctx;
    struct ni_inventory *inv = c->p->inv;
    struct ni_span name;
    const char *value;
    size_t n = strlen(line);
    if (n > 0 && line[n - 1] == '\r')
        n--;
    if (line[0] == '#' || !ni_env_split(line, &name, &value) || known_already(inv, name))
        return;
    if (!ni_is_name(name, NI_DEV_NAME) || !ni_has_prefix(name.p, "NCCL_"))
        return; /* for others the file is read too late */
    if (inv->n_conf == NI_MAX_CONF) {
        ni_report(c->p->f, NI_F_FACT_TRUNCATED, c->file, "more than %d settings", NI_MAX_CONF);
        return;
    }
    struct ni_conf_entry *e = &inv->conf[inv->n_conf++];
    size_t len = (size_t)(line + n - value);
    ni_copyn(e->name, sizeof(e->name), name.p, name.n);
    ni_copyn(e->value, sizeof(e->value), value,
             len < sizeof(e->value) ? len : sizeof(e->value) - 1);
    ni_copy(e->file, sizeof(e->file), c->file);
}

/* A path as a program would open it, below the root: absolute, or from the working directory.
   false: too long. */
static bool below_root(const char *path, char buf[NI_PATH])
{
    struct ni_text t = ni_text_on(buf, NI_PATH);
    if (path[0] != '/')
        ni_put(&t, "proc/self/cwd/");
    ni_put(&t, path + strspn(path, "/"));
    return !t.cut;
}

enum ni_known ni_probe_readable(struct ni_probe *p, const char *path)
{
    char below[NI_PATH], first[16];
    if (!below_root(path, below))
        return NI_BAD;
    ssize_t n = ni_read(p->root, first, sizeof(first), "%s", below);
    return n >= 0 || n == -EOVERFLOW || n == -EILSEQ ? NI_KNOWN : ni_known_of((int)n);
}

static void read_conf(struct ni_probe *p, const char *path)
{
    if (p->ask->own_conf && strcmp(p->ask->own_conf, path) == 0)
        return;
    char file[sizeof(((struct ni_conf_entry *)0)->file)], below[NI_PATH];
    struct ni_text shown = ni_text_on(file, sizeof(file));
    ni_put_quoted(&shown, path, strlen(path), sizeof(file) - 8);
    if (!below_root(path, below)) {
        ni_report(p->f, NI_F_CONF_UNREADABLE, file, "path too long");
        return;
    }
    struct conf_ctx c = {.p = p, .file = file};
    int err = ni_lines(p->root, conf_line, &c, "%s", below);
    if (err < 0 && ni_known_of(err) != NI_ABSENT)
        ni_report(p->f, NI_F_CONF_UNREADABLE, file, "%s", ni_err_text(err));
}

void ni_probe_conf(struct ni_probe *p)
{
    const char *named = ni_env_get(p->env, "NCCL_CONF_FILE");
    const char *home = ni_env_get(p->env, "HOME");
    if (named && *named) {
        read_conf(p, named);
    } else if (home && *home) {
        char path[NI_PATH];
        snprintf(path, sizeof(path), "%s/.nccl.conf", home);
        if (strlen(home) + sizeof("/.nccl.conf") <= sizeof(path))
            read_conf(p, path);
    }
    read_conf(p, "/etc/nccl.conf");
}

const char *ni_users(const struct ni_probe *p, const char *name)
{
    return ni_find_user_value(p->env, p->inv, name, NULL);
}
