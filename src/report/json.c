/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

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
    ni_json_bdf(j, "pci", gpu->bdf);
    if (gpu->minor < 0)
        ni_json_null(j, "minor");
    else
        ni_json_int(j, "minor", gpu->minor);
    ni_json_text(j, "vendor", gpu->amd ? "amd" : "nvidia");
    ni_json_numa(j, &gpu->pci);
}

void ni_json_hca(struct ni_json *j, const struct ni_hca *hca)
{
    /* a sub-function has no PCI address; the one it was read with is its parent's */
    const bool sf = hca->has_bdf && hca->aux[0];
    ni_json_text(j, "name", hca->name);
    if (hca->has_bdf && !sf)
        ni_json_bdf(j, "pci", hca->bdf);
    else
        ni_json_null(j, "pci");
    ni_json_text_or_null(j, "auxiliary", hca->aux);
    if (hca->is_vf || sf)
        ni_json_bdf(j, "parent", hca->is_vf ? hca->pf : hca->bdf);
    else
        ni_json_null(j, "parent");
    ni_json_numa(j, &hca->pci);
}

void ni_json_finding(struct ni_json *j, const struct ni_finding *f)
{
    const struct ni_finding_kind *kind = ni_finding_kind(f->id);
    ni_json_object(j, NULL);
    ni_json_text(j, "id", kind->id);
    ni_json_text(j, "severity", ni_severity_text(kind->severity));
    ni_json_text(j, "subject", f->subject);
    ni_json_text(j, "message", f->message);
    ni_json_text(j, "hint", kind->hint);
    ni_json_end(j);
}

void ni_json_findings(struct ni_json *j, const struct ni_findings *all, bool worst_first)
{
    static const enum ni_severity order[] = {NI_ERROR, NI_WARNING, NI_INFO};
    ni_json_array(j, "findings");
    for (unsigned i = 0; !worst_first && i < all->n; i++)
        ni_json_finding(j, &all->at[i]);
    for (size_t k = 0; worst_first && k < NI_COUNT(order); k++)
        for (unsigned i = 0; i < all->n; i++)
            if (ni_finding_kind(all->at[i].id)->severity == order[k])
                ni_json_finding(j, &all->at[i]);
    ni_json_end(j);
}
