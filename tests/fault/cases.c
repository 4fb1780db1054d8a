/* SPDX-License-Identifier: Apache-2.0 */
/* The golden cases, as tests/golden/run states their form. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject.h"
#include "nccl_init/text.h"

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

unsigned golden_names(char names[][64], unsigned max)
{
    unsigned n = 0;
    DIR *dir = opendir("tests/golden");

    for (struct dirent *e; dir && n < max && (e = readdir(dir));) {
        char path[512];
        snprintf(path, sizeof(path), "tests/golden/%s/case", e->d_name);
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "re");
        if (!f)
            continue;
        (void)fclose(f);
        n += ni_copy(names[n], sizeof(names[n]), e->d_name);
    }
    if (dir)
        closedir(dir);
    qsort(names, n, sizeof(names[0]), by_name);
    return n;
}

static void split_args(struct golden *g)
{
    for (char *p = g->args; *p && g->n_arg < MAX_ARGS;) {
        g->arg[g->n_arg++] = p;
        p += strcspn(p, " ");
        while (*p == ' ')
            *p++ = '\0';
    }
}

static bool read_case(struct golden *ret)
{
    char path[512], line[512];

    snprintf(path, sizeof(path), "tests/golden/%s/case", ret->name);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\n")] = '\0';
        if (ni_has_prefix(line, "node "))
            snprintf(ret->tree, sizeof(ret->tree), "tests/nodes/%.100s.tree", line + 5);
        else if (ni_has_prefix(line, "args "))
            (void)ni_copy(ret->args, sizeof(ret->args), line + 5);
    }
    if (f)
        (void)fclose(f);
    split_args(ret);
    return f && ret->tree[0];
}

bool golden_read(const char *name, struct golden *ret)
{
    char path[512];
    unsigned n = 0;

    memset(ret, 0, sizeof(*ret));
    (void)ni_copy(ret->name, sizeof(ret->name), name);
    if (!read_case(ret))
        return false;
    snprintf(path, sizeof(path), "tests/golden/%s/env", name);
    FILE *f = fopen(path, "re");
    if (!f)
        return true; /* an empty environment */
    size_t len = fread(ret->text, 1, sizeof(ret->text) - 1, f);
    (void)fclose(f);
    for (char *p = ret->text; p < ret->text + len && n < MAX_ENTRIES;) {
        size_t line = strcspn(p, "\n");
        p[line] = '\0';
        if (line > 0)
            ret->env[n++] = p;
        p += line + 1;
    }
    return len < sizeof(ret->text) - 1 && n < MAX_ENTRIES;
}
