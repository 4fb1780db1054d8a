/* SPDX-License-Identifier: Apache-2.0 */
/* facts: a directory's names, sorted and bounded without memory of its own. While names come in,
   ret->name is a heap with the last name in natural order on top: that one goes when there are too
   many. So what stays does not depend on the order in which the file system lists. */
#include <string.h>

#include "door.h"

/* First byte of a dropped name: no name has it. */
#define DROPPED '/'

static void swap(const char **a, const char **b)
{
    const char *t = *a;
    *a = *b;
    *b = t;
}

static void sift_down(const char **name, unsigned n, unsigned at)
{
    for (;;) {
        unsigned big = at;
        for (unsigned kid = 2 * at + 1; kid <= 2 * at + 2 && kid < n; kid++)
            if (ni_natural_cmp(name[kid], name[big]) > 0)
                big = kid;
        if (big == at)
            return;
        swap(&name[at], &name[big]);
        at = big;
    }
}

static void sift_up(const char **name, unsigned at)
{
    while (at > 0 && ni_natural_cmp(name[at], name[(at - 1) / 2]) > 0) {
        swap(&name[at], &name[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
}

/* Takes the last name out. */
static void drop_last(struct ni_listing *l)
{
    struct ni_names *ret = l->ret;
    size_t at = (size_t)(ret->name[0] - ret->text);

    l->live -= strlen(ret->name[0]) + 1;
    (void)ni_copy(l->limit, sizeof(l->limit), ret->name[0]);
    ret->text[at] = DROPPED;
    ret->cut = true;
    ret->name[0] = ret->name[--ret->n];
    sift_down(ret->name, ret->n, 0);
}

/* Closes the gaps that dropped names left, and builds the heap anew over the moved ones. */
static void compact(struct ni_listing *l)
{
    struct ni_names *ret = l->ret;
    size_t to = 0, len;

    ret->n = 0;
    for (size_t from = 0; from < l->used; from += len) {
        len = strlen(ret->text + from) + 1;
        if (ret->text[from] == DROPPED)
            continue;
        memmove(ret->text + to, ret->text + from, len);
        ret->name[ret->n++] = ret->text + to;
        to += len;
    }
    l->used = to;
    for (unsigned i = ret->n / 2; i-- > 0;)
        sift_down(ret->name, ret->n, i);
}

void ni_listing_begin(struct ni_listing *l, struct ni_names *ret)
{
    *l = (struct ni_listing){.ret = ret};
    ret->n = 0;
    ret->cut = false;
}

void ni_listing_add(struct ni_listing *l, const char *name)
{
    struct ni_names *ret = l->ret;
    size_t len = strlen(name) + 1;

    if (l->limit[0] && ni_natural_cmp(name, l->limit) >= 0)
        return;
    while (ret->n > 0 && (ret->n == NI_MAX_NAMES || l->live + len > sizeof(ret->text))) {
        if (ni_natural_cmp(name, ret->name[0]) > 0) {
            (void)ni_copy(l->limit, sizeof(l->limit), name);
            ret->cut = true;
            return;
        }
        drop_last(l);
    }
    if (l->used + len > sizeof(ret->text))
        compact(l);
    memcpy(ret->text + l->used, name, len);
    ret->name[ret->n] = ret->text + l->used;
    l->used += len;
    l->live += len;
    sift_up(ret->name, ret->n++);
}

/* The heap becomes a sorted array: the second half of a heapsort. */
void ni_listing_end(struct ni_listing *l)
{
    const char **name = l->ret->name;

    for (unsigned n = l->ret->n; n > 1; n--) {
        swap(&name[0], &name[n - 1]);
        sift_down(name, n - 1, 0);
    }
}
