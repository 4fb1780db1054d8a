/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of hosts, as launchers write them. */
#include "preflight/hosts.h"

#include <string.h>

#include "nccl_init/number.h"
#include "nccl_init/text.h"

void ni_put_first_host(struct ni_text *t, const char *list)
{
    static const char digits[] = "0123456789";

    for (list += strspn(list, ", \t\n"); *list && !strchr(", \t\n", *list); list++) {
        const size_t n = strspn(list + 1, digits);
        const char *close = list + 1 + n + strspn(list + 1 + n, "0123456789-,");

        if (*list == '[' && n > 0 && *close == ']') {
            ni_putn(t, list + 1, n);
            list = close;
        } else {
            ni_putn(t, list, 1);
        }
    }
}

/* Numbers of a bracket of such a list, `08-11` or `20`. */
struct range {
    uint64_t low, n;
    int digits; /* with leading zeros */
};

/* Reads a range. Returns what stands behind it; NULL: it is none. */
static const char *take_range(const char *at, struct range *ret)
{
    static const char digits[] = "0123456789";
    const size_t n = strspn(at, digits);
    uint64_t high;

    if (ni_parse_u64((struct ni_span){at, n}, UINT32_MAX, &ret->low) < 0)
        return NULL;
    ret->digits = (int)n;
    ret->n = 1;
    at += n;
    if (*at != '-')
        return at;
    at++;
    const size_t to = strspn(at, digits);

    if (ni_parse_u64((struct ni_span){at, to}, UINT32_MAX, &high) < 0 || high < ret->low)
        return NULL;
    ret->n = high - ret->low + 1;
    return at + to;
}

/* Puts the host number *left of an entry of n bytes, or takes the number of its hosts off *left. Returns
   true if the search is over: the host is put, or the entry has a form that is not known. */
static bool put_of_entry(struct ni_text *t, const char *entry, size_t n, uint64_t *left)
{
    const char *open = memchr(entry, '[', n);
    const char *close = memchr(entry, ']', n);
    const char *end = entry + n;
    struct range r;

    if (!open && *left > 0) {
        --*left;
        return false;
    }
    if (!open) {
        ni_putn(t, entry, n);
        return true;
    }
    if (!close || memchr(close, '[', (size_t)(end - close)))
        return true;
    for (const char *at = open + 1; at < close; at++) {
        at = take_range(at, &r);
        if (!at || (*at != ',' && at != close))
            return true;
        if (*left < r.n) {
            const unsigned long long number = r.low + *left;

            ni_putn(t, entry, (size_t)(open - entry));
            ni_putf(t, "%0*llu", r.digits, number);
            ni_putn(t, close + 1, (size_t)(end - close - 1));
            return true;
        }
        *left -= r.n;
    }
    return false;
}

/* Returns the length of the first entry of a list: up to a comma that stands in no bracket, or a blank. */
static size_t entry_length(const char *list)
{
    bool inside = false;
    size_t n = 0;

    for (; list[n] && !strchr(" \t\n", list[n]); n++) {
        if (list[n] == ',' && !inside)
            break;
        if (list[n] == '[' || list[n] == ']')
            inside = list[n] == '[';
    }
    return n;
}

void ni_put_host_of(struct ni_text *t, const char *list, unsigned rank)
{
    static const char between[] = ", \t\n";
    uint64_t left = rank;

    for (list += strspn(list, between); *list; list += strspn(list, between)) {
        const size_t n = entry_length(list);

        if (put_of_entry(t, list, n, &left))
            return;
        list += n;
    }
}
