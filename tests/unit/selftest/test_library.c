/* SPDX-License-Identifier: Apache-2.0 */
/* Which NCCL is tried: only one that the command would load. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "nccl_init/env.h"
#include "nccl_init/image.h"
#include "nccl_init/text.h"
#include "selftest/library.h"

static char dir[64];
static struct ni_image image;
static char *entry[8];
static char entries[8][512];

static void put_program(const char *prefix, const char *name, const char *text)
{
    char path[256];

    (void)snprintf(path, sizeof(path), "%s/%s", dir, prefix);
    (void)mkdir(path, 0755);
    (void)snprintf(path, sizeof(path), "%s/%s/bin", dir, prefix);
    (void)mkdir(path, 0755);
    (void)snprintf(path, sizeof(path), "%s/%s/bin/%s", dir, prefix, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs(text, file);
    (void)fclose(file);
    assert_int_equal(chmod(path, 0755), 0);
}

/* Adds a library of the image, of a prefix in the folder, or of one at "/". */
static void put_library(const char *prefix, const char *rest)
{
    struct ni_image_file *f = &image.file[image.n_file++];
    const char *below = prefix[0] == '/' ? "" : dir + 1;

    f->kind = NI_IMAGE_NCCL;
    assert_true(ni_format(f->path, sizeof(f->path), "%s%s%s/%s", below, below[0] ? "/" : "",
                          prefix + (prefix[0] == '/'), rest));
}

/* Sets a variable; "@" stands for the folder. */
static void set(unsigned i, const char *text)
{
    struct ni_text t = ni_text_on(entries[i], sizeof(entries[i]));

    for (; *text; text++) {
        if (*text == '@')
            ni_put(&t, dir);
        else
            ni_putn(&t, text, 1);
    }
    entry[i] = entries[i];
}

#define WHEEL "lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2"

/* Checks which one is chosen, by the prefix in the folder, or the whole. */
static void assert_chosen(const char *command, const char *prefix)
{
    const struct ni_env env = {entry};
    char ret[NI_IMAGE_PATH], whole[NI_IMAGE_PATH], file[256];

    (void)snprintf(file, sizeof(file), "%s/%s", dir, command ? command : "");
    (void)snprintf(whole, sizeof(whole), "%s/%s/" WHEEL, dir, prefix);
    ni_choose_nccl(&env, command && strchr(command, '/') ? file : command, &image, ret);
    assert_string_equal(ret, prefix[0] == '-' || prefix[0] == '/' ? prefix : whole);
}

static int begin(void **state)
{
    (void)state;
    memset(&image, 0, sizeof(image));
    memset(entry, 0, sizeof(entry));
    return 0;
}

/* A leftover in /opt, or of a user's packages, is not the command's. */
static void test_leftover(void **state)
{
    (void)state;
    put_library("opt/old", WHEEL);
    put_library("home/.local", WHEEL);
    put_library("/usr/local", WHEEL);
    put_library("/usr/lib/x86_64-linux-gnu", "libnccl.so.2.28.3");
    assert_chosen(NULL, "-");
    set(0, "PATH=@/plain/bin");
    assert_chosen("train", "-");
    set(1, "VIRTUAL_ENV=@/ol"); /* a part of a name is none */
    assert_chosen(NULL, "-");
}

static void test_order(void **state)
{
    char shebang[128];

    (void)state;
    (void)snprintf(shebang, sizeof(shebang), "#! %s/called/bin/python3 -u\n", dir);
    put_program("first", "python3", "");
    put_program("second", "python", "");
    put_program("called", "python3.12", "");
    put_program("first", "torchrun", shebang);
    put_program("first", "other", "#!/bin/sh\n");
    for (const char *const *p =
             (const char *const[]){"called", "second", "first", "conda", "venv", NULL};
         *p; p++)
        put_library(*p, WHEEL);
    set(0, "PATH=/nonesuch:@/first/bin:@/second/bin");
    assert_chosen(NULL, "first");
    assert_chosen("called/bin/python3.12", "called");
    assert_chosen("torchrun", "called"); /* the Python that runs it */
    assert_chosen("other", "first");
    assert_chosen("python", "second"); /* the first one has only python3 */
    set(1, "CONDA_PREFIX=@/conda/");
    assert_chosen(NULL, "conda");
    set(2, "VIRTUAL_ENV=@/venv");
    assert_chosen(NULL, "venv");
    assert_chosen("called/bin/python3.12", "called"); /* it is no other one's Python */
    set(3, "LD_PRELOAD=libfoo.so:libnccl-net.so /opt/lib/libnccl.so.2.30:/x/libnccl.so.2");
    assert_chosen("called/bin/python3.12", "/opt/lib/libnccl.so.2.30");
}

/* Debian's Python of /usr, whose pip writes to /usr/local. */
static void test_debian(void **state)
{
    static const char pip[] = "lib/python3.12/dist-packages/nvidia/nccl/lib/libnccl.so.2";

    (void)state;
    set(0, "VIRTUAL_ENV=/usr");
    put_library("/usr/local", WHEEL); /* of a Python of /usr/local */
    assert_chosen(NULL, "-");
    put_library("/usr/local", pip);
    assert_chosen(NULL, "/usr/local/lib/python3.12/dist-packages/nvidia/nccl/lib/libnccl.so.2");
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup(f, begin)
    const struct CMUnitTest tests[] = {CASE(test_leftover), CASE(test_order), CASE(test_debian)};

    (void)snprintf(dir, sizeof(dir), "/tmp/nccl-init-library-XXXXXX");
    if (!mkdtemp(dir))
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[128];
    (void)snprintf(command, sizeof(command), "rm -rf %s", dir);
    const int r =
        system(command); /* NOLINT(bugprone-command-processor): a path that mkdtemp made */
    return r != 0 ? 1 : failed;
}
