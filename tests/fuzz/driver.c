/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_NAME PATH...: runs the harness once on each file, and on each file of each folder, in the
   order of their names. In builds without libFuzzer, so that seeds and regressions are tests.
   NCCL_INIT_QUICK=1: of a folder with many seeds each fourth. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/fuzz.h"
#include "nccl_init/text.h"

enum { MANY = 200 };

static unsigned inputs;

static void run_file(const char *path, size_t size)
{
    /* of exactly that size, so that the sanitizer sees what reads beyond it */
    uint8_t *data = malloc(size > 0 ? size : 1);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = data && fd >= 0 ? read(fd, data, size) : -1;

    FUZZ_CHECK(n >= 0 && (size_t)n == size, "%s: cannot be read", path);
    close(fd);
    fprintf(stderr, "%s\n", path);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    inputs++;
}

static void run(const char *path)
{
    struct dirent **entry;
    struct stat s;
    char below[4096];

    FUZZ_CHECK(stat(path, &s) == 0, "%s: not there", path);
    if (!S_ISDIR(s.st_mode)) {
        run_file(path, (size_t)s.st_size);
        return;
    }
    int n = scandir(path, &entry, NULL, alphasort);
    FUZZ_CHECK(n >= 0, "%s: cannot be listed", path);
    int step = n > MANY && getenv("NCCL_INIT_QUICK") ? 4 : 1;
    for (int i = 0; i < n; i++) {
        FUZZ_CHECK(ni_format(below, sizeof(below), "%s/%s", path, entry[i]->d_name), "%s", path);
        if (i % step == 0 && entry[i]->d_name[0] != '.' && stat(below, &s) == 0 &&
            S_ISREG(s.st_mode))
            run_file(below, (size_t)s.st_size);
        free(entry[i]);
    }
    free(entry);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        run(argv[i]);
    FUZZ_CHECK(inputs > 0, "no input");
    printf("%u inputs\n", inputs);
    return 0;
}
