/* SPDX-License-Identifier: Apache-2.0 */
/* Lines to the program that started this one. */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "try/try.h"

int ni_try_words = STDOUT_FILENO;

bool ni_try_say(const char *fmt, ...)
{
    char line[1024];
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
    va_end(ap);
    if (n < 0)
        return false;
    if (n > (int)sizeof(line) - 2)
        n = (int)sizeof(line) - 2;
    for (int i = 0; i < n; i++) {
        if (line[i] == '\n')
            line[i] = ' '; /* the loader's words */
    }
    line[n] = '\n';
    return write(ni_try_words, line, (size_t)n + 1) == n + 1;
}
