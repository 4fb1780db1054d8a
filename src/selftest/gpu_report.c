/* SPDX-License-Identifier: Apache-2.0 */
/* The report of the trial of GPU memory: for people a matrix of GPUs and ports, for programs JSON. */
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/errno.h"
#include "nccl_init/inventory.h"
#include "nccl_init/pci.h"
#include "nccl_init/text.h"
#include "nccl_init/tried_gpu.h"
#include "print/json_write.h"
#include "print/layout.h"
#include "print/words.h"
#include "selftest/gpu.h"

static const char *const words[NI_GPU_VERDICTS] = {
    [NI_GPU_UNTRIED] = "not tried", [NI_GPU_FAILED] = "failed", [NI_GPU_WRONG] = "wrong bytes",
    [NI_GPU_LATE] = "late",         [NI_GPU_PASSED] = "passed",
};

static unsigned count(const struct ni_gpu_trial *all, enum ni_gpu_verdict verdict)
{
    unsigned n = 0;

    for (unsigned i = 0; i < all->n; i++)
        n += all->pair[i].verdict == verdict;
    return n;
}

static void put_count(struct ni_text *t, const struct ni_gpu_trial *all,
                      enum ni_gpu_verdict verdict)
{
    const unsigned n = count(all, verdict);

    if (n > 0)
        ni_putf(t, ", %u %s", n, words[verdict]);
}

bool ni_gpus_pass(const struct ni_gpu_trial *all, struct ni_text *how)
{
    if (!all) {
        ni_put(how, "GPU memory: the trial could not be started");
        return false;
    }
    if (all->n == 0) {
        ni_put(how, all->no_gpu ? "GPU memory: the pod has no GPU"
                                : "GPU memory: there is no port to try it with");
        return all->no_gpu;
    }
    ni_putf(how, "GPU memory: %u of %u pair%s of GPU and port passed", all->passed, all->n,
            ni_plural(all->n));
    for (enum ni_gpu_verdict v = NI_GPU_FAILED; v < NI_GPU_PASSED; v++)
        put_count(how, all, v);
    put_count(how, all, NI_GPU_UNTRIED);
    if (count(all, NI_GPU_UNTRIED) > 0)
        ni_putf(how, " (%s%s)", count(all, NI_GPU_UNTRIED) > 1 ? "first: " : "", all->untried);
    if (all->left_out > 0)
        ni_putf(how, ", %u more left out", all->left_out);
    return all->passed == all->n && all->left_out == 0;
}

/* ---- the matrix ---- */

unsigned ni_list_gpu_ports(const struct ni_gpu_trial *all, int ports[NI_MAX_CHOSEN])
{
    unsigned n = 0;

    for (unsigned i = 0; i < all->n; i++) {
        unsigned at = 0;

        while (at < n && ports[at] != all->pair[i].port)
            at++;
        if (at == n && n < NI_MAX_CHOSEN)
            ports[n++] = all->pair[i].port;
    }
    return n;
}

const struct ni_gpu_pair *ni_find_gpu_pair(const struct ni_gpu_trial *all, int gpu, int port)
{
    for (unsigned i = 0; i < all->n; i++) {
        if (all->pair[i].gpu == gpu && all->pair[i].port == port)
            return &all->pair[i];
    }
    return NULL;
}

void ni_put_gigabytes(struct ni_text *t, int64_t mbps)
{
    enum { GIGABYTE = 8000 };
    const long long tenths = (long long)(mbps + 400) / 800;
    const long long hundredths = (long long)(mbps + 40) / 80;

    if (mbps <= 0)
        ni_put(t, "?");
    else if (mbps < GIGABYTE)
        ni_putf(t, "%lld.%02lld", hundredths / 100, hundredths % 100);
    else
        ni_putf(t, "%lld.%lld", tenths / 10, tenths % 10);
}

static void put_cell(struct ni_text *t, const struct ni_gpu_pair *p)
{
    switch (p->verdict) {
    case NI_GPU_PASSED:
    case NI_GPU_LATE:
        ni_put_gigabytes(t, p->told.in_mbps);
        ni_put(t, "/");
        ni_put_gigabytes(t, p->told.out_mbps);
        if (p->verdict == NI_GPU_LATE)
            ni_put(t, " late");
        if (p->slow)
            ni_put(t, " slow");
        break;
    case NI_GPU_FAILED:
        ni_putf(t, "failed: %s", ni_gdr_step_text(p->told.step));
        break;
    case NI_GPU_WRONG:
        ni_put(t, "WRONG BYTES");
        break;
    case NI_GPU_UNTRIED:
    case NI_GPU_VERDICTS:
        ni_put(t, "not tried");
        break;
    }
}

/* Returns the colour of a GPU's row: that of its worst pair. */
static enum ni_tint tint_of(const struct ni_gpu_trial *all, int gpu)
{
    enum ni_tint ret = NI_GREEN;

    for (unsigned i = 0; i < all->n; i++) {
        const struct ni_gpu_pair *p = &all->pair[i];

        if (p->gpu != gpu)
            continue;
        if (p->verdict == NI_GPU_WRONG || p->verdict == NI_GPU_FAILED)
            return NI_RED;
        if (p->verdict != NI_GPU_PASSED || p->slow)
            ret = NI_YELLOW;
    }
    return ret;
}

/* Puts the ways that were taken: ", by dma-buf"; nothing, if none was. */
static void put_ways(struct ni_text *t, const struct ni_gpu_trial *all)
{
    const char *between = ", by ";

    for (enum ni_gdr_way way = NI_WAY_DIRECT; way < NI_WAYS; way++) {
        bool any = false;

        for (unsigned i = 0; i < all->n; i++)
            any = any || all->pair[i].told.way == way;
        if (!any)
            continue;
        ni_putf(t, "%s%s", between, ni_gdr_way_text(way));
        between = ", ";
    }
}

void ni_put_gpu_trial(struct ni_text *out, const struct ni_view *view,
                      const struct ni_gpu_trial *all)
{
    const long long ms = (long long)all->took_ms;
    struct ni_text head = NI_TEXT(NI_MAX_CHOSEN * 80);
    int ports[NI_MAX_CHOSEN];
    const unsigned n = ni_list_gpu_ports(all, ports);

    if (all->n == 0)
        return;
    ni_put(out, "\nGPU memory");
    put_ways(out, all);
    ni_putf(out, ", %lld.%02lld s; GB/s from host to GPU / from GPU to host\n", ms / 1000,
            ms % 1000 / 10);
    ni_put(&head, "GPU");
    for (unsigned i = 0; i < n; i++)
        ni_putf(&head, "\t%s", ni_port_name(view->inv, ports[i]).text);
    struct ni_text table = ni_table_on(head.buf);
    for (unsigned g = 0; g < all->n_gpu; g++) {
        struct ni_text *t = ni_row(&table, tint_of(all, all->gpu[g]));
        char bdf[NI_BDF_TEXT];

        ni_put(t, ni_bdf_text(view->inv->gpu[all->gpu[g]].bdf, bdf));
        for (unsigned i = 0; i < n; i++) {
            const struct ni_gpu_pair *p = ni_find_gpu_pair(all, all->gpu[g], ports[i]);

            ni_cell(t);
            if (p)
                put_cell(t, p);
        }
    }
    ni_table_write(out, &table, view->colour);
}

/* ---- JSON ---- */

static void pair_json(struct ni_json *j, const struct ni_view *view, const struct ni_gpu_pair *p)
{
    const struct ni_tried_pair *x = &p->told;
    const struct ni_port *port = &view->inv->port[p->port];

    ni_json_object(j, NULL);
    ni_json_bdf(j, "gpu", &view->inv->gpu[p->gpu].bdf);
    ni_json_text(j, "hca", view->inv->hca[port->hca].name);
    ni_json_int(j, "port", port->num);
    ni_json_text(j, "result", words[p->verdict]);
    ni_json_bool(j, "slow", p->slow);
    ni_json_text(j, "step", x->begun ? ni_gdr_step_text(x->step) : NULL);
    ni_json_text(j, "way", x->way != NI_WAY_NONE ? ni_gdr_way_text(x->way) : NULL);
    ni_json_text_or_null(j, "why", p->why);
    ni_json_text(j, "errno", ni_errno_name(x->err));
    ni_json_int_or_null(j, "wc_status", x->wc != 0, x->wc);
    ni_json_int_or_null(j, "cuda", x->cuda != 0, x->cuda);
    ni_json_int_or_null(j, "wrong_bytes", x->wrong > 0, (int64_t)x->wrong);
    ni_json_int_or_null(j, "wrong_first", x->wrong > 0, (int64_t)x->first);
    ni_json_int_or_null(j, "wrong_holds", x->wrong > 0 && x->holds >= 0, x->holds);
    ni_json_int_or_null(j, "to_gpu_mbps", x->in_mbps > 0, x->in_mbps);
    ni_json_int_or_null(j, "from_gpu_mbps", x->out_mbps > 0, x->out_mbps);
    ni_json_int_or_null(j, "took_us", x->took_us > 0, x->took_us);
    ni_json_end(j);
}

void ni_json_gpu_trial(struct ni_json *j, const struct ni_view *view,
                       const struct ni_gpu_trial *all)
{
    ni_json_object(j, "gpu");
    ni_json_int(j, "took_ms", all->took_ms);
    ni_json_int(j, "passed", all->passed);
    ni_json_int(j, "left_out", all->left_out);
    ni_json_text_or_null(j, "library", all->library);
    ni_json_text_or_null(j, "untried", all->untried);
    ni_json_array(j, "gpus");
    for (unsigned i = 0; i < all->n_gpu; i++) {
        const struct ni_tried_pair *x = &all->told[i];

        ni_json_object(j, NULL);
        ni_json_bdf(j, "bdf", &view->inv->gpu[all->gpu[i]].bdf);
        ni_json_int_or_null(j, "driver", x->driver > 0, x->driver);
        ni_json_int_or_null(j, "context_us", x->took_us > 0, x->took_us);
        ni_json_int_or_null(j, "cuda", x->cuda != 0, x->cuda);
        ni_json_end(j);
    }
    ni_json_end(j);
    ni_json_array(j, "pairs");
    for (unsigned i = 0; i < all->n; i++)
        pair_json(j, view, &all->pair[i]);
    ni_json_end(j);
    ni_json_end(j);
}
