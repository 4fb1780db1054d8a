/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table with open addresses. */
#include <string.h>

#include "nccl_init/index.h"
#include "nccl_init/text.h"

uint64_t ni_hash(uint64_t seed, struct ni_span text)
{
    /* the product carries each byte into the high bits, the shift carries them into the low bits */
    uint64_t hash = seed;

    for (size_t i = 0; i < text.n; i++) {
        hash = (hash ^ (unsigned char)text.p[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return hash;
}

uint32_t *ni_index_find(const struct ni_index *index, struct ni_span text, ni_entry_text *text_of,
                        const void *entries)
{
    const size_t mask = index->room - 1;
    size_t at = (size_t)ni_hash(index->seed, text) & mask;

    while (index->place[at] != 0 && !ni_is_same_span(text_of(entries, index->place[at]), text))
        at = (at + 1) & mask;
    return &index->place[at];
}
