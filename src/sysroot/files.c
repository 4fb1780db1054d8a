/* SPDX-License-Identifier: Apache-2.0 */
/* Files below a root: reading, listing, asking. Each call makes the path whole, shows it to the
   recorder, and asks the root. */
#include "sysroot/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nccl_init/base.h"
#include "nccl_init/text.h"
#include "sysroot/root.h"
#include "sysroot/tree.h"

/* ---- paths ---- */

/* A path below the root, with the slash for the root in front. */
struct path {
    char text[NI_PATH + 1];
    int err; /* 0 or -ENAMETOOLONG */
};

/* Makes the path, and shows it to the recorder with the access that follows. */
static void NI_PRINTF(4, 0) make_path(const struct ni_dir *dir, enum ni_access access,
                                      struct path *p, const char *fmt, va_list ap)
{
    struct ni_text t = ni_text_on(p->text, sizeof(p->text));

    ni_put(&t, "/");
    ni_put(&t, dir->path);
    if (t.len > 1)
        ni_put(&t, "/");
    ni_vputf(&t, fmt, ap);
    p->err = t.cut || dir->cut ? -ENAMETOOLONG : 0;
    if (p->err == 0 && access != NI_ACCESS_NONE && dir->root->see && !dir->unrecorded)
        dir->root->see(dir, p->text, access);
}

/* Makes the path from the arguments of the calling function. */
#define JOIN(dir, access, p, fmt)                             \
    do {                                                      \
        va_list ap;                                           \
        va_start(ap, fmt);                                    \
        make_path((dir), NI_ACCESS_##access, (p), (fmt), ap); \
        va_end(ap);                                           \
    } while (0)

static void make_dir_path(struct ni_dir *dir, const struct path *p)
{
    dir->cut = p->err < 0;
    (void)ni_copy(dir->path, sizeof(dir->path), p->text + 1);
}

struct ni_dir ni_dir_at(const struct ni_dir *from, const char *fmt, ...)
{
    struct ni_dir dir = *from;
    struct path p;

    JOIN(from, NONE, &p, fmt);
    make_dir_path(&dir, &p);
    return dir;
}

struct ni_dir ni_dir_open(const struct ni_dir *from, const char *fmt, ...)
{
    struct ni_dir dir = *from;
    struct path p;

    JOIN(from, NONE, &p, fmt);
    make_dir_path(&dir, &p);
    dir.fd = p.err < 0 ? -1 : ni_raw_open_dir(from, p.text);
    dir.len = strlen(dir.path);
    return dir;
}

void ni_dir_close(struct ni_dir *dir)
{
    if (dir->fd >= 0)
        (void)close(dir->fd);
    dir->fd = -1;
}

/* ---- the calls ---- */

ssize_t ni_raw_text(const struct ni_dir *dir, const char *path, enum ni_access access, char *buf,
                    size_t cap)
{
    struct ni_room room = {buf, cap, 0};
    int r = ni_raw(dir, path, access, ni_take_text, &room);

    if (r == 0 && access == NI_ACCESS_READ && room.len > 0 && buf[room.len - 1] == '\n')
        room.len--;
    if (r == 0 && room.len == cap)
        r = -EOVERFLOW;
    buf[r < 0 ? 0 : room.len] = '\0';
    return r < 0 ? r : (ssize_t)room.len;
}

ssize_t ni_read(const struct ni_dir *dir, char *buf, size_t cap, const char *fmt, ...)
{
    struct path p;

    JOIN(dir, READ, &p, fmt);
    ssize_t n = p.err < 0 ? p.err : ni_raw_text(dir, p.text, NI_ACCESS_READ, buf, cap);
    if (n > 0 && !dir->binary && memchr(buf, '\0', (size_t)n))
        n = -EILSEQ;
    if (n < 0)
        buf[0] = '\0';
    return n;
}

ssize_t ni_readlink(const struct ni_dir *dir, char *buf, size_t cap, const char *fmt, ...)
{
    struct path p;

    JOIN(dir, LINK, &p, fmt);
    ssize_t n = p.err < 0 ? p.err : ni_raw_text(dir, p.text, NI_ACCESS_LINK, buf, cap);
    if (n < 0)
        buf[0] = '\0';
    return n;
}

int ni_look_up(const struct ni_dir *dir, const char *fmt, ...)
{
    struct path p;

    JOIN(dir, EXISTS, &p, fmt);
    int r = p.err < 0 ? p.err : ni_raw(dir, p.text, NI_ACCESS_EXISTS, NULL, NULL);
    return r < 0 ? r : 0;
}

bool ni_is_at(const struct ni_dir *dir, const char *name, const char *fmt, ...)
{
    struct stat own, st;
    struct path p;

    JOIN(dir, NONE, &p, fmt);
    if (p.err < 0 || dir->root->kind != NI_ROOT_LIVE || lstat(name, &own) < 0)
        return false;
    return (stat(p.text, &st) == 0 && st.st_dev == own.st_dev && st.st_ino == own.st_ino) ||
           (lstat(p.text, &st) == 0 && st.st_dev == own.st_dev && st.st_ino == own.st_ino);
}

int ni_openable(const struct ni_dir *dir, const char *fmt, ...)
{
    struct path p;

    JOIN(dir, OPEN, &p, fmt);
    int r = p.err < 0 ? p.err : ni_raw(dir, p.text, NI_ACCESS_OPEN, NULL, NULL);
    return r < 0 ? r : 0;
}

/* ---- listings ---- */

static int take_name(void *ctx, const char *name, size_t n)
{
    struct ni_names *ret = ctx;

    if (ret->n == NI_MAX_NAMES || n >= sizeof(ret->text) - ret->used) {
        ret->cut = true;
        return 0;
    }
    ret->name[ret->n++] = memcpy(ret->text + ret->used, name, n + 1);
    ret->used += n + 1;
    return 0;
}

static int by_name(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;

    return ni_natural_cmp(*x, *y);
}

int ni_list(const struct ni_dir *dir, struct ni_names *ret, const char *fmt, ...)
{
    struct path p;

    JOIN(dir, LIST, &p, fmt);
    ret->n = 0;
    ret->used = 0;
    ret->cut = false;
    int r = p.err < 0 ? p.err : ni_raw(dir, p.text, NI_ACCESS_LIST, take_name, ret);
    ret->n = r < 0 ? 0 : ret->n;
    ret->cut &= r == 0;
    qsort(ret->name, ret->n, sizeof(*ret->name), by_name);
    return r;
}
