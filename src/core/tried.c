/* SPDX-License-Identifier: Apache-2.0 */
/* What the helper says, and what libibverbs says beside it. */
#include "nccl_init/tried.h"

#include <errno.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"

enum { MOST_ERRNO = 4095 }; /* MAX_ERRNO of the kernel */

static const char *const steps[NI_TRIED_STEPS] = {
    [NI_TRIED_FIND] = "find",   [NI_TRIED_OPEN] = "open", [NI_TRIED_DEVICE] = "device",
    [NI_TRIED_QUEUE] = "queue", [NI_TRIED_DONE] = "done",
};

/* ---- the helper ---- */

static int read_errno(struct ni_span word, int *ret)
{
    uint64_t value = 0;

    if (ni_parse_u64(word, MOST_ERRNO, &value) < 0)
        return -EINVAL;
    *ret = (int)value;
    return 0;
}

static int read_step(struct ni_span word, enum ni_tried_step *ret)
{
    for (unsigned i = 0; i < NI_TRIED_STEPS; i++) {
        if (ni_span_is(word, steps[i])) {
            *ret = (enum ni_tried_step)i;
            return 0;
        }
    }
    return -EINVAL;
}

int ni_take_tried_text(struct ni_span rest, char *to, size_t cap)
{
    if (to[0] != '\0' || rest.n == 0)
        return -EINVAL;
    /* the loader's words may be long: their beginning says which file */
    (void)ni_copyn(to, cap, rest.p, rest.n < cap ? rest.n : cap - 1);
    return 0;
}

/* Returns the HCA that a line is about, a new one if it has none yet; NULL: it is no name, or there
   are too many. */
static struct ni_tried_hca *hca_of(struct ni_tried *t, struct ni_span name)
{
    struct ni_tried_hca *last = t->n_hca > 0 ? &t->hca[t->n_hca - 1] : NULL;

    if (!ni_is_name(name, NI_DEV_NAME))
        return NULL;
    if (last && !last->told)
        return ni_span_is(name, last->name) ? last : NULL;
    for (unsigned i = 0; i < t->n_hca; i++) {
        if (ni_span_is(name, t->hca[i].name))
            return NULL;
    }
    if (t->n_hca == NI_MAX_TRIED)
        return NULL;
    struct ni_tried_hca *new = &t->hca[t->n_hca++];
    (void)ni_copyn(new->name, sizeof(new->name), name.p, name.n);
    return new;
}

/* Takes "HCA STEP ERRNO": a step that failed has an errno, and only that. */
static int take_hca(const char *rest, struct ni_tried *t)
{
    struct ni_span name, step, err, more;

    (void)ni_word(&rest, &name);
    (void)ni_word(&rest, &step);
    (void)ni_word(&rest, &err);
    struct ni_tried_hca *hca = hca_of(t, name);
    if (!hca || ni_word(&rest, &more) || read_step(step, &hca->step) < 0 ||
        read_errno(err, &hca->err) < 0 || (hca->err == 0) != (hca->step == NI_TRIED_DONE))
        return -EINVAL;
    hca->told = true;
    return 0;
}

static int take_line(struct ni_span line, struct ni_tried *t)
{
    char text[NI_TRIED_TEXT * 4];
    const char *rest = text;
    struct ni_span word, name;

    if (t->whole || memchr(line.p, '\0', line.n) || !ni_copyn(text, sizeof(text), line.p, line.n) ||
        !ni_word(&rest, &word))
        return -EINVAL;
    const struct ni_span value = ni_trim(ni_span_of(rest));
    if (ni_span_is(word, "version"))
        return ni_take_tried_text(value, t->version, sizeof(t->version));
    if (t->version[0] == '\0')
        return -EINVAL;
    if (ni_span_is(word, "library"))
        return ni_take_tried_text(value, t->library, sizeof(t->library));
    if (ni_span_is(word, "unloaded"))
        return ni_take_tried_text(value, t->unloaded, sizeof(t->unloaded));
    if (ni_span_is(word, "list")) {
        const int r = t->listed ? -EINVAL : read_errno(value, &t->list_err);

        t->listed = r == 0 && t->list_err == 0;
        return r;
    }
    if (ni_span_is(word, "hca"))
        return t->listed ? take_hca(rest, t) : -EINVAL;
    if (ni_span_is(word, "at") && t->listed && ni_word(&rest, &name))
        return hca_of(t, name) ? 0 : -EINVAL;
    t->whole = ni_span_is(word, "end");
    return t->whole ? 0 : -EINVAL;
}

int ni_read_tried(const char *words, struct ni_tried *ret)
{
    memset(ret, 0, sizeof(*ret));
    for (const char *end = strchr(words, '\n'); end; end = strchr(words, '\n')) {
        const int r = take_line((struct ni_span){words, (size_t)(end - words)}, ret);

        if (r < 0)
            return r;
        words = end + 1;
    }
    /* a library that was loaded was not refused, but for one that lacks a function */
    return ret->version[0] != '\0' && !(ret->listed && ret->unloaded[0] != '\0') ? 0 : -EINVAL;
}

const struct ni_tried_hca *ni_find_tried(const struct ni_tried *tried, const char *name)
{
    for (unsigned i = 0; i < tried->n_hca; i++) {
        if (strcmp(tried->hca[i].name, name) == 0)
            return &tried->hca[i];
    }
    return NULL;
}

/* ---- libibverbs ---- */

/* Cuts what follows `text` off the beginning of *rest, up to the first `end`, and moves *rest after
   that. */
static bool cut_after(struct ni_span *rest, const char *text, const char *end, struct ni_span *ret)
{
    const char *at = memmem(rest->p, rest->n, text, strlen(text));

    if (!at)
        return false;
    at += strlen(text);
    const size_t left = rest->n - (size_t)(at - rest->p);
    const char *to = *end ? memmem(at, left, end, strlen(end)) : at + left;
    if (!to)
        return false;
    *ret = (struct ni_span){at, (size_t)(to - at)};
    *rest = (struct ni_span){to, left - ret->n};
    return true;
}

static bool cut_number(struct ni_span *rest, const char *text, const char *end, unsigned *ret)
{
    struct ni_span word;
    uint64_t value;

    if (!cut_after(rest, text, end, &word) || ni_parse_u64(word, UINT32_MAX, &value) < 0)
        return false;
    *ret = (unsigned)value;
    return true;
}

bool ni_find_driver_abi(const char *errors, const char *hca, struct ni_driver_abi *ret)
{
    struct ni_span line, name, path;

    while (ni_split(&errors, '\n', &line)) {
        struct ni_driver_abi abi = {.provider = ""};

        if (!cut_after(&line, "Warning: Driver ", " ", &name) ||
            !ni_is_name(name, sizeof(abi.provider)) ||
            !cut_number(&line, " does not support the kernel ABI of ", " ", &abi.kernel) ||
            !cut_number(&line, " (supports ", " ", &abi.least) ||
            !cut_number(&line, " to ", ")", &abi.most) ||
            !cut_after(&line, " for device ", "", &path))
            continue;
        path = ni_trim(path);
        const char *slash = memrchr(path.p, '/', path.n);
        const size_t n = slash ? (size_t)(slash + 1 - path.p) : 0;
        if (!ni_span_is((struct ni_span){path.p + n, path.n - n}, hca))
            continue;
        (void)ni_copyn(abi.provider, sizeof(abi.provider), name.p, name.n);
        *ret = abi;
        return true;
    }
    return false;
}

bool ni_find_library_abi(const char *errors, struct ni_span *ret)
{
    static const char kernel[] = "kernel ABI version ",
                      library[] = "doesn't match library version ";
    struct ni_span line;

    while (ni_split(&errors, '\n', &line)) {
        const char *at = memmem(line.p, line.n, kernel, strlen(kernel));
        const size_t n = at ? line.n - (size_t)(at - line.p) : 0;

        if (!at || !memmem(at, n, library, strlen(library)))
            continue;
        *ret = ni_trim((struct ni_span){at, n});
        return true;
    }
    return false;
}

bool ni_find_unloaded_provider(const char *errors, const char *provider, struct ni_span *ret)
{
    char name[64];
    struct ni_span line, rest;

    if (!ni_format(name, sizeof(name), "lib%s-rdmav", provider))
        return false;
    while (ni_split(&errors, '\n', &line)) {
        if (!cut_after(&line, "couldn't load driver ", "", &rest) ||
            !memmem(rest.p, rest.n, name, strlen(name)))
            continue;
        *ret = ni_trim(rest);
        return true;
    }
    return false;
}
