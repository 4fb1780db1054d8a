/* SPDX-License-Identifier: Apache-2.0 */
/* What doctor asks of the node's drivers: which ones it runs, and whether they fit together. Kernel
   symbols cannot be read from a pod; module directories can. */
#include <string.h>

#include "probe.h"

static enum ni_known is_any_there(struct ni_probe *p, const char *a, const char *b)
{
    enum ni_known known = ni_is_there(p, "%s", a);
    return known == NI_KNOWN ? known : ni_is_there(p, "%s", b) == NI_KNOWN ? NI_KNOWN : known;
}

static void read_version(struct ni_probe *p, const char *path, char *ret, size_t cap)
{
    char buf[NI_PAGE];
    struct ni_text t = ni_text_on(ret, cap);
    if (ni_read(p->root, buf, sizeof(buf), "%s", path) > 0)
        ni_put_quoted(&t, buf, strcspn(buf, "\n"), cap / 2);
}

/* "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build ...": the
   first word of digits and dots. */
static void nvidia_line(void *ctx, const char *line)
{
    struct ni_drivers *d = ctx;
    struct ni_span word;
    if (!ni_has_prefix(line, "NVRM version:"))
        return;
    while (!d->nvidia_version[0] && ni_word(&line, &word)) {
        if (strspn(word.p, "0123456789.") == word.n && memchr(word.p, '.', word.n) &&
            word.p[0] != '.')
            ni_copyn(d->nvidia_version, sizeof(d->nvidia_version), word.p, word.n);
    }
}

static void params_line(void *ctx, const char *line)
{
    if (ni_has_prefix(line, "RegistryDwords:") && strstr(line, "PeerMappingOverride=1"))
        *(enum ni_known *)ctx = NI_KNOWN;
}

static void model_line(void *ctx, const char *line)
{
    struct ni_drivers *d = ctx;
    struct ni_span model = ni_trim(ni_span_of(line + strcspn(line, ":") + 1));
    if (ni_has_prefix(line, "Model:"))
        (void)ni_copyn(d->gpu_model, sizeof(d->gpu_model), model.p, model.n);
}

/* What NVSHMEM needs. */
static void probe_ibgda(struct ni_probe *p)
{
    struct ni_drivers *d = &p->inv->drivers;
    d->gdrdrv = ni_known_of(ni_openable(p->root, "dev/gdrdrv"));
    d->peer_mapping = NI_ABSENT;
    const enum ni_known known =
        ni_read_lines(p, NI_OPTIONAL, params_line, &d->peer_mapping, "proc/driver/nvidia/params");
    if (known != NI_KNOWN)
        d->peer_mapping = known == NI_ABSENT ? NI_UNSET : NI_DENIED;
}

/* What NVLink between nodes needs. */
static void probe_imex(struct ni_probe *p)
{
    struct ni_drivers *d = &p->inv->drivers;
    char bdf[NI_BDF_TEXT];
    ni_read_lines(p, NI_OPTIONAL, model_line, d, "proc/driver/nvidia/gpus/%s/information",
                  ni_bdf_text(p->inv->gpu[0].bdf, bdf));
    d->imex = ni_read_names(p, p->root, NI_OPTIONAL, &p->names, "dev/nvidia-caps-imex-channels");
    if (d->imex == NI_KNOWN && p->names.n == 0)
        d->imex = NI_ABSENT;
}

void ni_health_drivers(struct ni_probe *p)
{
    const struct ni_inventory *inv = p->inv;
    struct ni_drivers *d = &p->inv->drivers;
    d->nvidiactl = ni_is_there(p, "dev/nvidiactl");
    d->uvm = ni_is_there(p, "dev/nvidia-uvm");
    d->ofed = ni_is_there(p, "sys/module/mlx_compat");
    d->peermem = is_any_there(p, "sys/module/nvidia_peermem", "sys/module/nv_peer_mem");
    d->peer_api = ni_is_there(p, "sys/kernel/mm/memory_peers");
    d->peer_client = is_any_there(p, "sys/kernel/mm/memory_peers/nv_mem",
                                  "sys/kernel/mm/memory_peers/nv_mem_nc");
    read_version(p, "sys/module/mlx5_core/version", d->mlx5_version, sizeof(d->mlx5_version));
    (void)ni_lines(p->root, nvidia_line, d, "proc/driver/nvidia/version");
    if (!d->nvidia_version[0])
        read_version(p, "sys/module/nvidia/version", d->nvidia_version, sizeof(d->nvidia_version));
    if (inv->n_gpu == 0 || inv->gpu[0].amd)
        return;
    probe_ibgda(p);
    if (inv->gdr.c2c)
        probe_imex(p);
}
