/* SPDX-License-Identifier: Apache-2.0 */
/* What the image brings for NCCL, by the names of its files. */
#ifndef NCCL_INIT_NODE_IMAGE_H
#define NCCL_INIT_NODE_IMAGE_H

#include "node/read.h"

/* Reads which driver the function of each of the pod's HCAs is bound to. */
void ni_probe_drivers(struct ni_probe *p);
/* Reads the version of the library that the user names, by the names of files. */
void ni_probe_nccl(struct ni_probe *p);
/* Looks through the image, on a real root in a process of its own that is ended after two seconds. */
void ni_probe_image(struct ni_probe *p);

#endif
