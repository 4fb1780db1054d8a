/* SPDX-License-Identifier: Apache-2.0 */
/* The program's options, read from a command line or an environment as main does it. */
#ifndef NCCL_INIT_TEST_ARGS_H
#define NCCL_INIT_TEST_ARGS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/context.h"
#include "cli/option.h"
#include "cli/options.h"
#include "cli/program.h"
#include "main.h"
#include "nccl_init/env.h"
#include "nccl_init/text.h"
#include <cmocka.h>

enum { ARGS = 16 };

static struct ni_context context;
static struct ni_options *const options = &context.options;
static char *argv[ARGS + 1];
static char said[512]; /* what the last call wrote on standard error */

static inline int reset(void **state)
{
    (void)state;
    memset(&context, 0, sizeof(context));
    context.program = &ni_main_program;
    ni_options_init(&context);
    return 0;
}

/* Standard error is a file while they are read. */
static int saved_stderr;

static inline void listen(void)
{
    int fd = memfd_create("stderr", MFD_CLOEXEC);

    assert_true(fd >= 0);
    saved_stderr = dup(STDERR_FILENO);
    (void)dup2(fd, STDERR_FILENO);
    (void)close(fd);
}

static inline void heard(void)
{
    ssize_t n = pread(STDERR_FILENO, said, sizeof(said) - 1, 0);

    said[n < 0 ? 0 : n] = '\0';
    (void)dup2(saved_stderr, STDERR_FILENO);
    (void)close(saved_stderr);
}

/* Parses words, separated by blanks, behind argv[0]; `_` is an empty word. */
static inline int parse(unsigned verb, const char *line)
{
    static char text[1024];
    int argc = 1, r;

    assert_true(ni_copy(text, sizeof(text), line));
    argv[0] = text + sizeof(text) - 1;
    for (char *p = strtok(text, " "); p && argc < ARGS; p = strtok(NULL, " ")) {
        if (strcmp(p, "_") == 0)
            *p = '\0';
        argv[argc++] = p;
    }
    argv[argc] = NULL;
    context.verb = verb;
    context.taken = 0;
    context.separator = false;
    listen();
    r = ni_args_parse(&context, argv + 1);
    heard();
    return r;
}

static inline int parse_env(unsigned verb, char *const entry[], enum ni_env_of of, uint64_t taken)
{
    const struct ni_env env = {entry};
    int r;

    context.verb = verb;
    context.taken = taken;
    listen();
    r = ni_args_env(&context, &env, of);
    heard();
    return r;
}

static inline unsigned number(const char *name)
{
    for (unsigned i = 0; i < ni_options_count(&ni_main_program); i++)
        if (strcmp(ni_option_at(&ni_main_program, i)->name, name) == 0)
            return i;
    fail_msg("no option %s", name);
    return 0;
}

static inline const struct ni_option *option(const char *name)
{
    return ni_option_at(&ni_main_program, number(name));
}

static inline int take(const char *name, const char *value)
{
    return ni_option_take(&context, number(name), value);
}

static inline uint64_t bit(const char *name)
{
    return UINT64_C(1) << number(name);
}

#endif
