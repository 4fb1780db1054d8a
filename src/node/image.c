/* SPDX-License-Identifier: Apache-2.0 */
/* What the image brings for NCCL: libibverbs with its providers, NCCL, plugins, cuda-compat. Only
   names of files count, and where they are looked for: where the loader looks (ld.so(8)), and in the
   folders of Pythons. A network mount whose server is gone hangs whoever looks: so another process
   looks, and has a deadline. */
#include "node/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/image.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/number.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "sysroot/files.h"
#include "sysroot/record.h"
#include "sysroot/root.h"
#include "system/process.h"

enum { MAX_PLACE = 96, LIMIT_MS = 2000 };

/* A folder, and where its files stand in a recording: a place that is searched without any variable.
   Both without a slash in front. */
struct place {
    char path[NI_IMAGE_PATH], recorded[NI_IMAGE_PATH];
    char beside[NI_IMAGE_PATH]; /* what a recording must have for its place to be searched, or "" */
};

struct places {
    unsigned n;
    struct place at[MAX_PLACE];
};

struct search {
    struct ni_dir root;
    const struct ni_env *env;
    struct ni_image *image;
    bool lost; /* not all was seen */
    unsigned place;
    struct places libraries, prefixes, sites;
};

/* ---- places ---- */

static bool is_link(const struct search *s, const char *path)
{
    char target[NI_PATH];

    return ni_readlink(&s->root, target, sizeof(target), "%s", path) >= 0;
}

/* Adds a folder at an absolute path, unless it is there. /lib counts as /usr/lib if it is a link.
   recorded: its place in a recording; NULL: its own path, which is searched without any variable. */
static void add_place(struct search *s, struct places *to, struct ni_span path,
                      const char *recorded)
{
    struct place *new = &to->at[to->n];
    char top[16];

    while (path.n > 0 && path.p[0] == '/')
        path = (struct ni_span){path.p + 1, path.n - 1};
    while (path.n > 0 && path.p[path.n - 1] == '/')
        path.n--;
    const char *slash = memchr(path.p, '/', path.n);
    const bool is_short =
        ni_copyn(top, sizeof(top), path.p, slash ? (size_t)(slash - path.p) : path.n);
    if (path.n == 0)
        return;
    if (to->n == MAX_PLACE) {
        s->lost = true;
        return;
    }
    const bool merged = is_short && ni_has_prefix(top, "lib") && is_link(s, top);
    if (!ni_format(new->path, sizeof(new->path), "%s%.*s", merged ? "usr/" : "", (int)path.n,
                   path.p))
        return;
    (void)ni_copy(new->recorded, sizeof(new->recorded), recorded ? recorded : new->path);
    for (unsigned i = 0; i < to->n; i++) {
        if (strcmp(to->at[i].path, new->path) == 0)
            return;
    }
    to->n++;
}

/* Adds the absolute paths of a list with colons. */
static void add_listed(struct search *s, struct places *to, const char *list, const char *recorded)
{
    struct ni_span path;

    while (ni_split(&list, ':', &path)) {
        if (path.n > 0 && path.p[0] == '/')
            add_place(s, to, path, recorded);
    }
}

/* Calls `take` for each name in the folder. A folder that is not there has none. */
static void list(struct search *s, const char *path, ni_take_fn *take, void *ctx)
{
    char whole[NI_PATH];

    if (!ni_format(whole, sizeof(whole), "/%s", path))
        return;
    s->place++;
    const int r = ni_raw(&s->root, whole, NI_ACCESS_LIST, take, ctx);
    s->lost = s->lost || (r < 0 && r != -ENOENT && r != -ENOTDIR);
}

/* ---- files ---- */

/* A folder that is being listed. */
struct listing {
    struct search *s;
    const char *path, *recorded;
    const char *beside; /* of its place; NULL: "" */
};

/* Adds a file. Of one library in one folder, libnccl.so.2 and libnccl.so.2.28.9, the longest name
   counts. NULL: there is no room, or it is known. */
static struct ni_image_file *add_file(const struct listing *l, enum ni_image_kind kind,
                                      struct ni_span name, const char *version, const char *file)
{
    struct ni_image *image = l->s->image;
    struct ni_image_file new = {.kind = kind, .place = l->s->place}, *at = NULL;
    const size_t n = strlen(l->path);

    if (!ni_copyn(new.name, sizeof(new.name), name.p, name.n) ||
        !ni_format(new.path, sizeof(new.path), "%s/%s", l->path, file) ||
        !ni_format(new.recorded, sizeof(new.recorded), "%s/%s", l->recorded, file))
        return NULL;
    (void)ni_copy(new.beside, sizeof(new.beside), l->beside ? l->beside : "");
    if (strchr(version, '.')) /* a part of a version, as of libnccl.so.2, is none */
        (void)ni_copy(new.version, sizeof(new.version), version);
    if (ni_look_up(&l->s->root, "%s", new.path) < 0)
        return NULL; /* a link that leads nowhere */
    for (unsigned i = 0; i < image->n_file && !at; i++) {
        struct ni_image_file *f = &image->file[i];

        if (f->kind == kind && kind != NI_IMAGE_DRIVER && strcmp(f->name, new.name) == 0 &&
            strncmp(f->path, new.path, n + 1) == 0 && !strchr(f->path + n + 1, '/'))
            at = f;
    }
    if (at && strlen(at->path) >= strlen(new.path))
        return NULL;
    if (!at && image->n_file == NI_MAX_IMAGE_FILE) {
        l->s->lost = true;
        return NULL;
    }
    if (!at)
        at = &image->file[image->n_file++];
    *at = new;
    return at;
}

/* Returns what follows `library` and ".so" in the name of a library, without a dot in front:
   "2.28.9" of libnccl.so.2.28.9. NULL: it is another one. */
static const char *version_in(const char *file, const char *library)
{
    const char *rest = file + strlen(library);

    if (!ni_has_prefix(file, library) || !ni_has_prefix(rest, ".so"))
        return NULL;
    rest += strlen(".so");
    if (*rest == '.')
        rest++;
    return rest[strspn(rest, "0123456789.")] == '\0' ? rest : NULL;
}

/* Takes libNAME-rdmavN.so. N is the version of the interface inside rdma-core (its CMakeLists.txt
   IBVERBS_PABI_VERSION); what N a libibverbs wants, its name does not show. */
static void take_provider(const struct listing *l, const char *file)
{
    static const char suffix[] = "-rdmav";
    const char *at = strstr(file, suffix);

    if (!ni_has_prefix(file, "lib") || !at)
        return;
    const char *end = at + strlen(suffix);
    end += strspn(end, "0123456789");
    if (strcmp(end, ".so") == 0)
        (void)add_file(l, NI_IMAGE_PROVIDER, (struct ni_span){file + 3, (size_t)(at - file) - 3},
                       "", file);
}

/* Takes libnccl-net.so, libnccl-tuner-NAME.so and the like (NCCL 2.30.7 plugin/plugin_open.cc). */
static void take_plugin(const struct listing *l, const char *file)
{
    static const char *const kinds[] = {"net", "tuner", "profiler", "env", "gin"};
    const char *name = file + strlen("libnccl-"), *end = strstr(file, ".so");

    if ((!ni_has_prefix(file, "libnccl-") && !ni_has_prefix(file, "librccl-")) || !end)
        return;
    for (size_t i = 0; i < NI_COUNT(kinds); i++) {
        const size_t n = strlen(kinds[i]);

        if (ni_has_prefix(name, kinds[i]) && (name[n] == '-' || name + n == end) &&
            end[3 + strspn(end + 3, "0123456789.")] == '\0')
            (void)add_file(l, NI_IMAGE_PLUGIN, (struct ni_span){name, (size_t)(end - name)}, "",
                           file);
    }
}

/* Takes a file of a folder of libraries. */
static int take_library(void *ctx, const char *file, size_t n)
{
    static const struct {
        const char *name;
        enum ni_image_kind kind;
    } known[] = {{"libibverbs", NI_IMAGE_VERBS},
                 {"libnccl", NI_IMAGE_NCCL},
                 {"librccl", NI_IMAGE_RCCL},
                 {"libcuda", NI_IMAGE_COMPAT}};
    const struct listing *l = ctx;
    const struct ni_span none = {"", 0};

    (void)n;
    if (!ni_has_prefix(file, "lib"))
        return 0;
    for (size_t i = 0; i < NI_COUNT(known); i++) {
        const char *version = version_in(file, known[i].name);
        /* elsewhere libcuda is that of the node's driver */
        const bool counts = known[i].kind != NI_IMAGE_COMPAT || strstr(l->path, "/compat");

        /* libibverbs.so alone, a link for who compiles, is not what a program loads */
        if (version && counts && (*version || known[i].kind == NI_IMAGE_NCCL))
            (void)add_file(l, known[i].kind, none, version, file);
    }
    take_provider(l, file);
    take_plugin(l, file);
    return 0;
}

static int take_only_provider(void *ctx, const char *file, size_t n)
{
    (void)n;
    take_provider(ctx, file);
    return 0;
}

static void search_libraries(struct search *s)
{
    for (unsigned i = 0; i < s->libraries.n; i++) {
        const struct place *at = &s->libraries.at[i];
        struct listing l = {s, at->path, at->recorded, at->beside};
        char path[NI_IMAGE_PATH], recorded[NI_IMAGE_PATH];

        list(s, at->path, take_library, &l);
        if (!ni_format(path, sizeof(path), "%s/libibverbs", at->path) ||
            !ni_format(recorded, sizeof(recorded), "%s/libibverbs", at->recorded))
            continue;
        l = (struct listing){s, path, recorded, at->beside};
        list(s, path, take_only_provider, &l);
    }
}

/* ---- the drivers that libibverbs loads ---- */

/* Adds a driver by its name, or by the beginning of a path to its file, whose folder is then searched,
   too (rdma-core 56.1 libibverbs/dynamic_driver.c load_driver). */
static void add_driver(const struct listing *l, struct ni_span name, const char *file)
{
    const char *slash = NULL;

    for (size_t i = 0; i < name.n; i++)
        slash = name.p[i] == '/' ? name.p + i : slash;
    if (name.n > 0 && name.p[0] == '/' && slash) {
        const struct ni_span dir = {name.p, (size_t)(slash - name.p)};

        add_place(l->s, &l->s->libraries, dir, NULL);
        name = (struct ni_span){slash + 1, name.n - dir.n - 1};
        if (name.n > 3 && memcmp(name.p, "lib", 3) == 0)
            name = (struct ni_span){name.p + 3, name.n - 3};
    }
    (void)add_file(l, NI_IMAGE_DRIVER, name, "", file);
}

/* Reads a file of /etc/libibverbs.d, of lines "driver mlx5" (dynamic_driver.c read_config_file). */
static int take_driver_file(void *ctx, const char *file, size_t n)
{
    const struct listing *l = ctx;
    char text[NI_PAGE], *rest = text, *line;
    const ssize_t r = ni_read(&l->s->root, text, sizeof(text), "%s/%s", l->path, file);

    (void)n;
    l->s->lost = l->s->lost || (r < 0 && r != -ENOENT && r != -ENXIO && r != -EISDIR);
    while (r > 0 && ni_line(&rest, &line)) {
        const char *words = line;
        struct ni_span word, name;

        if (ni_word(&words, &word) && ni_span_is(word, "driver") && ni_word(&words, &name))
            add_driver(l, name, file);
    }
    return 0;
}

/* The folders of the libraries that a distribution builds, and of conda. */
static void search_drivers(struct search *s)
{
    struct listing l = {s, "etc/libibverbs.d", "etc/libibverbs.d", NULL};

    list(s, l.path, take_driver_file, &l);
    for (unsigned i = 0; i < s->prefixes.n; i++) {
        const struct place *at = &s->prefixes.at[i];
        char path[NI_IMAGE_PATH], recorded[NI_IMAGE_PATH];

        if (!ni_format(path, sizeof(path), "%s/etc/libibverbs.d", at->path) ||
            !ni_format(recorded, sizeof(recorded), "%s/etc/libibverbs.d", at->recorded))
            continue;
        l = (struct listing){s, path, recorded, NULL};
        list(s, path, take_driver_file, &l);
    }
}

/* ---- where to look ---- */

/* Adds the folders that a file of /etc/ld.so.conf.d names. */
static int take_loader_conf(void *ctx, const char *file, size_t n)
{
    const struct listing *l = ctx;
    char text[NI_PAGE], *rest = text, *line;
    const ssize_t r = ni_read(&l->s->root, text, sizeof(text), "%s/%s", l->path, file);

    (void)n;
    while (r > 0 && ni_line(&rest, &line)) {
        const struct ni_span path = ni_trim(ni_span_of(line));

        if (path.n > 0 && path.p[0] == '/')
            add_place(l->s, &l->s->libraries, path, NULL);
    }
    return 0;
}

/* Adds /usr/local/cuda-12.4/compat. */
static int take_cuda(void *ctx, const char *file, size_t n)
{
    const struct listing *l = ctx;
    char path[NI_IMAGE_PATH];

    (void)n;
    if (ni_has_prefix(file, "cuda") && ni_format(path, sizeof(path), "%s/%s", l->path, file) &&
        !is_link(l->s, path) && ni_format(path, sizeof(path), "/%s/%s/compat", l->path, file))
        add_place(l->s, &l->s->libraries, ni_span_of(path), NULL);
    return 0;
}

static void find_libraries(struct search *s)
{
    static const char *const usual[] = {
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib64",
        "/usr/lib",
        "/lib/x86_64-linux-gnu",
        "/lib/aarch64-linux-gnu",
        "/lib64",
        "/lib",
        "/usr/local/lib",
        "/usr/local/lib64",
        "/usr/local/nvidia/lib64",
        "/usr/local/gib/lib64",
    };
    struct listing l = {s, "etc/ld.so.conf.d", NULL, NULL};

    add_listed(s, &s->libraries, ni_env_get(s->env, "LD_LIBRARY_PATH"), "usr/local/lib");
    for (size_t i = 0; i < NI_COUNT(usual); i++) {
        if (!is_link(s, usual[i] + 1))
            add_place(s, &s->libraries, ni_span_of(usual[i]), NULL);
    }
    list(s, l.path, take_loader_conf, &l);
    l.path = "etc";
    (void)take_loader_conf(&l, "ld.so.conf", 0);
    l.path = "usr/local";
    list(s, l.path, take_cuda, &l);
}

/* Adds a folder of /opt or of conda's envs: a recording has it at its own path. */
static int take_prefix(void *ctx, const char *file, size_t n)
{
    const struct listing *l = ctx;
    char path[NI_IMAGE_PATH];

    (void)n;
    if (ni_format(path, sizeof(path), "/%s/%s", l->path, file))
        add_place(l->s, &l->s->prefixes, ni_span_of(path), NULL);
    return 0;
}

/* Adds the folders in which a Python or conda may live: PREFIX of PREFIX/lib/python3.12, and of the
   PREFIX/bin where the command is looked for. */
static void find_prefixes(struct search *s)
{
    static const char *const named[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
    static const char *const usual[] = {"/usr",       "/usr/local",       "/root/.venv",
                                        "/app/.venv", "/workspace/.venv", "/venv"};
    static const char venv[] = "opt/venv", bin[] = "/bin";
    const char *path = ni_env_get(s->env, "PATH"), *home = ni_env_get(s->env, "HOME");
    struct ni_span dir;
    char local[NI_IMAGE_PATH];

    for (size_t i = 0; i < NI_COUNT(named); i++)
        add_listed(s, &s->prefixes, ni_env_get(s->env, named[i]), venv);
    while (ni_split(&path, ':', &dir)) {
        const size_t n = strlen(bin);

        if (dir.n > n && dir.p[0] == '/' && memcmp(dir.p + dir.n - n, bin, n) == 0)
            add_place(s, &s->prefixes, (struct ni_span){dir.p, dir.n - n}, venv);
    }
    if (home && ni_format(local, sizeof(local), "%s/.local", home))
        add_listed(s, &s->prefixes, local, venv);
    for (size_t i = 0; i < NI_COUNT(usual); i++)
        add_place(s, &s->prefixes, ni_span_of(usual[i]), NULL);
    struct listing l = {s, "opt", NULL, NULL};
    list(s, l.path, take_prefix, &l);
    l.path = "opt/conda/envs";
    list(s, l.path, take_prefix, &l);
}

/* ---- Python ---- */

/* Adds the packages of PREFIX/lib/python3.12. */
static int take_python(void *ctx, const char *file, size_t n)
{
    static const char *const packages[] = {"site-packages", "dist-packages"};
    const struct listing *l = ctx;
    char path[NI_IMAGE_PATH], recorded[NI_IMAGE_PATH];

    (void)n;
    for (size_t i = 0; i < NI_COUNT(packages) && ni_has_prefix(file, "python3"); i++) {
        if (ni_format(path, sizeof(path), "/%s/%s/%s", l->path, file, packages[i]) &&
            ni_format(recorded, sizeof(recorded), "%s/%s/%s", l->recorded, file, packages[i]))
            add_place(l->s, &l->s->sites, ni_span_of(path), recorded);
    }
    return 0;
}

/* The library of NVIDIA's package for Python, and its version. */
struct wheel {
    const struct listing *l;
    char version[NI_IMAGE_NAME], file[NI_IMAGE_PATH];
};

/* Takes the version of the folder nvidia_nccl_cu12-2.28.9.dist-info. */
static int take_wheel(void *ctx, const char *file, size_t n)
{
    static const char begin[] = "nvidia_nccl_cu", end[] = ".dist-info";
    struct wheel *w = ctx;
    const char *dash = strchr(file, '-');

    (void)n;
    if (!ni_has_prefix(file, begin) || !dash)
        return 0;
    const size_t length = strspn(dash + 1, "0123456789.");
    const size_t digits = length > 0 && dash[length] == '.' ? length - 1 : length;
    if (strcmp(dash + 1 + digits, end) == 0) {
        (void)ni_copyn(w->version, sizeof(w->version), dash + 1, digits);
        (void)ni_copy(w->file, sizeof(w->file), file);
    }
    return 0;
}

static int take_wheels_library(void *ctx, const char *file, size_t n)
{
    struct wheel *w = ctx;
    const struct ni_span none = {"", 0};

    (void)n;
    if (!version_in(file, "libnccl"))
        return 0;
    struct ni_image_file *f = add_file(w->l, NI_IMAGE_NCCL, none, w->version, file);
    if (f && w->file[0])
        (void)ni_copy(f->beside, sizeof(f->beside), w->file);
    return 0;
}

static void search_site(struct search *s, const struct place *at)
{
    struct listing l = {s, at->path, at->recorded, NULL};
    struct wheel w = {.l = &l};
    char path[NI_IMAGE_PATH], recorded[NI_IMAGE_PATH], file[NI_IMAGE_PATH];

    if (!ni_format(path, sizeof(path), "%s/nvidia/nccl/lib", at->path) ||
        !ni_format(recorded, sizeof(recorded), "%s/nvidia/nccl/lib", at->recorded) ||
        ni_look_up(&s->root, "%s", path) < 0)
        return;
    list(s, at->path, take_wheel, &w);
    if (ni_format(file, sizeof(file), "%s/%s", at->recorded, w.file) && w.file[0])
        (void)ni_copy(w.file, sizeof(w.file), file);
    l.path = path;
    l.recorded = recorded;
    list(s, path, take_wheels_library, &w);
}

static void search_pythons(struct search *s)
{
    static const char *const folder[] = {"lib", "lib64"};
    const bool lost = s->lost; /* a folder that is closed to us is closed to the command's Python */

    add_listed(s, &s->sites, ni_env_get(s->env, "PYTHONPATH"),
               "opt/venv/lib/python3/site-packages");
    for (unsigned i = 0; i < s->prefixes.n * NI_COUNT(folder); i++) {
        const struct place *at = &s->prefixes.at[i / 2];
        char path[NI_IMAGE_PATH], recorded[NI_IMAGE_PATH];
        struct listing l = {s, path, recorded, NULL};

        if (ni_format(path, sizeof(path), "%s/%s", at->path, folder[i % 2]) &&
            ni_format(recorded, sizeof(recorded), "%s/%s", at->recorded, folder[i % 2]) &&
            !is_link(s, path))
            list(s, path, take_python, &l);
    }
    for (unsigned i = 0; i < s->sites.n; i++)
        search_site(s, &s->sites.at[i]);
    s->lost = lost;
}

/* Adds the libraries of conda, which are beside its Python. */
static void find_condas(struct search *s)
{
    static const char meta[] = "conda-meta";
    struct places *to = &s->libraries;

    for (unsigned i = 0; i < s->prefixes.n; i++) {
        const struct place *at = &s->prefixes.at[i];
        const unsigned before = to->n;
        char path[NI_IMAGE_PATH], recorded[NI_IMAGE_PATH];

        if (ni_look_up(&s->root, "%s/%s", at->path, meta) == 0 &&
            ni_format(path, sizeof(path), "/%s/lib", at->path) &&
            ni_format(recorded, sizeof(recorded), "%s/lib", at->recorded))
            add_place(s, to, ni_span_of(path), recorded);
        if (to->n > before)
            (void)ni_format(to->at[before].beside, NI_IMAGE_PATH, "%s/%s", at->recorded, meta);
    }
}

/* ---- the whole ---- */

/* Compares by kind, then as they were looked at; in one folder by name. */
static int by_kind(const void *a, const void *b)
{
    const struct ni_image_file *x = a, *y = b;

    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return ni_natural_cmp(x->path, y->path);
}

static void search_image(void *ctx)
{
    struct search *s = ctx;

    find_libraries(s);
    find_prefixes(s);
    find_condas(s);
    search_drivers(s);
    search_libraries(s);
    search_pythons(s);
    qsort(s->image->file, s->image->n_file, sizeof(s->image->file[0]), by_kind);
    s->image->known = s->lost ? NI_DENIED : NI_KNOWN;
}

/* Adds what was found to a recording, by names and without content. */
static void record_image(const struct ni_root *root, const struct ni_image *image)
{
    for (unsigned i = 0; i < image->n_file; i++) {
        const struct ni_image_file *f = &image->file[i];
        char line[NI_IMAGE_NAME + 16] = "";

        if (f->kind == NI_IMAGE_DRIVER)
            (void)ni_format(line, sizeof(line), "driver %s", f->name);
        ni_record_offer(root, f->recorded, line, strlen(line));
        if (f->beside[0])
            ni_record_offer(root, f->beside, "", 0);
    }
}

void ni_probe_drivers(struct ni_probe *p)
{
    for (unsigned i = 0; i < p->inv->n_hca; i++) {
        struct ni_hca *h = &p->inv->hca[i];
        char target[NI_PATH];

        if (!ni_is_allocated(h) || !h->function[0] ||
            ni_read_link(p, NI_OPTIONAL, target, sizeof(target), "%s/driver", h->function) !=
                NI_KNOWN)
            continue;
        const char *slash = strrchr(target, '/');
        (void)ni_copy(h->driver, sizeof(h->driver), slash ? slash + 1 : target);
    }
}

/* ---- the library that the user names ---- */

/* Returns 23102 for "2.31.2", as NCCL counts since 2.9 (nccl.h); 0: it is no such version. */
static int number_of(const char *version)
{
    struct ni_span part;
    uint64_t value, number = 0;

    for (unsigned i = 0; i < 3; i++) {
        if (!ni_split(&version, '.', &part) || ni_parse_u64(part, 99, &value) < 0)
            return 0;
        number = number * 100 + value;
    }
    return (int)number;
}

/* Follows a link of a library, which has the version in its name, or leads to one that has. */
static void follow(struct ni_probe *p, char *path, size_t cap)
{
    char target[NI_PATH];

    for (unsigned i = 0; i < 8 && ni_readlink(p->root, target, sizeof(target), "%s", path) >= 0;
         i++) {
        char *slash = strrchr(path, '/');
        const int dir = slash && target[0] != '/' ? (int)(slash + 1 - path) : 0;
        char whole[NI_PATH];

        if (!ni_format(whole, sizeof(whole), "%.*s%s", dir, path,
                       target + strspn(target, dir > 0 ? "" : "/")))
            return;
        (void)ni_copy(path, cap, whole);
    }
}

void ni_probe_nccl(struct ni_probe *p)
{
    static const char wheel[] = "/nvidia/nccl/lib/";
    const char *named = p->ask->nccl;
    struct wheel w = {.version = ""};
    char path[NI_PATH];

    if (!ni_copy(path, sizeof(path), named + strspn(named, "/")))
        return;
    follow(p, path, sizeof(path));
    const char *slash = strrchr(path, '/');
    const char *version = version_in(slash ? slash + 1 : path, "libnccl");
    if (version)
        p->inv->nccl_version = number_of(version);
    char *at = strstr(path, wheel), site[NI_PATH];
    if (p->inv->nccl_version != 0 || !at)
        return;
    *at = '\0';
    if (ni_format(site, sizeof(site), "/%s", path))
        (void)ni_raw(p->root, site, NI_ACCESS_LIST, take_wheel, &w);
    p->inv->nccl_version = number_of(w.version);
}

/* What is found, in memory that the other process shares, and the search. NULL: there is none. */
struct work {
    struct ni_image image;
    struct search search;
};

static struct work *work_memory(void)
{
    static struct work *work; /* not in the program's own, of which every run has a part */

    if (!work) {
        work = mmap(NULL, sizeof(*work), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        work = work == MAP_FAILED ? NULL : work;
    }
    return work;
}

void ni_probe_image(struct ni_probe *p)
{
    const struct ni_root *root = p->root->root;
    struct work *work = work_memory();
    bool done = true;

    if (!work)
        return;
    memset(work, 0, sizeof(*work));
    work->search.root = *p->root;
    work->search.root.unrecorded = true;
    work->search.env = p->env;
    work->search.image = &work->image;
    if (root->kind == NI_ROOT_TREE)
        search_image(&work->search);
    else
        done = ni_work_beside(root->fd, search_image, &work->search, LIMIT_MS);
    if (!done || work->image.known == NI_UNSET) {
        memset(&work->image, 0, sizeof(work->image));
        work->image.known = NI_DENIED;
        work->image.late = true;
    }
    record_image(root, &work->image);
    p->inv->image = &work->image;
}
