/* SPDX-License-Identifier: Apache-2.0 */
/* The trial `image`: does this image's libibverbs, with its providers, find and open the HCAs? */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>

#include "rail/verbs.h"
#include "try/try.h"
#include "try/verbs.h"

/* Entries of the completion queue: its memory and its doorbell are a page each, at least. */
enum { ENTRIES = 16 };

/* ---- an HCA ---- */

static void try_hca(struct ibv_device **list, int n, const char *name)
{
    struct ibv_device_attr attr;
    struct ibv_context *context;
    struct ibv_pd *pd;
    int at = 0, err;

    while (at < n && strcmp(ibv_get_device_name(list[at]), name) != 0)
        at++;
    if (at == n) {
        (void)ni_try_say("hca %s find %d", name, ENODEV);
        return;
    }
    (void)ni_try_say("at %s", name);
    errno = 0;
    context = ibv_open_device(list[at]);
    if (!context) {
        (void)ni_try_say("hca %s open %d", name, ni_verbs_error(NULL));
        return;
    }
    err = ibv_query_device(context, &attr);
    if (err != 0) {
        (void)ni_try_say("hca %s device %d", name, err < 0 ? -err : err);
        return;
    }
    errno = 0;
    pd = ibv_alloc_pd(context);
    if (!pd || !ibv_create_cq(context, ENTRIES, NULL, NULL, 0)) {
        (void)ni_try_say("hca %s queue %d", name, ni_verbs_error(NULL));
        return;
    }
    (void)ni_try_say("hca %s done 0", name);
}

void ni_try_image(int n_hca, char *const hcas[])
{
    struct ibv_device **list;
    int n = 0;

    /* then libibverbs says which device has no provider, and which provider cannot be loaded */
    (void)setenv("IBV_SHOW_WARNINGS", "1", 1);
    if (!ni_verbs_load())
        return;
    errno = 0;
    list = ibv_get_device_list(&n);
    (void)ni_try_say("list %d", list ? 0 : ni_verbs_error(NULL));
    if (!list)
        return;
    for (int i = 0; i < n_hca; i++)
        try_hca(list, n, hcas[i]);
}
