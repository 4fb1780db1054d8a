/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include "words.h"

void ni_json_yes_no(struct ni_json *j, const char *key, enum ni_known known)
{
    if (known == NI_KNOWN || known == NI_ABSENT)
        ni_json_bool(j, key, known == NI_KNOWN);
    else
        ni_json_null(j, key);
}

void ni_json_bytes(struct ni_json *j, const char *key, struct ni_num n)
{
    if (n.known == NI_KNOWN && n.v == NI_UNLIMITED)
        ni_json_text(j, key, "unlimited");
    else
        ni_json_num(j, key, n);
}

void ni_json_numa(struct ni_json *j, const struct ni_pci *pci)
{
    if (pci->known == NI_KNOWN)
        ni_json_num(j, "numa", pci->numa);
    else
        ni_json_null(j, "numa");
}

void ni_json_gpu(struct ni_json *j, unsigned index, const struct ni_gpu *gpu)
{
    ni_json_int(j, "gpu", index);
    ni_json_bdf(j, "pci", &gpu->bdf);
    if (gpu->minor < 0)
        ni_json_null(j, "minor");
    else
        ni_json_int(j, "minor", gpu->minor);
    ni_json_text(j, "vendor", gpu->amd ? "amd" : "nvidia");
    ni_json_numa(j, &gpu->pci);
}

void ni_json_hca(struct ni_json *j, const struct ni_hca *hca)
{
    ni_json_text(j, "name", hca->name);
    ni_json_bdf(j, "pci", hca->has_bdf && !hca->aux[0] ? &hca->bdf : NULL);
    ni_json_text_or_null(j, "auxiliary", hca->aux);
    ni_json_bdf(j, "parent", ni_parent(hca));
    ni_json_numa(j, &hca->pci);
}
