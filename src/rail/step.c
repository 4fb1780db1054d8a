/* SPDX-License-Identifier: Apache-2.0 */
/* Words for the steps of a trial, and for its measurements. */
#include "rail/step.h"

#include "nccl_init/base.h"
#include "nccl_init/errno.h"
#include "nccl_init/text.h"

const char *ni_pair_step_text(enum ni_pair_step step)
{
    static const char *const text[] = {
        [NI_PAIR_START] = "start",        [NI_PAIR_FIND] = "find",
        [NI_PAIR_OPEN] = "open",          [NI_PAIR_DEVICE] = "device",
        [NI_PAIR_PORT] = "port",          [NI_PAIR_ALLOCATE] = "allocate",
        [NI_PAIR_REGISTER] = "register",  [NI_PAIR_GID] = "gid",
        [NI_PAIR_QUEUES] = "queue pairs", [NI_PAIR_CONNECT] = "connect",
        [NI_PAIR_SMALL] = "small writes", [NI_PAIR_IDENTITY] = "identity",
        [NI_PAIR_WRITE] = "bulk writes",  [NI_PAIR_READ] = "bulk reads",
        [NI_PAIR_COMPARE] = "compare",    [NI_PAIR_DONE] = "done",
    };

    return (unsigned)step < NI_COUNT(text) ? text[step] : "?";
}

const char *ni_wc_name(int wc)
{
    static const char *const name[] = {
        [NI_WC_LOC_QP_OP] = "IBV_WC_LOC_QP_OP_ERR", [NI_WC_LOC_PROT] = "IBV_WC_LOC_PROT_ERR",
        [NI_WC_WR_FLUSH] = "IBV_WC_WR_FLUSH_ERR",   [NI_WC_REM_ACCESS] = "IBV_WC_REM_ACCESS_ERR",
        [NI_WC_RETRY_EXC] = "IBV_WC_RETRY_EXC_ERR",
    };

    return (unsigned)wc < NI_COUNT(name) ? name[wc] : NULL;
}

void ni_put_failure(struct ni_text *t, const struct ni_pair_result *x)
{
    const char *name = ni_errno_name(x->err);

    ni_putf(t, "%s: ", ni_pair_step_text(x->step));
    if (x->silent)
        ni_put(t, "no answer in time");
    else if (x->wc)
        ni_putf(t, "%s (status %d)",
                x->wc == NI_WC_RETRY_EXC ? ni_wc_name(x->wc) : "completion error", x->wc);
    else if (x->step == NI_PAIR_IDENTITY)
        ni_put(t, "another port answered: is an address there twice?");
    else if (x->step == NI_PAIR_COMPARE)
        ni_put(t, "other bytes came back than were sent");
    else
        ni_put(t, name ? name : "failed");
    if (x->step == NI_PAIR_FIND)
        ni_put(t, ": libibverbs does not list the HCA; does its uverbs node exist, and open?");
    if (x->step > NI_PAIR_IDENTITY && x->wc == NI_WC_RETRY_EXC)
        ni_put(t, "; small ones passed: large packets are dropped (MTU of a switch?)");
}

int64_t ni_divide_measured(int64_t value, int64_t by)
{
    const int64_t quotient = value / by;

    return value > 0 && quotient == 0 ? 1 : quotient;
}

void ni_put_speed(struct ni_text *t, int64_t mbps)
{
    if (mbps > 0 && mbps < 10)
        ni_putf(t, "0.00%lld", (long long)mbps);
    else if (mbps > 0 && mbps < 1000)
        ni_putf(t, "0.%02lld", (long long)mbps / 10);
    else if (mbps > 0)
        ni_putf(t, mbps < 10000 ? "%lld.%lld" : "%lld", (long long)mbps / 1000,
                (long long)mbps % 1000 / 100);
}
