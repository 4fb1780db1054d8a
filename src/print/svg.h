/* SPDX-License-Identifier: Apache-2.0 */
/* Text in pictures. */
#ifndef NCCL_INIT_PRINT_SVG_H
#define NCCL_INIT_PRINT_SVG_H

#include "nccl_init/text.h"

/* Puts untrusted text as text of XML. */
void ni_put_xml(struct ni_text *out, const char *s);
/* Puts a line of untrusted text, whose left end is there. */
void ni_put_svg_text(struct ni_text *out, unsigned x, unsigned y, const char *s);

#endif
