/* SPDX-License-Identifier: Apache-2.0 */
/* What the image brings for NCCL, for people and in JSON. */
#ifndef NCCL_INIT_PRINT_IMAGE_H
#define NCCL_INIT_PRINT_IMAGE_H

#include "nccl_init/text.h"
#include "print/json_write.h"
#include "print/words.h"

/* Puts what was found; nothing if nothing was. */
void ni_put_image(struct ni_text *out, const struct ni_view *view);
/* Writes "image"; nothing if nothing was found. */
void ni_json_image(struct ni_json *j, const struct ni_view *view);

#endif
