/* SPDX-License-Identifier: Apache-2.0 */
/* A pod on a node as one text: what goes in is a .tree file (docs/reference/tree.md) with, between its lines,
     NAME=VALUE    an entry of the environment; `\n` in it is a line end, all else stands for itself
     --OPTION=...  of the command line
     @VERB         whose view is taken: run, env, plan, topo, doctor (that, if none is named)
   so that a .tree file is one, and so is a golden case's env in front of its node's .tree.
   What comes out is what the program keeps of one invocation. */
#ifndef NCCL_INIT_FUZZ_POD_H
#define NCCL_INIT_FUZZ_POD_H

#include "cli/context.h"
#include "cli/options.h"
#include "doctor/checks.h"
#include "fuzz.h"
#include "sysroot/root.h"

enum { POD_ENTRIES = 512, POD_WORDS = 64 };

struct pod {
    struct ni_diagnosis diagnosis; /* of doctor */
    struct ni_context ctx;
    struct ni_options given; /* by the command line; NCCLINIT_* comes in pod_decide */
    uint64_t taken;
    char *words[POD_WORDS]; /* of the command line */
    unsigned n_words;
    char *entry[POD_ENTRIES + 1];
    unsigned n_entry;
};

/* Two, to compare. Their memory is zero after pod_new, at the cost of what was used. */
enum pod_slot { POD_ONE, POD_OTHER };
struct pod *pod_new(enum pod_slot slot);
/* Gives back what the pod owns: its entries; and tree and record, unless they are a node of slots. */
void pod_free(struct pod *pod);
void pod_free_entries(struct pod *pod);

/* Reads the text. false: options that do not parse, or ranges that stand for too many files to be
   quick; the pod is then to be freed as it is. */
bool pod_read(struct pod *pod, const uint8_t *data, size_t size);
/* The same entries, command line and verb on the same tree, which the other keeps owning. */
void pod_share(struct pod *pod, const struct pod *from);
/* An entry of the environment of its own size on the heap. false: no more room. */
bool pod_env(struct pod *pod, const char *entry, size_t n);
/* The entries in the opposite order, but of one name the first stays the first. */
void pod_reverse_env(struct pod *pod);

/* Reads NCCLINIT_*, gathers and decides, as the verb does. */
void pod_decide(struct pod *pod);

/* How many files the ranges of a .tree text stand for: a few bytes can be millions, and minutes. */
size_t fuzz_tree_cost(const char *text, size_t n);

/* Parses a tree that was written. */
struct ni_root pod_tree(const char *text, size_t n, int *ret_err, unsigned *ret_line);

/* ---- a node that is read once, whose files are filled anew for each input ---- */

/* The .tree file. Where run from: the top of the sources. */
struct ni_root slots_open(const char *path);
/* The file or the target of the link at that path is now these bytes, until slots_reset. */
void slots_fill(struct ni_root *root, const char *path, const char *s, size_t n);
void slots_reset(struct ni_root *root);

/* A copy and a NUL, on the heap. */
char *pod_copy(const char *s, size_t n);

#endif
