/* SPDX-License-Identifier: Apache-2.0 */
/* report, private: building JSON with jansson. Members keep the order in which they are put. */
#ifndef NCCL_INIT_REPORT_JSON_H
#define NCCL_INIT_REPORT_JSON_H

#include <jansson.h>

#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "out.h"

/* Puts v, which it takes over, into obj. A NULL anywhere (no memory) makes *bad true; so a caller
   looks once, at the end. */
void ni_json_put(bool *bad, json_t *obj, const char *key, json_t *v);
void ni_json_add(bool *bad, json_t *array, json_t *v);

/* A string; bytes that are no UTF-8 come as ni_put_quoted writes them, for JSON cannot hold them.
   */
json_t *ni_json_text(const char *s);
/* The string, or null for NULL and "". */
json_t *ni_json_text_or_null(const char *s);
/* The number, or null when it is not known. */
json_t *ni_json_num(struct ni_num n);
/* Bytes: the number, or "unlimited". */
json_t *ni_json_bytes(int64_t v);
/* "0000:3b:00.2" */
json_t *ni_json_bdf(struct ni_bdf bdf);
json_t *ni_json_numa(const struct ni_pci *pci); /* null: not known */
/* What every report says of a GPU: number, address, device node, vendor, NUMA node. */
void ni_json_gpu(bool *bad, json_t *j, unsigned index, const struct ni_gpu *gpu);

/* One object: id, severity, subject, message, hint. */
json_t *ni_json_finding(bool *bad, const struct ni_finding *f);

/* Writes v, which it takes over, and a newline. Errors are kept in o. indent 0: on one line. */
void ni_json_write(struct ni_out *o, json_t *v, bool bad, size_t indent);

#endif
