/* SPDX-License-Identifier: Apache-2.0 */
/* Installation of the hook into a folder of hooks, and its removal. The program is put there
   before its file and is removed after it: a runtime that cannot start a hook starts no
   container. */
#include "hook/install.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nccl_init/text.h"
#include "system/replace.h"

int ni_hook_install(const char *folder, const char *program, const char *options,
                    struct ni_text *path)
{
    struct ni_text text = NI_TEXT(2 * PATH_MAX);
    char file[PATH_MAX];
    int r;

    /* The form is that of oci-hooks(5) in containers/common. A hook that does not end within the
       timeout makes its container fail; this one gives up earlier. */
    ni_putf(&text,
            "{\n"
            "  \"version\": \"1.0.0\",\n"
            "  \"hook\": {\n"
            "    \"path\": \"%s\",\n"
            "    \"args\": [\"nccl-init-hook\"%s],\n"
            "    \"timeout\": 10\n"
            "  },\n"
            "  \"when\": {\"always\": true},\n"
            "  \"stages\": [\"createRuntime\"]\n"
            "}\n",
            program, options);
    if (text.cut || !ni_format(file, sizeof(file), "%s/" NI_HOOK_FILE, folder)) {
        ni_put(path, folder);
        return -ENAMETOOLONG;
    }
    (void)umask(022);
    r = ni_make_folders(program);
    if (r == 0)
        r = ni_replace_file(program, 0755, ni_write_self, NULL);
    if (r == 0 && access(program, X_OK) < 0) /* EACCES: the file system is mounted noexec */
        r = -errno;
    if (r < 0) {
        ni_put(path, program);
        return r;
    }
    r = ni_make_folders(file);
    if (r == 0)
        r = ni_replace_file(file, 0644, ni_write_text, &text);
    if (r < 0)
        ni_put(path, file);
    return r;
}

/* Removes a file. 0; -ENOENT if it is not there; another -errno, with the file's name in ret_path.
   */
static int remove_file(const char *file, struct ni_text *ret_path)
{
    if (unlink(file) == 0)
        return 0;
    if (errno == ENOENT || errno == ENOTDIR)
        return -ENOENT;
    const int r = -errno;
    ni_put(ret_path, file);
    return r;
}

int ni_hook_remove(const char *folder, const char *program, struct ni_text *path)
{
    char file[PATH_MAX];

    if (!ni_format(file, sizeof(file), "%s/" NI_HOOK_FILE, folder)) {
        ni_put(path, folder);
        return -ENAMETOOLONG;
    }
    int r = remove_file(file, path);
    if (r == 0)
        (void)sleep(1); /* CRI-O learns of that by inotify, and may just start the program */
    if (r == 0 || r == -ENOENT)
        r = remove_file(program, path);
    return r == -ENOENT ? 0 : r;
}
