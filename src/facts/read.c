/* SPDX-License-Identifier: Apache-2.0 */
/* The door's calls as the probers use them: what cannot be read, and what is not of the kernel's
   form, is reported here. */
#include <errno.h>
#include <string.h>

#include "probe.h"

enum ni_known ni_note(struct ni_probe *p, enum ni_need need, int64_t answer)
{
    if (need == NI_NOT_EINVAL && answer == -EINVAL)
        return NI_ABSENT;
    const enum ni_known known = ni_known_of(answer);
    if (known != NI_KNOWN && (known != NI_ABSENT || need == NI_REQUIRED))
        ni_report(p->f, NI_F_FACT_UNREADABLE, p->path, "reading failed: %s",
                  ni_errno_text((int)answer));
    return known;
}

enum ni_known ni_note_odd(struct ni_probe *p, const char *text)
{
    ni_report(p->f, NI_F_FACT_UNREADABLE, p->path, "`%.64s` is not what the kernel writes there",
              text);
    return NI_BAD;
}

/* Makes p->path; returns the part of it that is below dir. */
static const char *NI_PRINTF(3, 0)
    set_path(struct ni_probe *p, const struct ni_dir *dir, const char *fmt, va_list ap)
{
    struct ni_text t = ni_text_on(p->path, sizeof(p->path));
    ni_put(&t, dir->path);
    ni_put(&t, t.len > 0 ? "/" : "");
    const size_t at = t.len;
    ni_vputf(&t, fmt, ap);
    return p->path + at;
}

enum ni_known ni_read_file(struct ni_probe *p, const struct ni_dir *dir, enum ni_need need,
                           char *buf, size_t cap, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *path = set_path(p, dir, fmt, ap);
    va_end(ap);
    const ssize_t n = ni_read(dir, buf, cap, "%s", path);
    if (n < 0)
        buf[0] = '\0';
    return ni_note(p, need, n);
}

enum ni_known ni_read_link(struct ni_probe *p, enum ni_need need, char *buf, size_t cap,
                           const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *path = set_path(p, p->root, fmt, ap);
    va_end(ap);
    const ssize_t n = ni_readlink(p->root, buf, cap, "%s", path);
    if (n < 0)
        buf[0] = '\0';
    return ni_note(p, need, n);
}

enum ni_known ni_read_lines(struct ni_probe *p, enum ni_need need, ni_line_fn *line, void *ctx,
                            const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *path = set_path(p, p->root, fmt, ap);
    va_end(ap);
    return ni_note(p, need, ni_lines(p->root, line, ctx, "%s", path));
}

enum ni_known ni_read_names(struct ni_probe *p, const struct ni_dir *dir, enum ni_need need,
                            struct ni_names *ret, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *path = set_path(p, dir, fmt, ap);
    va_end(ap);
    return ni_note(p, need, ni_list(dir, ret, "%s", path));
}

enum ni_known ni_is_there(struct ni_probe *p, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *path = set_path(p, p->root, fmt, ap);
    va_end(ap);
    return ni_note(p, NI_OPTIONAL, ni_exists(p->root, "%s", path));
}

struct ni_num ni_read_num(struct ni_probe *p, const struct ni_dir *dir, enum ni_need need,
                          ni_parse_fn *parse, const char *fmt, ...)
{
    char buf[64];
    struct ni_num num = {0, NI_BAD};
    va_list ap;
    va_start(ap, fmt);
    const char *path = set_path(p, dir, fmt, ap);
    va_end(ap);
    const ssize_t n = ni_read(dir, buf, sizeof(buf), "%s", path);
    if (n < 0)
        num.known = ni_note(p, need, n);
    else if (parse(buf, &num.v))
        num.known = NI_KNOWN;
    else if (!ni_has_prefix(buf, "Unknown")) /* drivers/pci/probe.c pci_speed_string */
        (void)ni_note_odd(p, buf);
    return num;
}

/* ---- the forms of numbers ---- */

static bool parse_span(struct ni_span s, int64_t max, int64_t *ret)
{
    uint64_t v;
    const bool good = ni_parse_u64(s, (uint64_t)max, &v) == 0;
    if (good)
        *ret = (int64_t)v;
    return good;
}

bool ni_parse_count(const char *text, int64_t *ret)
{
    return parse_span(ni_span_of(text), INT64_MAX, ret);
}

bool ni_parse_number(const char *text, int64_t *ret)
{
    struct ni_span s = ni_trim(ni_span_of(text));
    const bool minus = s.n > 0 && s.p[0] == '-';
    const bool good = parse_span((struct ni_span){s.p + minus, s.n - minus}, INT64_MAX, ret);
    if (good && minus)
        *ret = -*ret;
    return good;
}

bool ni_parse_state(const char *text, int64_t *ret)
{
    const char *colon = strchr(text, ':');
    return colon && parse_span((struct ni_span){text, (size_t)(colon - text)}, 15, ret);
}

bool ni_parse_rate(const char *text, int64_t *ret)
{
    const size_t digits = strspn(text, "0123456789");
    const char *rest = text + digits;
    int64_t whole, tenth = 0;
    if (!parse_span((struct ni_span){text, digits}, 1000000, &whole))
        return false;
    if (rest[0] == '.' && ni_is_digit(rest[1])) {
        tenth = rest[1] - '0';
        rest += 2;
    }
    if (!ni_has_prefix(rest, " Gb/sec") && !ni_has_prefix(rest, " GT/s"))
        return false;
    *ret = whole * 1000 + tenth * 100;
    return true;
}

bool ni_parse_0x(const char *text, int64_t *ret)
{
    const size_t n = strlen(text);
    uint64_t v;
    if ((n != 6 && n != 8 && n != 18) || !ni_has_prefix(text, "0x") ||
        ni_parse_hex(ni_span_of(text + 2), INT64_MAX, &v) < 0)
        return false;
    *ret = (int64_t)v;
    return true;
}
