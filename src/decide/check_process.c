/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the process's place in the container. */
#include <string.h>

#include "check.h"

static bool is_init(const char *comm)
{
    static const char *const known[] = {
        "tini",      "tini-static", "docker-init", "podman-init", "dumb-init",   "catatonit",
        "s6-svscan", "systemd",     "init",        "pause",       "supervisord", "runit",
        "runsvdir",  "my_init",     "openrc-init", "kata-agent",  "pid1",
    };
    return ni_is_any(comm, known, NI_COUNT(known));
}

/* The kernel does not deliver to PID 1 a signal whose disposition is the default one
   (kernel/signal.c sig_task_ignored), and orphans become its children. nccl-init becomes the
   command and changes none of that. */
enum ni_outcome ni_check_init(const struct ni_facts *facts, const struct ni_plan *plan,
                              struct ni_findings *f)
{
    const struct ni_inventory *inv = facts->inv;
    char who[64];
    struct ni_text t = ni_text_on(who, sizeof(who));
    (void)plan;
    if (inv->self.pid.known != NI_KNOWN)
        return NI_CHECK_UNKNOWN;
    if (inv->self.pid.v == 1)
        ni_put(&t, "will be the command itself");
    else if (inv->health.init_known != NI_KNOWN)
        return NI_CHECK_UNKNOWN;
    else if (is_init(inv->health.init))
        return NI_CHECK_OK;
    else
        ni_putf(&t, "is `%s`", inv->health.init);
    ni_report(
        f, NI_F_EXEC_PID1_NO_INIT, "PID 1",
        "it %s, no init: SIGTERM does nothing unless it has a handler, so that the pod is "
        "killed after its grace period, and orphans that it does not wait for stay as zombies",
        who);
    return NI_CHECK_OK;
}

void ni_note_pid1(const struct ni_facts *facts, struct ni_findings *f)
{
    if (facts->inv->self.pid.known == NI_KNOWN && facts->inv->self.pid.v == 1)
        (void)ni_check_init(facts, NULL, f);
}
