/* SPDX-License-Identifier: Apache-2.0 */
/* report, private: what the text, the JSON and the picture of the topology share: which HCAs, in
   which order, and the word for each pair. */
#ifndef NCCL_INIT_REPORT_TOPO_H
#define NCCL_INIT_REPORT_TOPO_H

#include "nccl_init/report.h"

enum { NI_TOPO_FEW = 8 }; /* so many HCAs that are not the pod's are shown; more, and none is */

struct ni_topo {
    const struct ni_view *view;
    int hca[NI_MAX_HCA]; /* the ones to show: with chosen ports, other given ones, other people's */
    unsigned n_hca;
    unsigned n_chosen; /* the first of them */
    unsigned n_given;  /* these and the next */
    unsigned n_other;  /* HCAs left out */
};

void ni_topo_on(struct ni_topo *topo, const struct ni_view *view);

/* As `nvidia-smi topo -m` calls the pair: NCCL's word, but NODE where a PHB leads over two host
   bridges; "-": unknown. */
const char *ni_topo_word(const struct ni_view *view, unsigned gpu, int hca);
/* Whether no chosen HCA is nearer to the GPU than this chosen one, as NCCL counts. Several can be.
   */
bool ni_topo_nearest(const struct ni_view *view, unsigned gpu, int hca);
/* The interfaces that the HCA's traffic belongs to: those of the GIDs that were picked, else the
   function's own. Returns how many. */
unsigned ni_topo_rails(const struct ni_view *view, int hca, const char *ret[NI_MAX_PORT]);
void ni_topo_put_rails(struct ni_text *t, const struct ni_view *view, int hca); /* "net1,net2" */
/* Whether the place on the PCI tree is known down to the function. */
bool ni_topo_placed(const struct ni_pci *pci);
void ni_topo_put_host_bridge(struct ni_text *t, const struct ni_pci *pci); /* "pci0000:20" */

#endif
