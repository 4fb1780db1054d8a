/* SPDX-License-Identifier: Apache-2.0 */
#include "machine.h"

#include <stdlib.h>
#include <string.h>

#include "patterns.h"

enum { STATES = 4096, CLASSES = 80, ROOT = 0, HIT = 1 << 15 };

struct ni_log_machine {
    uint8_t class[256];             /* of a byte; 0: in no key */
    uint16_t next[STATES][CLASSES]; /* HIT: a key ends there */
    uint16_t shorter[STATES];       /* the state of the longest suffix */
    uint16_t ends[STATES];          /* the first row whose key ends here, + 1 */
    uint16_t more[STATES];          /* the next state down the suffixes at which one ends */
    uint8_t length[256];            /* of a row's key */
    unsigned n;
};

static void add(struct ni_log_machine *m, unsigned row, unsigned *classes)
{
    const char *key = ni_patterns[row].text;
    unsigned s = ROOT;

    m->length[row] = (uint8_t)strcspn(key, "%");
    for (size_t i = 0; i < m->length[row]; i++) {
        uint8_t *c = &m->class[(unsigned char)key[i]];

        if (*c == 0 && *classes < CLASSES)
            *c = (uint8_t)(*classes)++;
        if (m->next[s][*c] == ROOT && m->n < STATES)
            m->next[s][*c] = (uint16_t)m->n++;
        s = m->next[s][*c];
    }
    if (m->ends[s] == 0)
        m->ends[s] = (uint16_t)(row + 1);
}

/* By breadth: what a state lacks it has from its suffix, which is nearer to the root. */
static void link_states(struct ni_log_machine *m)
{
    uint16_t queue[STATES];
    unsigned head = 0, tail = 0;

    queue[tail++] = ROOT;
    while (head < tail) {
        unsigned s = queue[head++];

        for (unsigned c = 1; c < CLASSES; c++) {
            unsigned child = m->next[s][c], down = m->next[m->shorter[s]][c];

            if (s == ROOT)
                down = ROOT;
            if (child == ROOT) {
                m->next[s][c] = (uint16_t)down;
                continue;
            }
            m->shorter[child] = (uint16_t)down;
            m->more[child] =
                m->ends[m->shorter[child]] != 0 ? m->shorter[child] : m->more[m->shorter[child]];
            queue[tail++] = (uint16_t)child;
        }
    }
}

struct ni_log_machine *ni_machine_new(void)
{
    struct ni_log_machine *m = calloc(1, sizeof(*m));
    unsigned classes = 1;

    if (!m)
        return NULL;
    m->n = 1;
    for (unsigned row = 0; row < ni_patterns_count; row++)
        add(m, row, &classes);
    link_states(m);
    for (unsigned s = 0; s < m->n; s++)
        for (unsigned c = 0; c < CLASSES; c++)
            if (m->ends[m->next[s][c]] != 0 || m->more[m->next[s][c]] != 0)
                m->next[s][c] |= HIT;
    return m;
}

unsigned ni_machine_find(const struct ni_log_machine *m, const char *p, const char *end,
                         struct ni_found found[], unsigned max)
{
    unsigned s = ROOT, n = 0;

    for (; p < end; p++) {
        s = m->next[s % HIT][m->class[(unsigned char)*p]];
        if (s < HIT)
            continue;
        for (unsigned e = m->ends[s % HIT] != 0 ? s % HIT : m->more[s % HIT]; e != ROOT && n < max;
             e = m->more[e]) {
            unsigned row = m->ends[e] - 1U;

            found[n++] = (struct ni_found){row, p + 1 - m->length[row]};
        }
    }
    return n;
}
