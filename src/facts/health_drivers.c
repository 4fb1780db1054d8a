/* SPDX-License-Identifier: Apache-2.0 */
/* Which drivers the node runs, and whether they fit together. Kernel symbols cannot be read from a
   pod; module directories can. */
#include <string.h>

#include "probe.h"

static enum ni_known is_any_there(struct ni_probe *p, const char *a, const char *b)
{
    enum ni_known known = ni_is_there(p, a);
    return known == NI_KNOWN ? known : ni_is_there(p, b) == NI_KNOWN ? NI_KNOWN : known;
}

static void read_line(struct ni_probe *p, const char *path, char *ret, size_t cap)
{
    char buf[NI_PAGE];
    ssize_t n = ni_read(p->root, buf, sizeof(buf), "%s", path);
    struct ni_text t = ni_text_on(ret, cap);
    if (n > 0)
        ni_put_quoted(&t, buf, strcspn(buf, "\n"), cap / 2);
}

/* "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build ...": the
   first word of digits and dots. */
static void nvidia_line(void *ctx, const char *line)
{
    struct ni_health *health = ctx;
    struct ni_span word;
    if (!ni_has_prefix(line, "NVRM version:"))
        return;
    while (ni_split(&line, ' ', &word)) {
        size_t n = strspn(word.p, "0123456789.");
        if (n == word.n && memchr(word.p, '.', n) && word.p[0] != '.') {
            ni_copyn(health->nvidia_version, sizeof(health->nvidia_version), word.p, n);
            return;
        }
    }
}

static void params_line(void *ctx, const char *line)
{
    if (ni_has_prefix(line, "RegistryDwords:") && strstr(line, "PeerMappingOverride=1"))
        *(enum ni_known *)ctx = NI_KNOWN;
}

static void model_line(void *ctx, const char *line)
{
    struct ni_health *health = ctx;
    struct ni_span model = ni_trim(ni_span_of(line + strcspn(line, ":") + 1));
    if (ni_has_prefix(line, "Model:"))
        (void)ni_copyn(health->gpu_model, sizeof(health->gpu_model), model.p, model.n);
}

/* What NVLink between nodes needs, and NVSHMEM. */
static void probe_nvidia_extras(struct ni_probe *p)
{
    static const char params[] = "proc/driver/nvidia/params",
                      channels[] = "dev/nvidia-caps-imex-channels";
    const struct ni_inventory *inv = p->inv;
    struct ni_health *h = &p->inv->health;
    char path[NI_PATH], bdf[NI_BDF_TEXT];
    if (inv->n_gpu == 0 || inv->gpu[0].amd)
        return;
    h->gdrdrv = ni_known_of(ni_openable(p->root, "dev/gdrdrv"));
    h->peer_mapping = NI_ABSENT;
    int err = ni_lines(p->root, params_line, &h->peer_mapping, "%s", params);
    if (err < 0)
        h->peer_mapping =
            ni_known_of(ni_note_unreadable(p, params, err)) == NI_ABSENT ? NI_UNSET : NI_DENIED;
    if (!inv->gdr.c2c)
        return;
    (void)ni_format(path, sizeof(path), "proc/driver/nvidia/gpus/%s/information",
                    ni_bdf_text(inv->gpu[0].bdf, bdf));
    err = ni_lines(p->root, model_line, h, "%s", path);
    if (err < 0)
        ni_note_unreadable(p, path, err);
    err = ni_list(p->root, &p->names, "%s", channels);
    h->imex = err < 0          ? ni_known_of(ni_note_unreadable(p, channels, err))
              : p->names.n > 0 ? NI_KNOWN
                               : NI_ABSENT;
}

void ni_health_drivers(struct ni_probe *p)
{
    struct ni_health *h = &p->inv->health;
    h->ofed = ni_is_there(p, "sys/module/mlx_compat");
    h->nvidia = ni_is_there(p, "sys/module/nvidia");
    if (ni_lines(p->root, nvidia_line, h, "proc/driver/nvidia/version") == 0)
        h->nvidia = NI_KNOWN;
    h->peermem_module = is_any_there(p, "sys/module/nvidia_peermem", "sys/module/nv_peer_mem");
    h->peer_api = ni_is_there(p, "sys/kernel/mm/memory_peers");
    h->peer_client = is_any_there(p, "sys/kernel/mm/memory_peers/nv_mem",
                                  "sys/kernel/mm/memory_peers/nv_mem_nc");
    h->nvidiactl = ni_is_there(p, "dev/nvidiactl");
    h->uvm = ni_is_there(p, "dev/nvidia-uvm");
    read_line(p, "sys/module/mlx5_core/version", h->mlx5_version, sizeof(h->mlx5_version));
    if (!h->nvidia_version[0])
        read_line(p, "sys/module/nvidia/version", h->nvidia_version, sizeof(h->nvidia_version));
    read_line(p, "proc/sys/kernel/osrelease", h->kernel, sizeof(h->kernel));
    probe_nvidia_extras(p);
}
