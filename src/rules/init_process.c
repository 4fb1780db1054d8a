/* SPDX-License-Identifier: Apache-2.0 */
/* The finding exec.pid1: without an init as PID 1 nobody looks after the command's children. */
#include "rules/init_process.h"

#include "findings/pod.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/known.h"
#include "nccl_init/process.h"
#include "nccl_init/text.h"
#include "rules/decide.h"

bool ni_is_init(const char *name)
{
    static const char *const inits[] = {
        "tini",      "tini-static", "docker-init", "podman-init", "dumb-init",   "catatonit",
        "s6-svscan", "systemd",     "init",        "pause",       "supervisord", "runit",
        "runsvdir",  "my_init",     "openrc-init", "kata-agent",  "pid1",
    };

    return ni_is_any(name, inits, NI_COUNT(inits));
}

static bool is_shell(const char *name)
{
    static const char *const shells[] = {"sh", "bash", "dash", "ash", "busybox", "ksh", "zsh"};

    return ni_is_any(name, shells, NI_COUNT(shells));
}

/* A shell that waits for its child leaves SIGTERM without a handler, so that PID 1 does not get it
   at all. */
void ni_note_shell(const struct ni_work *w)
{
    const struct ni_self *s = &w->inv->self;

    if (s->init_known == NI_KNOWN && is_shell(s->init))
        ni_report(w->f, NI_F_EXEC_PID1_NO_INIT, "PID 1",
                  "%s is not an init: it does not forward SIGTERM, and the job is killed after the "
                  "grace period",
                  s->init);
}

/* The kernel does not deliver to PID 1 a signal whose disposition is the default one
   (kernel/signal.c sig_task_ignored), and orphans become its children. nccl-init becomes the
   command and changes none of that. */
void ni_note_init(const struct ni_work *w)
{
    const struct ni_self *s = &w->inv->self;
    const bool is_pid1 = s->pid.known == NI_KNOWN && s->pid.v == 1;

    if (is_pid1 || (s->init_known == NI_KNOWN && !ni_is_init(s->init)))
        ni_report(w->f, NI_F_EXEC_PID1_NO_INIT, "PID 1",
                  "PID 1 (%s) is not an init: SIGTERM may be ignored, and zombies are not reaped",
                  is_pid1 ? "the command itself" : s->init);
}
