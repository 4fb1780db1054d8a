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
        ni_put(&t, "the command itself");
    else if (inv->health.init_known != NI_KNOWN)
        return NI_CHECK_UNKNOWN;
    else if (is_init(inv->health.init))
        return NI_CHECK_OK;
    else
        ni_putf(&t, "`%s`", inv->health.init);
    ni_report(f, NI_F_EXEC_PID1_NO_INIT, "PID 1",
              "%s, no init: SIGTERM may do nothing, orphans stay as zombies", who);
    return NI_CHECK_OK;
}

void ni_note_pid1(const struct ni_facts *facts, struct ni_findings *f)
{
    if (facts->inv->self.pid.known == NI_KNOWN && facts->inv->self.pid.v == 1)
        (void)ni_check_init(facts, NULL, f);
}

enum ni_outcome ni_check_host_name(const struct ni_facts *facts, const struct ni_plan *plan,
                                   struct ni_findings *f)
{
    const struct ni_health *h = &facts->inv->health;
    const struct ni_setting *gloo = ni_plan_get(plan, "GLOO_SOCKET_IFNAME");
    uint8_t ip[NI_GID_BYTES];
    if (ni_user_value(facts, "GLOO_SOCKET_IFNAME") || (gloo && gloo->value[0]))
        return NI_CHECK_IDLE;
    if (h->host_known == NI_KNOWN &&
        (strcmp(h->host_ip, "::1") == 0 ||
         (ni_parse_ipv4(ni_span_of(h->host_ip), ip) == 0 && ni_ip_is_loopback(ip))))
        ni_report(f, NI_F_HOST_NAME_LOOPBACK, "/etc/hosts",
                  "the host's own name is %s there: Gloo (PyTorch) binds that, and other pods "
                  "cannot reach it",
                  h->host_ip);
    return h->host_known == NI_KNOWN || h->host_known == NI_ABSENT ? NI_CHECK_OK : NI_CHECK_UNKNOWN;
}
