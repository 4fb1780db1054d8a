/* SPDX-License-Identifier: Apache-2.0 */
/* SRIOVNETWORK_* of the SR-IOV DRA driver (k8snetworkplumbingwg/dra-driver-sriov):
   SRIOVNETWORK_PCI_ADDRESSES is the list for the pod; SRIOVNETWORK_VF_DEVICE_<dev>=<address> and
   SRIOVNETWORK_<dev>_RDMA_DEVICE=<name> say more per device. */
#include <stdio.h>
#include <string.h>

#include "probe.h"

static const char prefix[] = "SRIOVNETWORK_", vf_device[] = "SRIOVNETWORK_VF_DEVICE_",
                  rdma_device[] = "_RDMA_DEVICE";

/* The claim of one <dev>, through its address. */
static struct ni_claim *claim_of(struct ni_probe *p, struct ni_span dev)
{
    char name[NI_DEV_NAME + sizeof(vf_device)];
    struct ni_text t = ni_text_on(name, sizeof(name));
    ni_put(&t, vf_device);
    ni_putn(&t, dev.p, dev.n);
    const char *address = t.cut ? NULL : ni_env_get(p->env, name);
    return address ? ni_find_claim(p->inv, NI_SRC_SRIOVNET, ni_trim(ni_span_of(address))) : NULL;
}

void ni_source_sriovnet(struct ni_probe *p)
{
    const char *vars[NI_MAX_VARS];
    unsigned n = ni_sorted_vars(p, prefix, vars);
    struct ni_span name;
    const char *value;
    for (unsigned i = 0; i < n; i++) {
        if (!ni_env_split(vars[i], &name, &value))
            continue;
        if (ni_span_is(name, "SRIOVNETWORK_PCI_ADDRESSES"))
            ni_add_claims(p, NI_SRC_SRIOVNET, "SRIOVNETWORK_PCI_ADDRESSES", value);
    }
    for (unsigned i = 0; i < n; i++) {
        char var[NI_DEV_NAME + 32];
        struct ni_span id = {"", 0};
        struct ni_text t = ni_text_on(var, sizeof(var));
        if (ni_env_split(vars[i], &name, &value))
            id = ni_trim(ni_span_of(value));
        ni_putn(&t, vars[i], strcspn(vars[i], "="));
        if (ni_has_prefix(vars[i], vf_device) && id.n &&
            !ni_find_claim(p->inv, NI_SRC_SRIOVNET, id))
            ni_add_claim(p, NI_SRC_SRIOVNET, var, id);
    }
    for (unsigned i = 0; i < n; i++) {
        size_t head = sizeof(prefix) - 1, tail = sizeof(rdma_device) - 1;
        if (!ni_env_split(vars[i], &name, &value) || name.n <= head + tail ||
            memcmp(name.p + name.n - tail, rdma_device, tail) != 0)
            continue;
        struct ni_claim *c = claim_of(p, (struct ni_span){name.p + head, name.n - head - tail});
        if (c)
            ni_note_rdma_dev(p, c, "SRIOVNETWORK_*_RDMA_DEVICE", value);
    }
}
