/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of targets, of demands, of capabilities and of findings. `none` takes back what a variable asks for. */
#include "lists.h"

#include <errno.h>
#include <string.h>

int ni_parse_for(const char *value, struct ni_options *ret)
{
    static const char *const words[] = {"nccl", "nvshmem", "ucx", "gloo"};
    static const unsigned bits[] = {NI_FOR_NCCL, NI_FOR_NVSHMEM, NI_FOR_UCX, NI_FOR_GLOO};
    struct ni_span item;
    unsigned targets = 0;

    while (ni_split(&value, ',', &item)) {
        unsigned i = 0;

        while (i < NI_COUNT(words) && !ni_span_is(item, words[i]))
            i++;
        if (i == NI_COUNT(words))
            return -EINVAL;
        targets |= bits[i];
    }
    ret->policy.targets = targets;
    return 0;
}

static int parse_rails(struct ni_span item, unsigned *ret)
{
    static const char name[] = "rails=";
    const size_t n = sizeof(name) - 1;
    uint64_t rails;

    if (item.n <= n || memcmp(item.p, name, n) != 0 ||
        ni_parse_u64((struct ni_span){item.p + n, item.n - n}, NI_MAX_CHOSEN, &rails) < 0 ||
        rails == 0)
        return -EINVAL;
    *ret = (unsigned)rails;
    return 0;
}

int ni_parse_require(const char *value, struct ni_options *ret)
{
    static const struct {
        const char *word;
        unsigned bit;
    } words[] = {
        {"rdma", NI_REQUIRE_RDMA},       {"gdr", NI_REQUIRE_GDR},   {"memlock", NI_REQUIRE_MEMLOCK},
        {"roce-v2", NI_REQUIRE_ROCE_V2}, {"gpus", NI_REQUIRE_GPUS},
    };
    unsigned require = 0, rails = 0;
    struct ni_span item;

    if (strcmp(value, "none") == 0) {
        ret->policy.require = 0;
        return 0;
    }
    while (ni_split(&value, ',', &item)) {
        unsigned i = 0;

        while (i < NI_COUNT(words) && !ni_span_is(item, words[i].word))
            i++;
        if (i < NI_COUNT(words))
            require |= words[i].bit;
        else if (parse_rails(item, &rails) == 0)
            require |= NI_REQUIRE_RAILS;
        else
            return -EINVAL;
    }
    ret->policy.require = require;
    ret->policy.rails = rails;
    return 0;
}

static int parse_caps(const char *value, uint64_t *ret)
{
    struct ni_span item;
    uint64_t set = 0;
    unsigned cap;

    if (strcmp(value, "none") != 0) {
        while (ni_split(&value, ',', &item)) {
            if (ni_parse_cap(item, &cap) < 0)
                return -EINVAL;
            set |= UINT64_C(1) << cap;
        }
    }
    *ret = set;
    return 0;
}

int ni_parse_keep_caps(const char *value, struct ni_options *ret)
{
    return parse_caps(value, &ret->policy.keep_caps);
}

int ni_parse_drop_caps(const char *value, struct ni_options *ret)
{
    const bool unneeded = strcmp(value, "unneeded") == 0;
    int r = parse_caps(unneeded ? "none" : value, &ret->policy.drop_caps);

    if (r == 0)
        ret->policy.drop_unneeded = unneeded;
    return r;
}

int ni_parse_ignore(const char *value, struct ni_options *ret)
{
    bool ignore[NI_F_COUNT] = {false};
    struct ni_span item;

    if (strcmp(value, "none") == 0)
        value = NULL;
    while (ni_split(&value, ',', &item)) {
        unsigned id = 0;

        while (id < NI_F_COUNT && !ni_span_is(item, ni_finding_kind(id)->id))
            id++;
        if (id == NI_F_COUNT)
            return -EINVAL;
        ignore[id] = true;
    }
    memcpy(ret->ignore, ignore, sizeof(ignore));
    return 0;
}
