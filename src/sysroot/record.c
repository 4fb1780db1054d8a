/* SPDX-License-Identifier: Apache-2.0 */
/* Recording. Each call below a root leaves what it found, with links resolved one by one. The
   result is a tree, written in the .tree form (docs/reference/tree.md): a `d` line for each
   directory, its entries below as "./name", numbered neighbours that are alike as one range. */
#include "sysroot/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/errno.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"
#include "sysroot/files.h"
#include "sysroot/root.h"
#include "sysroot/tree.h"

/* The certainty of an entry. A thing that exists and is not a directory counts as an empty file
   until it is read, so that device nodes stay such; a listed name counts as a directory until it is
   looked at. */
enum sure { LISTED, SEEN, READ };

/* Adds an entry. If a path has several the surest counts, and of two equals the later one. */
static void add_entry(const struct ni_dir *from, const char *path, enum sure sure,
                      struct ni_entry e)
{
    struct ni_tree *t = from->root->record;
    struct ni_entry *at;
    int r = ni_tree_make(t, path + strspn(path, "/"), &at);

    if (r == 0) {
        at->listed |= sure == LISTED;
        if (sure >= at->sure && at != t->at) {
            at->sure = (uint8_t)sure;
            r = ni_tree_set(t, at, &e);
            free(at->asked);
            at->asked = e.asked ? strdup(e.asked) : NULL;
            if (e.asked && !at->asked)
                r = -ENOMEM;
        }
    }
    if (r < 0)
        t->failed = r;
}

/* Adds the error of a path. It adds nothing for a path that is too long, or that leads through a
   recorded file: the tree gives that error by itself. A path that cannot be looked at lies in a
   directory that lets nobody through, or in none. */
static void add_errno(const struct ni_dir *from, const char *path, int err)
{
    char dir[NI_TREE_PATH + 1] = "";

    if (err == -ENAMETOOLONG || err == -ELOOP)
        return;
    (void)ni_copyn(dir, sizeof(dir), path, (size_t)(strrchr(path, '/') - path));
    if (err != -ENOENT && *dir && ni_raw(from, path, NI_ACCESS_EXISTS, NULL, NULL) == err)
        path = dir;
    if (err == -ENOTDIR)
        add_entry(from, path, SEEN, (struct ni_entry){.kind = NI_ENTRY_FILE});
    else
        add_entry(from, path, READ, (struct ni_entry){.kind = NI_ENTRY_ERR, .err = -err});
}

struct listing {
    const struct ni_dir *from;
    const char *dir;
};

/* Adds a name of a listed directory. What the name is may never be looked at: LISTED. */
static int add_name(void *ctx, const char *name, size_t n)
{
    const struct listing *l = ctx;
    char path[NI_TREE_PATH];

    (void)n;
    if (ni_format(path, sizeof(path), "%s/%s", l->dir, name))
        add_entry(l->from, path, LISTED, (struct ni_entry){.kind = NI_ENTRY_DIR});
    return 0;
}

/* Records what is at the path, which has no links. asked: the path that led here, or NULL. 1:
   recorded, and *ret_text is the content or the target, until the next call; 0: something else than
   `access` wants is there; -errno. */
static int record_call(const struct ni_dir *from, const char *path, enum ni_access access,
                       char *asked, const char **ret_text)
{
    struct ni_tree *record = from->root->record;
    const struct ni_wanted want = ni_wanted[access];
    struct listing l = {from, path};
    ssize_t n = -ENOMEM;

    if (!record->read)
        record->read = malloc(NI_TREE_FILE); /* pages that are not touched cost nothing */
    if (record->read && access == NI_ACCESS_LIST)
        n = ni_raw(from, path, access, add_name, &l);
    else if (record->read)
        n = ni_raw_text(from, path, access, record->read, NI_TREE_FILE);
    if (n == -EOVERFLOW || n == -ENOMEM)
        record->failed = n == -ENOMEM ? -ENOMEM : -EFBIG;
    if (n < 0)
        return n == -want.other ? 0 : (int)n;
    const struct ni_entry e = {
        .kind = want.kind,
        .value = record->read,
        .len = (uint32_t)n,
        .asked = asked,
    };
    add_entry(from, path, READ, e);
    *ret_text = record->read;
    return 1;
}

/* ---- a call below a root ---- */

/* proc/self is a link to a number and proc/net one through it. As directories they make a record
   that people can read, and that is the same for each run. */
static bool is_proc_alias(const struct ni_dir *from, const char *path)
{
    static const char *const alias[] = {"/proc/self", "/proc/thread-self", "/proc/net"};

    return from->root->kind == NI_ROOT_LIVE && ni_is_any(path, alias, NI_COUNT(alias));
}

static int step_recorded(const void *ctx, const char *path, bool last, char target[NI_TREE_PATH])
{
    const struct ni_dir *from = ctx;
    char at[NI_TREE_PATH + 1];
    const char *text;
    int r = 0;

    (void)ni_format(at, sizeof(at), "/%s", path);
    if (!is_proc_alias(from, at))
        r = record_call(from, at, NI_ACCESS_LINK, NULL, &text);
    if (r == 1)
        (void)ni_copy(target, NI_TREE_PATH, text);
    return r < 0 && last ? 0 : r; /* the access itself meets the error of the last component */
}

void ni_record(const struct ni_dir *dir, const char *path, enum ni_access access)
{
    struct ni_dir top = ni_dir_top(dir->root); /* links lead to complete paths */
    char at[NI_TREE_PATH + 1] = "/", asked[NI_TREE_PATH];
    const char *text;

    (void)ni_copy(asked, sizeof(asked), dir->as ? dir->as : path + strspn(path, "/"));
    top.named = dir->named;
    int r = ni_walk(path, access != NI_ACCESS_LINK, at + 1, step_recorded, &top);
    if (r == -ENAMETOOLONG) {
        r = 0; /* a tree says so, too, if it has the part before that name */
    } else if (r == 0 && access < NI_ACCESS_EXISTS) {
        r = record_call(&top, at, access, asked, &text);
        if (r == 1)
            return;
    } else if (r == 0 && access == NI_ACCESS_OPEN) {
        r = ni_raw(&top, at, access, NULL, NULL);
    }
    if (r >= 0) {
        r = ni_raw(&top, at, NI_ACCESS_EXISTS, NULL, NULL);
        if (r >= 0)
            add_entry(&top, at, SEEN, (struct ni_entry){.kind = r ? NI_ENTRY_DIR : NI_ENTRY_FILE});
    }
    if (r < 0)
        add_errno(&top, at, r);
}

int ni_record_add(const struct ni_root *root, const char *path, const char *value, size_t len)
{
    const struct ni_dir top = ni_dir_top(root);
    const struct ni_entry e = {.kind = NI_ENTRY_FILE, .value = value, .len = (uint32_t)len};

    if (!root->record)
        return 0;
    add_entry(&top, path, READ, e);
    return root->record->failed;
}

void ni_record_offer(const struct ni_root *root, const char *path, const char *value, size_t len)
{
    struct ni_tree *record = root->record;

    if (!record)
        return;
    const int failed = record->failed;
    (void)ni_record_add(root, path, value, len);
    record->failed = failed;
}

/* ---- the form ---- */

/* Puts s, with escapes for bytes that a .tree file must not have. */
static void put_tree_text(struct ni_text *t, struct ni_span s, bool is_path)
{
    static const char from[] = "\n\t\r\\", to[] = "ntr\\";

    for (; s.n > 0; s.p++, s.n--) {
        const char *known = *s.p ? strchr(from, *s.p) : NULL;

        if (known)
            ni_putf(t, "\\%c", to[known - from]);
        else if (*s.p < ' ' || *s.p > '~' || (is_path && (*s.p == ' ' || *s.p == '{')))
            ni_putf(t, "\\x%02x", (unsigned char)*s.p);
        else
            ni_putn(t, s.p, 1);
    }
}

/* Puts the text of an entry. A blank at the end is escaped, so that no editor strips it. */
static void put_entry_text(struct ni_text *t, struct ni_span s, bool is_path)
{
    bool blank = s.n > 0 && s.p[s.n - 1] == ' ';

    put_tree_text(t, (struct ni_span){s.p, s.n - blank}, is_path);
    ni_put(t, blank ? "\\x20" : "");
}

static void put_entry_path(struct ni_text *t, struct ni_span path)
{
    put_entry_text(t, path, true);
}

static struct ni_span dir_of(const struct ni_entry *e)
{
    return (struct ni_span){e->path, (size_t)(e->name - e->path) - (e->name > e->path)};
}

/* Makes the sort key, the directory of e, with a byte for the slash that is less than any byte of a
   name. */
static void sort_key(const struct ni_entry *e, char ret[NI_TREE_PATH])
{
    (void)ni_copyn(ret, NI_TREE_PATH, e->path, dir_of(e).n);
    for (; *ret; ret++)
        if (*ret == '/')
            *ret = '\x01';
}

/* Compares by directory, mlx5_2 before mlx5_10: all entries of a directory come before those of the
   directories in it. In one directory its directories come first, then the names decide. */
static int by_directory(const void *a, const void *b)
{
    const struct ni_entry *x = a, *y = b;
    char p[NI_TREE_PATH], q[NI_TREE_PATH];

    sort_key(x, p);
    sort_key(y, q);
    const int order = ni_natural_cmp(p, q);
    if (order != 0)
        return order;
    if ((x->kind == NI_ENTRY_DIR) != (y->kind == NI_ENTRY_DIR))
        return x->kind == NI_ENTRY_DIR ? -1 : 1;
    return ni_natural_cmp(x->name, y->name);
}

/* A directory with something in it needs no entry. A directory that went away while it was recorded
   stays one. */
struct ni_entry *ni_record_entries(struct ni_tree *t, size_t *ret_n)
{
    struct ni_entry *kept = malloc((t->n + 1) * sizeof(*kept));
    size_t n = 0;

    for (size_t i = t->n; i-- > 1;)
        if (ni_is_met(&t->at[i]) || t->at[i].above)
            t->at[t->at[i].up].above = true;
    for (size_t i = 1; kept && i < t->n; i++)
        if (ni_is_met(&t->at[i]) && !t->at[i].above)
            kept[n++] = t->at[i];
    if (kept)
        qsort(kept, n, sizeof(*kept), by_directory);
    *ret_n = n;
    return kept;
}

/* Reads the number in an entry's name that a range can cover. false: it has none. */
static bool entry_number(const struct ni_entry *e, uint64_t *ret)
{
    return (*e->name != '0' || !e->name[1]) &&
           ni_parse_u64(ni_span_of(e->name), 999999999, ret) == 0;
}

/* Returns the number of entries, from the first on, that differ in their number alone: one range.
   */
static size_t range_of(const struct ni_entry *e, size_t n)
{
    enum { MAX_RUN = 65536 }; /* the most that the parser takes */
    uint64_t from, to;
    size_t run = 1;

    for (; run < n && run < MAX_RUN; run++) {
        const struct ni_entry *a = &e[run - 1], *b = &e[run];

        if (a->up != b->up || a->kind != b->kind || a->err != b->err ||
            !ni_is_same_span((struct ni_span){a->value, a->len},
                             (struct ni_span){b->value, b->len}) ||
            !entry_number(a, &from) || !entry_number(b, &to) || to != from + 1)
            break;
    }
    return run;
}

/* Puts the entries in order. Neighbours in one directory share a `d` line before them, which for an
   empty directory is its own entry. */
static void put_entries(struct ni_text *t, const struct ni_entry *e, size_t n)
{
    static const char letters[] = "dfle"; /* letters of enum ni_entry_kind */
    struct ni_span base = {"", 0};        /* the directory of the last `d` line */

    for (size_t run; n > 0; e += run, n -= run) {
        struct ni_span dir = dir_of(e);

        run = range_of(e, n);
        if (e->kind != NI_ENTRY_DIR && !ni_is_same_span(dir, base) && run < n &&
            e[run].up == e->up) {
            ni_put(t, "d ");
            put_entry_path(t, dir);
            ni_put(t, "\n");
            base = dir;
        }
        ni_putf(t, "%c ", letters[e->kind]);
        put_entry_path(t, dir.n > 0 && ni_is_same_span(dir, base) ? ni_span_of(".") : dir);
        ni_put(t, dir.n > 0 ? "/" : "");
        if (run == 1)
            put_entry_path(t, ni_span_of(e->name));
        else
            ni_putf(t, "{%s..%s}", e->name, e[run - 1].name);
        if (e->kind == NI_ENTRY_ERR) {
            const char *err = ni_errno_name(e->err);

            ni_putf(t, " %s", err ? err : "EIO");
        } else if (e->len > 0) {
            ni_put(t, " ");
            put_entry_text(t, (struct ni_span){e->value, e->len}, e->kind == NI_ENTRY_LINK);
        }
        ni_put(t, "\n");
        if (e->kind == NI_ENTRY_DIR)
            base = (struct ni_span){"", 0};
    }
}

int ni_record_text(struct ni_tree *record, const char *header, struct ni_text *ret)
{
    size_t n;

    if (record->failed)
        return record->failed;
    struct ni_entry *e = ni_record_entries(record, &n);
    if (!e)
        return -ENOMEM;
    ni_putf(ret, "# %s\n", header);
    put_entries(ret, e, n);
    free(e);
    return ret->cut ? -ENOMEM : 0;
}

int ni_root_record(struct ni_root *root)
{
    root->record = calloc(1, sizeof(*root->record));
    root->see = root->record ? ni_record : NULL;
    return root->record ? 0 : -ENOMEM;
}
