/* SPDX-License-Identifier: Apache-2.0 */
/* Text in pictures. */
#include "print/svg.h"

#include <string.h>

#include "nccl_init/text.h"

void ni_put_xml(struct ni_text *out, const char *s)
{
    struct ni_text t = NI_TEXT(1024);

    ni_quote(&t, s);
    for (const char *c = t.buf; *c; c++) {
        if (strchr("<>&\"'", *c))
            ni_putf(out, "&#%d;", *c);
        else
            ni_putn(out, c, 1);
    }
}

void ni_put_svg_text(struct ni_text *out, unsigned x, unsigned y, const char *s)
{
    ni_putf(out, "<text x=\"%u\" y=\"%u\">", x, y);
    ni_put_xml(out, s);
    ni_put(out, "</text>\n");
}

size_t ni_svg_line(const char *s, size_t letters)
{
    size_t n = strlen(s);

    if (n <= letters)
        return n;
    for (n = letters; n > letters / 2; n--) {
        if (s[n] == ' ')
            return n;
    }
    return letters;
}

unsigned ni_put_svg_lines(struct ni_text *out, unsigned x, unsigned y, unsigned high,
                          unsigned letters, unsigned most, const char *s)
{
    unsigned lines = 0;

    for (; *s && lines < most; lines++) {
        const size_t n = ni_svg_line(s, letters);
        struct ni_text line = NI_TEXT(1024);

        ni_putn(&line, s, n);
        ni_put_svg_text(out, x, y + lines * high, line.buf);
        s += n;
        s += *s == ' ';
    }
    return lines;
}
