/* SPDX-License-Identifier: Apache-2.0 */
/* facts: the children of each directory in natural order. A merge sort of the sibling lists, from
   short runs to long ones: no recursion, no memory. */
#include "door.h"

/* Takes `width` nodes off *list; their last one ends a list of its own. */
static uint32_t take_run(struct ni_tree *t, uint32_t *list, uint32_t width)
{
    uint32_t head = *list, last = head;

    for (uint32_t i = 1; i < width && last && t->node[last].next; i++)
        last = t->node[last].next;
    *list = last ? t->node[last].next : 0;
    if (last)
        t->node[last].next = 0;
    return head;
}

static bool comes_first(const struct ni_tree *t, uint32_t a, uint32_t b)
{
    return a && (!b || ni_natural_cmp(ni_tree_name(t, a), ni_tree_name(t, b)) <= 0);
}

/* Links the merged runs behind *tail; returns the new tail. */
static uint32_t *merge(struct ni_tree *t, uint32_t *tail, uint32_t a, uint32_t b)
{
    while (a || b) {
        uint32_t *from = comes_first(t, a, b) ? &a : &b;
        *tail = *from;
        *from = t->node[*from].next;
        tail = &t->node[*tail].next;
    }
    *tail = 0;
    return tail;
}

static uint32_t sort_list(struct ni_tree *t, uint32_t list)
{
    uint32_t runs = 2;

    for (uint32_t width = 1; runs > 1; width *= 2) {
        uint32_t rest = list;
        uint32_t *tail = &list;
        for (runs = 0; rest; runs++) {
            uint32_t a = take_run(t, &rest, width);
            uint32_t b = take_run(t, &rest, width);
            tail = merge(t, tail, a, b);
        }
    }
    return list;
}

void ni_tree_sort(struct ni_tree *t)
{
    for (uint32_t i = 0; i < t->n; i++)
        if (t->node[i].first)
            t->node[i].first = sort_list(t, t->node[i].first);
}
