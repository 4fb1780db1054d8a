/* SPDX-License-Identifier: Apache-2.0 */
/* The readers of environment files, for the tests of report/: each takes the value of `name` out of `text` into `value`;
   false when it refuses the text or does not find the name. sh is the real one; the others are modelled from their sources. */
#ifndef NCCL_INIT_TEST_REPORT_READERS_H
#define NCCL_INIT_TEST_REPORT_READERS_H

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "run/envfile.h"
#include <jansson.h>

enum { FILE_MAX = 65536 + 1 };

static char text[FILE_MAX]; /* a whole file */
static size_t text_len;
static char value[NI_VALUE];

/* The next line as Go's bufio.ScanLines gives it: without "\n" or "\r\n". */
static inline bool go_line(const char **cursor, char *line)
{
    if (!*cursor || !**cursor)
        return false;
    const char *end = strchr(*cursor, '\n');
    size_t n = end ? (size_t)(end - *cursor) : strlen(*cursor);
    memcpy(line, *cursor, n);
    if (n > 0 && line[n - 1] == '\r')
        n--;
    line[n] = '\0';
    *cursor = end ? end + 1 : NULL;
    return true;
}

static inline char *skip_blanks(char *s)
{
    return s + strspn(s, " \t");
}

/* The part of a quoted value that starts behind its quote, over as many lines as it takes: ParseEnv's inner loop. */
static inline bool k8s_quoted(const char **cursor, char *rest, char *line)
{
    value[0] = '\0';
    for (;;) {
        char *quote = strchr(rest, '\'');
        if (quote) {
            *quote = '\0';
            strcat(value, rest);
            char *after = skip_blanks(quote + 1);
            return *after == '\0' || *after == '#';
        }
        strcat(value, rest);
        strcat(value, "\n");
        if (!go_line(cursor, line))
            return false;
        rest = line;
    }
}

/* kubernetes pkg/kubelet/util/env/env_util.go ParseEnv, 1.35 and later. */
static inline bool k8s_read(const char *name)
{
    static char buf[FILE_MAX];
    const char *cursor = text;
    while (go_line(&cursor, buf)) {
        char *line = skip_blanks(buf);
        if (*line == '\0' || *line == '#')
            continue;
        char *eq = strchr(line, '=');
        if (!eq || eq == line || eq[-1] == ' ' || eq[-1] == '\t')
            return false;
        *eq = '\0';
        bool wanted = strcmp(line, name) == 0;
        if (eq[1] == ' ' || eq[1] == '\t') {
            value[0] = '\0';
            if (wanted)
                return true;
            continue;
        }
        if (eq[1] != '\'')
            return false;
        if (!k8s_quoted(&cursor, eq + 2, buf))
            return false;
        if (wanted)
            return true;
    }
    return false;
}

/* The same file in 1.34: bare, trimmed, a backslash at the end joins the next line. */
static inline bool k8s_134_read(const char *name)
{
    static char line[FILE_MAX];
    const char *cursor = text;
    size_t n = strlen(name);
    while (go_line(&cursor, line)) {
        size_t len = strlen(line);
        while (len > 0 && strchr(" \t", line[len - 1]))
            line[--len] = '\0';
        if (len > 0 && line[len - 1] == '\\')
            return false;
        if (strncmp(line, name, n) != 0 || line[n] != '=')
            continue;
        struct ni_span v = ni_trim(ni_span_of(line + n + 1));
        return ni_copyn(value, sizeof(value), v.p, v.n);
    }
    return false;
}

/* docker/cli pkg/kvfile parseKeyValueFile; unquote: as versions do that take off a pair of quotes. */
static inline bool docker_read(const char *name, bool unquote)
{
    static char buf[FILE_MAX];
    const char *cursor = text;
    while (go_line(&cursor, buf)) {
        json_t *valid = json_string(buf); /* utf8.Valid */
        if (!valid)
            return false;
        json_decref(valid);
        char *line = buf + strspn(buf, " \t\r\n\v\f");
        char *eq = strchr(line, '=');
        if (*line == '\0' || *line == '#' || !eq)
            continue;
        *eq = '\0';
        if (eq == line || strpbrk(line, " \t"))
            return false;
        char *v = eq + 1;
        size_t n = strlen(v);
        if (unquote && n >= 2 && (v[0] == '\'' || v[0] == '"') && v[n - 1] == v[0]) {
            v++;
            n -= 2;
        }
        if (strcmp(line, name) == 0)
            return ni_copyn(value, sizeof(value), v, n);
    }
    return false;
}

/* NCCL misc/param.cc setEnvFile, 2.30.7; strip_cr: since 2.30.3. */
static inline bool conf_read(const char *name, bool strip_cr)
{
    static char line[FILE_MAX]; /* NCCL's getline takes lines of any length */
    FILE *f = fmemopen(text, text_len + 1, "r");
    bool found = false;
    assert_non_null(f);
    while (!found && fgets(line, sizeof(line), f)) {
        size_t n = strlen(line);
        if (n > 0 && line[n - 1] == '\n')
            line[--n] = '\0';
        if (strip_cr && n > 0 && line[n - 1] == '\r')
            line[--n] = '\0';
        char *eq = strchr(line, '=');
        if (line[0] == '#' || !eq)
            continue;
        *eq = '\0';
        found = strcmp(line, name) == 0;
        snprintf(value, 1024, "%s", eq + 1);
    }
    fclose(f);
    return found;
}

static inline bool json_read(const char *name)
{
    json_error_t error;
    json_t *all = json_loadb(text, text_len, JSON_REJECT_DUPLICATES, &error);
    const char *v = json_string_value(json_object_get(all, name));
    bool found = v && ni_copy(value, sizeof(value), v);
    json_decref(all);
    return found;
}

/* /bin/sh reads the text itself. */
static inline bool sh_read(const char *name)
{
    char script[256];
    int in = memfd_create("script", 0), out = memfd_create("value", MFD_CLOEXEC);
    assert_true(in >= 0 && out >= 0);
    assert_int_equal(write(in, text, text_len), text_len);
    snprintf(script, sizeof(script), "set -eu; . /proc/self/fd/%d; printf %%s \"$%s\"", in, name);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(out, 1);
        execl("/bin/sh", "sh", "-c", script, (char *)NULL);
        _exit(127);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    ssize_t n = pread(out, value, sizeof(value) - 1, 0);
    close(in);
    close(out);
    if (status != 0 || n < 0)
        return false;
    value[n] = '\0';
    return true;
}

/* Every reader of that form gets exactly `want`. */
static inline void check_readers(enum ni_format format, const char *name, const char *want)
{
    switch (format) {
    case NI_FMT_SH:
        assert_true(sh_read(name));
        break;
    case NI_FMT_K8S:
        assert_true(k8s_read(name));
        assert_string_equal(value, want);
        assert_true(sh_read(name)); /* promised by its own tests */
        break;
    case NI_FMT_DOCKER:
        assert_true(docker_read(name, false));
        assert_string_equal(value, want);
        assert_true(docker_read(name, true));
        assert_string_equal(value, want);
        assert_true(k8s_134_read(name));
        break;
    case NI_FMT_CONF:
        assert_true(conf_read(name, false));
        assert_string_equal(value, want);
        assert_true(conf_read(name, true));
        break;
    case NI_FMT_JSON:
        assert_true(json_read(name));
        break;
    }
    assert_string_equal(value, want);
}

#endif
