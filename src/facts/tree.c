/* SPDX-License-Identifier: Apache-2.0 */
/* facts: a tree in memory. Nodes in one pool, found by a hash of parent and name. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "door.h"

enum {
    MAX_NODES = 1 << 21,
    MIN_BUCKETS = 1 << 10,
    MAX_BUCKETS = 1 << 20,
    MAX_TEXT = NI_TREE_FILE + (32 << 20) /* a file, and the numbers that its ranges stand for */
};

static struct ni_tree slots[2];

int ni_tree_new(enum ni_tree_slot slot, struct ni_tree **ret)
{
    struct ni_tree *t = &slots[slot];
    size_t nodes = MAX_NODES * sizeof(struct ni_node);
    size_t buckets = MAX_BUCKETS * sizeof(uint32_t);

    if (t->map)
        return -EBUSY;
    /* Not static: the pages would cost nothing, but where memory is not overcommitted the size
       alone could keep the program from starting. */
    void *map = mmap(NULL, nodes + buckets + MAX_TEXT, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return -ENOMEM;

    *t = (struct ni_tree){
        .node = map,
        .bucket = (uint32_t *)((struct ni_node *)map + MAX_NODES),
        .text = (char *)map + nodes + buckets,
        .n = 1, /* the root */
        .bucket_mask = MIN_BUCKETS - 1,
        .cap = MAX_TEXT,
        .map = map,
        .map_len = nodes + buckets + MAX_TEXT,
    };
    *ret = t;
    return 0;
}

void ni_tree_free(struct ni_tree *t)
{
    if (!t)
        return;
    if (t->map)
        (void)munmap(t->map, t->map_len);
    *t = (struct ni_tree){0};
}

bool ni_tree_path(const struct ni_tree *t, uint32_t dir, struct ni_span name,
                  char ret[NI_TREE_PATH])
{
    char *p = ret + NI_TREE_PATH - 1;
    struct ni_span piece = name;

    *p = '\0';
    for (;;) {
        if ((size_t)(p - ret) < piece.n + 1)
            return false;
        p -= piece.n;
        memcpy(p, piece.p, piece.n);
        if (piece.n > 0)
            *--p = '/';
        if (dir == 0)
            break;
        piece = (struct ni_span){ni_tree_name(t, dir), t->node[dir].name_len};
        dir = t->node[dir].parent;
    }
    if (!*p)
        *--p = '/';
    memmove(ret, p, (size_t)(ret + NI_TREE_PATH - p));
    return true;
}

struct ni_span ni_tree_value(const struct ni_tree *t, uint32_t node)
{
    return (struct ni_span){t->text + t->node[node].value, t->node[node].len};
}

const char *ni_tree_name(const struct ni_tree *t, uint32_t node)
{
    return t->text + t->node[node].name;
}

/* FNV-1a over the name, begun with the parent. */
static uint32_t bucket_of(const struct ni_tree *t, uint32_t dir, const char *name, size_t n)
{
    uint32_t h = 2166136261U ^ (dir * 2654435761U);

    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)name[i]) * 16777619U;
    return (h ^ (h >> 15)) & t->bucket_mask;
}

static void chain(struct ni_tree *t, uint32_t at)
{
    struct ni_node *node = &t->node[at];
    uint32_t *bucket = &t->bucket[bucket_of(t, node->parent, t->text + node->name, node->name_len)];

    node->chain = *bucket;
    *bucket = at;
}

/* Twice as many buckets once there are as many entries: a few ranges stand for millions. */
static void grow(struct ni_tree *t)
{
    size_t buckets = 2 * ((size_t)t->bucket_mask + 1);

    memset(t->bucket, 0, buckets / 2 * sizeof(*t->bucket));
    t->bucket_mask = (uint32_t)(buckets - 1);
    for (uint32_t at = 1; at < t->n; at++)
        chain(t, at);
}

uint32_t ni_tree_child(const struct ni_tree *t, uint32_t dir, struct ni_span name)
{
    uint32_t at = t->bucket[bucket_of(t, dir, name.p, name.n)];

    for (; at; at = t->node[at].chain) {
        const struct ni_node *node = &t->node[at];
        if (node->parent == dir && node->name_len == name.n &&
            memcmp(t->text + node->name, name.p, name.n) == 0)
            return at;
    }
    return 0;
}

int ni_tree_insert(struct ni_tree *t, uint32_t dir, uint32_t name, size_t len, uint32_t *ret)
{
    struct ni_node *parent = &t->node[dir];

    if (len >= NI_TREE_NAME || parent->depth + 1 > NI_TREE_DEPTH)
        return -ENAMETOOLONG;
    if (t->n == MAX_NODES)
        return -EFBIG;
    if (t->n > t->bucket_mask && t->bucket_mask + 1 < MAX_BUCKETS)
        grow(t);
    uint32_t at = t->n++;
    t->node[at] = (struct ni_node){
        .parent = dir,
        .next = parent->first,
        .name = name,
        .name_len = (uint8_t)len,
        .depth = (uint8_t)(parent->depth + 1),
        .kind = NI_NODE_DIR,
    };
    chain(t, at);
    parent->first = at;
    *ret = at;
    return 0;
}

int ni_tree_keep(struct ni_tree *t, const char *s, size_t n, uint32_t *ret)
{
    if (n >= t->cap - t->used)
        return -EFBIG;
    memcpy(t->text + t->used, s, n);
    t->text[t->used + n] = '\0';
    *ret = (uint32_t)t->used;
    t->used += n + 1;
    return 0;
}
