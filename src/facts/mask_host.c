/* SPDX-License-Identifier: Apache-2.0 */
/* facts: which host names a record holds. */
#include <string.h>

#include "mask.h"

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

/* A name that a person would recognise, not a number, an address or a default. */
static bool is_host(struct ni_span s)
{
    bool letter = false;

    if (s.n < 2 || s.n > 253 || ni_span_is(s, "localhost") ||
        ni_span_is(s, "localhost.localdomain"))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (!is_alnum(s.p[i]) && s.p[i] != '-' && s.p[i] != '.' && s.p[i] != '_')
            return false;
        letter |= is_alnum(s.p[i]) && (s.p[i] < '0' || s.p[i] > '9');
    }
    return letter && is_alnum(s.p[0]);
}

/* Names below sys, proc and dev are the kernel's. */
static bool is_kernel_name(const struct ni_tree *t, uint32_t at)
{
    while (t->node[at].parent)
        at = t->node[at].parent;
    const char *top = ni_tree_name(t, at);
    return strcmp(top, "sys") == 0 || strcmp(top, "proc") == 0 || strcmp(top, "dev") == 0;
}

/* A host called `up` or `eth0` must not change what sysfs says: only a name that looks like one,
   and is no entry of sys, proc or dev, is replaced there. */
static bool is_distinctive(const struct ni_tree *t, struct ni_span s)
{
    bool mark = false;

    for (size_t i = 0; i < s.n; i++)
        mark |= !is_alnum(s.p[i]) || (s.p[i] >= '0' && s.p[i] <= '9');
    if (!mark || s.n < 5)
        return false;
    for (uint32_t i = 1; i < t->n; i++) {
        const struct ni_node *node = &t->node[i];
        if (node->name_len == s.n && memcmp(t->text + node->name, s.p, s.n) == 0 &&
            is_kernel_name(t, i))
            return false;
    }
    return true;
}

static void insert_host(const struct ni_tree *t, struct ni_mask_hosts *hosts, struct ni_span s)
{
    unsigned at = 0;

    for (unsigned i = 0; i < hosts->n; i++)
        if (hosts->host[i].name.n == s.n && memcmp(hosts->host[i].name.p, s.p, s.n) == 0)
            return;
    if (hosts->n == NI_MASK_HOSTS) {
        hosts->full = true;
        return;
    }
    while (at < hosts->n && hosts->host[at].name.n >= s.n)
        at++;
    memmove(&hosts->host[at + 1], &hosts->host[at], (hosts->n - at) * sizeof(hosts->host[0]));
    hosts->host[at] = (struct ni_mask_host){
        .name = s, .number = ++hosts->n_numbers, .distinctive = is_distinctive(t, s)};
    hosts->n++;
}

static void add_host(const struct ni_tree *t, struct ni_mask_hosts *hosts, struct ni_span s)
{
    s = ni_trim(s);
    if (!is_host(s))
        return;
    insert_host(t, hosts, s);
    const char *dot = memchr(s.p, '.', s.n);
    struct ni_span first = {s.p, dot ? (size_t)(dot - s.p) : s.n};
    if (dot && is_host(first))
        insert_host(t, hosts, first);
}

/* rdma-ndd and the mlx drivers write "host device" (rdma-core rdma-ndd.c, "%h %d"). */
static void add_node_desc(const struct ni_tree *t, struct ni_mask_hosts *hosts, uint32_t at)
{
    struct ni_span s = ni_tree_value(t, at);
    const char *device = ni_tree_name(t, t->node[at].parent);
    size_t len = strlen(device);

    if (s.n > len + 1 && memcmp(s.p + s.n - len, device, len) == 0 && s.p[s.n - len - 1] == ' ')
        add_host(t, hosts, (struct ni_span){s.p, s.n - len - 1});
}

static bool key_matches(const char *s, const char *key)
{
    while (*key && lower(*s) == *key) {
        s++;
        key++;
    }
    return !*key;
}

/* HOSTNAME=, systemd.hostname=, NODE_NAME=, in an environment or on a command line. */
static void add_assigned(const struct ni_tree *t, struct ni_mask_hosts *hosts, struct ni_span s)
{
    static const char *const keys[] = {"hostname=", "nodename=", "node_name="};

    for (size_t i = 0; i < s.n; i++)
        for (size_t k = 0; k < NI_COUNT(keys); k++) {
            size_t at = i + strlen(keys[k]);
            if (at >= s.n || !key_matches(s.p + i, keys[k]))
                continue;
            at += s.p[at] == '"' || s.p[at] == '\'';
            struct ni_span name = {s.p + at, 0};
            while (at + name.n < s.n && (is_alnum(name.p[name.n]) || name.p[name.n] == '-' ||
                                         name.p[name.n] == '.' || name.p[name.n] == '_'))
                name.n++;
            add_host(t, hosts, name);
        }
}

void ni_mask_find_hosts(const struct ni_tree *t, struct ni_mask_hosts *hosts)
{
    char path[NI_TREE_PATH];

    for (uint32_t i = 1; i < t->n; i++) {
        const struct ni_node *node = &t->node[i];
        struct ni_span name = {ni_tree_name(t, i), node->name_len};
        if (node->kind != NI_NODE_FILE || !ni_tree_path(t, node->parent, name, path))
            continue;
        if (ni_span_is(name, "node_desc"))
            add_node_desc(t, hosts, i);
        else if (strcmp(path, "/proc/sys/kernel/hostname") == 0 ||
                 strcmp(path, "/etc/hostname") == 0)
            add_host(t, hosts, ni_tree_value(t, i));
        else if (!ni_has_prefix(path, "/sys/"))
            add_assigned(t, hosts, ni_tree_value(t, i));
    }
}
