/* SPDX-License-Identifier: Apache-2.0 */
/* Variables that the user set, and those of an nccl.conf: lines NAME=VALUE, behind a form feed those
   of the file. They stay as they are, whatever they say; only what they left open is decided. */
#include "lib/sources.h"

#include "cli/option.h"
#include "nccl_init/text.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char given[] = "PCIDEVICE_X=0000:03:00.2,0000:23:00.2";
    struct fuzz_input in = {(const char *)data, size}, lines;
    struct pod *one = sources_pod(POD_ONE), *other = sources_pod(POD_OTHER);
    struct ni_span part = {"", 0}, line;

    (void)fuzz_piece(&in, '\f', &part);
    lines = (struct fuzz_input){part.p, part.n};
    (void)pod_env(one, given, sizeof(given) - 1);
    while (one->n_entry < 64 && fuzz_piece(&lines, '\n', &line))
        (void)pod_env(one, line.p, line.n);
    if (in.n > 0)
        slots_fill(sources_node(), "etc/nccl.conf", in.p, in.n);
    one->ctx.verb = NI_VERB_RUN;
    pod_decide(one);
    check_pod(one);
    pod_share(other, one);
    pod_reverse_env(other);
    pod_decide(other);
    check_same(&one->ctx, &other->ctx, "in the opposite order");
    slots_reset(sources_node());
    pod_free_entries(one);
    return 0;
}
