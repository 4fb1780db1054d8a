/* SPDX-License-Identifier: Apache-2.0 */
/* What the image brings for NCCL: names of drivers and providers. */
#include "nccl_init/image.h"

#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/text.h"

/* The drivers to which the functions of HCAs are bound (Linux 6.18 drivers/net, drivers/infiniband/hw),
   and the providers for their devices (rdma-core 56.1 providers/). */
static const struct {
    const char *driver, *provider;
} providers[] = {
    {"mlx5_core", "mlx5"},
    {"mlx4_core", "mlx4"},
    {"bnxt_en", "bnxt_re"},
    {"ice", "irdma"},
    {"i40e", "irdma"},
    {"efa", "efa"},
    {"mana", "mana"},
    {"ionic", "ionic"},
    {"erdma", "erdma"},
    {"hns3", "hns"},
    {"cxgb4", "cxgb4"},
    {"qede", "qedr"},
    {"be2net", "ocrdma"},
    {"hfi1", "hfi1verbs"},
    {"ib_qib", "ipathverbs"},
    {"ib_mthca", "mthca"},
    {"vmw_pvrdma", "vmw_pvrdma"},
    {"", "rxe"},
    {"", "siw"},
};

const char *ni_provider_of(const char *driver)
{
    /* of a sub-function it is "mlx5_core.sf" */
    const struct ni_span name = {driver, strcspn(driver, ".")};

    for (size_t i = 0; name.n > 0 && i < NI_COUNT(providers); i++) {
        if (ni_span_is(name, providers[i].driver))
            return providers[i].provider;
    }
    return NULL;
}

bool ni_is_provider(struct ni_span name)
{
    for (size_t i = 0; i < NI_COUNT(providers); i++) {
        if (ni_span_is(name, providers[i].provider))
            return true;
    }
    return false;
}

const struct ni_image_file *ni_find_in_image(const struct ni_image *image, enum ni_image_kind kind,
                                             const char *name)
{
    for (unsigned i = 0; image && i < image->n_file; i++) {
        const struct ni_image_file *f = &image->file[i];

        if (f->kind == kind && (!name || strcmp(f->name, name) == 0))
            return f;
    }
    return NULL;
}
