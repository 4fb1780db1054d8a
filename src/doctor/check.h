/* SPDX-License-Identifier: Apache-2.0 */
/* A check of doctor: a fault that no variable can correct. Its row says all of it, beside the
   functions that it names; check_hca.c and the other files check_* have them. */
#ifndef NCCL_INIT_DOCTOR_CHECK_H
#define NCCL_INIT_DOCTOR_CHECK_H

#include <stdbool.h>

#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "print/words.h"
#include "rules/decide.h"

enum { NI_MAX_CHECK = 32, NI_MAX_CHECK_FINDINGS = 4 };

/* A check that is being made. */
struct ni_judging {
    const struct ni_work *w;
    const struct ni_inventory *inv;
    const struct ni_plan *plan;
    struct ni_findings *f;
    /* Numbers of things that the check could judge, and could not judge. If both are 0 the pod has
       nothing of that kind. */
    unsigned judged, unknown;
};

/* Counts one thing that the check looked at. Returns `known`: a fact that is not known is not a
   finding. */
bool ni_saw(struct ni_judging *c, bool known);
/* Returns true if the file is known to be there, or known not to be there. */
bool ni_is_decided(enum ni_known fact);
/* Returns true if the pod has GPUs of NVIDIA; all GPUs of a pod are of one maker. */
bool ni_has_nvidia(const struct ni_judging *c);

struct ni_check {
    const char *id;    /* permanent, dotted */
    const char *title; /* "device nodes" */
    /* Judges: one of the three, for the node as a whole, for each HCA or for each port of the pod. */
    void (*whole)(struct ni_judging *c);
    void (*hca)(struct ni_judging *c, const struct ni_hca *h);
    void (*port)(struct ni_judging *c, const struct ni_port *port, const char *name);
    /* Puts the value that it saw, "4 of 4 open"; NULL: there is none. */
    void (*put)(struct ni_text *t, const struct ni_view *view);
    /* What it finds, whoever reports it: if there is one, the check has findings. NI_F_NONE ends the
       list, if it is not full. */
    ni_finding_number findings[NI_MAX_CHECK_FINDINGS];
    /* Shown under its title, too, although what the check judges may be well. */
    ni_finding_number beside[NI_MAX_CHECK_FINDINGS];
};

extern const struct ni_check ni_check_netns;
extern const struct ni_check ni_check_node;
extern const struct ni_check ni_check_port;
extern const struct ni_check ni_check_cgroup;
extern const struct ni_check ni_check_rate;
extern const struct ni_check ni_check_mtu;
extern const struct ni_check ni_check_counters;
extern const struct ni_check ni_check_qos;
extern const struct ni_check ni_check_link;
extern const struct ni_check ni_check_iommu;
extern const struct ni_check ni_check_gpu_node;
extern const struct ni_check ni_check_place;
extern const struct ni_check ni_check_gdr;
extern const struct ni_check ni_check_imex;
extern const struct ni_check ni_check_ibgda;
extern const struct ni_check ni_check_memlock;
extern const struct ni_check ni_check_shm;
extern const struct ni_check ni_check_host;
extern const struct ni_check ni_check_init;
extern const struct ni_check ni_check_image;

#endif
