/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the process's container: locked memory, shared memory, host name, PID 1. */
#include <string.h>

#include "check.h"

/* The rule memlock.raise tells when it is too low, and why. */
void ni_check_memlock(struct ni_checkup *c)
{
    const struct ni_self *s = &c->inv->self;
    c->told =
        ni_findings_has(c->f, NI_F_MEMLOCK_LOW) || ni_findings_has(c->f, NI_F_MEMLOCK_TOO_LOW);
    if (c->told || c->plan->n_chosen == 0 ||
        !ni_saw(c, s->memlock_soft.known == NI_KNOWN && s->memlock_hard.known == NI_KNOWN))
        return;
    if (c->plan->memlock.soft < ni_memlock_enough && ni_command_may_lock(c->facts))
        ni_report(c->f, NI_F_MEMLOCK_HARMLESS, "RLIMIT_MEMLOCK",
                  "%lld KiB, but CAP_IPC_LOCK is effective, and then the limit does not count",
                  (long long)(c->plan->memlock.soft / 1024));
}

/* Ranks of one node exchange what does not go over NVLink or PCIe through files there, some 10 MB
   for each connection (transport/shm.cc); runtimes give 64 MiB. */
void ni_check_shm(struct ni_checkup *c)
{
    static const int64_t by_default = INT64_C(64) << 20, advised = INT64_C(1) << 30;
    const struct ni_num shm = c->inv->self.shm;
    if (c->inv->n_gpu == 0 || !ni_saw(c, shm.known == NI_KNOWN))
        return;
    if (shm.v <= by_default && c->inv->n_gpu > 1)
        ni_report(c->f, NI_F_SHM_DEFAULT, "/dev/shm",
                  "%lld MiB for %u GPUs: NCCL says `Error while creating shared memory segment ... "
                  "No space left on device`, then `unhandled system error`; data loaders die of "
                  "bus errors",
                  (long long)(shm.v >> 20), c->inv->n_gpu);
    else if (shm.v < advised)
        ni_report(c->f, NI_F_SHM_SMALL, "/dev/shm",
                  "%lld MiB: too little for many ranks or data loaders (`No space left on device`, "
                  "bus error)",
                  (long long)(shm.v >> 20));
}

void ni_check_host_name(struct ni_checkup *c)
{
    const struct ni_self *s = &c->inv->self;
    const struct ni_setting *gloo = ni_plan_get(c->plan, "GLOO_SOCKET_IFNAME");
    uint8_t ip[NI_GID_BYTES];
    if (ni_user_value(c->facts, "GLOO_SOCKET_IFNAME") || (gloo && gloo->value[0]))
        return;
    (void)ni_saw(c, s->host_known == NI_KNOWN || s->host_known == NI_ABSENT);
    if (s->host_known == NI_KNOWN &&
        (strcmp(s->host_ip, "::1") == 0 ||
         (ni_parse_ipv4(ni_span_of(s->host_ip), ip) == 0 && ni_ip_is_loopback(ip))))
        ni_report(c->f, NI_F_HOST_NAME_LOOPBACK, "/etc/hosts",
                  "the host's own name is %s there: Gloo (PyTorch) listens on that address, and "
                  "other pods cannot reach it",
                  s->host_ip);
}

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
static void report_init(struct ni_findings *f, const char *what)
{
    ni_report(f, NI_F_EXEC_PID1_NO_INIT, "PID 1",
              "%s, no init: SIGTERM may do nothing, orphans stay as zombies", what);
}

void ni_check_init(struct ni_checkup *c)
{
    const struct ni_self *s = &c->inv->self;
    const bool pid1 = s->pid.known == NI_KNOWN && s->pid.v == 1;
    char what[64];
    if (!ni_saw(c, pid1 || (s->pid.known == NI_KNOWN && s->init_known == NI_KNOWN)))
        return;
    (void)ni_format(what, sizeof(what), "`%s`", s->init);
    if (pid1 || !is_init(s->init))
        report_init(c->f, pid1 ? "the command itself" : what);
}

void ni_note_pid1(const struct ni_facts *facts, struct ni_findings *f)
{
    const struct ni_num pid = facts->inv->self.pid;
    if (pid.known == NI_KNOWN && pid.v == 1)
        report_init(f, "the command itself");
}
