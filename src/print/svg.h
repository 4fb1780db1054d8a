/* SPDX-License-Identifier: Apache-2.0 */
/* Text in pictures. */
#ifndef NCCL_INIT_PRINT_SVG_H
#define NCCL_INIT_PRINT_SVG_H

#include <stddef.h>

#include "nccl_init/text.h"

/* Puts untrusted text as text of XML. */
void ni_put_xml(struct ni_text *out, const char *s);
/* Puts a line of untrusted text, whose left end is there. */
void ni_put_svg_text(struct ni_text *out, unsigned x, unsigned y, const char *s);
/* Returns how many bytes of the text are its next line, of so many letters at most: up to a blank, if
   one is near. */
size_t ni_svg_line(const char *s, size_t letters);
/* Puts untrusted text in lines, `high` below each other; those beyond `most` are left out. Returns
   their number. */
unsigned ni_put_svg_lines(struct ni_text *out, unsigned x, unsigned y, unsigned high,
                          unsigned letters, unsigned most, const char *s);

#endif
