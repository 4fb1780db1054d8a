/* SPDX-License-Identifier: Apache-2.0 */
/* Small files, and what is told where one cannot be read or is not of the kernel's form. */
#include <errno.h>
#include <string.h>

#include "probe.h"

struct ni_num ni_read_num(const struct ni_dir *dir, const char *path)
{
    char buf[64];
    ssize_t n = ni_read(dir, buf, sizeof(buf), "%s", path);
    if (n < 0)
        return (struct ni_num){0, ni_known_of((int)n)};
    struct ni_span s = ni_trim(ni_span_of(buf));
    bool minus = s.n > 0 && s.p[0] == '-';
    uint64_t v;
    if (ni_parse_u64((struct ni_span){s.p + minus, s.n - minus}, INT64_MAX, &v) < 0)
        return (struct ni_num){0, NI_BAD};
    return (struct ni_num){minus ? -(int64_t)v : (int64_t)v, NI_KNOWN};
}

int ni_note_unreadable(struct ni_probe *p, const char *path, int err)
{
    if (ni_known_of(err) != NI_ABSENT)
        ni_report(p->f, NI_F_FACT_UNREADABLE, path, "reading failed: %s", ni_errno_text(err));
    return err;
}

int ni_note_missing(struct ni_probe *p, const char *path, int err)
{
    if (ni_note_unreadable(p, path, err) < 0 && ni_known_of(err) == NI_ABSENT)
        ni_report(p->f, NI_F_FACT_UNREADABLE, path, "reading failed: %s", ni_errno_text(err));
    return err;
}

enum ni_known ni_is_there(struct ni_probe *p, const char *path)
{
    int err = ni_exists(p->root, "%s", path);
    return ni_known_of(err < 0 ? ni_note_unreadable(p, path, err) : 0);
}

void ni_note_odd(struct ni_probe *p, const char *path, const char *text)
{
    ni_report(p->f, NI_F_FACT_UNREADABLE, path, "`%.64s` is not what the kernel writes there",
              text);
}

struct ni_num ni_note_num(struct ni_probe *p, const char *path)
{
    struct ni_num n = ni_read_num(p->root, path);
    if (n.known == NI_DENIED || n.known == NI_BAD)
        ni_report(p->f, NI_F_FACT_UNREADABLE, path, "%s", ni_known_text(n.known));
    return n;
}

ssize_t ni_read_file(struct ni_probe *p, const struct ni_dir *dir, enum ni_absence absence,
                     char *buf, size_t cap, const char *fmt, ...)
{
    struct ni_text t = ni_text_on(p->path, sizeof(p->path));
    va_list ap;
    ni_putf(&t, "%s%s", dir->path, dir->path[0] ? "/" : "");
    const size_t at = t.len;
    va_start(ap, fmt);
    ni_vputf(&t, fmt, ap);
    va_end(ap);
    ssize_t n = ni_read(dir, buf, cap, "%s", p->path + at);
    if (n < 0) {
        buf[0] = '\0';
        (absence == NI_ABSENCE_TELLS ? ni_note_missing : ni_note_unreadable)(p, p->path, (int)n);
    }
    return n;
}

struct ni_num ni_read_state(struct ni_probe *p, const struct ni_dir *dir, enum ni_absence absence,
                            const char *name)
{
    char buf[64];
    uint64_t v;
    ssize_t n = ni_read_file(p, dir, absence, buf, sizeof(buf), "%s", name);
    if (n < 0)
        return (struct ni_num){0, ni_known_of((int)n)};
    const char *colon = strchr(buf, ':');
    if (!colon || ni_parse_u64((struct ni_span){buf, (size_t)(colon - buf)}, 15, &v) < 0) {
        ni_note_odd(p, p->path, buf);
        return (struct ni_num){0, NI_BAD};
    }
    return (struct ni_num){(int64_t)v, NI_KNOWN};
}

struct ni_num ni_read_rate(struct ni_probe *p, const char *path, const char *unit)
{
    char buf[64];
    ssize_t n = ni_read(p->root, buf, sizeof(buf), "%s", path);
    if (n < 0)
        return (struct ni_num){0, ni_known_of(ni_note_unreadable(p, path, (int)n))};
    size_t digits = strspn(buf, "0123456789");
    uint64_t whole = 0, tenth = 0;
    const char *rest = buf + digits;
    bool number = ni_parse_u64((struct ni_span){buf, digits}, 1000000, &whole) == 0;
    if (rest[0] == '.' && rest[1] >= '0' && rest[1] <= '9') {
        tenth = (uint64_t)(rest[1] - '0');
        rest += 2;
    }
    if (!number || !ni_has_prefix(rest, unit)) {
        if (!ni_has_prefix(buf, "Unknown")) /* drivers/pci/probe.c pci_speed_string */
            ni_note_odd(p, path, buf);
        return (struct ni_num){0, NI_BAD};
    }
    return (struct ni_num){(int64_t)(whole * 1000 + tenth * 100), NI_KNOWN};
}
