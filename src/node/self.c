/* SPDX-License-Identifier: Apache-2.0 */
/* This process, as /proc/self describes it: limits, capabilities, user namespace; and the
   version of the kernel. */
#include "node/self.h"

#include <stdlib.h>
#include <string.h>

#include "findings/device.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/known.h"
#include "nccl_init/number.h"
#include "nccl_init/process.h"
#include "nccl_init/text.h"
#include "node/read.h"

/* ---- limits and capabilities ---- */

enum { LAST = -1 };

/* Reads the number at that place among the words of the text, or the LAST one. */
static struct ni_num read_word(const char *text, int at)
{
    struct ni_num num = {.known = NI_BAD};
    struct ni_span word;

    for (int k = 0; ni_word(&text, &word); k++) {
        if (at == LAST || at == k)
            num = ni_num_of(word);
    }
    return num;
}

/* Reads the lines of proc/self/limits or status. */
static enum ni_known read_self(struct ni_probe *p, const char *path, unsigned *ret_caps)
{
    struct ni_self *self = &p->inv->self;
    const struct {
        enum ni_self_line line;
        int word; /* after the name */
        struct ni_num *num;
    } numbers[] = {
        {NI_SELF_MEMLOCK, 0, &self->memlock_soft},
        {NI_SELF_MEMLOCK, 1, &self->memlock_hard},
        {NI_SELF_UID, 0, &self->real_uid},
        {NI_SELF_UID, 1, &self->uid},
        {NI_SELF_PID, 0, &self->pid},
        {NI_SELF_NSPID, LAST, &self->pid},
        {NI_SELF_NO_NEW_PRIVS, 0, &self->no_new_privs},
        {NI_SELF_SECCOMP, 0, &self->seccomp},
    };
    const struct {
        enum ni_self_line line;
        uint64_t *set;
    } caps[] = {
        {NI_SELF_CAP_INH, &self->cap_inh}, {NI_SELF_CAP_PRM, &self->cap_prm},
        {NI_SELF_CAP_EFF, &self->cap_eff}, {NI_SELF_CAP_BND, &self->cap_bnd},
        {NI_SELF_CAP_AMB, &self->cap_amb},
    };
    const enum ni_known known = ni_read_text(p, NI_REQUIRED, path);

    for (char *text = p->text, *line; ni_line(&text, &line);) {
        for (unsigned i = 0; i < NI_COUNT(numbers); i++) {
            const char *name = ni_self_lines[numbers[i].line].name;

            if (ni_has_prefix(line, name))
                *numbers[i].num = read_word(line + strlen(name), numbers[i].word);
        }
        for (unsigned i = 0; i < NI_COUNT(caps); i++) {
            const char *name = ni_self_lines[caps[i].line].name;

            if (ni_has_prefix(line, name) && ni_parse_hex(ni_trim(ni_span_of(line + strlen(name))),
                                                          UINT64_MAX, caps[i].set) == 0)
                ++*ret_caps;
        }
    }
    return known;
}

/* Reads whether the pod has a user namespace of its own: the initial one has a fixed number
   (include/linux/proc_ns.h PROC_USER_INIT_INO). `run` needs it only if the limit of locked memory
   is finite. */
static void probe_user_namespace(struct ni_probe *p)
{
    struct ni_self *self = &p->inv->self;
    char link[64];

    if ((!p->ask->health &&
         (self->memlock_soft.known != NI_KNOWN || self->memlock_soft.v == NI_UNLIMITED)) ||
        ni_read_link(p, NI_OPTIONAL, link, sizeof(link), "proc/self/ns/user") != NI_KNOWN)
        return;
    if (!ni_has_prefix(link, "user:[") || link[strlen(link) - 1] != ']')
        ni_note_odd(p, link);
    else
        self->user_namespace =
            strcmp(link, "user:[4026531837]") == 0 ? NI_USERNS_INITIAL : NI_USERNS_OWN;
}

void ni_probe_self(struct ni_probe *p)
{
    enum { ALL_CAPS = 4 }; /* without CapAmb, which came with Linux 4.3 */
    struct ni_self *self = &p->inv->self;
    unsigned caps = 0;
    const enum ni_known limits = read_self(p, "proc/self/limits", &caps);

    if (limits != NI_KNOWN)
        self->memlock_soft.known = self->memlock_hard.known = limits;
    else if (self->memlock_soft.known != NI_KNOWN || self->memlock_hard.known != NI_KNOWN)
        ni_report(p->f, NI_F_FACT_UNREADABLE, p->path, "it has no locked-memory line");
    const enum ni_known status = read_self(p, "proc/self/status", &caps);
    if (status != NI_KNOWN || caps >= ALL_CAPS)
        self->caps_known = status;
    else
        ni_report(p->f, NI_F_FACT_UNREADABLE, p->path, "it has no capability lines");
    probe_user_namespace(p);
}

void ni_probe_kernel(struct ni_probe *p)
{
    struct ni_self *self = &p->inv->self;
    struct ni_span rest;

    if (ni_read_file(p, p->root, NI_OPTIONAL, self->kernel, sizeof(self->kernel),
                     "proc/sys/kernel/osrelease") != NI_KNOWN)
        return;
    if (!ni_parse_kernel(ni_span_of(self->kernel), &self->kernel_major, &self->kernel_minor,
                         &rest)) {
        ni_note_odd(p, self->kernel);
        self->kernel[0] = '\0';
    }
}
