/* SPDX-License-Identifier: Apache-2.0 */
/* The settings as an environment file. Each form writes only what its readers give back byte for
   byte; all settings are checked before the first byte is written. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "json.h"
#include "nccl_init/report.h"
#include "out.h"

/* Kubernetes reads files of at most 64 KiB (KEP-3721). The longest line is NAME='VALUE' and a
   newline. */
static_assert(NI_MAX_SETTING * (NI_VALUE + NI_DEV_NAME + 4) <= 65536, "env file beyond 64 KiB");

static bool is_variable(const char *name)
{
    static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    if (!name[0] || !strchr(first, name[0]))
        return false;
    for (const char *c = name; *c; c++)
        if (!strchr(first, *c) && (*c < '0' || *c > '9'))
            return false;
    return true;
}

/* Bytes of the UTF-8 character at p, 0 when it is none (Unicode 15.0, table 3-7). */
static size_t utf8_len(const unsigned char *p)
{
    unsigned char low = 0x80, high = 0xbf;
    size_t n;
    if (p[0] < 0x80)
        return 1;
    if (p[0] >= 0xc2 && p[0] <= 0xdf)
        n = 2;
    else if (p[0] >= 0xe0 && p[0] <= 0xef)
        n = 3;
    else if (p[0] >= 0xf0 && p[0] <= 0xf4)
        n = 4;
    else
        return 0;
    if (p[0] == 0xe0)
        low = 0xa0; /* shorter forms exist */
    if (p[0] == 0xed)
        high = 0x9f; /* surrogates */
    if (p[0] == 0xf0)
        low = 0x90;
    if (p[0] == 0xf4)
        high = 0x8f; /* beyond U+10FFFF */
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++)
        if (p[i] < 0x80 || p[i] > 0xbf)
            return 0;
    return n;
}

static bool is_utf8(const char *s)
{
    const unsigned char *p = (const unsigned char *)s;
    while (*p) {
        size_t n = utf8_len(p);
        if (n == 0)
            return false;
        p += n;
    }
    return true;
}

/* ---- what each form can carry ---- */

/* Inside single quotes a POSIX shell takes every byte but the quote, which is written '\''. */
static bool sh_carries(const struct ni_setting *s)
{
    (void)s;
    return true;
}

/* kubernetes pkg/kubelet/util/env ParseEnv, 1.35 and later: everything up to the next single quote,
   over line ends too, and no way to write that quote. Go's line scanner drops a CR before a line
   end. The value then goes through a protobuf string, which is UTF-8. */
static bool k8s_carries(const struct ni_setting *s)
{
    return !strchr(s->value, '\'') && !strstr(s->value, "\r\n") && is_utf8(s->value);
}

/* What docker run and podman (the bytes behind '=' up to the line end), kubectl, and Kubernetes
   1.34 (trimmed, in Unicode's sense; a backslash at the end joins lines) all read alike. docker/cli
   pkg/kvfile refuses what is no UTF-8, and some readers take off a pair of quotes. Printable ASCII
   that neither begins nor ends with one of those does. */
static bool docker_carries(const struct ni_setting *s)
{
    size_t n = strlen(s->value);
    for (size_t i = 0; i < n; i++)
        if (s->value[i] < ' ' || s->value[i] > '~')
            return false;
    if (n == 0)
        return true;
    return !strchr(" '\"", s->value[0]) && !strchr(" \\", s->value[n - 1]);
}

/* NCCL 2.30.7 misc/param.cc setEnvFile: value up to 1023 bytes, the line end and a CR before it are
   taken off, nothing else. Older ones keep the CR, so none is written. NCCL puts every name into
   the environment, but only when it starts: too late for other libraries. */
static bool conf_carries(const struct ni_setting *s)
{
    return ni_has_prefix(s->name, "NCCL_") && strlen(s->value) < NI_CONF_VALUE &&
           strlen(s->name) < NI_CONF_VALUE && !strpbrk(s->value, "\r\n");
}

static bool json_carries(const struct ni_setting *s)
{
    return is_utf8(s->value);
}

/* ---- how each form is written ---- */

static void sh_line(struct ni_out *o, const struct ni_setting *s)
{
    const char *rest = s->value;
    struct ni_span piece;
    ni_out_putf(o, "export %s='", s->name);
    while (ni_split(&rest, '\'', &piece)) {
        ni_out_putn(o, piece.p, piece.n);
        if (rest)
            ni_out_put(o, "'\\''");
    }
    ni_out_put(o, "'\n");
}

static void k8s_line(struct ni_out *o, const struct ni_setting *s)
{
    ni_out_putf(o, "%s='", s->name);
    ni_out_put(o, s->value);
    ni_out_put(o, "'\n");
}

static void bare_line(struct ni_out *o, const struct ni_setting *s)
{
    ni_out_putf(o, "%s=", s->name);
    ni_out_put(o, s->value);
    ni_out_put(o, "\n");
}

struct form {
    bool (*carries)(const struct ni_setting *s);
    void (*line)(struct ni_out *o, const struct ni_setting *s); /* NULL: one JSON object */
};

static const struct form forms[] = {
    [NI_FMT_SH] = {sh_carries, sh_line},           [NI_FMT_K8S] = {k8s_carries, k8s_line},
    [NI_FMT_DOCKER] = {docker_carries, bare_line}, [NI_FMT_CONF] = {conf_carries, bare_line},
    [NI_FMT_JSON] = {json_carries, NULL},
};

static void json_object_of(struct ni_out *o, const struct ni_plan *plan)
{
    bool bad = false;
    json_t *all = json_object();
    for (unsigned i = 0; i < plan->n_setting; i++) {
        const struct ni_setting *s = &plan->setting[i];
        if (s->origin == NI_FROM_RULE)
            ni_json_put(&bad, all, s->name, json_string(s->value));
    }
    ni_json_write(o, all, bad, 2);
}

int ni_write_env(int fd, const struct ni_plan *plan, enum ni_format format,
                 const struct ni_setting **ret_bad)
{
    const struct form *form = &forms[format];
    for (unsigned i = 0; i < plan->n_setting; i++) {
        const struct ni_setting *s = &plan->setting[i];
        if (s->origin == NI_FROM_RULE && (!is_variable(s->name) || !form->carries(s))) {
            *ret_bad = s;
            return -EILSEQ;
        }
    }
    struct ni_out o;
    ni_out_on(&o, fd);
    if (!form->line)
        json_object_of(&o, plan);
    for (unsigned i = 0; form->line && i < plan->n_setting; i++)
        if (plan->setting[i].origin == NI_FROM_RULE)
            form->line(&o, &plan->setting[i]);
    return ni_out_end(&o);
}
