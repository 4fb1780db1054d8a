/* SPDX-License-Identifier: Apache-2.0 */
/* What all trials by the helper share. */
#include "selftest/try.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/context.h"
#include "nccl_init/base.h"
#include "nccl_init/errno.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"
#include "system/exec.h"
#include "system/helper.h"

#ifdef __aarch64__
#define LOADER "/lib/ld-linux-aarch64.so.1"
#else
#define LOADER "/lib64/ld-linux-x86-64.so.2"
#endif

/* ---- the run ---- */

/* Variables that make the loader, libibverbs or mlx5 write a file of the job (ld.so(8); rdma-core
   56.1 libibverbs/init.c verbs_set_log_file, providers/mlx5/mlx5.c open_debug_file). */
const char *const ni_try_writing[] = {
    "LD_DEBUG",       "LD_DEBUG_OUTPUT", "LD_PROFILE", "MALLOC_TRACE",
    "VERBS_LOG_FILE", "MLX5_DEBUG_FILE", NULL};

static bool is_writing(const char *entry)
{
    const size_t n = strcspn(entry, "=");

    for (size_t i = 0; ni_try_writing[i]; i++) {
        if (ni_span_is((struct ni_span){entry, n}, ni_try_writing[i]))
            return true;
    }
    return false;
}

/* Returns true if the list changes the variable of that entry. */
static bool is_changed(const char *entry, const char *const changed[])
{
    const size_t n = strcspn(entry, "=");

    for (size_t i = 0; changed && changed[i]; i++) {
        if (strcspn(changed[i], "=") == n && memcmp(entry, changed[i], n) == 0)
            return true;
    }
    return false;
}

/* Returns the command's environment for the helper. Never freed; NULL: no memory. */
static char *const *helper_env(const struct ni_context *ctx, const char *const changed[])
{
    char *const *all = ni_command_env(&ctx->own, &ctx->plan);
    size_t n = 0, kept = 0, more = 0;

    while (all && all[n])
        n++;
    while (changed && changed[more])
        more++;
    char **list = all ? calloc(n + more + 1, sizeof(*list)) : NULL;
    for (size_t i = 0; list && i < n; i++) {
        if (!is_writing(all[i]) && !is_changed(all[i], changed))
            list[kept++] = all[i];
    }
    for (size_t i = 0; list && i < more; i++) {
        if (strchr(changed[i], '='))
            list[kept++] = (char *)(uintptr_t)changed[i];
    }
    return list;
}

void ni_try_by_helper(struct ni_context *ctx, const char *const changed[], char *const args[],
                      int64_t limit_ms, struct ni_helper_result *ret)
{
    static char version[] = NCCL_INIT_VERSION, own[] = NI_HELPER;
    static char *none[] = {NULL};
    char *argv[NI_HELPER_ARGS + 3] = {own, version};
    char *const *env = helper_env(ctx, changed);

    for (unsigned i = 0; args[i] && i < NI_HELPER_ARGS; i++)
        argv[2 + i] = args[i];
    const struct ni_helper_task task = {
        .sha256 = ni_try_sha256,
        .argv = argv,
        .envp = env ? env : none,
        .limit_ms = limit_ms,
    };
    ni_run_helper(&task, ret);
}

/* ---- no result ---- */

/* Puts the first line of what the helper's libraries said. */
static void put_first_line(struct ni_text *t, const char *errors)
{
    ni_put_quoted(t, errors, strcspn(errors, "\n"), 160);
}

/* Puts why the helper could not be executed. */
static void put_denial(struct ni_text *t, int err)
{
    if (err == ENOENT) {
        ni_put(t, "this image has no glibc (" LOADER "), which " NI_HELPER " needs; with musl it "
                  "cannot be tried");
        return;
    }
    ni_putf(t, NI_HELPER " cannot be executed: %s", NI_ERRNO(err));
    if (err == EACCES || err == EPERM)
        ni_put(t, ": a mount with noexec, or a security policy");
}

void ni_put_no_result(struct ni_text *t, const struct ni_helper_result *run)
{
    switch (run->state) {
    case NI_HELPER_MISSING:
        ni_put(t, NI_HELPER " is not beside this program");
        break;
    case NI_HELPER_UNREAD:
        ni_putf(t, NI_HELPER " cannot be read: %s", NI_ERRNO(run->err));
        break;
    case NI_HELPER_OTHER:
        if (run->version[0] && strcmp(run->version, NCCL_INIT_VERSION) != 0)
            ni_putf(t, NI_HELPER " is of version %s, not " NCCL_INIT_VERSION, run->version);
        else
            ni_put(t, NI_HELPER " is not the one that was built with this program");
        break;
    case NI_HELPER_DENIED:
        put_denial(t, run->err);
        break;
    case NI_HELPER_BABBLES:
        ni_put(t, NI_HELPER " was killed: it said more than ");
        ni_put_bytes(t, NI_HELPER_WORDS);
        break;
    case NI_HELPER_LATE:
        ni_put(t, NI_HELPER " had not ended at the deadline (--deadline)");
        break;
    case NI_HELPER_DIED:
        ni_putf(t, NI_HELPER " died by signal %d", run->err);
        break;
    case NI_HELPER_ENDED:
        if (run->err == 0)
            break;
        ni_putf(t, NI_HELPER " ended with status %d: ", run->err);
        put_first_line(t, run->errors);
        break;
    }
}

/* ---- errors of CUDA ---- */

/* What CUDA's errors mean (cuda.h, CUresult). */
static const struct {
    int cuda;
    const char *why;
} cuda_errors[] = {
    {2, "it has too little free memory"},
    {46, "another process has it (compute mode EXCLUSIVE_PROCESS)"},
    {100, "CUDA finds no GPU in this process; is CUDA_VISIBLE_DEVICES right?"},
    {101, "CUDA does not show it to this process; is CUDA_VISIBLE_DEVICES right?"},
    {214, "CUDA reports an ECC error that could not be corrected (214)"},
    {802, "CUDA is not ready (802); on HGX nodes the Fabric Manager must run"},
    {803, "libcuda does not fit the driver (803)"},
    {805, "the MPS server refuses it (805)"},
};

void ni_put_cuda_error(struct ni_text *t, int cuda)
{
    for (size_t i = 0; i < NI_COUNT(cuda_errors); i++) {
        if (cuda_errors[i].cuda == cuda) {
            ni_put(t, cuda_errors[i].why);
            return;
        }
    }
    ni_putf(t, "CUDA error %d", cuda);
}
