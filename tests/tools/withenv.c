/*
 * withenv FILE COMMAND [ARG...]: run COMMAND with exactly the environment in FILE.
 *
 * Each line of FILE is one entry, taken as it is up to its newline; an empty line is none. Unlike env(1), this sets
 * names that no shell can spell (PCIDEVICE_NVIDIA_COM_SRIOV-RDMA-VF) and adds nothing. COMMAND is a path: no PATH search.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_USAGE = 125, EXIT_NO_EXEC = 126, EXIT_NOT_FOUND = 127 };

static int fail(const char *what, int status)
{
    fprintf(stderr, "withenv: %s: %s\n", what, strerror(errno));
    return status;
}

/* Returns a NULL-terminated array, or NULL with errno set. It is never freed: the process execs. */
static char **read_entries(FILE *file)
{
    size_t count = 0;
    size_t room = 16;
    char **entries = malloc(room * sizeof(*entries));

    while (entries != NULL) {
        char *line = NULL;
        size_t size = 0;
        ssize_t len = getline(&line, &size, file);

        if (len < 0) {
            free(line);
            entries[count] = NULL;
            return ferror(file) ? NULL : entries;
        }
        if (line[len - 1] == '\n')
            line[--len] = '\0';
        if (len == 0) {
            free(line);
            continue;
        }
        entries[count++] = line;
        if (count == room) {
            room *= 2;
            entries = reallocarray(entries, room, sizeof(*entries));
        }
    }
    return NULL;
}

int main(int argc, char *argv[])
{
    if (argc < 3) {
        fprintf(stderr, "usage: withenv FILE COMMAND [ARG...]\n");
        return EXIT_USAGE;
    }

    FILE *file = fopen(argv[1], "re");
    if (file == NULL)
        return fail(argv[1], EXIT_USAGE);

    char **entries = read_entries(file);
    if (entries == NULL)
        return fail(argv[1], EXIT_USAGE);

    execve(argv[2], &argv[2], entries);
    return fail(argv[2], errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NO_EXEC);
}
