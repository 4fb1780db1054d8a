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
