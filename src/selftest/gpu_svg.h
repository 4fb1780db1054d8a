/* SPDX-License-Identifier: Apache-2.0 */
/* The trial of GPU memory, as a picture. */
#ifndef NCCL_INIT_SELFTEST_GPU_SVG_H
#define NCCL_INIT_SELFTEST_GPU_SVG_H

#include "nccl_init/text.h"
#include "print/words.h"
#include "selftest/gpu.h"

/* Draws the matrix of GPUs and ports, which has a pair at least. */
void ni_put_gpu_svg(struct ni_text *out, const struct ni_view *view,
                    const struct ni_gpu_trial *all);

#endif
