/* SPDX-License-Identifier: Apache-2.0 */
/* Untrusted JSON, through jansson: duplicate keys refused, depth bounded, no file opened for its
   hash seed. */
#include <jansson.h>
#include <string.h>
#include <sys/auxv.h>

#include "probe.h"

enum { MAX_DEPTH = 16 }; /* device plugins write 3, DRA metadata 6 */

/* jansson parses by recursion; what is deeper than any plugin writes is not handed to it. */
static bool too_deep(const char *s)
{
    int depth = 0;
    bool in_string = false;
    for (; *s; s++) {
        if (in_string) {
            if (*s == '\\' && s[1])
                s++;
            else if (*s == '"')
                in_string = false;
        } else if (*s == '"') {
            in_string = true;
        } else if (*s == '{' || *s == '[') {
            if (++depth > MAX_DEPTH)
                return true;
        } else if (*s == '}' || *s == ']') {
            depth--;
        }
    }
    return false;
}

/* jansson's memory while it parses: a pool of our own, so that the program has no heap and parsing
   costs no system call. What is freed is not used again; with the last json_decref of a text the
   pool is empty again. A text that does not fit fails like one that is no JSON. */
enum { POOL = 4 << 20, ALIGN = 16 };

struct pool {
    size_t used;
    unsigned live;
    _Alignas(ALIGN) char bytes[POOL];
};

extern struct pool ni_json_pool;
struct pool ni_json_pool NI_LARGE;

static void *pool_take(size_t n)
{
    size_t room = (n + ALIGN - 1) / ALIGN * ALIGN;
    if (room < n || room > POOL - ni_json_pool.used)
        return NULL;
    void *p = ni_json_pool.bytes + ni_json_pool.used;
    ni_json_pool.used += room;
    ni_json_pool.live++;
    return p;
}

static void pool_give(void *p)
{
    if (p && --ni_json_pool.live == 0)
        ni_json_pool.used = 0;
}

struct json_t *ni_parse_json(struct ni_probe *p, const char *subject, const char *text)
{
    if (too_deep(text)) {
        ni_report(p->f, NI_F_ALLOC_INFO_INVALID, subject, "JSON nested deeper than %d", MAX_DEPTH);
        return NULL;
    }
    /* jansson would read /dev/urandom for its hash seed; the kernel gave us 16 random bytes
       already. */
    size_t seed = 1;
    const void *random = (const void *)getauxval(AT_RANDOM);
    if (random)
        memcpy(&seed, random, sizeof(seed));
    json_object_seed(seed | 1);
    json_set_alloc_funcs(pool_take, pool_give);
    json_error_t err;
    json_t *top = json_loads(text, JSON_REJECT_DUPLICATES, &err);
    if (!top)
        ni_report(p->f, NI_F_ALLOC_INFO_INVALID, subject, "no JSON: %s at byte %d", err.text,
                  err.position);
    return top;
}
