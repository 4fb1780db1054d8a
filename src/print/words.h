/* SPDX-License-Identifier: Apache-2.0 */
/* Words that all reports share. */
#ifndef NCCL_INIT_PRINT_WORDS_H
#define NCCL_INIT_PRINT_WORDS_H

#include <stdbool.h>

#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "print/json_write.h"

struct ni_view;

struct ni_words {
    const char *json, *text;
};
/* Writes an array with an object for each of the n indexes from `first`, whose members `put`
   writes. */
typedef void ni_json_item(struct ni_json *j, const struct ni_view *view, unsigned i);

/* Options on the command line of this call that change what it finds, for commands that people paste:
   " --mode=rdma". Variables hold for those, too. */
enum { NI_AGAIN = 1024 };
struct ni_again {
    char own[NI_AGAIN];    /* for the same verb */
    char shared[NI_AGAIN]; /* those that plan, doctor, topo and snapshot take alike */
    bool unsaid;           /* one of them cannot be written, or there is no room */
};

/* Everything that a report may show. */
struct ni_view {
    const struct ni_inventory *inv;
    const struct ni_plan *plan;
    const struct ni_findings *findings;
    const char *root;             /* as the user gave it: "/" or a path */
    const struct ni_again *again; /* NULL: no options */
    const char *node;             /* the name of the node, NODE_NAME; NULL: not told */
    char space[64];               /* the namespace of the pod (RFC 1123); "": not told */
    bool colour;
    bool utf8; /* marks may be other than ASCII */
    bool all;  /* --all: all that is known, also HCAs that are not the pod's */
};

enum { NI_JSON_SCHEMA = 1 };

/* Puts a report: tables for people, or for programs one JSON object with "schema": NI_JSON_SCHEMA.
   */
typedef void ni_report_fn(struct ni_text *out, const struct ni_view *view);

extern const struct ni_words ni_source_words[]; /* "pcidevice", "HCAs given by ..." */
extern const struct ni_words ni_link_words[];   /* "roce", "RoCE"; NULL, "unknown" */

/* Returns "s", unless n is 1. */
const char *ni_plural(unsigned n);
/* Returns "are", or "is" if n is 1. */
const char *ni_is_or_are(unsigned n);
/* Puts the time of now, in UTC: "2026-11-23 08:30Z". Nothing if there is no clock. */
void ni_put_now(struct ni_text *t);
/* Puts the source of a report's facts: "HCAs given by ...; root node.tree". */
void ni_put_origin(struct ni_text *t, const struct ni_view *view);

/* Begins a report: the object and its "schema". */
struct ni_json ni_json_report(struct ni_text *out);
void ni_json_list(struct ni_json *j, const char *key, const struct ni_view *view, int first,
                  unsigned n, ni_json_item *put);
/* Writes true for KNOWN, false for ABSENT, otherwise null. */
void ni_json_yes_no(struct ni_json *j, const char *key, enum ni_known known);

#endif
