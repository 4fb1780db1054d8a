/* SPDX-License-Identifier: Apache-2.0 */
/* The settings as an environment file. */
#ifndef NCCL_INIT_RUN_ENVFILE_H
#define NCCL_INIT_RUN_ENVFILE_H

#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "print/words.h"

/* In the order of the words of --format. */
enum ni_format { NI_FMT_SH, NI_FMT_K8S, NI_FMT_DOCKER, NI_FMT_CONF, NI_FMT_JSON };

/* Puts the settings that rules decided, one per line, in the given form. NULL; or the setting whose
   value the format cannot carry, and nothing is put. JSON also has the GPUs, if there are any, with
   the ports that each is to use. */
const struct ni_setting *ni_put_env(struct ni_text *out, const struct ni_view *view,
                                    enum ni_format format);

#endif
