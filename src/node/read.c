/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of sysroot as the probers use them. A file that cannot be read, or whose text does not
   have the kernel's form, is reported here. */
#include "node/read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "findings/device.h"
#include "nccl_init/base.h"
#include "nccl_init/errno.h"
#include "nccl_init/findings.h"
#include "nccl_init/known.h"
#include "nccl_init/text.h"
#include "node/forms.h"
#include "sysroot/files.h"
#include "sysroot/root.h"

enum ni_known ni_note(struct ni_probe *p, enum ni_need need, int64_t answer)
{
    if ((need == NI_NOT_EINVAL || need == NI_UNTOLD) && answer == -EINVAL)
        return NI_ABSENT;
    const enum ni_known known = ni_known_of(answer);
    if (known != NI_KNOWN && (known != NI_ABSENT || need == NI_REQUIRED) && need != NI_UNTOLD)
        ni_report(p->f, NI_F_FACT_UNREADABLE, p->path, "reading failed: %s", NI_ERRNO((int)answer));
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
    make_probe_path(struct ni_probe *p, const struct ni_dir *dir, const char *fmt, va_list ap)
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
    const char *path = make_probe_path(p, dir, fmt, ap);
    va_end(ap);
    return ni_note(p, need, ni_read(dir, buf, cap, "%s", path));
}

enum ni_known ni_read_link(struct ni_probe *p, enum ni_need need, char *buf, size_t cap,
                           const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    const char *path = make_probe_path(p, p->root, fmt, ap);
    va_end(ap);
    return ni_note(p, need, ni_readlink(p->root, buf, cap, "%s", path));
}

ssize_t ni_read_whole(struct ni_probe *p, const struct ni_dir *dir, const char *path)
{
    enum { MOST = 64 << 20 }; /* pages that are not touched cost nothing */
    static char *more;

    (void)ni_copy(p->path, sizeof(p->path), path);
    p->text = p->room;
    const ssize_t n = ni_read(dir, p->text, sizeof(p->room), "%s", path);
    if (n == -EOVERFLOW && !more)
        more = malloc(MOST);
    if (n != -EOVERFLOW || !more)
        return n;
    p->text = more; /* the routes of a node with thousands of peers */
    return ni_read(dir, p->text, MOST, "%s", path);
}

enum ni_known ni_read_text(struct ni_probe *p, enum ni_need need, const char *path)
{
    return ni_note(p, need, ni_read_whole(p, p->root, path));
}

bool ni_line(char **rest, char **ret)
{
    char *line = *rest, *end = line + strcspn(line, "\n");

    if (!*line)
        return false;
    *rest = *end ? end + 1 : end;
    *end = '\0';
    *ret = line;
    return true;
}

enum ni_known ni_read_names(struct ni_probe *p, const struct ni_dir *dir, enum ni_need need,
                            struct ni_names *ret, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    const char *path = make_probe_path(p, dir, fmt, ap);
    va_end(ap);
    return ni_note(p, need, ni_list(dir, ret, "%s", path));
}

enum ni_known ni_is_there(struct ni_probe *p, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    const char *path = make_probe_path(p, p->root, fmt, ap);
    va_end(ap);
    return ni_note(p, NI_OPTIONAL, ni_look_up(p->root, "%s", path));
}

struct ni_num ni_read_num(struct ni_probe *p, const struct ni_dir *dir, enum ni_need need,
                          ni_parse_fn *parse, const char *fmt, ...)
{
    char buf[64];
    struct ni_num num = {0, NI_BAD};
    va_list ap;

    va_start(ap, fmt);
    const char *path = make_probe_path(p, dir, fmt, ap);
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
