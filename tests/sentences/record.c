/* SPDX-License-Identifier: Apache-2.0 */
/* Appends each text that a program of this build renders to the file NCCL_INIT_SENTENCES, as "FORMAT<tab>TEXT", with
   newlines, tabs and backslashes escaped. The linker puts these functions in place of those of the same name
   (tests/CMakeLists.txt). tests/sentences/check compares the file with the formats in the sources. */
#include "nccl_init/text.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void __real_ni_vputf(struct ni_text *t, const char *fmt,
                     va_list ap); /* NOLINT: the linker's name */
void __wrap_ni_vputf(struct ni_text *t, const char *fmt, va_list ap); /* NOLINT */
void __wrap_ni_putf(struct ni_text *t, const char *fmt, ...);         /* NOLINT */
void __real_ni_put(struct ni_text *t, const char *s);                 /* NOLINT */
void __wrap_ni_put(struct ni_text *t, const char *s);                 /* NOLINT */
bool __wrap_ni_format(char *buf, size_t cap, const char *fmt, ...);   /* NOLINT */

enum { TEXT = 2000, SEEN = 1 << 20, EACH = 250 };

/* Leaves out a text that differs from an earlier one only in digits, or whose format came EACH times. The first text of a
   format is always kept, even if its hash is that of another text. */
static bool is_new(const char *fmt, const char *text)
{
    static bool seen[SEEN];
    /* how often each format came, by its address: a program has less than 1 MiB of them */
    static unsigned char often[SEEN];
    uint64_t hash = 14695981039346656037U;
    const size_t at = (uintptr_t)fmt % SEEN;

    for (const char *s = text; *s; s++)
        if (!ni_is_digit(*s))
            hash = (hash ^ (unsigned char)*s) * 1099511628211U;
    hash ^= hash >> 32;
    if (often[at] >= EACH || (often[at] && seen[hash % SEEN]))
        return false;
    seen[hash % SEEN] = true;
    often[at]++;
    return true;
}

static size_t escape(char *to, const char *s)
{
    size_t n = 0;

    for (size_t i = 0; s[i] && i < TEXT; i++) {
        const char *special = strchr("\\\n\t", s[i]);

        if (special)
            to[n++] = '\\';
        to[n++] = special ? "\\nt"[special - "\\\n\t"] : s[i];
    }
    return n;
}

/* The variable is looked up once, since an environment may have very many. The file is opened each time: some programs
   close the descriptors that they do not know. */
static void record(const char *fmt, const char *text)
{
    static const char *path;
    static bool is_known;
    char line[4 * TEXT + 8];
    size_t n;
    int file;

    if (!is_known)
        path = getenv("NCCL_INIT_SENTENCES");
    is_known = true;
    if (!path || !*path || !is_new(fmt, text))
        return;
    file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0)
        return;
    n = escape(line, fmt);
    line[n++] = '\t';
    n += escape(line + n, text);
    line[n++] = '\n';
    (void)!write(file, line, n);
    (void)close(file);
}

void __wrap_ni_vputf(struct ni_text *t, const char *fmt, va_list ap) /* NOLINT */
{
    const size_t before = t->len;

    __real_ni_vputf(t, fmt, ap);
    if (t->len >= before) /* what was there may have been written out */
        record(fmt, t->buf + before);
}

void __wrap_ni_putf(struct ni_text *t, const char *fmt, ...) /* NOLINT */
{
    va_list ap;

    va_start(ap, fmt);
    __wrap_ni_vputf(t, fmt, ap);
    va_end(ap);
}

/* The bounds of the program's own data, which the linker names. */
extern const char __executable_start[], edata[]; /* NOLINT */

/* A literal without conversions is its own format. Other texts are none: a hostile environment has very many. */
void __wrap_ni_put(struct ni_text *t, const char *s) /* NOLINT */
{
    __real_ni_put(t, s);
    if (s >= __executable_start && s < edata)
        record(s, s);
}

bool __wrap_ni_format(char *buf, size_t cap, const char *fmt, ...) /* NOLINT */
{
    struct ni_text t = ni_text_on(buf, cap);
    va_list ap;

    va_start(ap, fmt);
    __wrap_ni_vputf(&t, fmt, ap);
    va_end(ap);
    return !t.cut;
}
