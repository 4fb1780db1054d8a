/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the image's NCCLs the command will load. An image may have several, and those of Pythons that
   the command does not use: to try one of these would judge what no job loads. */
#include "selftest/library.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "nccl_init/env.h"
#include "nccl_init/image.h"
#include "nccl_init/text.h"

/* ---- LD_PRELOAD ---- */

/* Finds a libnccl in LD_PRELOAD, whose words stand between blanks and colons (ld.so(8)). */
static bool find_preloaded(const struct ni_env *env, char ret[NI_IMAGE_PATH])
{
    static const char between[] = " :";
    const char *list = ni_env_get(env, "LD_PRELOAD");

    for (const char *at = list; at && *at; at += strspn(at, between)) {
        const size_t n = strcspn(at, between);
        char file[NI_IMAGE_PATH];

        if (ni_copyn(file, sizeof(file), at, n)) {
            const char *slash = strrchr(file, '/');

            if (ni_has_prefix(slash ? slash + 1 : file, "libnccl.so"))
                return ni_copy(ret, NI_IMAGE_PATH, file);
        }
        at += n;
    }
    return false;
}

/* ---- the command's Python ---- */

/* "python", "python3", "python3.12" */
static bool is_python(const char *path)
{
    static const char python[] = "python";
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;

    if (!ni_has_prefix(name, python))
        return false;
    name += strlen(python);
    return name[strspn(name, "0123456789.")] == '\0';
}

/* Finds a program in PATH. */
static bool find_in_path(const struct ni_env *env, const char *name, char ret[PATH_MAX])
{
    const char *path = ni_env_get(env, "PATH");
    struct ni_span dir;

    while (ni_split(&path, ':', &dir)) {
        if (dir.n > 0 && dir.p[0] == '/' &&
            ni_format(ret, PATH_MAX, "%.*s/%s", (int)dir.n, dir.p, name) && access(ret, X_OK) == 0)
            return true;
    }
    return false;
}

/* Finds the first Python in PATH, by either of its names. */
static bool find_first_python(const struct ni_env *env, char ret[PATH_MAX])
{
    const char *path = ni_env_get(env, "PATH");
    struct ni_span dir;

    while (ni_split(&path, ':', &dir)) {
        for (unsigned i = 0; i < 2; i++) {
            if (dir.n > 0 && dir.p[0] == '/' &&
                ni_format(ret, PATH_MAX, "%.*s/python%s", (int)dir.n, dir.p, i == 0 ? "" : "3") &&
                access(ret, X_OK) == 0)
                return true;
        }
    }
    return false;
}

/* Finds the interpreter of a script: the word behind "#!". */
static bool find_interpreter(const char *script, char ret[PATH_MAX])
{
    const int fd = open(script, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char head[256]; /* as many as the kernel reads (BINPRM_BUF_SIZE) */
    const ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof(head) - 1);

    if (fd >= 0)
        (void)close(fd);
    if (n <= 0)
        return false;
    head[n] = '\0';
    const char *word = head + 2;
    struct ni_span path;

    return ni_has_prefix(head, "#!") && ni_word(&word, &path) &&
           ni_copyn(ret, PATH_MAX, path.p, path.n);
}

/* Finds the Python that is the command, or that runs it as a script: "/opt/venv/bin/torchrun". */
static bool find_commands_python(const struct ni_env *env, const char *command, char ret[PATH_MAX])
{
    char file[PATH_MAX];

    if (!command)
        return false;
    const bool found = strchr(command, '/') ? ni_copy(file, sizeof(file), command)
                                            : find_in_path(env, command, file);
    if (found && is_python(file))
        return ni_copy(ret, PATH_MAX, file);
    return found && find_interpreter(file, ret) && is_python(ret);
}

/* ---- its NCCL ---- */

/* Returns true if the file is of NVIDIA's package in the Python of that prefix. Debian's of /usr has the
   packages of pip in /usr/local (its dist-packages). */
static bool is_of(const char *path, struct ni_span prefix)
{
    if (strncmp(path, prefix.p, prefix.n) != 0 || path[prefix.n] != '/')
        return false;
    path += prefix.n + 1;
    if (ni_span_is(prefix, "usr") && ni_has_prefix(path, "local/") &&
        strstr(path, "/dist-packages/nvidia/"))
        path += strlen("local/");
    return ni_has_prefix(path, "lib/python3") || ni_has_prefix(path, "lib64/python3");
}

static bool find_below(const struct ni_image *image, const char *prefix, char ret[NI_IMAGE_PATH])
{
    struct ni_span p = ni_span_of(prefix ? prefix : "");

    while (p.n > 0 && p.p[0] == '/')
        p = (struct ni_span){p.p + 1, p.n - 1};
    while (p.n > 0 && p.p[p.n - 1] == '/')
        p.n--;
    for (unsigned i = 0; p.n > 0 && i < image->n_file; i++) {
        const struct ni_image_file *f = &image->file[i];

        if (f->kind == NI_IMAGE_NCCL && strstr(f->path, "/nvidia/nccl/lib/") && is_of(f->path, p))
            return ni_format(ret, NI_IMAGE_PATH, "/%s", f->path);
    }
    return false;
}

/* The same for the prefix of a Python: "/opt/venv" of "/opt/venv/bin/python". Its links are not followed: a
   venv's lead to another prefix. */
static bool find_beside(const struct ni_image *image, const char *python, char ret[NI_IMAGE_PATH])
{
    static const char bin[] = "/bin";
    const char *slash = strrchr(python, '/');
    const size_t n = slash ? (size_t)(slash - python) : 0;
    char prefix[PATH_MAX];

    if (n < strlen(bin) || memcmp(slash - strlen(bin), bin, strlen(bin)) != 0)
        return false;
    if (n == strlen(bin)) /* a link to /usr/bin */
        return find_below(image, "/usr", ret);
    return ni_copyn(prefix, sizeof(prefix), python, n - strlen(bin)) &&
           find_below(image, prefix, ret);
}

void ni_choose_nccl(const struct ni_env *env, const char *command, const struct ni_image *image,
                    char ret[NI_IMAGE_PATH])
{
    char python[PATH_MAX];
    bool found = find_preloaded(env, ret);

    if (!found && image && find_commands_python(env, command, python))
        found = find_beside(image, python, ret);
    else if (!found && image)
        found = find_below(image, ni_env_get(env, "VIRTUAL_ENV"), ret) ||
                find_below(image, ni_env_get(env, "CONDA_PREFIX"), ret) ||
                (find_first_python(env, python) && find_beside(image, python, ret));
    if (!found)
        (void)ni_copy(ret, NI_IMAGE_PATH, "-");
}
