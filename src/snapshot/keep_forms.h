/* SPDX-License-Identifier: Apache-2.0 */
/* Forms of words in a masked recording: numbers, addresses, ids, names of devices, and lists of
   them. */
#ifndef NCCL_INIT_SNAPSHOT_KEEP_FORMS_H
#define NCCL_INIT_SNAPSHOT_KEEP_FORMS_H

#include <stdbool.h>

#include "cli/program.h"
#include "nccl_init/base.h"
#include "nccl_init/text.h"

struct ni_keep_facts;
struct ni_mask;

/* Puts the part of a list's item that may be recorded. */
typedef void ni_keep_item_fn(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span item,
                             struct ni_text *ret);

/* Facts of the whole recording that forms depend on. */
struct ni_keep_facts {
    const struct ni_program *program; /* whose options variables may name */
    const char *network_status; /* the variable that --network-status names; NULL: the usual one */
    /* the recording calls it NI_STATUS_RENAMED: only NCCLINIT_NETWORK_STATUS names it */
    bool renames_status;
    char exe[NI_PATH];          /* path of this program, whose mount is kept; "": not known */
    char host[NI_DEV_NAME + 1]; /* name of this machine; "": not known */
};

/* The name that stands for that variable, which the user has chosen. */
#define NI_STATUS_RENAMED "NETWORK_STATUS_MASKED"

/* Puts the part of a text of that form that may be recorded. For a text of another form it puts one
   that readers refuse as they refuse the text itself. */
typedef void ni_form_fn(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                        struct ni_text *ret);

/* Return true if the text is: a word of a known option's value, in upper or lower case; a number of
   64 bits, decimal or hexadecimal, with a sign or a unit; an IP address, with or without the length
   of a prefix; a PCI address; the UUID of a GPU, which is masked later with all others. */
bool ni_keeps_word(struct ni_span s);
bool ni_is_number(struct ni_span s);
bool ni_is_address(struct ni_span s);
bool ni_is_bdf(struct ni_span s);
bool ni_is_gpu_uuid(struct ni_span s);
/* Puts a name for a text without a known form: the same name for the same text. The name is not a
   number, word, address or name of a device, so that readers report it as they report the text. */
void ni_keep_unknown(struct ni_mask *m, struct ni_span s, struct ni_text *ret);
/* Puts the name of a device or an interface, or a name that stands for it. */
void ni_keep_device(struct ni_mask *m, struct ni_span name, struct ni_text *ret);
/* Puts a list: each item by put_item, and the separators as they are. */
void ni_keep_items(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                   const char *separators, ni_keep_item_fn *put_item, struct ni_text *ret);
/* Keeps a list of PCI addresses and auxiliary names. */
ni_form_fn ni_keep_ids;

#endif
